"""Lookups: how many ranges they read in a large shard, what they tell, keys, equal keys, tables that lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.codecs.xet.hashes import from_text, to_text
from shardcore.formats.mdb.hashes import protect
from shardcore.formats.mdb.layout import FILE_LOOKUP, LookupTable
from shardcore.formats.mdb.lookup import WHOLE_TABLE, search
from shardcore.testing import CountingSource
from tests.shardcore.formats.mdb.made import made_shard

DATA = Path(__file__).parents[3] / "data" / "mdb"
CHUNK = "d2b73b95e11fcf65002840f7bf3593075f1345c245cc82dea8344202d5cd9eb7"
KEY = bytes(range(32))


@pytest.fixture(scope="module")
def large() -> bytes:
    return made_shard(5, 9000, 12, 6000)


def cold(data: bytes) -> tuple[Any, CountingSource]:
    source = CountingSource(data, "cold.mdb")
    return shardcore.open(source), source


def test_opening_reads_two_ranges(large: bytes) -> None:
    shard, source = cold(large)
    with shard:
        shard.runs(0, 4096)
        shard.runs(len(large) - 4096, len(large))
        assert (shard.loaded, shard.declared_objects) == (False, 9000 + 12 + 72_000)
        assert len(source.ranges) <= 2
        assert sum(stop - start for start, stop in source.ranges) <= 2 * 65536
        assert shard.verify("index").findings == ()
    broken = bytearray(large)
    broken[48 + 48 * 8 * 4000 + 48 * 4 + 5] ^= 1  # the first verification entry of file 4000
    with shardcore.open(bytes(broken)) as shard:
        assert [finding.code for finding in shard.verify("index").findings] == ["mdb.range-hash"]


def test_finding_reads_two_ranges(large: bytes) -> None:
    with cold(large)[0] as loaded:
        loaded.load_index()
        dice = np.random.default_rng(3)
        rows = np.concatenate([dice.integers(0, 9000, 40), np.arange(9000, 9012), dice.integers(9012, 81_012, 40)])
        keys = loaded.objects.key_texts(rows)
        refs = [loaded.objects.ref(row) for row in rows.tolist()]
        assert loaded.find_many([key or "" for key in keys]).tolist() == rows.tolist()
    costs = []
    for key, ref in zip(keys, refs, strict=True):
        assert key is not None
        shard, source = cold(large)
        with shard:
            source.ranges.clear()
            found = shard.find(key)
            costs.append(len(source.ranges))
            assert (found.key, found.spans, found.size, found.extras) == (ref.key, ref.spans, ref.size, ref.extras)
            assert found.row == -1
    assert max(costs) <= 3
    assert np.mean(costs) < 2.1


def test_absent_keys_read_one_range(large: bytes) -> None:
    shard, source = cold(large)
    with shard:
        source.ranges.clear()
        trace = shard.trace("chunk:" + "7" * 64)
        assert trace.outcome == "absent"
        assert sum(step.requests for step in trace.steps) == len(source.ranges) == 1


def test_trace_of_a_chunk_under_a_key() -> None:
    stored = "bd5b0546a8040e2df9d2a75c728105417bc332dcfeae8b89fb25daf3d0cbf465"
    with shardcore.open(DATA / "derived" / "keyed_full.mdb") as shard:
        trace = shard.trace(f"chunk:{CHUNK}")
        table = trace.steps[2]
        assert trace.steps[0].values == {"plain": CHUNK, "stored": stored}
        assert (table.values["entry"], table.spans) == (6, (shardcore.Span("", 1608 + 6 * 16, 1608 + 7 * 16),))
        assert shard.trace(f"chunk:{stored}").ref == trace.ref


def test_keyed_shards_of_any_size() -> None:
    plain, keyed = made_shard(9, 20, 3, 2000), made_shard(9, 20, 3, 2000, key=KEY)
    with cold(plain)[0] as shard:
        texts = [key or "" for key in shard.objects.key_texts(np.arange(23, 6023, 7))]
    with cold(keyed)[0] as shard:
        assert not shard.loaded
        one = shard.find(texts[5])
        assert one.key == "chunk:" + to_text(protect(KEY, from_text(texts[5].removeprefix("chunk:"))))
        assert one.extras["keyed"]
        assert shard.find_many(texts).tolist() == list(range(23, 6023, 7))
        assert shard.verify("index").ok


@pytest.mark.parametrize("shape", ["even", "low", "high", "equal", "few"])
def test_search_finds_every_key(shape: str) -> None:
    dice = np.random.default_rng(1)
    count = 20_000
    keys = {
        "even": dice.integers(0, 2**64, count, dtype=np.uint64),
        "low": dice.integers(0, 1000, count, dtype=np.uint64),
        "high": dice.integers(2**64 - 5000, 2**64, count, dtype=np.uint64),
        "equal": np.full(count, 7, np.uint64),
        "few": dice.choice(np.array([0, 3, 2**63, 2**64 - 1], np.uint64), count),
    }[shape]
    keys.sort()
    rows = np.zeros(count, FILE_LOOKUP.dtype)
    rows["key"], rows["index"] = keys, np.arange(count)
    table, data = LookupTable("file", 100, count), bytes(100) + FILE_LOOKUP.write(rows)

    def read(start: int, stop: int) -> bytes:
        return data[start:stop]

    assert table.stop - table.start > 2 * WHOLE_TABLE
    for key in {*keys[:: count // 15].tolist(), 0, 5, 2**64 - 1, int(keys[0]), int(keys[-1])}:
        first, rows = search(read, table, key)
        left, right = (int(np.searchsorted(keys, np.uint64(key), side)) for side in ("left", "right"))
        assert (first, rows["index"].tolist()) == (left, list(range(left, right)))
    if shape == "even":
        data = data[:100] + FILE_LOOKUP.write(np.flip(np.frombuffer(data[100:], FILE_LOOKUP.dtype)[:3]))
        with pytest.raises(shardcore.FormatError, match="not sorted"):
            search(read, LookupTable("file", 100, 3), 9)


def test_malformed_keys() -> None:
    with shardcore.open(DATA / "derived" / "keyed_full.mdb") as shard:
        for key in ("", "xyz", "chunk:", "block:" + "0" * 64, "0" * 63, "xorb:xorb:" + "0" * 64):
            with pytest.raises(shardcore.UsageError):
                shard.find(key)
