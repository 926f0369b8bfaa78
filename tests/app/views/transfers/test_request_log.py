"""The request log: totals and round trips; and the panel that lists the requests."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore import RequestLog, Span
from shardcore.sources.read_purpose import ReadPurpose
from shardcore.sources.remote.request_log import Request
from shardscope.session.session import IndexState, Session
from shardscope.startup.settings import Settings
from shardscope.views.transfers.request_log.panel import RequestTable
from shardscope.views.transfers.transfers import Transfers
from shardscope.widgets.request_log.costs import PRICES, Price, Totals, money_text, seconds_text
from shardscope.widgets.request_log.model import (
    ANSWER,
    BYTES,
    PURPOSE,
    RANGE,
    RequestColumns,
    RequestLogModel,
    answer_text,
    measured,
)
from tests.remote.servers import RangeServer

WHERE = "https://example.org/a.shard"


def asked(
    at: float, wait: float, transfer: float = 0.0, size: int = 0, *, start: int = 0, cached: bool = False
) -> Request:
    """A request that went well."""
    return Request(
        at,
        "GET",
        WHERE,
        start,
        start + size,
        ReadPurpose.INDEX,
        size,
        wait,
        transfer,
        0 if cached else 206,
        cached=cached,
    )


def lookup() -> RequestColumns:
    """A head and a footer at once, a table after both, two objects after that; a pause of a minute before these."""
    made = RequestColumns()
    made.extend([asked(0.0, 0.1, 0.0, 1000), asked(0.0, 0.1, 0.1, 40_000)])
    made.extend([asked(0.2, 0.1, 0.0, 2000), asked(60.0, 0.0, cached=True)])
    made.extend([asked(60.0, 0.2, 0.0, 3000), asked(60.1, 0.2, 0.1, 5000)])
    return made


def test_rounds_are_what_waited_for_something() -> None:
    """A request is one round after the last that was over when it began; what the cache answered is none."""
    assert lookup().rounds.tolist() == [1, 1, 2, 2, 3, 3]


def test_rounds_do_not_depend_on_how_the_records_came() -> None:
    """One by one or all at once, the rounds are the same."""
    whole, single = lookup(), RequestColumns()
    for record in whole.records:
        single.extend([record])
    assert single.rounds.tolist() == whole.rounds.tolist()
    assert single.end.tolist() == whole.end.tolist()


def test_pauses_of_the_user_are_cut() -> None:
    """A minute in which nobody asked for anything takes no room, and is no time that was waited."""
    was = measured(lookup())
    assert was.busy == pytest.approx(0.3 + 0.4)
    assert was.span == pytest.approx(0.3 + 0.02 + 0.4)
    assert was.begin.tolist() == pytest.approx([0, 0, 0.2, 0.32, 0.32, 0.42])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.00 s"), (0.449, "0.45 s"), (3.21, "3.2 s"), (12.3, "12 s"), (200, "3 min 20 s"), (864_000, "10 days")],
)
def test_durations(seconds: float, text: str) -> None:
    """A duration has the digits that count."""
    assert seconds_text(seconds) == text


def test_the_bill() -> None:
    """Requests, listings and bytes have their prices; small amounts keep two digits."""
    s3 = PRICES[1]
    assert money_text(s3.of(4, 41_000)) == "$0.0000016"
    assert money_text(PRICES[0].of(1, 100 * 10**9)) == "$9.00"
    assert money_text(s3.of(2, 0, listings=1)) == "$0.0000054"
    assert [money_text(one) for one in (0.0, 0.00008, 0.000091, 0.5, 1234.5)] == [
        "$0",
        "$0.00008",
        "$0.000091",
        "$0.50",
        "$1,234.50",
    ]
    totals = Totals(4, 41_000, 0.8, 0, 1, 100 * 10**9)
    assert totals.spent(s3) == "4 requests · 40.0 KiB of 93.1 GiB · 0.80 s · about $0.0000016"
    assert totals.download(PRICES[0]) == "93.1 GiB · about $9.00"
    assert totals.download(Price("free", 0, 0, 0)).endswith("about $0")


def test_what_became_of_a_request_is_said_in_words() -> None:
    """Errors and new attempts have a sign and a text, whatever their colour."""
    assert answer_text(asked(0, 0)) == "206"
    assert answer_text(asked(0, 0, cached=True)) == "cache"
    assert answer_text(Request(0, "GET", WHERE, 0, 1, ReadPurpose.HEAD, status=503, error="busy")) == "✖ 503"
    assert answer_text(Request(0, "GET", WHERE, 0, 1, ReadPurpose.HEAD, error="cancelled")) == "■ cancelled"
    assert answer_text(Request(0, "GET", WHERE, 0, 1, ReadPurpose.HEAD, retry=1, error="x")) == "✖ no answer ↻ 2"
    assert answer_text(Request(0, "GET", WHERE, 0, 1, ReadPurpose.HEAD, status=206, retry=1)) == "206 ↻ 2"


class Counted(RequestLogModel):
    """Counts the rows that somebody asks about."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: set[int] = set()

    def data(self, index: QModelIndex, role: int = 0) -> object:  # type: ignore[override]
        """As it is."""
        self.rows.add(index.row())
        return super().data(index, role)


def test_hundred_thousand_requests(qtbot: QtBot) -> None:
    """They are listed; only the rows that are seen are asked for, wherever one is."""
    tape = RequestLog()
    several = [asked(number / 1000, 0.05, 0.001, 1000, start=number * 1000) for number in range(1000)]
    for number in range(100_000):
        tape.add(several[number // 100])
    model = Counted()
    model.set_tape(tape)
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
    assert 0 < len(model.rows) < 100
    tape.add(asked(101, 0.1))
    assert not model.take_new()


@pytest.fixture
def shown(qtbot: QtBot, session: Session, settings: Settings) -> Transfers:
    """The panel, as in the window."""
    made = Transfers(session, settings)
    qtbot.addWidget(made)
    made.resize(420, 380)
    made.show()
    return made


def test_the_tape_of_a_remote_shard(
    qtbot: QtBot, session: Session, settings: Settings, shown: Transfers, data: Path, server: RangeServer
) -> None:
    """Its requests are listed with what they were for; a click selects the bytes; totals are shown."""
    panel = shown.tape
    assert panel.isHidden(), "nothing is remote"
    address = server.put("/medium.shard", data / "swh" / "medium.shard")
    server.put("/info", b"not json")
    with qtbot.waitSignal(session.opened):
        session.open(address)
    qtbot.waitUntil(lambda: session.index_state is IndexState.LOADED)
    qtbot.waitUntil(lambda: panel.model.rowCount() == len(server.log) >= 3)
    assert panel.isVisible()
    assert shown.jobs.isVisible()
    assert shown.focusProxy() is panel
    texts = [[panel.model.index(0, column).data() for column in (PURPOSE, RANGE, BYTES, ANSWER)]]
    assert texts[0] == ["head", "0x0–0xfff", "4.0 KiB", "206"]
    count = panel.model.rowCount()
    assert count == len(server.log)
    assert panel.spent.text().startswith(f"{count} requests · ")
    assert f" · {panel.totals.round_trips} round trips · " in panel.spent.text()
    assert panel.full.text().startswith("Full download: ")
    panel.table.setFocus()
    QTest.keyClick(panel.table, Qt.Key.Key_Down)
    QTest.keyClick(panel.table, Qt.Key.Key_Up)
    assert session.selection.span == Span("", 0, 4096)
    assert len(server.log) == count, str(server.log)
    panel.hits.click()
    assert panel.model.rowCount() > count
    assert panel.spent.text().endswith(" % of reads from the cache")
    next(a for a in panel.prices.menu().actions() if a.text() == "No charge").trigger()
    assert "about $0 · " in panel.spent.text()
    assert settings.price == "No charge"
    panel.grab()
    menu = panel.menu_of(panel.model.record(0))
    assert next(action.text() for action in menu.actions() if action.text()) == "&Select bytes"
    menu.deleteLater()
    session.close()
    assert panel.isHidden()
    assert shown.focusProxy() is shown.jobs


def test_a_note_is_shown_while_a_request_is_under_way(
    qtbot: QtBot, session: Session, shown: Transfers, data: Path, server: RangeServer
) -> None:
    """That a server is slow stands below the sums at once, without a further request, and goes with the file."""
    panel = shown.tape
    with qtbot.waitSignal(session.opened):
        session.open(server.put("/medium.shard", data / "swh" / "medium.shard"))
    assert panel.notes.isHidden()
    assert session.tape is not None
    session.tape.note("example.org is slow")
    qtbot.waitUntil(panel.notes.isVisible)
    assert panel.notes.text() == "example.org is slow"
    session.close()
    assert panel.isHidden()


def test_the_tape_of_what_cannot_be_opened(
    qtbot: QtBot, session: Session, shown: Transfers, server: RangeServer
) -> None:
    """A failure is on the tape, too: where, and what the server answered."""
    with qtbot.waitSignal(session.failed):
        session.open(f"{server.url}/nothing.shard?X-Amz-Signature=secret")
    qtbot.waitUntil(lambda: shown.tape.model.rowCount() >= 1)
    assert shown.tape.model.index(0, ANSWER).data() == "✖ 404"
    assert "secret" not in str(shown.tape.model.index(0, RANGE).data(Qt.ItemDataRole.ToolTipRole))
