"""Rows of equal bytes that share one line of the screen, found in the pages that are in memory. No painting."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from shardcore.model.number_words import plural
from shardscope.session.pages import PAGE, BytePage, PageCache
from shardscope.views.hex.cells import run_in
from shardscope.views.hex.layout import HexLayout, ScreenRows

REACH = 16
"""Pages that the folds of one screen reach over: a screen of zeros does not read the whole file."""

KEPT = 8 * REACH
"""Pages whose folds are kept."""


def fold_words(rows: int, value: int) -> str:
    return f"{plural(rows, 'row')} of {value:02x}"


def folds_of(layout: HexLayout, page: BytePage) -> tuple[range, ...]:
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


class RowFolds:
    def __init__(self, pages: PageCache, cut: Callable[[int, int], bool]) -> None:
        self._pages = pages
        self._cut = cut
        self._name = ""
        self._layout = HexLayout(0)
        self._known: dict[int, tuple[BytePage, tuple[range, ...]]] = {}

    def use(self, name: str, layout: HexLayout) -> None:
        self._name, self._layout = name, layout
        self._known.clear()

    def at(self, row: int) -> range | None:
        fold = self._equal(row)
        return fold if fold is not None and not self._is_cut(fold) else None

    def screen(self, top: int, lines: int) -> ScreenRows:
        layout = self._layout
        end = layout.row_of((max(layout.row_start(top), 0) // PAGE + REACH) * PAGE)
        folds: list[range] = []
        row, plain, left = top, top, lines
        while left > 0 and row < layout.rows:
            fold = self._equal(row) if plain <= row < end else None
            if fold is not None and self._is_cut(fold):
                plain, fold = fold.stop, None
            stop = fold.stop if fold is not None else row + 1
            if stop - row > 1:
                folds.append(range(row, stop))
            row, left = stop, left - 1
        return ScreenRows(top, lines - left, tuple(folds))

    def away(self, row: int, lines: int) -> int:
        if lines >= 0:
            return self.screen(row, lines).row_at(lines)
        while lines < 0 < row:
            fold = self.at(row - 1)
            row, lines = fold.start if fold is not None else row - 1, lines + 1
        return row + lines

    def _is_cut(self, fold: range) -> bool:
        return self._cut(self._layout.row_start(fold.start), self._layout.row_start(fold.stop))

    def _of_page(self, number: int) -> tuple[range, ...]:
        page = self._pages.get(self._name, number)
        if page is None:
            return ()
        known = self._known.get(number)
        if known is None or known[0] is not page:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[number] = page, folds_of(self._layout, page)
        return known[1]

    def _equal(self, row: int) -> range | None:
        folds = self._of_page(max(self._layout.row_start(row), 0) // PAGE)
        at = bisect_right(folds, row, key=lambda fold: fold.stop)
        if at == len(folds) or row not in folds[at]:
            return None
        start, stop = folds[at].start, folds[at].stop
        for _ in range(REACH):
            if (before := self._across(start)) is None:
                break
            start = before[0].start
        for _ in range(REACH):
            if (after := self._across(stop)) is None:
                break
            stop = after[1].stop
        return range(start, stop)

    def _across(self, row: int) -> tuple[range, range] | None:
        edge = self._layout.row_start(row)
        if edge % PAGE or edge <= 0:
            return None
        above, below = self._of_page(edge // PAGE - 1), self._of_page(edge // PAGE)
        if not above or not below or above[-1].stop != row or below[0].start != row:
            return None
        one, other = (self._owned(offset) for offset in (edge - 1, edge))
        return (above[-1], below[0]) if one == other else None

    def _owned(self, offset: int) -> tuple[bytes | None, tuple[int, ...]]:
        run = run_in(self._pages.get(self._name, offset // PAGE), offset)
        return self._pages.bytes_at(self._name, offset, offset + 1), run[2:] if run is not None else ()
