"""The hash function section, byte for byte against the one that the reference writer makes."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import numpy as np
import pytest

from shardcore.formats.swh.chd import FIRST_SEED, build
from tests.shardcore.formats.swh.sections import random_keys, section_bytes, take_apart

pytestmark = pytest.mark.interop("swh.shard")


def reference_section(path: Path, keys: np.ndarray, start: int) -> tuple[bytes, list[int]]:
    from swh.shard import ShardCreator

    libc = ctypes.CDLL(None)
    libc.srand(start)
    seeds = [libc.rand() % len(keys) for _ in range(100)]
    libc.srand(start)
    with ShardCreator(str(path), len(keys)) as creator:
        for key in keys:
            creator.write(key.tobytes(), b"")
    data = path.read_bytes()
    return data[int.from_bytes(data[80:88], "big") :], seeds


@pytest.mark.parametrize("first", range(1, 200, 20))
def test_small_functions_are_equal(tmp_path: Path, first: int) -> None:
    """Every number of keys from 1 to 199, retries and their stale displacements included."""
    for count in range(first, min(first + 20, 200)):
        keys = random_keys(count, seed=count)
        section, seeds = reference_section(tmp_path / f"{count}.shard", keys, start=count)
        tried = seeds[: seeds.index(take_apart(section).seed) + 1]
        assert section_bytes(build(keys, tried)) == section, f"{count} keys"


@pytest.mark.parametrize("count", [4095, 4096, 20_000, 100_000])
def test_large_functions_are_equal(tmp_path: Path, count: int) -> None:
    """Large functions need no second seed: the one in the file is enough."""
    keys = random_keys(count, seed=count)
    section, _ = reference_section(tmp_path / "large.shard", keys, start=count)
    assert section_bytes(build(keys, [take_apart(section).seed])) == section


@pytest.mark.parametrize("count", [1, 11, 58, 59, 1000])
def test_the_reference_reads_our_function(tmp_path: Path, count: int) -> None:
    from swh.shard import Shard

    keys = random_keys(count, seed=count)
    path = tmp_path / "ours.shard"
    reference_section(path, keys, start=count)
    data = path.read_bytes()
    index_at, hash_at = (int.from_bytes(data[at : at + 8], "big") for at in (64, 80))
    function = build(keys, FIRST_SEED)
    index = bytearray((bytes(32) + b"\xff" * 8) * function.slots)
    assert len(index) == hash_at - index_at
    for number, slot in enumerate(function.slots_of(keys).tolist()):
        index[40 * slot : 40 * slot + 40] = keys[number].tobytes() + (512 + 8 * number).to_bytes(8, "big")
    path.write_bytes(data[:index_at] + index + section_bytes(function))
    with Shard(str(path)) as shard:
        assert all(shard.getpos(key.tobytes()) == slot for key, slot in zip(keys, function.slots_of(keys), strict=True))
        assert all(shard.lookup(key.tobytes()) == b"" for key in keys)


def test_the_reference_finds_nothing_in_the_signed_dialect(data: Path) -> None:
    from swh.shard import Shard

    expected = json.loads((data / "swh/dialect/signed_dialect.expected.json").read_text())
    with Shard(str(data / "swh/dialect/signed_dialect.shard")) as shard:
        for key in expected["objects"]:
            with pytest.raises(KeyError):
                shard.lookup(bytes.fromhex(key))
