"""Accessible roles for widgets that paint themselves.

Only for widgets that exist as long as the window: Qt crashes if such a widget is deleted earlier.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QCoreApplication, QObject, QTimer
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAccessibleWidget, QWidget

_INSTALLED = "shardscopeSpokenFactory"


class Spoken(QAccessibleWidget):
    def __init__(self, widget: QWidget, role: QAccessible.Role) -> None:
        super().__init__(widget, role, widget.accessibleName())

    def text(self, kind: QAccessible.Text) -> str:
        value: str = getattr(self.object(), "spoken_value", "")
        return value if value and kind == QAccessible.Text.Value else super().text(kind)


class _Factory:
    """Creates accessible interfaces, and keeps each until its widget is deleted: Qt has only a pointer to it."""

    def __init__(self) -> None:
        self._kept: dict[int, QAccessibleWidget] = {}

    def __call__(self, name: str, widget: QObject) -> QAccessibleWidget | None:
        role, make = getattr(widget, "spoken_role", None), getattr(widget, "spoken_interface", None)
        made: QAccessibleWidget
        if callable(make):
            made = make()
        elif isinstance(role, QAccessible.Role) and isinstance(widget, QWidget):
            made = Spoken(widget, role)
        else:
            return None
        self._kept[id(made)] = made
        widget.destroyed.connect(partial(self._forget_later, id(made)))
        return made

    def _forget_later(self, key: int, widget: QObject | None = None) -> None:
        QTimer.singleShot(0, partial(self._kept.pop, key, None))


def install_roles() -> None:
    application = QCoreApplication.instance()
    if application is not None and not application.property(_INSTALLED):
        application.setProperty(_INSTALLED, True)
        QAccessible.installFactory(_Factory())
