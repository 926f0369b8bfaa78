"""Tombstones: noted in the sidecar, taken back, and never in the shard."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import KeyAbsent, UsageError
from shardcore.formats.des.tombstones import tombstone
from shardcore.objects import State
from shardcore.testing import killed
from shardcore.writing.edit import make_rewrites

DATA = Path(__file__).parents[3] / "data" / "des"
NOW = "2026-11-22T10:00:00Z"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The sample with a sidecar."""
    return Path(shutil.copytree(DATA / "sidecar", tmp_path / "set"))


def test_a_tombstone_is_noted_and_taken_back(folder: Path) -> None:
    """Buried by `uid:timestamp` beside older ones, the key is refused; taken back, it is served; the shard stays."""
    (path,) = folder.glob("*.des")
    before, shard_bytes = json.loads(path.with_suffix(".meta").read_text()), path.read_bytes()
    with shardcore.open(path) as shard:
        (rewrite,) = tombstone(shard, ["keep"], now=NOW, facts={"deleted_by": "bob", "reason": "r", "ticket_id": "T"})
    make_rewrites([rewrite])
    tree = json.loads(path.with_suffix(".meta").read_text())
    assert tree["tombstones"]["keep:2026-11-03T08:00:00Z"] == {
        "uid": "keep",
        "created_at": "2026-11-03T08:00:00Z",
        "deleted_at": NOW,
        "deleted_by": "bob",
        "reason": "r",
        "ticket_id": "T",
    }
    assert tree["tombstones"].items() >= before["tombstones"].items()
    assert tree["stats"] == {"entries": 3, "deleted_files": 2, "deletion_ratio": 2 / 3}
    assert tree["index"] == before["index"]
    with shardcore.open(path) as shard:
        assert shard.find("keep").state is State.TOMBSTONED
        with pytest.raises(UsageError, match="bob"):
            shard.read(shard.find("keep"))
        (rewrite,) = tombstone(shard, ["keep"], now=NOW, undo=True)
    make_rewrites([rewrite])
    tree = json.loads(path.with_suffix(".meta").read_text())
    assert tree["tombstones"] == before["tombstones"]
    with shardcore.open(path) as shard:
        assert shard.read(shard.find("keep"))
    assert path.read_bytes() == shard_bytes


def test_a_shard_without_a_sidecar_gets_one(tmp_path: Path) -> None:
    """The new sidecar has checksums of all contents, and verification finds nothing."""
    path = Path(shutil.copy(DATA / "zstd.des", tmp_path))
    with shardcore.open(path) as shard:
        key = shard.objects.keys[0]
        assert key is not None
        (rewrite,) = tombstone(shard, [key], now=NOW)
    assert rewrite.old is None
    make_rewrites([rewrite])
    with shardcore.open(path) as shard:
        assert shard.find(key).state is State.TOMBSTONED
        assert not [finding for finding in shard.verify().findings if finding.severity.value == "error"]


class Killed:
    """A tombstone whose writing is killed."""

    def prepared(self, target: Path) -> None:
        """The sample with a sidecar, and beside it what the sidecar is going to be."""
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(DATA / "sidecar", target)
        sidecar = next(target.glob("*.meta"))
        self.old = sidecar.read_bytes()
        self.run(target)
        self.new = sidecar.read_bytes()
        sidecar.write_bytes(self.old)

    def run(self, target: Path) -> None:
        """Notes a tombstone."""
        with shardcore.open(next(target.glob("*.des"))) as shard:
            (rewrite,) = tombstone(shard, ["keep"], now=NOW)
        make_rewrites([rewrite])

    def judged(self, target: Path) -> str:
        """`old` or `new` where the sidecar is one of them, and the next run leaves nothing behind."""
        now = next(target.glob("*.meta")).read_bytes()
        answer = "new" if now == self.new else "old" if now == self.old else "wrong"
        next(target.glob("*.meta")).write_bytes(self.old)
        self.run(target)
        return answer if not list(target.glob(".*.part")) else "left-over"


@pytest.mark.thorough
def test_a_tombstone_that_is_killed(tmp_path: Path) -> None:
    """At every moment the sidecar is the old one or the new one, and what is left over goes with the next run."""
    outcomes = killed.at_moments(Killed, "run", tmp_path / "set", 40)
    assert set(outcomes) == {"old", "new"}


def test_what_cannot_be_noted(folder: Path) -> None:
    """A uid that is nowhere, no tombstone to take back, no uid at all: told, and nothing is written."""
    with shardcore.open(folder) as shard:
        with pytest.raises(KeyAbsent):
            tombstone(shard, ["nobody"], now=NOW)
        with pytest.raises(UsageError, match="no tombstone"):
            tombstone(shard, ["nometa"], now=NOW, undo=True)
        with pytest.raises(UsageError, match="which objects"):
            tombstone(shard, [], now=NOW)


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tombstone` on a folder asks, or takes `--yes`; `--dry-run` shows both texts; `--undo` takes it back."""
    (path,) = folder.glob("*.des")
    before = path.with_suffix(".meta").read_bytes()
    assert run(["tombstone", str(folder), "nometa", "--dry-run"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["old"].encode() == before
    assert '"nometa"' in told["new"].partition('"tombstones"')[2]
    assert (
        run(
            ["tombstone", str(folder), "nometa", "--reason", "GDPR", "--by", "me", "--ticket", "T-2", "--yes", "--json"]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["path"] == str(path.with_suffix(".meta"))
    assert run(["get", str(folder), "nometa"]) == 2
    assert "GDPR" in capsys.readouterr().err
    assert run(["tombstone", str(folder), "nometa", "--undo", "--yes"]) == 0
    assert run(["get", str(folder), "nometa"]) == 0
    tree = json.loads(path.with_suffix(".meta").read_text())
    assert tree["tombstones"] == json.loads(before)["tombstones"]
