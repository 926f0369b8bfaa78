"""Where an error has a remedy, one button does it; what is read from a lost server is shown, and tried again."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Depth, RemoteOptions, State
from shardcore.sources.remote import session as remote
from shardscope.learning.charts.chart_pages import ChartData, ChartPages
from shardscope.session.display_text import ACTIONS
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import IndexState, Session
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.tasks.recover import RecoverTask
from shardscope.views.findings import FindingsTable
from tests.app.conftest import extract_to
from tests.remote.faults import Drop, FaultProxy, after
from tests.remote.servers import RangeServer, StoreServer


def show(window: MainWindow, path: Path, row: int) -> None:
    window.open(str(path))
    settle(window, 60)
    window.objects.table.follow(row)
    window.session.select_row(row)
    settle(window, 60)


def choose_folder(window: MainWindow, folder: Path) -> None:
    (dialog,) = window.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(folder))
    dialog.reject()
    settle(window, 60)


@pytest.mark.thorough
def test_tombstoned_data_is_shown_by_one_button(window: MainWindow, data: Path) -> None:
    show(window, next((data / "des" / "sidecar").glob("*.des")), 1)
    window.objects.actions_.check_selected()
    settle(window, 60)
    assert "was deleted" in window.notices.text
    assert "deleted=True" not in window.notices.text
    assert window.notices.button.text() == "Show tombstoned data"
    span = window.session.selection.span
    window.notices.button.click()
    settle(window, 60)
    assert window.session.request.deleted
    assert window.session.selection.span == span
    assert window.notices.text == ""
    window.objects.table.follow(1)
    window.objects.actions_.check_selected()
    settle(window, 60)
    assert "readable" in window.notices.text


@pytest.mark.thorough
def test_a_missing_xorb_is_found_by_one_button(window: MainWindow, data: Path, tmp_path: Path) -> None:
    alone = next((data / "mdb" / "cas" / "shards").glob("*.mdb"))
    path = Path(shutil.copy(alone, tmp_path))
    show(window, path, 0)
    row = next(n for n in range(3) if window.session.shard and window.session.shard.objects.ref(n).size > 0)
    window.objects.table.follow(row)
    window.objects.actions_.check_selected()
    settle(window, 60)
    assert "missing xorb" in window.notices.text
    assert window.notices.button.text() == "Choose the xorb folder…"
    window.notices.button.click()
    choose_folder(window, data / "mdb" / "cas" / "xorbs")
    shard = window.session.shard
    assert shard.objects.ref(row).state is State.EXTERNAL
    assert len(shard.read(shard.objects.ref(row))) > 0


@pytest.mark.thorough
def test_what_was_not_extracted_offers_the_remedy(window: MainWindow, data: Path, tmp_path: Path) -> None:
    alone = next((data / "mdb" / "cas" / "shard-cache").glob("e74f*.mdb"))
    show(window, Path(shutil.copy(alone, tmp_path)), 1)
    extract_to(window.objects.actions_, tmp_path / "out")
    settle(window, 60)
    (mend,) = [button for button in window.notices.buttons if button.text() in ACTIONS.values()]
    mend.click()
    assert window.notices.text == ""
    choose_folder(window, tmp_path)
    assert dict(window.session.request.options) == {"xorbs": str(tmp_path)}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(remote, "LOST_FOR", 0.0)


@pytest.fixture
def proxy(session: Session, qtbot: QtBot, tmp_path: Path) -> Iterator[FaultProxy]:
    dice = random.Random(3)
    with shardcore.create(tmp_path / "a.des", format="des") as writer:
        for number in range(8):
            writer.add(f"key {number}", dice.randbytes(300_000))
    with RangeServer({"/a.des": tmp_path / "a.des"}) as server, FaultProxy(server.host) as made:
        with qtbot.waitSignal(session.opened):
            session.open(OpenRequest(f"{made.url}/a.des", remote=RemoteOptions()))
        qtbot.waitUntil(lambda: session.index.state is IndexState.LOADED and not session.jobs.open_jobs)
        yield made
        session.documents.close_all()


def lose(proxy: FaultProxy, requests: int) -> None:
    proxy.faults = [Drop(when=after(len(proxy.log.seen) + requests))]


def test_findings_of_a_lost_source(session: Session, proxy: FaultProxy, qtbot: QtBot) -> None:
    table = FindingsTable(session)
    qtbot.addWidget(table)
    table.show()
    session.costly.connect(lambda costly: costly.go())
    lose(proxy, 0)
    session.verification.start(Depth.CONTENT)
    qtbot.waitUntil(lambda: session.verification.report is not None)
    assert session.verification.report.findings == ()
    assert "of 8 objects" in session.verification.report.stopped_after
    assert table.state.text.startswith("Source unreachable. Stopped after")
    assert table.again.isVisible()
    proxy.faults = []
    table.again.click()
    qtbot.waitUntil(lambda: session.verification.report is not None and session.verification.report.ok)
    assert not table.again.isVisible()


@pytest.mark.thorough
def test_a_data_set_forgets_that_its_server_was_lost(session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    for number in range(4):
        with shardcore.create(tmp_path / f"{number}.des", format="des") as writer:
            writer.add(f"key {number}", random.Random(number).randbytes(600_000))
    told: list[BaseException | None] = []
    session.watch.trouble_changed.connect(told.append)
    session.costly.connect(lambda costly: costly.go())
    with StoreServer() as server, FaultProxy(server.host) as proxy:
        server.put_folder("/b/many", tmp_path)
        way = RemoteOptions(endpoint_url=proxy.url, anonymous=True, addressing="path")
        with qtbot.waitSignal(session.opened):
            session.open(OpenRequest("s3://b/many/", remote=way))
        session.index.load()
        qtbot.waitUntil(lambda: session.index.state is IndexState.LOADED and not session.jobs.open_jobs)
        lose(proxy, 0)
        session.verification.start(Depth.CONTENT)
        qtbot.waitUntil(lambda: session.verification.report is not None and session.document.trouble is not None)
        assert "the connection to the store broke while s3://b/many/" in str(session.document.trouble)
        proxy.faults = []
        session.verification.start(Depth.CONTENT)
        qtbot.waitUntil(lambda: session.verification.report is not None and session.verification.report.ok)
        assert (session.document.trouble, told[-1]) == (None, None)
        session.documents.close_all()


def test_recovering_from_a_lost_source(session: Session, proxy: FaultProxy, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    session.costly.connect(lambda costly: costly.go())
    lose(proxy, 1)
    sheet = RecoverTask(session, window).ask()
    qtbot.waitUntil(sheet.retry.isVisible)
    assert "unreachable" in sheet.title.text()
    found = sheet.model.rowCount()
    assert found < 8
    assert all("unverified" in sheet.model.index(row, 0).data() for row in range(found))
    proxy.faults = []
    sheet.retry.click()
    qtbot.waitUntil(sheet.take.isEnabled)
    assert (sheet.model.rowCount(), sheet.retry.isVisible()) == (8, False)
    sheet.reject()


def test_charts_of_a_lost_source(session: Session, proxy: FaultProxy, qtbot: QtBot) -> None:
    pages = ChartPages(session)
    qtbot.addWidget(pages)
    pages.resize(500, 400)
    pages.show()
    qtbot.waitUntil(lambda: pages.found is not None)
    pages._take(pages.kind, ChartData(why="connection refused", lost=True))
    assert pages.more.text() == "Retry"
    pages.more.click()
    qtbot.waitUntil(lambda: pages.found is not None and not pages.found.lost)
