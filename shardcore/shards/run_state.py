"""State of a run over many shards: one JSON line per finished shard, so that a later run can resume."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from shardcore.errors import ShardError, SourceError, UsageError, reason_of
from shardcore.shards.ticket import ShardTicket

PACKAGE = "shardcore."


def mark_of(work: Callable[..., Any], ticket: ShardTicket, given: tuple[Any, ...]) -> str:
    """Return an identity of the work on a shard; it depends on the size of the shard, the options and the arguments."""
    options = {name: value for name, value in ticket.options.items() if name != "remote"}
    facts = [work.__module__, work.__qualname__, ticket.uri, ticket.format, ticket.name, ticket.size, options, given]
    return hashlib.sha256(json.dumps(to_plain(facts, compared=True), sort_keys=True).encode()).hexdigest()


class TaskState:
    """Results by identity of the work, stored in an append-only file. Errors are not stored."""

    def __init__(self, path: Path) -> None:
        self._lines: dict[str, Any] = {}
        try:
            self._file = path.open("a+b")
        except OSError as error:
            raise SourceError(f"cannot read or write the state file {path}: {reason_of(error)}") from error
        try:
            self._read(path)
        except BaseException:
            self._file.close()
            raise

    def _read(self, path: Path) -> None:
        try:
            self._file.seek(0)
            kept = 0
            for number, line in enumerate(self._file, 1):
                if line.endswith(b"\n"):
                    self._take(path, number, line)
                    kept += len(line)
            # A killed run may leave an incomplete last line.
            self._file.truncate(kept)
        except OSError as error:
            raise SourceError(f"cannot read or write the state file {path}: {reason_of(error)}") from error

    def _take(self, path: Path, number: int, line: bytes) -> None:
        try:
            found = json.loads(line)
            self._lines[found["done"]] = found["result"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise UsageError(f"{path}, line {number}: not a state file") from None

    def found(self, marks: Sequence[str]) -> dict[int, Any]:
        """Return the stored results, by index in `marks`; UsageError if another version of the program wrote them."""
        return {number: from_plain(self._lines[mark]) for number, mark in enumerate(marks) if mark in self._lines}

    def note(self, mark: str, result: Any) -> None:
        if isinstance(result, ShardError):
            return
        try:
            self._file.write(json.dumps({"done": mark, "result": to_plain(result)}).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise SourceError(f"cannot write to the state file {self._file.name}: {reason_of(error)}") from error

    def close(self) -> None:
        self._file.close()


def to_plain(value: Any, *, compared: bool = False) -> Any:
    """Convert dataclasses, enumerations, arrays and bytes to JSON values; TypeError for other objects.

    With `compared`, fields that are excluded from comparison are left out.
    """
    plain = partial(to_plain, compared=compared)
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {"": kind, "of": [plain(one) for one in value]}
    if isinstance(value, dict):
        return {"": "dict", "of": [[plain(key), plain(one)] for key, one in value.items()]}
    if isinstance(value, frozenset):
        return {"": "set", "of": [plain(one) for one in sorted(value)]}
    if isinstance(value, bytes):
        return {"": "bytes", "of": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray):
        return {"": "array", "of": base64.b64encode(value.tobytes()).decode(), "dtype": value.dtype.str}
    name = f"{type(value).__module__}:{type(value).__qualname__}"
    if isinstance(value, Enum):
        return {"": name, "of": value.name}
    if dataclasses.is_dataclass(value):
        fields = [one.name for one in dataclasses.fields(value) if one.compare or not compared]
        return {"": name, "of": {one: plain(getattr(value, one)) for one in fields}}
    raise TypeError(f"{name} cannot be stored as JSON")


def from_plain(value: Any) -> Any:
    """Convert JSON values back: the inverse of `to_plain`; UsageError for other values."""
    try:
        return _restored(value)
    except (ValueError, TypeError, KeyError, AttributeError, ImportError, RecursionError, binascii.Error) as error:
        raise UsageError("the state was written by another version of the program") from error


def _restored(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind, of = value[""], value["of"]
    if kind in ("list", "tuple"):
        found = map(_restored, of)
        return list(found) if kind == "list" else tuple(found)
    if kind == "set":
        return frozenset(map(_restored, of))
    if kind == "dict":
        return {_restored(key): _restored(one) for key, one in of}
    if kind == "bytes":
        return base64.b64decode(of)
    if kind == "array":
        return np.frombuffer(base64.b64decode(of), _dtype(value["dtype"])).copy()
    named = _class_of(kind)
    return named[of] if issubclass(named, Enum) else named(**{name: _restored(one) for name, one in of.items()})


def _dtype(text: str) -> np.dtype[Any]:
    found = np.dtype(text)
    if found.kind not in "biuf":
        raise ValueError(text)
    return found


@cache
def _class_of(name: str) -> Any:
    """Return a dataclass or enumeration of this library by name; a file cannot name other classes."""
    module, _, qualified = name.partition(":")
    if not module.startswith(PACKAGE):
        raise ValueError(name)
    found = getattr(import_module(module), qualified)
    if not (isinstance(found, type) and (dataclasses.is_dataclass(found) or issubclass(found, Enum))):
        raise ValueError(name)
    return found
