"""Shards of millions of slots: what is not shown is neither read nor held."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.cli.rows import shown_rows, unreadable_states
from shardcore.formats.swh import slots, verify
from shardcore.formats.swh.layout import NO_OBJECT, SLOT, SwhGeometry
from shardcore.progress import no_progress
from shardcore.shards.shard import Shard
from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesSource
from tests.bench.sparse_swh import make_sparse

SAMPLE = Path(__file__).parents[3] / "data" / "swh" / "small.shard"
SLOTS = 1_000_003


class CountedFile(FileSource):
    """A file that keeps the ranges that are read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.ranges: list[tuple[int, int]] = []

    def _read(self, start: int, stop: int) -> bytes:
        self.ranges.append((start, stop))
        return super()._read(start, stop)


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shard of a million slots, nearly all of them holes."""
    path = tmp_path_factory.mktemp("sparse") / "sparse.shard"
    make_sparse(path, slots=SLOTS, declared=990_000, data_bytes=2_000_000_000)
    return path


def listed(shard: Shard, skip: int, limit: int) -> list[str | None]:
    """Return the keys that `ls --skip --limit` prints."""
    pages = shown_rows(shard, None, skip, limit, unreadable_states(False), keys=True)
    return [key for _, keys in pages for key in keys]


def test_groups_of_slots_are_placed_without_reading_them(sparse: Path) -> None:
    """The spans of all groups of the index follow from the size of a slot; a slot is read when it is shown."""
    source = CountedFile(sparse)
    with shardcore.open(source) as shard:
        index = next(node for node in shard.tree.children if node.name == "index")
        source.ranges.clear()
        groups = list(index.children)
        assert source.ranges == []
        assert groups[0].span.start == index.span.start
        assert groups[-1].span.stop == index.span.stop
        assert [one.span.start for one in groups[1:]] == [one.span.stop for one in groups[:-1]]
        assert groups[3].children[0].span.start == groups[3].span.start
        assert len(source.ranges) == 1


def test_objects_that_are_skipped_are_counted_by_their_slots(sparse: Path) -> None:
    """Neither the lengths of skipped objects are read, nor is the index loaded; the page is the same as without it."""
    source = CountedFile(sparse)
    with shardcore.open(source) as shard:
        everything = listed(shard, 0, 1000)
        source.ranges.clear()
        assert listed(shard, len(everything) - 3, 3) == everything[-3:]
        index = shard.file.geometry.index_start  # type: ignore[attr-defined]
        assert sum(start < index for start, _ in source.ranges) <= 3
        assert not shard.loaded


class IndexSource(BytesSource):
    """An index alone, at an offset where no file of a test could have it."""

    def __init__(self, data: bytes, start: int) -> None:
        super().__init__(data, "index")
        self.start = start

    @property
    def size(self) -> int:
        """Bytes of the file that would have it."""
        return self.start + super().size

    def _read(self, start: int, stop: int) -> bytes:
        return super()._read(start - self.start, stop - self.start)


@pytest.mark.parametrize("index_start", [1 << 20, 1 << 60])
def test_sizes_follow_from_the_offsets(index_start: int) -> None:
    """However large the offsets are, each object ends where the next begins, by slot and by offset."""
    dice = np.random.default_rng(3)
    count, empty = 500, 20
    sizes = dice.integers(0, 100, count)
    sizes[-1] = index_start - 512 - 8 * count - int(sizes[:-1].sum())
    starts = 512 + np.append(0, np.cumsum(sizes + 8)[:-1])
    order = dice.permutation(count)
    rows = np.zeros(count + empty, SLOT.dtype)
    rows["offset"] = NO_OBJECT
    at = np.sort(dice.permutation(count + empty)[:count])
    rows["offset"][at] = starts[order]
    geometry = SwhGeometry(512, index_start, count + empty, count)
    found = slots.load_order(IndexSource(rows.tobytes(), index_start), geometry, no_progress)
    assert (found.bits == 0) == (index_start > 1 << 55)
    assert found.offsets.tolist() == starts.tolist()
    assert found.slots.tolist() == at[np.argsort(order)].tolist()
    assert found.sizes.tolist() == sizes.tolist()
    assert found.sizes_of(at, rows["offset"][at].astype(np.int64)).tolist() == sizes[order].tolist()
    assert np.flatnonzero(found.holding).tolist() == at.tolist()
    assert found.ranked.nbytes == 8 * count
    assert found.lengths is None


def test_windows_do_not_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Corrupt contents are found whether an object lies in one window with others, or is cut by its end."""
    data = bytearray(SAMPLE.read_bytes())
    with shardcore.open(SAMPLE) as shard:
        refs = [ref for ref in shard.objects if ref.size > 0][:3]
    for ref in refs:
        data[ref.spans[0].start] ^= 1
    reports = []
    for window in (1 << 22, 64, 9):
        monkeypatch.setattr(verify, "CONTENT_WINDOW", window)
        with shardcore.open(BytesSource(bytes(data))) as shard:
            reports.append(shard.verify("content"))
    assert {one.key for one in reports[0].findings if one.code == "swh.content-hash"} == {ref.key for ref in refs}
    assert reports[1] == reports[0] == reports[2]
