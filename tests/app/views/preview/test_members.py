"""Members of archives in the preview: shown in place of the list, or opened in a tab of their own."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from shardscope.session.session import Session
from shardscope.views.preview.rows_view import RowsView
from shardscope.views.preview.text_view import TextView
from tests.app.views.preview.preview_rig import PreviewRig

TEXT = "".join(f"line {number}\n" for number in range(40))


@pytest.fixture
def rig(session: Session, qtbot: QtBot, tmp_path: Path) -> PreviewRig:
    """A zip archive with a stored and a compressed text, and an array."""
    stream, array = io.BytesIO(), io.BytesIO()
    np.save(array, np.arange(6))
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("packed.txt", TEXT)
        archive.writestr("stored.txt", TEXT, zipfile.ZIP_STORED)
        archive.writestr("a.npy", array.getvalue())
    return PreviewRig(session, qtbot, tmp_path, {"x.zip": stream.getvalue()})


def opened(rig: PreviewRig, row: int) -> TextView:
    """Open a member; returns its text."""
    table = rig.view(RowsView).table
    table.activated.emit(table.model().index(row, 0))
    rig.qtbot.waitUntil(lambda: isinstance(rig.panel.view, TextView))
    return rig.view(TextView)


def test_a_text_is_shown_in_place(rig: PreviewRig) -> None:
    view = opened(rig, 0)
    assert view.lines.toPlainText() == TEXT
    assert rig.panel.title.text().startswith("x.zip · packed.txt")
    rig.panel.back.click()
    assert isinstance(rig.panel.view, RowsView)


def test_lines_of_a_stored_member_have_their_bytes(rig: PreviewRig) -> None:
    view = opened(rig, 1)
    view.lines.chosen.emit(3)
    assert rig.selected() == b"line 3\n"
    span = rig.session.selection.span
    rig.session.select_span(type(span)(span.source, span.start + 7, span.start + 8))
    rig.qtbot.waitUntil(lambda: bool(view.lines._marked))
    assert view.lines.document().findBlock(view.lines._marked[0]).blockNumber() == 4


def test_a_member_is_saved(rig: PreviewRig, tmp_path: Path) -> None:
    opened(rig, 0)
    assert rig.panel._proposed() == "packed.txt"
    rig.panel.save_to(tmp_path / "out.txt")
    rig.qtbot.waitUntil((tmp_path / "out.txt").exists)
    assert (tmp_path / "out.txt").read_text() == TEXT


def test_an_array_opens_in_a_tab(rig: PreviewRig) -> None:
    table = rig.view(RowsView).table
    with rig.qtbot.waitSignal(rig.session.tab_wanted) as wanted:
        table.activated.emit(table.model().index(2, 0))
    assert wanted.args[0].inside == ("x.zip", "a.npy")
