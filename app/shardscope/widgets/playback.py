"""Playback speed with its menu, and reduced motion: Qt reports that setting of the desktop only since 6.12."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QApplication, QMenu, QToolButton

SPEEDS = (0.5, 1.0, 2.0, 4.0)
"""Playback speeds."""

_PROPERTY = "shardscopeReducedMotion"
_SPEED = "shardscopePlaySpeed"
_BLINK = "shardscopeBlink"

_EFFECTS = (
    Qt.UIEffect.UI_General,
    Qt.UIEffect.UI_AnimateMenu,
    Qt.UIEffect.UI_FadeMenu,
    Qt.UIEffect.UI_AnimateCombo,
    Qt.UIEffect.UI_AnimateTooltip,
    Qt.UIEffect.UI_FadeTooltip,
    Qt.UIEffect.UI_AnimateToolBox,
)


def reduce(application: QApplication, reduced: bool) -> None:
    """Switch animations and blinking of the application off or on; playback checks `reduced` itself."""
    if application.property(_BLINK) is None:
        application.setProperty(_BLINK, application.cursorFlashTime())
        application.setProperty(f"{_BLINK}Effects", [application.isEffectEnabled(effect) for effect in _EFFECTS])
    application.setProperty(_PROPERTY, reduced)
    blink, effects = application.property(_BLINK), application.property(f"{_BLINK}Effects")
    application.setCursorFlashTime(0 if reduced else int(blink))
    for effect, wanted in zip(_EFFECTS, effects, strict=True):
        application.setEffectEnabled(effect, bool(wanted) and not reduced)


def reduced() -> bool:
    application = QApplication.instance()
    return application is not None and bool(application.property(_PROPERTY))


def set_speed(factor: float) -> None:
    application = QApplication.instance()
    if application is not None:
        application.setProperty(_SPEED, factor if factor in SPEEDS else 1.0)


def speed() -> float:
    application = QApplication.instance()
    found = application.property(_SPEED) if application is not None else None
    return float(found) if found else 1.0


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
