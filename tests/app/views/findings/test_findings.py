"""The findings of a verification, as a table."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from shardcore import Depth, Finding, Report, Severity, Span
from shardscope.session.session import Session
from shardscope.views.findings.findings import FindingsTable
from shardscope.widgets import theme

LONG = "slot 3 says that its object begins at 4096, past the end of the objects at 1234, so no reader can find <it>"


@pytest.fixture
def table(qtbot: QtBot, session: Session) -> FindingsTable:
    """A table with one finding of each severity."""
    made = FindingsTable(session)
    qtbot.addWidget(made)
    made.resize(700, 300)
    made.show()
    findings = tuple(Finding(severity, "a.b", Span("", 8, 16), LONG, key="k" * 80) for severity in Severity)
    session.findings_changed.emit(Report(Depth.INDEX, 1, findings))
    return made


def test_severity_is_a_letter_a_word_and_a_colour(table: FindingsTable) -> None:
    """No severity is told by its colour alone."""
    colours = theme.of(table)
    for row, (severity, text) in enumerate(zip(Severity, ("E  error", "W  warning", "N  note"), strict=True)):
        option = QStyleOptionViewItem()
        table.table.itemDelegate().initStyleOption(option, table.model.index(row, 0))  # type: ignore[attr-defined]
        assert option.text == text
        assert option.palette.color(option.palette.ColorRole.Text) == getattr(colours, severity.value)


def test_sentences_wrap_and_have_a_tooltip(table: FindingsTable, qtbot: QtBot) -> None:
    """A sentence that is too long has several lines; the tooltip has it and a long key, as plain text."""
    table.resize(500, 300)
    table.show()
    qtbot.waitUntil(lambda: table.table.rowHeight(0) > 2 * table.fontMetrics().height())
    tips = [str(table.model.index(0, column).data(Qt.ItemDataRole.ToolTipRole)) for column in range(5)]
    assert "no reader can find &lt;it&gt;" in tips[1]
    assert tips[4] == "k" * 80
    assert tips[2] == "0x8–0xf · 8 bytes"


def test_the_menu_of_a_finding(table: FindingsTable) -> None:
    """A finding is copied as its sentence, its code, its range, and as JSON."""
    menu = table.menu_of(table.model.finding(table.model.index(0, 0)))
    actions = {action.text().replace("&", ""): action for action in menu.actions() if action.text()}
    clip = QGuiApplication.clipboard()
    actions["Copy message"].trigger()
    assert clip.text() == LONG
    actions["Copy range"].trigger()
    assert clip.text() == "8..16"
    actions["Copy as JSON"].trigger()
    assert json.loads(clip.text())["code"] == "a.b"
    assert "Look up key" in actions


def test_the_state_is_never_cut(table: FindingsTable, qtbot: QtBot) -> None:
    """In a narrow panel it has as many lines as it needs."""
    table.resize(330, 300)
    table.state.set_text("No errors found. 11 objects have no checksum: contents were not read (depth index).")
    lines = table.state.heightForWidth(table.state.width())
    assert lines > 2 * table.fontMetrics().height()
    qtbot.waitUntil(lambda: table.state.height() >= table.state.heightForWidth(table.state.width()))
