"""`shardcore.extract`: objects by their keys, by a pattern, or all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore import Conflict, ExtractOptions, KeyAbsent, UsageError
from shardcore.cli.program import run

SAMPLES = Path(__file__).parent.parent.parent.parent.parent / "resources" / "samples"
SMALL = SAMPLES / "swh" / "small.shard"
KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


def test_without_keys_everything_is_extracted(tmp_path: Path) -> None:
    """Each object that can be read has its file; the manifest lists them."""
    with shardcore.open(SMALL) as shard:
        done = shardcore.extract(shard, tmp_path / "out")
        assert done.ok
        assert {file.key: Path(file.path).read_bytes() for file in done.files} == {key: shard[key] for key in shard}
    assert (tmp_path / "out" / "manifest.json").exists()


def test_keys_choose(tmp_path: Path) -> None:
    """Keys are text or bytes; an absent one raises before anything is written; no keys are none."""
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


def test_a_damaged_object_does_not_stop_the_others(tmp_path: Path) -> None:
    """Those that failed say why; the others are there."""
    with shardcore.open(SAMPLES / "xorb" / "damaged.xorb") as shard:
        done = shardcore.extract(shard, tmp_path / "out", range(len(shard.objects)))
        assert not done.ok
        assert done.failed
        assert all(file.error for file in done.failed)
        assert len(done.files) > len(done.failed)


def test_options_are_those_of_the_command(tmp_path: Path) -> None:
    """What exists may stay, and the manifest may be left out."""
    with shardcore.open(SMALL) as shard:
        options = ExtractOptions(conflict=Conflict.SKIP, manifest=False)
        shardcore.extract(shard, tmp_path, [KEY], options=options)
        (again,) = shardcore.extract(shard, tmp_path, [KEY], options=options).files
        assert again.skipped
    assert [path.name for path in tmp_path.iterdir()] == [KEY]


def test_members_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """A data set is extracted member by member; damaged ones are in `unreadable`."""
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


def test_the_command_and_the_function_write_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One code path: the same files, and the same lines about them."""
    with shardcore.open(SAMPLES / "des" / "archive") as shard:
        mine = [file.line() for file in shardcore.extract(shard, tmp_path / "a").files]
    assert run(["extract", str(SAMPLES / "des" / "archive"), str(tmp_path / "b"), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [{**line, "path": Path(line["path"]).name} for line in lines] == [
        {**line, "path": Path(line["path"]).name} for line in mine
    ]
