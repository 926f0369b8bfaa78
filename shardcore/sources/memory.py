"""Bytes in memory as a source."""

from __future__ import annotations

import hashlib
from functools import cached_property

from shardcore.sources.base import Folder, Source


class BytesSource(Source):
    """Bytes in memory.

    Args:
        data: The bytes.
        name: What to call them; `@start-stop` for decoded bytes.
    """

    def __init__(self, data: bytes, name: str = "bytes", *, folder: Folder | None = None) -> None:
        self.data = data
        self.name = name
        self.uri = name
        self.folder = folder

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self.data)

    @cached_property
    def identity(self) -> str:
        """Name, size and a digest: other bytes of the same name and size are something else."""
        return f"{self.uri}#{self.size}-{hashlib.blake2b(self.data, digest_size=16).hexdigest()}"

    def _read(self, start: int, stop: int) -> bytes:
        return self.data[start:stop]
