"""The findings of a verification, and what a search found, as tables."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from shardcore import Depth, Finding, Report, Severity, Span
from shardcore.operations.search import HitColumns, parse_hex, parse_numbers, parse_text, search_contents
from shardcore.teaching import resource_paths
from shardscope.session.byte_marks import HitList
from shardscope.session.session import Session
from shardscope.views.findings import FindingsTable
from shardscope.views.hits import HitsTable
from tests.app.conftest import open_in, visible

LONG = "slot 3 says that its object begins at 4096, past the end of the objects at 1234, so no reader can find <it>"


@pytest.fixture
def findings(qtbot: QtBot, session: Session) -> FindingsTable:
    """A table with one finding of each severity."""
    made = visible(qtbot, FindingsTable(session), 700, 300)
    findings = tuple(Finding(severity, "a.b", Span("", 8, 16), LONG, key="k" * 80) for severity in Severity)
    session.verification.changed.emit(Report(Depth.INDEX, 1, findings))
    return made


def test_the_menu_of_a_finding(findings: FindingsTable) -> None:
    menu = findings.menu_of(findings.model.things[0])
    actions = {action.text().replace("&", ""): action for action in menu.actions() if action.text()}
    assert "Look up key" in actions
    clip = QGuiApplication.clipboard()
    for entry, text in (("Copy message", LONG), ("Copy range", "8..16")):
        actions[entry].trigger()
        assert clip.text() == text
    actions["Copy as JSON"].trigger()
    assert json.loads(clip.text())["code"] == "a.b"
    option = QStyleOptionViewItem()
    for row, text in enumerate(("E  error", "W  warning", "N  note")):
        findings.table.itemDelegate().initStyleOption(option, findings.model.index(row, 0))
        assert option.text == text, "colour is never alone"


@pytest.fixture
def table(qtbot: QtBot, session: Session, data: Path) -> HitsTable:
    """The list beside a small shard."""
    made = visible(qtbot, HitsTable(session), 420, 260)
    open_in(session, qtbot, data / "swh" / "small.shard")
    return made


def texts(table: HitsTable, row: int) -> list[str]:
    """What a row says."""
    return [str(table.model.index(row, column).data()) for column in range(3)]


def test_hits_say_where_they_are_and_as_what(qtbot: QtBot, table: HitsTable, session: Session) -> None:
    size = session.shard.fields["header.index_size"]
    patterns = parse_numbers(str(size))
    table.set_hits(HitList("", str(size), patterns, HitColumns(*np.array([[72], [8], [0]])), 1))
    qtbot.waitUntil(lambda: texts(table, 0) == ["0x48", "u64 big-endian", "header › index_size"])
    table.table.setCurrentIndex(table.model.index(0, 0))
    assert session.selection.span == Span("", 72, 80)
    menu = table.menu_of(0)
    next(action for action in menu.actions() if action.text().replace("&", "") == "Copy offset").trigger()
    assert QGuiApplication.clipboard().text() == "0x48"
    session.close()
    assert table.model.rowCount() == 0
    assert not table.state.isVisible()


def test_hits_in_contents_name_their_object(qtbot: QtBot, session: Session) -> None:
    table = visible(qtbot, HitsTable(session))
    open_in(session, qtbot, resource_paths.path("samples/xorb/chunks.xorb"))
    patterns = [parse_text("abcdabcd")]
    first, second = islice(search_contents(session.shard, patterns, lambda *_: None), 2)
    table.set_hits(HitList.of_contents("abcdabcd", patterns, [first, second._replace(span=None)]))
    (key,) = session.shard.objects.key_texts(np.array([3]))
    qtbot.waitUntil(lambda: texts(table, 0)[::2] == [f"{first.offset:#x}", f"content of {key}"])
    table.table.setCurrentIndex(table.model.index(0, 0))
    assert session.selection.span == first.span
    table.table.setCurrentIndex(table.model.index(1, 0))
    qtbot.waitUntil(lambda: session.selection.row == second.row)


def test_only_rows_that_are_seen_are_named(qtbot: QtBot, table: HitsTable) -> None:
    every = np.arange(100_000)
    table.set_hits(HitList("", "00", (parse_hex("00"),), HitColumns(every, every * 0 + 1, every * 0), 5_000_000))
    assert table.state.text() == "5,000,000 hits, the first 100,000 are listed: 00"
    qtbot.waitUntil(lambda: texts(table, 3) == ["0x3", "", "header › magic"])
    assert texts(table, 500)[2] == ""
    table.table.scrollTo(table.model.index(90, 0), table.table.ScrollHint.PositionAtTop)
    qtbot.waitUntil(lambda: texts(table, 92)[2] == "padding")
