"""The sheet of an edit: it fits the window, and shows every change that can be made."""

from __future__ import annotations

from pathlib import Path

from shardscope.shell.main_window import MainWindow
from tests.app.tasks.edit.test_in_the_window import CASES, apply, sheet_of, show


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
