"""What a first reader pays, measured on what is open already."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.operations.cold_cost import cold_trace
from shardcore.shards.opening import head_bytes
from shardcore.shards.registry import format_of
from shardcore.sources.cold import Bill, ColdCost, ColdFolder, ColdSource
from shardcore.sources.local import LocalFolder
from shardcore.sources.memory import BytesFolder, BytesSource
from shardcore.sources.read_purpose import ReadPurpose, reading_for
from shardcore.teaching.comparison.contents import BUILT_IN
from shardcore.teaching.comparison.measure import pack_in_memory, with_codec


def test_what_came_is_kept_and_what_is_asked_at_once_is_one_round() -> None:
    """Ranges of one call are one round trip; bytes that came are free."""
    bill = Bill(fetch=True)
    source = ColdSource(BytesSource(bytes(range(256)) * 4096), bill, None, owned=False)
    assert bill.cost == ColdCost(1, 65536, 1)
    assert source.read(10, 20) == bytes(range(10, 20))
    assert bill.cost == ColdCost(1, 65536, 1)
    assert source.read_many([(300_000, 300_010), (700_000, 700_010), (65_530, 65_540)])[0][0] == 300_000 % 256
    assert bill.cost == ColdCost(4, 65536 + 24, 2)
    assert source.loaded(65_500, 65_600) == ((65_500, 65_540),)


def test_what_is_not_there_is_asked_for_once(data: Path) -> None:
    bill = Bill(fetch=True)
    folder = ColdFolder(LocalFolder(data / "swh"), bill)
    for _ in range(2):
        assert folder.list()
        assert not folder.has("nothing")
    assert bill.cost == ColdCost(2, 0, 2)


def test_a_lookup_is_measured_without_what_was_learned(data: Path) -> None:
    """The cold cost does not depend on what the open shard has cached."""
    with shardcore.open(data / "swh" / "medium.shard") as shard:
        shard.load_index()
        key = str(shard.objects.keys[5])
        first, second = cold_trace(shard, key), cold_trace(shard, key)
        assert (first.opening, first.steps) == (second.opening, second.steps)
        assert [step.title for step in first.trace.steps] == [step.title for step in shard.trace(key).steps]
        assert len(first.steps) == len(first.trace.steps)
        assert first.total.requests > first.opening.requests > 0
        assert shard.read(shard.find(key))


@pytest.mark.parametrize("format", ["swh", "bloscpack", "des", "mdb", "xorb", "neuroglancer"])
def test_a_cold_trace_costs_what_finding_and_reading_costs(format: str) -> None:
    packed = pack_in_memory(format_of(format), BUILT_IN.objects(200, None), with_codec(format, "none", {}))
    files, bill = BytesFolder(packed.files), Bill(fetch=True)
    name = packed.file_of(100)
    with packed.open(files.open(name)) as shard:
        refs = [ref for ref in shard.objects[:] if ref.size > 0 and ref.kind in ("object", "file", "chunk")]
        key = str(refs[len(refs) // 2].key)
        total = cold_trace(shard, key, fetch=True).total
    base = files.open(name)
    cold = ColdSource(base, bill, ColdFolder(files, bill), first=head_bytes(base.name), owned=False)
    with packed.open(cold) as shard, reading_for(ReadPurpose.LOOKUP):
        assert b"".join(shard.stream(shard.find(key)))
    assert total == bill.cost
