"""Bytes of two files side by side: what is aligned with what, where they differ, and in which order it is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import shardcore
from shardcore.operations.byte_diff import ByteDiff, byte_diff
from tests.shardcore.operations.test_diff import written


@contextmanager
def aligned(first: Path, second: Path, **options: int) -> Iterator[ByteDiff]:
    with shardcore.open(first) as one, shardcore.open(second) as other:
        yield byte_diff(shardcore.diff(one, other), one, other, **options)


def content(number: int) -> bytes:
    return bytes([number]) * 40


def test_segments_tile_both_files(tmp_path: Path) -> None:
    first = written(tmp_path / "a.des", {f"k{n}": content(n) for n in range(20)})
    kept = {f"k{n}": content(n) for n in (3, 1, 2, 9, 8, 15, 16, 17)}
    second = written(tmp_path / "b.des", {**kept, "k18": b"short", "new": content(99), "renamed": content(11)})
    with aligned(first, second) as found:
        for spans, path in ((found.segments.first, first), (found.segments.second, second)):
            filled = spans[spans[:, 1] > spans[:, 0]]
            filled = filled[np.argsort(filled[:, 0])]
            assert filled[0, 0] == 0
            assert filled[-1, 1] == path.stat().st_size
            assert (filled[1:, 0] == filled[:-1, 1]).all()


def test_a_moved_object_is_aligned(tmp_path: Path) -> None:
    first = written(tmp_path / "a.des", {"one": content(1), "two": content(2), "three": content(3)})
    second = written(tmp_path / "b.des", {"three": content(3), "one": content(1)})
    with shardcore.open(first) as one, shardcore.open(second) as other:
        found = byte_diff(shardcore.diff(one, other), one, other)
        for key in ("one", "three"):
            a, b = (shard.find(key).spans[0].start for shard in (one, other))
            assert a != b
            row = found.row_of(0, a)
            assert row == found.row_of(1, b)
            shown = found.window(row, 2)
            assert shown.offsets[:, 0].tolist() == [a, b]
            assert not shown.differing.any()
        removed = found.window(found.row_of(0, one.find("two").spans[0].start), 1)
        assert removed.offsets[1].tolist() == [-1]
        assert removed.differing[0].all()


def test_differences_are_found_forwards_and_backwards(tmp_path: Path) -> None:
    first = written(tmp_path / "a.des", {f"k{n}": content(n) for n in range(50)})
    data = bytearray(first.read_bytes())
    with shardcore.open(first) as shard:
        places = [shard.find(key).spans[0].start + at for key, at in (("k7", 1), ("k7", 8), ("k30", 5), ("k31", 5))]
    for place in places:
        data[place : place + 2] = b"!!"
    (second := tmp_path / "b.des").write_bytes(data)
    with aligned(first, second) as found:
        cell, forwards = 0, []
        while (run := found.next_run(cell)) is not None:
            forwards.append(run)
            cell = run.cells[1]
        assert [run.first for run in forwards] == [run.second for run in forwards] == [(p, p + 2) for p in places]
        backwards = [found.next_run(found.rows * found.width, back=True)]
        while (run := found.next_run(backwards[-1].cells[0], back=True)) is not None:  # type: ignore[union-attr]
            backwards.append(run)
        assert backwards == forwards[::-1]
        assert [int(counts.sum()) for counts in found.overview(100)[:2]] == [8, 8]
        assert found.overview(100)[2] == 4


def test_windows_read_no_more_than_their_rows(tmp_path: Path) -> None:
    data = np.arange(1 << 16, dtype="<u4").tobytes()
    first = written(tmp_path / "a.des", {"large": data, "last": b"x" * 20})
    second = written(tmp_path / "b.des", {"last": b"x" * 20, "large": data})
    with shardcore.open(first) as one, shardcore.open(second) as other:
        found = byte_diff(shardcore.diff(one, other), one, other, width=32)
        start = one.find("large").spans[0].start
        shown = found.window(found.row_of(0, start + 320), 3)
        assert shown.data.shape == (2, 3, 32)
        assert shown.data[0].tobytes() == shown.data[1].tobytes() == data[320 : 320 + 96]
        assert len(found.window(found.rows - 1, 50).offsets[0]) == 1
