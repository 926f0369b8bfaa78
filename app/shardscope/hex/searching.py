"""The search of a hex panel: its bar, and the hits on the bytes and on the overview."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from shardcore import Shard
from shardcore.patterns import MAX_PATTERN, Pattern
from shardcore.search import ContentHit, search_contents
from shardcore.words import plural
from shardscope.around.overview import Overview
from shardscope.around.search_bar import SearchBar
from shardscope.fetching import missing_of
from shardscope.hex.state import HexState
from shardscope.jobs import Job, Pool, Priority
from shardscope.looks.remedies import plain_words
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
        self.bar.contents_wanted.connect(self._look_in_contents)
        self._last: tuple[Sequence[Pattern], ContentHit] | None = None
        session.opened.connect(self._opened)
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

    def _opened(self) -> None:
        self._last = None

    def _look_in_contents(self, patterns: Sequence[Pattern]) -> None:
        """Searches the decoded contents in a job, and goes to the next hit."""
        self._session.with_index(self.tr("Searching the contents"), lambda: self._begin_contents(patterns))

    def _begin_contents(self, patterns: Sequence[Pattern]) -> None:
        last = self._last[1] if self._last is not None and tuple(self._last[0]) == tuple(patterns) else None
        unreadable: set[int] = set()

        def work(shard: Shard, job: Job) -> ContentHit | None:
            if not shard.loaded:
                shard.load_index(job.progress)
            after = (last.row, last.offset) if last is not None else (0, -1)
            hits = search_contents(
                shard, patterns, job.progress, after=after, unreadable=lambda row, _: unreadable.add(row)
            )
            return next(hits, None)

        def take(hit: ContentHit | None) -> None:
            passed = self.tr("; {0} cannot be read").format(plural(len(unreadable), "object")) if unreadable else ""
            if hit is None:
                self.bar.show_contents(None, self.tr("not found in the contents") + passed, wrong=True)
                return
            self._last = patterns, hit
            told = self.tr("in the content of row {0}, at {1}").format(f"{hit.row:,}", f"{hit.offset:,}")
            self.bar.show_contents(None, f"{told} · {hit.pattern.name}{passed}")
            if hit.span is not None:
                self._session.select_span(hit.span)
            else:
                self._session.select_row(hit.row)

        job = self._session.ask(
            work,
            take,
            failed=lambda error: self.bar.show_contents(
                None, self.tr("stopped: {0}").format(plain_words(error)), wrong=True
            ),
            stopped=lambda: self.bar.show_contents(None, self.tr("stopped")),
            key=("search contents", self),
            pool=Pool.CPU,
            priority=Priority.SCAN,
            title=self.tr("Search contents"),
        )
        self.bar.show_contents(job, self.tr("searching the contents …"))

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
