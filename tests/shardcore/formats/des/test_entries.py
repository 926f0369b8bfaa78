"""The index: entries as columns, the entry walk, and limits of its fields."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import numpy as np
import pytest

from shardcore.errors import FormatError, Truncated
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import FOOTER, INDEX_HEAD, index_start, is_hash, read_meta
from shardcore.formats.des.walk_entries import EntryShape, EntryWalk, ShapeV1, ShapeV1Short, ShapeV2, walk
from shardcore.model.span import Span
from tests.shardcore.formats.des.made import Stored, shard


def _entries(stored_objects: list[Stored], *, version: int = 2) -> Entries:
    data = shard(stored_objects, version=version)
    size = int.from_bytes(data[-8:], "little")
    start = len(data) - FOOTER.size - size
    return Entries(data[start : start + size], version, start)


def test_rows_of_one_and_of_many() -> None:
    pool = [b"", b"\0", b"\0\0", b"a", b"A", b"a\0", b"a\0\0", b"ab", b"b\0", b"\xff", b"\xfe"]
    uids = random.Random(4).choices([*pool, b"e\xcc\x81", b"\xc3\xa9"], k=200)
    entries = _entries([Stored(uid) for uid in uids])
    asked = [*sorted(set(uids)), b"c", b"a\0\0\0", b"x" * 70000]
    wanted = [[row for row, uid in enumerate(uids) if uid == one] for one in asked]
    assert [rows.tolist() for rows in entries.rows_of(asked)] == wanted
    assert [entries.rows_of([one])[0].tolist() for one in asked] == wanted
    assert entries.rows_of([]) == []


def test_texts_that_are_none() -> None:
    entries = _entries([Stored(b"a"), Stored(b"\xff"), Stored("\u0142".encode())])
    assert entries.uids(entries.all_rows) == ["a", None, "\u0142"]
    assert entries.bad_texts(entries.columns).tolist() == [False, True, False]
    assert entries.uids(np.array([2, 0])) == ["\u0142", "a"]


def test_unreadable_agrees_with_problem() -> None:
    """The vectorised check and the reason for one row agree, also at the edges of 64 bits."""
    edges = [0, 1, 7, 8, 50, 2**31, 2**63 - 1, 2**63, 2**64 - 1]
    changes = [{"offset": a, "length": b, "compressed": b, "uncompressed": b} for a in edges for b in edges]
    changes += [{"codec": code} for code in range(5)]
    stored_objects = [Stored(b"x", b"12345", changes=change) for change in changes]
    hashes = (b"", b"a" * 64, b"../" * 21 + b"x")
    stored_objects += [Stored(b"x", b"", big=True, changes={"hash": text}) for text in hashes]
    entries = _entries(stored_objects)
    bad = entries.unreadable(entries.columns)
    assert bad.tolist() == [bool(entries.problem(row)) for row in range(len(bad))]
    assert 0 < bad.sum() < len(bad)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[]", "list"),
        (b"3", "number"),
        (b"null", "null"),
        (b"{", "not JSON"),
        (b"\xff", "UTF-8"),
        (b"[" * 99999, "deep"),
    ],
)
def test_metadata_that_is_none(data: bytes, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        read_meta(data)


@pytest.mark.parametrize("size", [97, 2**64 - 1, 3, 0])
def test_an_index_that_does_not_fit_is_refused(size: int) -> None:
    with pytest.raises(Truncated) as caught:
        index_start(116, {"index_size": size})
    assert caught.value.span == Span("", 108, 116)


def test_hashes() -> None:
    for text in (b"0" * 64, b"aF" * 32):
        assert is_hash(text)
    for text in (b"0" * 63, b"0" * 65, b"g" * 64, b"../" + b"0" * 61, b"0" * 63 + b"\n", "\u0662".encode() * 32):
        assert not is_hash(text)


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


def _same(result: EntryWalk, shape: EntryShape, count: int) -> None:
    starts, at = [], INDEX_HEAD.size
    while len(starts) < count and (stop := shape.after(at)) >= 0:
        starts.append(at)
        at = stop
    assert (result.starts.tolist(), result.stops.tolist()) == (starts, [*starts[1:], at][: len(starts)])
    assert (result.end, bool(result.error)) == (at, len(starts) < count)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("wild", [False, True], ids=["tame", "wild"])
@pytest.mark.parametrize("count", [0, 1, 2, 127, 128, 129, 5000, 20_000])
def test_same_as_the_plain_walk(kind: str, wild: bool, count: int) -> None:
    shape = SHAPES[kind](_index(kind, count, count, wild=wild))
    result = walk(shape, count)
    assert (len(result.starts), result.error) == (count, "")
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
def test_every_cut_and_count(kind: str) -> None:
    index = _index(kind, 4, 9, wild=False)
    for stop in range(4, len(index)):
        shape = SHAPES[kind](index[:stop])
        result = walk(shape, 4)
        _same(result, shape, 4)
        assert " of 4 entries can be read; entry " in result.error
    shape = SHAPES[kind](_index(kind, 3000, 1, wild=False))
    for count in (1, 5, 64, 65, 1000, 2999):
        _same(walk(shape, count), shape, count)
    shape = SHAPES[kind](INDEX_HEAD.pack(entry_count=500) + _entry(kind, b"", 1 << 50) * 500)  # looks like no entry
    _same(walk(shape, 500), shape, 500)


def test_a_huge_count_allocates_nothing() -> None:
    shape = ShapeV2(_index("v2", 3, 2, wild=False))
    result = walk(shape, 2**32 - 1)
    assert len(result.starts) == 3
    assert "3 of 4,294,967,295 entries can be read" in result.error


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
