"""`shardcore.extract`: objects by their keys, by a pattern, or all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore import KeyAbsent, UsageError

SAMPLES = Path(__file__).parent.parent.parent.parent.parent / "resources" / "samples"
SMALL = SAMPLES / "swh" / "small.shard"
KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


def test_keys_choose(tmp_path: Path) -> None:
    with shardcore.open(SMALL) as shard:
        (file,) = shardcore.extract(shard, tmp_path / "out", [bytes.fromhex(KEY)]).files
        assert Path(file.path).read_bytes() == shard[KEY]
        with pytest.raises(KeyAbsent):
            shardcore.extract(shard, tmp_path / "none", [KEY, bytes(32)])
        with pytest.raises(UsageError, match="cannot be combined"):
            shardcore.extract(shard, tmp_path / "none", [KEY], match="*")
        assert shardcore.extract(shard, tmp_path / "none", match="nothing").files == ()
        with pytest.raises(UsageError, match="no objects of kind 'xorb'"):
            shardcore.extract(shard, tmp_path / "none", kind="xorb")
        assert not (tmp_path / "none").exists()
        assert shardcore.extract(shard, tmp_path / "empty", []).files == ()


def test_members_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    where = tmp_path / "set"
    where.mkdir()
    for path in (SAMPLES / "des" / "archive").glob("*.des"):
        (where / path.name).write_bytes(path.read_bytes())
    broken = sorted(where.glob("*.des"))[0]
    broken.write_bytes(broken.read_bytes()[:20])
    with shardcore.open(where) as shards:
        done = shardcore.extract(shards, tmp_path / "out")
    assert list(done.unreadable) == [broken.name]
    assert not done.ok
    assert done.files
