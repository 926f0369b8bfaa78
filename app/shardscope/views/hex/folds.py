"""Folding of rows of equal bytes into one line; a job measures how far they extend. No painting."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shardcore import Cancelled
from shardcore.model.text import plural
from shardcore.operations.search import Pattern, find_in
from shardscope.session.byte_pages import PAGE, BytePage, PageCache, Readable
from shardscope.session.jobs import Job
from shardscope.views.hex.layout import HexLayout, ScreenRows

LOCAL = 1 << 30
"""Maximum number of bytes compared beyond each end of a fold in a local source."""

CHUNK = 4 * 1024 * 1024
"""Number of bytes compared between two checks for cancellation."""

KEPT = 128
"""Maximum number of pages whose folds are cached."""


def fold_text(rows: int, value: int, *, more: bool = False, hits: int = 0) -> str:
    least, found = "at least " if more else "", f" · {plural(hits, 'hit')}" if hits else ""
    return f"{least}{plural(rows, 'row')} of {value:02x}{found}"


def hits_inside(patterns: Sequence[Pattern], value: int, size: int) -> int:
    """Return the number of hits in `size` bytes of one value; the longest matching pattern counts."""
    row = bytes([value])
    longest = max((one.size for one in patterns if len(find_in(row * one.size, one))), default=size + 1)
    return max(size - longest + 1, 0)


def folds_of(layout: HexLayout, page: BytePage) -> tuple[range, ...]:
    """Return the row ranges of a page that can be folded: two or more rows of one byte value in one field."""
    width, runs = layout.width, page.runs
    first = layout.row_of(page.start + width - 1)
    start = layout.row_start(first)
    count = (page.stop - start) // width
    if runs is None or count < 2:
        return ()
    data = np.frombuffer(page.data, np.uint8, count * width, start - page.start).reshape(count, width)
    borders = np.concatenate([runs.start, runs.stop]) - start
    borders = borders[(borders > 0) & (borders < data.size)]
    equal = (data == data[:, :1]).all(axis=1)
    equal[borders[borders % width > 0] // width] = False
    joined = equal[1:] & equal[:-1] & (data[1:, 0] == data[:-1, 0])
    joined[borders[borders % width == 0] // width - 1] = False
    edges = np.flatnonzero(np.diff(joined, prepend=False, append=False)).tolist()
    return tuple(range(first + a, first + b + 1) for a, b in zip(edges[::2], edges[1::2], strict=True))


@dataclass(frozen=True, slots=True)
class EqualBytes:
    """Equal bytes in one field. There may be more on each side whose end was not reached."""

    start: int
    stop: int
    ended: bool = False


def measure(readable: Readable, name: str, found: EqualBytes, check: Callable[[], object]) -> EqualBytes:
    """Extend equal bytes to both sides by at most `LOCAL`, in a remote source within cached bytes. Runs in a job."""
    source = readable.bytes_of(name)
    value = source.read(found.start, found.start + 1)[0]
    low, high = max(found.start - LOCAL, 0), min(found.stop + LOCAL, source.size)
    if not source.near:
        cached = (one for one in source.loaded(low, high) if one[0] <= found.start and found.stop <= one[1])
        low, high = next(cached, (found.start, found.stop))

    def in_field(at: int, size: int, ahead: int) -> int:
        first, last = (at - 1, at + size) if ahead > 0 else (at - size, at + 1)
        runs = readable.runs(first, last, name).clip(first, last)
        return (int(runs.stop[0]) - at if ahead > 0 else at - int(runs.start[-1])) if len(runs) else 0

    def equal(at: int, size: int, ahead: int) -> int:
        check()
        start = at if ahead > 0 else at - size
        differs = np.frombuffer(source.read(start, start + size), np.uint8)[::ahead] != value
        count = int(differs.argmax()) if differs.any() else size
        # Check the field of the next byte first, so that a table of equal records is not laid out.
        return in_field(at, count, ahead) if count and in_field(at, 1, ahead) else 0

    begin, end = found.start, found.stop
    while begin > low:
        size = min(CHUNK, begin - low)
        begin -= (count := equal(begin, size, -1))
        if count < size:
            break
    ended = end == source.size
    while end < high and not ended:
        size = min(CHUNK, high - end)
        end += (count := equal(end, size, 1))
        ended = count < size or end == source.size
    return EqualBytes(begin, end, ended)


class RowFolds:
    """Folds of one source; a fold is shown at its first row.

    `edges` returns the offsets that split a fold, or None if a range must not be folded.
    """

    def __init__(
        self, pages: PageCache, edges: Callable[[int, int], Sequence[int] | None], changed: Callable[[], object]
    ) -> None:
        self._pages = pages
        self._edges = edges
        self._changed = changed
        self._name = ""
        self._layout = HexLayout(0)
        self._known: dict[int, tuple[BytePage, tuple[range, ...]]] = {}
        self._version = pages.version
        self._measured: list[EqualBytes] = []
        self._asked: tuple[object, Job] | None = None
        self.opened: set[int] = set()

    def use(self, name: str, layout: HexLayout) -> None:
        if name != self._name:
            self._measured.clear()
        self._name, self._layout = name, layout
        self._known.clear()

    def at(self, row: int) -> range | None:
        return self._around(row)[0]

    def screen(self, top: int, lines: int) -> ScreenRows:
        """Return the rows shown on `lines` lines from row `top`; a fold that begins above is cut at `top`."""
        folds: list[range] = []
        row, left, more = top, lines, False
        while left > 0 and row < self._layout.rows and not more:
            fold, more = self._around(row)
            stop = fold.stop if fold is not None else row + 1
            if stop - row > 1:
                folds.append(range(row, stop))
            row, left = stop, left - 1
        return ScreenRows(top, lines - left, tuple(folds), more)

    def away(self, row: int, lines: int) -> int:
        """Return the row `lines` lines below a row (negative: above). Outside the source, each line is one row."""
        if lines >= 0:
            return self.screen(row, lines).row_at(lines)
        while lines < 0 < row:
            fold = self.at(row - 1)
            row, lines = fold.start if fold is not None else row - 1, lines + 1
        return row + lines

    def measure(self, rows: ScreenRows) -> None:
        """Measure, in a job, the first visible fold that reaches the end of its page; one fold at a time."""
        if self._version != self._pages.version:
            self._version = self._pages.version
            self._measured.clear()
        name = self._name
        found = next((one for fold in rows.folds if (one := self._unmeasured(fold.start)) is not None), None)
        wanted = name, self._version, found
        if self._asked is not None and self._asked[0] != wanted:
            self._asked[1].cancel()
            self._asked = None
        if found is None or self._asked is not None:
            return

        def work(readable: Readable, job: Job) -> EqualBytes:
            return measure(readable, name, found, job.check)

        def done(measured: EqualBytes | None, error: BaseException | None) -> None:
            if self._asked is None or self._asked[1] is not job:
                return
            self._asked = None
            if not isinstance(error, Cancelled):
                self._measured = [measured or found, *self._measured[: KEPT - 1]]
                self._changed()

        job = self._pages.ask(work, key=("fold", id(self)), done=done)
        self._asked = wanted, job

    def _unmeasured(self, row: int) -> EqualBytes | None:
        found, page = self._equal(row)
        if found is None or page is None:
            return None
        width, size = self._layout.width, self._layout.size
        beyond = found.start - width < page.start > 0 or page.stop < min(found.stop + width, size)
        return found if beyond else None

    def _around(self, row: int) -> tuple[range | None, bool]:
        layout = self._layout
        start, stop = layout.row_start(row), layout.row_start(row + 1)
        found, _ = self._equal(row)
        edges = self._edges(found.start, found.stop) if found is not None else None
        if found is None or edges is None:
            return None, False
        low = max(found.start, *(edge for edge in edges if edge <= start), -1)
        high = min(found.stop, *(edge for edge in edges if edge > start), layout.size)
        fold = range(layout.row_of(low + layout.width - 1), layout.row_of(high))
        first, last = layout.row_start(fold.start), layout.row_start(fold.stop)
        if high < stop or len(fold) < 2 or any(first < at < last for at in self.opened):
            return None, False
        return fold, high == found.stop and not found.ended

    def _equal(self, row: int) -> tuple[EqualBytes | None, BytePage | None]:
        """Return the equal bytes around a row, with their page if they are not measured yet."""
        layout = self._layout
        start, stop = layout.row_start(row), layout.row_start(row + 1)
        for known in self._measured:
            if known.start <= start and stop <= known.stop:
                return known, None
        number = max(start, 0) // PAGE
        page = self._pages.get(self._name, number)
        folds = self._of_page(number, page) if page is not None else ()
        at = bisect_right(folds, row, key=lambda fold: fold.stop)
        if page is None or at == len(folds) or row not in folds[at]:
            return None, None
        first, end = layout.row_start(folds[at].start), layout.row_start(folds[at].stop)
        return EqualBytes(first, end, page.stop >= min(end + layout.width, layout.size)), page

    def _of_page(self, number: int, page: BytePage) -> tuple[range, ...]:
        known = self._known.get(number)
        if known is None or known[0] is not page:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[number] = page, folds_of(self._layout, page)
        return known[1]
