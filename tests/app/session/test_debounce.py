"""Signals that come quickly are answered once, after the time that was chosen."""

from __future__ import annotations

from PySide6.QtWidgets import QScrollBar
from pytestqt.qtbot import QtBot

from shardscope.session.debounce import Debounce


def test_the_argument_of_a_signal_is_no_time(qtbot: QtBot) -> None:
    """A scroll bar at 60,000 does not delay the call by a minute."""
    called: list[int] = []
    bar = QScrollBar()
    bar.setRange(0, 60_000)
    soon = Debounce(bar, lambda: called.append(bar.value()))
    bar.valueChanged.connect(soon.again)
    for value in (1, 500, 60_000):
        bar.setValue(value)
    qtbot.waitUntil(lambda: bool(called))
    assert called == [60_000]
    assert soon.interval() == 0
