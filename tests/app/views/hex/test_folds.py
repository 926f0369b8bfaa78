"""Rows of equal bytes share a line: which ones do, and what opens them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from pytestqt.qtbot import QtBot

from shardcore import BytesSource, Finding, Runs, Severity, Span
from shardscope.session.byte_pages import PAGE, BytePage, PageCache
from shardscope.views.hex.layout import HexLayout, folds_of
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.view import HexView
from tests.app.conftest import visible
from tests.app.hex_samples import SampleReader

FOLD = range(6, 32)
"""Rows of the padding of the small swh shard."""


@pytest.mark.parametrize(
    ("width", "lead", "borders", "folds"),
    [
        (16, 0, (), [(2, 8), (8, 20)]),
        (16, 8, (), [(3, 8), (9, 20)]),
        (16, 0, (64,), [(2, 4), (4, 8), (8, 20)]),
        (16, 0, (65,), [(2, 4), (5, 8), (8, 20)]),
        (32, 0, (), [(1, 4), (4, 10)]),
        (160, 0, (), []),
    ],
)
def test_folds_lie_in_one_field_and_in_whole_rows(
    width: int, lead: int, borders: tuple[int, ...], folds: list[tuple[int, int]]
) -> None:
    """Of 30 rows of 16 bytes, rows 2 to 7 are zeros, and 8 to 19 are all of another value."""
    data = bytes(range(1, 33)) + bytes(96) + b"\7" * 192 + bytes(range(160))
    edges = [0, *borders, len(data)]
    page = BytePage(0, data, Runs.of(edges[:-1], edges[1:], 0, np.arange(len(edges) - 1) % 2))
    found = folds_of(HexLayout(len(data), width, lead), page)
    assert [(fold.start, fold.stop) for fold in found] == folds


@pytest.fixture
def view(qtbot: QtBot, swh: HexPanel) -> HexView:
    """The bytes of the small swh shard, whose padding has 26 rows of zeros, with the caret above it."""
    qtbot.waitUntil(lambda: FOLD in swh.state.rows_on_screen.folds)
    swh.state.move_caret(5 * 16 + 3)
    return swh.view


def line_of(view: HexView, row: int) -> QPoint:
    """A point on the line of a row."""
    grid, state = view.state.grid, view.state
    return QPoint(round(grid.hex_x) + 4, round(grid.row_y(state.rows_on_screen.line_of(row)) + grid.row / 2))


def test_the_keyboard_goes_over_a_fold_and_into_it(qtbot: QtBot, view: HexView) -> None:
    state = view.state
    top, caret = state.top_row, state.selection.caret
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert state.selection.caret == FOLD.start * 16 + 3
    spoken = QAccessible.queryAccessibleInterface(view)
    assert spoken.text(QAccessible.Text.Value) == "00000060  26 rows of 00"
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert state.selection.caret == FOLD.stop * 16 + 3
    qtbot.keyClick(view, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(view, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    assert state.selection.span == Span("", caret, FOLD.stop * 16 + 4)
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert FOLD in state.rows_on_screen.folds
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert FOLD not in state.rows_on_screen.folds
    assert (state.top_row, state.selection.caret) == (top, FOLD.start * 16 + 3)
    state.set_folding(True)
    state.move_caret(FOLD.start * 16 - 1)
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert FOLD not in state.rows_on_screen.folds


def test_what_opens_a_fold(qtbot: QtBot, swh: HexPanel, view: HexView) -> None:
    state = view.state

    def folded() -> bool:
        return FOLD in state.rows_on_screen.folds

    state.select(Span("", FOLD.start * 16, FOLD.stop * 16))
    assert folded()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=line_of(view, FOLD.start))
    assert not folded()
    assert state.selection.caret == FOLD.start * 16
    state.set_folding(True)
    state.select(Span("", FOLD.start * 16 + 100, FOLD.start * 16 + 101))
    assert not folded()
    state.set_folding(True)
    before = view.verticalScrollBar().maximum()
    state.set_findings([Finding(Severity.NOTE, "x", Span("", 300, 302), "not zero")])
    assert not folded()
    assert view.verticalScrollBar().maximum() >= before
    state.set_findings(())
    assert folded()
    for top in (0, 4, 6, 20, 31, 40):
        state.scroll_to(top * 16)
        state.scroll_by(3)
        state.scroll_by(-3)
        assert state.top_row == (FOLD.start if top in FOLD else top)
    state.scroll_to(20 * 16)
    assert state.rows_on_screen.folds[0] == range(20, FOLD.stop)
    swh.actions_.fold.setChecked(False)
    assert state.rows_on_screen.folds == ()


@pytest.fixture
def zeros(qtbot: QtBot, pages: PageCache) -> Callable[..., HexView]:
    """Makes a view of a source with zeros between some other bytes."""

    def make(size: int, *, near: bool = True, width: int = 16, end: int = 160) -> HexView:
        other = (bytes(range(1, 161)) * 100)[:end]
        source = BytesSource(other + bytes(size - 2 * end) + other)
        source.near = near
        pages.use(SampleReader(source))
        view = HexView(pages)
        view.state.set_source("", size)
        view.state.set_row_width(width)
        return visible(qtbot, view, 900, 500)

    return make


@pytest.mark.parametrize("width", [16, 40])
def test_a_long_fold_states_all_of_its_rows(qtbot: QtBot, zeros: Callable[..., HexView], width: int) -> None:
    """Its length is measured by a job that keeps few pages in memory."""
    size, end = 200 * PAGE, 4000
    view = zeros(size, width=width, end=end)
    fold = range(-(-end // width), (size - end) // width)
    state = view.state
    state.select(Span("", end - 1, end))
    qtbot.waitUntil(lambda: state.rows_on_screen.folds == (fold,))
    assert not state.rows_on_screen.more
    assert state.rows_on_screen.lines == state.page_rows
    assert sum(stop - start for start, stop in state.pages.loaded("")) <= 4 * PAGE
    qtbot.keyClick(view, Qt.Key.Key_PageDown)
    assert state.selection.caret >= size - end
    qtbot.keyClick(view, Qt.Key.Key_PageUp)
    assert state.selection.caret == end - 1
    assert state.rows_on_screen.folds == (fold,)
    state.scroll_to(50 * PAGE + 160)
    top = state.top_row
    qtbot.waitUntil(lambda: not state.pages._jobs.open_jobs)
    assert state.top_row == top
    assert state.rows_on_screen.folds == (range(top, fold.stop),)
    state.select(Span("", 100 * PAGE, 100 * PAGE + 1))
    assert not state.rows_on_screen.folds


def test_a_fold_of_a_remote_source_fetches_nothing(qtbot: QtBot, zeros: Callable[..., HexView]) -> None:
    view = zeros(200 * PAGE, near=False)
    state = view.state
    qtbot.waitUntil(lambda: len(state.rows_on_screen.folds[:1]) == 1)
    qtbot.waitUntil(lambda: not state.pages._jobs.open_jobs)
    rows = state.rows_on_screen
    assert (rows.more, rows.lines) == (True, 11)
    assert rows.folds[0].stop < 3 * PAGE // 16
    spoken = QAccessible.queryAccessibleInterface(view)
    state.move_caret(160)
    assert spoken.text(QAccessible.Text.Value) == f"000000a0  at least {len(rows.folds[0]):,} rows of 00"
    qtbot.keyClick(view, Qt.Key.Key_PageDown)
    qtbot.waitUntil(lambda: not state.pages._jobs.open_jobs)
    assert state.layout.row_of(state.selection.caret) >= rows.folds[0].stop
    assert state.rows_on_screen.more
    reads = state.pages._from.reads
    assert sum(stop - start for start, stop in reads) < 8 * PAGE
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert not state.rows_on_screen.folds


def test_measuring_ends_with_what_is_shown(qtbot: QtBot, zeros: Callable[..., HexView]) -> None:
    """The job that measures a fold is cancelled when the fold leaves the screen."""
    view, held = zeros(200 * PAGE, end=4000), threading.Event()
    state, reader = view.state, view.state.pages._from
    reader.failure = lambda start, stop: None if stop - start <= PAGE else bool(held.wait(60)) and None
    state.select(Span("", 3999, 4000))
    qtbot.waitUntil(lambda: state.folds._asked is not None)
    job = state.folds._asked[1]
    assert state.rows_on_screen.more
    state.scroll_to(0)
    assert job.cancelled
    held.set()
