"""State of a hex view: source, layout, caret, selection and visible part.

It stands below the view, so that painting, mouse, keys and screen readers share it without knowing the view.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Protocol

from PySide6.QtCore import QObject, QPointF, QRectF, Signal
from PySide6.QtWidgets import QAbstractScrollArea

from shardcore import FieldRole, Finding, Node, Section, SectionRole, Span
from shardcore.operations.notes import Note
from shardcore.operations.search import Pattern, find_any
from shardcore.teaching.lessons.secrets import NOTHING, Secrets
from shardscope.session.debounce import Debounce
from shardscope.session.highlights import Arrow, Light, arrows_in, lights_in
from shardscope.session.marks import Mark, Marks
from shardscope.session.notes import notes_in
from shardscope.session.pages import PAGE, PageCache
from shardscope.session.proposed_bytes import Proposed, about
from shardscope.session.sandbox_changes import Sandboxed
from shardscope.views.hex.cells import ByteCells, failed_in, gather, roles_in, run_at
from shardscope.views.hex.grid import HexGrid, HexPart
from shardscope.views.hex.layout import MAX_WIDTH, HexLayout
from shardscope.views.hex.proposed import with_new
from shardscope.views.hex.row_fit import AUTOMATIC, RowRule
from shardscope.views.hex.scene import HexScene, HexSelection, Range
from shardscope.views.hex.scroll import RowScroller
from shardscope.widgets import fonts as type_
from shardscope.widgets import theme

MOST = 2000
"""Hits on one screen that are marked."""


def hits_in(
    pages: PageCache, name: str, patterns: Sequence[Pattern], start: int, stop: int, size: int
) -> tuple[Range, ...]:
    """Return the bytes in `[start, stop)` that a pattern fits, those that reach in from outside included; ascending.

    Args:
        pages: Where the bytes are, as far as they are in memory.
        name: Which source.
        patterns: What is searched for.
        start: First byte.
        stop: One past the last byte.
        size: Of the source.
    """
    if not patterns or stop <= start:
        return ()
    reach = max(pattern.size for pattern in patterns) - 1
    found: list[Range] = []
    # A page that is missing parts the bytes.
    for first, last in _loaded(pages, name, max(start - reach, 0), min(stop + reach, size)):
        data = pages.bytes_at(name, first, last)
        if data is None:
            continue
        offsets, which = find_any(data, patterns)
        for offset, number in zip((offsets + first).tolist(), which.tolist(), strict=True):
            end = offset + patterns[number].size
            if end > start and offset < stop:
                found.append((offset, end))
    return tuple(found[:MOST])


def _loaded(pages: PageCache, name: str, start: int, stop: int) -> list[Range]:
    """Return the stretches of `[start, stop)` that are in memory."""
    stretches: list[Range] = []
    for number in range(start // PAGE, -(-stop // PAGE)):
        first, last = max(start, number * PAGE), min(stop, (number + 1) * PAGE)
        page = pages.get(name, number)
        if page is None or page.stop < last:
            continue
        if stretches and stretches[-1][1] == first:
            stretches[-1] = (stretches[-1][0], last)
        else:
            stretches.append((first, last))
    return stretches


class ByteEdits(Protocol):
    """Takes bytes that are typed over those of the file."""

    def put(self, pieces: Sequence[tuple[int, bytes]], what: str = "", *, second: bool = False) -> None:
        """Overwrite bytes in one step.

        Args:
            pieces: Offsets and the new bytes there.
            what: Description; default: the number of bytes that are overwritten.
            second: Whether it is the second digit of the byte that was typed last.
        """


class HexState(QObject):
    """State of one scroll area, on one source of a `PageCache`.

    Attributes:
        area: The scroll area; its viewport and its bars are laid out here.
        pages: Where the bytes come from.
        name: Which source.
        sections: Sorted, tiling the source; empty when there are none.
        layout: Where the bytes are stored in rows.
        grid: Where the cells stand on the screen.
        marks: The findings about the source.
        part: The part where the caret is strong.
        hover: The run under the pointer, or None.
        letters: Whether runs begin with the letter of their role; in the safe palettes they always do.
        frames: The field of the caret, then its record; fewer where there are none.
        patterns: What was searched for: its hits are marked.
        proposed: What is going to change in some source, or None.
        lights: What is highlighted, in all sources.
        arrows: What leads where, in all sources.
        sandboxed: What was changed of the file in a sandbox, or None.
        notes: The notes on the source.
        edits: Takes what is typed; None where the file is read only.
    """

    read_only = Signal()
    """Something was typed, and the file is read only."""
    hovered = Signal(object)
    """The `Span` of the field under the pointer, or None."""
    selection_changed = Signal(object)
    """A `HexSelection` that the user made; `select` tells nobody."""
    caret_changed = Signal()
    """The caret or the selection is another, whoever changed it."""
    activated = Signal(object)
    """The offset on which Return was pressed."""
    changed = Signal()
    """The screen is to be painted again."""
    layout_changed = Signal()
    """Layout and grid are new ones."""
    runs_changed = Signal()
    """Bytes came, or got their colours."""
    bytes_changed = Signal()
    """All bytes may be others."""
    looks_changed = Signal()
    """Emitted when the same bytes have other marks."""
    view_changed = Signal()
    """Told soon after: other bytes or colours are on the screen."""

    def __init__(self, area: QAbstractScrollArea, pages: PageCache) -> None:
        super().__init__(area)
        self.area = area
        self.pages = pages
        self.name = ""
        self.sections: Sequence[Section] = ()
        self.marks = Marks()
        self.part = HexPart.HEX
        self.hover: tuple[int, int] | None = None
        self.letters = False
        self.frames: tuple[Range, ...] = ()
        self.patterns: Sequence[Pattern] = ()
        self.proposed: Proposed | None = None
        self.lights: tuple[Light, ...] = ()
        self.secrets: Secrets = NOTHING
        self.arrows: tuple[Arrow, ...] = ()
        self.sandboxed: Sandboxed | None = None
        self.notes: tuple[Note, ...] = ()
        self.edits: ByteEdits | None = None
        self._half_at = -1
        self._early: list[int] = []
        self.layout = HexLayout(0)
        self.zoom = 1.0
        self._font = theme.fixed_font()
        self.grid = HexGrid(self._font, self.layout, 1.0)
        self._rule = AUTOMATIC
        self._caret = self._anchor = 0
        self._span = (0, 0)
        self._ahead = 0
        self._soon = Debounce(self, self.view_changed)
        self._across = area.horizontalScrollBar()
        self._scroller = RowScroller(area.verticalScrollBar(), self._scrolled)
        pages.changed.connect(self._page_changed)
        pages.cleared.connect(self._pages_cleared)

    # --- what is shown ---

    @property
    def selection(self) -> HexSelection:
        """Return what is selected."""
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
    def shown_rows(self) -> int:
        """Rows on the screen, whole ones only; what is left below them is blank."""
        return min(self._scroller.visible, self.layout.rows - self._scroller.top)

    @property
    def rows_on_screen(self) -> range:
        """Their numbers."""
        return range(self.top_row, self.top_row + self.shown_rows)

    @property
    def visible_bytes(self) -> tuple[int, int]:
        """The bytes on the screen, half-open."""
        first = self.layout.row_start(self.top_row)
        return max(first, 0), min(self.layout.row_start(self.top_row + self.shown_rows), self.layout.size)

    def cells(self) -> ByteCells:
        """Return the cells of the rows on the screen."""
        return self.cells_of(self.top_row, self.shown_rows)

    def cells_of(self, top: int, rows: int) -> ByteCells:
        """Return the cells of some rows."""
        found = gather(self.layout, top, rows, self.pages, self.name, self.sections)
        return with_new(found, about(self.proposed, self.name))

    def scene(self, *, focused: bool) -> HexScene:
        """Return what is to be painted."""
        span, start, stop = self._span, *self.visible_bytes
        return HexScene(
            top=self.top_row,
            rows=self.shown_rows,
            sections=self.sections,
            selection=span if span[1] - span[0] > 1 else None,
            caret=self._caret if self.layout.size else -1,
            focused=focused,
            part=self.part,
            hover=self.hover,
            marks=self.marks,
            letters=self.letters,
            frames=self.frames,
            hits=hits_in(self.pages, self.name, self.patterns, start, stop, self.layout.size),
            failed=failed_in(self.pages, self.name, start, stop),
            proposed=about(self.proposed, self.name),
            lights=lights_in(self.lights, self.name),
            arrows=arrows_in(self.arrows, self.name),
            sandboxed=self.sandboxed if self.name == "" else None,
            notes=notes_in(self.notes, start, stop),
            half=self.half,
        )

    def roles_on_screen(self) -> list[tuple[SectionRole, FieldRole]]:
        """The section and field roles of the bytes on the screen, without repetition, in the order of the roles."""
        return roles_in(self.cells())

    def marks_at(self, offset: int) -> list[Mark]:
        """Return the findings about a byte, the worst first."""
        return self.marks.at(offset)

    def notes_at(self, offset: int) -> list[Note]:
        """Return the notes on a byte."""
        return notes_in(self.notes, offset, offset + 1)

    def set_source(self, name: str, size: int, sections: Sequence[Section] = ()) -> None:
        """Show the beginning of another source.

        Args:
            name: As the page cache knows it.
            size: Number of bytes.
            sections: Sorted, tiling the source; empty when there are none.
        """
        self.name, self.sections = name, tuple(sections)
        self._caret = self._anchor = 0
        self._span = (0, min(size, 1))
        self.hover = None
        self.frames = ()
        self.marks = Marks()
        self.notes = ()
        self._scroller.top = 0
        self._across.setValue(0)
        self._relayout(size)

    def set_sections(self, sections: Sequence[Section]) -> None:
        """Set the sections of the same bytes."""
        self.sections = tuple(sections)
        self._look_otherwise()

    def set_findings(self, findings: Iterable[Finding]) -> None:
        """Underline what findings are about."""
        self.marks = Marks(findings, self.name)
        self._look_otherwise()

    def set_notes(self, notes: Sequence[Note]) -> None:
        """Show the notes on the source."""
        self.notes = tuple(notes)
        self.changed.emit()

    def set_patterns(self, patterns: Sequence[Pattern]) -> None:
        """Mark all bytes that one of some patterns fits."""
        self.patterns = tuple(patterns)
        self._look_otherwise()

    def set_proposed(self, proposed: Proposed | None) -> None:
        """Mark what is going to change, and show it in place where that is needed; the source stays as it is."""
        self.proposed = proposed
        self.bytes_changed.emit()
        self.changed.emit()

    def set_sandboxed(self, sandboxed: Sandboxed | None) -> None:
        """Mark what was changed of the file in a sandbox; None where there is no sandbox."""
        self.sandboxed = sandboxed
        self._look_otherwise()

    def set_frames(self, frames: Iterable[Range]) -> None:
        """Frames the field of the caret, and fainter its record."""
        if (found := tuple(frames)) != self.frames:
            self.frames = found
            self.changed.emit()

    def set_lights(self, lights: Sequence[Light], arrows: Sequence[Arrow]) -> None:
        """Highlight bytes, with their numbers, and draw arrows; those of other sources are seen there."""
        self.lights, self.arrows = tuple(lights), tuple(arrows)
        self.changed.emit()

    def _look_otherwise(self) -> None:
        self.looks_changed.emit()
        self.changed.emit()

    def set_row_width(self, width: int, origin: int = 0) -> None:
        """Set the bytes per row. A row starts at the offset `origin`."""
        self.set_row_rule(RowRule(min(max(width, 1), MAX_WIDTH), origin))

    def set_row_rule(self, rule: RowRule) -> None:
        """Set the rule for the bytes per row."""
        self._rule = rule
        self._relayout(self.layout.size)

    def set_letters(self, shown: bool) -> None:
        """Set whether runs begin with the letter of their role."""
        self.letters = shown
        self._look_otherwise()

    def set_zoom(self, zoom: float) -> None:
        """Make the bytes larger or smaller than everything else in the window."""
        self.zoom = min(max(zoom, type_.ZOOMS[0]), type_.ZOOMS[-1])
        self.fit_font()

    def fit_font(self) -> None:
        """Write the bytes as large as window and zoom want them."""
        self._font.setPointSizeF(type_.points(type_.NORMAL) * self.zoom)
        self._relayout(self.layout.size)

    def set_hover(self, run: tuple[int, int] | None) -> None:
        """Highlight the run under the pointer."""
        if run != self.hover:
            self.hover = run
            self.hovered.emit(Span(self.name, *run) if run is not None else None)
            self.changed.emit()

    # --- selection ---

    def select(self, span: Span, *, reveal: bool = True) -> None:
        """Select bytes of this source, with the caret on the first one; tell nobody."""
        start = self.layout.clamp(span.start)
        stop = min(max(span.stop, start), self.layout.size)
        self._caret, self._anchor, self._span = start, max(stop - 1, start), (start, stop)
        if reveal:
            self.reveal(start)
        self._caret_changed()

    def reveal(self, offset: int) -> None:
        """Scroll until a byte can be seen."""
        self._scroller.show(self.layout.row_of(self.layout.clamp(offset)), centre=True)
        self._show_column(offset)

    @property
    def caret_seen(self) -> bool:
        """Return whether the row of the caret is on the screen."""
        return self.layout.row_of(self._caret) in self.rows_on_screen

    def show_caret(self) -> None:
        """Scroll as little as needed to show the row of the caret."""
        self._scroller.show(self.layout.row_of(self._caret))

    def scroll_by(self, rows: float) -> None:
        """Scroll some rows down, or up when negative; parts of rows add up."""
        self._ahead = 1 if rows > 0 else -1
        self._scroller.roll(rows)

    def scroll_to(self, offset: int) -> None:
        """Make the row of a byte the top row."""
        self._scroller.go(self.layout.row_of(self.layout.clamp(offset)))

    def scroll_across(self, steps: float) -> None:
        """Scroll to the right, or to the left when negative."""
        self._across.setValue(self._across.value() + round(steps * self._across.singleStep()))

    def move_caret(self, offset: int, *, extend: bool = False, part: HexPart | None = None) -> None:
        """Move the caret to a byte, and with it the selection."""
        self._half_at = -1
        self.part = part or self.part
        self._caret = self.layout.clamp(offset)
        if not extend:
            self._anchor = self._caret
        low, high = sorted((self._anchor, self._caret))
        self._span = (low, min(high + 1, self.layout.size))
        self._scroller.show(self.layout.row_of(self._caret))
        self._show_column(self._caret)
        self._caret_changed()
        self.selection_changed.emit(self.selection)

    # --- typing ---

    @property
    def editable(self) -> bool:
        """Return whether bytes can be typed over those that are shown."""
        return self.edits is not None and not self.name and self.layout.size > 0

    @property
    def half(self) -> bool:
        """Return whether the second digit of the byte with the caret is next."""
        return self.editable and self._half_at == self._caret

    def set_edits(self, edits: ByteEdits | None) -> None:
        """Let bytes be typed, or not."""
        if edits is not self.edits:
            self.edits, self._half_at = edits, -1
            self._early.clear()
            self.changed.emit()

    def type_digit(self, digit: int) -> None:
        """Overwrite half of the byte with the caret; after the second half the caret goes on."""
        at = self._begin_typing()
        old = self.byte_at(at)
        if self.edits is None:
            return
        if old is None:
            self._early.append(digit)  # until the page is loaded
            return
        second = self.half
        new = old & 0xF0 | digit if second else digit << 4 | old & 0x0F
        self.edits.put([(at, bytes([new]))], second=second)
        if second:
            self.move_caret(at + 1)
        self._half_at = -1 if second else at
        self.changed.emit()

    def type_text(self, text: str) -> None:
        """Overwrite bytes with the UTF-8 of a text; the caret goes on behind it."""
        at = self._begin_typing()
        data = text.encode("utf-8", "replace")
        if self.edits is not None and at + len(data) <= self.layout.size:
            self.edits.put([(at, data)])
            self.move_caret(at + len(data))

    def byte_at(self, offset: int) -> int | None:
        """Return the byte that is shown; None while it is not loaded."""
        data = self.pages.bytes_at(self.name, offset, offset + 1)
        if not data:
            return None
        proposed = about(self.proposed, self.name)
        return (proposed.seen(offset, data) if proposed is not None else data)[0]

    def _begin_typing(self) -> int:
        """Return the byte that is overwritten first: of selected ones the first, and the caret goes there."""
        if self._span[1] - self._span[0] > 1:
            self.move_caret(self._span[0])
        return self._caret

    def select_all(self) -> None:
        """Select every byte."""
        self._choose(0, self.layout.size)

    def select_field(self, offset: int) -> None:
        """Select what owns a byte: its run at once, the exact field when it is known."""
        run = run_at(self.pages, self.name, offset)
        if run is not None:
            self._choose(run[0], run[1])
        self.pages.explain(self.name, offset, partial(self._take_field, self.name, offset), key=("field", id(self)))

    def _take_field(self, name: str, offset: int, path: tuple[Node, ...]) -> None:
        span = path[-1].span
        here = name == self.name == span.source and span.covers(offset)
        if here and self._span[0] <= offset < self._span[1]:
            self._choose(span.start, span.stop)

    def _choose(self, start: int, stop: int) -> None:
        if (start, stop) == self._span:
            return
        self._anchor, self._caret, self._span = max(stop - 1, start), start, (start, stop)
        self._caret_changed()
        self.selection_changed.emit(self.selection)

    def _caret_changed(self) -> None:
        self.changed.emit()
        self.caret_changed.emit()

    # --- geometry ---

    @property
    def full_width(self) -> float:
        """Return the pixels of rows that have all their bytes."""
        return self._rule.grid(self._font, self.layout.size, self.area.devicePixelRatioF(), math.inf).width

    def fit_area(self) -> None:
        """The scroll area has another size, or stands on a screen of another scale."""
        ratio = self.area.devicePixelRatioF()
        fitting = self._fitted(self.layout.size)
        same = (fitting.layout, fitting.tight) == (self.layout, self.grid.tight)
        if ratio != self.grid.ratio or not same:
            self._relayout(self.layout.size)
            return
        seen = self.caret_seen
        self._resize_bars()
        if seen:
            # What is shown above the bytes may take some of their room.
            self.show_caret()
        self._request()

    def _relayout(self, size: int) -> None:
        """Make layout and grid again; the caret stays on its row of the screen when it was on it."""
        before = self.layout.row_of(self._caret) - self._scroller.top
        visible = 0 <= before < self._scroller.visible
        self.grid = self._fitted(size)
        self.layout = self.grid.layout
        self._resize_bars()
        row = self.layout.row_of(self._caret)
        self._scroller.go(row - (before if visible else self._scroller.visible // 3))
        self._request()
        self.layout_changed.emit()
        self.changed.emit()

    def _fitted(self, size: int) -> HexGrid:
        return self._rule.grid(self._font, size, self.area.devicePixelRatioF(), self.area.viewport().width())

    def _resize_bars(self) -> None:
        grid, room = self.grid, self.area.viewport().size()
        self._scroller.resize(self.layout.rows, int((room.height() - grid.header) // grid.row))
        self._across.setPageStep(room.width())
        self._across.setSingleStep(int(3 * grid.cell))
        self._across.setRange(0, max(int(grid.width) - room.width(), 0))

    def _show_column(self, offset: int) -> None:
        bar, grid = self._across, self.grid
        if bar.maximum() == 0:
            return
        cell = self.layout.column_of(offset)
        left, right = grid.edge(cell, self.part), grid.edge(cell + 1, self.part)
        if left - bar.value() < grid.gutter:
            bar.setValue(int(left - grid.gutter - grid.margin))
        elif right - bar.value() > self.area.viewport().width():
            bar.setValue(int(right + grid.margin) - self.area.viewport().width())

    def offset_at(self, point: QPointF, part: HexPart | None = None) -> tuple[int, HexPart] | None:
        """Return the byte nearest to a point of the viewport, and the part; None beside and below the bytes."""
        grid = self.grid
        place = QPointF(point.x() + self._across.value(), point.y())
        cell, found = grid.cell_at(place, part)
        row = int((place.y() - grid.header) // grid.row)
        row, below = min(row, self.shown_rows - 1), row >= self.shown_rows
        offset = self.layout.row_start(self._scroller.top + row) + cell
        outside = point.x() < grid.gutter or place.x() > grid.width or not 0 <= offset < self.layout.size
        if part is None and (outside or below or place.y() < grid.header):
            return None
        return self.layout.clamp(offset), found

    def byte_rect(self, offset: int) -> QRectF:
        """Return where a byte is, in pixels of the viewport, in the part where the caret is strong."""
        grid = self.grid
        row, cell = self.layout.row_of(offset) - self._scroller.top, self.layout.column_of(offset)
        left, right = grid.edge(cell, self.part), grid.edge(cell + 1, self.part)
        return QRectF(left - self._across.value(), grid.row_y(row), right - left, grid.row)

    # --- pages ---

    def _request(self) -> None:
        self._soon.start()
        start, stop = self.visible_bytes
        if stop > start:
            self.pages.want(
                self.name, start // PAGE, (stop - 1) // PAGE, ahead=self._ahead, pages=-(-self.layout.size // PAGE)
            )

    def _scrolled(self) -> None:
        self.hover = None
        self._request()
        self.changed.emit()

    def _page_changed(self, name: str, number: int) -> None:
        if name != self.name:
            return
        # Rows that left the screen for a moment may be kept, too.
        self.runs_changed.emit()
        start, stop = self.visible_bytes
        if number * PAGE < stop and (number + 1) * PAGE > start:
            self._request()
            self.changed.emit()
        early, self._early = self._early, []
        for digit in early:
            self.type_digit(digit)

    def _pages_cleared(self) -> None:
        self.bytes_changed.emit()
        self._request()
        self.changed.emit()
