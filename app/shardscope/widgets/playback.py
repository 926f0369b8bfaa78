"""Playback speed with its menu, and reduced motion, a desktop setting that Qt reports only since version 6.12."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QApplication, QMenu, QProgressBar, QToolButton

from shardscope.session.jobs import Job
from shardscope.widgets.layouts import made

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
    usual: tuple[int, list[bool]] | None = None  # Blinking interval in milliseconds; state of each effect.


def reduce(application: QApplication, reduced: bool) -> None:
    """Switch the animations of Qt and the blinking cursor off or on; playback checks `reduced()` itself."""
    if _Playback.usual is None:
        effects = [application.isEffectEnabled(effect) for effect in _EFFECTS]
        _Playback.usual = application.cursorFlashTime(), effects
    _Playback.reduced, (blink, effects) = reduced, _Playback.usual
    application.setCursorFlashTime(0 if reduced else blink)
    for effect, wanted in zip(_EFFECTS, effects, strict=True):
        application.setEffectEnabled(effect, wanted and not reduced)


def reduced() -> bool:
    return _Playback.reduced


def show_progress(bar: QProgressBar, job: Job) -> None:
    """Show the progress of a job in thousandths. If its total is unknown, the bar moves unless motion is reduced."""
    bar.setRange(0, int(bool(job.total_amount) or reduced()) * 1000)
    bar.setValue(1000 * job.done_amount // max(job.total_amount, 1))


def set_speed(factor: float) -> None:
    _Playback.speed = float(factor) if factor in SPEEDS else 1.0


def speed() -> float:
    return _Playback.speed


def offer_speeds(button: QToolButton) -> QMenu:
    """Give a button a menu of the playback speed; there is one speed for the whole application."""
    menu = made(QMenu(QCoreApplication.translate("Speed", "Speed"), button), "playSpeeds")
    group = QActionGroup(menu)
    for factor in SPEEDS:
        action = made(menu.addAction(f"{factor:g}×"), checkable=True)
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
