"""Writing keeps little in memory, however long the contents are."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shardcore

LONG = 64 << 20
"""Bytes of a content that is longer than what may be held."""
MOST = 40 << 20
"""Bytes that may be held."""


def pieces() -> Iterator[bytes]:
    piece = bytes(range(256)) * 4096
    return (piece for _ in range(LONG // len(piece)))


@pytest.mark.parametrize(
    ("format", "options"),
    [("swh", {}), ("des", {}), ("des", {"threshold": "1G"}), ("des", {"threshold": "1G", "codec": "lz4"})],
)
def test_long_contents_are_streamed(tmp_path: Path, format: str, options: dict[str, Any]) -> None:
    """The content does not fit in memory."""
    key = "ab" * 32
    tracemalloc.start()
    try:
        with shardcore.create(tmp_path / "x.des", format=format, **options) as writer:
            writer.add(key, pieces())
            writer.add("cd" * 32, b"after")
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()
    with shardcore.open(tmp_path / "x.des") as shard:
        assert sum(map(len, shard.stream(shard.find(key)))) == LONG
        assert shard.read(shard.find("cd" * 32)) == b"after"
