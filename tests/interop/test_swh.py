"""Whole shards against swh.shard: it reads what we write, we read what it writes and deletes."""

import hashlib
import random
from pathlib import Path

import pytest

import shardcore
from shardcore.model.objects import State

pytestmark = pytest.mark.interop("swh.shard")


def contents(count: int, seed: int) -> list[bytes]:
    dice = random.Random(seed)
    made = {dice.randbytes(dice.choice((0, 1, 8, 100, 5000))) + b"%d" % n * (n > 0) for n in range(count)}
    return sorted(made)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 59, 199, 5000])
def test_the_reference_reads_what_we_write(tmp_path: Path, count: int) -> None:
    from swh.shard import Shard

    path = tmp_path / "ours.shard"
    objects = contents(count, seed=count)
    with shardcore.create(path, format="swh") as writer:
        for data in objects:
            writer.add(None, data)
    with Shard(str(path)) as shard:
        assert shard.header.objects_count == len(objects)
        for data in objects:
            assert shard[hashlib.sha256(data).digest()] == data
        assert set(shard) == {hashlib.sha256(data).digest() for data in objects}


@pytest.mark.parametrize("seed", range(4))
def test_we_read_what_the_reference_writes_and_deletes(tmp_path: Path, seed: int) -> None:
    from swh.shard import Shard, ShardCreator

    path = tmp_path / "theirs.shard"
    dice = random.Random(seed)
    objects = {hashlib.sha256(data).digest(): data for data in contents(300 + seed, seed)}
    with ShardCreator(str(path), len(objects)) as creator:
        for key, data in objects.items():
            creator.write(key, data)
    gone = dice.sample(sorted(objects), seed * 40)
    for key in gone:
        Shard.delete(str(path), key)
    with shardcore.open(path) as shard:
        for key, data in objects.items():
            if key in gone:
                assert shard.trace(key.hex()).outcome == "absent"
            else:
                assert shard.read(shard.find(key.hex())) == data
        shard.load_index()
        assert int((shard.objects[:].state == State.LIVE).sum()) == len(objects) - len(gone)
        assert shard.verify("content").ok


def test_equal_objects_and_seed_give_the_bytes_of_the_reference(tmp_path: Path) -> None:
    from swh.shard import ShardCreator

    objects = contents(1000, seed=9)
    theirs = tmp_path / "theirs.shard"
    with ShardCreator(str(theirs), len(objects)) as creator:
        for data in objects:
            creator.write(hashlib.sha256(data).digest(), data)
    with shardcore.open(theirs) as shard:
        seed = shard.fields["hash_function.seed"]
    ours = tmp_path / "ours.shard"
    assert isinstance(seed, int)
    with shardcore.create(ours, format="swh", seed=seed) as writer:
        for data in objects:
            writer.add(None, data)
    assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("seed", range(3))
def test_deletions_are_those_of_the_reference(tmp_path: Path, seed: int) -> None:
    from swh.shard import Shard, ShardCreator

    from shardcore.formats.swh.writer import delete
    from shardcore.writing.undo import apply

    theirs, ours = tmp_path / "theirs.shard", tmp_path / "ours.shard"
    objects = {hashlib.sha256(data).digest(): data for data in contents(100, seed)}
    with ShardCreator(str(theirs), len(objects)) as creator:
        for key, data in objects.items():
            creator.write(key, data)
    ours.write_bytes(theirs.read_bytes())
    gone = random.Random(seed).sample(sorted(objects), 30)
    for key in gone:
        Shard.delete(str(theirs), key)
    with shardcore.open(ours) as shard:
        apply(delete(shard, [key.hex() for key in gone]))
    assert ours.read_bytes() == theirs.read_bytes()
    with Shard(str(ours)) as shard:
        assert set(shard) == set(objects) - set(gone)
