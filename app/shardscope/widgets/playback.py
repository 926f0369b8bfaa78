"""Playback speed with its menu, and reduced motion: Qt reports that setting of the desktop only since 6.12."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QApplication, QMenu, QToolButton

SPEEDS = (0.5, 1.0, 2.0, 4.0)

_EFFECTS = (
    Qt.UIEffect.UI_General,
    Qt.UIEffect.UI_AnimateMenu,
    Qt.UIEffect.UI_FadeMenu,
    Qt.UIEffect.UI_AnimateCombo,
    Qt.UIEffect.UI_AnimateTooltip,
    Qt.UIEffect.UI_FadeTooltip,
    Qt.UIEffect.UI_AnimateToolBox,
)


class _Playback:
    speed = 1.0
    reduced = False
    usual: tuple[int, list[bool]] | None = None  # interval of blinking in milliseconds, and which effects are on


def reduce(application: QApplication, reduced: bool) -> None:
    """Switch animations and blinking of the application off or on; playback checks `reduced` itself."""
    if _Playback.usual is None:
        effects = [application.isEffectEnabled(effect) for effect in _EFFECTS]
        _Playback.usual = application.cursorFlashTime(), effects
    _Playback.reduced, (blink, effects) = reduced, _Playback.usual
    application.setCursorFlashTime(0 if reduced else blink)
    for effect, wanted in zip(_EFFECTS, effects, strict=True):
        application.setEffectEnabled(effect, wanted and not reduced)


def reduced() -> bool:
    return _Playback.reduced


def set_speed(factor: float) -> None:
    _Playback.speed = float(factor) if factor in SPEEDS else 1.0


def speed() -> float:
    return _Playback.speed


def offer_speeds(button: QToolButton) -> QMenu:
    """Give a button a menu of the playback speed; there is one speed for the whole application."""
    menu = QMenu(button)
    menu.setObjectName("playSpeeds")
    menu.setTitle(QCoreApplication.translate("Speed", "Speed"))
    group = QActionGroup(menu)
    for factor in SPEEDS:
        action = menu.addAction(f"{factor:g}×")
        action.setCheckable(True)
        action.setData(factor)
        action.triggered.connect(lambda _, factor=factor: set_speed(factor))
        group.addAction(action)

    def mark() -> None:
        for action in menu.actions():
            action.setChecked(action.data() == speed())

    menu.aboutToShow.connect(mark)
    button.setMenu(menu)
    button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
    return menu
