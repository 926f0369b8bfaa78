"""Handling of Ctrl+C and `kill` while Qt waits."""

from __future__ import annotations

import signal
import socket

from PySide6.QtCore import QObject, QSocketNotifier, Signal

from shardcore.system import ending_signals


class Interrupts(QObject):
    """Emits `came` on the GUI thread; a socket wakes Qt, which runs no Python code while it waits."""

    came = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read)
        self._before = {number: signal.signal(number, _nothing) for number in (signal.SIGINT, *ending_signals())}
        self._old_wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def _read(self) -> None:
        self._reader.recv(64)
        self.came.emit()

    def end(self) -> None:
        signal.set_wakeup_fd(self._old_wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._notifier.setEnabled(False)
        self._reader.close()
        self._writer.close()


def _nothing(number: int, frame: object) -> None:
    """Do nothing: the wake-up socket already reports the signal."""
