"""Signals of hidden panels, deferred until the panel is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QEvent, QObject, SignalInstance
from PySide6.QtWidgets import QWidget


class WhileVisible(QObject):
    """Calls a slot while a widget is visible; when it is shown, delivers the last signal it missed."""

    def __init__(self, signal: SignalInstance, widget: QWidget, slot: Callable[[Any], object]) -> None:
        super().__init__(widget)
        self._widget, self._slot = widget, slot
        self._missed: list[Any] = []
        signal.connect(self._emitted)
        widget.installEventFilter(self)

    def _emitted(self, argument: Any) -> None:
        if self._widget.isVisible():
            self._slot(argument)
        else:
            self._missed = [argument]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and self._missed:
            self._slot(self._missed.pop())
        return False
