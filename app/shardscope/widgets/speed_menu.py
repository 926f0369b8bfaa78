"""Menu for the playback speed; one speed for the whole application."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from shardscope.widgets import playback


def offer_speeds(button: QToolButton) -> QMenu:
    menu = QMenu(button)
    menu.setObjectName("playSpeeds")
    menu.setTitle(QCoreApplication.translate("Speed", "Speed"))
    group = QActionGroup(menu)
    for factor in playback.SPEEDS:
        action = menu.addAction(f"{factor:g}×")
        action.setCheckable(True)
        action.setData(factor)
        action.triggered.connect(partial(_choose, factor))
        group.addAction(action)

    def mark() -> None:
        for action in menu.actions():
            action.setChecked(action.data() == playback.speed())

    menu.aboutToShow.connect(mark)
    button.setMenu(menu)
    button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
    return menu


def _choose(factor: float, checked: bool = False) -> None:
    playback.set_speed(factor)
