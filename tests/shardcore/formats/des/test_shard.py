"""Promises of opening: what is read, and how much of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.errors import LimitExceeded, NotAShard, Unsupported
from shardcore.formats.des import shard as opening
from shardcore.formats.des.shard import DesShard
from shardcore.sources.memory import BytesSource
from shardcore.testing import CountingSource
from tests.shardcore.formats.des.made import Stored, random_stored, shard, write


def _uniform(count: int, size: int = 20) -> bytes:
    return shard([Stored(f"doc-{n:06}".encode(), bytes([n % 256]) * size) for n in range(count)])


def test_a_small_file_is_one_range() -> None:
    """A file inside the tail guess is read once."""
    source = CountingSource(_uniform(50), "x.des")
    with shardcore.open(source) as opened:
        assert len(opened.objects) == 50
        assert opened.objects.keys[3] == "doc-000003"
    assert source.ranges == [(0, source.size)]


def test_a_short_index_is_two_ranges() -> None:
    """Opening reads the tail, with the whole index, and the head."""
    source = CountingSource(_uniform(300, 1000), "x.des")
    with shardcore.open(source) as opened:
        assert len(source.ranges) == 2
        opened.load_index()
        opened.runs(0, source.size)
        _ = opened.objects[:], opened.objects.keys[:]
        assert len(source.ranges) == 2


def test_a_long_index_is_three_ranges() -> None:
    """An index longer than the tail guess costs one range more, and the list none."""
    source = CountingSource(_uniform(5000), "x.des")
    with shardcore.open(source) as opened:
        assert len(source.ranges) == 3
        assert len(opened.objects.keys[:]) == 5000
        assert len(source.ranges) == 3


def test_an_object_is_one_range() -> None:
    """An inline object is one range, exactly its bytes; an empty one none."""
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


@pytest.mark.thorough
def test_no_object_per_entry_is_made_by_opening() -> None:
    """Opening 100,000 entries and showing the first rows makes a small number of Python objects."""
    import gc

    data = _uniform(100_000, 1)
    source = BytesSource(data, "x.des")
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        opened = shardcore.open(source)
        first = opened.objects.columns(np.arange(50)), opened.objects.keys[:50]
        after = len(gc.get_objects())
    finally:
        gc.enable()
    assert len(first[1]) == 50
    assert after - before < 2000
    opened.close()


def test_the_other_family_is_named() -> None:
    """A file of the DESHEAD1 family is recognised, and refused by that name."""
    data = b"DESHEAD1" + bytes(100) + b"DESFOOT1" + bytes(64)
    assert "DESHEAD1" in shardcore.detect(data).why
    with pytest.raises(Unsupported, match="DESHEAD1"):
        shardcore.open(data)


@pytest.mark.parametrize(("version", "short", "name"), [(1, False, "1"), (1, True, "1 (first form)"), (2, False, "2")])
def test_layouts_of_history(version: int, short: bool, name: str) -> None:
    """The three layouts of entries are told apart, also where an index is empty or has one entry."""
    for count in (1, 2, 30):
        stored_objects = random_stored(count, count, version=version)
        for one in stored_objects:
            one.codec = "none" if short else one.codec
            one.big = False
        with shardcore.open(shard(stored_objects, version=version, short=short)) as opened:
            assert opened.version == name
            assert [opened.read(opened.objects.ref(row)) for row in range(count)] == [t.content for t in stored_objects]


def test_bytes_behind_the_entries() -> None:
    """Bytes of the index after the last entry are shown and reported, and do no harm."""
    data = shard(random_stored(3, 10), after=b"left over")
    with shardcore.open(data) as opened:
        assert isinstance(opened, DesShard)
        place = opened.file.entries.lost_span
        assert data[place.start : place.stop] == b"left over"
        assert opened.explain(place.start)[-1].name == "after the entries"
        assert "des.index-trailing" in [f.code for f in opened.verify("structure").findings]


def test_a_gigantic_index_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index over the limit is refused before it is read."""
    monkeypatch.setattr(opening, "MAX_INDEX", 1000)
    source = CountingSource(_uniform(5000), "x.des")
    with pytest.raises(LimitExceeded, match="index"):
        shardcore.open(source)
    assert sum(stop - start for start, stop in source.ranges) <= 2 * 65536


def test_half_a_shard_is_a_candidate() -> None:
    """One right end alone is not enough to be opened, but named."""
    whole = _uniform(3)
    assert "without its footer" in shardcore.detect(whole[:-1]).why
    assert "without magic" in shardcore.detect(b"\0" + whole[1:]).why
    with pytest.raises(NotAShard):
        shardcore.detect(b"\0" * 100)


def test_fields_and_sections(tmp_path: Path) -> None:
    """The fields are those of header, index and footer, in the order of their bytes."""
    with shardcore.open(write(tmp_path, "x.des", [Stored(b"a", b"hello"), Stored(b"b", b"shard")])) as opened:
        assert opened.fields == {
            "header.magic": b"DES2",
            "header.version": 2,
            "header.reserved": bytes(3),
            "index.entry_count": 2,
            "footer.magic": b"DESI",
            "footer.index_size": 86,
        }
        sections = [(s.name, s.start, s.stop) for s in opened.sections]
        assert sections == [("header", 0, 8), ("data", 8, 18), ("index", 18, 104), ("footer", 104, 116)]
        assert opened.why == "magic DES2 and footer DESI"


def test_entries_point_to_contents_and_not_the_other_way(data: Path) -> None:
    """The offset of an entry points to its content, once; the object names its entry."""
    with shardcore.open(data / "des" / "paths.des") as shard:
        entry = shard.objects.ref(0).record
        assert entry is not None
        content = shard.objects.ref(0).spans[0]
        path = shard.explain(entry.start)
        record = next(node for node in path if node.span == entry)
        assert record.target is None
        assert [node.target for node in (record.children or ()) if node.target is not None] == [content]
        assert shard.explain(content.start)[-1].target is None
