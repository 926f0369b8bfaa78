"""Inferring the specification of a bare shard."""

from __future__ import annotations

import gzip
import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from shardcore.formats.neuroglancer.infer import infer
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.sources.memory import BytesSource
from tests.shardcore.formats.neuroglancer.made import build, random_rows

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
        assert best is not None
        found = best.spec
        assert found.minishard_bits == truth.minishard_bits
        assert found.minishard_index_encoding == truth.minishard_index_encoding
        assert found.data_encoding == truth.data_encoding
        fits = {(fit.hash, fit.preshift_bits): fit.shard_bits for fit in best.fits}
        assert truth.shard_bits in fits[truth.hash, truth.preshift_bits]


def test_bare_shard_is_certain() -> None:
    inference = infer(BytesSource((DATA / "bare_shard" / "0.shard").read_bytes()), "0.shard")
    assert inference.certain
    assert inference.best is not None
    assert inference.best.ambiguity() == ()
    assert inference.best.score == 1
    assert inference.best.spec == ShardingSpec(0, MURMUR, 4, 0, "gzip", "gzip")


def test_one_minishard_leaves_the_hash_open() -> None:
    """With one minishard every hash fits."""
    files = build(ShardingSpec(0, MURMUR, 0, 0), random_rows([3, 8, 10**15], random.Random(1)))
    best = infer(BytesSource(files["0.shard"]), "0.shard").best
    assert best is not None
    assert len(best.fits) == 128
    assert best.ambiguity()[0].startswith("hash and preshift_bits are unknown")
    assert best.spec.hash == IDENTITY


def test_few_keys_leave_several_hashes_open() -> None:
    files = build(ShardingSpec(0, IDENTITY, 1, 0), random_rows([2, 4], random.Random(1)))
    best = infer(BytesSource(files["0.shard"]), "0.shard").best
    assert best is not None
    assert "3 to 63" in best.ambiguity()[0]


@pytest.mark.parametrize("seed", range(60))
def test_noise_is_no_shard(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(0, 3000)
    data = [rng.randbytes(size), bytes(size), (b"plain text " * 300)[:size]][seed % 3]
    inference = infer(BytesSource(data), "0.shard")
    assert inference.best is None
    assert inference.why == "inferred, 0 of 3 checks"
    assert bool(inference.rejected) == (size >= 16)


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


def test_split_form_fixes_the_bits() -> None:
    folder = DATA / "legacy_pair"
    index, data = (folder / "0.index").read_bytes(), (folder / "0.data").read_bytes()
    inference = infer(BytesSource(index + data), "0.index", ["0.data", "1.index", "1.data"], len(index))
    assert inference.best is not None
    assert inference.best.spec == ShardingSpec(0, MURMUR, 2, 1, "raw", "gzip")
    assert len(inference.candidates) == 1


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
        assert best is not None
        assert best.spec.minishard_bits == 4
        assert any(sentence.startswith("shard_bits is unknown") for sentence in best.ambiguity())
