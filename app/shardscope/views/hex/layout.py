"""Rows of a hex view: their offsets, their bytes from loaded pages, folds of equal rows, and positions in pixels."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, IntEnum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QBrush, QFont, QFontMetricsF, QPainter, QPolygonF

from shardcore import Cancelled, FieldRole, Section, SectionRole
from shardcore.dataclasses import dataclass, replace
from shardcore.model.text import plural
from shardcore.operations.search import Pattern, Searched, find_in
from shardscope.session.byte_marks import Proposed, Range, sections_in
from shardscope.session.byte_pages import PAGE, BytePage, PageCache, PageState, Readable
from shardscope.session.display_text import GROUP, offset_words
from shardscope.session.jobs import Job

MAX_WIDTH = 1024
"""Maximum number of bytes per row."""


# --- rows and offsets, in Python integers of any size ---


@dataclass(frozen=True)
class HexLayout:
    """Division of a source into rows: a row starts at each offset where `(offset + lead) % width` is 0.

    The first row has `lead` blank cells, so that rows can align to records at any offset.
    """

    size: int
    width: int = 16
    lead: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.width <= MAX_WIDTH or not 0 <= self.lead < self.width:
            raise ValueError(f"width must be 1 to {MAX_WIDTH} and lead below width, not {self.width} and {self.lead}")

    @staticmethod
    def aligned(size: int, width: int, origin: int) -> HexLayout:
        return HexLayout(size, width, -origin % width)

    @cached_property
    def rows(self) -> int:
        return max(-(-(self.size + self.lead) // self.width), 1)

    @cached_property
    def digits(self) -> int:
        return max(len(offset_words(max(self.size - 1, 0))), 8)

    def offset_text(self, offset: int) -> str:
        return offset_words(offset).rjust(self.digits)

    def row_of(self, offset: int) -> int:
        return (offset + self.lead) // self.width

    def column_of(self, offset: int) -> int:
        return (offset + self.lead) % self.width

    def row_start(self, row: int) -> int:
        """Return the offset of the first cell of a row; negative for blank cells."""
        return row * self.width - self.lead

    def clamp(self, offset: int) -> int:
        return min(max(offset, 0), max(self.size - 1, 0))


@dataclass(frozen=True)
class ScreenRows:
    """Rows on the screen. A line shows one row or a fold (several equal rows); `folds` are ascending, from `top` on.

    `more`: the end of the last fold is not known yet; its equal rows may continue below the screen.
    """

    top: int
    lines: int
    folds: tuple[range, ...] = ()
    more: bool = False

    @cached_property
    def starts(self) -> list[int]:
        """First row of each line, and of the line below the screen."""
        rows: list[int] = []
        row = self.top
        for fold in self.folds:
            rows += range(row, fold.start + 1)
            row = fold.stop
        rows += range(row, row + self.lines + 1 - len(rows))
        return rows

    def row_at(self, line: int) -> int:
        """Return the first row of a line; lines outside the screen count as one row each."""
        if line < 0:
            return self.top + line
        return self.starts[line] if line <= self.lines else self.starts[-1] + line - self.lines

    def line_of(self, row: int) -> int:
        if row < self.top:
            return row - self.top
        last = self.starts[-1]
        return bisect_right(self.starts, row) - 1 if row < last else self.lines + row - last

    def part(self, line: int, count: int) -> ScreenRows:
        top, stop = self.row_at(line), self.row_at(line + count)
        folds = tuple(fold for fold in self.folds if top <= fold.start < stop)
        return ScreenRows(top, count, folds, self.more and line + count == self.lines)

    @cached_property
    def parts(self) -> list[tuple[int, ScreenRows]]:
        """Parts of the screen, each with its first line: a single fold, or consecutive rows without a fold."""
        found, line = [], 0
        for fold in self.folds:
            at = self.line_of(fold.start)
            if at > line:
                found.append((line, self.part(line, at - line)))
            found.append((at, self.part(at, 1)))
            line = at + 1
        if line < self.lines:
            found.append((line, self.part(line, self.lines - line) if line else self))
        return found


def hex_column(cell: int) -> int:
    """Return the character column of a byte in the hex part: three per byte, one more between groups."""
    return 3 * cell + cell // GROUP


def cell_at_column(column: float, width: int, gap: float = 1.0) -> int:
    """Return the byte nearest to a column of the hex part; columns and `gap` are in characters."""
    group, rest = divmod(column + gap / 2, (2 + gap) * GROUP + gap)
    cell = int(group) * GROUP + min(int(rest // (2 + gap)), GROUP - 1)
    return min(max(cell, 0), width - 1)


# --- bytes and roles of rows, from loaded pages ---

SECTION_ROLES = tuple(SectionRole)
NO_RUN = -(1 << 40)
"""`ByteCells.before` if the run is unknown: farther away than any row is wide."""

SHADES = 2 * len(FieldRole)
"""Number of values of `ByteCells.shade` per section: one for each field role and parity."""


class CellState(IntEnum):
    BLANK = 0
    LOADED = 1
    MISSING = 2
    FAILED = 3


class Gap(NamedTuple):
    """Half-open range of bytes on the screen that are not loaded, and the reason."""

    start: int
    stop: int
    state: PageState
    reason: str


@dataclass(frozen=True)
class ByteCells:
    """Cells of some rows; all arrays have shape `(rows, width)`.

    Attributes:
        first: Offset of the first cell; negative if the first row starts with blank cells.
        data: The bytes; 0 where they are not loaded.
        state: `CellState`.
        shade: Section index * `SHADES` + field role * 2 + parity.
        begins: `FieldRole` + 1 at the first byte of a run (bytes of one field), else 0.
        before: Start of the run of the byte before the first cell, relative to that cell; `NO_RUN` if unknown.
    """

    first: int
    data: NDArray[np.uint8]
    state: NDArray[np.uint8]
    shade: NDArray[np.uint16]
    begins: NDArray[np.uint8]
    before: int
    gaps: tuple[Gap, ...]

    def under_another(self) -> NDArray[np.bool_]:
        """Return which cells are below a byte of another run, so need a border above; shape `(rows, width)`."""
        width = self.data.shape[1]
        places = np.arange(self.data.size)
        owner = np.maximum.accumulate(np.where(self.begins.ravel() > 0, places, self.before))
        other: NDArray[np.bool_] = (owner > places - width).reshape(self.data.shape)
        if self.first <= 0:
            # There is no row above the first one.
            other[0] = False
        return other


def gather(
    layout: HexLayout, top: int, rows: int, pages: PageCache, name: str, sections: Sequence[Section]
) -> ByteCells:
    """Return the cells of rows `[top, top + rows)` from loaded pages; reads nothing."""
    first, count = layout.row_start(top), rows * layout.width
    data, state, begins = np.zeros((3, count), np.uint8)
    shade = np.zeros(count, np.uint16)
    start, stop = max(first, 0), min(first + count, layout.size)
    gaps: list[Gap] = []
    for number in range(start // PAGE, -(-stop // PAGE) if stop > start else 0):
        page_start, page_stop = max(start, number * PAGE), min(stop, (number + 1) * PAGE)
        here = slice(page_start - first, page_stop - first)
        page = pages.get(name, number)
        if page is None or page.stop < page_stop:
            state[here] = CellState.FAILED if page is not None else CellState.MISSING
            gaps.append(Gap(page_start, page_stop, pages.state(name, number), _reason(page)))
            continue
        data[here] = np.frombuffer(page.data, np.uint8, page_stop - page_start, page_start - page.start)
        state[here] = CellState.LOADED
        _colour(page, page_start, page_stop, first, shade, begins)
    for section in sections_in(sections, start, stop):
        part = slice(max(section.start, start) - first, min(section.stop, stop) - first)
        shade[part] += SECTION_ROLES.index(section.role) * SHADES
    before = run_at(pages, name, first - 1) if first > 0 else None
    distance = before[0] - first if before is not None else NO_RUN
    shape = (rows, layout.width)
    data, state, shade, begins = data.reshape(shape), state.reshape(shape), shade.reshape(shape), begins.reshape(shape)
    return ByteCells(first, data, state, shade, begins, distance, _merged(gaps) if gaps else ())


def _reason(page: BytePage | None) -> str:
    return page.error or "the source ends here" if page is not None else ""


def _colour(
    page: BytePage, start: int, stop: int, first: int, shade: NDArray[np.uint16], begins: NDArray[np.uint8]
) -> None:
    """Write shade and field starts of bytes `[start, stop)` of a page into arrays that begin at offset `first`."""
    runs = page.runs
    if runs is None:
        return
    low = int(np.searchsorted(runs.stop, start, "right"))
    high = int(np.searchsorted(runs.start, stop, "left"))
    starts, stops = runs.start[low:high], runs.stop[low:high]
    roles, parities = runs.role[low:high].astype(np.uint16), runs.parity[low:high]
    clipped = np.maximum(starts, start)
    lengths = np.minimum(stops, stop) - clipped
    # Positions of all bytes of all runs: consecutive numbers, shifted run by run.
    ends = np.cumsum(lengths)
    places = np.repeat(clipped - first - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
    shade[places] = np.repeat(roles * 2 + parities, lengths)
    shown = (starts >= start) & ((starts > page.start) | (page.start == 0))
    begins[starts[shown] - first] = roles[shown] + 1


def _merged(gaps: Sequence[Gap]) -> tuple[Gap, ...]:
    merged: list[Gap] = []
    for gap in gaps:
        if merged and merged[-1][1:] == (gap.start, *gap[2:]):
            gap = gap._replace(start=merged.pop().start)
        merged.append(gap)
    return tuple(merged)


def with_new(cells: ByteCells, proposed: Proposed) -> ByteCells:
    """Return cells with the new bytes of an edit. Removed bytes become blank, bytes not in memory become missing."""
    start, stop = max(cells.first, 0), cells.first + cells.data.size
    touched = proposed.inside(start, stop) if proposed.shows_new else ()
    if not touched:
        return cells
    data, state = cells.data.ravel().copy(), cells.state.ravel().copy()
    for one in touched:
        low, high = max(one.start, start), min(one.stop, stop)
        part = slice(low - cells.first, high - cells.first)
        # Beyond the end of the source there are no cells.
        there = state[part] != CellState.BLANK
        if one.new is None and not one.zeros:
            data[part], state[part] = 0, CellState.BLANK
            continue
        known = one.known(low, high)
        state[part] = np.where(there, CellState.MISSING, CellState.BLANK)
        known_part = slice(part.start, part.start + len(known))
        data[known_part] = np.frombuffer(known, np.uint8)
        state[known_part] = np.where(there[: len(known)], CellState.LOADED, CellState.BLANK)
    return replace(cells, data=data.reshape(cells.data.shape), state=state.reshape(cells.state.shape))


def roles_in(parts: Iterable[ByteCells]) -> set[FieldRole]:
    shades = [cells.shade[cells.state == CellState.LOADED] for cells in parts]
    # Not `np.unique`, whose first call imports `numpy.ma`.
    return {FieldRole(role) for part in shades for role in set((part % SHADES // 2).astype(np.uint8).tobytes())}


def failed_in(pages: PageCache, name: str, start: int, stop: int) -> list[tuple[Range, str]]:
    """Return the unreadable ranges in `[start, stop)` with reasons; adjacent ones with equal reasons are merged."""
    gaps = []
    for number in range(start // PAGE, -(-stop // PAGE) if stop > start else 0):
        page = pages.get(name, number)
        page_start, page_stop = max(start, number * PAGE), min(stop, (number + 1) * PAGE)
        if page is not None and page.stop < page_stop:
            gaps.append(Gap(page_start, page_stop, PageState.FAILED, _reason(page)))
    return [((gap.start, gap.stop), gap.reason) for gap in _merged(gaps)] if gaps else []


def run_at(pages: PageCache, name: str, offset: int) -> Range | None:
    """Return the range of the run that contains a byte, within adjacent loaded pages; None if it is not loaded."""
    found = _run_in(pages.get(name, offset // PAGE), offset)
    if found is None:
        return None
    start, stop, kind = found
    while start % PAGE == 0 and start > 0:
        before = _run_in(pages.get(name, start // PAGE - 1), start - 1)
        if before is None or before[2] != kind:
            break
        start = before[0]
    while stop % PAGE == 0:
        after = _run_in(pages.get(name, stop // PAGE), stop)
        if after is None or after[2] != kind:
            break
        stop = after[1]
    return start, stop


def _run_in(page: BytePage | None, offset: int) -> tuple[int, int, tuple[int, int]] | None:
    """Return start, stop, and role with parity of the run at a byte of a page; None if it is unknown."""
    runs = page.runs if page is not None else None
    at = int(np.searchsorted(runs.start, offset, "right")) - 1 if runs is not None else -1
    if runs is None or at < 0 or offset >= int(runs.stop[at]):
        return None
    return int(runs.start[at]), int(runs.stop[at]), (int(runs.role[at]), int(runs.parity[at]))


# --- folds: rows of equal bytes that share a line ---

LOCAL = 1 << 30
"""Maximum number of bytes compared beyond each end of a fold in a local source."""

CHUNK = 4 * 1024 * 1024
"""Number of bytes compared between two checks for cancellation."""

KEPT = 128
"""Maximum number of pages whose folds are cached, and of folds whose real ends are cached."""


def fold_text(rows: int, value: int, *, more: bool = False, hits: int = 0) -> str:
    least, found = "at least " if more else "", f" · {plural(hits, 'hit')}" if hits else ""
    return f"{least}{plural(rows, 'row')} of {value:02x}{found}"


def hits_inside(patterns: Sequence[Searched], value: int, size: int) -> int:
    """Return the number of hits of the longest matching pattern in `size` bytes of one value; ignores expressions."""
    row, plain = bytes([value]), [one for one in patterns if isinstance(one, Pattern)]
    longest = max((one.size for one in plain if len(find_in(row * one.size, one))), default=size + 1)
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


class EqualBytes(NamedTuple):
    """Run of equal bytes in one field. `ended`: it ends at `stop`. `beyond`: it may continue on other pages."""

    start: int
    stop: int
    ended: bool = False
    beyond: bool = False


def measure(readable: Readable, name: str, found: EqualBytes, check: Callable[[], object]) -> EqualBytes:
    """Find more equal bytes on both sides: at most `LOCAL` each, in a remote source only cached ones. Runs in a job."""
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


class _Fold(NamedTuple):
    """Half-open range of folded rows; `stop` is the first field, since folds are sorted by it."""

    stop: int
    start: int
    more: bool


class RowFolds:
    """Folds of one source; a fold is shown at its first row.

    `edges(start, stop)` returns offsets that split a fold, or None if it must not be folded. Folds are cached by page:
    call `forget` when edges or `opened` change.
    """

    def __init__(
        self, pages: PageCache, edges: Callable[[int, int], Sequence[int] | None], changed: Callable[[], object]
    ) -> None:
        self._pages, self._edges, self._changed = pages, edges, changed
        self._name = ""
        self._layout = HexLayout(0)
        self._known: dict[int, tuple[BytePage | None, list[EqualBytes], list[_Fold]]] = {}
        self._version = pages.version
        self._measured: list[EqualBytes] = []
        self._asked: tuple[object, Job] | None = None
        self.opened: set[int] = set()

    def use(self, name: str, layout: HexLayout) -> None:
        if name != self._name:
            self._measured.clear()
        self._name, self._layout = name, layout
        self.forget()

    def forget(self) -> None:
        self._known.clear()

    def at(self, row: int) -> range | None:
        fold = self._next(row, row + 1)
        return range(fold.start, fold.stop) if fold is not None else None

    def screen(self, top: int, lines: int) -> ScreenRows:
        """Return the rows shown on `lines` lines from row `top`; a fold that begins above is cut at `top`."""
        folds: list[range] = []
        row, left, more = top, lines, False
        while left > 0 and row < self._layout.rows and not more:
            end = min(row + left, self._layout.rows)
            fold = self._next(row, end)
            plain = max(fold.start, row) - row if fold is not None else end - row
            row, left = row + plain, left - plain
            if fold is not None:
                if fold.stop - row > 1:
                    folds.append(range(row, fold.stop))
                row, left, more = fold.stop, left - 1, fold.more
        return ScreenRows(top, lines - left, tuple(folds), more)

    def away(self, row: int, lines: int) -> int:
        """Return the row `lines` lines below a row (negative: above). Outside the source, each line is one row."""
        if lines >= 0:
            return self.screen(row, lines).row_at(lines)
        while lines < 0 < row:
            fold = self._before(row, max(row + lines, 0))
            if fold is None:
                break
            row, lines = fold.start, lines + max(row - fold.stop, 0) + 1
        return row + lines

    def _next(self, row: int, end: int) -> _Fold | None:
        """Return the first fold that ends after `row` and begins before `end`."""
        for number in range(self._page_of(row), self._page_of(end - 1) + 1):
            folds = self._on(number)[2]
            at = bisect_left(folds, (row + 1,))
            if at < len(folds):
                return folds[at] if folds[at].start < end else None
        return None

    def _before(self, row: int, least: int) -> _Fold | None:
        """Return the last fold that begins before `row` and ends after `least`."""
        for number in range(self._page_of(row - 1), self._page_of(least) - 1, -1):
            folds = self._on(number)[2]
            at = bisect_left(folds, (row,))
            at -= at == len(folds) or folds[at].start >= row
            if at >= 0:
                return folds[at] if folds[at].stop > least else None
        return None

    def _page_of(self, row: int) -> int:
        return max(row * self._layout.width - self._layout.lead, 0) // PAGE

    def _on(self, number: int) -> tuple[BytePage | None, list[EqualBytes], list[_Fold]]:
        """Return a page, its equal bytes whose ends were not searched on other pages, and its folds."""
        page, known = self._pages.get(self._name, number), self._known.get(number)
        if known is not None and known[0] is page:
            return known
        layout, start, stop = self._layout, number * PAGE, (number + 1) * PAGE
        measured = [one for one in self._measured if one.start < stop and one.stop > start]
        equal = []
        for rows in folds_of(layout, page) if page is not None else ():
            first, last = layout.row_start(rows.start), layout.row_start(rows.stop)
            if page is None or any(one.start < last and first < one.stop for one in measured):
                continue
            ended = page.stop >= min(last + layout.width, layout.size)
            equal.append(EqualBytes(first, last, ended, not ended or first - layout.width < page.start > 0))
        if len(self._known) >= KEPT:
            self._known.clear()
        folds = sorted(fold for one in (*measured, *equal) for fold in self._split(one))
        known = self._known[number] = page, equal, folds
        return known

    def _split(self, found: EqualBytes) -> list[_Fold]:
        layout, edges = self._layout, self._edges(found.start, found.stop)
        if edges is None:
            return []
        folds = []
        ends = {found.start, found.stop, *(edge for edge in edges if found.start < edge < found.stop)}
        for low, high in pairwise(sorted(ends)):
            start, stop = layout.row_of(low + layout.width - 1), layout.row_of(min(high, layout.size))
            first, last = layout.row_start(start), layout.row_start(stop)
            if stop - start > 1 and not any(first < at < last for at in self.opened):
                folds.append(_Fold(stop, start, high == found.stop and not found.ended))
        return folds

    def measure(self, rows: ScreenRows) -> bool:
        """Find the ends of the first visible fold that may go beyond its page, in a job; True if `rows` is outdated."""
        outdated = self._version != self._pages.version and bool(self._measured)
        self._version = self._pages.version
        if outdated:
            self._measured = []
            self.forget()
        name, found = self._name, self._unmeasured(rows)
        wanted = name, self._version, found
        if self._asked is not None and self._asked[0] != wanted:
            self._asked[1].cancel()
            self._asked = None
        if found is None or self._asked is not None:
            return outdated

        def work(readable: Readable, job: Job) -> EqualBytes:
            return measure(readable, name, found, job.check)

        def done(measured: EqualBytes | None, error: BaseException | None) -> None:
            if self._asked is None or self._asked[1] is not job:
                return
            self._asked = None
            if not isinstance(error, Cancelled):
                self._measured = [measured or found._replace(beyond=False), *self._measured[: KEPT - 1]]
                self._changed()

        job = self._pages.ask(work, key=("fold", id(self)), done=done)
        self._asked = wanted, job
        return outdated

    def _unmeasured(self, rows: ScreenRows) -> EqualBytes | None:
        for fold in rows.folds:
            start = self._layout.row_start(fold.start)
            for one in self._on(self._page_of(fold.start))[1]:
                if one.beyond and one.start <= start < one.stop:
                    return one
        return None


# --- pixels, rounded to device pixels ---

_SAMPLE = 128
_LETTER = 0.77
_MARGIN, _TIGHT = 10, 6


class HexPart(Enum):
    HEX = "hex"
    TEXT = "text"


PARTS = tuple(HexPart)


class Block(NamedTuple):
    """Rectangle of cells: rows `[row, last)` of the screen, cells `[cell, stop)`."""

    row: int
    last: int
    cell: int
    stop: int


class HexGrid:
    """Geometry of a hex view in pixels; `gap` between two bytes is doubled between groups."""

    def __init__(self, font: QFont, layout: HexLayout, ratio: float, *, tight: bool = False) -> None:
        self.layout = layout
        self.tight = tight
        self.ratio = ratio
        metrics = QFontMetricsF(font)
        natural = metrics.horizontalAdvance("0" * _SAMPLE) / _SAMPLE
        cell = self.cell = self.rounded(natural)
        self.font = QFont(font)
        self.font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, cell - natural)
        self.row = self.rounded(metrics.height() + 3)
        self.text_y = self.rounded((self.row - metrics.height()) / 2)
        self.letters = QFont(font)
        # Small enough for the gap of one character between two bytes.
        self.letters.setPointSizeF(max(font.pointSizeF() * _LETTER, 5.0))
        self.letters.setItalic(True)
        small = QFontMetricsF(self.letters)
        self.letter_y = self.rounded((self.row - small.height()) / 2)
        letter = small.horizontalAdvance("0" * _SAMPLE) / _SAMPLE
        self.letters.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, cell - letter)
        gap = self.gap = 2 * self.rounded(cell / 4) if tight else cell
        self.letter_dx = round((gap - letter) / 2 * ratio) / ratio
        self.header = self.rounded(self.row + 4)
        self.margin = self.rounded(_TIGHT if tight else _MARGIN)
        self.gutter = self.rounded(self.margin * 2 + layout.digits * cell)
        self.hex_x = self.rounded(self.gutter + self.margin + cell / 2)
        width = layout.width
        self.bytes_x = [self.hex_x + at * (2 * cell + gap) + at // GROUP * gap for at in range(width)]
        self.text_x = self.rounded(self.bytes_x[-1] + 2 * cell + 2 * self.margin)
        self.width = self.rounded(self.text_x + width * cell + self.margin)
        lefts = [x - (gap if at % GROUP == 0 and at > 0 else gap / 2) for at, x in enumerate(self.bytes_x)]
        self.edges = {
            HexPart.HEX: [*lefts, self.bytes_x[-1] + 2 * cell + gap / 2],
            HexPart.TEXT: [self.text_x + at * cell for at in range(width + 1)],
        }
        """Left edges of the cells, and the right edge of the row."""

    def rounded(self, length: float) -> float:
        return max(round(length * self.ratio), 1) / self.ratio

    def row_y(self, row: int) -> float:
        return self.header + row * self.row

    def edge(self, cell: int, part: HexPart) -> float:
        """Return the left edge of a cell; for `cell == width` the right edge of the row."""
        return self.edges[part][cell]

    def rect(self, block: Block, part: HexPart) -> QRectF:
        return self._rect(block, self.edges[part])

    def _rect(self, block: Block, edges: Sequence[float]) -> QRectF:
        row, last, cell, stop = block
        return QRectF(edges[cell], self.header + row * self.row, edges[stop] - edges[cell], (last - row) * self.row)

    def reach(self, rows: ScreenRows) -> Range:
        """Return the half-open byte range of the screen and one row above and below it."""
        layout = self.layout
        return max(layout.row_start(rows.top - 1), 0), layout.row_start(rows.row_at(rows.lines) + 1)

    def blocks(self, start: int, stop: int, rows: ScreenRows, beyond: int = 0) -> list[Block]:
        """Return the bytes `[start, stop)` on screen, or up to `beyond` lines outside, as at most three rectangles."""
        width, lead, starts = self.layout.width, self.layout.lead, rows.starts
        start = max(start, (starts[0] - beyond) * width - lead)
        stop = min(stop, (starts[-1] + beyond) * width - lead)
        if start >= stop:
            return []
        (above, left), (below, right) = divmod(start + lead, width), divmod(stop - 1 + lead, width)
        first, last, right = above - rows.top, below - rows.top, right + 1
        if rows.folds:
            first, last = rows.line_of(above), rows.line_of(below)
            # Bytes of a folded row are represented by the whole line.
            left = 0 if 0 <= first < rows.lines and starts[first] != above else left
            right = width if 0 <= last < rows.lines and starts[last] != below else right
        if first == last:
            return [Block(first, first + 1, left, right)]
        found = []
        if left > 0:
            found.append(Block(first, first + 1, left, width))
            first += 1
        full = last if right < width else last + 1
        if full > first:
            found.append(Block(first, full, 0, width))
        if right < width:
            found.append(Block(last, last + 1, 0, right))
        return found

    def fill(self, painter: QPainter, start: int, stop: int, rows: ScreenRows, brush: QBrush) -> None:
        for block in self.blocks(start, stop, rows):
            self.fill_block(painter, block, brush)

    def fill_block(self, painter: QPainter, block: Block, brush: QBrush) -> None:
        for edges in self.edges.values():
            painter.fillRect(self._rect(block, edges), brush)

    def frame(self, painter: QPainter, start: int, stop: int, rows: ScreenRows) -> None:
        blocks = self.blocks(start, stop, rows, beyond=1)
        for edges in self.edges.values():
            rects = [self._rect(block, edges) for block in blocks]
            if len(rects) == 1:
                painter.drawPolyline(QPolygonF(rects[0]))
            elif len(rects) == 2 and (rects[0].left() >= rects[1].right() or rects[1].left() >= rects[0].right()):
                # The end of one row and the beginning of the next do not touch.
                one, other = rects
                painter.drawPolyline([one.topRight(), one.topLeft(), one.bottomLeft(), one.bottomRight()])
                painter.drawPolyline([other.topLeft(), other.topRight(), other.bottomRight(), other.bottomLeft()])
            elif rects:
                left = [point for rect in rects for point in (rect.topLeft(), rect.bottomLeft())]
                right = [point for rect in rects for point in (rect.topRight(), rect.bottomRight())]
                painter.drawPolyline([*right, *reversed(left), right[0]])

    def cell_at(self, point: QPointF, part: HexPart | None = None) -> tuple[int, HexPart]:
        if part is None:
            part = HexPart.TEXT if point.x() >= self.text_x - self.margin else HexPart.HEX
        if part is HexPart.TEXT:
            return min(max(int((point.x() - self.text_x) // self.cell), 0), self.layout.width - 1), part
        column = (point.x() - self.hex_x) / self.cell
        return cell_at_column(column, self.layout.width, self.gap / self.cell), part


@dataclass(frozen=True)
class RowRule:
    """Rule for the bytes per row: a row starts at `origin`; with `shrinks`, rows are narrowed until they fit."""

    width: int
    origin: int = 0
    shrinks: bool = False

    def grid(self, make: Callable[[HexLayout, bool], HexGrid], size: int, room: float, beside: float = 0) -> HexGrid:
        """Return the geometry for a width of `room` pixels. Margins shrink first, if `beside` pixels then remain free.

        `make` returns the geometry of a layout, with narrow margins if its second argument is True.
        """
        layout = HexLayout.aligned(size, self.width, self.origin)
        made = make(layout, False)
        # Before the first layout the room is 0.
        if not self.shrinks or not made.width + beside > room > 0:
            return made
        tight = make(layout, True)
        if tight.width + beside <= room:
            return tight
        while made.width > room:
            made = make(layout, True)
            if made.width <= room or layout.width == 1:
                break
            layout = HexLayout.aligned(size, layout.width // 2, self.origin)
            made = make(layout, False)
        return made


AUTOMATIC = RowRule(16, shrinks=True)
