"""Tombstones and the sidecar: deletion, undo, checksums, damaged sidecars."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shardcore
import shardcore.operations.pack
from shardcore.cli.program import run
from shardcore.errors import FormatError, KeyAbsent, ShardError, SourceError, UsageError
from shardcore.formats.des import file as reading
from shardcore.formats.des import sidecar as module
from shardcore.formats.des.tombstones import tombstone
from shardcore.model.objects import State
from shardcore.sources.base import Source
from shardcore.testing import kill_runs as killed
from shardcore.writing.in_place import make_rewrites
from tests.shardcore.formats.des.made import Stored, write

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
    when, facts = "2026-11-03T08:00:00Z", {"deleted_by": "bob", "reason": "r", "ticket_id": "T"}
    assert tree["tombstones"][f"keep:{when}"] == {"uid": "keep", "created_at": when, "deleted_at": NOW, **facts}
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

    required: ClassVar = {"version": int, "shard_size": int, "index": dict, "tombstones": dict}
    required |= dict.fromkeys(("shard_file", "created_at", "last_updated"), str)

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
    with shardcore.create(tmp_path / "day", format="des", folder=True, date=WHEN, n_bits=4) as writer:
        for number in range(40):
            writer.add(f"doc-{number}", b"doc-%d" % number)
    return tmp_path / "day"


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
        for error, keys, undo in (
            (KeyAbsent, ["nobody"], False),
            (UsageError, ["nometa"], True),
            (UsageError, [], False),
        ):
            with pytest.raises(error):
                tombstone(shard, keys, now=NOW, undo=undo)


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


CREATED = "2026-11-03T08:00:00Z"


def _made(folder: Path, tombs: dict[str, Any], **changes: Any) -> Path:
    dated = Stored(b"a:b", b"one", meta={"created_at": CREATED})
    path = write(folder, "x.des", [dated, Stored(b"plain", b"two"), Stored(b"c", b"three", "zstd")])
    index = {
        "a:b:" + CREATED: {"uid": "a:b", "offset": 8, "length": 3, "codec": "none"},
        "plain": {"uid": "plain", "checksum": hashlib.sha256(b"two").hexdigest(), "checksum_algo": "sha256"},
        "c": {"uid": "c", "is_bigfile": False},
    }
    tree = {"version": 1, "shard_file": "x.des", "shard_size": path.stat().st_size, "index": index, "tombstones": tombs}
    (folder / "x.meta").write_text(json.dumps(tree | changes))
    return path


def _tomb(uid: str, created_at: str | None = None) -> dict[str, Any]:
    return {"uid": uid, "created_at": created_at, "deleted_by": "alice", "reason": "GDPR"}


@pytest.mark.parametrize(
    ("tombs", "gone"),
    [
        ({}, []),
        ({f"a:b:{CREATED}": _tomb("a:b", CREATED)}, ["a:b"]),
        ({f"a:b:{CREATED}": _tomb("a:b", "2026-11-03T09:00:00+01:00")}, ["a:b"]),
        ({"a:b:2020-01-01T00:00:00Z": _tomb("a:b", "2020-01-01T00:00:00Z")}, []),
        ({"a:b": _tomb("a:b")}, ["a:b"]),
        ({"plain": {}}, ["plain"]),
        ({"plain": _tomb("plain", CREATED)}, ["plain"]),
        ({"other": _tomb("other")}, []),
        ({"x": _tomb("c"), "y": _tomb("plain")}, ["c", "plain"]),
    ],
)
def test_what_is_deleted(tmp_path: Path, tombs: dict[str, Any], gone: list[str]) -> None:
    """A tombstone covers its uid, unless both have times and these differ."""
    with shardcore.open(_made(tmp_path, tombs)) as opened:
        refs = list(opened.objects)
        assert [ref.state for ref in refs] == opened.objects[:].state.tolist()
        assert sorted(ref.key for ref in refs if ref.state is State.TOMBSTONED) == gone


def test_deleted_data_is_refused_everywhere(tmp_path: Path) -> None:
    path = _made(tmp_path, {"c": _tomb("c")})
    with shardcore.open(path) as opened:
        ref = opened.find("c")
        place = ref.spans[0]
        opened.load_index()
        assert opened.explain(place.start)[-1].decoded == ""
        for read in (
            lambda: opened.read(ref),
            lambda: opened.read_range(ref, 0, 1),
            lambda: opened.bytes_of(f"@{place.start}-{place.stop}"),
        ):
            with pytest.raises(UsageError, match="'c' was deleted"):
                read()
    with shardcore.open(path, deleted=True) as opened:
        assert opened.read(opened.find("c")) == b"three"
        assert opened.find("c").state is State.TOMBSTONED
        assert opened.find("c").extras["tombstone"] == {"deleted_by": "alice", "reason": "GDPR"}


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"version": 2}', '{"version": 1, "index": []}', '{"version": 1, "tombstones": {"a": 1}}'),
        *("[" * 99999, "link", "folder", "large"),
    ],
)
def test_a_damaged_sidecar_permits_nothing(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the deletions are unknown, nothing is read without `deleted=True`."""
    path, sidecar = _made(tmp_path, {}), tmp_path / "x.meta"
    if text == "large":
        monkeypatch.setattr(module, "MAX_SIDECAR", 10)
    elif text in ("link", "folder"):
        sidecar.rename(tmp_path / "y.meta")
        sidecar.symlink_to(tmp_path / "y.meta") if text == "link" else sidecar.mkdir()
    else:
        sidecar.write_text(text)
    with shardcore.open(path) as opened:
        assert len(opened.objects[:]) == 3
        with pytest.raises((FormatError, SourceError), match="unknown whether the object is deleted"):
            opened.read(opened.find("plain"))
        assert "des.sidecar" in [f.code for f in opened.verify("index").findings]
        assert opened.trace("plain").outcome == "found"
    with shardcore.open(path, deleted=True) as opened:
        assert opened.read(opened.find("plain")) == b"two"


def test_sidecars_of_several_shards_are_read_at_the_same_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = folder.glob("*.des")
    both, read = threading.Barrier(2), reading.read_sidecar

    def together(source: Source) -> tuple[module.Sidecar | None, ShardError | None]:
        both.wait(timeout=30)
        return read(source)

    monkeypatch.setattr(reading, "read_sidecar", together)
    with shardcore.open(path) as one, shardcore.open(path) as two, ThreadPoolExecutor(2) as threads:
        rows = threads.map(lambda shard: shard.file.tombstoned.tolist(), (one, two))
        assert [*rows] == [one.file.tombstoned.tolist()] * 2


def test_verification_against_the_sidecar(tmp_path: Path) -> None:
    path = _made(tmp_path, {f"plain:{CREATED}": _tomb("plain", CREATED)})
    with shardcore.open(path) as opened:
        assert [(f.severity.value, f.code) for f in opened.verify().findings] == [("note", "des.tombstones")]
    index = {
        "a:b:" + CREATED: {"offset": 9, "codec": "zstd"},
        "plain": {"checksum": "0" * 64, "checksum_algo": "sha256"},
        "more": {},
    }
    path = _made(tmp_path, {}, shard_size=1, shard_file="z.des", index=index)
    with shardcore.open(path) as opened:
        found = [(f.code, f.key) for f in opened.verify().findings]
        message = next(f.message for f in opened.verify().findings if f.code == "des.sidecar-entry")
    assert found == [
        ("des.sidecar-shard", None),
        ("des.sidecar-shard", None),
        ("des.sidecar-entry", "a:b"),
        ("des.sidecar-missing", "c"),
        ("des.sidecar-extra", None),
        ("des.checksum", "plain"),
    ]
    assert message.endswith("offset, codec")
