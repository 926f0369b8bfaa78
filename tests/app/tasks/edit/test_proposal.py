"""Edits that are stopped or fail half-way: what was there is put back, or the edit comes to its end."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import shardcore
from shardcore import Cancelled
from shardcore.errors import SourceError
from shardcore.writing import undo
from shardcore.writing.edit_options import DELETE
from shardcore.writing.in_place import Edit, make_changes
from shardcore.writing.undo_chain import journal_of
from shardscope.tasks.edit.proposal import EditRequest, propose

DATA = Path(__file__).parents[3] / "data"
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
