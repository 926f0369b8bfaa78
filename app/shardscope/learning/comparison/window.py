"""*Compare formats…*: contents, three sliders, strips to one scale, and a table of costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QFont, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSlider,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled
from shardcore.model.number_words import plural, size_text
from shardcore.shards.registry import format_of, writes_of
from shardcore.teaching.comparison.comparison import CODEC_TEXTS, HEADINGS, cells, to_csv
from shardcore.teaching.comparison.contents import BUILT_IN, MOST_OBJECTS
from shardcore.teaching.comparison.measure import ACTIONS, FormatRow
from shardcore.writing.temporary import write_whole
from shardscope.learning.comparison.jobs import CompareJobs
from shardscope.learning.comparison.strips import Strips
from shardscope.learning.comparison.timeline import LookupTimeline
from shardscope.session.error_words import plain_words
from shardscope.session.jobs import JobPriority, Jobs, alive
from shardscope.session.words import grouped
from shardscope.widgets import theme
from shardscope.widgets.elided import Elided
from shardscope.widgets.file_dialogs import ask_folder, ask_target
from shardscope.widgets.fonts import LARGE, sized
from shardscope.widgets.picture import ask_picture
from shardscope.widgets.plain_text import tip
from shardscope.widgets.scrolled import scrolled
from shardscope.widgets.table_model import Index, TableModel

_LAST = len(HEADINGS) - 1
_WIDTHS = (14, 15, 12, 11, 11, 17, 13, 13, 13)
"""Digits of the columns; the last one takes what is left, at least `_LEAST_LAST` pixels."""
_LEAST_LAST = 240
_BREAKS = (("rewrites ", "rewrites\n"), ("reads ", "reads\n"))
_LINES, _PADDING = 3, 4
"""Lines of a cell, and pixels above and below them."""

_MEANINGS = (
    "The format and its main parameter, which the slider above sets.",
    "Codec by which the contents are stored.",
    "Bytes of all files that the objects became.",
    "Bytes over those of the contents, and as a share of these; negative where they are compressed.",
    "Bytes that are neither stored contents nor padding: headers, indices, offsets, lengths, checksums, footers.",
    "Cold cost to open it, find one key and read its object; a round trip is one wait for an answer.",
    "Cost of adding one more object.",
    "Cost of deleting an object.",
    "Cost of verifying all contents.",
    "Limits of the format.",
)

COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, MOST_OBJECTS)
SIZES = (None, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10)
"""Bytes of each object; None for their own."""


class StepSlider(QWidget):
    chosen = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = Elided(greedy=True, parent=self)
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.slider.setObjectName(name)
        self.slider.setPageStep(1)
        self.slider.setTickPosition(QSlider.TickPosition.TicksBelow)
        self._values: Sequence[object] = ()
        self._texts: Sequence[str] = ()
        self._name = ""
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(1)
        column.addWidget(self.title)
        column.addWidget(self.slider)
        self.slider.valueChanged.connect(self._tell)
        self.slider.valueChanged.connect(lambda _: self.chosen.emit())

    @property
    def value(self) -> object:
        at = self.slider.value()
        return self._values[at] if at < len(self._values) else None

    def offer(self, title: str, help: str, values: Sequence[object], texts: Sequence[str], value: object) -> None:
        self._name, self._values, self._texts = title, tuple(values), tuple(texts)
        blocked = self.slider.blockSignals(True)
        self.slider.setRange(0, max(len(self._values) - 1, 0))
        self.slider.setValue(self._values.index(value) if value in self._values else 0)
        self.slider.blockSignals(blocked)
        self.slider.setEnabled(len(self._values) > 1)
        self.slider.setToolTip(tip(help))
        self._tell()

    def _tell(self) -> None:
        at = self.slider.value()
        text = f"{self._name}: {self._texts[at]}" if at < len(self._texts) else self._name
        self.title.tell(text)
        self.slider.setAccessibleName(text)


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
        if role == Qt.ItemDataRole.DisplayRole and index.isValid():
            return self.text(index.row(), index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        return super().data(index, role)

    def text(self, row: int, column: int) -> str:
        found = self.things[row]
        if column == 0:
            return f"{found.format}\n{found.dial}\n{found.value}" if found.dial else found.format
        text = grouped(cells(found)[column - 1])
        for before, after in ((", ", "\n"), (" in ", "\nin "), (" beside", "\nbeside"), *_BREAKS):
            text = text if column == _LAST else text.replace(before, after)
        return text

    def tip(self, row: int, column: int) -> str:
        found = self.things[row]
        heading = HEADINGS[column]
        if column == 0:
            return f"{found.title}: {found.purpose}"
        if found.error or found.lookup is None:
            return grouped(found.error) or found.cannot
        if heading in HEADINGS[6:_LAST]:
            cost = found.costs[ACTIONS[column - 6]]
            about = "" if cost.exact else "about "
            sizes = (("Writes", cost.written or None), ("Reads", cost.read))
            return "\n".join(
                [cost.what, *(f"{verb} {about}{plural(n, 'byte')}." for verb, n in sizes if n is not None)]
            )
        one = found.lookup
        return {
            "size": "\n".join([plural(found.size, "byte"), *found.notes]),
            "overhead": plural(found.overhead, "byte"),
            "codec": f"{found.codec}: {plural(found.stored, 'byte')} of contents stored",
            "structure": (
                f"{plural(found.structure, 'byte')}; with {plural(found.stored, 'byte')} of contents and "
                f"{plural(found.padding, 'byte')} of padding: {plural(found.size, 'byte')}"
            ),
            "one cold lookup": (
                f"{plural(one.opening, 'request')} to open it, {one.requests - one.opening:,} more to find and read "
                f"one {one.kind} of {plural(one.size, 'byte')}: {plural(one.bytes, 'byte')} in "
                f"{plural(one.rounds, 'round trip')}."
            ),
        }.get(heading, found.cannot)


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
        self.desk = CompareJobs(jobs)
        self.desk.setParent(self)
        self.setObjectName("compareFormats")
        self.setWindowTitle(self.tr("Compare formats"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.setAcceptDrops(True)
        self.headline, self.line = Elided(greedy=True, parent=self), Elided(greedy=True, parent=self)
        self.headline.setObjectName("compareHeadline")
        self.line.setObjectName("compareNotes")
        self.counts, self.sizes, self.dial = (
            StepSlider(name, self) for name in ("compareCount", "compareSize", "compareDial")
        )
        self.strips, self.timeline, self.table = Strips(self), LookupTimeline(self), CompareTable(self)
        self.codecs = QComboBox(self)
        self.codecs.setObjectName("compareCodec")
        self.codecs.setAccessibleName(self.tr("Codec of all formats"))
        self.codecs.setToolTip(self.tr("Contents are stored by this codec in every format that has it"))
        for name, text in CODEC_TEXTS.items():
            self.codecs.addItem(name, name)
            self.codecs.setItemData(self.codecs.count() - 1, text, Qt.ItemDataRole.ToolTipRole)
        self._lay_out()
        self._offer()
        self.counts.chosen.connect(self._choose_objects)
        self.sizes.chosen.connect(self._choose_objects)
        self.dial.chosen.connect(self._turn)
        self.codecs.currentIndexChanged.connect(lambda _: self._choose_codec())
        self.strips.chosen.connect(self.choose)
        self.table.chosen.connect(self.choose)
        self.desk.begun.connect(self._begun)
        self.desk.changed.connect(self.refresh)
        self.desk.failed.connect(lambda words: self.say(words, error=True))
        self.finished.connect(self.desk.stop)
        self.resize(1260, 800)

    def minimumSizeHint(self) -> QSize:
        return QSize(420, 300)

    def _button(self, text: str, name: str, hint: str, do: Callable[[], object]) -> QPushButton:
        button = QPushButton(text, self)
        button.setObjectName(name)
        button.setToolTip(hint)
        button.setAutoDefault(False)
        button.clicked.connect(lambda _: do())
        return button

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
        # Its parts take the keyboard.
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        texts = (
            (self.tr("&Folder…"), "compareFolder", self.tr("Packs the files of a folder instead")),
            (self.tr("&Built-in"), "compareBuiltIn", self.tr("Packs ten objects that come with the program")),
            (self.tr("&Picture…"), "comparePicture", self.tr("Saves the strips and the table as a picture")),
            (self.tr("&Table…"), "compareTableFile", self.tr("Saves the numbers as a table (CSV)")),
            (self.tr("&Close"), "compareClose", ""),
        )
        picture = partial(ask_picture, self.area, "formats", lambda words, failed: self.say(words, error=failed))
        built_in = partial(self.desk.use, BUILT_IN)
        actions: tuple[Callable[[], object], ...] = (
            *(self._ask_folder, built_in, picture, self._ask_table, self.reject),
        )
        self.buttons = [self._button(*words, do) for words, do in zip(texts, actions, strict=True)]
        self.built_in = self.buttons[1]
        self.built_in.setEnabled(False)
        sliders, below_sliders = QHBoxLayout(), QHBoxLayout()
        sliders.setSpacing(24)
        for slider in (self.counts, self.sizes, self.dial):
            sliders.addWidget(slider, 1)
        below_sliders.setSpacing(8)
        below_sliders.addWidget(self.line, 1)
        label = QLabel(self.tr("&Codec:"), self)
        label.setBuddy(self.codecs)
        for widget in (label, self.codecs, *self.buttons):
            below_sliders.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(8)
        column.addWidget(self.headline)
        column.addLayout(sliders)
        column.addLayout(below_sliders)
        column.addWidget(self.area, 1)

    def _offer(self) -> None:
        there = len(self.desk.contents.things)
        count = there if self.desk.count is None else self.desk.count
        counts = sorted({*COUNTS, there, count})
        help = self.tr("Objects that are packed; where there are fewer, numbered variants of them")
        self.counts.offer(self.tr("Number of objects"), help, counts, [f"{one:,}" for one in counts], count)
        texts = [self.tr("their own") if one is None else size_text(one) for one in SIZES]
        help = self.tr("Each object is cut or extended to this many bytes")
        self.sizes.offer(self.tr("Size of each"), help, SIZES, texts, self.desk.size)

    def _offer_dial(self) -> None:
        format = self.strips.current
        dial = writes_of(format_of(format)).dial if format else None
        if dial is None:
            self.dial.offer(self.tr("{0}: no parameter changes much").format(format), "", (), (), None)
            return
        title = self.tr("{0} {1}").format(format, dial.name)
        self.dial.offer(title, dial.help, dial.values, dial.values, self.desk.value_of(format))

    def choose(self, format: str) -> None:
        if format != self.strips.current:
            self.strips.choose(format)
            self._offer_dial()
        self.table.choose(format)

    def refresh(self) -> None:
        found = self.desk.comparison
        self.strips.show_rows(found.rows, self.desk.stale)
        self.timeline.show_rows(found.rows)
        self.table.show_rows(found.rows)
        self.headline.tell(found.about)
        self.built_in.setEnabled(self.desk.contents is not BUILT_IN)
        waiting = self.tr("Packing: {0} to go …").format(plural(len(self.desk.stale), "format"))
        ready = self.tr("Packed in memory and read back cold; ≈ stands before an estimated cost")
        self.say(" · ".join(found.notes) or (waiting if self.desk.stale else ready))

    def say(self, words: str, *, error: bool = False) -> None:
        colours = theme.of(self)
        self.line.tell(words)
        self.line.setStyleSheet(f"color: {(colours.error if error else colours.muted).name()};")

    def save(self, path: Path, text: str) -> None:
        def done(_: object, error: BaseException | None) -> None:
            if alive(self.refresh) and not isinstance(error, Cancelled):
                words = self.tr("Saved: {0}").format(path) if error is None else plain_words(error)
                self.say(words, error=error is not None)

        work = lambda _: write_whole(path, [text.encode()], force=True)  # noqa: E731 - a name for the next line
        self._jobs.submit(work, key=("save", self), priority=JobPriority.SCREEN, done=done)

    def _ask_folder(self) -> None:
        ask_folder(self, self.tr("Choose a folder whose files are packed"), lambda path: self.desk.read([path]))

    def _ask_table(self) -> None:
        text = to_csv(self.desk.comparison)
        kinds = {"CSV (*.csv)": "csv"}
        ask_target(
            self, self.tr("Save table"), lambda path: self.save(Path(path), text), name="formats.csv", kinds=kinds
        )

    def _begun(self) -> None:
        self._offer()
        if not self.strips.current and self.desk.rows:
            self.refresh()
            self.choose(list(self.desk.rows)[-1])

    def _choose_objects(self) -> None:
        count, size = self.counts.value, self.sizes.value
        self.desk.count = count if isinstance(count, int) else None
        self.desk.size = size if isinstance(size, int) else None
        self.desk.ask()

    def _choose_codec(self) -> None:
        self.desk.codec = str(self.codecs.currentData())
        self._offer_dial()
        self.desk.ask()

    def _turn(self) -> None:
        if self.strips.current and isinstance(self.dial.value, str):
            self.desk.turn(self.strips.current, self.dial.value)

    # --- events ---

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.source() is None and any(url.isLocalFile() for url in event.mimeData().urls()):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        self.desk.read([url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()])

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "area"):
            self.refresh()


class CompareFormats(QAction):
    def __init__(self, jobs: Jobs, parent: QWidget) -> None:
        super().__init__(parent)
        self._jobs, self._window = jobs, parent
        self.sheet: CompareWindow | None = None
        self.setText(self.tr("Compare for&mats…"))
        self.setObjectName("compareAction")
        self.setShortcut(QKeySequence("Ctrl+Shift+M"))
        self.setToolTip(self.tr("Packs the same objects into every format, and shows the costs of each"))
        self.triggered.connect(lambda _: self.show())

    def show(self) -> CompareWindow:
        if self.sheet is None:
            self.sheet = CompareWindow(self._jobs, self._window)
            self.sheet.finished.connect(lambda _: self._closed())
            self.sheet.desk.begin()
        self.sheet.show()
        self.sheet.raise_()
        self.sheet.activateWindow()
        self.sheet.strips.setFocus(Qt.FocusReason.OtherFocusReason)
        return self.sheet

    def _closed(self) -> None:
        self.sheet = None
        # Not every desktop gives the keyboard back to the window by itself.
        self._window.window().activateWindow()
