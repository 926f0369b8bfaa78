"""Values that the open question of a lesson asks for; views hide them until the answer."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from shardcore import Node
from shardcore.teaching.lessons.secrets import NOTHING, Secrets


class OpenSecrets(QObject):
    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.now: Secrets = NOTHING

    def hide(self, secrets: Secrets) -> None:
        if secrets != self.now:
            self.now = secrets
            self.changed.emit()

    def text(self, text: str) -> str:
        return self.now.text(text)

    def path(self, path: Sequence[Node]) -> Sequence[Node]:
        return self.now.path(path)
