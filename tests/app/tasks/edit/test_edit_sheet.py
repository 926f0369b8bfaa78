"""The sheet of an edit: it fits the window, and shows every change that can be made."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.tasks.edit.dialog import LEAST
from tests.app.tasks.edit.test_in_the_window import CASES, SWH, apply, sheet_of, show


@pytest.mark.thorough
def test_the_sheet_fits_the_smallest_window(window: MainWindow, tmp_path: Path) -> None:
    """It is never larger than the window; what has no room in it scrolls, and the buttons are always seen."""
    path = SWH.copied(tmp_path / "a")
    before = window.size()
    window.resize(640, 420)
    show(window, path, rows=SWH.rows)
    sheet = sheet_of(window, "delete")
    assert sheet.width() <= window.width()
    assert sheet.height() <= window.height()
    for height in (sheet.height(), 240):
        sheet.resize(sheet.width(), height)
        settle(window, 20)
        assert sheet.height() == height
        assert sheet.rect().contains(sheet.apply.geometry().translated(sheet.buttons.pos()))
        assert sheet.table.height() >= sheet.table.minimumHeight()
        sheet.area.ensureWidgetVisible(sheet.kept)
        seen = sheet.kept.visibleRegion().boundingRect()
        assert seen.height() == sheet.kept.height()
    sheet.reject()
    folder = tmp_path / "samples"
    shutil.copytree(Path(__file__).parents[3] / "data/des/sidecar", folder)
    show(window, next(folder.glob("*.des")), rows=(0,))
    sheet = sheet_of(window, "tombstone")
    sheet.resize(LEAST, 240)
    settle(window, 20)
    assert all(line.height() >= line.sizeHint().height() for line in sheet.fields.values())
    assert sheet.area.verticalScrollBar().maximum() > 0
    assert sheet.table.geometry().bottom() < sheet.total.geometry().top(), "parts lie over each other"
    sheet.reject()
    window.resize(before)


def test_an_append_that_rewrites_is_shown_and_made(window: MainWindow, tmp_path: Path) -> None:
    """With too few spare slots all chunks are written anew; those beyond the old end are shown, too."""
    case = next(case for case in CASES if case.verb == "append")
    path = case.copied(tmp_path / "a")
    (path.parent / "more").write_bytes(b"many chunks of it, " * 2000)
    show(window, path)
    sheet = sheet_of(window, "append", path=path.parent / "more")
    assert "by rewriting all chunks" in sheet.title.text()
    assert sheet.apply.isEnabled()
    beyond = [row for row in sheet.model.things if row.start >= path.stat().st_size]
    assert beyond
    assert all(not row.old for row in beyond)
    apply(window, sheet)
    assert "was changed" in window.notices.text
