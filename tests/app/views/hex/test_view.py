"""The hex view: where it shows what, and what keys, mouse and signals do."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QPaintEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from shardcore import Finding, Severity, SourceError, Span
from shardcore.testing import PatternSource
from shardscope.session.pages import PAGE, PageCache
from shardscope.views.hex.grid import HexPart
from shardscope.views.hex.layout import ScreenRows
from shardscope.views.hex.scene import HexSelection
from shardscope.views.hex.view import HexView
from shardscope.widgets import theme
from tests.app.hex_samples import INDEX, OBJECTS, SECTIONS, SIZE, SLOT, TAIL, SampleReader

HUGE = 2**60
Key = Qt.Key
Shift = Qt.KeyboardModifier.ShiftModifier
Control = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def view(qtbot: QtBot, pages: PageCache) -> HexView:
    """A view on the sample, with its first page painted."""
    made = HexView(pages)
    qtbot.addWidget(made)
    made.resize(900, 500)
    made.state.set_source("", SIZE, SECTIONS)
    made.show()
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
    place = QPointF(200, 200)
    event = QWheelEvent(
        place,
        place,
        QPoint(),
        QPoint(0, round(120 * notches)),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view.viewport(), event)


def test_the_last_byte_of_an_exbibyte_is_reached(qtbot: QtBot, pages: PageCache) -> None:
    """In a source of 2^60 bytes Ctrl+End goes to the last byte, which is read, painted and told exactly."""
    reader = SampleReader(PatternSource(HUGE))
    pages.use(reader)
    view = HexView(pages)
    qtbot.addWidget(view)
    view.resize(900, 500)
    view.state.set_source("", HUGE)
    view.show()
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
    """The thumb is scaled, the top row is not: wheel and arrows move by rows anywhere, the thumb spans the source."""
    pages.use(SampleReader(PatternSource(HUGE)))
    view = HexView(pages)
    qtbot.addWidget(view)
    view.resize(900, 500)
    view.state.set_source("", HUGE)
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
    """Arrows, Home, End, pages and section jumps go where they should, and stay inside."""
    page = view.state.grid.layout.width * (
        (view.viewport().height() - round(view.state.grid.header)) // round(view.state.grid.row)
    )
    for key, modifier, expected in [
        (Key.Key_Left, Qt.KeyboardModifier.NoModifier, 0),
        (Key.Key_Up, Qt.KeyboardModifier.NoModifier, 0),
        (Key.Key_Right, Qt.KeyboardModifier.NoModifier, 1),
        (Key.Key_Down, Qt.KeyboardModifier.NoModifier, 17),
        (Key.Key_End, Qt.KeyboardModifier.NoModifier, 31),
        (Key.Key_Home, Qt.KeyboardModifier.NoModifier, 16),
        (Key.Key_PageDown, Qt.KeyboardModifier.NoModifier, 16 + page),
        (Key.Key_PageUp, Qt.KeyboardModifier.NoModifier, 16),
        (Key.Key_PageDown, Control, OBJECTS),
        (Key.Key_PageDown, Control, TAIL),
        (Key.Key_PageUp, Control, OBJECTS),
        (Key.Key_End, Control, SIZE - 1),
        (Key.Key_Right, Qt.KeyboardModifier.NoModifier, SIZE - 1),
        (Key.Key_Down, Qt.KeyboardModifier.NoModifier, SIZE - 1),
    ]:
        qtbot.keyClick(view, key, modifier)
        assert view.state.selection.caret == expected, (key, modifier)
        start, stop = view.state.visible_bytes
        assert start <= expected < stop


def test_shift_extends_both_ways(qtbot: QtBot, view: HexView) -> None:
    """Shift keeps the anchor: the selection grows, shrinks, and turns around."""
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
    """A drag selects from byte to byte, in the hex part and in the text part, whichever way it goes."""
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
    QTest.mouseEvent(  # type: ignore[attr-defined]
        QTest.MouseAction.MouseMove,  # type: ignore[attr-defined]
        view.viewport(),
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        place,
    )


def test_dragging_beyond_the_edge_scrolls(qtbot: QtBot, view: HexView) -> None:
    """Held below the last row, the pointer makes the view scroll and the selection grow, until the button is up."""
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, 20))
    drag_to(view, QPoint(300, view.viewport().height() + 40))
    qtbot.waitUntil(lambda: view.state.top_row > 20)
    assert view.state.selection.span.start == 20
    assert view.state.selection.span.stop > view.state.visible_bytes[0]
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(300, view.viewport().height() + 40))
    stopped = view.state.top_row
    qtbot.wait(150)
    assert view.state.top_row == stopped


def test_fine_wheels_add_up(view: HexView) -> None:
    """Ten tenths of a notch scroll as far as one notch, and turning back begins anew."""
    for _ in range(10):
        scrolled(view, -0.1)
    assert view.state.top_row == 3
    scrolled(view, -0.25)
    scrolled(view, 1)
    assert view.state.top_row == 0


def test_the_field_under_the_pointer_is_framed(qtbot: QtBot, view: HexView) -> None:
    """Moving over a field frames all of it, and moves nothing; leaving the view frames nothing."""
    grid, state = view.state.grid, view.state
    # The left edge of the row of its 20th byte, where no other line is.
    edge = QPoint(round(grid.edge(0, HexPart.HEX)), round(grid.row_y(state.layout.row_of(INDEX + 20))) + 6)
    before = view.viewport().grab().toImage().pixelColor(edge)
    qtbot.mouseMove(view.viewport(), middle_of(view, 3))
    qtbot.mouseMove(view.viewport(), middle_of(view, INDEX + 5))
    assert state.hover == (INDEX, INDEX + 32)
    assert view.viewport().grab().toImage().pixelColor(edge) != before
    assert (state.top_row, state.selection.caret) == (0, 0)
    QApplication.sendEvent(view.viewport(), QEvent(QEvent.Type.Leave))
    assert view.viewport().grab().toImage().pixelColor(edge) == before


def test_the_record_under_the_pointer_shows_the_roles_of_its_fields(qtbot: QtBot, view: HexView) -> None:
    """Its rows are painted once when the pointer comes, and once when it goes; moving inside of it paints no row."""
    state, canvas = view.state, view._painter.canvas
    regions: list[QRect] = []
    key = middle_of(view, INDEX + 5)

    class Regions(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if isinstance(event, QPaintEvent):
                regions.append(event.rect())
            return False

    watch = Regions()
    view.viewport().installEventFilter(watch)
    qtbot.mouseMove(view.viewport(), middle_of(view, 3))
    qtbot.waitUntil(lambda: state.record is not None)
    qtbot.waitUntil(lambda: not state.pages._jobs.open_jobs)
    QApplication.processEvents()
    ground = view.viewport().grab().toImage().pixelColor(key - QPoint(0, 8))
    painted = canvas.painted
    regions.clear()
    qtbot.mouseMove(view.viewport(), key)
    qtbot.waitUntil(lambda: state.record == (INDEX, INDEX + 40))
    qtbot.waitUntil(lambda: canvas.painted == painted + 4)
    assert all(rect.height() < 5 * state.grid.row for rect in regions)
    assert view.viewport().grab().toImage().pixelColor(key - QPoint(0, 8)) != ground
    for offset in (7, 20, 35):
        qtbot.mouseMove(view.viewport(), middle_of(view, INDEX + offset))
    qtbot.waitUntil(lambda: state.hover == (INDEX + 32, INDEX + 40))
    QApplication.processEvents()
    assert canvas.painted == painted + 4
    qtbot.mouseMove(view.viewport(), middle_of(view, INDEX + 45))
    qtbot.waitUntil(lambda: state.record == (INDEX + 40, INDEX + 80))
    view.viewport().removeEventFilter(watch)


def test_the_tip_names_the_path(qtbot: QtBot, view: HexView) -> None:
    """Resting on a byte tells its path, sentence, range and findings; never as markup."""
    view.state.set_findings([Finding(Severity.ERROR, "x.y", Span("", INDEX, INDEX + 4), "bad <key>")])
    place = middle_of(view, INDEX + 2)
    event = QHelpEvent(QEvent.Type.ToolTip, place, view.viewport().mapToGlobal(place))
    QApplication.sendEvent(view.viewport(), event)
    assert "Finds objects." in QToolTip.text()
    qtbot.waitUntil(lambda: "index › [0] › key" in QToolTip.text())
    for part in ("The key.", "0x10–0x2f · 32 bytes", "byte 0x12", "bad &lt;key&gt;"):
        assert part in QToolTip.text()
    QToolTip.hideText()


def test_the_menu_comes_up_at_the_caret(qtbot: QtBot, view: HexView) -> None:
    """The menu key asks for the menu below the caret; a right click first moves the caret under the pointer."""
    view.state.move_caret(40)
    asked: list[QPoint] = []
    view.menu_requested.connect(asked.append)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(0, 0), QPoint(0, 0))
    QApplication.sendEvent(view, event)
    assert asked == [view.viewport().mapToGlobal(view.state.byte_rect(40).bottomLeft().toPoint())]
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.RightButton, pos=middle_of(view, 70))
    assert view.state.selection.span == Span("", 70, 71)
    view.state.select(Span("", 60, 80))
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.RightButton, pos=middle_of(view, 70))
    assert view.state.selection.span == Span("", 60, 80)


def test_findings_of_other_sources_are_not_shown(view: HexView) -> None:
    """A finding marks its bytes in its own source only."""
    view.state.set_findings(
        [
            Finding(Severity.ERROR, "x.y", Span("", 8, 16), "wrong"),
            Finding(Severity.NOTE, "x.z", Span("@0-5", 8, 16), "elsewhere"),
            Finding(Severity.NOTE, "x.w", None, "about the whole"),
        ]
    )
    assert [mark.message for mark in view.state.marks.at(9)] == ["wrong"]
    assert view.state.marks.at(16) == []
    colours = {theme.of(view).error.rgb(), theme.of(view).note.rgb()}
    picture = view.viewport().grab().toImage()
    bottom = round(view.state.grid.row_y(1) - view.state.grid.rounded(1))
    assert picture.pixelColor(middle_of(view, 9).x(), bottom).rgb() == theme.of(view).error.rgb()
    assert picture.pixelColor(middle_of(view, 20).x(), round(view.state.grid.row_y(2) - 1)).rgb() not in colours


def test_a_double_click_selects_the_field(qtbot: QtBot, view: HexView) -> None:
    """The field under the pointer is selected: here the key of slot 1."""
    offset = INDEX + SLOT.size + 5
    qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, offset))
    qtbot.waitUntil(lambda: view.state.selection.span == Span("", INDEX + SLOT.size, INDEX + SLOT.size + 32))


def test_a_double_click_on_data_selects_all_of_it(qtbot: QtBot, view: HexView, pages: PageCache) -> None:
    """A field that reaches over pages that are not in memory is selected to its end."""
    view.state.reveal(OBJECTS)
    qtbot.waitUntil(lambda: loaded(pages, view))
    qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, OBJECTS + 3))
    qtbot.waitUntil(lambda: view.state.selection.span == Span("", OBJECTS, TAIL))


def test_rows_start_at_records(view: HexView) -> None:
    """With the width of a record and its start, every record has a row of its own, and the first row a blank lead."""
    view.state.set_row_width(SLOT.size, INDEX)
    assert view.state.layout.lead == SLOT.size - INDEX
    for number in range(5):
        assert view.state.layout.column_of(INDEX + number * SLOT.size) == 0
    assert view.state.offset_at(QPointF(middle_of(view, INDEX))) == (INDEX, HexPart.HEX)
    blank = QPointF(view.state.grid.edge(0, HexPart.HEX) + 4, view.state.grid.row_y(0) + 4)
    assert view.state.offset_at(blank) is None


def test_rows_fit_by_themselves(qtbot: QtBot, view: HexView) -> None:
    """By itself a row has 16 bytes; with less room narrower margins, then half of the bytes: nothing is cut off."""
    seen = []
    for width in (900, 628, 560, 330, 240):
        view.resize(width, 300)
        grid = view.state.grid
        assert grid.width <= view.viewport().width()
        assert view.horizontalScrollBar().maximum() == 0
        seen.append((grid.layout.width, grid.tight))
    assert seen[0] == (16, False)
    assert sorted(seen, key=lambda one: (-one[0], one[1])) == seen
    assert {16, 8} <= {width for width, _ in seen}
    view.state.set_row_width(16)
    view.resize(330, 300)
    assert view.state.layout.width == 16
    assert view.horizontalScrollBar().maximum() > 0


def test_rows_are_whole(qtbot: QtBot, view: HexView) -> None:
    """At any height no row is cut in two: what is left at the bottom is blank, and a click there selects nothing."""
    state = view.state
    for height in range(300, 330, 4):
        view.resize(900, height)
        grid, room = state.grid, view.viewport().height()
        assert state.rows_on_screen.lines == state.page_rows == int((room - grid.header) // grid.row)
        below = QPointF(grid.hex_x + 3, grid.row_y(state.rows_on_screen.lines) + 1)
        assert below.y() > room or state.offset_at(below) is None
        assert view.column.place_at(grid, below, state.rows_on_screen) is None
    qtbot.keyClick(view, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    assert state.visible_bytes[1] == SIZE
    assert state.byte_rect(SIZE - 1).bottom() <= view.viewport().height()
    # Dragging over the blank strip goes no farther than the last row.
    found = state.offset_at(QPointF(grid.hex_x + 3, view.viewport().height() - 1.0), HexPart.HEX)
    assert found is not None
    assert state.layout.row_of(found[0]) == state.top_row + state.rows_on_screen.lines - 1


def test_a_new_row_width_keeps_the_caret_in_place(view: HexView) -> None:
    """The row of the caret stays where it is on the screen."""
    view.state.scroll_to(20_000)
    view.state.move_caret(20_100)
    before = view.state.layout.row_of(20_100) - view.state.top_row
    view.state.set_row_width(40, 16)
    assert view.state.layout.row_of(20_100) - view.state.top_row == before


def test_select_tells_nobody(view: HexView) -> None:
    """What the program selects is shown, not told: views that follow each other must not ring."""
    told: list[object] = []
    view.state.selection_changed.connect(told.append)
    view.state.select(Span("", TAIL, SIZE))
    assert view.state.selection == HexSelection(Span("", TAIL, SIZE), TAIL)
    assert view.state.visible_bytes[0] <= TAIL < view.state.visible_bytes[1]
    assert told == []


def test_painting_never_reads(qtbot: QtBot, pages: PageCache, reader: SampleReader) -> None:
    """While reads are held, the view paints hatch instead of bytes; the bytes come with the pages."""
    reader.held.clear()
    view = HexView(pages)
    qtbot.addWidget(view)
    view.resize(900, 500)
    view.state.set_source("", SIZE, SECTIONS)
    view.show()
    held = view.viewport().grab().toImage()
    area = view.state.grid.rect(next(view.state.grid.blocks(0, 64, ScreenRows(0, 4))), HexPart.HEX).toRect()
    colours = {
        held.pixel(x, y) for x in range(area.left(), area.right()) for y in range(area.top() + 25, area.bottom())
    }
    assert colours == {theme.of(view).missing.rgb(), theme.of(view).base.rgb()}
    reader.held.set()
    qtbot.waitUntil(lambda: loaded(pages, view))
    shown = view.viewport().grab().toImage()
    assert theme.of(view).missing.rgb() not in {
        shown.pixel(x, area.center().y()) for x in range(area.left(), area.right())
    }


def test_a_failed_page_says_why(qtbot: QtBot, pages: PageCache, reader: SampleReader) -> None:
    """Bytes that cannot be had are shown as such, in the colour of errors, and can be tried again."""

    def fail(start: int, stop: int) -> None:
        raise SourceError("the disk is on fire")

    reader.failure = fail
    view = HexView(pages)
    qtbot.addWidget(view)
    view.resize(900, 500)
    view.state.set_source("", SIZE, SECTIONS)
    view.show()
    qtbot.waitUntil(lambda: (page := pages.get("", 0)) is not None and "on fire" in page.error)
    picture = view.viewport().grab().toImage()
    error = theme.of(view).error.rgb()
    left, top = round(view.state.grid.hex_x), round(view.state.grid.row_y(2))
    assert error in {picture.pixel(x, y) for x in range(left, left + 60) for y in range(top, top + 20)}
    reader.failure = lambda start, stop: None
    pages.use(reader)
    qtbot.waitUntil(lambda: loaded(pages, view))


def test_an_empty_source_is_shown(qtbot: QtBot, view: HexView) -> None:
    """A source without bytes has no selection, and no key does harm."""
    view.state.set_source("@0-0", 0)
    for key in (Key.Key_End, Key.Key_Down, Key.Key_PageDown, Key.Key_Return):
        qtbot.keyClick(view, key)
        qtbot.keyClick(view, key, Control)
    assert view.state.selection == HexSelection(Span("@0-0", 0, 0), 0)
    assert not view.grab().isNull()


@pytest.mark.thorough
def test_a_new_theme_is_painted(view: HexView) -> None:
    """A change of the application's theme reaches the painted bytes."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    corner = QPoint(view.viewport().width() - 3, view.viewport().height() - 3)
    try:
        for name in ("dark", "light"):
            theme.apply(application, name)
            QApplication.processEvents()
            assert view.viewport().grab().toImage().pixelColor(corner).name() == theme.palette(name).base.name()
    finally:
        theme.apply(application, "light")
