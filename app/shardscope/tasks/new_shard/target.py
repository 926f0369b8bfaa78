"""Target of a new shard: the fields for its path, a suggested path, and a check of what exists there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QRadioButton, QVBoxLayout, QWidget

from shardcore.dataclasses import dataclass
from shardcore.model.text import plural
from shardcore.shards.format import Format
from shardcore.sources.remote.address import is_address
from shardcore.writing.declaration import Writes
from shardscope.session.open_request import OpenRequest
from shardscope.tasks.form import side_button
from shardscope.tasks.new_shard.request import NewShardTarget
from shardscope.widgets import theme
from shardscope.widgets.file_dialogs import ask_folder, ask_target, path_of
from shardscope.widgets.layouts import keep_room, lay, made
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.tick_box import TickBox

MOST_LISTED = 100_000
"""Maximum number of entries counted in a folder."""


class TargetStatus(Enum):
    FREE = "free"
    FILE = "file"
    FOLDER = "folder"
    NOT_A_FILE = "not a file"
    NOT_A_FOLDER = "not a folder"
    NO_PLACE = "no place"
    INPUT = "input"


@dataclass(frozen=True, slots=True)
class TargetState:
    """State of a target on disk; `shards` is the number of shards in an existing folder."""

    status: TargetStatus
    shards: int = 0


def look(target: NewShardTarget, inputs: Iterable[str], members: tuple[str, ...]) -> TargetState:
    """Check what exists at a target; call it in a job. `members` are name patterns of the shards in a folder."""
    path = str(target.path)
    if not os.path.isdir(target.path.parent):  # noqa: PTH112 - Path.is_dir raises where looking is not allowed
        return TargetState(TargetStatus.NO_PLACE)
    if not os.path.lexists(path):
        return TargetState(TargetStatus.FREE)
    if any(_same(path, one) for one in inputs):
        return TargetState(TargetStatus.INPUT)
    if not os.path.isdir(path):  # noqa: PTH112
        return TargetState(TargetStatus.NOT_A_FOLDER if target.folder else TargetStatus.FILE)
    if not target.folder:
        return TargetState(TargetStatus.NOT_A_FILE)
    return TargetState(TargetStatus.FOLDER, _shards_in(path, members))


def free_path(target: NewShardTarget) -> Path:
    path = target.path
    stem, suffix = (path.name, "") if target.folder else (path.stem, path.suffix)
    numbered = (path.with_name(f"{stem}-{n}{suffix}") for n in range(2, MOST_LISTED))
    return path if not os.path.lexists(path) else next((p for p in numbered if not os.path.lexists(p)), path)


def suggested(inputs: tuple[str, ...], source: str, format: Format, *, folder: bool, home: str) -> Path:
    """Return a default target beside the input, with another name; in `home` if the source is remote."""
    local = inputs or ((source,) if source and not is_address(source) else ())
    if local:
        first = Path(local[0]).absolute()
        where, stem = OpenRequest(local[0]).folder, first.stem if len(local) == 1 else first.parent.name
    else:
        where, stem = Path(home), Path(source.rstrip("/")).stem
    stem = stem or "new"
    suffix = "" if folder else format.suffixes[0] if format.suffixes else ""
    name = f"{stem}{suffix}"
    if any(name == Path(one).name for one in (*inputs, source) if one):
        name = f"{stem}-{format.name}{suffix}"
    return where / name


def _same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)  # noqa: PTH121 - both are texts
    except (OSError, ValueError):
        return False


def _shards_in(folder: str, members: tuple[str, ...]) -> int:
    found = 0
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                found += any(fnmatchcase(entry.name, pattern) for pattern in members)
                if number >= MOST_LISTED:
                    break
    except OSError:
        return 0
    return found


WRONG = {
    TargetStatus.NOT_A_FILE: "This is a folder: choose “Folder of files”, or another name.",
    TargetStatus.NOT_A_FOLDER: "This is a file: choose “One file”, or another name.",
    TargetStatus.NO_PLACE: "The folder does not exist: choose another folder.",
    TargetStatus.INPUT: "This is the input: choose another name.",
}


class TargetView(QWidget):
    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._suggested = ""
        self._chosen: bool | None = None
        self._state = TargetState(TargetStatus.FREE)
        self.line = made(QLineEdit(self), "targetLine", accessibleName=self.tr("Target of the new shard"))
        browse = side_button(self.tr("&Browse…"), self._ask, "targetBrowse", self.tr("Choose the file or folder"))
        doc = self.tr("Everything in one shard")
        self.one = made(QRadioButton(self.tr("One f&ile"), self), toolTip=doc, checked=True)
        doc = self.tr("A data set: several files that share their keys")
        self.several = made(QRadioButton(self.tr("Fol&der of files"), self), toolTip=doc)
        self.state = plain_label("", "targetState")
        doc = self.tr("Replaced only when the new shard is complete")
        self.replace = made(TickBox(self.tr("Rep&lace it"), self), "replaceTick", toolTip=doc)
        keep_room(self.replace)
        path = lay(QHBoxLayout(), (self.line, 1), browse, spacing=8)
        ways = lay(QHBoxLayout(), self.one, self.several, 1, spacing=18)
        there = lay(QHBoxLayout(), self.state, self.replace, 1, spacing=14)
        lay(QVBoxLayout(self), path, ways, there, spacing=7)
        for button in (self.one, self.several):
            button.clicked.connect(lambda _: setattr(self, "_chosen", self.folder))
        for signal in (self.line.textChanged, self.several.toggled, self.replace.toggled):
            signal.connect(lambda _: self.changed.emit())
        self.set_state(self._state)

    @property
    def path(self) -> Path | None:
        text = self.line.text().strip().rstrip("/")
        return path_of(text) if text else None

    @property
    def folder(self) -> bool:
        return self.several.isChecked()

    @property
    def force(self) -> bool:
        return self.replace.isChecked() and self._state.status in (TargetStatus.FILE, TargetStatus.FOLDER)

    @property
    def problem(self) -> str:
        if self.path is None:
            return self.tr("Choose where to write the new shard.")
        if self._state.status is TargetStatus.FILE and not self.replace.isChecked():
            return self.tr("The file exists: choose another name, or tick Replace.")
        return self.tr(WRONG.get(self._state.status, ""))

    def offer(self, writes: Writes, *, folder: bool) -> None:
        """Enable *One file* and *Folder of files* as the format allows; `folder`: one file is not enough."""
        folder = folder or bool(self._chosen)
        with QSignalBlocker(self):
            self.one.setEnabled(writes.file)
            self.several.setEnabled(writes.folder)
            (self.several if (folder and writes.folder) or not writes.file else self.one).setChecked(True)

    def suggest(self, path: Path) -> None:
        if self.line.text() in ("", self._suggested):
            self._suggested = str(path)
            self.line.setText(self._suggested)
            self.line.setCursorPosition(len(self._suggested))

    def set_state(self, state: TargetState) -> None:
        status = state.status
        if status is not self._state.status:
            self.replace.setChecked(False)
        self._state = state
        words = {
            TargetStatus.FILE: "The file exists.",
            TargetStatus.FOLDER: f"The folder exists, with {plural(state.shards, 'file')} of the format.",
        }
        # A space keeps the height of the label.
        self.state.setText(words.get(status, WRONG.get(status, " ")))
        self.replace.setVisible(status is TargetStatus.FILE or (status is TargetStatus.FOLDER and state.shards > 0))
        self.replace.setText(self.tr("Rep&lace it") if status is TargetStatus.FILE else self.tr("Rep&lace them"))
        tone = "warning" if status is TargetStatus.FILE else "muted"
        theme.write_in(self.state, "error" if status in WRONG else tone)

    def _ask(self) -> None:
        title, path = self.tr("Target of the new shard"), self.path
        start, name = (str(path.parent), path.name) if path is not None else ("", "")
        if self.folder:
            ask_folder(self.window(), title, self.line.setText, start=start).selectFile(name)
        else:
            ask_target(self.window(), title, self.line.setText, start=start, name=name, confirms=False)
