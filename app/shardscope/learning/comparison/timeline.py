"""Timeline of one lookup in each format on a cold start: a row per format, a bar per round trip."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from shardcore import SectionRole
from shardcore.model.text import plural, size_text
from shardcore.teaching.comparison import BYTES_PER_MS, ROUND_TRIP_MS, FormatRow, LookupTrip
from shardscope.learning.comparison.strips import WithTips
from shardscope.session.display_text import span_words
from shardscope.widgets import theme

_SIDE, _GAP, _BAR = 10.0, 6.0, 16.0
_TICKS = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 500_000)
_MOST_TICKS = 8
_MOST_RANGES = 8


class LookupTimeline(WithTips):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("compareTimeline")
        self.setAccessibleName(self.tr("Round trips of one cold lookup in each format"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.rows: tuple[FormatRow, ...] = ()

    def show_rows(self, rows: Sequence[FormatRow]) -> None:
        self.rows = tuple(rows)
        self.setAccessibleDescription("; ".join(f"{row.format} {_total(row)}" for row in self.rows))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(600, round((len(self.rows) + 2) * self._step + _GAP))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    @property
    def _step(self) -> float:
        return max(QFontMetricsF(self.font()).height(), _BAR) + _GAP

    @property
    def _left(self) -> float:
        metrics = QFontMetricsF(self.font())
        return _SIDE + 14 + max((metrics.horizontalAdvance(row.format) for row in self.rows), default=0)

    @property
    def scale(self) -> float:
        metrics = QFontMetricsF(self.font())
        lanes = [(row.lookup.milliseconds, metrics.horizontalAdvance(_total(row))) for row in self.rows if row.lookup]
        room = self.width() - _SIDE - self._left - max((text for _, text in lanes), default=0) - 2 * _GAP
        return max(room, 50) / max((length for length, _ in lanes), default=1)

    def bars_of(self, number: int) -> list[tuple[QRectF, LookupTrip]]:
        lookup = self.rows[number].lookup
        found, x, scale = [], self._left, self.scale
        top = (number + 1) * self._step + (self._step - _BAR) / 2
        for trip in lookup.trips if lookup is not None else ():
            width = trip.milliseconds * scale
            found.append((QRectF(x, top, width, _BAR), trip))
            x += width
        return found

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colours = QPainter(self), theme.of(self)
        painter.setPen(colours.muted)
        head = QRectF(_SIDE, 0, self.width() - 2 * _SIDE, self._step)
        text = painter.fontMetrics().elidedText(self._heading(), Qt.TextElideMode.ElideRight, int(head.width()))
        painter.drawText(head, Qt.AlignmentFlag.AlignVCenter, text)
        self._paint_ticks(painter, colours)
        for number, row in enumerate(self.rows):
            self._paint_lane(painter, colours, number, row)
        painter.end()

    def _heading(self) -> str:
        words = self.tr("One cold lookup at {0} ms per round trip and {1} Mbit/s · O: opening · filled: transfer")
        return words.format(round(ROUND_TRIP_MS), round(BYTES_PER_MS * 8 / 1000))

    def _paint_lane(self, painter: QPainter, colours: theme.Palette, number: int, row: FormatRow) -> None:
        lane = QRectF(_SIDE, (number + 1) * self._step, self.width() - 2 * _SIDE, self._step)
        painter.setPen(colours.text)
        painter.drawText(lane, Qt.AlignmentFlag.AlignVCenter, row.format)
        end, scale = self._left, self.scale
        for bar, trip in self.bars_of(number):
            waiting = QRectF(bar)
            waiting.setWidth(ROUND_TRIP_MS * scale)
            role = SectionRole.HEADER if trip.opening else SectionRole.DATA
            colour = colours.section(role)
            painter.fillRect(waiting, colours.raised)
            painter.fillRect(QRectF(waiting.right(), bar.top(), bar.right() - waiting.right(), _BAR), colour)
            painter.setPen(QPen(colours.muted, 1))
            painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5))
            self._paint_words(painter, colours, waiting, trip)
            end = bar.right()
        lane.setLeft(end + _GAP)
        words = _total(row)
        lane.setWidth(painter.fontMetrics().horizontalAdvance(words) + _GAP)
        painter.fillRect(lane, colours.window)
        painter.setPen(colours.muted)
        painter.drawText(lane, Qt.AlignmentFlag.AlignVCenter, words)

    def _paint_words(self, painter: QPainter, colours: theme.Palette, room: QRectF, trip: LookupTrip) -> None:
        mark = "O " if trip.opening else ""
        many = f"{len(trip.ranges)} × " if len(trip.ranges) > 1 else ""
        size = size_text(trip.bytes) if trip.bytes else self.tr("no bytes")
        for words in (f"{mark}{many}{size}", mark.strip()):
            if painter.fontMetrics().horizontalAdvance(words) <= room.width() - 6:
                painter.setPen(colours.text)
                painter.drawText(room.adjusted(4, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, words)
                return

    def _paint_ticks(self, painter: QPainter, colours: theme.Palette) -> None:
        longest = max((row.lookup.milliseconds for row in self.rows if row.lookup), default=0.0)
        step = next((tick for tick in _TICKS if longest / tick <= _MOST_TICKS), _TICKS[-1])
        top, bottom, left, scale = self._step, (len(self.rows) + 1) * self._step, self._left, self.scale
        for at in range(0, int(longest) + step, step) if longest else ():
            x = round(left + at * scale)
            words = f"{at:,} ms"
            width = painter.fontMetrics().horizontalAdvance(words)
            if x + width > self.width():
                break
            painter.setPen(QPen(colours.border, 1))
            painter.drawLine(x, round(top), x, round(bottom))
            painter.setPen(colours.muted)
            painter.drawText(QRectF(x, bottom, width + 2, self._step), Qt.AlignmentFlag.AlignVCenter, words)

    # --- tool tips ---

    def tip_at(self, place: QPoint) -> str:
        for number in range(len(self.rows)):
            for bar, trip in self.bars_of(number):
                if bar.contains(place.toPointF()):
                    return self._tip(trip)
        return ""

    def _tip(self, trip: LookupTrip) -> str:
        what = self.tr("Opening") if trip.opening else self.tr("Lookup and object")
        sizes = f"{plural(len(trip.ranges), 'request')}, {plural(trip.bytes, 'byte')}"
        head = f"{what}: {sizes}, {trip.milliseconds:.0f} ms"
        none = self.tr("no bytes")
        listed = [f"{span.source}: {span_words(span) if span.size else none}" for span in trip.ranges[:_MOST_RANGES]]
        return "\n".join([head, *listed, *(["…"] if len(trip.ranges) > _MOST_RANGES else [])])


def _total(row: FormatRow) -> str:
    if row.lookup is None:
        return "—" if row.error else "…"
    one = row.lookup
    trips, sizes = plural(one.rounds, "round trip"), size_text(one.bytes)
    return f"{plural(one.requests, 'request')}, {trips}, {sizes}, {one.milliseconds:.0f} ms"
