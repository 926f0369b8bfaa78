"""*Compare formats…*: the same ten objects in each format, as strips to one scale, a timeline and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QSizePolicy,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from shardcore import SectionRole
from shardcore.model.text import plural, size_text
from shardcore.teaching.comparison import (
    BYTES_PER_MS,
    HEADINGS,
    ROUND_TRIP_MS,
    FormatRow,
    LookupTrip,
    blank,
    built_in,
    cells,
    compared_formats,
    measured,
)
from shardscope.learning.comparison.strips import Strips, WithTips
from shardscope.session.display_text import grouped, span_words
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool, alive
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import LARGE, sized
from shardscope.widgets.plain_text import tip
from shardscope.widgets.scroll_area import scrolled
from shardscope.widgets.table import Index, TableModel

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


_LAST = len(HEADINGS) - 1
_WIDTHS = (15, 15, 24, 42)
"""Width of the columns in digits; the last one fills the rest, at least `_LEAST_LAST` pixels."""
_LEAST_LAST = 240
_LINES, _PADDING = 3, 4
"""Maximum lines of a cell, and its padding in pixels."""

_MEANINGS = (
    "The format.",
    "Total size of the files.",
    "Bytes in addition to the contents, also as a percentage of them.",
    "Cost of opening the shard, finding one key and reading its object on a cold start.",
    "Limits of the format.",
)


class CompareModel(TableModel):
    titles = tuple(heading.capitalize() for heading in HEADINGS)
    things: tuple[FormatRow, ...] = ()

    def show_rows(self, rows: Sequence[FormatRow]) -> None:
        if [row.format for row in rows] != [row.format for row in self.things]:
            self.show_things(tuple(rows))
        else:
            self.things = tuple(rows)
            self.change()

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.ToolTipRole and orientation is Qt.Orientation.Horizontal:
            return tip(self.tr(_MEANINGS[section]))
        return super().headerData(section, orientation, role)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        return super().data(index, role)

    def text(self, row: int, column: int) -> str:
        return grouped(cells(self.things[row])[column])

    def tip(self, row: int, column: int) -> str:
        found, one = self.things[row], self.things[row].lookup
        if column == 0:
            return f"{found.title}: {found.purpose}"
        if found.error or one is None or column == _LAST:
            return grouped(found.error) or found.cannot
        if column == 1:
            return "\n".join([plural(found.size, "byte"), *found.notes])
        if column == 2:
            return plural(found.overhead, "byte")
        return (
            f"{plural(one.opening, 'request')} to open it, {one.requests - one.opening:,} more to find and read "
            f"one {one.kind} of {plural(one.size, 'byte')}: {plural(one.bytes, 'byte')} in "
            f"{plural(one.rounds, 'round trip')}."
        )


class CompareTable(QTableView):
    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("compareTable")
        self.setAccessibleName(self.tr("Costs of each format"))
        self.rows_ = CompareModel(self)
        self.setModel(self.rows_)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setStyleSheet(f"QTableView::item {{ padding: {_PADDING}px 4px; }}")
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(_LINES * self.fontMetrics().lineSpacing() + 2 * _PADDING)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for column, digits in enumerate(_WIDTHS):
            header.resizeSection(column, digits * self.fontMetrics().horizontalAdvance("0"))
        self.selectionModel().currentRowChanged.connect(self._row_changed)

    def show_rows(self, rows: Sequence[FormatRow]) -> None:
        self.rows_.show_rows(rows)
        high = len(rows) * self.verticalHeader().defaultSectionSize()
        self.setMinimumHeight(high + self.horizontalHeader().sizeHint().height() + 2 * self.frameWidth() + 14)

    def choose(self, format: str) -> None:
        for number, row in enumerate(self.rows_.things):
            if row.format == format and self.currentIndex().row() != number:
                self.setCurrentIndex(self.rows_.index(number, 0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        header = self.horizontalHeader()
        taken = sum(header.sectionSize(column) for column in range(_LAST))
        header.resizeSection(_LAST, max(self.viewport().width() - taken, _LEAST_LAST))

    def _row_changed(self, now: QModelIndex, _: QModelIndex) -> None:
        if now.isValid():
            self.chosen.emit(self.rows_.things[now.row()].format)


class CompareWindow(QDialog):
    def __init__(self, jobs: Jobs, parent: QWidget) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.objects = built_in()
        self.rows = {name: blank(name) for name in compared_formats()}
        self.stale = set(self.rows)
        self.setObjectName("compareFormats")
        self.setWindowTitle(self.tr("Compare formats"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.headline, self.line = Elided(greedy=True, parent=self), Elided(greedy=True, parent=self)
        self.headline.setObjectName("compareHeadline")
        self.line.setObjectName("compareNotes")
        self.strips, self.timeline, self.table = Strips(self), LookupTimeline(self), CompareTable(self)
        self._lay_out()
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

    def _lay_out(self) -> None:
        font = sized(self.headline.font(), LARGE)
        font.setWeight(QFont.Weight.DemiBold)
        self.headline.setFont(font)
        inner = QWidget(self)
        inner.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        below = QVBoxLayout(inner)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(6)
        below.addWidget(self.strips)
        below.addWidget(self.timeline)
        below.addWidget(self.table, 1)
        self.area = scrolled(inner, "compareArea", self.tr("Strips and costs"), self)
        # The focus goes to its parts.
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(8)
        column.addWidget(self.headline)
        column.addWidget(self.line)
        column.addWidget(self.area, 1)
        column.addWidget(buttons)

    def choose(self, format: str) -> None:
        if format != self.strips.current:
            self.strips.choose(format)
        self.table.choose(format)

    def refresh(self) -> None:
        rows = tuple(self.rows.values())
        self.strips.show_rows(rows)
        self.timeline.show_rows(rows)
        self.table.show_rows(rows)
        content = sum(len(one.data) for one in self.objects)
        about = self.tr("{0} of ten kinds ({1}), uncompressed in all formats")
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
            if (job := self._jobs.newest((name, self))) is not None:
                job.cancel()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "area"):
            self.refresh()


class CompareFormats(QObject):
    def __init__(self, jobs: Jobs, window: QWidget) -> None:
        super().__init__(window)
        self._jobs, self._window = jobs, window
        self.sheet: CompareWindow | None = None

    def show(self) -> CompareWindow:
        if self.sheet is None:
            self.sheet = CompareWindow(self._jobs, self._window)
            self.sheet.finished.connect(self._closed)
        self.sheet.show()
        self.sheet.raise_()
        self.sheet.activateWindow()
        self.sheet.strips.setFocus(Qt.FocusReason.OtherFocusReason)
        return self.sheet

    def _closed(self, _: int) -> None:
        self.sheet = None
        # Some desktops do not return the keyboard to the window.
        self._window.window().activateWindow()
