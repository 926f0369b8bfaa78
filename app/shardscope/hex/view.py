"""The hex view: bytes coloured by their meaning, from what is in memory, at any offset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from shardcore import FieldRole, Finding, Node, Section, SectionRole, Span
from shardscope.hex import input as hex_input
from shardscope.hex.accessible import HexAccessibility, install_factory
from shardscope.hex.cells import SECTION_ROLES, CellState, gather, run_at
from shardscope.hex.grid import HexGrid, Part
from shardscope.hex.layout import MAX_WIDTH, HexLayout
from shardscope.hex.marks import Mark, Marks
from shardscope.hex.mouse import HexMouse
from shardscope.hex.paint import HexPainter, Scene
from shardscope.hex.scroll import RowScroller
from shardscope.looks import theme
from shardscope.pages import PAGE, PageCache

_FIT_STEP = 8


@dataclass(frozen=True)
class HexSelection:
    """What is selected in a hex view.

    Attributes:
        span: The bytes; one byte where there is only a caret, none in an empty source.
        caret: The byte with the caret.
    """

    span: Span
    caret: int


class HexView(QAbstractScrollArea):
    """Shows one source of a `PageCache`.

    Signals carry Python objects: `selection_changed` a `HexSelection`, `caret_moved` and `activated` an offset,
    `menu_requested` the global position, `layout_changed` nothing. They tell what the user did, not what `select` did.
    `view_changed` tells, soon after, that other bytes or colours are on the screen.
    """

    selection_changed = Signal(object)
    caret_moved = Signal(object)
    activated = Signal(object)
    menu_requested = Signal(object)
    layout_changed = Signal()
    view_changed = Signal()

    def __init__(self, pages: PageCache, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # The first settings below already send events.
        self._mouse = HexMouse(self, pages)
        self.accessibility = HexAccessibility(self, pages)
        self.name = ""
        self.sections: Sequence[Section] = ()
        self.letters = True
        self.paints = 0
        self._pages = pages
        self._fixed: tuple[int, int] | None = (16, 0)
        self._layout = HexLayout(0)
        self._marks = Marks()
        self._caret = self._anchor = 0
        self._span = (0, 0)
        self._part = Part.HEX
        self._hover: tuple[int, int] | None = None
        self._ahead = 0
        self._font = theme.fixed_font()
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self.view_changed)
        self._scroller = RowScroller(self.verticalScrollBar(), self._scrolled)
        self._painter = HexPainter(HexGrid(self._font, self._layout, 1.0), theme.of(self))
        install_factory()
        self.setObjectName("hexView")
        self.setAccessibleName("Bytes")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        pages.changed.connect(self._page_changed)
        pages.cleared.connect(self._pages_cleared)

    # --- what is shown ---

    @property
    def rows(self) -> HexLayout:
        """Where the bytes stand."""
        return self._layout

    @property
    def grid(self) -> HexGrid:
        """Where the cells stand on the screen."""
        return self._painter.grid

    @property
    def selection(self) -> HexSelection:
        """What is selected."""
        return HexSelection(Span(self.name, *self._span), self._caret)

    @property
    def top_row(self) -> int:
        """The first row on the screen."""
        return self._scroller.top

    @property
    def page_rows(self) -> int:
        """Rows that are completely on the screen."""
        return self._scroller.visible

    @property
    def visible_bytes(self) -> tuple[int, int]:
        """The bytes on the screen, half-open."""
        first = self._layout.row_start(self.top_row)
        return max(first, 0), min(self._layout.row_start(self.top_row + self._shown_rows()), self._layout.size)

    def set_source(self, name: str, size: int, sections: Sequence[Section] = ()) -> None:
        """Shows the beginning of another source.

        Args:
            name: As the page cache knows it.
            size: Number of bytes.
            sections: Sorted, tiling the source; empty when there are none.
        """
        self.name, self.sections = name, tuple(sections)
        self._caret = self._anchor = 0
        self._span = (0, min(size, 1))
        self._hover = None
        self._marks = Marks()
        self._scroller.top = 0
        self.horizontalScrollBar().setValue(0)
        self._relayout(size)

    def set_sections(self, sections: Sequence[Section]) -> None:
        """The same bytes, divided otherwise."""
        self.sections = tuple(sections)
        self.viewport().update()

    def set_findings(self, findings: Iterable[Finding]) -> None:
        """Underlines what findings are about."""
        self._marks = Marks(findings, self.name)
        self.viewport().update()

    def set_row_width(self, width: int | None, origin: int = 0) -> None:
        """How many bytes a row has; None: as many as fit, in eights. Some row starts at the offset `origin`."""
        self._fixed = None if width is None else (min(max(width, 1), MAX_WIDTH), origin)
        self._relayout(self._layout.size)

    def set_letters(self, shown: bool) -> None:
        """Whether runs begin with the letter of their role."""
        self.letters = shown
        self.viewport().update()

    def set_font_size(self, points: float) -> None:
        """Makes the bytes larger or smaller, 6 to 32 points."""
        self._font.setPointSizeF(min(max(points, 6.0), 32.0))
        self._relayout(self._layout.size)

    @property
    def font_size(self) -> float:
        """The size of the bytes, in points."""
        return self._font.pointSizeF()

    def marks_at(self, offset: int) -> list[Mark]:
        """The findings about a byte, the worst first."""
        return self._marks.at(offset)

    def set_hover(self, run: tuple[int, int] | None) -> None:
        """Lights the run under the pointer."""
        if run != self._hover:
            self._hover = run
            self.viewport().update()

    def roles_on_screen(self) -> list[tuple[SectionRole, FieldRole]]:
        """The section and field roles of the bytes on the screen, without repetition, in the order of the roles."""
        cells = gather(self._layout, self.top_row, self._shown_rows(), self._pages, self.name, self.sections)
        shades = np.unique(cells.shade[cells.state == CellState.LOADED] // 2).tolist()
        return [(SECTION_ROLES[shade // len(FieldRole)], FieldRole(shade % len(FieldRole))) for shade in shades]

    # --- selection ---

    def select(self, span: Span, *, reveal: bool = True) -> None:
        """Selects bytes of this source, with the caret on the first one; tells nobody."""
        start = self._layout.clamp(span.start)
        stop = min(max(span.stop, start), self._layout.size)
        self._caret, self._anchor, self._span = start, max(stop - 1, start), (start, stop)
        if reveal:
            self.reveal(start)
        self._caret_changed()

    def reveal(self, offset: int) -> None:
        """Scrolls until a byte can be seen."""
        self._scroller.show(self._layout.row_of(self._layout.clamp(offset)), centre=True)
        self._show_column(offset)

    def scroll_by(self, rows: float) -> None:
        """Scrolls some rows down, or up when negative; parts of rows add up."""
        self._ahead = 1 if rows > 0 else -1
        self._scroller.roll(rows)

    def scroll_to(self, offset: int) -> None:
        """Makes the row of a byte the top row."""
        self._scroller.go(self._layout.row_of(self._layout.clamp(offset)))

    def move_caret(self, offset: int, *, extend: bool = False, part: Part | None = None) -> None:
        """What keys and mouse do: the caret goes to a byte, and the selection with it."""
        self._part = part or self._part
        self._caret = self._layout.clamp(offset)
        if not extend:
            self._anchor = self._caret
        low, high = sorted((self._anchor, self._caret))
        self._span = (low, min(high + 1, self._layout.size))
        self._scroller.show(self._layout.row_of(self._caret))
        self._show_column(self._caret)
        self._caret_changed()
        self.caret_moved.emit(self._caret)
        self.selection_changed.emit(self.selection)

    def select_all(self) -> None:
        """Selects every byte."""
        self._choose(0, self._layout.size)

    def select_field(self, offset: int) -> None:
        """Selects what owns a byte: its run at once, the exact field when it is known."""
        run = run_at(self._pages, self.name, offset)
        if run is not None:
            self._choose(run[0], run[1])
        self._pages.explain(self.name, offset, partial(self._take_field, self.name, offset), key=("field", id(self)))

    def _take_field(self, name: str, offset: int, path: tuple[Node, ...]) -> None:
        span = path[-1].span
        if (
            name == self.name
            and span.source == name
            and span.covers(offset)
            and self._span[0] <= offset < self._span[1]
        ):
            self._choose(span.start, span.stop)

    def _choose(self, start: int, stop: int) -> None:
        if (start, stop) == self._span:
            return
        self._anchor, self._caret, self._span = max(stop - 1, start), start, (start, stop)
        self._caret_changed()
        self.selection_changed.emit(self.selection)

    def _caret_changed(self) -> None:
        self.viewport().update()
        self.accessibility.caret_moved()

    # --- geometry ---

    def _relayout(self, size: int) -> None:
        """Makes layout and grid again; the caret stays on its row of the screen when it was on it."""
        before = self._layout.row_of(self._caret) - self._scroller.top
        visible = 0 <= before < self._scroller.visible
        ratio = self.devicePixelRatioF()
        width, origin = self._fixed if self._fixed is not None else (self._fitting(size, ratio), 0)
        self._layout = HexLayout.aligned(size, width, origin)
        self._painter = HexPainter(HexGrid(self._font, self._layout, ratio), theme.of(self))
        self._resize_bars()
        row = self._layout.row_of(self._caret)
        self._scroller.go(row - (before if visible else self._scroller.visible // 3))
        self._request()
        self.viewport().update()
        self.layout_changed.emit()

    def _fitting(self, size: int, ratio: float) -> int:
        room = self.viewport().width()
        width = _FIT_STEP
        while width + _FIT_STEP <= MAX_WIDTH:
            if HexGrid(self._font, HexLayout(size, width + _FIT_STEP), ratio).width > room:
                break
            width += _FIT_STEP
        return width

    def _resize_bars(self) -> None:
        grid, area = self._painter.grid, self.viewport().size()
        self._scroller.resize(self._layout.rows, int((area.height() - grid.header) // grid.row))
        bar = self.horizontalScrollBar()
        bar.setPageStep(area.width())
        bar.setSingleStep(int(3 * grid.cell))
        bar.setRange(0, max(int(grid.width) - area.width(), 0))

    def _shown_rows(self) -> int:
        """Rows on the screen, a partly visible one included."""
        grid = self._painter.grid
        room = max(self.viewport().height() - grid.header, 0)
        return min(int(-(-room // grid.row)), self._layout.rows - self._scroller.top)

    def _show_column(self, offset: int) -> None:
        bar, grid = self.horizontalScrollBar(), self._painter.grid
        if bar.maximum() == 0:
            return
        cell = self._layout.column_of(offset)
        left, right = grid.edge(cell, self._part), grid.edge(cell + 1, self._part)
        if left - bar.value() < grid.gutter:
            bar.setValue(int(left - grid.gutter - grid.margin))
        elif right - bar.value() > self.viewport().width():
            bar.setValue(int(right + grid.margin) - self.viewport().width())

    def offset_at(self, point: QPointF, part: Part | None = None) -> tuple[int, Part] | None:
        """The byte nearest to a point of the viewport, and the part; None beside and below the bytes."""
        grid = self._painter.grid
        place = QPointF(point.x() + self.horizontalScrollBar().value(), point.y())
        cell, found = grid.cell_at(place, part)
        row = int((place.y() - grid.header) // grid.row)
        offset = self._layout.row_start(self._scroller.top + row) + cell
        outside = point.x() < grid.gutter or place.x() > grid.width or not 0 <= offset < self._layout.size
        if part is None and (outside or place.y() < grid.header):
            return None
        return self._layout.clamp(offset), found

    def byte_rect(self, offset: int) -> QRectF:
        """Where a byte is, in pixels of the viewport, in the part where the caret is strong."""
        grid = self._painter.grid
        row, cell = self._layout.row_of(offset) - self._scroller.top, self._layout.column_of(offset)
        left, right = grid.edge(cell, self._part), grid.edge(cell + 1, self._part)
        return QRectF(left - self.horizontalScrollBar().value(), grid.row_y(row), right - left, grid.row)

    # --- pages ---

    def _request(self) -> None:
        self._soon.start()
        start, stop = self.visible_bytes
        if stop > start:
            self._pages.want(
                self.name, start // PAGE, (stop - 1) // PAGE, ahead=self._ahead, pages=-(-self._layout.size // PAGE)
            )

    def _scrolled(self) -> None:
        self._hover = None
        self._request()
        self.viewport().update()

    def _page_changed(self, name: str, number: int) -> None:
        start, stop = self.visible_bytes
        if name == self.name and number * PAGE < stop and (number + 1) * PAGE > start:
            self._painter.rows.forget_letters()
            self._request()
            self.viewport().update()

    def _pages_cleared(self) -> None:
        self._painter.rows.forget()
        self._request()
        self.viewport().update()

    # --- events ---

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paints the screen."""
        self.paints += 1
        top, rows = self._scroller.top, self._shown_rows()
        cells = gather(self._layout, top, rows, self._pages, self.name, self.sections)
        scene = Scene(
            top=top,
            rows=rows,
            sections=self.sections,
            selection=self._span if self._span[1] - self._span[0] > 1 else None,
            caret=self._caret if self._layout.size else -1,
            focused=self.hasFocus(),
            part=self._part,
            hover=self._hover,
            marks=self._marks,
            letters=self.letters,
        )
        painter = QPainter(self.viewport())
        self._painter.paint(
            painter, scene, cells, QRectF(self.viewport().rect()), float(self.horizontalScrollBar().value())
        )
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """More or fewer rows, and with "fit" more or fewer bytes in a row."""
        if self._fixed is None and self._fitting(self._layout.size, self.devicePixelRatioF()) != self._layout.width:
            self._relayout(self._layout.size)
            return
        self._resize_bars()
        self._request()

    def changeEvent(self, event: QEvent) -> None:
        """A new theme."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange):
            self._painter = HexPainter(self._painter.grid, theme.of(self))
            self.viewport().update()

    def event(self, event: QEvent) -> bool:
        """The window came to a screen of another scale."""
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._relayout(self._layout.size)
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        """The mouse."""
        return self._mouse.handle(event) or super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Asks for the menu; from the keyboard, at the caret."""
        place = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            place = self.viewport().mapToGlobal(self.byte_rect(self._caret).bottomLeft().toPoint())
        self.menu_requested.emit(QPoint(place))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The caret becomes strong."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """The caret becomes weak."""
        super().focusOutEvent(event)
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Paints again; nothing is moved by pixels."""
        self.viewport().update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolls or zooms."""
        hex_input.wheel(self, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Moves the caret; with shift, extends the selection."""
        if not hex_input.key(self, event):
            super().keyPressEvent(event)
