"""Welcome page: open, drop, recent files, cards of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QIcon, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

import shardcore
from shardcore import DataSet, SectionRole, Shard
from shardcore.teaching import resource_paths
from shardcore.teaching.resource_paths import Role, Sample
from shardscope.session.jobs import Job, JobPriority, Jobs
from shardscope.startup.settings import Settings
from shardscope.views.hex.legend import Legend
from shardscope.views.places import PlaceList, PlaceModel, recent_places
from shardscope.widgets import theme
from shardscope.widgets.fonts import SMALL, TITLE, px, sized, zoom
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.sample_names import sample_title
from shardscope.widgets.strip_paint import paint_ground, paint_letter
from shardscope.widgets.strip_scale import widths_to_scale
from shardscope.widgets.wrap_text import WrapText

_CARDS = (Role.MAIN, Role.FEATURED)
"""Roles of samples that get a card."""

TWO_COLUMNS = 600
"""Width in pixels at 100 % from which there are two columns."""

SOON_MILLISECONDS = 150
_STRIP = 16
_PAD = 12


@dataclass(frozen=True, slots=True)
class StripSection:
    role: SectionRole
    size: int


def parts_of(shard: Shard) -> tuple[StripSection, ...]:
    if isinstance(shard, DataSet):
        shard = shard.member(shard.members[0].name)
    return tuple(StripSection(section.role, section.size) for section in shard.sections if section.size)


class SampleCard(QAbstractButton):
    more_chosen = Signal(object)
    """Carries the path of another sample of the format."""

    def __init__(self, sample: Sample, others: Sequence[Sample] = (), parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sample = sample
        self.parts: tuple[StripSection, ...] = ()
        self.setText(self.tr("Open {0}").format(sample.title))
        self.setAccessibleName(self.tr("Open the sample {0}: {1}").format(sample.title, sample.about))
        self.setToolTip(sample.about)
        self.learn = QToolButton(self)
        self.learn.setObjectName(f"learn-{sample.format}")
        self.learn.setText(self.tr("Learn"))
        self.learn.setAccessibleName(self.tr("Learn the format of the sample {0}").format(sample.title))
        self.learn.setToolTip(self.tr("Walks through the sample, byte by byte, with questions"))
        self.learn.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        # A featured sample shows its content, not its format.
        self.learn.setVisible(sample.role is not Role.FEATURED)
        self.more = self._more_button(others)
        self._lay_out()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(4)
        column = self._column = QVBoxLayout(self)
        column.setSpacing(4)
        column.addLayout(head)
        title, about = WrapText(self.sample.title, bold=True), WrapText(self.sample.about, tone="muted")
        for text in (title, about):
            # Pass clicks on texts to the card, which is one button.
            text.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            text.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        head.addWidget(title, 1, Qt.AlignmentFlag.AlignVCenter)
        head.addWidget(self.learn)
        head.addWidget(self.more)
        column.addWidget(about)
        column.addStretch(1)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def _more_button(self, others: Sequence[Sample]) -> QToolButton:
        button = QToolButton(self)
        button.setText(self.tr("More ▾"))
        button.setAccessibleName(self.tr("More samples of {0}").format(self.sample.title))
        button.setToolTip(self.tr("Further samples of this format, including a damaged and an unusual one"))
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        menu.setToolTipsVisible(True)
        for one in others:
            action = menu.addAction(sample_title(one).replace("&", "&&"))
            action.setToolTip(tip(one.see))
            action.triggered.connect(partial(self.more_chosen.emit, str(one.path)))
        button.setMenu(menu)
        button.setVisible(bool(others))
        return button

    def show_parts(self, parts: tuple[StripSection, ...]) -> None:
        self.parts = parts
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._column.setContentsMargins(_PAD, _PAD - 2, _PAD, _PAD + px(_STRIP) + 6)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = theme.of(self)
        strong = self.hasFocus()
        painter.setPen(QPen(colours.accent if strong else colours.border, 2 if strong else 1))
        painter.setBrush(colours.raised if self.underMouse() or self.isDown() else colours.base)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 8, 8)
        inner = self.rect().adjusted(_PAD, 0, -_PAD, -_PAD)
        high = px(_STRIP)
        self._paint_strip(painter, QRectF(inner.left(), inner.bottom() - high, inner.width(), high))
        painter.end()

    def _paint_strip(self, painter: QPainter, place: QRectF) -> None:
        colours = theme.of(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        if not self.parts:
            painter.fillRect(place, colours.window)
            return
        x = place.left()
        painter.setFont(sized(self.font(), SMALL))
        room = painter.fontMetrics().horizontalAdvance("M") + 4
        for part, width in zip(
            self.parts, widths_to_scale([part.size for part in self.parts], place.width()), strict=True
        ):
            box = QRectF(x, place.top(), max(width - 1, 1), place.height())
            paint_ground(painter, colours, part.role, box)
            if width > room:
                paint_letter(painter, colours, part.role, box)
            x += width


class SampleCards(QWidget):
    """All samples; `chosen` carries a path. Jobs read the sections once the cards have been visible for a moment."""

    spoken_role = QAccessible.Role.Grouping

    chosen = Signal(object)
    preview_requested = Signal(object)
    """Carries the path of a sample to open with the preview of its first object."""
    learn_requested = Signal(object)
    """Carries the path of a sample to open with the first lesson on its format."""

    def __init__(self, samples: Sequence[Sample], jobs: Jobs | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sampleList")
        self.setAccessibleName(self.tr("Samples"))
        self._jobs = jobs
        self._columns = 0
        self.cards = [
            SampleCard(main, [one for one in samples if one.format == main.format and one.role not in _CARDS], self)
            for main in samples
            if main.role is Role.MAIN
        ]
        self.cards += [SampleCard(one, (), self) for one in samples if one.role is Role.FEATURED]
        for card in self.cards:
            path = str(card.sample.path)
            asked = self.preview_requested if card.sample.role is Role.FEATURED else self.chosen
            card.clicked.connect(lambda _=False, path=path, asked=asked: asked.emit(path))
            card.more_chosen.connect(self.chosen)
            card.learn.clicked.connect(lambda _=False, path=path: self.learn_requested.emit(path))
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(10)
        self.legend = Legend(self)
        self.legend.setObjectName("sampleLegend")
        self._grid.addWidget(self.legend, len(self.cards), 0, 1, 2)
        self._arrange(2)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and self._jobs is not None:
            QTimer.singleShot(SOON_MILLISECONDS, self, self._ask_all)
        return super().event(event)

    def _ask_all(self) -> None:
        jobs = self._jobs
        if jobs is not None and self.isVisible():
            self._jobs = None
            for card in self.cards:
                self._ask(jobs, card)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange(2 if self.width() >= px(TWO_COLUMNS) else 1)

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for number, card in enumerate(self.cards):
            self._grid.addWidget(card, number // columns, number % columns)
        self._grid.setColumnStretch(0, 1)
        self._grid.setColumnStretch(1, columns - 1)

    def _ask(self, jobs: Jobs, card: SampleCard) -> None:
        def done(parts: tuple[StripSection, ...] | None, error: BaseException | None) -> None:
            # An unreadable sample shows its error when it is opened.
            if parts is not None:
                card.show_parts(parts)
                there = {part.role for card in self.cards for part in card.parts}
                self.legend.set_roles([role for role in SectionRole if role in there], ())

        jobs.submit(
            lambda job: _read(card.sample.path, job),
            key=("strip", card),
            priority=JobPriority.PREFETCH,
            lasting=True,
            done=done,
        )


def _read(path: Path, job: Job) -> tuple[StripSection, ...]:
    with shardcore.open(str(path), partial=True, progress=job.progress) as shard:
        return parts_of(shard)


WIDEST = 820
"""Maximum width of the samples in pixels at 100 %."""

BESIDE = 900
"""Width in pixels at 100 % from which recent files are beside the samples instead of above."""


class Welcome(QScrollArea):
    open_requested = Signal()
    folder_requested = Signal()
    address_requested = Signal()
    new_requested = Signal()
    compare_requested = Signal()
    chosen = Signal(object)
    preview_requested = Signal(object)
    learn_requested = Signal(object)

    def __init__(self, settings: Settings, jobs: Jobs | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Welcome"))
        self._settings = settings
        self.title = QLabel("Shardscope", self)
        words = self.tr("See what is inside shard files: bytes, fields, objects, lookups.")
        self.subtitle = WrapText(words, tone="muted")
        self.open_button = QPushButton(self.tr("Open…"), self)
        self.open_button.setDefault(True)
        self.open_button.clicked.connect(self.open_requested)
        self.folder_button = QPushButton(self.tr("Open folder…"), self)
        self.folder_button.setToolTip(self.tr("A data set: a folder of shards that share their keys"))
        self.folder_button.clicked.connect(self.folder_requested)
        self.address_button = QPushButton(self.tr("Open address…"), self)
        self.address_button.setToolTip(self.tr("An S3 or GCS bucket, a URL, a Neuroglancer layer (Ctrl+U)"))
        self.address_button.clicked.connect(self.address_requested)
        self.new_button = QPushButton(self.tr("New shard…"), self)
        self.new_button.setToolTip(self.tr("Packs files and folders into a new shard of any format"))
        self.new_button.clicked.connect(self.new_requested)
        self.compare_button = QPushButton(self.tr("Compare formats…"), self)
        self.compare_button.setToolTip(self.tr("Packs the same objects into every format, and shows what each costs"))
        self.compare_button.clicked.connect(self.compare_requested)
        words = self.tr("Drop a file or folder to open it, or several files to pack them.")
        self.drop = WrapText(words, tone="muted")
        self.drop.setObjectName("dropArea")
        self.samples = SampleCards(resource_paths.samples(), jobs, self)
        self.recent_part = QWidget(self)
        self._recent = PlaceModel(self)
        self.recent = PlaceList(self._recent, self.recent_part)
        self.recent.setObjectName("recentList")
        self.recent.setAccessibleName(self.tr("Recent files"))
        self.recent.setCursor(Qt.CursorShape.PointingHandCursor)
        self.samples.chosen.connect(self.chosen)
        self.samples.preview_requested.connect(self.preview_requested)
        self.samples.learn_requested.connect(self.learn_requested)
        self.recent.gone.connect(lambda index: self.chosen.emit(self._recent.place(index).where))
        self._lay_out()
        self.refresh()

    def _lay_out(self) -> None:
        icon = QLabel(self)
        icon.setAccessibleName("Shardscope")
        icon.setPixmap(
            QIcon(str(resource_paths.path("icons/shardscope.svg"))).pixmap(QSize(64, 64), self.devicePixelRatioF())
        )
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.title)
        words.addWidget(self.subtitle)
        head = QHBoxLayout()
        head.setSpacing(16)
        head.addWidget(icon)
        head.addLayout(words, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        for button in (self.open_button, self.folder_button, self.address_button, self.new_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        samples, recent = QVBoxLayout(), QVBoxLayout(self.recent_part)
        samples.setSpacing(6)
        line = QHBoxLayout()
        line.addWidget(plain_label(self.tr("Samples"), bold=True), 1)
        line.addWidget(self.compare_button)
        samples.addLayout(line)
        samples.addWidget(self.samples)
        recent.setContentsMargins(0, 0, 0, 0)
        head_of_recent = plain_label(self.tr("Recent"), bold=True)
        head_of_recent.setMinimumHeight(self.compare_button.sizeHint().height())
        recent.addWidget(head_of_recent)
        recent.addWidget(self.recent)
        recent.addStretch(1)
        self._parts = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._parts.setSpacing(20)
        self._parts.addLayout(samples, 5)
        self._parts.addWidget(self.recent_part, 2)
        box = self._box = QWidget(self)
        column = QVBoxLayout(box)
        column.setSpacing(14)
        column.addLayout(head)
        column.addSpacing(6)
        column.addLayout(buttons)
        column.addWidget(self.drop)
        column.addLayout(self._parts)
        box.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        page = QWidget(self)
        across = QHBoxLayout()
        across.addStretch(1)
        across.addWidget(box, 1000)
        across.addStretch(1)
        outer = QVBoxLayout(page)
        outer.setContentsMargins(20, 14, 20, 14)
        outer.addStretch(2)
        outer.addLayout(across)
        outer.addStretch(3)
        self.setWidget(page)

    def refresh(self) -> None:
        places = recent_places(self._settings)
        self._recent.fill(places)
        self.recent.setCurrentIndex(self._recent.index(0))
        self.recent_part.setVisible(bool(places))
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        font = sized(self.title.font(), TITLE)
        font.setBold(True)
        self.title.setFont(font)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        beside = self.width() >= BESIDE * zoom()
        self._parts.setDirection(QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.BottomToTop)
        rows = min(len(self._settings.recent), 8 if beside else 3)
        self.recent.setFixedHeight(rows * max(self.recent.sizeHintForRow(0), 0) + 6)
        self._box.setMaximumWidth(round(WIDEST * zoom() * (1.42 if rows and beside else 1)))
