"""Strips side by side, to one scale: the same objects in each format."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from shardcore import SectionRole
from shardcore.model.number_words import plural, size_text
from shardcore.model.text import without_marks
from shardcore.teaching.comparison import FormatRow, SectionShare
from shardcore.teaching.comparison.words import overhead_text
from shardscope.session.words import grouped, share_text
from shardscope.widgets import theme
from shardscope.widgets.fonts import SMALL, sized
from shardscope.widgets.strip_paint import paint_ground, paint_letter

_SIDE = 10.0
_STRIP = 18.0
_GAP = 3.0
_ROW_SPACE = 7.0
_TOP = 4.0
_LEGEND = 26.0
"""Pixels of the line below the strips."""
_SWATCH = 14.0
_STALE = 0.6
"""Opacity of a strip whose row is being computed again."""


class Strips(QWidget):
    """Shows rows; `chosen` carries the name of a format, by the mouse or the arrow keys."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("compareStrips")
        self.setAccessibleName(self.tr("What each format makes of the objects, to one scale"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.rows: tuple[FormatRow, ...] = ()
        self.current = ""
        self._content = 0
        self._stale: frozenset[str] = frozenset()

    def show_rows(self, rows: Sequence[FormatRow], content: int, stale: Collection[str] = ()) -> None:
        """Shows rows.

        Args:
            rows: One for each format.
            content: Bytes of the contents alone.
            stale: Formats of which another row is on its way.
        """
        higher = len(rows) != len(self.rows)
        self.rows, self._content, self._stale = tuple(rows), content, frozenset(stale)
        self.setAccessibleDescription("; ".join(f"{row.format} {told(row)}" for row in self.rows))
        if higher:
            self.updateGeometry()
        self.update()

    def choose(self, format: str) -> None:
        """Marks a format."""
        self.current = format
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(600, round(_TOP + max(len(self.rows), 1) * self._step + _LEGEND))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    @property
    def _line(self) -> float:
        return QFontMetricsF(self.font()).height()

    @property
    def _step(self) -> float:
        return self._line + _GAP + _STRIP + _ROW_SPACE

    @property
    def scale(self) -> float:
        """Pixels of a byte: the same in all strips."""
        largest = max([self._content, *(row.size for row in self.rows)], default=0)
        return (self.width() - 2 * _SIDE) / max(largest, 1)

    def strip_of(self, number: int) -> QRectF:
        """The place of a strip."""
        row = self.rows[number]
        return QRectF(_SIDE, _TOP + number * self._step + _GAP + self._line, row.size * self.scale, _STRIP)

    # --- painting ---

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = theme.of(self)
        for number, row in enumerate(self.rows):
            self._paint_row(painter, colours, number, row)
        if self._content:
            self._paint_content(painter, colours)
        self._paint_legend(painter, colours)
        if self.hasFocus():
            painter.setPen(QPen(colours.accent, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
        painter.end()

    def _paint_row(self, painter: QPainter, colours: theme.Palette, number: int, row: FormatRow) -> None:
        whole = QRectF(2, _TOP + number * self._step, self.width() - 4, self._step)
        if row.format == self.current:
            painter.fillRect(whole, colours.raised)
            painter.fillRect(QRectF(whole.left(), whole.top(), 3, whole.height()), colours.accent)
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(colours.text)
        name = max(QFontMetricsF(bold).horizontalAdvance(one.format) for one in self.rows)
        line = QRectF(_SIDE, whole.top() + 1, self.width() - 2 * _SIDE, self._line)
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, row.format)
        painter.setFont(self.font())
        painter.setPen(colours.error if row.error else colours.muted)
        metrics = QFontMetricsF(self.font())
        room = line.adjusted(name + 14, 0, 0, 0)
        painter.drawText(
            room,
            Qt.AlignmentFlag.AlignVCenter,
            metrics.elidedText(told(row), Qt.TextElideMode.ElideRight, room.width()),
        )
        painter.setOpacity(_STALE if row.format in self._stale else 1.0)
        x = 0
        for piece in row.pieces:
            self._paint_piece(painter, colours, number, piece, x)
            x += piece.size
        painter.setOpacity(1.0)

    def _paint_piece(
        self, painter: QPainter, colours: theme.Palette, number: int, piece: SectionShare, start: int
    ) -> None:
        strip = self.strip_of(number)
        left = strip.left() + start * self.scale
        # What is narrower than a pixel is a pixel: to scale it would not be there at all.
        body = QRectF(left, strip.top(), max(piece.size * self.scale, 1), strip.height())
        paint_ground(painter, colours, piece.role, body)
        if body.width() > 3:
            painter.fillRect(QRectF(body.right() - 1, body.top(), 1, body.height()), colours.window)
        letter = theme.SECTION_LETTERS[piece.role]
        if body.width() > QFontMetricsF(self.font()).horizontalAdvance(letter) + 4:
            paint_letter(painter, colours, piece.role, body)

    def _paint_content(self, painter: QPainter, colours: theme.Palette) -> None:
        """The line where the contents alone would end, over all strips."""
        x = _SIDE + self._content * self.scale
        bottom = _TOP + len(self.rows) * self._step
        painter.setPen(QPen(colours.text, 1, Qt.PenStyle.DashLine))
        painter.drawLine(round(x), 2, round(x), round(bottom + 4))
        painter.setFont(sized(self.font(), SMALL))
        painter.setPen(colours.text)
        text = self.tr("contents alone: {0}").format(size_text(self._content))
        wide = QFontMetricsF(painter.font()).horizontalAdvance(text) + 2
        place = QRectF(x - wide - 2, bottom + 4, wide, self._line)
        # Where the legend needs the room the words are left out; the heading above has the size, too.
        if place.left() >= self.legend_stop:
            painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        painter.setFont(self.font())

    @property
    def _roles(self) -> list[SectionRole]:
        there = {piece.role for row in self.rows for piece in row.pieces}
        return [role for role in SectionRole if role in there]

    @property
    def legend_stop(self) -> float:
        """Return where the legend ends, in pixels."""
        metrics = QFontMetricsF(self.font())
        return _SIDE + sum(_SWATCH + metrics.horizontalAdvance(role.value) + 20 for role in self._roles)

    def _paint_legend(self, painter: QPainter, colours: theme.Palette) -> None:
        x, y = _SIDE, _TOP + len(self.rows) * self._step + 5
        metrics = QFontMetricsF(self.font())
        for role in self._roles:
            box = QRectF(x, y, _SWATCH, _SWATCH)
            paint_ground(painter, colours, role, box)
            painter.setFont(sized(self.font(), SMALL))
            paint_letter(painter, colours, role, box)
            painter.setFont(self.font())
            painter.setPen(colours.muted)
            wide = metrics.horizontalAdvance(role.value)
            painter.drawText(
                QRectF(x + _SWATCH + 5, y - 2, wide + 2, _SWATCH + 4), Qt.AlignmentFlag.AlignVCenter, role.value
            )
            x += _SWATCH + wide + 20

    # --- events ---

    def row_at(self, y: float) -> int:
        """The number of the row at a pixel; -1 where there is none."""
        number = int((y - _TOP) // self._step)
        return number if 0 <= number < len(self.rows) else -1

    def mousePressEvent(self, event: QMouseEvent) -> None:
        number = self.row_at(event.position().y())
        if event.button() == Qt.MouseButton.LeftButton and number >= 0:
            self.chosen.emit(self.rows[number].format)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        names = [row.format for row in self.rows]
        at = names.index(self.current) if self.current in names else 0
        targets = {
            Qt.Key.Key_Up: max(at - 1, 0),
            Qt.Key.Key_Down: min(at + 1, len(names) - 1),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(names) - 1,
        }
        key = Qt.Key(event.key())
        if names and key in targets:
            self.chosen.emit(names[targets[key]])
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Tool tips."""
        if isinstance(event, QHelpEvent):
            if text := self.tip_at(event.pos()):
                QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().event(event)

    def tip_at(self, place: QPoint) -> str:
        """Return what the tool tip says at a place: of a section, else of the format."""
        number = self.row_at(place.y())
        if number < 0:
            return ""
        row, strip = self.rows[number], self.strip_of(number)
        if strip.contains(place.toPointF()):
            at = strip.left()
            for piece in row.pieces:
                at += piece.size * self.scale
                if place.x() <= at:
                    return piece_tip(row, piece)
        return f"<b>{escape(row.title)}</b><br>{escape(row.purpose)}"


def piece_tip(row: FormatRow, piece: SectionShare) -> str:
    """A section in words."""
    among = f" in {plural(piece.count, 'file')}" if piece.count > 1 else ""
    lines = (
        f"<b>{theme.SECTION_LETTERS[piece.role]} · {escape(piece.name)}</b>",
        escape(without_marks(piece.doc)),
        f"{plural(piece.size, 'byte')}{among}, {share_text(piece.size, row.size)} of all",
    )
    return "<br>".join(line for line in lines if line)


def told(row: FormatRow) -> str:
    """A row in a line: size, overhead, and what its main parameter is."""
    if row.error:
        return grouped(row.error)
    if not row.pieces:
        return "…"
    dial = f" · {row.dial} {row.value}" if row.dial else ""
    return f"{plural(row.size, 'byte')} · {overhead_text(row)}{dial}"
