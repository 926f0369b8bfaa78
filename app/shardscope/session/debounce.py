"""Timer that waits until something stops happening."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, SignalInstance


class Debounce(QTimer):
    """Calls something once, some time after the last `start()`.

    Signals are connected to `again`: `start` would take their argument, such as the value of a scroll bar, as its time.

    Args:
        parent: Whose it is; it ends with that.
        call: What is called, or the signal that is emitted.
        milliseconds: The time; 0: once the event loop is reached again.
    """

    def __init__(self, parent: QObject, call: Callable[[], object] | SignalInstance, milliseconds: int = 0) -> None:
        super().__init__(parent)
        self.setSingleShot(True)
        self.setInterval(milliseconds)
        self.timeout.connect(call)

    def again(self, *_: object) -> None:
        """Start it again, whatever a signal says."""
        self.start()
