"""Placing keys: the sharding specification, both hashes, file names."""

from __future__ import annotations

import random

import mmh3
import numpy as np
import pytest

from shardcore.errors import FormatError, UsageError
from shardcore.formats.neuroglancer.sharding import (
    IDENTITY,
    MURMUR,
    ShardingSpec,
    murmur_low64,
    murmur_low64_many,
    shard_number,
    strict_faults,
)

FULL = {
    "@type": "neuroglancer_uint64_sharded_v1",
    "preshift_bits": 1,
    "hash": "identity",
    "minishard_bits": 1,
    "shard_bits": 1,
    "minishard_index_encoding": "gzip",
    "data_encoding": "raw",
}

# Low 64 bits of MurmurHash3_x86_128, seed 0, over the 8 little-endian bytes of the key.
VECTORS = {
    0: 5148371408780832321,
    1: 16770674756601302682,
    2: 15433726874232110938,
    255: 5633939043138664346,
    2**32: 13524640716595723620,
    2**64 - 1: 0x574F66BD212B5D1A,
    123456789 >> 6: 0x3FD8748AAADC6C8F,
}


@pytest.mark.parametrize(("key", "hashed"), VECTORS.items())
def test_murmur_vectors(key: int, hashed: int) -> None:
    assert murmur_low64(key) == hashed
    assert murmur_low64_many(np.array([key], dtype=np.uint64)).tolist() == [hashed]


def test_murmur_of_arrays_equals_the_library() -> None:
    rng = random.Random(7)
    edges = [0, 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63, 2**64 - 1]
    keys = edges + [rng.getrandbits(rng.choice([8, 33, 64])) for _ in range(10_000 - len(edges))]
    expected = [int.from_bytes(mmh3.mmh3_x86_128_digest(key.to_bytes(8, "little"))[:8], "little") for key in keys]
    array = np.array(keys, dtype=np.uint64)
    assert murmur_low64_many(array).tolist() == expected
    assert murmur_low64_many(array.reshape(100, 100)).ravel().tolist() == expected
    assert murmur_low64_many(array[:0]).size == 0


@pytest.mark.parametrize("function", [IDENTITY, MURMUR])
@pytest.mark.parametrize("preshift", [0, 6, 63, 64])
@pytest.mark.parametrize(("minishard_bits", "shard_bits"), [(0, 0), (3, 1), (0, 64), (64, 0), (32, 32)])
def test_places_of_arrays_equal_single_places(
    function: str, preshift: int, minishard_bits: int, shard_bits: int
) -> None:
    spec = ShardingSpec(preshift, function, minishard_bits, shard_bits)
    rng = random.Random(11)
    keys = [0, 2**64 - 1, *(rng.getrandbits(64) for _ in range(50))]
    minishards, shards = spec.place_many(np.array(keys, dtype=np.uint64))
    places = [spec.place(key) for key in keys]
    assert minishards.tolist() == [place.minishard for place in places]
    assert shards.tolist() == [place.shard for place in places]


@pytest.mark.parametrize("key", [-1, 2**64])
def test_key_out_of_range(key: int) -> None:
    with pytest.raises(UsageError):
        ShardingSpec.parse(FULL).place(key)


@pytest.mark.parametrize(("bits", "name"), [(0, "0"), (1, "0"), (4, "0"), (5, "00"), (8, "00"), (9, "000")])
def test_widths_of_file_names(bits: int, name: str) -> None:
    spec = ShardingSpec(0, IDENTITY, 0, bits)
    assert spec.shard_name(0) == name + ".shard"
    assert shard_number(spec.shard_name(0)) == (0, len(name))
    last = spec.shard_name(spec.shards - 1)
    assert shard_number(last) == (spec.shards - 1, len(name))


@pytest.mark.parametrize("name", ["info", "0.SHARD", "G.shard", "0F.shard", ".shard", "0.shard.gz"])
def test_other_names_are_no_shards(name: str) -> None:
    assert shard_number(name) is None


def test_json_both_ways() -> None:
    spec = ShardingSpec.parse(FULL)
    assert spec.to_json() == FULL
    assert ShardingSpec.parse(spec.to_json(), strict=True) == spec


def test_tolerant_reading() -> None:
    loose = {"preshift_bits": 6.0, "hash": "identity", "minishard_bits": "3", "shard_bits": 0, "extra": 1}
    assert ShardingSpec.parse(loose) == ShardingSpec(6, IDENTITY, 3, 0)


def test_strict_reading_names_every_fault() -> None:
    loose = {"preshift_bits": 6.0, "hash": "identity", "minishard_bits": 3, "shard_bits": 0, "extra": 1}
    faults = strict_faults(loose)
    assert len(faults) == 3
    with pytest.raises(FormatError, match=r"@type missing.*unknown member 'extra'.*preshift_bits is 6\.0"):
        ShardingSpec.parse(loose, strict=True)
    assert strict_faults({**FULL, "minishard_bits": 33}) == ("minishard_bits is 33; some readers support at most 32",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"@type": "neuroglancer_uint64_sharded_v2"}, "@type"),
        ({"preshift_bits": 65}, "valid: 0 to 64"),
        ({"preshift_bits": True}, "not an integer"),
        ({"preshift_bits": 0.5}, "not an integer"),
        ({"preshift_bits": None}, "not an integer"),
        ({"minishard_bits": -1}, "negative"),
        ({"minishard_bits": 60, "shard_bits": 5}, "64 bits"),
        ({"minishard_bits": 10**30}, "64 bits"),
        ({"hash": "md5"}, "hash must be"),
        ({"hash": ["identity"]}, "hash must be"),
        ({"data_encoding": "zstd"}, "data_encoding"),
        ({"minishard_index_encoding": {}}, ""),
    ],
)
def test_impossible_specifications(change: dict[str, object], message: str) -> None:
    if message:
        with pytest.raises(FormatError, match=message):
            ShardingSpec.parse({**FULL, **change})
    else:
        assert ShardingSpec.parse({**FULL, **change}).minishard_index_encoding == "raw"


@pytest.mark.parametrize("value", ["{", b"\xff", "[]", "3", None, 7, "[" * 100_000])
def test_not_an_object(value: object) -> None:
    with pytest.raises(FormatError):
        ShardingSpec.parse(value)


@pytest.mark.parametrize("member", ["preshift_bits", "hash", "minishard_bits", "shard_bits"])
def test_missing_members(member: str) -> None:
    with pytest.raises(FormatError, match=f"{member} missing"):
        ShardingSpec.parse({name: value for name, value in FULL.items() if name != member})
