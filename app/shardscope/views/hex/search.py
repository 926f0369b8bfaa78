"""The search of a hex panel: its bar, and the hits on the bytes and on the overview."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from PySide6.QtCore import QObject

from shardcore import Shard
from shardcore.model.number_words import plural
from shardcore.operations.search import MAX_HITS, MAX_PATTERN, ContentHit, Pattern, search_contents
from shardscope.session.error_words import plain_words
from shardscope.session.fetch_cost import missing_of
from shardscope.session.hit_list import HitList
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.session import Session
from shardscope.session.words import offset_words
from shardscope.views.hex.overview import Overview
from shardscope.views.hex.search_bar import SearchBar
from shardscope.views.hex.state import HexState


class Searching(QObject):
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
        self._contents, self._at, self._rest = HitList(), 0, ""
        session.opened.connect(self._opened)
        session.jobs.changed.connect(self.bar.show_progress)

    def again(self, *, backward: bool) -> None:
        if self.bar.field.text():
            self.bar.show()
            self.bar.look(backward=backward)
        else:
            self.bar.start()

    def find_these(self) -> None:
        span = self._state.selection.span
        data = self._state.pages.bytes_at(self._state.name, span.start, min(span.stop, span.start + MAX_PATTERN))
        if data is None or span.size > MAX_PATTERN:
            told = self.tr("Select at most {0} bytes to find them elsewhere.").format(f"{MAX_PATTERN:,}")
            self._session.say(told, failed=True)
        elif data:
            self.bar.look_for("Hex", data.hex(" "))

    def _opened(self) -> None:
        self._contents = HitList()

    def _look_in_contents(self, patterns: Sequence[Pattern]) -> None:
        self._session.with_index(self.tr("Searching the contents"), lambda: self._begin_contents(patterns))

    def _begin_contents(self, patterns: Sequence[Pattern]) -> None:
        if self._contents.contents and tuple(self._contents.patterns) == tuple(patterns):
            self._go_to((self._at + 1) % len(self._contents))
            return
        what, unreadable, found = self.bar.field.text(), set[int](), list[ContentHit]()

        def work(shard: Shard, job: Job) -> None:
            if not shard.loaded:
                shard.load_index(job.progress)
            hits = search_contents(shard, patterns, job.progress, unreadable=lambda row, _: unreadable.add(row))
            found.extend(islice(hits, MAX_HITS))

        def take(*, stopped: bool = False) -> None:
            passed = self.tr("; {0} cannot be read").format(plural(len(unreadable), "object")) if unreadable else ""
            self._rest = passed + (self.tr("; stopped") if stopped else "")
            self._contents = HitList.of_contents(what, patterns, found)
            if found:
                self.bar.hits_changed.emit(self._contents)
                self.bar.list_wanted.emit()
                self._go_to(0)
            else:
                told = self.tr("not found in the contents so far") if stopped else self.tr("not found in the contents")
                self.bar.show_contents(None, told + self._rest, wrong=True)

        job = self._session.ask(
            work,
            lambda _: take(),
            failed=lambda error: self.bar.show_contents(
                None, self.tr("stopped: {0}").format(plain_words(error)), wrong=True
            ),
            stopped=lambda: take(stopped=True),
            key=("search contents", self),
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
            title=self.tr("Search contents"),
        )
        self.bar.show_contents(job, self.tr("searching the contents …"))

    def _go_to(self, number: int) -> None:
        self._at, hit = number, self._contents.contents[number]
        at = self.tr("{0} of {1}, in the content of row {2}, at {3}")
        told = at.format(f"{number + 1:,}", f"{len(self._contents):,}", f"{hit.row:,}", offset_words(hit.offset))
        self.bar.show_contents(None, f"{told} · {hit.pattern.name}{self._rest}")
        if hit.span is not None:
            self._session.select_span(hit.span)
        else:
            self._session.select_row(hit.row)

    def _when_agreed(self, go: Callable[[], object]) -> None:
        shard = self._session.shard
        source = shard.source if shard is not None and not self._state.name else None
        size = missing_of(source) if source is not None else 0
        self._session.when_agreed("Searching the whole file", size, go)

    def _mark_hits(self, hits: HitList) -> None:
        if hits.source == self._state.name and not hits.contents:
            self._overview.set_hits(hits.on_a_strip.tolist())

    def _mark_patterns(self, patterns: Sequence[Pattern]) -> None:
        if tuple(patterns) != tuple(self._state.patterns):
            self._overview.set_hits(())
        self._state.set_patterns(patterns)
