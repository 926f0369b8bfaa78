"""Lookups in Read Shards: the dialect of the hash, damaged slots, and ranges read."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, UsageError
from shardcore.formats.swh.layout import HASH_HEAD
from shardcore.testing.sources import CountingSource

DATA = Path(__file__).parents[3] / "data" / "swh"
ABSENT = "f" * 64


def test_the_function_is_checked_once() -> None:
    """For the first absent key live keys are hashed; for the others nothing but their slot is read."""
    source = CountingSource((DATA / "medium.shard").read_bytes())
    with shardcore.open(source) as shard:
        costs = []
        for key in (ABSENT, "e" * 64, "d" * 64):
            before = len(source.ranges)
            with pytest.raises(KeyAbsent):
                shard.find(key)
            costs.append(len(source.ranges) - before)
        assert max(costs[1:]) <= costs[0]


def test_one_damaged_key_is_not_the_functions_fault() -> None:
    """A foreign key in a slot is outvoted by the keys after it."""
    data = bytearray((DATA / "small.shard").read_bytes())
    with shardcore.open(bytes(data)) as shard:
        start = shard.file.layout.index_start
    data[start : start + 32] = bytes(range(32))
    blank = "ab" * 16 + " " * 32
    with shardcore.open(bytes(data)) as shard:
        with pytest.raises(KeyAbsent):
            shard.find(ABSENT)
        with pytest.raises(UsageError, match="64 hex digits"):
            shard.find_many([blank, blank])


@pytest.mark.parametrize("strangers", [0, 1])
def test_a_damaged_key_does_not_hide_the_dialect(strangers: int) -> None:
    data = bytearray((DATA / "dialect" / "signed_dialect.shard").read_bytes())
    with shardcore.open(bytes(data)) as shard:
        refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
        live = [ref for ref in refs if ref.state is shardcore.State.LIVE]
        start = shard.file.layout.slot_start(live[0].row)
    if strangers:
        data[start + 5] ^= 1
    with shardcore.open(bytes(data)) as shard:
        codes = [f.code for f in shard.verify("index").findings if f.severity is shardcore.Severity.ERROR]
        assert codes == ["swh.signed-dialect"] + ["swh.slot-mismatch"] * strangers


def test_a_lookup_before_does_not_hide_a_wrong_length() -> None:
    """Cached bytes are checked like bytes that are read."""
    data = bytearray((DATA / "small.shard").read_bytes())
    with shardcore.open(bytes(data)) as shard:
        ref = shard.objects.ref(0)
        offset, slot = int(ref.extras["offset"]), ref.row
    data[offset + 7] ^= 1
    with shardcore.open(bytes(data)) as shard:
        shard.load_index()
        listed = shard.objects.ref(slot)
        for ask in (shard.read, lambda one: shard.find(one.key)) * 2:
            with pytest.raises(FormatError, match="the offsets in the index give"):
                ask(listed)


def test_a_loaded_index_does_not_hide_a_wrong_select_directory() -> None:
    data = bytearray((DATA / "small.shard").read_bytes())
    with shardcore.open(bytes(data)) as shard:
        key = next(iter(shard))
        data[shard.file.hashing().parts["select directory"].start + 1] ^= 1
    with shardcore.open(bytes(data)) as shard:
        for load in (lambda: None, shard.load_index):
            load()
            with pytest.raises(FormatError, match="the select directory refers to bit"):
                shard.find(key)


def test_a_wrong_seed_is_no_dialect() -> None:
    data = bytearray((DATA / "small.shard").read_bytes())
    with shardcore.open(bytes(data)) as shard:
        keys = [key for key in shard.objects.keys if key is not None]
        data[shard.file.hashing().start + HASH_HEAD.offsets["seed"]] ^= 1
    with shardcore.open(bytes(data)) as shard:
        traces = [shard.trace(key) for key in keys]
        assert {trace.outcome for trace in traces} <= {"found", "damaged"}
        with pytest.raises(FormatError, match="does not match"):
            shard.find_many(keys)


SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "swh"
LOST = "94d9c5e753e28ad33301c9ddfec0f337b0e9fd64bd9d5126e3a30dc78b10bd92"
KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


def test_a_key_that_another_slot_holds_is_not_called_absent() -> None:
    with shardcore.open(SAMPLES / "damaged.shard") as shard:
        trace = shard.trace(LOST)
        assert trace.outcome == "damaged"
        with pytest.raises(FormatError, match="slot 0 has this key"):
            shard.find(LOST)
        assert shard.trace("00" * 32).outcome == "absent"


def test_a_damaged_key_in_the_slot_proves_no_absence() -> None:
    """A slot whose key hashes elsewhere may have held the key that was looked up."""
    content = bytearray((SAMPLES / "small.shard").read_bytes())
    with shardcore.open(bytes(content)) as shard:
        row = shard.find(KEY).row
        index = shard.fields["header.index_position"]
    content[index + 40 * row] ^= 0x80
    with shardcore.open(bytes(content)) as shard:
        assert shard.trace(KEY).outcome == "damaged"
