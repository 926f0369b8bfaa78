"""Lookups: ranges read in a large shard, traces, equal keys, invalid tables; hashes of shards."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.codecs.xet.hashes import ZERO, as_rows, chunk_hash, from_text, to_text, to_texts
from shardcore.errors import UsageError
from shardcore.formats.mdb.layout import (
    FILE_LOOKUP,
    LookupTable,
    file_hash,
    file_hashes,
    protect,
    protect_many,
    range_hash,
    range_hashes,
    shard_name,
)
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
        first, rows, _ = search(read, table, key)
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


PAIR = as_rows([chunk_hash(b"abc"), chunk_hash(b"defg")])
PAIR_SIZES = np.array([3, 4], dtype=np.uint64)
HMAC_KEY = bytes(range(1, 33))


def test_file_hash_vectors() -> None:
    pair = "eb435d06c8c6c5c88d87a96baf3a343dff1822bddd77f035dbe23295141e25d8"
    single = "55b9df318a7c45f470d57b04d8ca79a15b0637ffe94b25041a58d00c3528afff"
    assert to_text(file_hash(PAIR, PAIR_SIZES)) == pair
    assert to_text(file_hash(PAIR[:1], PAIR_SIZES[:1])) == single
    many = as_rows([chunk_hash(bytes([value])) for value in range(24)])
    text = "8b98e096769bf17a325ac69698d07cb7099685c1c7bc75e61df62d005191de8f"
    assert to_text(file_hash(many, np.arange(1, 25, dtype=np.uint64))) == text
    none = PAIR[:0]  # there is no last step over a root that does not exist
    assert file_hash(none, PAIR_SIZES[:0]) == ZERO
    rows, sizes = np.concatenate([PAIR, PAIR[:1]]), np.array([3, 4, 3], dtype=np.uint64)
    texts = to_texts(file_hashes(rows, sizes, np.array([0, 0, 2, 2, 3, 3])))
    assert texts == ["0" * 64, pair, "0" * 64, single, "0" * 64]
    empty = file_hashes(none, PAIR_SIZES[:0], np.array([0])), range_hashes(none, np.array([0]))
    assert list(map(len, (*empty, protect_many(HMAC_KEY, none)))) == [0, 0, 0]


def test_range_hash_vectors() -> None:
    both = "a9b08e00248d3a780e7549361f1be6049c0fe4ec856eb1b30b01a53a03ea2f4d"
    one = "d7586bf505d8886dacb19b302c04c9be061198b1ee2de942618a7f8b30e1b74b"
    assert [to_text(range_hash(PAIR[:count])) for count in (2, 1)] == [both, one]
    assert to_texts(range_hashes(np.concatenate([PAIR, PAIR[:1]]), np.array([0, 2, 3]))) == [both, one]


def test_hmac_vector() -> None:
    text = "04fb1e2ded9f0265d73fe6e663f4235ce662265af5f5f52bba527fac763834b0"
    assert to_text(protect(HMAC_KEY, chunk_hash(b"abc"))) == text
    assert to_texts(protect_many(HMAC_KEY, PAIR))[0] == text
    assert protect(ZERO, chunk_hash(b"abc")) == chunk_hash(b"abc")
    assert (protect_many(ZERO, PAIR) == PAIR).all()


def test_sha256_field_vector() -> None:
    digest = hashlib.sha256(b"abc").hexdigest()
    field = from_text(digest)
    assert field.hex() == "eacf018fbf1678ba2322ae5dde4041419c7a1796a36103b0ad1500f261ff10b4"
    assert to_text(field) == digest
    with pytest.raises(UsageError):
        from_text(digest[:-2])


def test_shard_name_of_real_shards() -> None:
    paths = sorted((DATA / "cas").glob("shard*/*.mdb"))
    assert len(paths) == 4
    for path in paths:
        data = path.read_bytes()
        assert shard_name(data) == path.name
