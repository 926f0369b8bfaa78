"""Cells of the rows on the screen: bytes, roles and loading state. No painting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shardcore import FieldRole, Section, SectionRole
from shardscope.session.byte_pages import PAGE, BytePage, PageCache, PageState
from shardscope.session.section_lookup import sections_in
from shardscope.views.hex.layout import HexLayout

SECTION_ROLES = tuple(SectionRole)
NO_RUN = -(1 << 40)
"""Distance to the start of an unknown run; larger than any row."""

SHADES = 2 * len(FieldRole)
"""Number of shades per section: one per field role and parity."""


class CellState(IntEnum):
    BLANK = 0
    LOADED = 1
    MISSING = 2
    FAILED = 3


@dataclass(frozen=True)
class Gap:
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
        begins: `FieldRole` + 1 where a run begins, else 0.
        before: Start of the run before the first cell, relative to it; `NO_RUN` if unknown.
        coloured: Whether the runs of all loaded bytes are loaded.
    """

    first: int
    data: NDArray[np.uint8]
    state: NDArray[np.uint8]
    shade: NDArray[np.uint16]
    begins: NDArray[np.uint8]
    before: int
    coloured: bool
    gaps: tuple[Gap, ...]

    def under_another(self) -> NDArray[np.bool_]:
        """Return the cells whose byte above belongs to another run, for a border; shape `(rows, width)`."""
        width = self.data.shape[1]
        places = np.arange(self.data.size)
        owner = np.maximum.accumulate(np.where(self.begins.ravel() > 0, places, self.before))
        other: NDArray[np.bool_] = (owner > places - width).reshape(self.data.shape)
        if self.first <= 0:
            # There is no row above the first one.
            other[0] = False
        return other

    @property
    def there(self) -> NDArray[np.bool_]:
        """Return which rows have at least one byte, shape `(rows,)`."""
        there: NDArray[np.bool_] = (self.state != CellState.BLANK).any(axis=1)
        return there


def gather(
    layout: HexLayout, top: int, rows: int, pages: PageCache, name: str, sections: Sequence[Section]
) -> ByteCells:
    """Return the cells of rows `[top, top + rows)` from loaded pages; reads nothing."""
    first, count = layout.row_start(top), rows * layout.width
    data = np.zeros(count, np.uint8)
    state = np.zeros(count, np.uint8)
    shade = np.zeros(count, np.uint16)
    begins = np.zeros(count, np.uint8)
    start, stop = max(first, 0), min(first + count, layout.size)
    coloured, gaps = True, []
    for number in range(start // PAGE, -(-stop // PAGE) if stop > start else 0):
        page_start, page_stop = max(start, number * PAGE), min(stop, (number + 1) * PAGE)
        here = slice(page_start - first, page_stop - first)
        page = pages.get(name, number)
        if page is None or page.stop < page_stop:
            failed = page is not None
            state[here] = CellState.FAILED if failed else CellState.MISSING
            reason = page.error or "the source ends here" if page is not None else ""
            gaps.append(Gap(page_start, page_stop, pages.state(name, number), reason))
            continue
        data[here] = np.frombuffer(page.data, np.uint8, page_stop - page_start, page_start - page.start)
        state[here] = CellState.LOADED
        coloured = _colour(page, page_start, page_stop, first, shade, begins) and coloured
    for section in sections_in(sections, start, stop):
        part = slice(max(section.start, start) - first, min(section.stop, stop) - first)
        shade[part] += SECTION_ROLES.index(section.role) * SHADES
    before = run_at(pages, name, first - 1) if first > 0 else None
    shape = (rows, layout.width)
    return ByteCells(
        first,
        data.reshape(shape),
        state.reshape(shape),
        shade.reshape(shape),
        begins.reshape(shape),
        before[0] - first if before is not None else NO_RUN,
        coloured,
        _merged(gaps),
    )


def roles_in(parts: Iterable[ByteCells]) -> list[tuple[SectionRole, FieldRole]]:
    kinds = (cells.shade[cells.state == CellState.LOADED] // 2 for cells in parts)
    shades = sorted({shade for kind in kinds for shade in np.unique(kind).tolist()})
    return [(SECTION_ROLES[shade // len(FieldRole)], FieldRole(shade % len(FieldRole))) for shade in shades]


def failed_in(pages: PageCache, name: str, start: int, stop: int) -> list[tuple[tuple[int, int], str]]:
    """Return the unreadable ranges in `[start, stop)` with reasons; adjacent ones with equal reasons are merged."""
    gaps = []
    for number in range(start // PAGE, -(-stop // PAGE) if stop > start else 0):
        page = pages.get(name, number)
        page_start, page_stop = max(start, number * PAGE), min(stop, (number + 1) * PAGE)
        if page is not None and page.stop < page_stop:
            gaps.append(Gap(page_start, page_stop, PageState.FAILED, page.error or "the source ends here"))
    return [((gap.start, gap.stop), gap.reason) for gap in _merged(gaps)]


def run_at(pages: PageCache, name: str, offset: int) -> tuple[int, int, int] | None:
    """Return `(start, stop, role)` of the run at a byte, as far as adjacent loaded pages contain it."""
    found = run_in(pages.get(name, offset // PAGE), offset)
    if found is None:
        return None
    start, stop, role, parity = found
    while start % PAGE == 0 and start > 0:
        before = run_in(pages.get(name, start // PAGE - 1), start - 1)
        if before is None or before[2:] != (role, parity):
            break
        start = before[0]
    while stop % PAGE == 0:
        after = run_in(pages.get(name, stop // PAGE), stop)
        if after is None or after[2:] != (role, parity):
            break
        stop = after[1]
    return start, stop, role


def run_in(page: BytePage | None, offset: int) -> tuple[int, int, int, int] | None:
    if page is None or page.runs is None:
        return None
    runs = page.runs
    at = int(np.searchsorted(runs.start, offset, "right")) - 1
    if at < 0 or offset >= int(runs.stop[at]):
        return None
    return int(runs.start[at]), int(runs.stop[at]), int(runs.role[at]), int(runs.parity[at])


def _colour(
    page: BytePage, start: int, stop: int, first: int, shade: NDArray[np.uint16], begins: NDArray[np.uint8]
) -> bool:
    """Write shade and field starts of bytes `[start, stop)` of a page into arrays that begin at offset `first`.

    Return False if the fields of the page are not loaded.
    """
    runs = page.runs
    if runs is None:
        return False
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
    return True


def _merged(gaps: Sequence[Gap]) -> tuple[Gap, ...]:
    merged: list[Gap] = []
    for gap in gaps:
        last = merged[-1] if merged else None
        if last is not None and last.stop == gap.start and last.state is gap.state and last.reason == gap.reason:
            merged[-1] = Gap(last.start, gap.stop, gap.state, gap.reason)
        else:
            merged.append(gap)
    return tuple(merged)
