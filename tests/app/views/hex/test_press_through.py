"""One click beside the list of completions is enough."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from shardcore.operations.goto import GotoNames
from shardscope.views.hex.address_bar import AddressBar, EntryContext


def test_a_click_beside_the_completions_is_not_lost(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    row = QHBoxLayout(window)
    known = EntryContext(GotoNames(100), lambda text: True)
    bar, button = AddressBar(lambda: known), QPushButton("Look up")
    row.addWidget(bar)
    row.addWidget(button)
    clicks: list[int] = []
    button.clicked.connect(lambda: clicks.append(1))
    with qtbot.waitExposed(window):
        window.show()
    QTest.keyClicks(bar.field, "1")
    qtbot.waitUntil(bar.list.isVisible)
    # Through the window system, as a mouse does: the press comes to the list, which has the mouse.
    QTest.mouseClick(window.windowHandle(), Qt.MouseButton.LeftButton, pos=button.geometry().center())
    qtbot.waitUntil(lambda: not bar.list.isVisible())
    assert len(clicks) == 1
