"""Delayed signals: delivered only while a widget is visible, or once after a burst of signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QEvent, QObject, QTimer, SignalInstance
from PySide6.QtWidgets import QWidget


class WhileVisible(QObject):
    """Delivers a signal to a slot while a widget is visible; when the widget is shown, delivers the last missed one.

    A selection made by the widget itself (its `origin` is the widget) is not delivered, unless `own` is True.
    """

    def __init__(
        self, signal: SignalInstance, widget: QWidget, slot: Callable[..., object], *, own: bool = False
    ) -> None:
        super().__init__(widget)
        self._widget, self._slot, self._own = widget, slot, own
        self._missed: tuple[Any, ...] | None = None
        signal.connect(self._emitted)

    def _emitted(self, *arguments: Any) -> None:
        if not self._own and arguments and getattr(arguments[0], "origin", None) is self._widget:
            self._missed = None
        elif self._widget.isVisible():
            self._slot(*arguments)
        else:
            if self._missed is None:
                self._widget.installEventFilter(self)
            self._missed = arguments

    def forget(self) -> None:
        """Discard the missed signal."""
        self._missed = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._widget.removeEventFilter(self)
            missed, self._missed = self._missed, None
            if missed is not None:
                self._slot(*missed)
        return False


class Debounce(QTimer):
    """Timer for one call after a burst of signals. Connect them to `again`: `start` takes an argument as interval."""

    def __init__(self, parent: QObject, call: Callable[[], object] | SignalInstance, milliseconds: int = 0) -> None:
        super().__init__(parent, singleShot=True, interval=milliseconds)
        self.timeout.connect(call)

    def again(self, *_: object) -> None:
        self.start()
