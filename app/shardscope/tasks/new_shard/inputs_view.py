"""List of the inputs of a new shard, filled by drag and drop or a dialog."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QSizePolicy,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from shardcore.model.text import plural, size_text
from shardscope.tasks.new_shard.inputs import Input, InputCount
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_files, ask_folder
from shardscope.widgets.table import TableModel
from shardscope.widgets.tick_box import TickBox

Index = QModelIndex | QPersistentModelIndex

_ROWS = 4


class InputModel(TableModel):
    titles = ("Name", "Type", "Size")
    numbers = (2,)
    things: list[str]

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.things = []
        self._counted: dict[str, Input] = {}

    def show_count(self, counted: InputCount) -> None:
        self._counted = {one.path: one for one in counted.inputs}
        self.change()

    def text(self, row: int, column: int) -> str:
        path = self.things[row]
        if column == 0:
            return Path(path).name or path
        found = self._counted.get(path)
        if found is None:
            return "…"
        return found.text if column == 1 else size_text(found.size)

    def tip(self, row: int, column: int) -> str:
        return self.things[row]


class InputList(QTreeView):
    removed = Signal()

    def __init__(self, model: InputModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("contentsList")
        self.setAccessibleName(self.tr("Files and folders to pack"))
        self.setModel(model)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)
        header = self.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        digit = self.fontMetrics().horizontalAdvance("0")
        header.resizeSection(1, digit * 27)
        header.resizeSection(2, digit * 11)
        self.setFixedHeight((_ROWS + 1) * (self.fontMetrics().height() + 5) + 16)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Delete) or event.key() == Qt.Key.Key_Backspace:
            self.removed.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.model().rowCount():
            return
        painter = QPainter(self.viewport())
        painter.setPen(theme.of(self).muted)
        words = self.tr("Drop files, folders or a manifest (keys of files) here")
        place = self.viewport().rect().adjusted(16, 8, -16, -8)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignCenter) | int(Qt.TextFlag.TextWordWrap), words)
        painter.end()


class ContentsView(QWidget):
    changed = Signal()

    def __init__(self, paths: list[str], folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._inside: dict[str, str] = {}
        self.model = InputModel(self)
        self.list = InputList(self.model, self)
        self.total = Elided(greedy=True, parent=self)
        self.total.setObjectName("contentsTotal")
        self.total.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.files = self._button(self.tr("Add &files…"), "addFiles", self.tr("Files to pack, or a manifest"))
        self.add_folder = self._button(self.tr("Add f&older…"), "addFolder", self.tr("A folder, with its subfolders"))
        self.remove = self._button(
            self.tr("&Remove"), "removeInputs", self.tr("Remove the selected inputs from the list")
        )
        self.use = self._button(
            self.tr("Use its &manifest"), "useManifest", self.tr("Keys and metadata recorded when extracting")
        )
        self.use.clicked.connect(self.use_manifests)
        self.use.hide()
        self.files.clicked.connect(lambda: self._ask(folder=False))
        self.add_folder.clicked.connect(lambda: self._ask(folder=True))
        self.remove.clicked.connect(self.take_away)
        self.list.removed.connect(self.take_away)
        self.list.selectionModel().selectionChanged.connect(lambda *_: self._update())
        row = QHBoxLayout()
        row.setSpacing(8)
        for button in (self.files, self.add_folder, self.remove, self.use):
            row.addWidget(button)
        row.addStretch(1)
        self.skip = self._check(
            self.tr("S&kip unreadable"),
            "skipUnreadable",
            self.tr("Skips files that cannot be read, or whose names the format cannot store"),
        )
        self.report = self._check(
            self.tr("Write repor&t"),
            "writeReport",
            self.tr("Writes the key of every input to NAME.report.json beside the shard"),
        )
        checks = QHBoxLayout()
        checks.setSpacing(16)
        checks.addWidget(self.skip)
        checks.addWidget(self.report)
        checks.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(7)
        column.addWidget(self.list)
        column.addLayout(row)
        column.addLayout(checks)
        self.model.show_things(list(dict.fromkeys(paths)))
        self._update()

    def _button(self, words: str, name: str, doc: str) -> QPushButton:
        button = QPushButton(words, self)
        button.setObjectName(name)
        button.setAutoDefault(False)
        button.setToolTip(doc)
        return button

    def _check(self, words: str, name: str, doc: str) -> TickBox:
        check = TickBox(words, self)
        check.setObjectName(name)
        check.setToolTip(doc)
        check.toggled.connect(lambda _: self.changed.emit())
        return check

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.model.things)

    def add(self, paths: list[str]) -> None:
        both = list(dict.fromkeys([*self.model.things, *paths]))
        if both != self.model.things:
            self.model.show_things(both)
            self._update()
            self.changed.emit()

    def take_away(self) -> None:
        rows = {index.row() for index in self.list.selectionModel().selectedRows()}
        if rows:
            self.model.show_things([path for row, path in enumerate(self.model.things) if row not in rows])
            self._update()
            self.changed.emit()

    def use_manifests(self) -> None:
        self.model.show_things([self._inside.get(path, path) for path in self.model.things])
        self._update()
        self.changed.emit()

    def show_count(self, counted: InputCount) -> None:
        self.model.show_count(counted)
        self._inside = {one.path: one.manifest for one in counted.inputs if one.manifest}
        self.use.setVisible(bool(self._inside))
        if counted.inputs:
            self.total.set_text(f"{plural(counted.count, 'file')} · {plural(counted.size, 'byte')}")

    def show_busy(self, files: int) -> None:
        self.total.set_text(self.tr("Counting … {0}").format(plural(files, "file")))

    def _update(self) -> None:
        self.remove.setEnabled(self.list.selectionModel().hasSelection())
        if not self.model.things:
            self.total.set_text("")

    def _ask(self, *, folder: bool) -> None:
        title = self.tr("Add to the new shard")
        if folder:
            ask_folder(self.window(), title, lambda path: self.add([path]), start=self._folder)
        else:
            ask_files(self.window(), title, self.add, start=self._folder)
