"""The samples of Xet: two shards with both xorbs, one with a damaged table, one under a key, one without a footer."""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import shardcore
from shardcore.codecs.xet.chunker import chunks
from shardcore.codecs.xet.hashes import chunk_hash, to_text
from shardcore.codecs.xet.xorb_builder import PackedXorb, XorbPacker
from shardcore.formats.mdb.layout import FILE_LOOKUP, shard_name
from shardcore.formats.mdb.serialization import (
    FULL,
    UPLOAD,
    FileChunks,
    FileCollector,
    FooterValues,
    Recipes,
    build,
)
from tests.samples.damage import flipped
from tests.samples.words import sentences, wave

CREATED = 1_767_600_000
"""Monday, 5 January 2026, in Unix seconds."""
KEY = bytes(range(1, 33))
"""The HMAC key of the fact sheets."""


class _Store:
    """Xorbs, and which chunk lies in which, over several shards."""

    def __init__(self) -> None:
        self.known: dict[bytes, tuple[int, int]] = {}
        self.packed: list[PackedXorb] = []
        self.files: list[bytes] = []

    def shard(self, files: Mapping[str, Sequence[bytes]]) -> Recipes:
        """What a shard says of some files, each a list of chunks; chunks that are new make one more xorb."""
        target, collected = io.BytesIO(), FileCollector()
        packer = XorbPacker(target, "auto")  # type: ignore[arg-type] - nothing is skipped
        for file in files.values():
            found, digest = FileChunks(), hashlib.sha256(b"".join(file))
            for chunk in file:
                raw = chunk_hash(chunk)
                if raw not in self.known:
                    self.known[raw] = (len(self.packed), packer.add(chunk, raw))
                found.add(raw, len(chunk), *self.known[raw])
            collected.add(found, digest.hexdigest())
        self.packed.append(packer.finish())
        self.files.append(target.getvalue())
        return _own(collected.recipes(self.packed), len(self.packed) - 1, self.packed)

    def write(self, folder: Path) -> None:
        """Writes the xorbs."""
        folder.mkdir()
        for packed, data in zip(self.packed, self.files, strict=True):
            (folder / f"default.{to_text(packed.hash)}").write_bytes(data)


def _own(recipes: Recipes, number: int, packed: list[PackedXorb]) -> Recipes:
    """The same files, but only the xorb that came with them: what is older is described by an older shard."""
    before = int(sum(recipes.chunk_counts[:number]))
    xorbs, counts = recipes.xorbs[number:], recipes.chunk_counts[number:]
    return replace(recipes, xorbs=xorbs, chunk_counts=counts, chunks=recipes.chunks[before:])


TEXTS = {12: 10120, 28: 8729, 149: 8847, 279: 9022, 425: 9585}
"""Lines of words, by the seed: how far the first chunk goes by the rules of cutting."""
WAVES = {36000: 8360, 63500: 9440, 67000: 8664}
"""The same of numbers, by the first."""


def _chunks() -> tuple[list[bytes], list[bytes], bytes]:
    """Chunks of text, of numbers, and one of noise. Joined in any order they are cut again where they were joined."""
    texts = [sentences(seed, 10200)[:size] for seed, size in TEXTS.items()]
    waves = [wave(first, 2600)[:size] for first, size in WAVES.items()]
    for chunk in texts + waves:
        assert next(iter(chunks(iter([chunk + b" more"])))) == chunk
    return texts, waves, random.Random(7).randbytes(8200)


def _contents() -> tuple[dict[str, list[bytes]], dict[str, list[bytes]]]:
    """The files of both shards: what was uploaded first, and what came later."""
    texts, waves, noise = _chunks()
    first = {
        "report-1.txt": [texts[0], texts[1], texts[2]],
        "report-2.txt": [texts[0], texts[3], texts[2]],
        "weights.f32": [waves[0], waves[1]],
        "noise.bin": [noise],
    }
    later = {
        "report-3.txt": [texts[0], texts[3], texts[4], texts[2]],
        "weights-2.f32": [waves[0], waves[2]],
        "one.bin": [b"Z"],
        "empty.bin": [],
    }
    return first, later


def write(folder: Path) -> None:
    folder.mkdir()
    cache = folder / "cache"
    cache.mkdir()
    first, later = _contents()
    store = _Store()
    older = build(store.shard(first), FULL, FooterValues(created=CREATED))
    newer = build(store.shard(later), FULL, FooterValues(created=CREATED + 86_400))
    # Shards are listed by their names: the one with the empty file is not the first.
    names = [shard_name(data) for data in (older, newer)]
    assert names == sorted(names), names
    for name, data in zip(names, (older, newer), strict=True):
        (cache / name).write_bytes(data)
    store.write(cache / "xorbs")
    _small(folder)


def _file_key(file: Sequence[bytes]) -> str:
    found = FileChunks()
    for chunk in file:
        found.add(chunk_hash(chunk), len(chunk), 0, 0)
    return to_text(found.segments()[0])


def _small(folder: Path) -> None:
    """Shards of a few hundred bytes of content: lines as chunks, which no cutter would make that short."""
    lines = [line + b"\n" for line in sentences(5, 600).splitlines()]
    files = {
        "first": lines[0:3],
        "second": lines[0:2],
        "third": [lines[0], lines[4]],
        "fourth": lines[5:8],
        "fifth": [lines[0], *lines[6:9]],
    }
    store = _Store()
    recipes = store.shard(files)
    full = build(recipes, FULL, FooterValues(created=CREATED))
    for name, data in {
        "damaged": _with_lost_file(full, _file_key(files["third"])),
        "odd": build(recipes, FULL, FooterValues(KEY, CREATED, CREATED + 86_400)),
        "no-footer": build(recipes, UPLOAD, FooterValues()),
    }.items():
        (folder / name).mkdir()
        # The name is that of the whole shard: the digest of the damaged one is another.
        (folder / name / shard_name(full if name == "damaged" else data)).write_bytes(data)
        store.write(folder / name / "xorbs")


def _with_lost_file(data: bytes, text: str) -> bytes:
    """The shard with one bit of the table key of a file turned over, the lowest: the table stays sorted."""
    with shardcore.open(data) as shard:
        start = int(shard.fields["footer.file_lookup_offset"])  # type: ignore[arg-type]
        count = int(shard.fields["footer.file_lookup_num_entry"])  # type: ignore[arg-type]
    rows = FILE_LOOKUP.read(data, start, count)
    place = [f"{int(row):016x}" for row in rows[rows.dtype.names[0]]].index(text[:16])
    return flipped(data, start + place * FILE_LOOKUP.size, 0)
