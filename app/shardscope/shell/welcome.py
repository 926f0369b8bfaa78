"""The page of the first start: open, drop, recent files, samples."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent, QPainter, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from shardcore.model.text import shown
from shardcore.sources.remote.address import is_address
from shardcore.teaching import assets
from shardscope.session.jobs import Jobs
from shardscope.session.open_request import file_of, name_of
from shardscope.shell.sample_cards import SampleCards
from shardscope.startup.settings import Settings
from shardscope.widgets import theme
from shardscope.widgets.fonts import TITLE, sized
from shardscope.widgets.plain_text import tip

Index = QModelIndex | QPersistentModelIndex

_PATH = int(Qt.ItemDataRole.UserRole)
_ABOUT = _PATH + 1

_TITLE_SHARE = 0.44
"""Share of the width at which the second column of a list begins."""


class _TwoWords(QStyledItemDelegate):
    """Paints the title at the left and what is known of it, quieter, in a column of its own."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.text = ""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint one entry."""
        super().paint(painter, option, index)
        colours = theme.of(option.widget)
        rect = option.rect.adjusted(12, 0, -12, 0)
        left = int(rect.width() * _TITLE_SHARE)
        flags = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        about = (index.data(_ABOUT), colours.muted, left, rect.width() - left)
        words = ((index.data(), colours.text, 0, left - 12), about)
        for text, colour, start, width in words:
            painter.setPen(colour)
            seen = option.fontMetrics.elidedText(text, Qt.TextElideMode.ElideMiddle, width)
            painter.drawText(rect.adjusted(start, 0, start + width - rect.width(), 0), flags, seen)


class FileList(QListWidget):
    """A short list of files; Return or a click opens one."""

    chosen = Signal(object)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setUniformItemSizes(True)
        self.setItemDelegate(_TwoWords(self))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.itemClicked.connect(self._choose)

    def fill(self, entries: list[tuple[str, str, str]]) -> None:
        """Show entries: where, title, a few words about it."""
        self.clear()
        for where, title, about in entries:
            item = QListWidgetItem(shown(title))
            item.setData(_PATH, where)
            item.setData(_ABOUT, shown(about))
            item.setToolTip(tip(where))
            item.setSizeHint(QSize(0, self.fontMetrics().height() + 12))
            self.addItem(item)
        if entries:
            self.setCurrentRow(0)
        self.setFixedHeight(max(min(len(entries), 7), 1) * (self.fontMetrics().height() + 12) + 6)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (item := self.currentItem()) is not None:
            self._choose(item)
        else:
            super().keyPressEvent(event)

    def _choose(self, item: QListWidgetItem) -> None:
        self.chosen.emit(item.data(_PATH))


WIDEST = 760


class Welcome(QScrollArea):
    """`open_requested`, `folder_requested` and `address_requested` request a dialog, `chosen(uri)` opens something.

    `new_requested` requests a new shard, `compare_requested` for the comparison of formats.

    `preview_requested(uri)` opens it with the preview of its first object,
    `learn_requested(uri)` opens it beside the page of its format.
    """

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
        self.subtitle = QLabel(self.tr("See what is inside shard files: bytes, fields, objects, lookups."), self)
        self.open_button = QPushButton(self.tr("Open file…"), self)
        self.open_button.setDefault(True)
        self.open_button.clicked.connect(self.open_requested)
        self.folder_button = QPushButton(self.tr("Open folder…"), self)
        self.folder_button.setToolTip(self.tr("A data set: a folder of shards that share their keys"))
        self.folder_button.clicked.connect(self.folder_requested)
        self.address_button = QPushButton(self.tr("Connect to S3…"), self)
        self.address_button.setToolTip(self.tr("An address: a bucket, a web server, a neuroglancer layer (Ctrl+U)"))
        self.address_button.clicked.connect(self.address_requested)
        self.new_button = QPushButton(self.tr("New shard…"), self)
        self.new_button.setToolTip(self.tr("Packs files and folders into a new shard of any format"))
        self.new_button.clicked.connect(self.new_requested)
        self.compare_button = QPushButton(self.tr("Compare formats…"), self)
        self.compare_button.setToolTip(self.tr("Packs the same objects into every format, and shows what each costs"))
        self.compare_button.clicked.connect(self.compare_requested)
        self.drop = QLabel(self.tr("Drop a file or folder here to open it, several to pack them"), self)
        self.drop.setObjectName("dropArea")
        self.drop.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.drop.setMinimumHeight(44)
        self.samples = SampleCards(assets.samples(), jobs, self)
        self.recent = FileList("recentList", self)
        self.recent.setAccessibleName(self.tr("Recent files"))
        self.recent_head = self._heading("Recent")
        self.samples.chosen.connect(self.chosen)
        self.samples.preview_requested.connect(self.preview_requested)
        self.samples.learn_requested.connect(self.learn_requested)
        self.recent.chosen.connect(self.chosen)
        self._lay_out()
        self.refresh()
        self._colour()

    def _heading(self, text: str) -> QLabel:
        label = QLabel(text, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        font = label.font()
        font.setBold(True)
        label.setFont(font)
        return label

    def _lay_out(self) -> None:
        icon = QLabel(self)
        icon.setAccessibleName("Shardscope")
        icon.setPixmap(QIcon(str(assets.path("icons/shardscope.svg"))).pixmap(QSize(64, 64), self.devicePixelRatioF()))
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
        buttons.addWidget(self.open_button)
        buttons.addWidget(self.folder_button)
        buttons.addWidget(self.address_button)
        buttons.addWidget(self.new_button)
        buttons.addStretch(1)
        column = QVBoxLayout()
        column.setSpacing(14)
        column.addLayout(head)
        column.addSpacing(6)
        column.addLayout(buttons)
        column.addWidget(self.drop)
        column.addSpacing(4)
        samples = QHBoxLayout()
        samples.addWidget(self._heading("Samples"), 1)
        samples.addWidget(self.compare_button)
        column.addLayout(samples)
        column.addWidget(self.samples)
        column.addWidget(self.recent_head)
        column.addWidget(self.recent)
        box = QWidget(self)
        box.setLayout(column)
        box.setMaximumWidth(WIDEST)
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
        """Read the lists again."""
        recent = [(uri, *_parted(uri)) for uri in self._settings.recent]
        self.recent.fill(recent)
        for part in (self.recent, self.recent_head):
            part.setVisible(bool(recent))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        font = sized(self.title.font(), TITLE)
        font.setBold(True)
        self.title.setFont(font)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "drop"):
            self._colour()

    def _colour(self) -> None:
        colours = theme.of(self)
        self.drop.setStyleSheet(
            f"#dropArea {{ border: 2px dashed {colours.border.name()}; border-radius: 10px;"
            f" color: {colours.muted.name()}; background: {colours.base.name()}; }}"
        )
        self.subtitle.setStyleSheet(f"color: {colours.muted.name()};")
        self.recent.setStyleSheet(
            f"QListWidget {{ background: {colours.base.name()}; border: 1px solid {colours.border.name()};"
            " border-radius: 8px; padding: 2px; }"
            f" QListWidget:focus {{ border: 2px solid {colours.accent.name()}; padding: 1px; }}"
            " QListWidget::item { padding: 2px 8px; border-radius: 5px; }"
            f" QListWidget::item:selected {{ background: {colours.raised.name()}; color: {colours.text.name()}; }}"
            f" QListWidget::item:hover {{ background: {colours.raised.name()}; }}"
        )


def _parted(uri: str) -> tuple[str, str]:
    """Return a file's name and its folder."""
    if is_address(uri):
        return name_of(uri), uri
    found = Path(file_of(uri))
    home = str(Path.home())
    folder = str(found.parent)
    return name_of(uri), f"~{folder[len(home) :]}" if folder.startswith(home) else folder
