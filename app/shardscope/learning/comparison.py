"""Dialog *Compare formats*: the same objects packed in each format, with strips of bytes, a timeline and a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from shardcore import SectionRole
from shardcore.model.text import plural, shown, size_text, without_marks
from shardcore.teaching.comparison import (
    BYTES_PER_MS,
    HEADINGS,
    ROUND_TRIP_MS,
    FormatRow,
    LookupTrip,
    SectionShare,
    blank,
    built_in,
    cells,
    compared_formats,
    measured,
    overhead_text,
)
from shardscope.session.display_text import error_text, grouped, share_text, span_words
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool, alive
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import LARGE, sized
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import tip
from shardscope.widgets.scroll_area import scrolled
from shardscope.widgets.strip_paint import paint_ground, paint_letter, paint_swatch
from shardscope.widgets.table import list_rows

_SIDE = 10.0
_MIDDLE = Qt.AlignmentFlag.AlignVCenter


class _Rows(QWidget):
    def __init__(self, name: str, spoken: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, name, accessibleName=spoken)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.rows: tuple[FormatRow, ...] = ()

    def show_rows(self, rows: Sequence[FormatRow]) -> None:
        self.rows = tuple(rows)
        self.setAccessibleDescription("; ".join(f"{row.format} {self.result(row)}" for row in self.rows))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(600, round(self.high))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, round(self.high))

    @property
    def high(self) -> float:
        raise NotImplementedError

    def result(self, row: FormatRow) -> str:
        raise NotImplementedError

    def tip_at(self, place: QPoint) -> str:
        raise NotImplementedError

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.tip_at(event.pos()), self)
            return True
        return super().event(event)

    def _names_width(self, metrics: QFontMetricsF) -> float:
        return max((metrics.horizontalAdvance(row.format) for row in self.rows), default=0)


_TOP = 4.0
_STRIP, _LEGEND, _SWATCH = 18.0, 26.0, 14.0
_SPACE = 10.0
"""Free space per row in pixels: half of it above the strip, half below."""


class Strips(_Rows):
    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("compareStrips", self.tr("Bytes of the objects in each format, to one scale"), parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.current = ""

    def choose(self, format: str) -> None:
        self.current = format
        self.update()

    @property
    def high(self) -> float:
        return _TOP + max(len(self.rows), 1) * self._step + _LEGEND

    @property
    def _step(self) -> float:
        return QFontMetricsF(self.font()).height() + _STRIP + _SPACE

    @property
    def scale(self) -> float:
        """Pixels per byte: the strip of the largest format fills the width of the widget."""
        largest = max((max(row.content, row.size) for row in self.rows), default=0)
        return (self.width() - 2 * _SIDE) / max(largest, 1)

    def strip_of(self, number: int) -> QRectF:
        bottom = _TOP + (number + 1) * self._step - _SPACE / 2
        return QRectF(_SIDE, bottom - _STRIP, self.rows[number].size * self.scale, _STRIP)

    def _pieces_of(self, number: int) -> Iterator[tuple[QRectF, SectionShare]]:
        strip, scale = self.strip_of(number), self.scale
        for piece in self.rows[number].pieces:
            strip.setWidth(piece.size * scale)
            yield QRectF(strip), piece
            strip.moveLeft(strip.right())

    def result(self, row: FormatRow) -> str:
        if row.error or not row.pieces:
            return grouped(row.error) or "…"
        return f"{plural(row.size, 'byte')} · {overhead_text(row)}"

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
        whole = QRectF(2, _TOP + number * self._step, self.width() - 4, self._step)
        if row.format == self.current:
            painter.fillRect(whole, colours.raised)
            painter.fillRect(QRectF(whole.left(), whole.top(), 3, whole.height()), colours.accent)
        line = QRectF(_SIDE, whole.top(), self.width() - 2 * _SIDE, self.strip_of(number).top() - whole.top())
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(colours.text)
        painter.drawText(line, _MIDDLE, row.format)
        line.setLeft(_SIDE + 14 + self._names_width(QFontMetricsF(bold)))
        painter.setFont(self.font())
        painter.setPen(colours.error if row.error else colours.muted)
        text = painter.fontMetrics().elidedText(self.result(row), Qt.TextElideMode.ElideRight, int(line.width()))
        painter.drawText(line, _MIDDLE, text)
        for body, piece in self._pieces_of(number):
            body.setWidth(max(body.width(), 1))  # so that every piece is visible
            paint_ground(painter, colours, piece.role, body)
            if body.width() > _SWATCH:
                paint_letter(painter, colours, piece.role, body)

    def _paint_legend(self, painter: QPainter, colours: theme.Palette, top: float) -> None:
        x = _SIDE
        there = {piece.role for row in self.rows for piece in row.pieces}
        for role in (role for role in SectionRole if role in there):
            paint_swatch(painter, colours, role, QRectF(x, top, _SWATCH, _SWATCH))
            painter.setPen(colours.muted)
            words = QRectF(x + _SWATCH + 5, top - 2, 200, _SWATCH + 4)
            painter.drawText(words, _MIDDLE, role.value)
            x = words.left() + painter.fontMetrics().horizontalAdvance(role.value) + 16

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
        row = self.rows[number]
        for body, piece in self._pieces_of(number):
            if body.contains(place.toPointF()):
                among = f" in {plural(piece.count, 'file')}" if piece.count > 1 else ""
                size = f"{plural(piece.size, 'byte')}{among}, {share_text(piece.size, row.size)} of all"
                head = f"<b>{theme.SECTION_LETTERS[piece.role]} · {escape(piece.name)}</b>"
                return "<br>".join(line for line in (head, escape(without_marks(piece.doc)), size) if line)
        return f"<b>{escape(row.title)}</b><br>{escape(row.purpose)}"


_GAP, _BAR = 6.0, 16.0
_TICKS = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 500_000)
_MOST_TICKS = 8
_MOST_RANGES = 8


class LookupTimeline(_Rows):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("compareTimeline", self.tr("Round trips of one cold lookup in each format"), parent)

    @property
    def high(self) -> float:
        return (len(self.rows) + 2) * self._step + _GAP

    @property
    def _step(self) -> float:
        return max(QFontMetricsF(self.font()).height(), _BAR) + _GAP

    @property
    def _left(self) -> float:
        return _SIDE + 14 + self._names_width(QFontMetricsF(self.font()))

    @property
    def scale(self) -> float:
        wide = QFontMetricsF(self.font()).horizontalAdvance
        lookups = [(row.lookup.milliseconds, wide(self.result(row))) for row in self.rows if row.lookup]
        room = self.width() - _SIDE - self._left - max((text for _, text in lookups), default=0) - 2 * _GAP
        return max(room, 50) / max((length for length, _ in lookups), default=1)

    def bars_of(self, number: int) -> list[tuple[QRectF, LookupTrip]]:
        lookup = self.rows[number].lookup
        found, x, scale = [], self._left, self.scale
        top = (number + 1) * self._step + (self._step - _BAR) / 2
        for trip in lookup.trips if lookup is not None else ():
            width = trip.milliseconds * scale
            found.append((QRectF(x, top, width, _BAR), trip))
            x += width
        return found

    def result(self, row: FormatRow) -> str:
        one = row.lookup
        if one is None:
            return "—" if row.error else "…"
        trips, sizes = plural(one.rounds, "round trip"), size_text(one.bytes)
        return f"{plural(one.requests, 'request')}, {trips}, {sizes}, {one.milliseconds:.0f} ms"

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colours = QPainter(self), theme.of(self)
        painter.setPen(colours.muted)
        head = QRectF(_SIDE, 0, self.width() - 2 * _SIDE, self._step)
        text = self.tr("One cold lookup at {0} ms per round trip and {1} Mbit/s · O: opening · coloured: transfer")
        text = text.format(round(ROUND_TRIP_MS), round(BYTES_PER_MS * 8 / 1000))
        text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(head.width()))
        painter.drawText(head, _MIDDLE, text)
        self._paint_ticks(painter, colours)
        for number, row in enumerate(self.rows):
            self._paint_lookup(painter, colours, number, row)
        painter.end()

    def _paint_lookup(self, painter: QPainter, colours: theme.Palette, number: int, row: FormatRow) -> None:
        line = QRectF(_SIDE, (number + 1) * self._step, self.width() - 2 * _SIDE, self._step)
        painter.setPen(colours.text)
        painter.drawText(line, _MIDDLE, row.format)
        end, scale = self._left, self.scale
        for bar, trip in self.bars_of(number):
            waiting = QRectF(bar)
            waiting.setWidth(ROUND_TRIP_MS * scale)
            colour = colours.section(SectionRole.HEADER if trip.opening else SectionRole.DATA)
            painter.fillRect(waiting, colours.raised)
            painter.fillRect(QRectF(waiting.right(), bar.top(), bar.right() - waiting.right(), _BAR), colour)
            painter.setPen(QPen(colours.muted, 1))
            painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5))
            self._paint_words(painter, colours, waiting, trip)
            end = bar.right()
        words = self.result(row)
        line.setLeft(end + _GAP)
        line.setWidth(painter.fontMetrics().horizontalAdvance(words) + _GAP)
        painter.fillRect(line, colours.window)
        painter.setPen(colours.muted)
        painter.drawText(line, _MIDDLE, words)

    def _paint_words(self, painter: QPainter, colours: theme.Palette, room: QRectF, trip: LookupTrip) -> None:
        mark = "O " if trip.opening else ""
        many = f"{len(trip.ranges)} × " if len(trip.ranges) > 1 else ""
        size = size_text(trip.bytes) if trip.bytes else self.tr("no bytes")
        for words in (f"{mark}{many}{size}", mark.strip()):
            if painter.fontMetrics().horizontalAdvance(words) <= room.width() - 6:
                painter.setPen(colours.text)
                painter.drawText(room.adjusted(4, 0, 0, 0), _MIDDLE, words)
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
            painter.drawText(QRectF(x, bottom, width + 2, self._step), _MIDDLE, words)

    def tip_at(self, place: QPoint) -> str:
        bars = (bar for number in range(len(self.rows)) for bar in self.bars_of(number))
        trip = next((trip for bar, trip in bars if bar.contains(place.toPointF())), None)
        if trip is None:
            return ""
        what = self.tr("Opening") if trip.opening else self.tr("Lookup and object")
        sizes = f"{plural(len(trip.ranges), 'request')}, {plural(trip.bytes, 'byte')}"
        none = self.tr("no bytes")
        listed = [f"{span.source}: {span_words(span) if span.size else none}" for span in trip.ranges[:_MOST_RANGES]]
        more = ["…"] if len(trip.ranges) > _MOST_RANGES else []
        return "\n".join([f"{what}: {sizes}, {trip.milliseconds:.0f} ms", *listed, *more])


_LAST = len(HEADINGS) - 1
_WIDTHS = (15, 15, 24, 42)
"""Widths of the columns, in widths of a digit; the last column fills the rest, at least `_LEAST_LAST` pixels."""
_LEAST_LAST = 240
_LINES, _PADDING = 3, 4
"""Number of text lines that a cell has room for, and the padding of a cell in pixels."""

_MEANINGS = (
    "The format.",
    "Total size of the files.",
    "Bytes in addition to the contents, also as a percentage of them.",
    "Cost of opening the shard, finding one key and reading its object on a cold start.",
    "Limits of the format.",
)


def _cell_tip(row: FormatRow, column: int) -> str:
    one = row.lookup
    if column == 0:
        return f"{row.title}: {row.purpose}"
    if row.error or one is None or column == _LAST:
        return grouped(row.error) or row.cannot
    if column == 1:
        return "\n".join([plural(row.size, "byte"), *row.notes])
    if column == 2:
        return plural(row.overhead, "byte")
    return (
        f"{plural(one.opening, 'request')} to open it, {one.requests - one.opening:,} more to find and read "
        f"one {one.kind} of {plural(one.size, 'byte')}: {plural(one.bytes, 'byte')} in "
        f"{plural(one.rounds, 'round trip')}."
    )


class CompareTable(QTableWidget):
    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, len(HEADINGS), parent)
        looks = {"alternatingRowColors": True, "horizontalScrollMode": QAbstractItemView.ScrollMode.ScrollPerPixel}
        row = _LINES * self.fontMetrics().lineSpacing() + 2 * _PADDING
        list_rows(self, "compareTable", self.tr("Costs of each format"), row, **looks)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setStyleSheet(f"QTableView::item {{ padding: {_PADDING}px 4px; }}")
        self.formats: list[str] = []
        header = self.horizontalHeader()
        for column, (heading, meaning) in enumerate(zip(HEADINGS, _MEANINGS, strict=True)):
            item = QTableWidgetItem(self.tr(heading.capitalize()))
            item.setToolTip(tip(self.tr(meaning)))
            self.setHorizontalHeaderItem(column, item)
        for column, digits in enumerate(_WIDTHS):
            header.resizeSection(column, digits * self.fontMetrics().horizontalAdvance("0"))
        self.currentCellChanged.connect(self._row_changed)

    def show_rows(self, rows: Sequence[FormatRow]) -> None:
        self.formats = [row.format for row in rows]
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for column, text in enumerate(cells(row)):
                if (item := self.item(number, column)) is None:
                    item = QTableWidgetItem()
                    item.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
                    self.setItem(number, column, item)
                item.setText(shown(grouped(text)))
                item.setToolTip(tip(_cell_tip(row, column)))
        high = len(rows) * self.verticalHeader().defaultSectionSize()
        self.setMinimumHeight(high + self.horizontalHeader().sizeHint().height() + 2 * self.frameWidth() + 14)

    def choose(self, format: str) -> None:
        if format in self.formats:
            self.setCurrentCell(self.formats.index(format), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        header = self.horizontalHeader()
        taken = sum(header.sectionSize(column) for column in range(_LAST))
        header.resizeSection(_LAST, max(self.viewport().width() - taken, _LEAST_LAST))

    def _row_changed(self, row: int, column: int, before: int, _: int) -> None:
        if row >= 0 and row != before:
            self.chosen.emit(self.formats[row])


class CompareWindow(QDialog):
    def __init__(self, jobs: Jobs, parent: QWidget) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.objects = built_in()
        self.rows = {name: blank(name) for name in compared_formats()}
        self.stale = set(self.rows)
        made(self, "compareFormats", windowTitle=self.tr("Compare formats"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.headline = made(Elided(greedy=True, parent=self), "compareHeadline")
        font = sized(self.headline.font(), LARGE)
        font.setWeight(QFont.Weight.DemiBold)
        self.headline.setFont(font)
        self.line = made(Elided(greedy=True, parent=self), "compareNotes")
        self.strips, self.timeline, self.table = Strips(self), LookupTimeline(self), CompareTable(self)
        inner = QWidget(self)
        inner.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        lay(QVBoxLayout(inner), self.strips, self.timeline, (self.table, 1), spacing=6)
        self.area = scrolled(inner, "compareArea", self.tr("Strips and costs"), self)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the focus goes to its parts
        buttons = made(QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self), rejected=self.reject)
        column = self.headline, self.line, (self.area, 1), buttons
        lay(QVBoxLayout(self), *column, margins=(14, 12, 14, 12), spacing=8)
        self.strips.chosen.connect(self.choose)
        self.table.chosen.connect(self.choose)
        self.finished.connect(self._stop)
        self.refresh()
        self.choose(next(reversed(self.rows)))
        self.resize(1100, 800)
        for name in self.rows:
            self._measure(name)

    def minimumSizeHint(self) -> QSize:
        return QSize(420, 300)

    def choose(self, format: str) -> None:
        if format != self.strips.current:
            self.strips.choose(format)
        self.table.choose(format)

    def refresh(self) -> None:
        rows = tuple(self.rows.values())
        for part in (self.strips, self.timeline, self.table):
            part.show_rows(rows)
        content = sum(len(one.data) for one in self.objects)
        about = self.tr("{0} ({1}), uncompressed in all formats")
        self.headline.set_text(about.format(plural(len(self.objects), "object"), plural(content, "byte")))
        waiting = self.tr("Packing: {0} left …").format(plural(len(self.stale), "format"))
        self.line.set_text(waiting if self.stale else self.tr("Packed in memory, then read on a cold start"))

    def _measure(self, name: str) -> None:
        def done(row: FormatRow | None, error: BaseException | None) -> None:
            if not alive(self.refresh) or job.cancelled:
                return
            self.rows[name] = row or FormatRow(name, name, error=error_text(error))
            self.stale.discard(name)
            self.refresh()

        def work(_: Job) -> FormatRow:
            return measured(name, self.objects)

        job = self._jobs.submit(work, key=(name, self), pool=Pool.CPU, priority=JobPriority.SELECTED, done=done)

    def _stop(self, _: int) -> None:
        for name in self.stale:
            self._jobs.cancel((name, self))


class CompareFormats(QObject):
    def __init__(self, jobs: Jobs, window: QWidget) -> None:
        super().__init__(window)
        self._jobs, self._window = jobs, window
        self.sheet: CompareWindow | None = None

    def show(self) -> CompareWindow:
        if self.sheet is None:
            self.sheet = made(CompareWindow(self._jobs, self._window), finished=self._closed)
        self.sheet.show()
        self.sheet.raise_()
        self.sheet.activateWindow()
        self.sheet.strips.setFocus(Qt.FocusReason.OtherFocusReason)
        return self.sheet

    def _closed(self, _: int) -> None:
        self.sheet = None
        # Some desktops do not return the keyboard to the window.
        self._window.window().activateWindow()
