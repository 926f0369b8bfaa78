"""What was searched before: kinds and texts, the latest first."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

MOST = 20

Entry = tuple[str, str]
"""The kind of a search, and what was typed."""


class SearchHistory(QObject):
    """Searches that were made. `changed` carries them when there is another one."""

    changed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.entries: list[Entry] = []
        self._at = -1
        self._typed: Entry = ("", "")

    def set_entries(self, entries: Iterable[Entry]) -> None:
        """What is remembered from the last time."""
        self.entries = list(entries)[:MOST]

    def add(self, entry: Entry) -> None:
        """A search was made."""
        self._at = -1
        if self.entries[:1] != [entry]:
            self.entries = [entry, *(other for other in self.entries if other != entry)][:MOST]
            self.changed.emit(self.entries)

    def step(self, by: int, now: Entry) -> Entry | None:
        """An older entry, or a newer one when negative; what was being typed comes back after the newest.

        Args:
            by: 1 or -1.
            now: What is in the field.
        """
        shown = self._typed if self._at < 0 else self.entries[self._at]
        if self._at < 0 or now != shown:
            # Something else was typed: that is the newest, and the latest search comes before it.
            self._at, self._typed = -1, now
        to = self._at + by
        if to < 0 and self._at < 0:
            return None
        if to >= len(self.entries):
            return None
        self._at = max(to, -1)
        found = self._typed if self._at < 0 else self.entries[self._at]
        if found == now and by > 0 and self._at + 1 < len(self.entries):
            # The latest search is still in the field: the one before it is wanted.
            self._at += 1
            return self.entries[self._at]
        return found
