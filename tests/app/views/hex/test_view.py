"""The hex view: where it shows what, and what keys, mouse and signals do."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore import Section, SourceError, Span
from shardcore.testing import PatternSource
from shardscope.session.byte_pages import PAGE, PageCache
from shardscope.views.hex.layout import HexPart
from shardscope.views.hex.state import HexSelection
from shardscope.views.hex.view import NOT_LOADED, HexView
from shardscope.widgets import theme
from tests.app.conftest import visible
from tests.app.hex_samples import DATA, OBJECTS, SECTIONS, SIZE, TAIL, SampleReader

HUGE = 2**60
Key = Qt.Key
Shift = Qt.KeyboardModifier.ShiftModifier
Control = Qt.KeyboardModifier.ControlModifier
Plain = Qt.KeyboardModifier.NoModifier


def hex_view(qtbot: QtBot, pages: PageCache, size: int, sections: tuple[Section, ...] = ()) -> HexView:
    """A view of a source, shown."""
    made = visible(qtbot, HexView(pages), 900, 500)
    made.state.set_source("", size, sections)
    return made


@pytest.fixture
def view(qtbot: QtBot, pages: PageCache) -> HexView:
    """A view on the sample, with its first page painted."""
    made = hex_view(qtbot, pages, SIZE, SECTIONS)
    qtbot.waitExposed(made)
    qtbot.waitUntil(lambda: loaded(pages, made))
    return made


def loaded(pages: PageCache, view: HexView) -> bool:
    """Whether all bytes on the screen are there, with their runs."""
    start, stop = view.state.visible_bytes
    found = [pages.get(view.state.name, number) for number in range(start // PAGE, (stop - 1) // PAGE + 1)]
    return all(page is not None and page.runs is not None for page in found)


def middle_of(view: HexView, offset: int, part: HexPart = HexPart.HEX) -> QPoint:
    """The middle of the cell of a byte that is on the screen."""
    row, cell = view.state.layout.row_of(offset) - view.state.top_row, view.state.layout.column_of(offset)
    x = (view.state.grid.edge(cell, part) + view.state.grid.edge(cell + 1, part)) / 2
    return QPoint(
        round(x) - view.horizontalScrollBar().value(), round(view.state.grid.row_y(row) + view.state.grid.row / 2)
    )


def scrolled(view: HexView, notches: float) -> None:
    """Turns the wheel."""
    place, turn, phase = QPointF(200, 200), QPoint(0, round(120 * notches)), Qt.ScrollPhase.NoScrollPhase
    event = QWheelEvent(place, place, QPoint(), turn, Qt.MouseButton.NoButton, Plain, phase, False)
    QApplication.sendEvent(view.viewport(), event)


def test_the_last_byte_of_an_exbibyte_is_reached(qtbot: QtBot, pages: PageCache) -> None:
    reader = SampleReader(PatternSource(HUGE))
    pages.use(reader)
    view = hex_view(qtbot, pages, HUGE)
    told: list[HexSelection] = []
    view.state.selection_changed.connect(told.append)
    qtbot.keyClick(view, Key.Key_End, Control)
    assert told[-1] == HexSelection(Span("", HUGE - 1, HUGE), HUGE - 1)
    qtbot.waitUntil(lambda: loaded(pages, view))
    assert view.state.visible_bytes[1] == HUGE
    assert max(stop for _, stop in reader.reads) == HUGE
    assert view.grab().toImage().pixelColor(middle_of(view, HUGE - 1)).isValid()
    qtbot.keyClick(view, Key.Key_Left)
    assert told[-1].caret == HUGE - 2
    qtbot.keyClick(view, Key.Key_Home, Control)
    assert told[-1].caret == 0


def test_every_row_of_an_exbibyte_can_be_scrolled_to(qtbot: QtBot, pages: PageCache) -> None:
    """The scroll bar is scaled; wheel and arrows move by rows."""
    pages.use(SampleReader(PatternSource(HUGE)))
    view = hex_view(qtbot, pages, HUGE)
    bar = view.verticalScrollBar()
    bar.triggerAction(bar.SliderAction.SliderToMaximum)
    assert view.state.visible_bytes[1] == HUGE
    bottom = view.state.top_row
    scrolled(view, 1)
    assert view.state.top_row == bottom - 3
    bar.triggerAction(bar.SliderAction.SliderSingleStepSub)
    assert view.state.top_row == bottom - 4
    bar.setSliderPosition(bar.maximum() // 2)
    bar.triggerAction(bar.SliderAction.SliderMove)
    assert abs(view.state.top_row - bottom // 2) <= bottom // bar.maximum() + 1
    view.state.scroll_to(HUGE // 3)
    assert view.state.layout.row_of(HUGE // 3) == view.state.top_row


def test_keys_move_the_caret(qtbot: QtBot, view: HexView) -> None:
    page = view.state.grid.layout.width * (
        (view.viewport().height() - round(view.state.grid.header)) // round(view.state.grid.row)
    )
    for key, modifier, expected in [
        (Key.Key_Left, Plain, 0),
        (Key.Key_Up, Plain, 0),
        (Key.Key_Right, Plain, 1),
        (Key.Key_Down, Plain, 17),
        (Key.Key_End, Plain, 31),
        (Key.Key_Home, Plain, 16),
        (Key.Key_PageDown, Plain, 16 + page),
        (Key.Key_PageUp, Plain, 16),
        (Key.Key_PageDown, Control, OBJECTS),
        (Key.Key_PageDown, Control, TAIL),
        (Key.Key_PageUp, Control, OBJECTS),
        (Key.Key_End, Control, SIZE - 1),
        (Key.Key_Right, Plain, SIZE - 1),
        (Key.Key_Down, Plain, SIZE - 1),
    ]:
        qtbot.keyClick(view, key, modifier)
        assert view.state.selection.caret == expected, (key, modifier)
        start, stop = view.state.visible_bytes
        assert start <= expected < stop


def test_shift_extends_both_ways(qtbot: QtBot, view: HexView) -> None:
    view.state.move_caret(20)
    qtbot.keyClick(view, Key.Key_Right, Shift)
    qtbot.keyClick(view, Key.Key_Down, Shift)
    assert view.state.selection.span == Span("", 20, 38)
    qtbot.keyClick(view, Key.Key_Up, Shift)
    qtbot.keyClick(view, Key.Key_Up, Shift)
    assert view.state.selection.span == Span("", 5, 21)
    qtbot.keyClick(view, Key.Key_A, Control)
    assert view.state.selection.span == Span("", 0, SIZE)


@pytest.mark.parametrize("part", HexPart)
def test_dragging_selects(qtbot: QtBot, view: HexView, part: HexPart) -> None:
    told: list[HexSelection] = []
    view.state.selection_changed.connect(told.append)
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, 50, part))
    drag_to(view, middle_of(view, 23, part))
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, 23, part))
    assert told[0].span == Span("", 50, 51)
    assert told[-1] == HexSelection(Span("", 23, 51), 23)
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, Shift, middle_of(view, 60, part))
    assert view.state.selection.span == Span("", 50, 61)


def drag_to(view: HexView, place: QPoint) -> None:
    """Moves the mouse with the left button down."""
    move, left = QTest.MouseAction.MouseMove, Qt.MouseButton.LeftButton  # type: ignore[attr-defined]
    QTest.mouseEvent(move, view.viewport(), left, Plain, place)  # type: ignore[attr-defined]


def test_dragging_beyond_the_edge_and_fine_wheels_scroll(qtbot: QtBot, view: HexView) -> None:
    """Ten tenths of a notch scroll as far as one notch."""
    for _ in range(10):
        scrolled(view, -0.1)
    assert view.state.top_row == 3
    scrolled(view, 1)
    assert view.state.top_row == 0
    below = QPoint(300, view.viewport().height() + 40)
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, 20))
    drag_to(view, below)
    qtbot.waitUntil(lambda: view.state.top_row > 20)
    assert view.state.selection.span.start == 20
    assert view.state.selection.span.stop > view.state.visible_bytes[0]
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=below)
    assert not view._drag.isActive()


def test_a_double_click_on_data_selects_all_of_it(qtbot: QtBot, view: HexView, pages: PageCache) -> None:
    """Selecting by program emits no signal, so views that follow each other do not loop."""
    told: list[object] = []
    view.state.selection_changed.connect(told.append)
    for start, caret in ((SIZE, SIZE - 1), (TAIL, TAIL)):
        view.state.select(Span("", start, SIZE))
        assert view.state.selection == HexSelection(Span("", start, SIZE), caret)
    assert told == []
    view.state.reveal(OBJECTS)
    qtbot.waitUntil(lambda: loaded(pages, view))
    before = view.state.selection
    qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, OBJECTS + 3))
    assert view.state.selection == before, "the first click was on the page before"
    for click in (qtbot.mouseClick, qtbot.mouseDClick):
        click(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, OBJECTS + 3))
    qtbot.waitUntil(lambda: view.state.selection.span == Span("", OBJECTS, TAIL))
    assert told


def test_painting_never_reads_and_a_failed_page_is_marked(qtbot: QtBot, pages: PageCache, reader: SampleReader) -> None:
    def fail(start: int, stop: int) -> None:
        raise SourceError("the disk is on fire")

    def painted(view: HexView) -> set[int]:
        picture, grid = view.viewport().grab().toImage(), view.state.grid
        left, top = round(grid.hex_x), round(grid.row_y(2))
        return {picture.pixel(x, y) for x in range(left, left + 60) for y in range(top, top + 20)}

    reader.held.clear()
    view = hex_view(qtbot, pages, SIZE, SECTIONS)
    colours = theme.of(view)
    assert colours.missing.rgb() in painted(view)
    reader.held.set()
    qtbot.waitUntil(lambda: loaded(pages, view))
    assert colours.missing.rgb() not in painted(view)
    reader.failure = fail
    pages.use(reader)
    view.grab()
    qtbot.waitUntil(lambda: (page := pages.get("", 0)) is not None and "on fire" in page.error)
    assert colours.error.rgb() in painted(view)
    reader.failure = lambda start, stop: None
    pages.use(reader)
    qtbot.waitUntil(lambda: loaded(pages, view))
    view.state.set_source("@0-0", 0)
    for key in (Key.Key_End, Key.Key_Down, Key.Key_PageDown, Key.Key_Return):
        qtbot.keyClick(view, key)
        qtbot.keyClick(view, key, Control)
    assert view.state.selection == HexSelection(Span("@0-0", 0, 0), 0)


def test_the_row_is_a_text(view: HexView) -> None:
    view.state.select(Span("", 0, 0))
    face = QAccessible.queryAccessibleInterface(view)
    assert face.role() == QAccessible.Role.EditableText
    assert face.state().readOnly
    assert face.text(QAccessible.Text.Name) == "Bytes"
    text = face.textInterface()
    row = text.text(0, -1)
    assert row.startswith("00000000  53 41 4d 50 4c 45 00 00")
    assert row.endswith("SAMPLE..........")
    assert (text.characterCount(), text.cursorPosition()) == (len(row), 10)
    view.state.move_caret(16 + 9)
    assert text.text(0, 8) == "00000010"
    position = text.cursorPosition()
    assert text.text(position, position + 2) == f"{DATA[25]:02x}"
    assert face.text(QAccessible.Text.Value) == text.text(0, -1)
    view.state.move_caret(16)
    text.setCursorPosition(10 + 3 * 5)
    assert view.state.selection.caret == 21
    text.setSelection(0, 10, 10 + 3 * 3 + 2)
    assert view.state.selection.span == Span("", 16, 20)
    text.removeSelection(0)
    assert view.state.selection.span.size == 1
    assert text.offsetAtPoint(text.characterRect(text.cursorPosition()).center()) == text.cursorPosition()
    for name in ("value", "action", "editableText", "tableCell", "selection", "attributes"):
        assert getattr(face, f"{name}Interface")() is None, "a null interface, not a crash"


def test_bytes_that_are_not_there_are_not_read_as_zeros(qtbot: QtBot, pages: PageCache, reader: SampleReader) -> None:
    reader.held.clear()
    view = hex_view(qtbot, pages, SIZE, SECTIONS)
    text = QAccessible.queryAccessibleInterface(view).textInterface()
    assert text.text(0, -1) == f"00000000  {NOT_LOADED}"
