"""The open question of a lesson: later steps of the lookup and of the drawing wait for its answer."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal


class OpenQuestion(QObject):
    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.is_open = False
        self.last_step: int | None = None

    def ask(self, *, is_open: bool, last_step: int | None = None) -> None:
        """Open or end the question; `last_step` is the last step of the lookup shown before the answer, None: all."""
        now = is_open, last_step if is_open else None
        if now != (self.is_open, self.last_step):
            self.is_open, self.last_step = now
            self.changed.emit()

    def hides_step(self, number: int) -> bool:
        return self.last_step is not None and number > self.last_step
