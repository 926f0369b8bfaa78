"""Welcome page: open, drop, recent files, samples."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from shardcore.teaching import resource_paths
from shardscope.session.jobs import Jobs
from shardscope.shell.sample_cards import SampleCards
from shardscope.startup.settings import Settings
from shardscope.views.places.panel import recent_places
from shardscope.views.places.place_list import PlaceList
from shardscope.widgets.fonts import TITLE, sized, zoom
from shardscope.widgets.location_model import PlaceModel
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.wrap_text import WrapText

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
