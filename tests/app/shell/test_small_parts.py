"""The small parts: findings, transfers, the message bar, the welcome page."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from PySide6 import QtWidgets
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore import Depth, ShardError, Span
from shardcore.shards.registry import FORMATS
from shardscope.session.jobs import Job, JobState, Rate
from shardscope.session.session import Session
from shardscope.shell.welcome import Welcome
from shardscope.startup.settings import Settings
from shardscope.views.activity import JobDialog, JobList
from shardscope.views.findings import FindingsTable
from shardscope.widgets.table import ColumnWidth, share_width
from tests.app.conftest import open_in, visible


@pytest.fixture
def findings(qtbot: QtBot, session: Session) -> FindingsTable:
    made = FindingsTable(session)
    qtbot.addWidget(made)
    made.resize(900, 300)
    made.show()
    return made


@pytest.mark.parametrize("depth", list(Depth))
def test_a_sound_shard_has_no_findings(
    qtbot: QtBot, session: Session, findings: FindingsTable, data: Path, depth: Depth
) -> None:
    open_in(session, qtbot, data / "swh" / "small.shard")
    findings.buttons[depth].click()
    assert findings.state.text == "Running …"
    assert not findings.buttons[depth].isEnabled()
    qtbot.waitUntil(lambda: "No errors found." in findings.state.text)
    whole = depth is Depth.CONTENT
    told = "12 objects compared with their checksums." if whole else f"not read (depth {depth.value})."
    assert findings.state.text.endswith(told)
    assert findings.state.text.startswith("✔") == whole
    assert not findings.stop.isVisible()


def test_findings_are_listed_and_lead_to_their_bytes(
    qtbot: QtBot, session: Session, findings: FindingsTable, data: Path, tmp_path: Path
) -> None:
    content = bytearray((data / "swh" / "small.shard").read_bytes())
    content[580] ^= 1
    path = tmp_path / "damaged.shard"
    path.write_bytes(content)
    open_in(session, qtbot, path)
    findings.buttons[Depth.CONTENT].click()
    qtbot.waitUntil(lambda: findings.model.rowCount() == 1)
    assert findings.state.text.startswith("1 error found. 12 objects")
    findings.table.clicked.emit(findings.model.index(0, 0))
    assert session.selection.span == Span("", 571, 603)
    assert "0x23b–0x25a · 32 bytes" in findings.detail.text()
    open_in(session, qtbot, data / "swh" / "one.shard")
    assert findings.state.text == "Not verified yet"


def test_a_verification_can_be_stopped(qtbot: QtBot, session: Session, findings: FindingsTable, data: Path) -> None:
    open_in(session, qtbot, data / "swh" / "medium.shard")
    findings.buttons[Depth.CONTENT].click()
    findings.stop.click()
    qtbot.waitUntil(lambda: findings.state.text == "Not verified yet")
    assert findings.buttons[Depth.CONTENT].isEnabled()


def test_transfers_cancel_and_clear(qtbot: QtBot, session: Session) -> None:
    """Jobs that run can be cancelled from the list; those that ended can be cleared away."""
    made = JobList(session)
    qtbot.addWidget(made)
    made.show()
    gate = threading.Event()

    def work(job: Job) -> None:
        while not gate.wait(0.002):
            job.progress(1, 4)

    jobs = session.jobs
    first = jobs.submit(work, title="One")
    second = jobs.submit(work, title="Two")
    qtbot.waitUntil(lambda: first.state is JobState.RUNNING and second.state is JobState.RUNNING)
    assert made.summary.text() == "2 running, 0 finished"
    made.table.selectRow(0)
    QTest.keyClick(made.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: second.state is JobState.CANCELLED)
    assert first.state is JobState.RUNNING
    made.table.clearSelection()
    made.cancel_button.click()
    qtbot.waitUntil(lambda: made.summary.text() == "0 running, 2 finished")
    made.clear_button.click()
    assert made.summary.text() == "No activity yet"
    gate.set()


def test_a_job_is_found_again_with_its_result(qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    made = visible(qtbot, JobList(session))
    gate = threading.Event()
    monkeypatch.setattr(Rate, "now", lambda *_: 2 << 20)

    def work(job: Job) -> None:
        job.started -= 1
        while not gate.wait(0.002):
            job.progress(1 << 20, 85 << 20)
        raise ShardError("no more")

    job = session.jobs.submit(work, title="One", done=lambda *_: None)
    job.unit, job.details = "byte", "key: reason"
    qtbot.waitUntil(lambda: made.model.index(0, 4).data() == "2.0 MiB/s · 0:42 left")
    made.table.selectRow(0)
    QTest.keyClick(made.table, Qt.Key.Key_Return)
    dialog = made.findChild(JobDialog)
    assert dialog.progress.state.text() == "2.0 MiB/s · 0:42 left"
    assert dialog.progress.bar.value() == 1000 // 85
    dialog.progress.hide_button.click()
    assert not job.state.ended
    dialog = made.show_job(job)
    gate.set()
    qtbot.waitUntil(lambda: dialog.outcome is not None)
    dialog.outcome.button.click()
    again = made.show_job(job)
    assert again.outcome.verified.text.startswith("✖ failed")
    assert again.outcome.text.text == "no more\nkey: reason"
    again.reject()


def test_columns_share_the_room() -> None:
    """What is left goes to texts that are cut, then to the stretched one; in a small room none goes below its least."""
    columns = [ColumnWidth(50, 50), ColumnWidth(500, 100), ColumnWidth(80, 80)]
    assert [share_width(columns, 1, room) for room in (1000, 400, 150)] == [[50, 870, 80], [50, 270, 80], [50, 100, 80]]


def test_the_welcome_page(qtbot: QtBot, tmp_path: Path) -> None:
    """Samples and recent files are offered; the recent list is not shown while it is empty."""
    settings = Settings(tmp_path / "s.json")
    page = Welcome(settings)
    qtbot.addWidget(page)
    page.resize(1000, 600)
    page.wait_for_file()
    with qtbot.waitSignal(page.created):
        page.show()
    assert not page.recent.isVisible()
    settings.add_recent("/data/somewhere/last.shard")
    page.refresh()
    QtWidgets.QApplication.processEvents()
    assert page.recent.isVisible()
    with qtbot.waitSignal(page.chosen) as caught:
        QTest.keyClick(page.recent, Qt.Key.Key_Return)
    assert caught.args == ["/data/somewhere/last.shard"]
    with qtbot.waitSignal(page.chosen) as caught:
        QTest.mouseClick(page.samples.cards[0], Qt.MouseButton.LeftButton)
    assert Path(caught.args[0]).name == "small.shard"
    with qtbot.waitSignal(page.samples.learn_requested) as caught:
        QTest.mouseClick(page.samples.cards[1].learn, Qt.MouseButton.LeftButton)
    assert Path(caught.args[0]).parts[-2:] == ("mdb", "cache")
    assert {card.sample.format for card in page.samples.cards} == set(FORMATS)
    with qtbot.waitSignal(page.chosen) as caught:
        page.samples.cards[0].more.menu().actions()[0].trigger()
    assert Path(caught.args[0]).name == "damaged.shard"
