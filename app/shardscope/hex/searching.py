"""The search of a hex panel: its bar, and the hits on the bytes and on the overview."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from shardcore.patterns import MAX_PATTERN, Pattern
from shardscope.around.overview import Overview
from shardscope.around.search_bar import SearchBar
from shardscope.fetching import missing_of
from shardscope.hex.state import HexState
from shardscope.models.hit_list import HitList
from shardscope.session import Session


class Searching(QObject):
    """Connects a search bar with what it searches.

    Attributes:
        bar: The bar.
    """

    def __init__(self, session: Session, state: HexState, overview: Overview) -> None:
        super().__init__(state)
        self._session = session
        self._state = state
        self._overview = overview
        self.bar = SearchBar(lambda: state.selection.span, state.pages, agreed=self._when_agreed)
        self.bar.found.connect(session.select_span)
        self.bar.hits_changed.connect(self._mark_hits)
        self.bar.patterns_changed.connect(self._mark_patterns)
        session.jobs.changed.connect(self.bar.show_progress)

    def again(self, *, backward: bool) -> None:
        """Repeats the search; without one, asks what for."""
        if self.bar.field.text():
            self.bar.show()
            self.bar.look(backward=backward)
        else:
            self.bar.start()

    def find_these(self) -> None:
        """Searches the selected bytes elsewhere."""
        span = self._state.selection.span
        data = self._state.pages.bytes_at(self._state.name, span.start, min(span.stop, span.start + MAX_PATTERN))
        if data is None or span.size > MAX_PATTERN:
            told = self.tr("Select at most {0} bytes to find them elsewhere.").format(f"{MAX_PATTERN:,}")
            self._session.say(told, failed=True)
        elif data:
            self.bar.look_for("Hex", data.hex(" "))

    def _when_agreed(self, go: Callable[[], object]) -> None:
        """Searches; where that fetches much, asks first."""
        shard = self._session.shard
        source = shard.source if shard is not None and not self._state.name else None
        size = missing_of(source) if source is not None else 0
        self._session.when_agreed("Searching the whole file", size, go)

    def _mark_hits(self, hits: HitList) -> None:
        if hits.source == self._state.name:
            self._overview.set_hits(hits.on_a_strip(self._state.layout.size))

    def _mark_patterns(self, patterns: Sequence[Pattern]) -> None:
        if tuple(patterns) != tuple(self._state.patterns):
            self._overview.set_hits(())
        self._state.set_patterns(patterns)
