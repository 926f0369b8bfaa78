"""The models of findings and of jobs."""

from __future__ import annotations

import threading

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from pytestqt.qtbot import QtBot

from shardcore import Depth, Finding, Report, Severity, Span
from shardscope.session.jobs import Job, Jobs, JobState
from shardscope.session.session import Session
from shardscope.views.activity import TransferModel, percent
from shardscope.views.findings import FindingsTable
from shardscope.widgets.table import THING_ROLE
from tests.app.conftest import visible

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


def test_findings_are_listed_the_worst_first(qtbot: QtBot, session: Session) -> None:
    findings = (
        Finding(Severity.NOTE, "x.note", None, "worth knowing"),
        Finding(Severity.ERROR, "x.error", Span("", 3, 9), "wrong", "k1"),
        Finding(Severity.WARNING, "x.warning", Span("@1-2", 0, 1), "odd"),
    )
    model = visible(qtbot, FindingsTable(session), 700, 300).model
    QAbstractItemModelTester(model, FATAL)
    session.verification.changed.emit(Report(Depth.INDEX, 5, findings))
    assert [model.index(row, 0).data() for row in range(3)] == ["error", "warning", "note"]
    assert [model.index(0, column).data() for column in range(1, 5)] == ["wrong", "0x3–0x8 · 6 bytes", "x.error", "k1"]
    assert model.index(1, 0).data(THING_ROLE) is findings[2]
    session.verification.changed.emit(None)
    assert model.rowCount() == 0


def test_a_table_is_sorted_by_its_headers(qtbot: QtBot, session: Session) -> None:
    """A selected finding stays selected, and a third click restores the order."""
    findings = tuple(Finding(Severity.ERROR, "x.error", Span("", at, at + 1), f"at {at}") for at in (30, 10, 20))
    panel = visible(qtbot, FindingsTable(session), 700, 300)
    QAbstractItemModelTester(panel.model, FATAL)
    session.verification.changed.emit(Report(Depth.INDEX, 3, findings))
    panel.table.setCurrentIndex(panel.model.index(0, 0))
    header, shown = panel.table.horizontalHeader(), []
    for _ in range(3):
        place = header.sectionViewportPosition(2) + 10
        QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place, 8))
        shown.append([finding.span.start for finding in panel.model.things])
        (row,) = panel.table.selectionModel().selectedRows()
        assert panel.model.things[row.row()] is findings[0]
    assert shown == [[10, 20, 30], [30, 20, 10], [30, 10, 20]]


def test_jobs_with_a_title_are_listed(qtbot: QtBot, jobs: Jobs) -> None:
    model = TransferModel(jobs)
    QAbstractItemModelTester(model, FATAL)
    gate = threading.Event()

    def work(job: Job) -> None:
        job.progress(30, 120)
        while not gate.wait(0.002):
            job.check()

    jobs.submit(lambda _: None)
    jobs.submit(lambda _: 1 // 0, title="Fails")
    long = jobs.submit(work, title="Takes long")
    qtbot.waitUntil(lambda: percent(long) == 25)
    qtbot.waitUntil(lambda: model.index(1, 1).data() == "failed")
    assert [model.index(row, 0).data() for row in range(model.rowCount())] == ["Takes long", "Fails"]
    assert model.index(0, 2).data() == "25 %"
    assert "division" in model.index(1, 4).data(Qt.ItemDataRole.DisplayRole)
    assert model.running == 1
    gate.set()
    qtbot.waitUntil(lambda: model.index(0, 1).data() == "done")
    assert model.index(0, 2).data() == "100 %"
    model.clear_ended()
    assert model.rowCount() == 0
    assert long.state is JobState.DONE
