"""State of a run over many shards: a line of JSON for each shard that is done, so that a later run goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from shardcore.errors import ShardError, SourceError, UsageError, reason_of
from shardcore.model.plain_json import from_plain, to_plain
from shardcore.shards.ticket import ShardTicket


def mark_of(work: Callable[..., Any], ticket: ShardTicket, given: tuple[Any, ...]) -> str:
    """Return an identity of the work on a shard: another size, other options or arguments make another one."""
    options = {name: value for name, value in ticket.options.items() if name != "remote"}
    facts = [work.__module__, work.__qualname__, ticket.uri, ticket.format, ticket.name, ticket.size, options, given]
    return hashlib.sha256(json.dumps(to_plain(facts), sort_keys=True).encode()).hexdigest()


class TaskState:
    """Results by the identity of the work, in a file that grows line by line. Errors are not kept.

    Args:
        path: The file; it is created where it does not exist.

    Raises:
        UsageError: It is something else.
        SourceError: It cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._lines: dict[str, Any] = {}
        try:
            self._file = path.open("a+b")
        except OSError as error:
            raise SourceError(f"cannot keep the state in {path}: {reason_of(error)}") from error
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
            # A run that was killed may leave half a line at the end.
            self._file.truncate(kept)
        except OSError as error:
            raise SourceError(f"cannot keep the state in {path}: {reason_of(error)}") from error

    def _take(self, path: Path, number: int, line: bytes) -> None:
        try:
            found = json.loads(line)
            self._lines[found["done"]] = found["result"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise UsageError(f"{path}, line {number}: not the state of a run") from None

    def found(self, marks: Sequence[str]) -> dict[int, Any]:
        """Return the results that are there, by the number of the mark.

        Raises:
            UsageError: One is of another version of this program.
        """
        return {number: from_plain(self._lines[mark]) for number, mark in enumerate(marks) if mark in self._lines}

    def note(self, mark: str, result: Any) -> None:
        """Keep a result.

        Raises:
            SourceError: The disk is full.
        """
        if isinstance(result, ShardError):
            return
        try:
            self._file.write(json.dumps({"done": mark, "result": to_plain(result)}) .encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise SourceError(f"cannot keep the state in {self._file.name}: {reason_of(error)}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()
