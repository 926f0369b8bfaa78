"""Values that the open question of a lesson asks for; views hide them until the answer."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from shardcore import Node
from shardcore.teaching.lessons.secrets import NOTHING, Secrets


class OpenSecrets(QObject):
    """The secrets of the open question; views ask `now` for each text, and write again when it changed.

    Attributes:
        now: The hidden values; none while no question is open.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.now: Secrets = NOTHING

    def hide(self, secrets: Secrets) -> None:
        """Hide what a question asks, in place of what was hidden before."""
        if secrets != self.now:
            self.now = secrets
            self.changed.emit()

    def text(self, text: str) -> str:
        """Return a text as it may be shown now."""
        return self.now.text(text)

    def path(self, path: Sequence[Node]) -> Sequence[Node]:
        """Return the nodes of a path as they may be shown now."""
        return self.now.path(path)
