"""State of a hex view without widgets, shared by painting, mouse, keyboard and accessibility."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from PySide6.QtCore import QObject, QPointF, QRectF, Signal
from PySide6.QtWidgets import QAbstractScrollArea, QAbstractSlider, QScrollBar

from shardcore import Finding, Node, Section, Span
from shardcore.dataclasses import dataclass
from shardcore.model.computed_children import RowRange
from shardcore.model.details import record_size
from shardcore.operations.notes import Note
from shardcore.operations.search import Pattern, find_any
from shardscope.session.byte_marks import HitList, Marks, Proposed, Range, SandboxChanges, notes_in, sections_in
from shardscope.session.byte_pages import PAGE, PageCache
from shardscope.session.selection import Arrow, Highlight, arrows_in, highlights_in
from shardscope.views.hex.layout import (
    AUTOMATIC,
    MAX_WIDTH,
    ByteCells,
    HexGrid,
    HexLayout,
    HexPart,
    RowFolds,
    RowRule,
    ScreenRows,
    failed_in,
    gather,
    run_at,
    with_new,
)
from shardscope.views.hex.painter import HexScene
from shardscope.widgets import fonts as type_
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import Debounce

MOST = 2000
"""Maximum number of hits marked on one screen."""

THUMB = 100_000
"""Maximum value of the scroll bar; if there are more rows, its values are scaled."""


_KEPT = 16
"""Maximum number of cached geometries."""


class RowScroller:
    """Top row of a view and its scroll bar. Only this class may read the bar, since its values may be scaled.

    `away(row, lines)` returns the row that is `lines` lines below `row`; with folded rows, this is not their sum.
    """

    def __init__(
        self, bar: QScrollBar, moved: Callable[[], None], away: Callable[[int, int], int] = operator.add
    ) -> None:
        self._bar, self._moved, self._away = bar, moved, away
        self._total = 1
        self._rest = 0.0
        self.visible = 1
        self.top = self.last_top = 0
        bar.actionTriggered.connect(self._act)

    def resize(self, total: int, visible: int) -> None:
        """Set the total and visible number of rows. The top row stays, or the last row if it was visible."""
        at_end = total == self._total and 0 < self.top == self.last_top
        self._total, self.visible = total, max(visible, 1)
        last = self.last_top = max(self._away(total, -self.visible), 0)
        self._bar.setRange(0, min(last, THUMB))
        self._bar.setPageStep(self.visible if last <= THUMB else max(THUMB * self.visible // total, 1))
        # After folding there may be no rows below; keep the rows above in place.
        self._to(last if at_end else min(self.top, max(total - self.visible, 0)))

    def go(self, top: int) -> None:
        self._to(min(max(top, 0), self.last_top))

    def _to(self, top: int) -> None:
        before, self.top = self.top, top
        last = self.last_top
        self._bar.setValue(top if last <= THUMB else top * THUMB // last)
        if top != before:
            self._moved()

    def _lines_away(self, lines: int) -> int:
        return min(max(self._away(self.top, lines), 0), max(self.last_top, self.top))

    def roll(self, rows: float) -> None:
        if rows * self._rest < 0:
            self._rest = 0.0
        whole, self._rest = divmod(abs(rows) + abs(self._rest), 1)
        sign = -1 if rows < 0 else 1
        self._rest *= sign
        self._to(self._lines_away(sign * int(whole)))

    def show(self, row: int, *, centre: bool = False) -> None:
        """Scroll as little as possible to show a row; with `centre`, show it a third of the screen below the top."""
        if self.top <= row < self._away(self.top, self.visible):
            return
        above = self.visible // 3 if centre else 0 if row < self.top else self.visible - 1
        self.go(self._away(row, -above))

    def _act(self, action: int) -> None:
        kind = QAbstractSlider.SliderAction
        steps = {
            kind.SliderSingleStepAdd: 1,
            kind.SliderSingleStepSub: -1,
            kind.SliderPageStepAdd: self.visible,
            kind.SliderPageStepSub: -self.visible,
        }
        chosen = kind(action)
        if chosen in steps:
            top = self._lines_away(steps[chosen])
        else:
            position, last = self._bar.sliderPosition(), self.last_top
            top = min(max(position if last <= THUMB else position * last // THUMB, 0), last)
        self._to(top)


@dataclass(frozen=True)
class HexSelection:
    """Selected bytes (one for a caret alone, none in an empty source), and the offset of the caret."""

    span: Span
    caret: int


def frames_of(path: Sequence[Node], source: str) -> tuple[Range, ...]:
    """Return the ranges of the field at the end of a path, and of the record that contains it, if any."""
    inside = [node for node in path if node.span.source == source and node.span.size]
    if len(inside) < 2:
        return ()
    field, around = inside[-1], inside[-2]
    frames = [(field.span.start, field.span.stop)]
    # The source, a table and a group of its rows are not records.
    table = record_size(around) is not None or isinstance(around.children, RowRange)
    if len(inside) > 2 and not table and around.span != field.span:
        frames.append((around.span.start, around.span.stop))
    return tuple(frames)


def hits_in(pages: PageCache, name: str, hits: HitList, start: int, stop: int) -> list[Range]:
    """Return at most `MOST` hits that overlap `[start, stop)`, found in loaded bytes; for a regex, those in `hits`."""
    patterns = [one for one in hits.patterns if isinstance(one, Pattern)]
    if len(patterns) < len(hits.patterns):
        return hits.inside(start, stop)[:MOST] if hits.source == name else []
    reach = max((pattern.size for pattern in patterns), default=0) - 1
    found: list[Range] = []
    # A missing page separates loaded ranges.
    for begin, end in pages.loaded(name) if patterns else ():
        first = max(start - reach, begin)
        offsets, sizes, _ = find_any(pages.bytes_at(name, first, min(stop + reach, end)) or b"", patterns)
        for offset, size in zip((offsets + first).tolist(), sizes.tolist(), strict=True):
            if offset + size > start and offset < stop:
                found.append((offset, offset + size))
    return found[:MOST]


class ByteEdits(Protocol):
    def put(self, pieces: Sequence[tuple[int, bytes]], what: str = "", *, second: bool = False) -> None:
        """Write `(offset, bytes)` pieces over the file in one undo step, named `what` (default: number of bytes).

        `second` is True for the second hex digit of the byte that was typed last.
        """


class HexState(QObject):
    """State of one scroll area, which shows one source of a `PageCache`.

    `sections` are sorted without gaps, or empty; `highlights` and `arrows` include those in other sources. `path` are
    the nodes down to the field at the caret once it is loaded, `frames` the ranges of that field and of its record.
    `selected` is False for a caret without selection, `edits` None if read-only, `beside` the pixels kept for fields.
    """

    read_only = Signal()
    """A key was typed although the file is read-only."""
    hovered = Signal(object)
    """Carries the `Span` of the field under the pointer, or None."""
    selection_changed = Signal(object)
    """Carries the `HexSelection` made by the user; not emitted by `select`."""
    caret_changed = Signal()
    """Caret or selection changed, including by `select`."""
    activated = Signal(object)
    """Carries the offset at which Return was pressed."""
    changed = Signal()
    """The visible rows must be repainted."""
    rows_changed = Signal(object)
    """Carries the `Range` of bytes whose rows must be repainted, or None."""
    layout_changed = Signal()
    """`layout` and `grid` were replaced."""
    looks_changed = Signal()
    """Bytes, colours or marks of rows changed, so cached rows are invalid."""
    view_changed = Signal()
    """Visible bytes or colours changed; emitted with a short delay."""

    def __init__(self, area: QAbstractScrollArea, pages: PageCache) -> None:
        super().__init__(area)
        self.area, self.pages = area, pages
        self.name = ""
        self.sections: Sequence[Section] = ()
        self.marks = Marks()
        self.notes: tuple[Note, ...] = ()
        self.hits = HitList()
        self.proposed: Proposed | None = None
        self.sandboxed: SandboxChanges | None = None
        self.highlights: tuple[Highlight, ...] = ()
        self.arrows: tuple[Arrow, ...] = ()
        self.letters = False
        self.folding = True
        self.part = HexPart.HEX
        self.hover: Range | None = None
        self.record: Range | None = None
        self.path: Sequence[Node] = ()
        self.frames: tuple[Range, ...] = ()
        self.edits: ByteEdits | None = None
        self.beside = 0.0
        self.selected = True
        self.zoom = 1.0
        self.folds = RowFolds(pages, self._edges, self._measured)
        self._opens = True
        self._half_at = -1
        self._early: list[int] = []
        self._font = theme.fixed_font()
        self._grids: dict[tuple[HexLayout, bool, float], HexGrid] = {}
        self.layout = HexLayout(0)
        self.grid = HexGrid(self._font, self.layout, 1.0)
        self._rule = AUTOMATIC
        self._caret = self._anchor = 0
        self._span = (0, 0)
        self._ahead = 0
        self._rows: ScreenRows | None = None
        self._stretches: list[Range] = []
        self._found: tuple[tuple[Range, ...], list[tuple[Range, str]]] | None = None
        self._soon = Debounce(self, self.view_changed)
        self._across = area.horizontalScrollBar()
        self._scroller = RowScroller(area.verticalScrollBar(), self._scrolled, self.folds.away)
        pages.changed.connect(self._page_changed)
        pages.cleared.connect(self._look_otherwise)

    # --- visible rows, cached until they scroll or change ---

    @property
    def selection(self) -> HexSelection:
        return HexSelection(Span(self.name, *self._span), self._caret)

    @property
    def top_row(self) -> int:
        return self._scroller.top

    @property
    def page_rows(self) -> int:
        return self._scroller.visible

    @property
    def rows_on_screen(self) -> ScreenRows:
        rows = self._rows
        if rows is None or rows.top != self._scroller.top:
            rows = self._rows = self.folds.screen(self._scroller.top, self._scroller.visible)
            self._stretches = [self._bytes_of(part.top, part.top + part.lines) for _, part in rows.parts]
            self._found = None
        return rows

    @property
    def stretches(self) -> list[Range]:
        """Visible byte ranges; of a fold, they contain only the first row."""
        _ = self.rows_on_screen
        return self._stretches

    @property
    def visible_bytes(self) -> Range:
        """Half-open byte range of the screen, including folded rows."""
        rows = self.rows_on_screen
        return self._bytes_of(rows.top, rows.starts[-1])

    def _bytes_of(self, row: int, stop: int) -> Range:
        width, lead, size = self.layout.width, self.layout.lead, self.layout.size
        return max(row * width - lead, 0), min(stop * width - lead, size)

    def cells_of(self, top: int, rows: int) -> ByteCells:
        found, proposed = gather(self.layout, top, rows, self.pages, self.name, self.sections), self.shown_proposal
        return with_new(found, proposed) if proposed is not None else found

    @property
    def shown_proposal(self) -> Proposed | None:
        proposed = self.proposed
        return proposed if proposed is not None and proposed.source == self.name else None

    def scene(self, *, focused: bool) -> HexScene:
        span, rows, stretches = self._span, self.rows_on_screen, self._stretches
        if self._found is None:
            hits = set[Range]()
            for part in stretches if self.hits.patterns else ():
                hits.update(hits_in(self.pages, self.name, self.hits, *part))
            failed = [one for part in stretches for one in failed_in(self.pages, self.name, *part)]
            self._found = tuple(sorted(hits)[:MOST]), failed
        return HexScene(
            rows=rows,
            sections=self.sections,
            selection=span if span[1] - span[0] > 1 else None,
            caret=self._caret if self.layout.size else -1,
            focused=focused,
            part=self.part,
            hover=self.hover,
            record=self.record,
            marks=self.marks,
            letters=self.letters,
            frames=self.frames,
            hits=self._found[0],
            patterns=self.hits.patterns,
            failed=self._found[1],
            proposed=self.shown_proposal,
            highlights=highlights_in(self.highlights, self.name) if self.highlights else (),
            arrows=arrows_in(self.arrows, self.name) if self.arrows else (),
            sandboxed=self.sandboxed if self.name == "" else None,
            notes=notes_in(self.notes, *self.visible_bytes) if self.notes else (),
            half=self.half,
        )

    def notes_at(self, offset: int) -> list[Note]:
        return notes_in(self.notes, offset, offset + 1)

    # --- what is shown ---

    def set_source(self, name: str, size: int, sections: Sequence[Section] = ()) -> None:
        self.name, self.sections = name, tuple(sections)
        self._caret = self._anchor = 0
        self._span = (0, min(size, 1))
        self.selected = True
        self.hover = self.record = None
        self.path, self.frames = (), ()
        self.folds.opened.clear()
        self.marks, self.notes = Marks(), ()
        self._scroller.top = 0
        self._across.setValue(0)
        self._relayout(size)

    def set_sections(self, sections: Sequence[Section]) -> None:
        if (found := tuple(sections)) != self.sections:
            self.sections = found
            self._look_otherwise()

    def set_findings(self, findings: Iterable[Finding]) -> None:
        marks = Marks(findings, self.name)
        if marks.all != self.marks.all:
            self.marks = marks
            self._look_otherwise()

    def set_notes(self, notes: Sequence[Note]) -> None:
        if (found := tuple(notes)) != self.notes:
            self.notes = found
            self._look_otherwise()

    def set_hits(self, hits: HitList) -> None:
        if hits is not self.hits:
            self.hits = hits
            self._look_otherwise()

    def set_proposed(self, proposed: Proposed | None) -> None:
        if proposed is not self.proposed:
            self.proposed = proposed
            self._look_otherwise()

    def set_sandboxed(self, sandboxed: SandboxChanges | None) -> None:
        if sandboxed is not self.sandboxed:
            self.sandboxed = sandboxed
            self._look_otherwise()

    def set_letters(self, shown: bool) -> None:
        self.letters = shown
        self._look_otherwise()

    def set_path(self, path: Sequence[Node]) -> None:
        self.path = path
        if (found := frames_of(path, self.name)) != self.frames:
            self.frames = found
            self.changed.emit()

    def set_highlights(self, highlights: Sequence[Highlight], arrows: Sequence[Arrow]) -> None:
        found = tuple(highlights), tuple(arrows)
        if found != (self.highlights, self.arrows):
            self.highlights, self.arrows = found
            self.changed.emit()

    def _look_otherwise(self) -> None:
        # Findings and notes split folds.
        self.folds.forget()
        self._resize_bars()
        self._request()
        self.looks_changed.emit()
        self.changed.emit()

    # --- folds ---

    def set_folding(self, wanted: bool) -> None:
        line = self._caret_line
        self.folding = wanted
        self.folds.opened.clear()
        self._fold_anew(line)

    def _fold_anew(self, line: int) -> None:
        self._look_otherwise()
        if line >= 0:
            self._hold(line)

    def fold_at(self, offset: int) -> range | None:
        return self.folds.at(self.layout.row_of(offset))

    def unfold(self, offset: int) -> bool:
        fold = self.fold_at(offset)
        if fold is None:
            return False
        self.folds.opened.add(self.layout.row_start(fold.start + 1))
        top = self.top_row
        self._look_otherwise()
        self._scroller.go(top)
        return True

    def _show_row(self, offset: int) -> None:
        fold = self.fold_at(offset) if self._opens else None
        if fold is not None and self.layout.row_of(offset) > fold.start:
            self.unfold(offset)

    def _measured(self) -> None:
        self.folds.forget()
        self._show_row(self._caret)
        self._look_otherwise()

    def _edges(self, start: int, stop: int) -> list[int] | None:
        if not self.folding or self.edits is not None or self.shown_proposal is not None:
            return None
        edges = [section.start for section in sections_in(self.sections, start, stop)]
        for mark in self.marks.inside(start, stop):
            edges += [mark.start, mark.stop]
        for note in notes_in(self.notes, start, stop):
            edges += [note.span.start, note.span.stop]
        return edges

    # --- the pointer ---

    def hover_at(self, offset: int | None) -> None:
        self.set_hover(run_at(self.pages, self.name, offset) if offset is not None else None)

    def set_hover(self, run: Range | None) -> None:
        if run == self.hover:
            return
        for part in (self.hover, run):
            self.rows_changed.emit(part)
        self.hover = run
        self.hovered.emit(Span(self.name, *run) if run is not None else None)
        if run is None:
            self._set_record(None)
        elif self.record is None or not self.record[0] <= run[0] < self.record[1]:
            take = partial(self._take_record, self.name, run)
            self.pages.explain(self.name, run[0], take, key=("hover", id(self)))

    def _take_record(self, name: str, run: Range, path: tuple[Node, ...]) -> None:
        if (name, run) == (self.name, self.hover):
            self._set_record(next(reversed(frames_of(path, name)), None))

    def _set_record(self, record: Range | None) -> None:
        for part in (self.record, record) if record != self.record else ():
            self.rows_changed.emit(part)
        self.record = record

    # --- selection ---

    def select(self, span: Span, *, reveal: bool = True) -> None:
        """Select bytes with the caret on the first one; does not emit `selection_changed`."""
        # Of no bytes at the end, none is selected.
        caret, start = self.layout.clamp(span.start), min(span.start, self.layout.size)
        stop = min(max(span.stop, start), self.layout.size)
        self._caret, self._anchor, self._span = caret, max(stop - 1, caret), (start, stop)
        self._opens = True
        self._show_row(caret)
        if reveal:
            self.reveal(caret)
        self._caret_changed()

    def deselect(self) -> None:
        """Remove the selection but keep the caret."""
        self.select(Span(self.name, self._caret, self._caret + 1), reveal=False)
        self.selected = False

    def move_caret(self, offset: int, *, extend: bool = False, part: HexPart | None = None, opens: bool = True) -> None:
        self._half_at, self._opens = -1, opens
        self.part = part or self.part
        self._caret = self.layout.clamp(offset)
        if not extend:
            self._anchor = self._caret
        low, high = sorted((self._anchor, self._caret))
        self._span = (low, min(high + 1, self.layout.size))
        self._show_row(self._caret)
        self.show_caret()
        self._show_column(self._caret)
        self._caret_changed(by_user=True)

    def select_all(self) -> None:
        self._choose(0, self.layout.size)

    def select_field(self, offset: int) -> None:
        """Select the run of bytes at an offset at once, then the exact field when a job has found it."""
        run = run_at(self.pages, self.name, offset)
        if run is not None:
            self._choose(*run)
        self.pages.explain(self.name, offset, partial(self._take_field, self.name, offset), key=("field", id(self)))

    def _take_field(self, name: str, offset: int, path: tuple[Node, ...]) -> None:
        span = path[-1].span
        here = name == self.name == span.source and span.covers(offset)
        if here and self._span[0] <= offset < self._span[1]:
            self._choose(span.start, span.stop)

    def _choose(self, start: int, stop: int) -> None:
        if (start, stop) != self._span:
            self._anchor, self._caret, self._span = max(stop - 1, start), start, (start, stop)
            self._caret_changed(by_user=True)

    def _caret_changed(self, *, by_user: bool = False) -> None:
        self.selected = True
        self.changed.emit()
        self.caret_changed.emit()
        if by_user:
            self.selection_changed.emit(self.selection)

    # --- scrolling ---

    @property
    def caret_seen(self) -> bool:
        return self._caret_line >= 0

    @property
    def _caret_line(self) -> int:
        rows = self.rows_on_screen
        line = rows.line_of(self.layout.row_of(self._caret))
        return line if line < rows.lines else -1

    def reveal(self, offset: int) -> None:
        self._show_on_screen(self.layout.clamp(offset), centre=True)
        self._show_column(offset)

    def show_caret(self) -> None:
        self._show_on_screen(self._caret)

    def _show_on_screen(self, offset: int, *, centre: bool = False) -> None:
        row, rows = self.layout.row_of(offset), self.rows_on_screen
        if not rows.top <= row < rows.starts[-1]:
            self._scroller.show(row, centre=centre)

    def _hold(self, line: int) -> None:
        self._resize_bars()
        above = line if 0 <= line < self._scroller.visible else self._scroller.visible // 3
        self._scroller.go(self.folds.away(self.layout.row_of(self._caret), -above))
        self._request()

    def keep_line(self, offset: int) -> None:
        self._ahead = 1 if offset > self._caret else -1
        if self.caret_seen:
            self._scroller.go(self.folds.away(self.layout.row_of(offset), -self._caret_line))

    def scroll_by(self, lines: float) -> None:
        self._ahead = 1 if lines > 0 else -1
        self._scroller.roll(lines)

    def scroll_to(self, offset: int) -> None:
        self._scroller.go(self.layout.row_of(self.layout.clamp(offset)))

    def scroll_across(self, steps: float) -> None:
        self._across.setValue(self._across.value() + round(steps * self._across.singleStep()))

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

    # --- typing ---

    @property
    def editable(self) -> bool:
        return self.edits is not None and not self.name and self.layout.size > 0

    @property
    def half(self) -> bool:
        return self._half_at == self._caret and self.editable

    def set_edits(self, edits: ByteEdits | None) -> None:
        if edits is not self.edits:
            line = self._caret_line
            self.edits, self._half_at = edits, -1
            self._early.clear()
            self._fold_anew(line)

    def type_digit(self, digit: int) -> None:
        """Overwrite half of the byte at the caret; digits typed before its page is loaded are queued."""
        at = self._begin_typing()
        old = self.byte_at(at)
        if self.edits is None:
            return
        if old is None:
            self._early.append(digit)
            return
        second = self.half
        new = old & 0xF0 | digit if second else digit << 4 | old & 0x0F
        self.edits.put([(at, bytes([new]))], second=second)
        if second:
            self.move_caret(at + 1)
        self._half_at = -1 if second else at
        self.changed.emit()

    def type_text(self, text: str) -> None:
        at = self._begin_typing()
        data = text.encode("utf-8", "replace")
        if self.edits is not None and at + len(data) <= self.layout.size:
            self.edits.put([(at, data)])
            self.move_caret(at + len(data))

    def byte_at(self, offset: int) -> int | None:
        data = self.pages.bytes_at(self.name, offset, offset + 1)
        if not data:
            return None
        proposed = self.shown_proposal
        return (proposed.seen(offset, data) if proposed is not None else data)[0]

    def _begin_typing(self) -> int:
        if self._span[1] - self._span[0] > 1:
            self.move_caret(self._span[0])
        return self._caret

    # --- geometry ---

    def set_row_width(self, width: int, origin: int = 0) -> None:
        self.set_row_rule(RowRule(min(max(width, 1), MAX_WIDTH), origin))

    def set_row_rule(self, rule: RowRule) -> None:
        self._rule = rule
        self._relayout(self.layout.size)

    def set_zoom(self, zoom: float) -> None:
        self.zoom = min(max(zoom, type_.ZOOMS[0]), type_.ZOOMS[-1])
        self.fit_font()

    def fit_font(self) -> None:
        self._font.setPointSizeF(type_.points(type_.NORMAL) * self.zoom)
        self._grids.clear()
        self._relayout(self.layout.size)

    @property
    def full_width(self) -> float:
        return self._rule.grid(self._grid_of, self.layout.size, math.inf).width

    def fit_area(self) -> None:
        fitting = self._fitted(self.layout.size)
        if (fitting.layout, fitting.tight, fitting.ratio) != (self.layout, self.grid.tight, self.grid.ratio):
            self._relayout(self.layout.size)
            return
        seen = self.caret_seen
        self._resize_bars()
        if seen:
            # Widgets above the bytes may reduce their height.
            self.show_caret()
        self._request()

    def _relayout(self, size: int) -> None:
        line = self._caret_line
        self.grid = self._fitted(size)
        self.layout = self.grid.layout
        self.folds.use(self.name, self.layout)
        self._rows = None
        self._hold(line)
        self.layout_changed.emit()
        self.changed.emit()

    def _fitted(self, size: int) -> HexGrid:
        return self._rule.grid(self._grid_of, size, self.area.viewport().width(), self.beside)

    def _grid_of(self, layout: HexLayout, tight: bool) -> HexGrid:
        key = layout, tight, self.area.devicePixelRatioF()
        if key not in self._grids:
            if len(self._grids) >= _KEPT:
                self._grids.clear()
            self._grids[key] = HexGrid(self._font, layout, key[2], tight=tight)
        return self._grids[key]

    def _resize_bars(self) -> None:
        grid, room = self.grid, self.area.viewport().size()
        self._rows = None
        self._scroller.resize(self.layout.rows, int((room.height() - grid.header) // grid.row))
        self._across.setPageStep(room.width())
        self._across.setSingleStep(int(3 * grid.cell))
        self._across.setRange(0, max(int(grid.width) - room.width(), 0))

    def offset_at(self, point: QPointF, part: HexPart | None = None) -> tuple[int, HexPart] | None:
        """Return the offset of the byte nearest to a point, and its part; None outside the bytes without a `part`."""
        grid, rows = self.grid, self.rows_on_screen
        place = QPointF(point.x() + self._across.value(), point.y())
        cell, found = grid.cell_at(place, part)
        line = int((place.y() - grid.header) // grid.row)
        line, below = min(line, rows.lines - 1), line >= rows.lines
        offset = self.layout.row_start(rows.row_at(line)) + cell
        outside = point.x() < grid.gutter or place.x() > grid.width or not 0 <= offset < self.layout.size
        if part is None and (outside or below or place.y() < grid.header):
            return None
        return self.layout.clamp(offset), found

    def byte_rect(self, offset: int) -> QRectF:
        grid = self.grid
        line, cell = self.rows_on_screen.line_of(self.layout.row_of(offset)), self.layout.column_of(offset)
        left, right = grid.edge(cell, self.part), grid.edge(cell + 1, self.part)
        return QRectF(left - self._across.value(), grid.row_y(line), right - left, grid.row)

    # --- pages ---

    def _request(self) -> None:
        self._soon.start()
        numbers = {number for start, stop in self.stretches for number in range(start // PAGE, -(-stop // PAGE))}
        if numbers:
            self.pages.want(self.name, sorted(numbers), ahead=self._ahead, pages=-(-self.layout.size // PAGE))
        if self.folds.measure(self.rows_on_screen):
            self._rows = None

    def _scrolled(self) -> None:
        self.hover = self.record = None
        self._request()
        self.changed.emit()

    def _page_changed(self, name: str, number: int) -> None:
        if name != self.name:
            return
        # Rows outside the screen may be cached, too.
        self.looks_changed.emit()
        self._rows = None
        self._show_row(self._caret)
        self._resize_bars()
        start, stop = self.visible_bytes
        if number * PAGE < stop and (number + 1) * PAGE > start:
            self._request()
            self.changed.emit()
        early, self._early = self._early, []
        for digit in early:
            self.type_digit(digit)
