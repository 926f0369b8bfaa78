"""Values of this library as JSON and back: dataclasses, enumerations, arrays and bytes."""

from __future__ import annotations

import base64
import binascii
import dataclasses
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from shardcore.errors import UsageError

PACKAGE = "shardcore."


def to_plain(value: Any) -> Any:
    """Return a value as one that JSON has.

    Raises:
        TypeError: It holds something of another kind.
    """
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {"": kind, "of": [to_plain(one) for one in value]}
    if isinstance(value, dict):
        return {"": "dict", "of": [[to_plain(key), to_plain(one)] for key, one in value.items()]}
    if isinstance(value, frozenset):
        return {"": "set", "of": [to_plain(one) for one in sorted(value)]}
    if isinstance(value, bytes):
        return {"": "bytes", "of": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray):
        return {"": "array", "of": base64.b64encode(value.tobytes()).decode(), "dtype": value.dtype.str}
    name = f"{type(value).__module__}:{type(value).__qualname__}"
    if isinstance(value, Enum):
        return {"": name, "of": value.name}
    if dataclasses.is_dataclass(value):
        return {"": name, "of": {one.name: to_plain(getattr(value, one.name)) for one in dataclasses.fields(value)}}
    raise TypeError(f"{name} cannot be kept as JSON")


def from_plain(value: Any) -> Any:
    """Return the value that `to_plain` made something of.

    Raises:
        UsageError: It is something else.
    """
    try:
        return _restored(value)
    except (ValueError, TypeError, KeyError, AttributeError, ImportError, RecursionError, binascii.Error) as error:
        raise UsageError("the state is not of this version of the program") from error


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
    """Return a dataclass or an enumeration of this library; nothing else is created from a file."""
    module, _, qualified = name.partition(":")
    if not module.startswith(PACKAGE):
        raise ValueError(name)
    found = getattr(import_module(module), qualified)
    if not (isinstance(found, type) and (dataclasses.is_dataclass(found) or issubclass(found, Enum))):
        raise ValueError(name)
    return found
