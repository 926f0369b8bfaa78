"""What is read when: nothing that is not needed, and nobody waits for what somebody else reads."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.sources.memory import BytesSource
from shardcore.testing import CountingSource
from tests.shardcore.formats.neuroglancer.made import build, random_rows

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
SPEC = ShardingSpec(0, MURMUR, 4, 0, "gzip", "gzip")
LONG = 60
"""Seconds after which a test that waits has failed."""


class HeldSource(BytesSource):
    """Holds back the reads of one thread until it is let go."""

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
    """A shard of many minishards, and what is in it."""
    dice = random.Random(7)
    rows = random_rows(dice.sample(range(2**60), count), dice)
    return build(spec, rows)["0.shard"], rows


def test_find_does_not_wait_for_load_index() -> None:
    """While all minishard indices are being read, a key is found, told, read and listed at once."""
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


def test_what_needs_no_index_reads_none() -> None:
    """Opening reads the shard index; looking at fields, tree, sections and colours reads no minishard index."""
    data, rows = made()
    source = CountingSource(data, "0.shard")
    with shardcore.open(source, spec=SPEC.to_json(), format="neuroglancer") as shard:
        source.ranges.clear()
        assert (shard.listing, shard.declared_objects, shard.loaded) == (None, None, False)
        assert shard.index_bytes > 0
        assert shard.fields["shard_index.used"] == 16
        assert len(shard.tree.children) == 1 + len(shard.sections)
        shard.runs(0, len(data))
        assert shard.explain(SPEC.index_size)
        assert [shard.objects.kinds, shard.objects.orders[0], shard.objects.counted] == [("object",), "slot", False]
        assert source.ranges == []
        shard.find(str(rows[0][0]))
        assert len(source.ranges) == 1


def test_the_plain_words_are_true_at_any_time() -> None:
    """Nothing says 0 because nobody looked: length, slices and keys read what they need."""
    data, rows = made()
    keys = sorted(str(key) for key, _ in rows)
    for ask in (len, lambda o: len(o[:]), lambda o: len(o.keys[:]), lambda o: len(o.keys)):
        with shardcore.open(BytesSource(data, "0.shard"), spec=SPEC.to_json()) as shard:
            assert ask(shard.objects) == len(rows)
            assert shard.listing is shard.objects
            assert shard.declared_objects == len(rows)
            assert sorted(map(str, shard.objects.keys[:])) == keys


def test_the_plain_words_are_true_in_a_data_set() -> None:
    """A folder counts and lists its objects when it is asked, and says before that it does not know."""
    with shardcore.open(DATA / "skeletons_murmur_gzip") as found:
        assert (found.declared_objects, found.listing, found.loaded) == (None, None, False)
        assert len(found.objects) == 123
        assert (found.declared_objects, found.loaded) == (123, True)
        assert found.listing is not None
    for ask in (lambda o: o.keys[:], lambda o: o[:].row, lambda o: [o.ref(row) for row in range(123)]):
        with shardcore.open(DATA / "skeletons_murmur_gzip") as found:
            assert len(ask(found.objects)) == 123


def test_a_data_set_finds_while_it_loads(tmp_path: Path) -> None:
    """One member that answers slowly holds up nobody who looks in the others."""
    spec = ShardingSpec(0, IDENTITY, 1, 1)
    for name, data in build(spec, [(key, b"%d" % key) for key in range(8)]).items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": spec.to_json()}))
    folder = shardcore.LocalFolder(tmp_path)
    source = HeldSource((tmp_path / "0.shard").read_bytes(), "0.shard")

    class Held(shardcore.LocalFolder):
        def open_on_demand(self, name: str) -> Any:
            return source if name == "0.shard" else folder.open_on_demand(name)

    with shardcore.open(Held(tmp_path)) as found:
        loading = threading.Thread(target=found.load_index)
        source.held = loading
        loading.start()
        try:
            assert source.waiting.wait(LONG)
            assert found.read(found.find("2")) == b"2"
            assert found.trace("6").outcome == "found"
        finally:
            source.go.set()
            loading.join(LONG)
        assert len(found.objects) == 8


@pytest.mark.parametrize("sample", ["mesh/0.shard", "volume/4_4_40/0.shard", "identity_raw/0.shard"])
def test_nodes_know_their_rows(sample: str) -> None:
    """Values, fragments, index cells and decoded values name the row of their object once rows are known."""
    with shardcore.open(DATA / sample) as shard:
        before = [node for offset in range(0, shard.source.size, 31) for node in shard.explain(offset)]
        assert {node.row for node in before} == {None}
        shard.load_index()
        for row in range(len(shard.objects)):
            ref = shard.objects.ref(row)
            for span in (span for span in ref.spans if span.size):
                path = shard.explain(span.start)
                assert [node.row for node in path if node.row is not None] == [row]
                decoded = next((node.decoded for node in path if node.decoded), "")
                assert not decoded or shard.tree_of(decoded).row == row
        cells = 0
        for section in shard.tree.children[2:]:
            for index in (node for node in section.children if node.name.startswith("minishard index")):
                for column in (shard.tree_of(index.decoded) if index.decoded else index).children:
                    for cell in column.children:
                        assert cell.row is not None
                        ref = shard.objects.ref(cell.row)
                        assert ref.extras["slot"] == int(cell.name.strip("[]"))
                        assert column.name != "chunk_ids" or cell.text == f"key {ref.key}"
                        cells += 1
        assert cells == 3 * len(shard.objects)
