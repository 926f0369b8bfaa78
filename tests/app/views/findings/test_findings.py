"""The findings of a verification, as a table."""

from __future__ import annotations

import json

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from shardcore import Depth, Finding, Report, Severity, Span
from shardscope.session.session import Session
from shardscope.views.findings.findings import FindingsTable
from shardscope.widgets import theme
from tests.app.conftest import visible

LONG = "slot 3 says that its object begins at 4096, past the end of the objects at 1234, so no reader can find <it>"


@pytest.fixture
def table(qtbot: QtBot, session: Session) -> FindingsTable:
    """A table with one finding of each severity."""
    made = visible(qtbot, FindingsTable(session), 700, 300)
    findings = tuple(Finding(severity, "a.b", Span("", 8, 16), LONG, key="k" * 80) for severity in Severity)
    session.findings_changed.emit(Report(Depth.INDEX, 1, findings))
    return made


def test_severity_is_a_letter_a_word_and_a_colour(table: FindingsTable) -> None:
    colours = theme.of(table)
    for row, (severity, text) in enumerate(zip(Severity, ("E  error", "W  warning", "N  note"), strict=True)):
        option = QStyleOptionViewItem()
        table.table.itemDelegate().initStyleOption(option, table.model.index(row, 0))  # type: ignore[attr-defined]
        assert option.text == text
        assert option.palette.color(option.palette.ColorRole.Text) == getattr(colours, severity.value)


def test_the_menu_of_a_finding(table: FindingsTable) -> None:
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
