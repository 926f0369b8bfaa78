"""Promises of the sidecar: tombstones hide, checksums are compared, damage is not taken for permission."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.errors import FormatError, SourceError, UsageError
from shardcore.formats.des import sidecar as module
from shardcore.formats.des.sidecar import entry_key
from shardcore.model.objects import State
from tests.shardcore.formats.des.made import Stored, write

WHEN = "2026-11-03T08:00:00Z"


def _made(folder: Path, tombs: dict[str, Any], **changes: Any) -> Path:
    dated = Stored(b"a:b", b"one", meta={"created_at": WHEN})
    path = write(folder, "x.des", [dated, Stored(b"plain", b"two"), Stored(b"c", b"three", "zstd")])
    index = {
        "a:b:" + WHEN: {"uid": "a:b", "offset": 8, "length": 3, "codec": "none"},
        "plain": {"uid": "plain", "checksum": hashlib.sha256(b"two").hexdigest(), "checksum_algo": "sha256"},
        "c": {"uid": "c", "is_bigfile": False},
    }
    tree = {"version": 1, "shard_file": "x.des", "shard_size": path.stat().st_size, "index": index, "tombstones": tombs}
    (folder / "x.meta").write_text(json.dumps(tree | changes))
    return path


def _tomb(uid: str, created_at: str | None = None) -> dict[str, Any]:
    return {"uid": uid, "created_at": created_at, "deleted_by": "alice", "reason": "GDPR"}


def _states(path: Path) -> dict[str | None, State]:
    with shardcore.open(path) as opened:
        columns = opened.objects[:]
        refs = [opened.objects.ref(row) for row in range(len(columns))]
        assert [ref.state for ref in refs] == columns.state.tolist()
        return {ref.key: ref.state for ref in refs}


@pytest.mark.parametrize(
    ("tombs", "gone"),
    [
        ({}, []),
        ({f"a:b:{WHEN}": _tomb("a:b", WHEN)}, ["a:b"]),
        ({f"a:b:{WHEN}": _tomb("a:b", "2026-11-03T09:00:00+01:00")}, ["a:b"]),
        ({"a:b:2020-01-01T00:00:00Z": _tomb("a:b", "2020-01-01T00:00:00Z")}, []),
        ({"a:b": _tomb("a:b")}, ["a:b"]),
        ({"plain": {}}, ["plain"]),
        ({"plain": _tomb("plain", WHEN)}, ["plain"]),
        ({"other": _tomb("other")}, []),
        ({"x": _tomb("c"), "y": _tomb("plain")}, ["c", "plain"]),
    ],
)
def test_what_is_deleted(tmp_path: Path, tombs: dict[str, Any], gone: list[str]) -> None:
    """A tombstone covers its uid, unless both have times and these differ."""
    states = _states(_made(tmp_path, tombs))
    assert sorted(str(key) for key, state in states.items() if state is State.TOMBSTONED) == gone


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
        "",
        "[]",
        "{",
        '{"version": 2}',
        '{"version": 1, "index": []}',
        '{"version": 1, "tombstones": {"a": 1}}',
        "[" * 99999,
    ],
)
def test_a_damaged_sidecar_permits_nothing(tmp_path: Path, text: str) -> None:
    """Where the deletions are unknown, nothing is read without `deleted=True`."""
    path = _made(tmp_path, {})
    (tmp_path / "x.meta").write_text(text)
    with shardcore.open(path) as opened:
        assert len(opened.objects[:]) == 3
        with pytest.raises(FormatError, match="deletions are unknown"):
            opened.read(opened.find("plain"))
        assert "des.sidecar" in [f.code for f in opened.verify("index").findings]
        assert opened.trace("plain").outcome == "found"
    with shardcore.open(path, deleted=True) as opened:
        assert opened.read(opened.find("plain")) == b"two"


@pytest.mark.parametrize("what", ["link", "folder", "large"])
def test_a_sidecar_that_cannot_be_read_permits_nothing(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _made(tmp_path, {"plain": _tomb("plain")})
    place = tmp_path / "x.meta"
    if what == "large":
        monkeypatch.setattr(module, "MAX_SIDECAR", 10)
    elif what == "link":
        place.rename(tmp_path / "y.meta")
        place.symlink_to(tmp_path / "y.meta")
    else:
        place.unlink()
        place.mkdir()
    with shardcore.open(path) as opened:
        assert len(opened.objects[:]) == 3
        with pytest.raises(FormatError if what == "large" else SourceError, match="deletions are unknown"):
            opened.read(opened.find("c"))
        assert not opened.verify("index").ok


def test_keys_of_entries() -> None:
    assert entry_key("a", "2026-11-03T09:00:00+01:00") == "a:2026-11-03T08:00:00Z"
    assert entry_key("a", "") == entry_key("a", "yesterday") == "a"


def test_the_sidecar_is_a_source(tmp_path: Path) -> None:
    with shardcore.open(_made(tmp_path, {})) as opened, opened.bytes_of("x.meta") as source:
        assert json.loads(source.read(0, source.size))["version"] == 1


def test_verification_against_the_sidecar(tmp_path: Path) -> None:
    path = _made(tmp_path, {f"plain:{WHEN}": _tomb("plain", WHEN)})
    with shardcore.open(path) as opened:
        assert [(f.severity.value, f.code) for f in opened.verify().findings] == [("note", "des.tombstones")]
    index = {
        "a:b:" + WHEN: {"offset": 9, "codec": "zstd"},
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
