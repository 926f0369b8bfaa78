"""Shards of millions of slots: what is not shown is neither read nor held."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.cli.rows import shown_rows, unreadable_states
from shardcore.formats.swh import verify
from shardcore.shards.shard import Shard
from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesSource
from tests.bench.sparse_swh import make_sparse

SAMPLE = Path(__file__).parents[3] / "data" / "swh" / "small.shard"
SLOTS = 1_000_003


class CountedFile(FileSource):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.ranges: list[tuple[int, int]] = []

    def _read(self, start: int, stop: int) -> bytes:
        self.ranges.append((start, stop))
        return super()._read(start, stop)


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sparse") / "sparse.shard"
    make_sparse(path, slots=SLOTS, declared=990_000, data_bytes=2_000_000_000)
    return path


def listed(shard: Shard, skip: int, limit: int) -> list[str | None]:
    pages = shown_rows(shard, None, skip, limit, unreadable_states(False), keys=True)
    return [key for _, keys in pages for key in keys]


def test_groups_of_slots_are_placed_without_reading_them(sparse: Path) -> None:
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
    source = CountedFile(sparse)
    with shardcore.open(source) as shard:
        everything = listed(shard, 0, 1000)
        source.ranges.clear()
        assert listed(shard, len(everything) - 3, 3) == everything[-3:]
        index = shard.file.geometry.index_start  # type: ignore[attr-defined]
        assert sum(start < index for start, _ in source.ranges) <= 3
        assert not shard.loaded


def test_windows_do_not_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
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
