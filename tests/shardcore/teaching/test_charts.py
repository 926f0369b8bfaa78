"""The numbers behind the charts: what the bytes of every format are for, sizes, load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore import Section, SectionRole, Shard, ShardError, Span
from shardcore.model.usage import Load, Share, Use, binomial, budget, share_of
from shardcore.progress import no_progress
from shardcore.teaching.charts import MOST_BINS, load_chart, object_sizes, size_edges, spread_chart

DATA = Path(__file__).parents[2] / "data"


def opened(name: str) -> Shard:
    """A file of the test data."""
    return shardcore.open(str(DATA / name))


def uses(name: str) -> dict[str, tuple[Use, int]]:
    """The shares of a file by name, once its index is loaded."""
    with opened(name) as shard:
        shard.load_index()
        return {share.name: (share.use, share.size) for share in shard.byte_shares}


def test_swh_tells_slack_and_dead_bytes() -> None:
    """Unused slots are slack, deleted objects are dead: the room of both, and their slots, are told apart."""
    found = uses("swh/deleted.shard")
    with opened("swh/deleted.shard") as shard:
        deleted = shard.fields["header.objects_count"] - sum(ref is not None for ref in shard.objects.keys[:])
    assert found["slots of deleted objects"] == (Use.DEAD, 40 * deleted)
    assert found["deleted objects"][0] is Use.DEAD
    assert found["unused slots"][0] is Use.SLACK
    assert found["hash function"][0] is Use.LOOKUP
    assert found["padding"] == (Use.PADDING, 424)


def test_bloscpack_and_des_tell_slack_and_dead_bytes() -> None:
    """Room for metadata and spare offsets are slack; bytes after the last chunk, and of no entry, are dead."""
    found = uses("bloscpack/append_shrink.blp")
    assert found["spare offsets"][0] is Use.SLACK
    assert found["trailing"][0] is Use.DEAD
    assert uses("bloscpack/array.blp")["reserved for metadata"][0] is Use.SLACK
    assert uses("des/v2_gaps_reordered.des")["unreferenced bytes"][0] is Use.DEAD


def test_a_share_of_many_stretches() -> None:
    """Stretches in any order that touch are one; bytes that two of them have count once."""
    share = share_of(Use.DEAD, "x", [20, 0, 5, 30], [25, 5, 10, 30])
    assert (share.size, share.span, share.stretches) == (15, Span("", 0, 10), 2)
    assert share_of(Use.DEAD, "x", [0, 2], [10, 4]).size == 10
    assert share_of(Use.DEAD, "x", [], []).span is None


def test_a_section_whose_parts_come_to_more_stays_whole() -> None:
    """A damaged index may claim more bytes than there are: then the section is one share."""
    section = Section("data", SectionRole.DATA, 0, 10)
    assert budget([section], {"data": [Share(Use.INDEX, "a", 20)]}) == (Share(Use.DATA, "data", 10, Span("", 0, 10)),)
    parts = budget([section], {"data": [Share(Use.INDEX, "a", 4)]})
    assert {part.use: part.size for part in parts} == {Use.DATA: 6, Use.INDEX: 4}


def test_sizes_have_bins_by_powers_of_two() -> None:
    """0 stands alone; the last bin holds the largest; large numbers of objects have finer bins."""
    assert size_edges(0, 5, 10).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert size_edges(0, 1 << 20, 10).tolist() == [0, *(1 << n for n in range(22))]
    assert len(size_edges(1, 1 << 20, 30_000)) > 2 * len(size_edges(1, 1 << 20, 10))
    assert len(size_edges(0, (1 << 63) - 1, 1_000_000)) < MOST_BINS


def test_load_is_cut_to_as_many_bins_as_can_be_drawn() -> None:
    """A million places become 4,000 bins at most, and a bin knows its places and rows."""
    counts = np.ones(1_000_003, np.int64)
    load = Load("t", "slot", "object", counts, "Doc.", 1.0, row_bounds=np.arange(1_000_004))
    grouped = load_chart(load)
    assert len(grouped) <= MOST_BINS
    assert grouped.edges[-1] == 1_000_003
    assert np.allclose(grouped.values, 1)
    assert load.rows_in(*grouped.edges[3:5].tolist()) == tuple(grouped.edges[3:5].tolist())
    assert spread_chart(load) is None


def test_chance_spreads_by_a_binomial_distribution() -> None:
    """The expected numbers of places add up to the places; three keys in two places are 1, 3, 3, 1 eighths."""
    assert np.allclose(binomial(3, 2, 3), [0.25, 0.75, 0.75, 0.25])
    assert binomial(4000, 1000, 40).sum() == pytest.approx(1000)
    load = Load("t", "bucket", "key", np.array([0, 3, 1, 0]), "Doc.", 1.0, by_chance=True)
    chart = spread_chart(load)
    assert chart.values.tolist() == [2, 1, 0, 1]
    assert chart.ideal.sum() == pytest.approx(4, rel=0.05)


def test_folders_count_their_files(data: Path, tmp_path: Path) -> None:
    """A folder shows its files, and of a des folder each shard number; n_bits that nobody knows is told."""
    with shardcore.create(f"{tmp_path}/set/", format="des", n_bits=8, date="20261103") as writer:
        for number in range(300):
            writer.add(str(number), b"x")
    with shardcore.open(str(tmp_path / "set")) as shard:
        files, numbers = shard.loads
        load = files.make(no_progress)
        assert load.total == 300
        assert load.rows_in(0, 1) == (0, int(load.counts[0]))
        assert len(shard.byte_shares) <= 41
        assert object_sizes(shard.objects).objects == 300
        assert numbers.make(no_progress).counts.tolist() == [2] * 44 + [1] * 212
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "x.des").write_bytes((data / "des" / "tiny.des").read_bytes())
    with shardcore.open(str(tmp_path / "one")) as shard, pytest.raises(ShardError, match="n_bits"):
        shard.loads[1].make(no_progress)
