"""Writing keeps little in memory, however long the contents are."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.operations.convert import convert
from shardcore.shards.shard import Shard
from shardcore.sources.local import FileSource
from shardcore.writing.in_place import edit_of
from shardcore.writing.undo import apply, undo

LONG = 64 << 20
"""Bytes of a content that is longer than what may be held."""
MOST = 40 << 20
"""Bytes that may be held."""


def pieces() -> Iterator[bytes]:
    """A long content."""
    piece = bytes(range(256)) * 4096
    return (piece for _ in range(LONG // len(piece)))


class Peak:
    """The most memory that was held meanwhile."""

    def __enter__(self) -> Peak:
        tracemalloc.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def same(shard: Shard, key: str) -> bool:
    """Whether the long content is there, without holding it."""
    return sum(map(len, shard.stream(shard.find(key)))) == LONG


@pytest.mark.parametrize(
    ("format", "options"),
    [("swh", {}), ("des", {}), ("des", {"threshold": "1G"}), ("des", {"threshold": "1G", "codec": "lz4"})],
)
def test_long_contents_are_streamed(tmp_path: Path, format: str, options: dict[str, Any]) -> None:
    """A content that does not fit into memory is written, and so are objects after it."""
    key = "ab" * 32
    with Peak() as peak, shardcore.create(tmp_path / "x.des", format=format, **options) as writer:
        writer.add(key, pieces())
        writer.add("cd" * 32, b"after")
    assert peak.bytes < MOST
    with shardcore.open(tmp_path / "x.des") as shard:
        assert same(shard, key)
        assert shard.read(shard.find("cd" * 32)) == b"after"


@pytest.mark.thorough
def test_converting_and_editing_stream(tmp_path: Path) -> None:
    """So are contents that are converted, under their sha256 too, and bytes that are kept before they are cut off."""
    with shardcore.create(tmp_path / "x.des", format="des") as writer:
        writer.add("long", pieces())
    with Peak() as peak, shardcore.open(tmp_path / "x.des") as shard:
        convert(shard, "swh", tmp_path / "x.shard")
    assert peak.bytes < MOST
    size = (tmp_path / "x.shard").stat().st_size
    with Peak() as peak:
        with FileSource(tmp_path / "x.shard") as source:
            apply(edit_of(source, "cut", (), 1000))
        undo(tmp_path / "x.shard")
    assert peak.bytes < MOST
    assert (tmp_path / "x.shard").stat().st_size == size
    with shardcore.open(tmp_path / "x.shard") as shard:
        (key,) = [key for key in shard.objects.keys[:] if key is not None]
        assert same(shard, key)
