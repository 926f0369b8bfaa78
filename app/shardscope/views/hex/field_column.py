"""Column to the right of the bytes with names and values of the fields in each row, shown if there is room."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QStaticText

from shardcore import Cancelled, Node, Span
from shardcore.dataclasses import dataclass
from shardcore.model.text import shown
from shardscope.session.byte_marks import Range
from shardscope.session.byte_pages import PageCache, Readable
from shardscope.session.display_text import cut_end, cut_middle, grouped_value, span_words
from shardscope.session.jobs import Job
from shardscope.views.hex.layout import HexGrid, ScreenRows
from shardscope.widgets import fonts as type_
from shardscope.widgets.elided_label import cut_text
from shardscope.widgets.theme import Palette

STRETCH = 1024
"""Size in bytes of the blocks for which fields are loaded and cached."""

KEPT = 256
"""Maximum number of cached blocks; the least recently used are dropped."""

MOST = 64
"""Maximum number of blocks per job."""

LEAST = 110
"""Minimum width of the column in pixels."""

ROOM = 150
"""Width of the column in pixels; if there is less room, the gaps between bytes are narrowed to make room for it."""

MOST_DIGITS = 64
"""Maximum width of the column in digits; the same for all rows, so that the layout is stable."""

ARROW = " →"
_BETWEEN = " · "
_NAME, _VALUE, _RECORD = 24, 26, 14
_MOST_IN_TIP = 12
_KEPT_LINES = 500


@dataclass(frozen=True, slots=True)
class NamedField:
    """Texts for a field. `value` is empty if the bytes already show it; `path` has the names from the section down."""

    span: Span
    name: str
    value: str
    path: str
    target: Span | None

    @staticmethod
    def of(path: Sequence[Node]) -> NamedField:
        leaf, name = path[-1], cut_middle(shown(path[-1].name), _NAME)
        record = path[-2] if len(path) > 3 else None
        if record is not None and record.span.start == leaf.span.start:
            name = f"{cut_middle(shown(record.name), _RECORD)} › {name}"
        value = grouped_value(leaf)
        cut = cut_middle if isinstance(leaf.value, bytes) and value == leaf.value.hex() else cut_end
        names = " › ".join(cut_middle(node.name) for node in path[1:])
        return NamedField(leaf.span, name, cut(shown(value), _VALUE), shown(names), leaf.target)


class FieldText(NamedTuple):
    x: float
    text: QStaticText
    colour: str


class FieldPosition(NamedTuple):
    field: NamedField
    left: float
    arrow: float
    right: float


class FieldLine(NamedTuple):
    pieces: Sequence[FieldText]
    places: Sequence[FieldPosition]
    fields: Sequence[NamedField]


class FieldColumn(QObject):
    """Fields beside the bytes, loaded in jobs. `wanted`: the user turned the column on; `shown`: there is also room."""

    changed = Signal()

    def __init__(self, pages: PageCache, grid: HexGrid, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.wanted = True
        self.shown = False
        self._pages, self._grid = pages, grid
        self._source = ""
        self._known: OrderedDict[tuple[str, int], tuple[list[int], list[NamedField]]] = OrderedDict()
        self._round = 0
        self._room = self._top = 0.0
        self._font = QFont()
        self._lines: dict[int, FieldLine] = {}
        pages.cleared.connect(self.forget)

    # --- fields of the source ---

    def forget(self) -> None:
        self._round += 1
        self._known.clear()
        self._changed()

    def _changed(self) -> None:
        self._lines.clear()
        self.changed.emit()

    def want(self, ranges: Iterable[Range]) -> None:
        """Load the fields that begin in some ranges, at most `MOST` blocks; a new request replaces the old one."""
        name, current = self._source, self._round
        numbers = {number for start, stop in ranges for number in range(start // STRETCH, -(-stop // STRETCH))}
        missing = sorted(number for number in numbers if (name, number) not in self._known)[:MOST]
        if not missing:
            return

        def work(readable: Readable, job: Job) -> list[list[NamedField]]:
            found = []
            for number in missing:
                job.check()
                paths = readable.fields_in(number * STRETCH, (number + 1) * STRETCH, name, limit=STRETCH)
                found.append([NamedField.of(path) for path in paths])
            return found

        def done(found: list[list[NamedField]] | None, error: BaseException | None) -> None:
            if current != self._round or isinstance(error, Cancelled):
                return
            # Empty results are cached, so that failures are not repeated.
            for number, fields in zip(missing, found or [[]] * len(missing), strict=True):
                self._known[name, number] = [field.span.start for field in fields], fields
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            self._changed()

        self._pages.ask(work, key=("fields", id(self)), done=done)

    def _begin_in(self, start: int, stop: int) -> list[NamedField]:
        found: list[NamedField] = []
        for number in range(max(start, 0) // STRETCH, -(-stop // STRETCH)):
            if (block := self._known.get((self._source, number))) is not None:
                self._known.move_to_end((self._source, number))
                starts, fields = block
                found += fields[bisect_left(starts, start) : bisect_left(starts, stop)]
        return found

    # --- lines ---

    def fit(self, grid: HexGrid, width: float, source: str, font: QFont) -> None:
        room = width - grid.width - grid.margin
        self.shown = self.wanted and room >= type_.px(LEAST)
        self._grid, self._source, self._room, self._font = grid, source, room, QFont(font)
        # The font scales with that of the bytes.
        self._font.setPointSizeF(max(grid.font.pointSizeF() * type_.SMALL / type_.NORMAL, 5.0))
        self._top = grid.rounded((grid.row - QFontMetricsF(self._font).height()) / 2)
        self._changed()

    @property
    def most(self) -> float:
        """Width in pixels that suffices for nearly all rows; 0 if the column is off."""
        return QFontMetricsF(self._font).horizontalAdvance("0" * MOST_DIGITS) if self.wanted else 0.0

    def line(self, row: int) -> FieldLine:
        if (kept := self._lines.get(row)) is not None:
            return kept
        layout = self._grid.layout
        start = layout.row_start(row)
        if len(self._lines) >= _KEPT_LINES:
            self._lines.clear()
        return self._lines.setdefault(row, self._laid_out(self._begin_in(start, start + layout.width)))

    def _laid_out(self, fields: list[NamedField]) -> FieldLine:
        pieces: list[FieldText] = []
        places: list[FieldPosition] = []
        line = FieldLine(pieces, places, fields)
        if not fields:
            return line
        metrics, x = QFontMetricsF(self._font), 0.0
        least = metrics.horizontalAdvance(f"{_BETWEEN}name …")

        def add(text: str, colour: str) -> bool:
            nonlocal x
            wide = metrics.horizontalAdvance(text)
            fits = x + wide <= self._room
            if not fits:
                # The value may already end with an ellipsis.
                text = cut_text(metrics, text, max(self._room - x, 0)).replace("……", "…")
                wide = metrics.horizontalAdvance(text)
            laid = QStaticText(text)
            laid.setTextFormat(Qt.TextFormat.PlainText)
            pieces.append(FieldText(x, laid, colour))
            x += wide
            return fits

        for number, field in enumerate(fields):
            if number and self._room - x < least:
                add(" …", "muted")
                break
            if number:
                add(_BETWEEN, "muted")
            left = x
            whole = add(field.name, "muted")
            whole = whole and (not field.value or add(f" {field.value}", "text"))
            arrow = x
            whole = whole and (field.target is None or add(ARROW, "accent"))
            places.append(FieldPosition(field, left, arrow if whole else x, x))
            if not whole:
                break
        return line

    def paint(self, painter: QPainter, palette: Palette, rows: ScreenRows) -> None:
        grid = self._grid
        painter.setFont(self._font)
        for line, row in enumerate(rows.starts[:-1]):
            y = grid.header + line * grid.row + self._top
            for piece in (self._lines.get(row) or self.line(row)).pieces:
                painter.setPen(getattr(palette, piece.colour))
                painter.drawStaticText(QPointF(grid.width + piece.x, y), piece.text)

    # --- the pointer ---

    def place_at(self, point: QPointF, rows: ScreenRows) -> FieldPosition | None:
        line, x = self._line_at(point, rows), point.x() - self._grid.width
        places = line.places if line is not None else ()
        return next((place for place in places if place.left <= x < place.right), None)

    def target_at(self, point: QPointF, rows: ScreenRows) -> Span | None:
        place = self.place_at(point, rows)
        if place is None:
            return None
        on_arrow = place.field.target is not None and point.x() - self._grid.width >= place.arrow
        return place.field.target if on_arrow else place.field.span

    def _line_at(self, point: QPointF, rows: ScreenRows) -> FieldLine | None:
        grid = self._grid
        line = int((point.y() - grid.header) // grid.row)
        if not self.shown or point.x() < grid.width or not 0 <= line < rows.lines:
            return None
        return self.line(rows.row_at(line))

    def tip_at(self, point: QPointF, rows: ScreenRows) -> str:
        line = self._line_at(point, rows)
        fields = line.fields if line is not None else ()
        lines = []
        for field in fields[:_MOST_IN_TIP]:
            target = f" → {escape(span_words(field.target))}" if field.target is not None else ""
            lines.append(f"<b>{escape(field.path)}</b> {escape(field.value)}{target}")
        if len(fields) > _MOST_IN_TIP:
            lines.append(f"and {len(fields) - _MOST_IN_TIP} more")
        return "<br>".join(lines)
