"""The window of the comparison: what is packed, three sliders, strips to one scale, and a table of costs."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QLine, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSlider,
    QStyle,
    QStyleOptionSlider,
    QVBoxLayout,
    QWidget,
)

from shardcore.model.number_words import plural, size_text
from shardcore.shards.registry import format_of, writes_of
from shardcore.teaching.comparison import BUILT_IN, MOST_OBJECTS
from shardscope.learning.comparison.jobs import CompareJobs
from shardscope.learning.comparison.strips import Strips
from shardscope.learning.comparison.table import CompareTable
from shardscope.widgets import theme
from shardscope.widgets.elided import Elided
from shardscope.widgets.fonts import LARGE, sized
from shardscope.widgets.plain_text import tip
from shardscope.widgets.scrolled import scrolled

_HIGH = 4
"""Pixels of a mark."""


class TickedSlider(QSlider):
    """A horizontal slider that steps from mark to mark.

    The style paints marks in a darker shade of the window, which is not seen in a dark one.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.setTickInterval(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        colours = theme.of(self)
        painter.setPen(QPen(colours.muted if self.isEnabled() else colours.faint, 1))
        painter.drawLines([QLine(x, self.height() - 1 - _HIGH, x, self.height() - 1) for x in self.marks()])
        painter.end()

    def marks(self) -> list[int]:
        """Return where the marks stand, in pixels from the left."""
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        style = self.style()
        length = style.pixelMetric(QStyle.PixelMetric.PM_SliderLength, option, self)
        room = style.pixelMetric(QStyle.PixelMetric.PM_SliderSpaceAvailable, option, self)
        least, most = self.minimum(), self.maximum()
        return [
            QStyle.sliderPositionFromValue(least, most, value, room) + length // 2 for value in range(least, most + 1)
        ]


class StepSlider(QWidget):
    """`chosen` tells that another value was chosen, by mouse or keyboard.

    Args:
        name: The object name of the slider.
        parent: Where it stands.
    """

    chosen = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = Elided(greedy=True, parent=self)
        self.said = QLabel(self)
        self.said.setTextFormat(Qt.TextFormat.PlainText)
        font = self.said.font()
        font.setBold(True)
        self.said.setFont(font)
        self.slider = TickedSlider(self)
        self.slider.setObjectName(name)
        self.slider.setPageStep(1)
        self._values: tuple[object, ...] = ()
        self._texts: tuple[str, ...] = ()
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.title, 1)
        head.addWidget(self.said)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(1)
        column.addLayout(head)
        column.addWidget(self.slider)
        self.slider.valueChanged.connect(self._changed)

    @property
    def value(self) -> object:
        """The value that is chosen; None where there is none."""
        at = self.slider.value()
        return self._values[at] if at < len(self._values) else None

    def offer(self, title: str, help: str, values: Sequence[object], texts: Sequence[str], value: object) -> None:
        """Offers other values; `chosen` tells nothing of it.

        Args:
            title: What they are of.
            help: One sentence.
            values: The values, in order; none where nothing can be chosen.
            texts: How each is called.
            value: The one that is chosen.
        """
        self._values, self._texts = tuple(values), tuple(texts)
        blocked = self.slider.blockSignals(True)
        self.slider.setRange(0, max(len(self._values) - 1, 0))
        self.slider.setValue(self._values.index(value) if value in self._values else 0)
        self.slider.blockSignals(blocked)
        self.slider.setEnabled(len(self._values) > 1)
        self.title.tell(title)
        self.title.setStyleSheet(f"color: {theme.of(self).muted.name()};")
        self.slider.setToolTip(tip(help))
        self._tell()

    def _changed(self, _: int) -> None:
        self._tell()
        self.chosen.emit()

    def _tell(self) -> None:
        at = self.slider.value()
        said = self._texts[at] if at < len(self._texts) else ""
        self.said.setText(said)
        self.slider.setAccessibleName(f"{self.title.text()}: {said}" if said else self.title.text())


FULL = QSize(1260, 800)
"""The size where the window is larger than that."""

_AROUND = 40
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, MOST_OBJECTS)
SIZES = (None, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10)
"""Bytes of each object; None for their own."""


class CompareWindow(QDialog):
    """Shows the comparison. Open it with `show()`.

    `folder_wanted`, `picture_wanted` and `table_wanted` ask for dialogs; `dropped` carries paths.

    Args:
        desk: Does the work.
        parent: The window.
    """

    folder_wanted = Signal()
    picture_wanted = Signal()
    table_wanted = Signal()

    def __init__(self, desk: CompareJobs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.desk = desk
        self.setObjectName("compareFormats")
        self.setWindowTitle(self.tr("Compare formats"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.setAcceptDrops(True)
        self.headline = Elided(greedy=True, parent=self)
        self.headline.setObjectName("compareHeadline")
        self.line = Elided(greedy=True, parent=self)
        self.line.setObjectName("compareNotes")
        self.counts = StepSlider("compareCount", self)
        self.sizes = StepSlider("compareSize", self)
        self.dial = StepSlider("compareDial", self)
        self.strips = Strips(self)
        self.table = CompareTable(self)
        self._make_buttons()
        self._lay_out()
        self._offer()
        self.counts.chosen.connect(self._choose_objects)
        self.sizes.chosen.connect(self._choose_objects)
        self.dial.chosen.connect(self._turn)
        self.strips.chosen.connect(self.choose)
        self.table.chosen.connect(self.choose)
        desk.begun.connect(self._begun)
        desk.changed.connect(self.refresh)
        desk.failed.connect(lambda words: self._say(words, error=True))
        room = parent.window().size() if parent is not None else FULL
        self.resize(FULL.boundedTo(room - QSize(_AROUND, _AROUND)))

    def minimumSizeHint(self) -> QSize:
        return QSize(420, 300)

    # --- making ---

    def _make_buttons(self) -> None:
        made = [
            (self.tr("&Folder…"), "compareFolder", self.tr("Packs the files of a folder instead"), self.folder_wanted),
            (
                self.tr("&Picture…"),
                "comparePicture",
                self.tr("Saves the strips and the table as a picture"),
                self.picture_wanted,
            ),
            (self.tr("&Table…"), "compareTableFile", self.tr("Saves the numbers as a table (CSV)"), self.table_wanted),
        ]
        self.buttons = []
        for text, name, hint, wanted in made:
            button = QPushButton(text, self)
            button.setObjectName(name)
            button.setToolTip(hint)
            button.setAutoDefault(False)
            button.clicked.connect(wanted)
            self.buttons.append(button)
        self.built_in = QPushButton(self.tr("&Built-in"), self)
        self.built_in.setObjectName("compareBuiltIn")
        self.built_in.setToolTip(self.tr("Packs ten objects that come with the program"))
        self.built_in.setAutoDefault(False)
        self.built_in.clicked.connect(lambda: self.desk.use(BUILT_IN))
        self.built_in.setEnabled(False)
        self.own_codecs = QCheckBox(self.tr("Default &codecs"), self)
        self.own_codecs.setObjectName("compareOwnCodecs")
        self.own_codecs.setToolTip(
            self.tr("Compresses by the default codec of each format; off: contents are stored uncompressed in all")
        )
        self.own_codecs.toggled.connect(self._choose_codecs)
        self.close_button = QPushButton(self.tr("&Close"), self)
        self.close_button.setObjectName("compareClose")
        self.close_button.setAutoDefault(False)
        self.close_button.clicked.connect(self.reject)

    def _lay_out(self) -> None:
        font = sized(self.headline.font(), LARGE)
        font.setWeight(QFont.Weight.DemiBold)
        self.headline.setFont(font)
        below_sliders = QHBoxLayout()
        below_sliders.setSpacing(8)
        below_sliders.addWidget(self.line, 1)
        below_sliders.addWidget(self.own_codecs)
        for button in (self.buttons[0], self.built_in, *self.buttons[1:], self.close_button):
            below_sliders.addWidget(button)
        sliders = QHBoxLayout()
        sliders.setSpacing(24)
        for slider in (self.counts, self.sizes, self.dial):
            sliders.addWidget(slider, 1)
        inner = QWidget(self)
        inner.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        below = QVBoxLayout(inner)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(6)
        below.addWidget(self.strips)
        below.addWidget(self.table, 1)
        self.area = scrolled(inner, "compareArea", self.tr("Strips and costs"), self)
        # Its parts take the keyboard.
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(8)
        column.addWidget(self.headline)
        column.addLayout(sliders)
        column.addLayout(below_sliders)
        column.addWidget(self.area, 1)

    def _offer(self) -> None:
        """Fill the sliders for the contents at hand."""
        desk = self.desk
        there = len(desk.contents.things)
        count = there if desk.count is None else desk.count
        counts = sorted({*COUNTS, there, count})
        self.counts.offer(
            self.tr("Number of objects"),
            self.tr("How many objects are packed; where there are fewer, numbered variants of them"),
            counts,
            [f"{one:,}" for one in counts],
            count,
        )
        texts = [self.tr("their own") if one is None else size_text(one) for one in SIZES]
        self.sizes.offer(
            self.tr("Size of each"),
            self.tr("Each object is cut off, or goes on, to so many bytes"),
            SIZES,
            texts,
            desk.size,
        )

    def _offer_dial(self) -> None:
        """The main parameter of the format that is chosen."""
        format = self.strips.current
        dial = writes_of(format_of(format)).dial if format else None
        if dial is None:
            self.dial.offer(self.tr("{0}: no parameter changes much").format(format), "", (), (), None)
            return
        value = self.desk.dials.get(format) or self.desk.usual(format)
        title = self.tr("{0}: {1}").format(format, dial.name)
        self.dial.offer(title, dial.help, dial.values, dial.values, value)

    # --- what it is told ---

    def choose(self, format: str) -> None:
        """Chooses a format: the third slider is its own then."""
        if format != self.strips.current:
            self.strips.choose(format)
            self._offer_dial()
        self.table.choose(format)

    def refresh(self) -> None:
        """Shows what is known by now."""
        found = self.desk.comparison
        self.strips.show_rows(found.rows, found.content, self.desk.stale)
        self.table.show_rows(found.rows)
        self.headline.tell(found.about)
        self.built_in.setEnabled(self.desk.contents is not BUILT_IN)
        self._say(" · ".join(found.notes) or self._standing())

    def tell_saved(self, words: str, *, error: bool) -> None:
        """Tells what became of a file."""
        self._say(words, error=error)

    def _standing(self) -> str:
        """Return how far it is, in a line."""
        if waiting := len(self.desk.stale):
            return self.tr("Packing: {0} to go …").format(plural(waiting, "format"))
        return self.tr("Packed in memory and read back cold; ≈ stands before an estimated cost")

    def _say(self, words: str, *, error: bool = False) -> None:
        colours = theme.of(self)
        self.line.tell(words)
        self.line.setStyleSheet(f"color: {(colours.error if error else colours.muted).name()};")

    # --- inside ---

    def _begun(self) -> None:
        self._offer()
        if not self.strips.current and self.desk.formats:
            last = self.desk.formats[-1]
            self.refresh()
            self.choose(last)

    def _choose_objects(self) -> None:
        count, size = self.counts.value, self.sizes.value
        self.desk.count = count if isinstance(count, int) else None
        self.desk.size = size if isinstance(size, int) else None
        self.desk.ask()

    def _choose_codecs(self, own: bool) -> None:
        self.desk.own_codecs = own
        self._offer_dial()
        self.desk.ask()

    def _turn(self) -> None:
        if self.strips.current and isinstance(self.dial.value, str):
            self.desk.turn(self.strips.current, self.dial.value)

    # --- events ---

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.source() is None and _dropped(event):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        self.desk.read(_dropped(event))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "area"):
            self._offer()
            self._offer_dial()


def _dropped(event: QDropEvent) -> list[str]:
    """The local files and folders that are dragged."""
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
