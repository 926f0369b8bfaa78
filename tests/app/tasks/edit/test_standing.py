"""Why a file may not be changed, in one sentence each; and the new bytes in the cells of the hex view."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import shardcore
from shardscope.tasks.edit.permitted import edit_permission

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
