"""Output in memory, for shards that are only displayed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from shardcore.writing.output import Output
from shardcore.writing.plan import WrittenFile
from shardcore.writing.temporary import Draining


class MemoryFile(Draining):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.data = bytearray()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data
        self.at = len(self.data)

    def write_at(self, offset: int, data: bytes) -> None:
        self.data[offset : offset + len(data)] = data

    def skip(self, size: int) -> None:
        self.write(bytes(size))

    def rewind(self, offset: int) -> None:
        del self.data[offset:]
        self.at = offset


class MemoryOutput(Output):
    """Output in memory.

    Attributes:
        files: Bytes of the complete files, by relative name, in the order of completion.
    """

    def __init__(self, name: str = "", *, folder: bool = False) -> None:
        super().__init__(None, folder=folder)
        self.planning = False
        self.files: dict[str, bytes] = {}
        self._name = name
        self._begun: list[tuple[MemoryFile, bool]] = []

    def open(self, name: str = "", *, last: bool = False) -> Draining:
        file = MemoryFile(name or self._name)
        self._begun.append((file, last))
        return file

    def spool(self, name: str) -> Draining:
        return self.open(name)

    def settle(self, file: Draining, name: str) -> bool:
        if not isinstance(file, MemoryFile):
            return True
        if any(other.name == name and other is not file for other, _ in self._begun):
            self.drop(file)
            return False
        file.name = name
        return True

    def drop(self, file: Draining) -> None:
        self._begun = [(other, last) for other, last in self._begun if other is not file]

    def commit(self) -> tuple[WrittenFile, ...]:
        ordered = [file for file, _ in sorted(self._begun, key=lambda one: one[1])]
        self.files = {file.name: bytes(file.data) for file in ordered}
        return tuple(
            WrittenFile(Path(file.name), file.objects, file.at, hashlib.sha256(file.data).hexdigest())
            for file in ordered
        )

    def discard(self) -> None:
        self._begun = []
