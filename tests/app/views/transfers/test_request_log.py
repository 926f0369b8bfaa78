"""The request log: totals and round trips; and the panel that lists the requests."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore import RequestLog, Span
from shardcore.sources.base import ReadPurpose
from shardcore.sources.remote.request_log import Request
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.activity import Transfers
from shardscope.views.request_log import (
    ANSWER,
    BYTES,
    PURPOSE,
    RANGE,
    RequestColumns,
    RequestLogModel,
    RequestTable,
    measured,
)
from tests.app.conftest import open_in, visible
from tests.remote.servers import RangeServer

WHERE = "https://example.org/a.shard"


def asked(at: float, wait: float, transfer: float = 0.0, size: int = 0, *, cached: bool = False) -> Request:
    """A request that went well."""
    code, purpose = 0 if cached else 206, ReadPurpose.INDEX
    return Request(at, "GET", WHERE, 0, size, purpose, size, wait, transfer, code, cached=cached)


def test_round_trips_wait_for_something_and_pauses_are_cut() -> None:
    """A request starts a new round trip when it began after the previous ones had ended.

    Time without requests counts neither as waiting nor as width.
    """
    columns = RequestColumns()
    # A head and a footer at once, a table after both, two objects after that; a pause of a minute before these.
    columns.extend([asked(0.0, 0.1, 0.0, 1000), asked(0.0, 0.1, 0.1, 40_000)])
    columns.extend([asked(0.2, 0.1, 0.0, 2000), asked(60.0, 0.0, cached=True)])
    columns.extend([asked(60.0, 0.2, 0.0, 3000), asked(60.1, 0.2, 0.1, 5000)])
    assert columns.rounds.tolist() == [1, 1, 2, 2, 3, 3]
    was = measured(columns)
    assert was.busy == pytest.approx(0.3 + 0.4)
    assert was.span == pytest.approx(0.3 + 0.02 + 0.4)
    assert was.begin.tolist() == pytest.approx([0, 0, 0.2, 0.32, 0.32, 0.42])


def test_hundred_thousand_requests(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the rows that are seen are read."""
    tape, model, rows, real = RequestLog(), RequestLogModel(), set[int](), RequestLogModel.data
    monkeypatch.setattr(RequestLogModel, "data", lambda self, at, *role: rows.add(at.row()) or real(self, at, *role))
    for number in range(100_000):
        tape.add(asked(number // 100 / 1000, 0.05, 0.001, 1000))
    model.set_request_log(tape)
    while model.take_new():
        pass
    assert model.rowCount() == 100_000
    table = RequestTable(model)
    qtbot.addWidget(table)
    table.setModel(model)
    table.resize(400, 300)
    table.grab()
    table.scrollToBottom()
    table.grab()
    assert 0 < len(rows) < 100
    tape.add(asked(101, 0.1))
    assert not model.take_new()


@pytest.fixture
def shown(qtbot: QtBot, session: Session, settings: Settings) -> Transfers:
    """The panel, as in the window."""
    return visible(qtbot, Transfers(session, settings), 420, 380)


def test_the_log_of_a_remote_shard(
    qtbot: QtBot, session: Session, settings: Settings, shown: Transfers, data: Path, server: RangeServer
) -> None:
    assert shown.count() == 1, "nothing is remote"
    address = server.put("/medium.shard", data / "swh" / "medium.shard")
    server.put("/info", b"not json")
    open_in(session, qtbot, address)
    panel = shown.request_log
    qtbot.waitUntil(lambda: panel.model.rowCount() == len(server.log) >= 3)
    assert panel.isVisible()
    assert shown.jobs.isVisible()
    assert shown.focusProxy() is panel
    texts = [panel.model.index(0, column).data() for column in (PURPOSE, RANGE, BYTES, ANSWER)]
    assert texts == ["head", "0x0–0xfff", "4.0 KiB", "206"]
    count = panel.model.rowCount()
    assert panel.spent.text().startswith(f"{count} requests · ")
    panel.table.setFocus()
    QTest.keyClick(panel.table, Qt.Key.Key_Down)
    QTest.keyClick(panel.table, Qt.Key.Key_Up)
    assert session.selection.span == Span("", 0, 4096)
    assert len(server.log) == count, str(server.log)
    panel.hits.click()
    assert panel.model.rowCount() > count
    next(a for a in panel.prices.menu().actions() if a.text() == "No charge").trigger()
    assert "about $0 · " in panel.spent.text()
    assert settings.price == "No charge"
    assert panel.notes.isHidden()
    session.documents.request_log.note("example.org is slow")
    qtbot.waitUntil(panel.notes.isVisible)
    assert panel.notes.text() == "example.org is slow"
    session.close()
    assert panel.isHidden()
    assert shown.focusProxy() is shown.jobs


def test_the_log_of_what_cannot_be_opened(
    qtbot: QtBot, session: Session, shown: Transfers, server: RangeServer
) -> None:
    with qtbot.waitSignal(session.documents.failed):
        session.open(f"{server.url}/nothing.shard?X-Amz-Signature=secret")
    qtbot.waitUntil(lambda: shown.request_log.model.rowCount() >= 1)
    assert shown.request_log.model.index(0, ANSWER).data() == "✖ 404"
    assert "secret" not in str(shown.request_log.model.index(0, RANGE).data(Qt.ItemDataRole.ToolTipRole))
