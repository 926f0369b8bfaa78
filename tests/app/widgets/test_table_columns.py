"""Tables in narrow docks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QStackedLayout, QTableView, QWidget
from pytestqt.qtbot import QtBot

from shardscope.session.session import Session
from shardscope.views.findings.findings import FindingsTable
from shardscope.views.findings.hits import HitsTable
from shardscope.views.transfers.job_list import JobList

PANELS: dict[str, tuple[Callable[[Session], QWidget], int, int]] = {
    "findings": (FindingsTable, 1, 290),
    "hits": (HitsTable, 2, 120),
    "jobs": (lambda session: JobList(session.jobs), 0, 150),
}
"""How a panel is made, the column that says most, and the least width of it that is worth reading."""


@pytest.mark.parametrize("name", PANELS)
def test_no_column_goes_out_of_reach(session: Session, qtbot: QtBot, name: str) -> None:
    make, column, least = PANELS[name]
    panel = make(session)
    qtbot.addWidget(panel)
    table = panel.findChild(QTableView)
    stack = panel.findChild(QStackedLayout)
    # The table lies behind an explanation while it is empty.
    stack.setCurrentWidget(table)
    panel.show()
    header, bar = table.horizontalHeader(), table.horizontalScrollBar()
    for width in (340, 420, 1000):
        panel.resize(width, 300)
        qtbot.waitUntil(lambda width=width: table.width() == width)  # type: ignore[misc]
        qtbot.waitUntil(lambda: (bar.maximum() > 0) == (header.length() > table.viewport().width()))
        assert not any(table.isColumnHidden(number) for number in range(header.count()))
        assert table.columnWidth(column) >= min(least, width // 3)
