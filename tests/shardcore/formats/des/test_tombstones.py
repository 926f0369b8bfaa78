"""Tombstones: noted in the sidecar, taken back, and never in the shard."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
import shardcore.operations.pack
from shardcore.cli.program import run
from shardcore.errors import KeyAbsent, UsageError
from shardcore.formats.des.tombstones import tombstone
from shardcore.model.objects import State
from shardcore.testing import kill_runs as killed
from shardcore.writing.in_place import make_rewrites

DATA = Path(__file__).parents[3] / "data" / "des"
NOW = "2026-11-22T10:00:00Z"
DATE = ["--date", "2026-11-03T10:30:00+01:00"]
WHEN = "2026-03-05T09:30:00+00:00"
KEY = "doc-7:2026-03-05T09:30:00Z"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "sidecar", tmp_path / "set"))


def test_a_tombstone_is_noted_and_taken_back(folder: Path) -> None:
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


class Retriever:
    """The check of DES' own S3 and HTTP retrievers before they return an object."""

    required: ClassVar = {
        "version": int,
        "shard_file": str,
        "shard_size": int,
        "created_at": str,
        "last_updated": str,
        "index": dict,
        "tombstones": dict,
    }

    def __init__(self, path: Path) -> None:
        with shardcore.open(path, deleted=True) as shard:
            self.contents = {key: shard.read(shard.find(key)) for key in shard.objects.keys[:] if key is not None}
        self.path = path.with_suffix(".meta")

    def refuses(self, uid: str, created_at: str) -> bool:
        tree = json.loads(self.path.read_text()) if self.path.exists() else {}
        whole = all(isinstance(tree.get(name), kind) for name, kind in self.required.items())
        when = datetime.fromisoformat(created_at)
        key = f"{uid}:{when.astimezone(UTC).isoformat().replace('+00:00', 'Z')}"
        if whole and key in tree["tombstones"]:
            return True
        if whole:
            index = tree["index"]
            near = [entry for name, entry in index.items() if name.startswith(f"{uid}:")]
            entry = index.get(key) or index.get(uid) or (near[0] if len(near) == 1 else None)
            assert entry is None or entry["uid"] == uid
        assert uid in self.contents
        return False


@pytest.fixture
def day(tmp_path: Path) -> Path:
    names = [f"doc-{number}" for number in range(40)]
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    out = tmp_path / "day"
    options = {"date": WHEN, "n_bits": 4}
    shardcore.operations.pack.pack("des", f"{out}/", [tmp_path / name for name in names], options=options)
    return out


def _shard_of(folder: Path, uid: str) -> Path:
    with shardcore.open(folder) as shard:
        return folder / shard.find(uid).shard


def test_the_retriever_refuses(day: Path) -> None:
    path = _shard_of(day, "doc-7")
    assert not path.with_suffix(".meta").exists()
    retriever = Retriever(path)
    neighbour = next(key for key in retriever.contents if key != "doc-7")
    assert not retriever.refuses("doc-7", WHEN)
    assert run(["tombstone", str(day), "doc-7", "--date", WHEN, "--dry-run"]) == 0
    assert not path.with_suffix(".meta").exists()
    assert run(["tombstone", str(day), "doc-7", "--date", WHEN, "--yes"]) == 0
    tree = json.loads(path.with_suffix(".meta").read_text())
    assert list(tree["tombstones"]) == [KEY]
    assert tree["tombstones"][KEY]["created_at"] == "2026-03-05T09:30:00Z"
    assert KEY in tree["index"]
    assert "doc-7" not in tree["index"]
    assert retriever.refuses("doc-7", WHEN)
    assert retriever.refuses("doc-7", "2026-03-05T10:30:00+01:00")
    assert not retriever.refuses(neighbour, WHEN)
    assert run(["get", str(day), "doc-7"]) == 2
    assert run(["get", str(day), "doc-7", "--deleted"]) == 0
    with shardcore.open(path) as shard:
        assert shard.find("doc-7").state is State.TOMBSTONED
        assert any(step.values.get("tombstone") is True for step in shard.trace("doc-7").steps)
        assert [finding.code for finding in shard.verify().findings] == ["des.tombstones"]
    assert run(["tombstone", str(day), "doc-7", "--date", WHEN, "--undo", "--yes"]) == 0
    assert not retriever.refuses("doc-7", WHEN)
    assert run(["get", str(day), "doc-7"]) == 0


@pytest.mark.parametrize("given", [[], ["--date", "2026-03-05"]])
def test_a_time_that_is_not_known(day: Path, given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tombstone", str(day), "doc-7", *given, "--yes"]) == 2
    assert "give the time, such as --date 2026-03-05T09:30:00+00:00" in capsys.readouterr().err
    assert not list(day.glob("*.meta"))


@pytest.mark.parametrize(
    ("uid", "date", "why"),
    [
        ("keep", "2026-11-03T09:00:00Z", "created at 2026-11-03T08:00:00Z, not at 2026-11-03T09:00:00Z"),
        ("nometa", "2026-11-04T09:00:00Z", "is in 20261103_51_0000.des, which is not a shard of 2026-11-04"),
        ("nometa", "noon", "not a date"),
    ],
)
def test_a_time_that_is_another(folder: Path, uid: str, date: str, why: str) -> None:
    (path,) = folder.glob("*.des")
    with shardcore.open(path) as shard, pytest.raises(UsageError, match=why):
        tombstone(shard, [uid], now=NOW, date=date)


def test_a_tombstone_under_the_bare_uid(day: Path) -> None:
    path = _shard_of(day, "doc-7")
    tombs = {"doc-7": {"uid": "doc-7", "created_at": None, "reason": "GDPR"}}
    # Beside it the fields are missing without which DES' readers ignore a sidecar.
    path.with_suffix(".meta").write_text(json.dumps({"version": 1, "index": {}, "tombstones": tombs}))
    retriever = Retriever(path)
    assert not retriever.refuses("doc-7", WHEN)
    with shardcore.open(path) as shard:
        assert shard.find("doc-7").state is State.TOMBSTONED
        assert "des.tombstone-key" in [finding.code for finding in shard.verify().findings]
        (rewrite,) = tombstone(shard, ["doc-7"], now=NOW, date=WHEN)
    rewrite.make()
    assert list(json.loads(path.with_suffix(".meta").read_text())["tombstones"]) == [KEY]
    assert retriever.refuses("doc-7", WHEN)


def test_the_key_decides(day: Path) -> None:
    """Readers use only the key of a tombstone, whatever its item contains."""
    path = _shard_of(day, "doc-7")
    for item in ({}, {"uid": "doc-8", "created_at": "2020-01-01T00:00:00Z"}):
        with shardcore.open(path) as shard:
            (rewrite,) = tombstone(shard, ["doc-7"], now=NOW, date=WHEN)
        tree = json.loads(rewrite.new)
        path.with_suffix(".meta").write_text(json.dumps(tree | {"tombstones": {KEY: item}}))
        assert Retriever(path).refuses("doc-7", WHEN)
        with shardcore.open(path) as shard:
            assert shard.find("doc-7").state is State.TOMBSTONED


class Killed:
    def prepared(self, target: Path) -> None:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(DATA / "sidecar", target)
        sidecar = next(target.glob("*.meta"))
        self.old = sidecar.read_bytes()
        self.run(target)
        self.new = sidecar.read_bytes()
        sidecar.write_bytes(self.old)

    def run(self, target: Path) -> None:
        with shardcore.open(next(target.glob("*.des"))) as shard:
            (rewrite,) = tombstone(shard, ["keep"], now=NOW)
        make_rewrites([rewrite])

    def judged(self, target: Path) -> str:
        now = next(target.glob("*.meta")).read_bytes()
        answer = "new" if now == self.new else "old" if now == self.old else "wrong"
        next(target.glob("*.meta")).write_bytes(self.old)
        self.run(target)
        return answer if not list(target.glob(".*.part")) else "left-over"


@pytest.mark.thorough
def test_a_tombstone_that_is_killed(tmp_path: Path) -> None:
    outcomes = killed.at_moments(Killed, "run", tmp_path / "set", 20)
    assert set(outcomes) == {"old", "new"}


def test_what_cannot_be_noted(folder: Path) -> None:
    with shardcore.open(folder) as shard:
        with pytest.raises(KeyAbsent):
            tombstone(shard, ["nobody"], now=NOW)
        with pytest.raises(UsageError, match="no tombstone"):
            tombstone(shard, ["nometa"], now=NOW, undo=True)
        with pytest.raises(UsageError, match="no uids"):
            tombstone(shard, [], now=NOW)


def test_a_tombstone_that_is_there_keeps_its_facts(folder: Path) -> None:
    (path,) = folder.glob("*.des")

    def stone() -> dict[str, str]:
        tree = json.loads(path.with_suffix(".meta").read_text())
        found: dict[str, str] = tree["tombstones"]["nometa:2026-11-03T09:30:00Z"]
        return found

    shardcore.tombstone(folder, ["nometa"], date=DATE[1], reason="GDPR", ticket="T-2")
    first = stone()
    shardcore.tombstone(folder, ["nometa"], date=DATE[1])
    assert stone() == first
    shardcore.tombstone(folder, ["nometa"], date=DATE[1], ticket="T-3")
    assert stone() == first | {"ticket_id": "T-3"}


def test_a_sidecar_that_is_packed_has_the_time(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"content")
    times = {"2026-11-03T10:30:00+01:00": "one:2026-11-03T09:30:00Z", "2026-11-03": "one"}
    for number, (date, key) in enumerate(times.items()):
        out = tmp_path / f"set{number}"
        options = {"date": date, "sidecar": True}
        shardcore.pack("des", f"{out}/", [tmp_path / "one"], options=options)
        (sidecar,) = out.glob("*.meta")
        assert list(json.loads(sidecar.read_text())["index"]) == [key]
        if key == "one":
            with pytest.raises(UsageError, match="does not contain created_at of"):
                shardcore.tombstone(out, ["one"])
            continue
        shardcore.tombstone(out, ["one"])
        assert list(json.loads(sidecar.read_text())["tombstones"]) == [key]
        with shardcore.open(out) as found, pytest.raises(UsageError, match="was deleted"):
            found["one"]
