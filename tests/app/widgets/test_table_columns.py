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
def test_no_table_is_scrolled_sideways(session: Session, qtbot: QtBot, name: str) -> None:
    """As narrow as the left dock is at first, columns go instead of being cut off; where there is room all are back."""
    make, column, least = PANELS[name]
    panel = make(session)
    qtbot.addWidget(panel)
    table = panel.findChild(QTableView)
    assert isinstance(table, QTableView)
    stack = panel.findChild(QStackedLayout)
    assert isinstance(stack, QStackedLayout)
    # The table lies behind an explanation while it is empty.
    stack.setCurrentWidget(table)
    panel.show()
    for width in (340, 420, 1000):
        panel.resize(width, 300)
        qtbot.waitUntil(lambda width=width: table.width() == width)  # type: ignore[misc]
        header = table.horizontalHeader()
        assert header.length() <= table.viewport().width(), width
        assert not table.isColumnHidden(column)
        assert table.columnWidth(column) >= min(least, width // 3)
    assert not any(table.isColumnHidden(number) for number in range(header.count()))
