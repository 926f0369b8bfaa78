"""What is reported as whole is what was put in: of every damaged sample, and of every sample cut at many places."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import shardcore
from shardcore import ShardError, State
from shardcore.operations.recover import Salvage, salvage
from shardcore.shards.salvage import Condition
from shardcore.sources.local import FileSource
from shardcore.sources.patched_source import Change, PatchedSource
from shardcore.testing import rounds

SAMPLES = Path(__file__).parents[3] / "resources" / "samples"
GOOD = {
    "swh": ("swh/small.shard",),
    "bloscpack": ("bloscpack/array.blp",),
    "xorb": ("xorb/chunks.xorb",),
    "des": ("des/archive/20260105_2A_0000.des",),
    "mdb": tuple(f"mdb/cache/{path.name}" for path in sorted((SAMPLES / "mdb" / "cache").glob("*.mdb"))),
    "neuroglancer": ("neuroglancer/hashed/0.shard", "neuroglancer/volume/8_8_16/0.shard"),
}
CUTS = 50


def contents(path: Path) -> dict[str | None, str]:
    found: dict[str | None, str] = {}
    with shardcore.open(str(path)) as shard:
        for row in range(len(shard.objects)):
            ref = shard.objects.ref(row)
            if ref.state in (State.LIVE, State.EXTERNAL):
                try:
                    found[ref.key] = hashlib.sha256(shard.read(ref)).hexdigest()
                except ShardError:
                    continue
    return found


def cut(path: Path, size: int, format: str) -> Salvage:
    with FileSource(path) as file:
        return salvage(PatchedSource(file, [Change.cut(size, file.size)]), None, format=format)


def places(size: int) -> Iterator[int]:
    """Where a file of a size is cut: evenly, and around its beginning and its end."""
    count = rounds(CUTS, 4)
    yield from sorted({max(1, min(size - 1, size * number // count + 3)) for number in range(count)})


@pytest.mark.thorough
@pytest.mark.parametrize(("format", "name"), [(one, name) for one, names in GOOD.items() for name in names])
def test_what_is_whole_in_a_cut_file_is_what_was_put_in(format: str, name: str) -> None:
    """A key never gets bytes of another object."""
    path = SAMPLES / name
    good = contents(path)
    assert good
    for size in places(path.stat().st_size):
        done = cut(path, size, format)
        for one in done.items:
            if one.condition is not Condition.WHOLE:
                continue
            if one.key in good:
                assert one.sha256 == good[one.key], f"{name} cut at {size}: {one.key}"
            elif format != "neuroglancer":  # there, members that no index lists may be indices
                assert one.sha256 in good.values(), f"{name} cut at {size}: {one.name}"


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["swh", "bloscpack", "des"])
def test_nothing_that_stands_before_a_cut_is_missed(format: str) -> None:
    """Of objects whose stored bytes and marks are before the cut."""
    for name in GOOD[format]:
        path = SAMPLES / name
        with shardcore.open(str(path)) as shard:
            rows = [shard.objects.ref(row) for row in range(len(shard.objects))]
            live = [ref for ref in rows if ref.state is State.LIVE and ref.size > 0 and findable(format, ref.codec)]
            there = {hashlib.sha256(shard.read(ref)).hexdigest(): ref.spans[0].stop for ref in live}
        for size in places(path.stat().st_size):
            found = {one.sha256 for one in cut(path, size, format).items}
            missed = [digest for digest, stop in there.items() if stop + MARK[format] <= size and digest not in found]
            assert len(missed) <= SPARED[format], f"{name} cut at {size}: {len(missed)} of {len(there)} missed"


MARK = {"swh": 0, "bloscpack": 8, "des": 0}
"""Bytes after an object by which it is found."""
SPARED = {"swh": 2, "bloscpack": 0, "des": 0}
"""Objects before a cut that may be missed: chains of lengths need two that follow."""


def findable(format: str, codec: str) -> bool:
    return format != "des" or codec in ("zstd", "lz4")


MENDED = {
    "swh": ("swh/damaged.shard", (5052, 0)),
    "bloscpack": ("bloscpack/damaged.blp", (726, 4)),
    "neuroglancer": ("neuroglancer/damaged", (331, 0)),
    "mdb": ("mdb/damaged", (1764, 0)),
}
"""The damaged samples that one bit mends: the byte, and the bit. The others lost bytes."""


@pytest.mark.parametrize("format", MENDED)
def test_what_is_whole_in_a_damaged_sample_is_what_the_mended_one_serves(format: str) -> None:
    name, (offset, bit) = MENDED[format]
    path = SAMPLES / name
    if path.is_dir():
        (path,) = [one for one in path.rglob("*") if one.suffix in (".mdb", ".shard")]
    good: dict[str | None, str] = {}
    with FileSource(path) as file:
        change = Change.flip(offset, bit, file.read(offset, offset + 1)[0])
        with shardcore.open(PatchedSource(file, [change])) as shard:
            for row in range(len(shard.objects)):
                ref = shard.objects.ref(row)
                try:
                    good[ref.key] = hashlib.sha256(shard.read(ref)).hexdigest()
                except ShardError:
                    continue
    done = salvage(path, None)
    whole = [one for one in done.items if one.condition is Condition.WHOLE]
    assert whole or format == "neuroglancer"  # whose sample has values that are stored plain: nothing vouches for them
    assert all(one.sha256 == good[one.key] if one.key in good else one.sha256 in good.values() for one in whole)
