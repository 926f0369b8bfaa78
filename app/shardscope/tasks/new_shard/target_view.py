"""Fields for the target of a new shard: file or folder, and what exists there already."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from shardcore.model.text import plural
from shardcore.writing.declaration import Writes
from shardscope.tasks.new_shard.target import TargetState, TargetStatus
from shardscope.widgets import theme
from shardscope.widgets.file_dialogs import ask_folder, ask_target
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.tick_box import TickBox

WRONG = {
    TargetStatus.NOT_A_FILE: "This is a folder: choose “Folder of files”, or another name.",
    TargetStatus.NOT_A_FOLDER: "This is a file: choose “One file”, or another name.",
    TargetStatus.NO_PLACE: "The folder does not exist: choose another place.",
    TargetStatus.INPUT: "This is the input: choose another name.",
}


class TargetView(QWidget):
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._suggested = ""
        self._chosen: bool | None = None
        self._place = TargetState(TargetStatus.FREE)
        self.line = QLineEdit(self)
        self.line.setObjectName("targetLine")
        self.line.setAccessibleName(self.tr("Target of the new shard"))
        self.browse = QPushButton(self.tr("&Browse…"), self)
        self.browse.setObjectName("targetBrowse")
        self.browse.setAutoDefault(False)
        self.browse.setToolTip(self.tr("Choose the file or folder"))
        self.one = QRadioButton(self.tr("One f&ile"), self)
        self.several = QRadioButton(self.tr("Fol&der of files"), self)
        self.one.setToolTip(self.tr("Everything in one shard"))
        self.several.setToolTip(self.tr("A data set: several files that share their keys"))
        group = QButtonGroup(self)
        group.addButton(self.one)
        group.addButton(self.several)
        self.one.setChecked(True)
        self.state = plain_label("", "targetState")
        self.replace = TickBox(self.tr("Rep&lace it"), self)
        self.replace.setObjectName("replaceTick")
        self.replace.setToolTip(self.tr("Replaced only when the new shard is complete"))
        self._lay_out()
        self.line.textChanged.connect(lambda _: self.changed.emit())
        self.several.toggled.connect(lambda _: self.changed.emit())
        for button in (self.one, self.several):
            button.clicked.connect(self._choose)
        self.replace.toggled.connect(lambda _: self.changed.emit())
        self.browse.clicked.connect(self._ask)
        self.set_target(self._place)

    def _lay_out(self) -> None:
        place = QHBoxLayout()
        place.setSpacing(8)
        place.addWidget(self.line, 1)
        place.addWidget(self.browse)
        row = QHBoxLayout()
        row.setSpacing(18)
        row.addWidget(self.one)
        row.addWidget(self.several)
        row.addStretch(1)
        state = QHBoxLayout()
        state.setSpacing(14)
        state.addWidget(self.state)
        state.addWidget(self.replace)
        state.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(7)
        column.addLayout(place)
        column.addLayout(row)
        column.addLayout(state)
        self.state.setMinimumHeight(self.replace.sizeHint().height())

    @property
    def path(self) -> Path | None:
        text = self.line.text().strip().rstrip("/")
        if not text:
            return None
        try:
            return Path(text).expanduser().absolute()
        except RuntimeError:
            # `~name` of an unknown user.
            return Path(text).absolute()

    @property
    def folder(self) -> bool:
        return self.several.isChecked()

    @property
    def force(self) -> bool:
        return self.replace.isChecked() and self._place.status in (TargetStatus.FILE, TargetStatus.FOLDER)

    @property
    def problem(self) -> str:
        if self.path is None:
            return self.tr("Choose where to write the new shard.")
        if self._place.status is TargetStatus.FILE and not self.replace.isChecked():
            return self.tr("The file exists: choose another name, or tick Replace.")
        return self.tr(WRONG.get(self._place.status, ""))

    def offer(self, writes: Writes, *, folder: bool) -> None:
        """Enable file and folder as the format allows; `folder`: the contents need a folder of files."""
        folder = folder or bool(self._chosen)
        self.blockSignals(True)
        self.one.setEnabled(writes.file)
        self.several.setEnabled(writes.folder)
        chosen = self.several if (folder and writes.folder) or not writes.file else self.one
        chosen.setChecked(True)
        self.blockSignals(False)

    def suggest(self, path: Path) -> None:
        if self.line.text() in ("", self._suggested):
            self._suggested = str(path)
            self.line.setText(self._suggested)
            self.line.setCursorPosition(len(self._suggested))

    def set_target(self, place: TargetState) -> None:
        if place.status is not self._place.status:
            self.replace.setChecked(False)
        self._place = place
        status = place.status
        words = {
            TargetStatus.FREE: "",
            TargetStatus.FILE: "The file exists.",
            TargetStatus.FOLDER: f"The folder exists, with {plural(place.shards, 'file')} of the format.",
        }
        self.state.setText(words.get(status, WRONG.get(status, "")))
        self.replace.setVisible(status is TargetStatus.FILE or (status is TargetStatus.FOLDER and place.shards > 0))
        self.replace.setText(self.tr("Rep&lace it") if status is TargetStatus.FILE else self.tr("Rep&lace them"))
        colours = theme.of(self)
        wrong = status in WRONG
        tone = colours.error if wrong else colours.warning if status is TargetStatus.FILE else colours.muted
        self.state.setStyleSheet(f"color: {tone.name()};")

    def _choose(self) -> None:
        self._chosen = self.several.isChecked()

    def _ask(self) -> None:
        title, path = self.tr("Target of the new shard"), self.path
        start, name = (str(path.parent), path.name) if path is not None else ("", "")
        if self.folder:
            ask_folder(self.window(), title, self.line.setText, start=start).selectFile(name)
        else:
            ask_target(self.window(), title, self.line.setText, start=start, name=name, confirms=False)
