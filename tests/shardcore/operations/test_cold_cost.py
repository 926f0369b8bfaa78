"""What a first reader pays, measured on what is open already."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.errors import UsageError
from shardcore.operations.cold_cost import cold_trace
from shardcore.sources.cold_source import ColdCost, ColdFolder, ColdSource, CostRecorder
from shardcore.sources.local import LocalFolder
from shardcore.sources.memory import BytesSource


def test_what_came_is_kept_and_what_is_asked_at_once_is_one_round() -> None:
    """Ranges of one call are one round trip; bytes that came are free."""
    recorder = CostRecorder(fetch=True)
    source = ColdSource(BytesSource(bytes(range(256)) * 4096), recorder, None, owned=False)
    assert recorder.cost == ColdCost(1, 65536, 1)
    assert source.read(10, 20) == bytes(range(10, 20))
    assert recorder.cost == ColdCost(1, 65536, 1)
    assert source.read_many([(300_000, 300_010), (700_000, 700_010), (65_530, 65_540)])[0][0] == 300_000 % 256
    assert recorder.cost == ColdCost(4, 65536 + 24, 2)
    assert source.loaded(65_500, 65_600) == ((65_500, 65_540),)


def test_what_is_not_there_is_asked_for_once(data: Path) -> None:
    """A neighbour that is missing costs one request, and a listing, too."""
    recorder = CostRecorder(fetch=True)
    folder = ColdFolder(LocalFolder(data / "swh"), recorder)
    for _ in range(2):
        assert folder.list()
        assert not folder.has("nothing")
    assert recorder.cost == ColdCost(2, 0, 2)


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


def test_choices_of_opening_hold(data: Path) -> None:
    """A specification or a folder of xorbs that was given is given again; what is read of xorbs counts."""
    spec = (
        '{"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, "hash": "murmurhash3_x86_128", '
        '"minishard_bits": 4, "shard_bits": 0, "minishard_index_encoding": "gzip", "data_encoding": "raw"}'
    )
    with shardcore.open(data / "neuroglancer" / "bare_shard" / "0.shard", spec=spec) as shard:
        key = str(shard.objects.keys[0])
        assert cold_trace(shard, key).trace.steps[0].text == shard.trace(key).steps[0].text
    cas = data / "mdb" / "cas"
    shards = sorted((cas / "shard-cache").glob("*.mdb"))
    for path in shards:
        with shardcore.open(path, xorbs=str(cas)) as shard:
            key = str(shard.objects.keys[0])
            cold = cold_trace(shard, key)
            assert cold.trace.ending == shard.trace(key).ending


def test_nothing_is_fetched_unasked() -> None:
    """Of a file that is far, what was not fetched before is refused."""

    class Far(BytesSource):
        near = False

        def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
            return ()

    with pytest.raises(UsageError, match="3 bytes of bytes"):
        ColdSource(Far(b"abc"), CostRecorder(fetch=False), None, owned=False)
    assert ColdSource(Far(b"abc"), CostRecorder(fetch=True), None, owned=False).read(0, 3) == b"abc"
