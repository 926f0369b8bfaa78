"""Recovering objects of a damaged file into a folder."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from shardcore.operations.recover import REPORT, Salvage
from shardcore.teaching import resource_paths
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.tasks.recover import RecoverTask
from tests.app.conftest import open_in, visible


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


def test_a_search_goes_on_in_the_background_while_another_tab_is_shown(
    qtbot: QtBot, session: Session, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, salvage = threading.Event(), OpenRequest.salvage

    def held(*given: Any, **named: Any) -> Salvage:
        given[2](3 << 31, 5 << 31)  # more than the range of a progress bar
        assert gate.wait(60)
        return salvage(*given, **named)

    monkeypatch.setattr(OpenRequest, "salvage", held)
    open_in(session, qtbot, resource_paths.resources() / "samples" / "swh" / "damaged.shard")
    task = RecoverTask(session, visible(qtbot, QWidget()))
    sheet = task.ask()
    qtbot.waitUntil(lambda: sheet.progress.value() == 600)
    sheet.hide_button.click()
    with qtbot.waitSignal(session.opened):
        session.open_tab(OpenRequest(str(data / "swh" / "small.shard")))
    gate.set()
    qtbot.waitUntil(lambda: sheet.job.state.ended and not sheet.is_closed)
    sheet.job.show()
    qtbot.waitUntil(lambda: bool(sheet.model.things))
    assert sheet.isVisible()
    session.close()
    assert sheet.is_closed
