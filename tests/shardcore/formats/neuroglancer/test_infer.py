"""Inferring the specification of a bare shard."""

from __future__ import annotations

import gzip
import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardcore.formats.neuroglancer.infer import infer
from shardcore.formats.neuroglancer.minishard import index_of
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.sources.memory import BytesSource
from tests.shardcore.formats.neuroglancer.made import build, random_rows

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
CASES: list[dict[str, Any]] = json.loads((DATA / "expected.json").read_text())["cases"]


def shards(case: dict[str, Any]) -> list[Path]:
    """The shard files of a case."""
    return sorted((DATA / case["path"] / case.get("scale", "")).glob("*.shard"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_samples_of_the_reference_writers(case: dict[str, Any]) -> None:
    """Every bare shard of the samples gives its true bits, encodings, and the true hash among the fits."""
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
    """The bare sample passes three of three checks and leaves nothing open."""
    inference = infer(BytesSource((DATA / "bare_shard" / "0.shard").read_bytes()), "0.shard")
    assert inference.certain
    assert inference.why == "inferred, 3 of 3 checks"
    assert inference.best is not None
    assert inference.best.ambiguity() == ()
    assert inference.best.score == 1
    assert inference.best.spec == ShardingSpec(0, MURMUR, 4, 0, "gzip", "gzip")
    assert "100% of the file is accounted for" in inference.evidence()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(60))
def test_random_data_sets(seed: int) -> None:
    """Whatever the writer chose is among the guesses; minishard_bits and encodings are always right."""
    rng = random.Random(seed)
    spec = ShardingSpec(
        preshift_bits=rng.choice([0, 0, 1, 6]),
        hash=rng.choice([IDENTITY, MURMUR]),
        minishard_bits=rng.randint(0, 6),
        shard_bits=rng.choice([0, 1, 2, 5]),
        minishard_index_encoding=rng.choice(["raw", "gzip"]),
        data_encoding=rng.choice(["raw", "gzip"]),
    )
    keys = rng.sample(range(1 << rng.choice([12, 40])), 150)
    files = build(spec, random_rows(keys, rng), in_given_order=bool(seed % 2))
    for name, data in list(files.items())[:4]:
        inference = infer(BytesSource(data), name, [other for other in files if other != name])
        assert inference.certain
        best = inference.best
        assert best is not None
        guess = best.spec
        assert guess.minishard_bits == spec.minishard_bits
        assert guess.minishard_index_encoding == spec.minishard_index_encoding
        assert guess.data_encoding == spec.data_encoding
        fits = {(fit.hash, fit.preshift_bits): fit.shard_bits for fit in best.fits}
        assert spec.shard_bits in fits[spec.hash, spec.preshift_bits]


def test_one_minishard_leaves_the_hash_open() -> None:
    """With one minishard every hash fits: the guess says that they are unknown and do not matter."""
    files = build(ShardingSpec(0, MURMUR, 0, 0), random_rows([3, 8, 10**15], random.Random(1)))
    best = infer(BytesSource(files["0.shard"]), "0.shard").best
    assert best is not None
    assert len(best.fits) == 128
    assert best.ambiguity()[0].startswith("hash and preshift_bits unknown")
    assert best.spec.hash == IDENTITY


def test_few_keys_are_ambiguous_in_words() -> None:
    """Two keys fit several hashes: the sentence groups preshifts into ranges."""
    files = build(ShardingSpec(0, IDENTITY, 1, 0), random_rows([2, 4], random.Random(1)))
    best = infer(BytesSource(files["0.shard"]), "0.shard").best
    assert best is not None
    text = best.ambiguity()[0]
    assert "identity with preshift_bits 0, or identity with preshift_bits 3 to 63" in text


def test_ids_in_no_place_of_any_hash() -> None:
    """A shard whose ids were shuffled over the minishards parses, but is not called a shard."""
    rng = random.Random(5)
    entries = [sorted(rng.sample(range(10**6), 30)) for _ in range(8)]
    body, pairs = bytearray(), []
    for ids in entries:
        starts = np.arange(128 + len(body), 128 + len(body) + 30, dtype=np.uint64)
        body += bytes(30)
        index = index_of(np.array(ids, dtype=np.uint64), starts, np.ones(30, dtype=np.uint64), 128)
        pairs.append((len(body), len(body) + len(index)))
        body += index
    data = b"".join(struct.pack("<2Q", *pair) for pair in pairs) + bytes(body)
    inference = infer(BytesSource(data), "0.shard")
    assert not inference.certain
    assert inference.why == "inferred, 2 of 3 checks"
    assert inference.best is not None
    assert inference.best.minishard_bits == 3
    assert inference.best.spec.hash == IDENTITY


@pytest.mark.parametrize("seed", range(200))
def test_noise_is_no_shard(seed: int) -> None:
    """Random bytes, zeros and text are rejected with a reason."""
    rng = random.Random(seed)
    size = rng.randint(0, 3000)
    data = [rng.randbytes(size), bytes(size), (b"plain text " * 300)[:size]][seed % 3]
    inference = infer(BytesSource(data), "0.shard")
    assert inference.best is None
    assert inference.why == "inferred, 0 of 3 checks"
    assert bool(inference.rejected) == (size >= 16)


def test_overlapping_indices_are_not_multiplied() -> None:
    """Thousands of pairs that all claim the whole file are refused before anything is read for them."""

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
    """The size of an `.index` file settles `minishard_bits`; no other value is tried."""
    folder = DATA / "legacy_pair"
    index, data = (folder / "0.index").read_bytes(), (folder / "0.data").read_bytes()
    inference = infer(BytesSource(index + data), "0.index", ["0.data", "1.index", "1.data"], len(index))
    assert inference.best is not None
    assert inference.best.spec == ShardingSpec(0, MURMUR, 2, 1, "raw", "gzip")
    assert len(inference.candidates) == 1


def test_a_gzip_bomb_is_bounded() -> None:
    """Indices that decode to more than the budget are refused, not expanded."""
    bomb = gzip.compress(bytes(80 << 20), compresslevel=9, mtime=0)
    data = struct.pack("<2Q", 0, len(bomb)) + bomb
    inference = infer(BytesSource(data))
    assert inference.best is None
    assert "limit" in inference.rejected[0]


def test_a_name_that_speaks_against() -> None:
    """A renamed shard still gives its bits; shard_bits is then unknown, in words."""
    data = (DATA / "bare_shard" / "0.shard").read_bytes()
    for name in ("my shard.bin", "7.shard"):
        best = infer(BytesSource(data), name).best
        assert best is not None
        assert best.spec.minishard_bits == 4
        assert any(sentence.startswith("shard_bits unknown") for sentence in best.ambiguity())
