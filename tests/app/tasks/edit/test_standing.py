"""Why a file may not be changed, in one sentence each; and the new bytes in the cells of the hex view."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardscope.session.proposed_bytes import Proposed, ProposedRange, about
from shardscope.tasks.edit.permitted import standing
from shardscope.views.hex.cells import NO_RUN, ByteCells, CellState
from shardscope.views.hex.proposed import with_new

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
    """Formats without edits, bytes in memory, files elsewhere, whole data sets and samples: each has its reason."""
    with shardcore.open(what) as shard:
        found = standing(shard, uri or (what if isinstance(what, str) else "memory"), [SMALL])
    assert words in found.why_not
    assert bool(words) == bool(found.why_not)


def test_damage_and_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is damaged is not changed; without the permission to write, the sentence names the file or the folder."""
    path = tmp_path / "a.shard"
    path.write_bytes(SMALL.read_bytes()[:600])
    with shardcore.open(path, partial=True) as shard:
        assert "damaged" in standing(shard, str(path)).why_not
    shutil.copy(SMALL, path)
    with shardcore.open(path) as shard:
        monkeypatch.setattr(os, "access", lambda where, mode: where != path)
        assert "a.shard" in standing(shard, str(path)).why_not
        monkeypatch.setattr(os, "access", lambda where, mode: where == path)
        assert str(tmp_path) in standing(shard, str(path)).why_not


def cells() -> ByteCells:
    """Two rows of eight bytes; the last two cells are after the end."""
    state = np.full((2, 8), CellState.LOADED, np.uint8)
    state[1, 6:] = CellState.BLANK
    data = np.arange(16, dtype=np.uint8).reshape(2, 8)
    none = np.zeros((2, 8), np.uint16)
    return ByteCells(16, data, state, none, none.astype(np.uint8), NO_RUN, True, ())


def test_new_bytes_take_the_place_of_old_ones() -> None:
    """Bytes, zeros, a cut, and new bytes of which only the first are known; without the wish all stays as it is."""
    stretches = [
        ProposedRange(10, 18, b"abcdefgh"),
        ProposedRange(19, 21, zeros=True),
        ProposedRange(22, 26, b"xy"),
        ProposedRange(28, 30, None),
    ]
    proposed = Proposed.of("", stretches)
    old = cells()
    assert with_new(old, None) is old
    assert with_new(old, proposed) is old
    found = with_new(old, Proposed("", proposed.stretches, shows_new=True))
    assert found.data.ravel().tolist() == [*b"gh", 2, 0, 0, 5, *b"xy", 8, 9, 10, 11, 0, 0, 14, 15]
    states = found.state.ravel().tolist()
    assert states == [1] * 8 + [CellState.MISSING] * 2 + [1, 1] + [CellState.BLANK] * 4
    assert old.data.ravel().tolist() == list(range(16))
    new = Proposed("", proposed.stretches, shows_new=True).seen(16, bytes(range(8)))
    assert (proposed.seen(16, b"ab"), new) == (b"ab", bytes([*b"gh", 2, 0, 0, 5, *b"xy"]))
    assert proposed.marks(0, 20) == [(10, 18), (19, 21)]
    assert Proposed("", (), (), ((3, 9),), shows_new=True).marks(8, 20) == ((3, 9),)
    assert about(proposed, "other") is None
