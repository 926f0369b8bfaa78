"""Promises of the entry walk: in many places at once, with the result of the plain walk."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Callable

import pytest

from shardcore.formats.des.layout import INDEX_HEAD
from shardcore.formats.des.walk import EntryShape, EntryWalk, ShapeV1, ShapeV1Short, ShapeV2, walk

SHAPES: dict[str, Callable[[bytes], EntryShape]] = {"v2": ShapeV2, "v1": ShapeV1, "v1 short": ShapeV1Short}


def _entry(kind: str, uid: bytes, size: int, meta: bytes = b"", *, big: bool = False) -> bytes:
    head = struct.pack("<H", len(uid)) + uid
    if kind == "v1 short":
        return head + struct.pack("<QQ", 8, size)
    if kind == "v1":
        return head + struct.pack("<QQBQQ", 8, size, 0, size, size)
    if big:
        return head + struct.pack("<BH", 1, 64) + b"5" * 64 + struct.pack("<QI", size, len(meta)) + meta
    return head + struct.pack("<BQQBQQI", 0, 8, size, 1, size, 2 * size, len(meta)) + meta


def _index(kind: str, count: int, seed: int, *, wild: bool) -> bytes:
    rng = random.Random(seed)
    parts = [struct.pack("<I", count)]
    for number in range(count):
        uid = f"documents/{rng.randrange(10 ** rng.randint(1, 20))}-{number}.xml".encode()
        meta = rng.choice([b"", b"", b'{"created_at":"2026-11-03T08:00:00Z"}'])
        if wild and rng.random() < 0.3:
            uid = _entry(kind, b"trap", rng.randrange(9)) * rng.randint(0, 12)
            meta = bytes(rng.randrange(200))
        parts.append(_entry(kind, uid, rng.randrange(1000), meta, big=rng.random() < 0.1))
    return b"".join(parts)


def _plain(shape: EntryShape, count: int) -> tuple[list[int], int]:
    starts: list[int] = []
    at = INDEX_HEAD.size
    while len(starts) < count:
        stop = shape.after(at)
        if stop < 0:
            break
        starts.append(at)
        at = stop
    return starts, at


def _same(result: EntryWalk, shape: EntryShape, count: int) -> None:
    starts, end = _plain(shape, count)
    assert result.starts.tolist() == starts
    assert result.stops.tolist() == [*starts[1:], end][: len(starts)]
    assert (result.end, bool(result.error)) == (end, len(starts) < count)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("wild", [False, True], ids=["tame", "wild"])
@pytest.mark.parametrize("count", [0, 1, 2, 127, 128, 129, 5000, 20_000])
def test_same_as_the_plain_walk(kind: str, wild: bool, count: int) -> None:
    shape = SHAPES[kind](_index(kind, count, count, wild=wild))
    result = walk(shape, count)
    assert len(result.starts) == count
    assert result.error == ""
    _same(result, shape, count)


@pytest.mark.parametrize("kind", SHAPES)
def test_damage_anywhere(kind: str) -> None:
    rng = random.Random(5)
    index = _index(kind, 1500, 3, wild=True)
    for _ in range(20):
        changed = bytearray(index)
        for _ in range(rng.randint(1, 30)):
            changed[rng.randrange(4, len(changed))] = rng.choice([0, 1, 255, rng.randrange(256)])
        if rng.random() < 0.3:
            del changed[rng.randrange(4, len(changed)) :]
        shape = SHAPES[kind](bytes(changed))
        count = rng.choice([1500, 1400, 2000, 2**32 - 1])
        _same(walk(shape, count), shape, count)


@pytest.mark.parametrize("kind", SHAPES)
def test_every_cut(kind: str) -> None:
    index = _index(kind, 4, 9, wild=False)
    for stop in range(4, len(index)):
        shape = SHAPES[kind](index[:stop])
        result = walk(shape, 4)
        _same(result, shape, 4)
        assert " of 4 entries can be read; entry " in result.error


def test_fewer_declared_than_there_are() -> None:
    shape = ShapeV2(_index("v2", 3000, 1, wild=False))
    for count in (1, 5, 64, 65, 1000, 2999):
        _same(walk(shape, count), shape, count)


def test_a_huge_count_allocates_nothing() -> None:
    shape = ShapeV2(_index("v2", 3, 2, wild=False))
    result = walk(shape, 2**32 - 1)
    assert len(result.starts) == 3
    assert "3 of 4,294,967,295 entries can be read" in result.error


def test_nothing_that_looks_like_an_entry() -> None:
    for kind, make in SHAPES.items():
        shape = make(INDEX_HEAD.pack(entry_count=500) + _entry(kind, b"", 1 << 50) * 500)
        _same(walk(shape, 500), shape, 500)


def test_lanes_are_used() -> None:
    """On an ordinary index few entries are walked one by one: otherwise the walk would be right, but slow."""

    class Counting(ShapeV2):
        calls = 0

        def after(self, start: int) -> int:
            Counting.calls += 1
            return super().after(start)

    shape = Counting(_index("v2", 20_000, 4, wild=False))
    assert len(walk(shape, 20_000).starts) == 20_000
    assert Counting.calls < 1000


@pytest.mark.thorough
def test_a_lane_with_nearly_all_entries_costs_no_room_for_the_others() -> None:
    shortest = struct.pack("<HBHQI", 0, 1, 0, 0, 0)
    ordinary = [_entry("v2", b"%d" % number, 1) for number in range(20_000)]
    count = 3 + 60_000 + len(ordinary)
    shape = ShapeV2(struct.pack("<I", count) + b"".join(ordinary[:3]) + shortest * 60_000 + b"".join(ordinary))
    tracemalloc.start()
    try:
        result = walk(shape, count)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32 << 20
    _same(result, shape, count)
