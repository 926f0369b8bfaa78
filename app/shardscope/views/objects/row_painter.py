"""Painting of the object table: texts are cut and measured once per row, then only drawn."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QTableView

from shardcore import State
from shardscope.widgets import theme
from shardscope.widgets.elided_label import cut_text
from shardscope.widgets.object_model import ObjectModel

MARGIN = 7.0

MAX_KEPT = 4000
"""Maximum number of rows whose texts are cached."""

BAR_SPACE = 40
"""Width of the bars left of the sizes in pixels."""

_LEAST_BAR = 12
_BAR_STRENGTH = 0.45

_QUIET = ("row", "codec", "stored")
_STRUCK = (State.DELETED, State.TOMBSTONED)


@dataclass(frozen=True, slots=True)
class _PaintedRow:
    texts: list[str]
    places: list[float]
    state: State | None
    share: float = 0.0


class ObjectRowPainter:
    def __init__(self, table: QTableView, model: ObjectModel) -> None:
        self._table = table
        self._model = model
        self._rows: dict[int, _PaintedRow] = {}
        self.restyle()

    def forget(self, *_: object) -> None:
        self._rows.clear()

    def restyle(self) -> None:
        self._rows.clear()
        self._plain = self._table.font()
        self._mono = theme.fixed_font()
        self._mono.setPointSizeF(self._plain.pointSizeF())
        self._struck = QFont(self._mono)
        self._struck.setStrikeOut(True)
        self._metrics = {False: QFontMetricsF(self._plain), True: QFontMetricsF(self._mono)}

    def paint(self, painter: QPainter, area: QRect) -> None:
        table = self._table
        colours = theme.of(table)
        painter.fillRect(area, colours.base)
        height, first = row_height(table), table.rowAt(max(area.top(), 0))
        if first < 0:
            return
        last = table.rowAt(area.bottom())
        last = self._model.rowCount() - 1 if last < 0 else last
        top = table.rowViewportPosition(first)
        selected = self._selected(first, last)
        ground = theme.selected(table)[0]
        for place in selected:
            painter.fillRect(QRect(0, top + (place - first) * height, area.right() + 1, height), ground)
        if not table.hasFocus():
            # On the inactive colour, texts keep their own colours.
            selected = set()
        rows = [self._row(place) for place in range(first, last + 1)]
        metrics = self._metrics[False]
        base = top + (height - metrics.height()) / 2 + metrics.ascent()
        for number, column in enumerate(self._model.columns):
            if table.isColumnHidden(number):
                continue
            left = table.columnViewportPosition(number)
            if left > area.right() or left + table.columnWidth(number) < area.left():
                continue
            if column.name == "size":
                self._paint_bars(painter, number, left, top, rows, selected, first)
            self._paint_column(painter, number, column.name, left, base, rows, selected, first)
        self._outline(painter, first, last, top)

    def width_of(self, text: str, column: str) -> float:
        return self._metrics[column == "key"].horizontalAdvance(text)

    def sign(self, column: str, state: State | None) -> str:
        return "✖ " if column == "state" and state is State.DAMAGED else ""

    def _selected(self, first: int, last: int) -> set[int]:
        inside: set[int] = set()
        for part in selected_places(self._table):
            inside.update(range(max(part.start, first), min(part.stop, last + 1)))
        return inside

    def _paint_column(
        self,
        painter: QPainter,
        number: int,
        name: str,
        left: int,
        base: float,
        rows: list[_PaintedRow],
        selected: set[int],
        first: int,
    ) -> None:
        colours, height = theme.of(self._table), row_height(self._table)
        key = name == "key"
        painter.setFont(self._mono if key else self._plain)
        usual = colours.muted if name in _QUIET else colours.text
        pen: QColor | None = None
        for at, row in enumerate(rows):
            colour = colours.base if first + at in selected else row_colour(colours, row.state) or usual
            if colour is not pen:
                painter.setPen(colour)
                pen = colour
            struck = key and row.state in _STRUCK
            if struck:
                painter.setFont(self._struck)
            painter.drawText(QPointF(left + row.places[number], base + at * height), row.texts[number])
            if struck:
                painter.setFont(self._mono)

    def _paint_bars(
        self,
        painter: QPainter,
        number: int,
        left: int,
        top: int,
        rows: list[_PaintedRow],
        selected: set[int],
        first: int,
    ) -> None:
        colours, height = theme.of(self._table), row_height(self._table)
        room = min((row.places[number] for row in rows), default=0.0) - 2 * MARGIN
        if room < _LEAST_BAR:
            return
        for at, row in enumerate(rows):
            if row.share > 0:
                colour = QColor(colours.base if first + at in selected else colours.accent)
                colour.setAlphaF(_BAR_STRENGTH)
                long = max(room * min(row.share, 1.0), 1.0)
                painter.fillRect(QRectF(left + MARGIN, top + at * height + 6, long, height - 12), colour)

    def _row(self, place: int) -> _PaintedRow:
        found = self._rows.get(place)
        if found is None:
            found = self._made(place)
            if found.state is not None:
                if len(self._rows) >= MAX_KEPT:
                    self._rows.clear()
                self._rows[place] = found
        return found

    def _made(self, place: int) -> _PaintedRow:
        table = self._table
        texts, state = self._model.row_texts(place)
        places: list[float] = []
        for number, column in enumerate(self._model.columns):
            key = column.name == "key"
            texts[number] = self.sign(column.name, state) + texts[number]
            metrics = self._metrics[key]
            room = table.columnWidth(number) - 2 * MARGIN
            width = metrics.horizontalAdvance(texts[number])
            if width > room and not column.number:
                texts[number] = cut_text(metrics, texts[number], room)
                width = metrics.horizontalAdvance(texts[number])
            places.append(MARGIN + max(room - width, 0.0) if column.number else MARGIN)
        return _PaintedRow(texts, places, state, self._model.share_of(place))

    def _outline(self, painter: QPainter, first: int, last: int, top: int) -> None:
        table = self._table
        current = table.currentIndex()
        if not (table.hasFocus() and current.isValid() and first <= current.row() <= last):
            return
        height = row_height(table)
        painter.setPen(QPen(theme.of(table).text, 1.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        y = top + (current.row() - first) * height
        painter.drawRect(QRectF(0.5, y + 0.5, table.viewport().width() - 1.0, height - 1.0))


def row_height(table: QTableView) -> int:
    return max(table.verticalHeader().defaultSectionSize(), 1)


def selected_places(table: QTableView) -> list[range]:
    return [range(part.top(), part.bottom() + 1) for part in table.selectionModel().selection().toList()]


def row_colour(colours: theme.Palette, state: State | None) -> QColor | None:
    match state:
        case State.DAMAGED:
            return colours.error
        case State.UNUSED | State.DELETED | State.TOMBSTONED | None:
            return colours.muted
    return None
