"""*Compare formats…*: the same ten objects in each format, as strips to one scale, a timeline and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFont, QResizeEvent
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

from shardcore.model.text import plural
from shardcore.teaching.comparison import (
    HEADINGS,
    FormatRow,
    blank,
    built_in,
    cells,
    compared_formats,
    measured,
)
from shardscope.learning.comparison.strips import Strips
from shardscope.learning.comparison.timeline import LookupTimeline
from shardscope.session.display_text import grouped
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool, alive
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import LARGE, sized
from shardscope.widgets.plain_text import tip
from shardscope.widgets.scroll_area import scrolled
from shardscope.widgets.table_model import Index, TableModel

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
