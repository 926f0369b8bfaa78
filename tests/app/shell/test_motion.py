"""Reduced motion: a setting that stops what moves, blinks and fades by itself."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.widgets import motion

KEY = "9d0c38e7aafe062c3a6dfc561e42771ec997d9359bb3d417ac4775a303292964"


@pytest.mark.thorough
def test_nothing_moves_by_itself(qapp: QApplication, qtbot: QtBot, settings: Settings, small: MainWindow) -> None:
    """No caret blinks, no menu fades, *Play* goes one step; and the choice holds at the next start."""
    trace, reduced = small.trace, small.actions_.reduced_motion
    small.session.look_up(KEY)
    qtbot.waitUntil(lambda: trace.trace is not None)
    settle(small, 40)
    blink = qapp.cursorFlashTime()
    assert blink > 0
    assert not reduced.isChecked()
    trace.play.trigger()
    assert trace.timer.isActive()
    reduced.trigger()
    assert motion.reduced()
    assert qapp.cursorFlashTime() == 0
    assert not qapp.isEffectEnabled(Qt.UIEffect.UI_General)
    trace.timer.setInterval(1)
    qtbot.waitUntil(lambda: not trace.timer.isActive())
    before = trace.current
    trace.play.trigger()
    assert not trace.timer.isActive()
    assert not trace.play.isChecked()
    assert trace.current == before + 1
    settle(small, 40)
    again = MainWindow(settings)
    qtbot.addWidget(again)
    assert again.actions_.reduced_motion.isChecked()
    again.close()
    reduced.trigger()
    assert qapp.cursorFlashTime() == blink
