"""Promises of opening: what is read, and how much of it."""

from __future__ import annotations

import pytest

import shardcore
from shardcore.errors import LimitExceeded, NotAShard, Unsupported
from shardcore.formats.des import shard as opening
from shardcore.formats.des.shard import DesShard
from shardcore.testing import CountingSource
from tests.shardcore.formats.des.made import Stored, random_stored, shard


def _uniform(count: int, size: int = 20) -> bytes:
    return shard([Stored(f"doc-{n:06}".encode(), bytes([n % 256]) * size) for n in range(count)])


def test_a_small_file_is_one_range() -> None:
    source = CountingSource(_uniform(50), "x.des")
    with shardcore.open(source) as opened:
        assert len(opened.objects) == 50
        assert opened.objects.keys[3] == "doc-000003"
    assert source.ranges == [(0, source.size)]


def test_a_short_index_is_two_ranges() -> None:
    source = CountingSource(_uniform(300, 1000), "x.des")
    with shardcore.open(source) as opened:
        assert len(source.ranges) == 2
        opened.load_index()
        opened.runs(0, source.size)
        _ = opened.objects[:], opened.objects.keys[:]
        assert len(source.ranges) == 2


def test_a_long_index_is_three_ranges() -> None:
    source = CountingSource(_uniform(5000), "x.des")
    with shardcore.open(source) as opened:
        assert len(source.ranges) == 3
        assert len(opened.objects.keys[:]) == 5000
        assert len(source.ranges) == 3


def test_an_object_is_one_range() -> None:
    data = shard(
        [Stored(b"pad", bytes(200_000)), Stored(b"a", b"x" * 5000, "zstd"), Stored(b"empty"), Stored(b"b", b"12345")]
    )
    source = CountingSource(data, "x.des")
    with shardcore.open(source) as opened:
        for key, cost in (("a", 1), ("empty", 0), ("b", 1)):
            source.ranges.clear()
            ref = opened.find(key)
            assert source.ranges == []
            assert opened.read(ref) == {"a": b"x" * 5000, "empty": b"", "b": b"12345"}[key]
            assert source.ranges == [(ref.spans[0].start, ref.spans[0].stop)] * cost
        source.ranges.clear()
        assert opened.read_range(opened.find("pad"), 100, 110) == bytes(10)
        assert source.ranges == [(108, 118)]


def test_the_other_family_is_named() -> None:
    data = b"DESHEAD1" + bytes(100) + b"DESFOOT1" + bytes(64)
    assert "DESHEAD1" in shardcore.detect(data).why
    with pytest.raises(Unsupported, match="DESHEAD1"):
        shardcore.open(data)


@pytest.mark.parametrize(
    ("version", "short", "name"), [(1, False, "1"), (1, True, "1 (first layout)"), (2, False, "2")]
)
def test_layouts_of_history(version: int, short: bool, name: str) -> None:
    for count in (1, 2, 30):
        stored_objects = random_stored(count, count, version=version)
        for one in stored_objects:
            one.codec = "none" if short else one.codec
            one.big = False
        with shardcore.open(shard(stored_objects, version=version, short=short)) as opened:
            assert opened.version == name
            assert [opened.read(opened.objects.ref(row)) for row in range(count)] == [t.content for t in stored_objects]


def test_bytes_behind_the_entries() -> None:
    data = shard(random_stored(3, 10), after=b"left over")
    with shardcore.open(data) as opened:
        assert isinstance(opened, DesShard)
        place = opened.file.entries.lost_span
        assert data[place.start : place.stop] == b"left over"
        assert opened.explain(place.start)[-1].name == "after the entries"
        assert "des.index-trailing" in [f.code for f in opened.verify("structure").findings]


def test_a_gigantic_index_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_INDEX", 1000)
    source = CountingSource(_uniform(5000), "x.des")
    with pytest.raises(LimitExceeded, match="index"):
        shardcore.open(source)
    assert sum(stop - start for start, stop in source.ranges) <= 2 * 65536


def test_half_a_shard_is_a_candidate() -> None:
    whole = _uniform(3)
    assert "no footer" in shardcore.detect(whole[:-1]).why
    assert "no magic" in shardcore.detect(b"\0" + whole[1:]).why
    with pytest.raises(NotAShard):
        shardcore.detect(b"\0" * 100)
