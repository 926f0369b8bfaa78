"""swh.shard: the hash function byte for byte, and whole shards in both directions."""

from __future__ import annotations

import ctypes
import hashlib
import json
import random
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.formats.swh.chd import build
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


def test_the_reference_finds_nothing_in_the_signed_dialect(data: Path) -> None:
    from swh.shard import Shard

    expected = json.loads((data / "swh/dialect/signed_dialect.expected.json").read_text())
    with Shard(str(data / "swh/dialect/signed_dialect.shard")) as shard:
        for key in expected["objects"]:
            with pytest.raises(KeyError):
                shard.lookup(bytes.fromhex(key))


def contents(count: int, seed: int) -> dict[bytes, bytes]:
    dice = random.Random(seed)
    made = {dice.randbytes(dice.choice((0, 1, 8, 100, 5000))) + b"%d" % n * (n > 0) for n in range(count)}
    return {hashlib.sha256(data).digest(): data for data in sorted(made)}


def by_the_reference(path: Path, objects: dict[bytes, bytes]) -> None:
    from swh.shard import ShardCreator

    with ShardCreator(str(path), len(objects)) as creator:
        for key, data in objects.items():
            creator.write(key, data)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 59, 199, 5000])
def test_the_reference_reads_what_we_write(tmp_path: Path, count: int) -> None:
    """With the seed of the reference, the bytes are the same."""
    from swh.shard import Shard

    path, theirs = tmp_path / "ours.shard", tmp_path / "theirs.shard"
    objects = contents(count, seed=count)
    with shardcore.create(path, format="swh") as writer:
        writer.add_many(None, list(objects.values()))
    with Shard(str(path)) as shard:
        assert shard.header.objects_count == len(objects)
        assert {key: shard[key] for key in shard} == objects
    if count:
        by_the_reference(theirs, objects)
        with shardcore.open(theirs) as shard:
            seed = shard.fields["hash_function.seed"]
        with shardcore.create(path, format="swh", seed=seed, force=True) as writer:
            writer.add_many(None, list(objects.values()))
        assert path.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("seed", range(3))
def test_deletions_are_those_of_the_reference(tmp_path: Path, seed: int) -> None:
    from swh.shard import Shard

    from shardcore.formats.swh.writer import delete
    from shardcore.writing.undo import apply

    theirs, ours, objects = tmp_path / "theirs.shard", tmp_path / "ours.shard", contents(100, seed)
    by_the_reference(theirs, objects)
    ours.write_bytes(theirs.read_bytes())
    gone = random.Random(seed).sample(sorted(objects), 1 + 30 * seed)
    for key in gone:
        Shard.delete(str(theirs), key)
    with shardcore.open(ours) as shard:
        apply(delete(shard, [key.hex() for key in gone]))
    assert ours.read_bytes() == theirs.read_bytes()
    with Shard(str(ours)) as shard:
        assert set(shard) == set(objects) - set(gone)
    with shardcore.open(theirs) as shard:
        for key, data in objects.items():
            if key in gone:
                assert shard.trace(key.hex()).outcome == "absent"
            else:
                assert shard.read(shard.find(key.hex())) == data
        assert shard.verify("content").ok
