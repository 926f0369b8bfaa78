"""The samples of xorbs: one of all schemes, one with a bit turned over, one without an info block."""

from __future__ import annotations

import random
from pathlib import Path

import shardcore
from tests.samples.damage import flipped
from tests.samples.words import sentences, wave

PLAIN_CHUNK = 4
"""The chunk that is stored as it is."""


def _contents() -> list[bytes]:
    """A chunk each: text, numbers, a letter, a pattern, noise, and the first again."""
    text = sentences(28, 3000)[:3000]
    return [text, wave(0, 1250), b"Z", b"abcd" * 800, random.Random(11).randbytes(600), text]


def write(folder: Path) -> None:
    folder.mkdir()
    whole = _packed(folder / "chunks.xorb", _contents(), "auto")
    with shardcore.open(whole) as shard:
        start = shard.find(str(PLAIN_CHUNK)).spans[0].start
    (folder / "damaged.xorb").write_bytes(flipped(whole, start + 100, 5))
    numbers = [wave(first, 1000) for first in (0, 5000, 9000)]
    bare = _packed(folder / "odd.xorb", [numbers[0], numbers[1], numbers[0], numbers[2]], "bg4")
    with shardcore.open(bare) as shard:
        end = next(section.start for section in shard.sections if section.name == "info block")
    (folder / "odd.xorb").write_bytes(bare[:end])


def _packed(path: Path, contents: list[bytes], compression: str) -> bytes:
    with shardcore.create(path, format="xorb", compression=compression, cut=False) as writer:
        for content in contents:
            writer.add(None, content)
    return path.read_bytes()
