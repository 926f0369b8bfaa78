"""Cache of file bytes and their fields in pages of 16 KiB. Views request pages and paint those already in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from enum import Enum
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from shardcore import Cancelled, Node, Runs, Section, Source, Span, Truncated
from shardcore.dataclasses import dataclass, replace
from shardcore.progress import Progress
from shardcore.sources.base import read_pieces
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Done, Job, JobPriority, Jobs

PAGE = 16 * 1024

BUDGET = 64 * 1024 * 1024
"""Maximum memory of all pages in bytes; the least recently used pages are dropped."""

_Key = tuple[str, int]


def pieces_of(source: Source, span: Span, progress: Progress) -> Iterator[bytes]:
    """Yield the bytes of a span in pieces, at most to the end of the source; `progress` counts bytes."""
    done = 0
    for piece in read_pieces(source, span.start, min(span.stop, source.size)):
        progress(done, span.size)
        done += len(piece)
        yield piece


class PageState(Enum):
    MISSING = "missing"
    LOADING = "loading"
    LOADED = "loaded"
    FAILED = "failed"


class Readable(Protocol):
    """Object from which pages are read, such as a `Shard`; its methods are called on pool threads."""

    def bytes_of(self, name: str) -> Source: ...

    def runs(self, start: int, stop: int, source: str = "") -> Runs: ...

    def explain(self, offset: int, source: str = "") -> tuple[Node, ...]: ...

    def sections_of(self, name: str) -> tuple[Section, ...]: ...

    def fields_in(self, start: int, stop: int, source: str = "", *, limit: int = ...) -> list[tuple[Node, ...]]: ...


@dataclass(frozen=True, slots=True)
class BytePage:
    """Page of a source. `runs` are the fields of its bytes, None until computed; `epoch` is the index version used."""

    start: int
    data: bytes
    runs: Runs | None = None
    error: str = ""
    epoch: int = -1

    @property
    def stop(self) -> int:
        return self.start + len(self.data)

    @property
    def memory(self) -> int:
        return 200 + len(self.data) + (18 * len(self.runs) if self.runs is not None else 0)


class PageCache(QObject):
    """Cache of the pages of the open file. Use it on the GUI thread."""

    changed = Signal(object, object)
    """Carries the source name and number of a page: it was read, its fields were computed, or reading failed."""
    cleared = Signal()
    troubled = Signal(object)

    def __init__(self, jobs: Jobs, parent: QObject | None = None, *, budget: int = BUDGET) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._budget = budget
        self._memory = 0
        self._from: Readable | None = None
        self.version = self._round, self._epoch = 0, 0
        self._pages: OrderedDict[_Key, BytePage] = OrderedDict()
        self._loading: dict[_Key, Job] = {}
        self._painting: dict[_Key, Job] = {}
        self._ranges: dict[str, list[tuple[int, int]]] = {}
        self._screens: dict[str, Collection[int]] = {}
        self._left: set[_Key] = set()

    def use(self, readable: Readable | None) -> None:
        self._round += 1
        self.version = self._round, self._epoch
        for job in (*self._loading.values(), *self._painting.values()):
            job.cancel()
        self._loading.clear()
        self._painting.clear()
        self._pages.clear()
        self._ranges.clear()
        self._screens.clear()
        self._left.clear()
        self._memory = 0
        self._from = readable
        self.cleared.emit()

    def refresh_runs(self) -> None:
        """Compute the fields (`runs`) of a page again when it is next requested; call this after loading the index."""
        self._epoch += 1
        self.version = self._round, self._epoch
        for name, number in list(self._pages):
            self.changed.emit(name, number)

    def get(self, name: str, number: int) -> BytePage | None:
        """Return a page if it is in memory (it may contain an error), otherwise None. Sends no request."""
        page = self._pages.get((name, number))
        if page is not None:
            self._pages.move_to_end((name, number))
        return page

    def state(self, name: str, number: int) -> PageState:
        page = self._pages.get((name, number))
        if page is not None:
            return PageState.FAILED if page.error else PageState.LOADED
        return PageState.LOADING if (name, number) in self._loading else PageState.MISSING

    def want(self, name: str, numbers: Collection[int], *, ahead: int = 0, pages: int | None = None) -> None:
        """Request pages; cancel requests for others of the source. `ahead`: also get the next (1) or previous (-1)."""
        if self._from is None:
            return
        self._screens[name] = numbers
        guess = {1: max(numbers) + 1, -1: min(numbers) - 1}.get(ahead, -1)
        for key, job in list(self._loading.items()):
            if key[0] == name and key[1] not in numbers and key[1] != guess:
                job.cancel()
                self._left.add(key)
        for number in numbers:
            self._ask(name, number, JobPriority.SCREEN)
        if guess >= 0 and (pages is None or guess < pages):
            self._ask(name, guess, JobPriority.PREFETCH)

    def loaded(self, name: str) -> list[tuple[int, int]]:
        """Return the byte ranges of a source that are in memory, half-open and sorted."""
        if name in self._ranges:
            return self._ranges[name]
        ranges: list[tuple[int, int]] = []
        for number in sorted(number for (source, number), page in self._pages.items() if source == name and page.data):
            page = self._pages[name, number]
            if ranges and ranges[-1][1] == page.start:
                ranges[-1] = (ranges[-1][0], page.stop)
            else:
                ranges.append((page.start, page.stop))
        self._ranges[name] = ranges
        return ranges

    def bytes_at(self, name: str, start: int, stop: int) -> bytes | None:
        parts = []
        for number in range(start // PAGE, -(-stop // PAGE)):
            page = self._pages.get((name, number))
            if page is None or not page.data:
                return None
            parts.append(page.data[max(start - page.start, 0) : stop - page.start])
        data = b"".join(parts)
        return data if len(data) == stop - start else None

    def ask(self, work: Callable[[Readable, Job], object], *, key: object, done: Done, **options: Any) -> Job:
        readable = self._from

        def run(job: Job) -> object:
            if readable is None:
                raise Cancelled
            return work(readable, job)

        return self._jobs.submit(run, key=key, done=done, **options)

    def describe(self, name: str, done: Done, *, key: object) -> Job:
        return self.ask(
            lambda readable, _: (readable.bytes_of(name).size, readable.sections_of(name)), key=key, done=done
        )

    def explain(self, name: str, offset: int, done: Callable[[tuple[Node, ...]], None], *, key: object) -> None:
        """Compute in a job the path of nodes to a byte, and pass it to `done`, which is not called after an error."""

        def deliver(path: tuple[Node, ...] | None, error: BaseException | None) -> None:
            if error is None and path:
                done(path)

        self.ask(lambda readable, _: readable.explain(offset, name), key=key, done=deliver)

    # --- fetching ---

    def _ask(self, name: str, number: int, priority: JobPriority) -> None:
        key, page = (name, number), self.get(name, number)
        if page is None:
            if key not in self._loading:
                self._load(key, priority)
        elif not page.error and page.epoch != self._epoch and key not in self._painting:
            self._paint(key, page, priority)

    def _load(self, key: _Key, priority: JobPriority) -> None:
        readable, current = self._from, self._round
        assert readable is not None
        name, start = key[0], key[1] * PAGE

        def run(job: Job) -> BytePage:
            source = readable.bytes_of(name)
            if start >= source.size:
                raise Truncated(f"no byte {start:#x}: {name or 'the file'} has {source.size} bytes")
            return BytePage(start, source.read(start, min(start + PAGE, source.size)))

        def done(page: BytePage | None, error: BaseException | None) -> None:
            if current != self._round:
                return
            self._loading.pop(key, None)
            left = key in self._left
            self._left.discard(key)
            if isinstance(error, Cancelled):
                # The page may be on the screen again: it was scrolled back before the job ended.
                if left and key[1] in self._screens.get(key[0], ()):
                    self._ask(*key, JobPriority.SCREEN)
                return
            self._keep(key, page if page is not None else BytePage(start, b"", error=error_text(error)))
            if page is not None and key in self._pages:
                self._paint(key, page, priority)
            self.changed.emit(*key)
            if error is not None:
                self.troubled.emit(error)

        self._loading[key] = self._jobs.submit(run, key=("page", self, *key), priority=priority, done=done)

    def _paint(self, key: _Key, page: BytePage, priority: JobPriority) -> None:
        readable, current, epoch = self._from, self._round, self._epoch
        assert readable is not None

        def run(job: Job) -> Runs:
            return readable.runs(page.start, page.stop, key[0]).clip(page.start, page.stop)

        def done(runs: Runs | None, error: BaseException | None) -> None:
            if current != self._round:
                return
            self._painting.pop(key, None)
            if isinstance(error, Cancelled) or key not in self._pages:
                return
            # After an error, runs are not requested again: the bytes keep the colour of their section.
            old = self._pages[key]
            self._keep(key, replace(old, runs=runs if runs is not None else old.runs, epoch=epoch))
            self.changed.emit(*key)
            if error is not None:
                self.troubled.emit(error)

        self._painting[key] = self._jobs.submit(run, key=("runs", self, *key), priority=priority, done=done)

    def _keep(self, key: _Key, page: BytePage) -> None:
        self._ranges.clear()
        if key in self._pages:
            self._memory -= self._pages[key].memory
        self._pages[key] = page
        self._pages.move_to_end(key)
        self._memory += page.memory
        while self._memory > self._budget and len(self._pages) > 1:
            _, oldest = self._pages.popitem(last=False)
            self._memory -= oldest.memory
