"""The samples of xorbs: one of all schemes, one with a bit turned over, one without an info block."""

from __future__ import annotations

import random
from pathlib import Path

import shardcore
from shardcore.codecs.xet.hashes import chunk_hash, to_text
from tests.samples.entry import Entry, Key, flipped
from tests.samples.words import sentences, wave

PLAIN_CHUNK = 4
"""The chunk that is stored as it is."""


def _contents() -> list[bytes]:
    """A chunk each: text, numbers, a letter, a pattern, noise, and the first again."""
    text = sentences(28, 3000)[:3000]
    return [text, wave(0, 1250), b"Z", b"abcd" * 800, random.Random(11).randbytes(600), text]


def write(folder: Path) -> list[Entry]:
    """Writes them, and says what they are."""
    folder.mkdir()
    whole = _packed(folder / "chunks.xorb", _contents(), "auto")
    with shardcore.open(whole) as shard:
        start = shard.find(str(PLAIN_CHUNK)).spans[0].start
        end = next(section.start for section in shard.sections if section.name == "info block")
    (folder / "damaged.xorb").write_bytes(flipped(whole, start + 100, 5))
    numbers = [wave(first, 1000) for first in (0, 5000, 9000)]
    bare = _packed(folder / "odd.xorb", [numbers[0], numbers[1], numbers[0], numbers[2]], "bg4")
    with shardcore.open(bare) as shard:
        end = next(section.start for section in shard.sections if section.name == "info block")
    (folder / "odd.xorb").write_bytes(bare[:end])
    return [_whole(), _damaged(), _odd(to_text(chunk_hash(numbers[0])))]


def _packed(path: Path, contents: list[bytes], compression: str) -> bytes:
    with shardcore.create(path, format="xorb", compression=compression, cut=False) as writer:
        for content in contents:
            writer.add(None, content)
    return path.read_bytes()


def _whole() -> Entry:
    return Entry(
        "xorb/chunks.xorb",
        "xorb",
        "main",
        "Xet xorb",
        "6 chunks, stored in all three ways",
        "Chunk records one after the other: text as LZ4, numbers in byte groups, noise as it is; then the info block.",
        Key("1", "Numbers: all first bytes, then all second ones …, and LZ4 of that."),
        Key(
            to_text(chunk_hash(_contents()[0])),
            "Two chunks have this hash: a xorb may hold one twice, and the first is found.",
        ),
        Key("6", "There are six chunks, numbered from 0."),
    )


def _damaged() -> Entry:
    return Entry(
        "xorb/damaged.xorb",
        "xorb",
        "damaged",
        "One bit of a stored chunk",
        "every length is right, and one chunk is not what it was",
        "A bit of a chunk that is stored as it is: nothing but its hash can tell, and readers rarely compute it.",
        Key("0", "Not touched."),
        Key(str(PLAIN_CHUNK), "Stored uncompressed: one byte is wrong, and the hash of the chunk detects it."),
        Key("6", "There are six chunks, numbered from 0."),
    )


def _odd(hash_of_first: str) -> Entry:
    return Entry(
        "xorb/odd.xorb",
        "xorb",
        "odd",
        "No info block, byte groups only",
        "chunk records, and then the file ends",
        "As it is uploaded: no list of ends and no hashes, so the records are walked and every hash is computed.",
        Key("3", "Three headers are read before its place is known."),
        Key(hash_of_first, "Chunks 0 and 2 are equal; without a list, finding a hash means decompressing."),
        Key(to_text(chunk_hash(b"never stored")), "All chunks are decompressed before this can be told."),
    )
