"""Rows of equal bytes share a line: which ones do, and what opens them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from pytestqt.qtbot import QtBot

from shardcore import BytesSource, Finding, Runs, Severity, Span
from shardscope.session.pages import PAGE, BytePage, PageCache
from shardscope.views.hex.folds import REACH, folds_of
from shardscope.views.hex.layout import HexLayout, ScreenRows
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.view import HexView
from tests.app.hex_samples import SampleReader

FOLD = range(6, 32)
"""Rows of the padding of the small swh shard."""


def test_folds_lie_in_one_field_and_in_whole_rows() -> None:
    """Compared with a search row by row, in rows of every kind of width, over fields of random length."""
    random_ = random.Random(7)
    for width, lead, number in ((16, 0, 0), (16, 5, 1), (40, 0, 1), (24, 8, 0), (1024, 0, 0)):
        layout = HexLayout(3 * PAGE, width, lead)
        data = b"".join(bytes([random_.choice((0, 0, 255, 7))]) * random_.randrange(1, 5 * width) for _ in range(4000))
        start = number * PAGE
        borders = [start, *sorted(random_.sample(range(start + 1, start + PAGE), 60)), start + PAGE]
        runs = Runs.of(borders[:-1], borders[1:], 0, np.arange(61) % 2)
        page = BytePage(start, data[:PAGE], runs)

        def value(row: int, layout: HexLayout = layout, page: BytePage = page) -> int | None:
            first = layout.row_start(row)
            inside = page.data[first - page.start : first - page.start + layout.width]
            whole = first >= page.start and len(inside) == layout.width and len(set(inside)) == 1
            return inside[0] if whole else None

        expected: list[range] = []
        for row in range(layout.row_of(start), layout.row_of(start + PAGE - 1) + 1):
            if value(row) is None or any(layout.row_start(row) < at < layout.row_start(row + 1) for at in borders):
                continue
            joins = expected and expected[-1].stop == row and value(row - 1) == value(row)
            if joins and layout.row_start(row) not in borders:
                expected[-1] = range(expected[-1].start, row + 1)
            else:
                expected.append(range(row, row + 1))
        assert list(folds_of(layout, page)) == [fold for fold in expected if len(fold) > 1]


def test_lines_and_rows() -> None:
    """Each line has its first row, each row its line, also beside the screen."""
    rows = ScreenRows(2, 5, (range(3, 10), range(10, 12)))
    assert [rows.row_at(line) for line in range(-1, 7)] == [1, 2, 3, 10, 12, 13, 14, 15]
    assert [rows.line_of(row) for row in (0, 2, 3, 9, 10, 11, 12, 15)] == [-2, 0, 1, 1, 2, 2, 3, 6]
    assert [(line, part.top, part.lines, bool(part.folds)) for line, part in rows.parts()] == [
        (0, 2, 1, False),
        (1, 3, 1, True),
        (2, 10, 1, True),
        (3, 12, 2, False),
    ]


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
    """Down and Up take it as one line, which is read as such; Enter opens it, and so does Right."""
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
    """A click, going into its middle, and findings in it; selecting all of it does not; the menu folds none."""
    state = view.state
    state.select(Span("", FOLD.start * 16, FOLD.stop * 16))
    assert FOLD in state.rows_on_screen.folds
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=line_of(view, FOLD.start))
    assert FOLD not in state.rows_on_screen.folds
    assert state.selection.caret == FOLD.start * 16
    state.set_folding(True)
    state.select(Span("", FOLD.start * 16 + 100, FOLD.start * 16 + 101))
    assert FOLD not in state.rows_on_screen.folds
    state.set_folding(True)
    before = swh.view.verticalScrollBar().maximum()
    state.set_findings([Finding(Severity.NOTE, "x", Span("", 300, 302), "not zero")])
    assert FOLD not in state.rows_on_screen.folds
    assert swh.view.verticalScrollBar().maximum() >= before
    state.set_findings(())
    assert FOLD in state.rows_on_screen.folds
    swh.actions_.fold.setChecked(False)
    assert state.rows_on_screen.folds == ()


def test_scrolling_goes_by_lines(view: HexView) -> None:
    """Down and up again is where it was, from every line; the top may lie inside of a fold."""
    state = view.state
    for top in (0, 4, 6, 20, 31, 40):
        state.scroll_to(top * 16)
        state.scroll_by(3)
        state.scroll_by(-3)
        assert state.top_row == (FOLD.start if top in FOLD else top)
    state.scroll_to(20 * 16)
    assert state.rows_on_screen.folds[0] == range(20, FOLD.stop)


def test_pages_that_come_move_nothing(qtbot: QtBot, pages: PageCache) -> None:
    """A source of zeros folds over its pages as they come, reads a bounded number of them, and stays where it is."""
    reader = SampleReader(BytesSource(bytes(200 * PAGE)))
    pages.use(reader)
    view = HexView(pages)
    qtbot.addWidget(view)
    view.resize(900, 500)
    view.state.set_source("", 200 * PAGE)
    view.show()
    view.state.scroll_to(50 * PAGE + 160)
    top = view.state.top_row
    reach = REACH * PAGE // 16
    qtbot.waitUntil(lambda: len(pages.loaded("")) > 0 and view.state.visible_bytes[1] > (49 + REACH) * PAGE)
    qtbot.wait(50)
    assert view.state.top_row == top
    assert view.state.rows_on_screen.folds[0].start == top
    assert len(view.state.rows_on_screen.folds[0]) <= reach + PAGE // 16
    assert sum(stop - start for start, stop in pages.loaded("")) <= (2 * REACH + 4) * PAGE
