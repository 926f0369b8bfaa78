"""Filters, orders and ranges of objects, and whether a file is among them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import shardcore
from shardcore import Cancelled, Objects, Shard, State, UsageError
from shardscope.session.object_filter import find_file
from shardscope.session.object_rows import RowRanges, View, rows_of


@pytest.fixture
def shard(data: Path) -> Iterator[Shard]:
    """2,000 objects, with the index."""
    with shardcore.open(data / "swh" / "medium.shard") as opened:
        opened.load_index()
        yield opened


def keys(shard: Shard, view: View) -> list[str | None]:
    """The keys of a view, in its order."""
    rows = rows_of(shard, view)
    return shard.objects.key_texts(rows)


def test_a_whole_key_is_found_without_looking_at_all(shard: Shard) -> None:
    def never(done: int, total: int) -> None:
        raise AssertionError("all rows were looked at")

    key = shard.objects.keys[5]
    rows = rows_of(shard, View(key), never)
    assert rows.tolist() == [5]


@pytest.mark.parametrize("name", ["des", "neuroglancer/volume/4_4_40", "swh/medium.shard"])
def test_every_column_sorts(data: Path, name: str) -> None:
    with shardcore.open(data / name) as shard:
        shard.load_index()
        everything = shard.objects.known(0, len(shard.objects))
        columns = {"offset": "start", "stored": "stored_size", "size": "size", "state": "state", "shard": "shard"}
        for order, column in columns.items():
            rows = rows_of(shard, View(order=order))
            assert len(set(rows.tolist())) == len(rows)
            values = getattr(everything, column)[rows].tolist()
            known = [value for value in values if value >= 0]
            assert values == sorted(known) + [-1] * (len(values) - len(known))
            assert len(rows) == len(shard.objects)
        texts = [text for text in keys(shard, View(order="key")) if text is not None]
        # Where keys are numbers, they are sorted as numbers.
        numbers = all(text.isdecimal() for text in texts) and "key" in shard.objects.orders
        assert texts == sorted(texts, key=int if numbers else str)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("order", ["size", "offset"])
def test_sorting_drops_no_rows(data: Path, order: str, descending: bool) -> None:
    with shardcore.open(data / "swh" / "deleted.shard") as shard:
        shard.load_index()
        rows = rows_of(shard, View(order=order, descending=descending))
        assert sorted(rows.tolist()) == list(range(len(shard.objects)))
        live = shard.objects.columns(rows.astype("int64")).state == State.LIVE
        assert live.tolist() == sorted(live.tolist(), reverse=True)
        assert not live.all()


def test_filtering_can_be_stopped(shard: Shard) -> None:
    def stop(done: int, total: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        rows_of(shard, View("a"), stop)


def test_a_content_is_found_where_keys_are_no_digests(tmp_path: Path) -> None:
    contents = {"00" * 31 + f"{n:02x}": bytes([n]) * 50 for n in range(20)}
    target = tmp_path / "own.shard"
    with shardcore.create(target, format="swh") as writer:
        for key, content in contents.items():
            writer.add(key, content)
    path = tmp_path / "wanted.bin"
    path.write_bytes(bytes([7]) * 50)
    with shardcore.open(target) as shard:
        found = find_file(shard, path)
    assert found.ref.key == "00" * 31 + "07"
    assert "same content" in found.how


@pytest.mark.parametrize("order", ["key", "size", "offset", "slot"])
def test_a_filter_reads_the_keys_once_and_in_the_order_of_the_format(
    data: Path, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the rows that the filter keeps are sorted."""
    with shardcore.open(data / "swh" / "small.shard") as shard:
        shard.load_index()
        first = shard.objects.keys[0]
        asked: list[int] = []
        texts = type(shard.objects).key_texts

        def counted(objects: Objects, rows: NDArray[np.int64]) -> list[str | None]:
            asked.extend(rows.tolist())
            return texts(objects, rows)

        monkeypatch.setattr(type(shard.objects), "key_texts", counted)
        kept = rows_of(shard, View(f"*{first[2:5]}?{first[6:8]}*", order))
        assert kept.tolist() == [0]
        assert asked == [*range(len(shard.objects)), *([0] if order == "key" else [])]


def test_ranges_are_sorted_and_joined() -> None:
    chosen = RowRanges.of([range(7, 9), range(2), range(2, 3), range(8, 12), range(5, 5)])
    assert chosen.parts == (range(3), range(7, 12))
    assert len(chosen) == 8
    assert chosen.rows().tolist() == [0, 1, 2, 7, 8, 9, 10, 11]


def test_places_become_rows_of_objects() -> None:
    """A row of a sorted table is not the row of the object."""
    chosen = RowRanges.of([range(1, 3)], np.array([9, 4, 6], np.uint32))
    assert chosen.rows().tolist() == [4, 6]
    assert chosen.rows().dtype == np.int64
    assert chosen.first == 4


def test_millions_cost_nothing_until_they_are_asked_for() -> None:
    chosen = RowRanges.all_of(10**15)
    assert len(chosen) == 10**15
    assert chosen.head(3).rows().tolist() == [0, 1, 2]
    assert next(chosen.pieces(4)).tolist() == [0, 1, 2, 3]


@pytest.fixture
def deleted(data: Path) -> Iterator[Shard]:
    """13 slots, of which some were deleted."""
    with shardcore.open(data / "swh" / "deleted.shard") as opened:
        opened.load_index()
        yield opened


def sizes(shard: Shard, text: str) -> list[int]:
    """The sizes of the rows that a filter leaves."""
    rows = rows_of(shard, View(text))
    found: list[int] = shard.objects.columns(rows.astype("int64")).size.tolist()
    return sorted(found)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (">40", 41, 10**9),
        (">=40", 40, 10**9),
        ("<40", 0, 39),
        ("<=1K", 0, 1024),
        ("=264", 264, 264),
        ("size:264", 264, 264),
        ("26..264", 26, 264),
        ("size:100..", 100, 10**9),
        ("..37", 0, 37),
        (">0.. key:", 0, 0),
    ],
)
def test_sizes(deleted: Shard, text: str, low: int, high: int) -> None:
    if text.startswith(">0.."):
        with pytest.raises(UsageError, match="invalid size"):
            sizes(deleted, text)
        return
    everything = deleted.objects.known(0, len(deleted.objects)).size.tolist()
    expected = sorted(size for size in everything if low <= size <= high and size >= 0)
    assert sizes(deleted, text) == expected
    assert expected


@pytest.mark.parametrize(
    ("text", "rows"), [("row:3", [3]), ("row:2..4", [2, 3, 4]), ("row:..1", [0, 1]), ("row:<2", [0, 1])]
)
def test_rows_by_number(deleted: Shard, text: str, rows: list[int]) -> None:
    assert rows_of(deleted, View(text)).tolist() == rows
    with pytest.raises(UsageError, match="invalid rows"):
        rows_of(deleted, View("row:x"))


def test_states_and_keys_together(deleted: Shard) -> None:
    assert len(sizes(deleted, "state:live")) == 10
    assert sizes(deleted, "state:unused") == [-1] * 3
    assert sizes(deleted, "-state:unused,deleted") == sizes(deleted, "state:live")
    assert sizes(deleted, "state:live state:unused") == []
    key = next(key for key in deleted.objects.keys if key)
    assert len(sizes(deleted, f"state:live {key[:6]}")) == 1
    assert sizes(deleted, f"state:unused {key[:6]}") == []


@pytest.mark.parametrize("name", ["swh/deleted.shard", "des/paths.des"])
def test_any_part_of_a_key(data: Path, name: str) -> None:
    with shardcore.open(data / name) as opened:
        opened.load_index()
        keys = opened.objects.key_texts(np.arange(len(opened.objects)))
        some = [key for key in keys if key]
        parts = {key[at : at + size] for key in some for at in (0, 1, len(key) - 2) for size in (1, 2, 5)} | {"zz"}
        across = {one[-2:] + other[:2] for one, other in pairwise(some)}
        for part in filter(str.isalnum, (parts | across) - set(some)):
            for text in (part, part.upper(), f"*{part}*"):
                rows = rows_of(opened, View(f"key:{text}"))
                fits = {text.strip("*"), text.strip("*").lower()}
                assert rows.tolist() == [row for row, key in enumerate(keys) if key and any(one in key for one in fits)]
        first = rows_of(opened, View(f"{some[0][:1]}*"))
        assert first.tolist() == [row for row, key in enumerate(keys) if key and key.startswith(some[0][:1])]


@pytest.mark.parametrize(
    ("text", "word"),
    [(">4X", ">4X"), ("size:abc", "size:abc"), ("state:gone", "gone"), ("kind:chunk", "chunk"), ("codec:", "codec:")],
)
def test_a_wrong_filter_names_the_word(deleted: Shard, text: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        rows_of(deleted, View(text))
