"""Files that are written into memory, and never appear anywhere: for shards that are only looked at."""

from __future__ import annotations

import hashlib
from pathlib import Path

from shardcore.writing.output import Output
from shardcore.writing.plan import WrittenFile
from shardcore.writing.temporary import Draining


class MemoryFile(Draining):
    """A file in memory.

    Attributes:
        name: Relative to the target; may be changed until the shard is complete.
        data: Its bytes.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.data = bytearray()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes."""
        self.data += data
        self.at = len(self.data)

    def write_at(self, offset: int, data: bytes) -> None:
        """Fill in bytes that were left open before."""
        self.data[offset : offset + len(data)] = data

    def skip(self, size: int) -> None:
        """Leave zeros."""
        self.write(bytes(size))

    def rewind(self, offset: int) -> None:
        """Forget what was written from an offset on."""
        del self.data[offset:]
        self.at = offset


class MemoryOutput(Output):
    """Output in memory, for a writer whose files are not kept.

    Args:
        name: What the file is called, where it is one.
        folder: Whether the target is a folder of several files.

    Attributes:
        files: The bytes of the complete files, by relative name, in the order of their appearance.
    """

    def __init__(self, name: str = "", *, folder: bool = False) -> None:
        super().__init__(None, folder=folder)
        self.planning = False
        self.files: dict[str, bytes] = {}
        self._name = name
        self._begun: list[tuple[MemoryFile, bool]] = []

    def open(self, name: str = "", *, last: bool = False) -> Draining:
        """Start a file; see `Output.open`."""
        file = MemoryFile(name or self._name)
        self._begun.append((file, last))
        return file

    def spool(self, name: str) -> Draining:
        """Start a file whose name is known later."""
        return self.open(name)

    def settle(self, file: Draining, name: str) -> bool:
        """Record the name of a file of `spool`; False where there is one of that name already."""
        if not isinstance(file, MemoryFile):
            return True
        if any(other.name == name and other is not file for other, _ in self._begun):
            self.drop(file)
            return False
        file.name = name
        return True

    def drop(self, file: Draining) -> None:
        """Throw away a file that is not needed after all."""
        self._begun = [(other, last) for other, last in self._begun if other is not file]

    def commit(self) -> tuple[WrittenFile, ...]:
        """Complete the files."""
        ordered = [file for file, _ in sorted(self._begun, key=lambda one: one[1])]
        self.files = {file.name: bytes(file.data) for file in ordered}
        return tuple(
            WrittenFile(Path(file.name), file.objects, file.at, hashlib.sha256(file.data).hexdigest())
            for file in ordered
        )

    def discard(self) -> None:
        """Forget all."""
        self._begun = []
