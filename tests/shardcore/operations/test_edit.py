"""The library's edits: the same options, results and refusals as the commands."""

from __future__ import annotations

import inspect
import json
import shutil
from pathlib import Path

import pytest

import shardcore
from shardcore import KeyAbsent, UsageError
from shardcore.cli.program import loaded

SAMPLES = Path(__file__).parent.parent.parent.parent / "resources" / "samples"
KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return Path(shutil.copy(SAMPLES / "swh" / "small.shard", tmp_path / "small.shard"))


def test_delete_and_undo(small: Path) -> None:
    before = small.read_bytes()
    done = shardcore.delete(small, [bytes.fromhex(KEY)], reason="request 7", who="me", audit=True)
    assert (done.what, done.changed, done.ok, done.size) == ("delete 1 object", True, True, len(before))
    assert done.journal == small.with_name("small.shard.undo")
    assert done.sha256() != ""
    (line,) = small.with_name("small.shard.audit.jsonl").read_text().splitlines()
    assert {"verb": "delete", "keys": [KEY], "reason": "request 7", "who": "me"}.items() <= json.loads(line).items()
    with shardcore.open(small) as shard:
        assert KEY not in shard
    back = shardcore.undo(small)
    assert back.changed
    assert back.undoes.what == "delete 1 object"
    assert small.read_bytes() == before


def test_a_dry_run_changes_nothing(small: Path) -> None:
    before = small.read_bytes()
    done = shardcore.delete(small, [KEY], dry_run=True)
    assert not done.changed
    assert [change["what"] for change in done.plan["changes"]]
    assert (small.read_bytes(), [path.name for path in small.parent.iterdir()]) == (before, ["small.shard"])
    shardcore.delete(small, [KEY])
    assert shardcore.undo(small, dry_run=True).undoes is not None
    assert small.read_bytes() != before


def test_what_is_not_there_is_not_deleted(small: Path) -> None:
    before = small.read_bytes()
    with pytest.raises(KeyAbsent):
        shardcore.delete(small, [KEY, "00" * 32])
    assert small.read_bytes() == before
    with pytest.raises(UsageError, match="copy it to this machine first"):
        shardcore.delete("s3://bucket/a.shard", [KEY])
    with pytest.raises(UsageError, match=r"append is not supported for swh \(supported: bloscpack"):
        shardcore.append(small, [small])
    with shardcore.open(small) as shard, pytest.raises(UsageError, match="rekey is not supported for swh"):
        shardcore.rekey(shard, small.with_name("new"), key="00" * 32)


def test_truncate_and_purge(small: Path) -> None:
    size = small.stat().st_size
    with small.open("ab") as file:
        file.write(b"rest")
    assert shardcore.truncate(small).size == size
    assert shardcore.purge(small) == [small.with_name("small.shard.undo")]
    with pytest.raises(UsageError):
        shardcore.undo(small)


def test_tombstones_are_written_and_removed(tmp_path: Path) -> None:
    with shardcore.create(tmp_path / "a.des", format="des") as writer:
        writer.add("one", b"1")
    when = {"date": "2026-03-05T09:30:00Z"}
    (sidecar,) = shardcore.tombstone(tmp_path / "a.des", ["one"], reason="why", who="me", dry_run=True, **when)
    assert not sidecar.path.exists()
    (sidecar,) = shardcore.tombstone(tmp_path / "a.des", ["one"], reason="why", who="me", **when)
    assert sidecar.path.read_bytes() == sidecar.new
    with shardcore.open(tmp_path / "a.des") as shard, pytest.raises(shardcore.ShardError):
        shard["one"]
    shardcore.tombstone(tmp_path / "a.des", ["one"], undo=True)
    with shardcore.open(tmp_path / "a.des") as shard:
        assert shard["one"] == b"1"


@pytest.mark.parametrize("name", ["delete", "truncate", "append", "tombstone", "undo"])
def test_options_are_those_of_the_command(name: str) -> None:
    """Except for options of terminals and of opening."""
    command = loaded(name)
    mine = set(inspect.signature(getattr(shardcore, name)).parameters)
    opening = {"source_format", "opening_options", "spec", "xorbs", "date", "deleted", "jobs", "tape", "zones"}
    renamed = {"uri": "path", "file": "path", "undo_last": "undo"}
    given = {renamed.get(one.name, one.name) for one in command.params if not one.opts[0].startswith("--help")}
    remote = {one.name for one in command.params if (getattr(one, "help", "") or "").startswith("Remote:")}
    assert given - opening - remote - {"yes", "json", "key_file", "by", "purge", "limit_requests", "limit_work"} <= mine


def test_functions_of_a_shard_take_a_path(small: Path, tmp_path: Path) -> None:
    assert shardcore.extract(small, tmp_path / "out").ok
    assert shardcore.extract(small.read_bytes(), tmp_path / "again").ok
    converted = shardcore.convert(str(small), "des", tmp_path / "x.des")
    assert converted.report.ok
    with pytest.raises(UsageError, match="rekey"):
        shardcore.rekey(small, tmp_path / "new.mdb", key="11" * 32)
    with shardcore.open(small) as shard:
        assert shardcore.extract(shard, tmp_path / "third").ok
        assert shard.read(shard.find(KEY))
