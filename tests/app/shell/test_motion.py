"""Reduced motion: a setting that stops what moves, blinks and fades by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.widgets import motion

KEY = "9d0c38e7aafe062c3a6dfc561e42771ec997d9359bb3d417ac4775a303292964"


@pytest.fixture
def application(qapp: QApplication) -> Iterator[QApplication]:
    yield qapp
    motion.reduce(qapp, False)


@pytest.fixture
def window(qtbot: QtBot, settings: Settings, application: QApplication, data: Path) -> Iterator[MainWindow]:
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.show()
    with qtbot.waitSignal(made.session.opened):
        made.open(str(data / "swh" / "small.shard"))
    settle(made, 40)
    yield made
    made.close()


@pytest.mark.thorough
def test_the_choice_is_remembered(qtbot: QtBot, settings: Settings, window: MainWindow) -> None:
    """*Reduced motion* is off at first, and what was chosen holds at the next start."""
    assert not window.actions_.reduced_motion.isChecked()
    assert not motion.reduced()
    window.actions_.reduced_motion.trigger()
    assert motion.reduced()
    again = MainWindow(settings)
    qtbot.addWidget(again)
    assert again.actions_.reduced_motion.isChecked()
    again.close()


@pytest.mark.thorough
def test_nothing_blinks_or_fades(application: QApplication, window: MainWindow) -> None:
    """The caret of a text field stands still and menus appear at once; both come back as they were."""
    blink = application.cursorFlashTime()
    assert blink > 0
    window.actions_.reduced_motion.setChecked(True)
    assert application.cursorFlashTime() == 0
    assert not application.isEffectEnabled(Qt.UIEffect.UI_General)
    window.actions_.reduced_motion.setChecked(False)
    assert application.cursorFlashTime() == blink


@pytest.mark.thorough
def test_play_goes_one_step(window: MainWindow, qtbot: QtBot) -> None:
    """A lookup does not walk by itself: *Play* goes to the next step, and one that is playing stops."""
    window.session.look_up(KEY)
    qtbot.waitUntil(lambda: window.trace.trace is not None)
    settle(window, 40)
    window.trace.play.trigger()
    assert window.trace.timer.isActive()
    window.actions_.reduced_motion.setChecked(True)
    window.trace.timer.setInterval(1)
    qtbot.waitUntil(lambda: not window.trace.timer.isActive())
    before = window.trace.current
    window.trace.play.trigger()
    assert not window.trace.timer.isActive()
    assert not window.trace.play.isChecked()
    assert window.trace.current == before + 1
    settle(window, 40)
