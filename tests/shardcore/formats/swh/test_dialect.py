"""How a shard's dialect of the hash is told, what that costs, and what lookups keep of each other."""

from pathlib import Path

import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, UsageError
from shardcore.formats.swh.layout import HASH_HEAD
from shardcore.formats.swh.shard import SwhShard
from shardcore.testing.sources import CountingSource

DATA = Path(__file__).parents[3] / "data" / "swh"
ABSENT = "f" * 64


def opened(source: CountingSource | bytes) -> SwhShard:
    shard = shardcore.open(source)
    assert isinstance(shard, SwhShard)
    return shard


def test_the_function_is_checked_once() -> None:
    """For the first absent key live keys are hashed; for the others nothing but their slot is read."""
    source = CountingSource((DATA / "medium.shard").read_bytes())
    with opened(source) as shard:
        costs = []
        for key in (ABSENT, "e" * 64, "d" * 64):
            before = len(source.ranges)
            with pytest.raises(KeyAbsent):
                shard.find(key)
            costs.append(len(source.ranges) - before)
        assert shard.file.fits
        assert max(costs[1:]) <= costs[0]


def test_one_damaged_key_is_not_the_functions_fault() -> None:
    """A foreign key in a slot is outvoted by the keys after it."""
    data = bytearray((DATA / "small.shard").read_bytes())
    with opened(bytes(data)) as shard:
        start = shard.file.geometry.index_start
    data[start : start + 32] = bytes(range(32))
    with opened(bytes(data)) as shard, pytest.raises(KeyAbsent):
        shard.find(ABSENT)


@pytest.mark.parametrize("strangers", [0, 1])
def test_a_damaged_key_does_not_hide_the_dialect(strangers: int) -> None:
    data = bytearray((DATA / "dialect" / "signed_dialect.shard").read_bytes())
    with opened(bytes(data)) as shard:
        refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
        live = [ref for ref in refs if ref.state is shardcore.State.LIVE]
        start = shard.file.geometry.slot_start(live[0].row)
    if strangers:
        data[start + 5] ^= 1
    with opened(bytes(data)) as shard:
        codes = [f.code for f in shard.verify("index").findings if f.severity is shardcore.Severity.ERROR]
        assert codes == ["swh.signed-dialect"] + ["swh.slot-mismatch"] * strangers


def test_keys_with_blanks_are_refused_in_bulk() -> None:
    blank = "ab" * 16 + " " * 32
    with opened((DATA / "small.shard").read_bytes()) as shard, pytest.raises(UsageError, match="64 hex digits"):
        shard.find_many([blank, blank])


def test_a_lookup_before_does_not_hide_a_wrong_length() -> None:
    """Cached bytes are checked like bytes that are read."""
    data = bytearray((DATA / "small.shard").read_bytes())
    with opened(bytes(data)) as shard:
        ref = shard.objects.ref(0)
        offset, slot = int(ref.extras["offset"]), ref.row
    data[offset + 7] ^= 1
    with opened(bytes(data)) as shard:
        shard.load_index()
        listed = shard.objects.ref(slot)
        for _ in range(2):
            with pytest.raises(FormatError, match="the index gives"):
                shard.read(listed)
            with pytest.raises(FormatError, match="the index gives"):
                shard.find(str(ref.key))


def test_a_wrong_seed_is_no_dialect() -> None:
    data = bytearray((DATA / "small.shard").read_bytes())
    with opened(bytes(data)) as shard:
        keys = [key for key in shard.objects.keys if key is not None]
        data[shard.file.hash_parts().start + HASH_HEAD.offsets["seed"]] ^= 1
    with opened(bytes(data)) as shard:
        traces = [shard.trace(key) for key in keys]
        assert {trace.outcome for trace in traces} <= {"found", "damaged"}
        with pytest.raises(FormatError, match="does not match"):
            shard.find_many(keys)
