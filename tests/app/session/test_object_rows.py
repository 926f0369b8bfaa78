"""Filters and orders of objects, and whether a file is among them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import shardcore
from shardcore import Cancelled, Objects, Shard, State
from shardscope.session.object_rows import View, find_file, rows_of


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
