"""Writing Bloscpack files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from shardcore.shard import Shard
from shardcore.testing import WriterContract
from shardcore.writing.writer import Writer

WALK = np.cumsum(np.random.default_rng(1).integers(0, 3, 2000)).astype("<i8").tobytes()


class TestFolderContract(WriterContract):
    """The contract of every writer: a folder, a file for each content."""

    format: ClassVar = "bloscpack"
    suffix: ClassVar = "/"
    keyless: ClassVar = True
    options: ClassVar = {"chunk_size": 4096, "spare": 2}

    def objects(self) -> list[tuple[str | None, bytes]]:
        """An empty content, small ones, some of several chunks, one that is no whole number of elements."""
        return [(None, b""), (None, b"x"), (None, WALK), (None, WALK[:4096]), (None, bytes(9001)), (None, WALK + b"abc")]

    def read(self, shard: Shard, row: int, key: str) -> bytes:
        """Contents are named by their number."""
        assert key == str(row)
        return super().read(shard, row, key)


class TestFileContract(WriterContract):
    """The contract of every writer: one file, which has one content."""

    format: ClassVar = "bloscpack"
    suffix: ClassVar = ".blp"
    keyless: ClassVar = True
    options: ClassVar = {"chunk_size": 4096, "codec": "lz4", "checksum": "crc32", "metadata": '{"made by": "hand"}'}

    def objects(self) -> list[tuple[str | None, bytes]]:
        """One content of several chunks."""
        return [(None, WALK + b"abc")]

    def read(self, shard: Shard, row: int, key: str) -> bytes:
        """The whole content has no key of its own."""
        assert not key
        return super().read(shard, row, "all")

    def test_no_objects_are_a_shard(self, tmp_path: Path) -> None:
        """A file to which nothing was added has one chunk of no bytes, as the reference packs an empty file."""
        with self.created(self.target(tmp_path)) as writer:
            plan = writer.plan()
        with self.opened(self.target(tmp_path)) as shard:
            assert shard.read(shard.find("all")) == b""
            assert shard.verify().findings == ()
            assert plan.files[0].sections == shard.sections


def fill(writer: Writer) -> None:
    """Unused so far."""
