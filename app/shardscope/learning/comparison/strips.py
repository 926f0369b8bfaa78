"""Strips of the same objects in each format, one above the other and to one scale."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from shardcore import SectionRole
from shardcore.model.text import plural, without_marks
from shardcore.teaching.comparison import FormatRow, overhead_text
from shardscope.session.display_text import grouped, share_text
from shardscope.widgets import theme
from shardscope.widgets.strip_paint import paint_ground, paint_letter, paint_swatch

_SIDE, _TOP = 10.0, 4.0
_STRIP, _LEGEND, _SWATCH = 18.0, 26.0, 14.0
_SPACE = 10.0
"""Pixels between a line of text, its strip and the next line."""


class WithTips(QWidget):
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.tip_at(event.pos()), self)
            return True
        return super().event(event)

    def tip_at(self, place: QPoint) -> str:
        raise NotImplementedError


class Strips(WithTips):
    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("compareStrips")
        self.setAccessibleName(self.tr("Bytes of the objects in each format, to one scale"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.rows: tuple[FormatRow, ...] = ()
        self.current = ""

    def show_rows(self, rows: Sequence[FormatRow]) -> None:
        self.rows = tuple(rows)
        self.setAccessibleDescription("; ".join(f"{row.format} {result_text(row)}" for row in self.rows))
        self.updateGeometry()
        self.update()

    def choose(self, format: str) -> None:
        self.current = format
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(600, round(_TOP + max(len(self.rows), 1) * self._step + _LEGEND))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    @property
    def _step(self) -> float:
        return QFontMetricsF(self.font()).height() + _STRIP + _SPACE

    @property
    def scale(self) -> float:
        """Pixels per byte; the largest format fills the width."""
        largest = max((max(row.content, row.size) for row in self.rows), default=0)
        return (self.width() - 2 * _SIDE) / max(largest, 1)

    def strip_of(self, number: int) -> QRectF:
        bottom = _TOP + (number + 1) * self._step - _SPACE / 2
        return QRectF(_SIDE, bottom - _STRIP, self.rows[number].size * self.scale, _STRIP)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colours = QPainter(self), theme.of(self)
        for number, row in enumerate(self.rows):
            self._paint_row(painter, colours, number, row)
        bottom = _TOP + len(self.rows) * self._step
        if content := max((row.content for row in self.rows), default=0):
            # Line at the size of the contents alone.
            painter.setPen(QPen(colours.text, 1, Qt.PenStyle.DashLine))
            x = round(_SIDE + content * self.scale)
            painter.drawLine(x, 2, x, round(bottom))
        self._paint_legend(painter, colours, bottom + 6)
        if self.hasFocus():
            painter.setPen(QPen(colours.accent, 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
        painter.end()

    def _paint_row(self, painter: QPainter, colours: theme.Palette, number: int, row: FormatRow) -> None:
        strip = self.strip_of(number)
        whole = QRectF(2, _TOP + number * self._step, self.width() - 4, self._step)
        if row.format == self.current:
            painter.fillRect(whole, colours.raised)
            painter.fillRect(QRectF(whole.left(), whole.top(), 3, whole.height()), colours.accent)
        line = QRectF(_SIDE, whole.top(), self.width() - 2 * _SIDE, strip.top() - whole.top())
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(colours.text)
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, row.format)
        line.setLeft(_SIDE + 14 + max(painter.fontMetrics().horizontalAdvance(one.format) for one in self.rows))
        painter.setFont(self.font())
        painter.setPen(colours.error if row.error else colours.muted)
        text = painter.fontMetrics().elidedText(result_text(row), Qt.TextElideMode.ElideRight, int(line.width()))
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, text)
        x = strip.left()
        for piece in row.pieces:
            # At least one pixel, so that every piece is visible.
            body = QRectF(x, strip.top(), max(piece.size * self.scale, 1), strip.height())
            paint_ground(painter, colours, piece.role, body)
            if body.width() > _SWATCH:
                paint_letter(painter, colours, piece.role, body)
            x += piece.size * self.scale

    def _paint_legend(self, painter: QPainter, colours: theme.Palette, top: float) -> None:
        x = _SIDE
        there = {piece.role for row in self.rows for piece in row.pieces}
        for role in (role for role in SectionRole if role in there):
            paint_swatch(painter, colours, role, QRectF(x, top, _SWATCH, _SWATCH))
            painter.setPen(colours.muted)
            words = QRectF(x + _SWATCH + 5, top - 2, 200, _SWATCH + 4)
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, role.value)
            x = words.left() + painter.fontMetrics().horizontalAdvance(role.value) + 16

    # --- events ---

    def row_at(self, y: float) -> int:
        number = int((y - _TOP) // self._step)
        return number if 0 <= number < len(self.rows) else -1

    def mousePressEvent(self, event: QMouseEvent) -> None:
        number = self.row_at(event.position().y())
        if event.button() == Qt.MouseButton.LeftButton and number >= 0:
            self.chosen.emit(self.rows[number].format)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        names = [row.format for row in self.rows]
        at, last = names.index(self.current) if self.current in names else 0, len(names) - 1
        steps = {Qt.Key.Key_Up: at - 1, Qt.Key.Key_Down: at + 1, Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}
        key = Qt.Key(event.key())
        if names and key in steps:
            self.chosen.emit(names[min(max(steps[key], 0), last)])
        else:
            super().keyPressEvent(event)

    def tip_at(self, place: QPoint) -> str:
        number = self.row_at(place.y())
        if number < 0:
            return ""
        row, strip = self.rows[number], self.strip_of(number)
        at = strip.left()
        for piece in row.pieces if strip.contains(place.toPointF()) else ():
            at += piece.size * self.scale
            if place.x() <= at:
                among = f" in {plural(piece.count, 'file')}" if piece.count > 1 else ""
                size = f"{plural(piece.size, 'byte')}{among}, {share_text(piece.size, row.size)} of all"
                head = f"<b>{theme.SECTION_LETTERS[piece.role]} · {escape(piece.name)}</b>"
                return "<br>".join(line for line in (head, escape(without_marks(piece.doc)), size) if line)
        return f"<b>{escape(row.title)}</b><br>{escape(row.purpose)}"


def result_text(row: FormatRow) -> str:
    if row.error or not row.pieces:
        return grouped(row.error) or "…"
    return f"{plural(row.size, 'byte')} · {overhead_text(row)}"
