"""Recovering objects of a damaged file into a folder."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from shardcore.operations.recover import REPORT
from shardcore.teaching import resource_paths
from shardscope.session.session import Session
from shardscope.tasks.recover import RecoverTask
from tests.app.conftest import open_in


def test_objects_never_go_among_other_files(qtbot: QtBot, session: Session, tmp_path: Path) -> None:
    """A folder that is not empty gets a new folder, another one each time."""
    window = QWidget()
    qtbot.addWidget(window)
    open_in(session, qtbot, resource_paths.resources() / "samples" / "swh" / "damaged.shard")
    task = RecoverTask(session, window)
    for name in ("", "damaged-recovered", "damaged-recovered-2"):
        sheet = task.ask()
        qtbot.waitUntil(sheet.take.isEnabled)
        sheet.take.click()
        dialog = sheet.findChild(QFileDialog)
        dialog.fileSelected.emit(str(tmp_path))
        dialog.reject()
        report = tmp_path / name / REPORT
        qtbot.waitUntil(lambda report=report: report.exists() and not session.jobs.open_jobs)
        assert len(list(report.parent.glob("[0-9a-f]*"))) >= 12
        sheet.reject()
