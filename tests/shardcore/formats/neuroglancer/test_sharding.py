"""The sharding specification: hashes, file names, and inference from the bytes of a shard."""

from __future__ import annotations

import gzip
import json
import random
import struct
from pathlib import Path
from typing import Any

import mmh3
import numpy as np
import pytest

from shardcore.errors import FormatError, UsageError
from shardcore.formats.neuroglancer import sharding
from shardcore.formats.neuroglancer.inference import infer
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec, murmur_low64
from shardcore.sources.memory import BytesSource
from tests.shardcore.formats.neuroglancer.made import build, random_rows

FULL = ShardingSpec(1, IDENTITY, 1, 1, "gzip", "raw").to_json()

VECTORS = {
    0: 5148371408780832321, 1: 16770674756601302682, 2: 15433726874232110938, 255: 5633939043138664346,
    2**32: 13524640716595723620, 2**64 - 1: 0x574F66BD212B5D1A, 123456789 >> 6: 0x3FD8748AAADC6C8F,
}  # fmt: skip


@pytest.mark.parametrize(("key", "hashed"), VECTORS.items())
def test_murmur_vectors(key: int, hashed: int) -> None:
    assert murmur_low64(key) == hashed
    assert sharding.murmur_low64_many(np.array([key], dtype=np.uint64)).tolist() == [hashed]


def test_murmur_of_arrays_equals_the_library() -> None:
    rng = random.Random(7)
    keys = [0, 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63, 2**64 - 1]
    keys += [rng.getrandbits(rng.choice([8, 33, 64])) for _ in range(10_000 - len(keys))]
    expected = [int.from_bytes(mmh3.mmh3_x86_128_digest(key.to_bytes(8, "little"))[:8], "little") for key in keys]
    array = np.array(keys, dtype=np.uint64)
    assert sharding.murmur_low64_many(array.reshape(100, 100)).ravel().tolist() == expected
    assert sharding.murmur_low64_many(array[:0]).size == 0


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


def test_key_out_of_range() -> None:
    for key in (-1, 2**64):
        with pytest.raises(UsageError):
            ShardingSpec.parse(FULL).place(key)


@pytest.mark.parametrize(("bits", "name"), [(0, "0"), (1, "0"), (4, "0"), (5, "00"), (8, "00"), (9, "000")])
def test_widths_of_file_names(bits: int, name: str) -> None:
    spec = ShardingSpec(0, IDENTITY, 0, bits)
    assert spec.shard_name(0) == name + ".shard"
    assert sharding.shard_number(spec.shard_name(0)) == (0, len(name))
    last = spec.shard_name(spec.shards - 1)
    assert sharding.shard_number(last) == (spec.shards - 1, len(name))


@pytest.mark.parametrize("name", ["info", "0.SHARD", "G.shard", "0F.shard", ".shard", "0.shard.gz"])
def test_other_names_are_no_shards(name: str) -> None:
    assert sharding.shard_number(name) is None


def test_strict_reading_names_every_fault() -> None:
    assert ShardingSpec.parse(FULL, strict=True).to_json() == FULL
    loose = {"preshift_bits": 6.0, "hash": "identity", "minishard_bits": "3", "shard_bits": 0, "extra": 1}
    assert ShardingSpec.parse(loose) == ShardingSpec(6, IDENTITY, 3, 0)
    loose["minishard_bits"] = 3
    assert len(sharding.strict_faults(loose)) == 3
    with pytest.raises(FormatError, match=r"@type missing.*unknown member 'extra'.*preshift_bits is 6\.0"):
        ShardingSpec.parse(loose, strict=True)
    assert sharding.strict_faults({**FULL, "minishard_bits": 33}) == (
        "minishard_bits is 33; some readers support at most 32",
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (FULL | {"@type": "neuroglancer_uint64_sharded_v2"}, "@type"),
        (FULL | {"preshift_bits": 65}, "valid: 0 to 64"),
        *((FULL | {"preshift_bits": wrong}, "not an integer") for wrong in (True, 0.5, None)),
        (FULL | {"minishard_bits": -1}, "negative"),
        (FULL | {"minishard_bits": 60, "shard_bits": 5}, "64 bits"),
        (FULL | {"minishard_bits": 10**30}, "64 bits"),
        (FULL | {"hash": "md5"}, "hash must be"),
        (FULL | {"hash": ["identity"]}, "hash must be"),
        (FULL | {"data_encoding": "zstd"}, "data_encoding"),
        *(
            ({name: value for name, value in FULL.items() if name != member}, f"{member} missing")
            for member in ("preshift_bits", "hash", "minishard_bits", "shard_bits")
        ),
        *((wrong, None) for wrong in ("{", b"\xff", "[]", "3", None, 7, "[" * 100_000)),
    ],
)
def test_impossible_specifications(value: object, message: str | None) -> None:
    with pytest.raises(FormatError, match=message):
        ShardingSpec.parse(value)


def test_an_encoding_that_is_no_name_is_raw() -> None:
    assert ShardingSpec.parse({**FULL, "minishard_index_encoding": {}}).minishard_index_encoding == "raw"


DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
CASES: list[dict[str, Any]] = json.loads((DATA / "expected.json").read_text())["cases"]


def shards(case: dict[str, Any]) -> list[Path]:
    return sorted((DATA / case["path"] / case.get("scale", "")).glob("*.shard"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_samples_of_the_reference_writers(case: dict[str, Any]) -> None:
    truth = ShardingSpec.parse(case["spec"])
    for path in shards(case):
        siblings = [other.name for other in path.parent.iterdir() if other != path]
        best = infer(BytesSource(path.read_bytes()), path.name, siblings).best
        found = best.spec
        assert found.minishard_bits == truth.minishard_bits
        assert found.minishard_index_encoding == truth.minishard_index_encoding
        assert found.data_encoding == truth.data_encoding
        fits = {(fit.hash, fit.preshift_bits): fit.shard_bits for fit in best.fits}
        assert truth.shard_bits in fits[truth.hash, truth.preshift_bits]


def test_bare_shard_is_certain() -> None:
    inference = infer(BytesSource((DATA / "bare_shard" / "0.shard").read_bytes()), "0.shard")
    assert inference.certain
    assert inference.best.ambiguity() == ()
    assert inference.best.score == 1
    assert inference.best.spec == ShardingSpec(0, MURMUR, 4, 0, "gzip", "gzip")


def test_one_minishard_leaves_the_hash_open() -> None:
    """With one minishard every hash fits."""
    files = build(ShardingSpec(0, MURMUR, 0, 0), random_rows([3, 8, 10**15], random.Random(1)))
    best = infer(BytesSource(files["0.shard"]), "0.shard").best
    assert len(best.fits) == 128
    assert best.ambiguity()[0].startswith("hash and preshift_bits are unknown")
    assert best.spec.hash == IDENTITY
    files = build(ShardingSpec(0, IDENTITY, 1, 0), random_rows([2, 4], random.Random(1)))
    assert "3 to 63" in infer(BytesSource(files["0.shard"]), "0.shard").best.ambiguity()[0]


@pytest.mark.parametrize("seed", range(60))
def test_noise_is_no_shard(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(0, 3000)
    data = [rng.randbytes(size), bytes(size), (b"plain text " * 300)[:size]][seed % 3]
    inference = infer(BytesSource(data), "0.shard")
    assert inference.best is None
    assert (inference.why, bool(inference.rejected)) == ("inferred, 0 of 3 checks", size >= 16)


def test_overlapping_indices_are_not_multiplied() -> None:

    class Counting(BytesSource):
        taken = 0

        def _read(self, start: int, stop: int) -> bytes:
            self.taken += stop - start
            return super()._read(start, stop)

    size = 1 << 20
    pair = struct.pack("<2Q", 0, size - (16 << 12))
    file = Counting(pair * (1 << 12) + bytes(size - (16 << 12)))
    assert infer(file).best is None
    assert file.taken < 4 * size


def test_a_gzip_bomb_is_bounded() -> None:
    bomb = gzip.compress(bytes(80 << 20), compresslevel=9, mtime=0)
    data = struct.pack("<2Q", 0, len(bomb)) + bomb
    inference = infer(BytesSource(data))
    assert inference.best is None
    assert "limit" in inference.rejected[0]


def test_a_name_that_speaks_against() -> None:
    data = (DATA / "bare_shard" / "0.shard").read_bytes()
    for name in ("my shard.bin", "7.shard"):
        best = infer(BytesSource(data), name).best
        assert best.spec.minishard_bits == 4
        assert any(sentence.startswith("shard_bits is unknown") for sentence in best.ambiguity())
