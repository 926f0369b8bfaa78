"""Timer that fires once after a burst of signals."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, SignalInstance


class Debounce(QTimer):
    """Single-shot timer. Connect signals to `again`: `start` would take their argument as the interval."""

    def __init__(self, parent: QObject, call: Callable[[], object] | SignalInstance, milliseconds: int = 0) -> None:
        super().__init__(parent)
        self.setSingleShot(True)
        self.setInterval(milliseconds)
        self.timeout.connect(call)

    def again(self, *_: object) -> None:
        self.start()
