"""Why a file may not be changed; edits that are stopped or fail half-way are put back, or come to their end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import shardcore
from shardcore import Cancelled
from shardcore.errors import SourceError
from shardcore.writing import undo
from shardcore.writing.declaration import DELETE
from shardcore.writing.in_place import Edit, make_changes
from shardcore.writing.journal import journal_of
from shardscope.tasks.edit.edit_preview import EditRequest, propose
from shardscope.tasks.edit.edit_switch import edit_permission

DATA = Path(__file__).parents[3] / "data"
SMALL = DATA / "swh" / "small.shard"


@pytest.mark.parametrize(
    ("what", "uri", "words"),
    [
        (str(DATA / "neuroglancer" / "tiny_worked_example"), "", "cannot be changed in place"),
        (str(DATA / "xorb" / "lz4.xorb"), "", "cannot be changed in place"),
        (SMALL.read_bytes(), "", "part of another file"),
        (str(SMALL), "https://example.org/small.shard", "Remote files"),
        (str(DATA / "bloscpack" / "files"), "", "open one of its files"),
        (str(SMALL), "", "Samples"),
        (str(DATA / "swh" / "medium.shard"), "", ""),
        (str(DATA / "des" / "sidecar"), "", ""),
    ],
)
def test_why_nothing_may_be_changed(what: str | bytes, uri: str, words: str) -> None:
    with shardcore.open(what) as shard:
        found = edit_permission(shard, uri or (what if isinstance(what, str) else "memory"), [SMALL])
    assert words in found.why_not
    assert bool(words) == bool(found.why_not)


def test_damage_and_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.shard"
    path.write_bytes(SMALL.read_bytes()[:600])
    with shardcore.open(path, partial=True) as shard:
        assert "damaged" in edit_permission(shard, str(path)).why_not
    shutil.copy(SMALL, path)
    with shardcore.open(path) as shard:
        monkeypatch.setattr(os, "access", lambda where, mode: where != path)
        assert "a.shard" in edit_permission(shard, str(path)).why_not
        monkeypatch.setattr(os, "access", lambda where, mode: where == path)
        assert str(tmp_path) in edit_permission(shard, str(path)).why_not


KEY = "9d0c38e7aafe062c3a6dfc561e42771ec997d9359bb3d417ac4775a303292964"


def stopping(done: int, total: int) -> None:
    """A progress of somebody who wants to stop."""
    raise Cancelled


def test_a_stopped_edit_is_put_back(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATA / "swh" / "small.shard", tmp_path))
    before = path.read_bytes()
    with shardcore.open(path) as shard:
        proposal = propose(shard, EditRequest(DELETE, (KEY,)))
        with pytest.raises(Cancelled):
            proposal.make(True, stopping)
    assert path.read_bytes() == before
    assert not journal_of(path).exists()


def test_a_failed_edit_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(shutil.copy(DATA / "swh" / "small.shard", tmp_path))
    before = path.read_bytes()

    def failing(edit: Edit, progress: object) -> None:
        make_changes(edit)
        raise SourceError("cannot write: no space left")

    monkeypatch.setattr(undo, "make_changes", failing)
    with shardcore.open(path) as shard, pytest.raises(SourceError, match="no space"):
        propose(shard, EditRequest(DELETE, (KEY,))).make(True, lambda done, total: None)
    assert path.read_bytes() == before
    assert not undo.interrupted(path)


def test_a_takedown_is_not_stopped(tmp_path: Path) -> None:
    """Without an undo file nothing could be restored: the edit runs to its end."""
    path = Path(shutil.copy(DATA / "swh" / "small.shard", tmp_path))
    with shardcore.open(path) as shard:
        propose(shard, EditRequest(DELETE, (KEY,))).make(False, stopping)
    with shardcore.open(path) as shard:
        assert shard.trace(KEY).outcome == "absent"
    assert not journal_of(path).exists()
