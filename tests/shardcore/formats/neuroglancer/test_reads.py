"""What is read when: nothing that is not needed, and nobody waits for what somebody else reads."""

from __future__ import annotations

import random
import threading

import shardcore
from shardcore.formats.neuroglancer.sharding import MURMUR, ShardingSpec
from shardcore.sources.memory import BytesSource
from tests.shardcore.formats.neuroglancer.made import build, random_rows

SPEC = ShardingSpec(0, MURMUR, 4, 0, "gzip", "gzip")
LONG = 60
"""Seconds after which a test that waits has failed."""


class HeldSource(BytesSource):
    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data, name)
        self.held: threading.Thread | None = None
        self.waiting = threading.Event()
        self.go = threading.Event()

    def _read(self, start: int, stop: int) -> bytes:
        if threading.current_thread() is self.held:
            self.waiting.set()
            assert self.go.wait(LONG)
        return super()._read(start, stop)


def made(spec: ShardingSpec = SPEC, count: int = 300) -> tuple[bytes, list[tuple[int, bytes]]]:
    dice = random.Random(7)
    rows = random_rows(dice.sample(range(2**60), count), dice)
    return build(spec, rows)["0.shard"], rows


def test_find_does_not_wait_for_load_index() -> None:
    data, rows = made()
    source = HeldSource(data, "0.shard")
    with shardcore.open(source, spec=SPEC.to_json()) as shard:
        loading = threading.Thread(target=shard.load_index)
        source.held = loading
        loading.start()
        try:
            assert source.waiting.wait(LONG)
            for key, value in rows[:10]:
                assert shard.read(shard.find(str(key))) == value
                assert shard.trace(str(key)).outcome == "found"
                assert len(shard.find_all(str(key))) == 1
            assert shard.tree.children
            assert shard.explain(0)[-1].name in ("start_offset", "end_offset")
            assert not shard.loaded
            assert (shard.listing, shard.declared_objects) == (None, None)
        finally:
            source.go.set()
            loading.join(LONG)
        assert shard.declared_objects == len(rows)
