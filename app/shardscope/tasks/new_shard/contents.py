"""Contents of a new shard: the list of files, folders and a manifest, and the job that counts them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from enum import Enum
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from shardcore import ShardError
from shardcore.dataclasses import dataclass
from shardcore.model.text import plural, size_text
from shardcore.operations.description import Pack
from shardcore.progress import Progress
from shardscope.tasks.form import side_button, switch
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_files, ask_folder
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.table import RIGHT, Column, RowTable, TableModel
from shardscope.widgets.tick_box import TickBox

MANIFEST_ENDING = ".jsonl"
MANIFEST_NAME = "manifest.json"

REPORT_EVERY = 256
"""Number of manifest lines between two progress reports."""


class InputKind(Enum):
    FILE = "file"
    FOLDER = "folder"
    MANIFEST = "manifest"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Input:
    """One input; `count` is the number of its files, or of the objects of a manifest, and `size` their bytes."""

    path: str
    kind: InputKind
    count: int = 0
    size: int = 0
    problem: str = ""
    manifest: str = ""

    @property
    def text(self) -> str:
        if self.problem:
            return self.problem
        match self.kind:
            case InputKind.FOLDER:
                more = " with a manifest" if self.manifest else ""
                return f"folder, {plural(self.count, 'file')}{more}"
            case InputKind.MANIFEST:
                return f"manifest, {plural(self.count, 'object')}"
            case _:
                return "file"


@dataclass(frozen=True, slots=True)
class InputCount:
    inputs: tuple[Input, ...] = ()

    @property
    def count(self) -> int:
        return sum(one.count for one in self.inputs)

    @property
    def size(self) -> int:
        return sum(one.size for one in self.inputs)

    @property
    def manifests(self) -> tuple[str, ...]:
        return tuple(one.path for one in self.inputs if one.kind is InputKind.MANIFEST)

    @property
    def plain(self) -> tuple[str, ...]:
        return tuple(one.path for one in self.inputs if one.kind is not InputKind.MANIFEST)

    def problem(self, *, skip: bool = False) -> str:
        """Return why the inputs cannot be packed, else an empty string; with `skip`, ignore unreadable inputs."""
        wrong = next((one for one in self.inputs if one.problem), None)
        if wrong is not None and not skip:
            return f"{wrong.path}: {wrong.problem}"
        if len(self.manifests) > 1:
            return f"only one manifest is possible: remove {Path(self.manifests[1]).name}"
        return ""


def count(paths: Iterable[str], progress: Progress) -> InputCount:
    """Count the inputs; reads file sizes and manifests, so call it in a job."""
    found: list[Input] = []
    for path in paths:
        found.append(_looked_at(path, sum(one.count for one in found), progress))
    return InputCount(tuple(found))


def _looked_at(path: str, before: int, progress: Progress) -> Input:
    from shardcore.writing.inputs import input_files

    kind = InputKind.FOLDER if os.path.isdir(path) else InputKind.FILE  # noqa: PTH112 - Path.is_dir raises
    if kind is InputKind.FILE and not os.path.exists(path):  # noqa: PTH110
        return Input(path, InputKind.MISSING, problem="not found")
    name = Path(path).name.lower()
    is_named_so = name.endswith(MANIFEST_ENDING) or name == MANIFEST_NAME
    if kind is InputKind.FILE and is_named_so and _is_manifest(path):
        return _manifest(path, before, progress)
    files = size = 0
    try:
        for file, _ in input_files([path]):
            progress(before + files, 0)
            size += file.stat().st_size
            files += 1
    except (ShardError, OSError) as error:
        return Input(path, kind, files, size, str(error))
    inside = str(Path(path) / MANIFEST_NAME) if kind is InputKind.FOLDER else ""
    return Input(path, kind, files, size, manifest=inside if inside and _is_manifest(inside) else "")


def _is_manifest(path: str) -> bool:
    from shardcore.writing.manifest import ManifestReader

    with suppress(ShardError), closing(ManifestReader(path, (), "")) as manifest:
        return manifest.is_one
    return False


def _manifest(path: str, before: int, progress: Progress) -> Input:
    from shardcore.writing.manifest import ManifestReader

    objects = size = 0
    problem = ""
    try:
        with closing(ManifestReader(path, (), "")) as manifest:
            for file in manifest.paths():
                if objects % REPORT_EVERY == 0:
                    progress(before + objects, 0)
                objects += 1
                try:
                    size += os.stat(file).st_size  # noqa: PTH116
                except (OSError, ValueError):
                    problem = f"{Path(file).name} not found"
                    break
    except ShardError as error:
        problem = error.message
    return Input(path, InputKind.MANIFEST, objects, size, problem)


_ROWS = 4


class InputModel(TableModel):
    things: list[str]

    def __init__(self, parent: QObject) -> None:
        self.counted: dict[str, Input] = {}
        columns = (
            Column("Name", lambda path: Path(path).name or path, 60, tip=str, stretched=True),
            Column("Type", lambda path: self._of(path, lambda found: found.text), 120),
            Column("Size", lambda path: self._of(path, lambda found: size_text(found.size)), number=True, tip=str),
        )
        super().__init__(parent, columns)

    def _of(self, path: str, words: Callable[[Input], str]) -> str:
        found = self.counted.get(path)
        return "…" if found is None else words(found)


class InputList(RowTable):
    removed = Signal()

    def __init__(self, model: InputModel, parent: QWidget) -> None:
        super().__init__(model, parent, "contentsList", "")
        made(self, accessibleName=self.tr("Files and folders to pack"), tabKeyNavigation=False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 5)
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


class ContentsView(QWidget):
    """List of the inputs with its buttons and tick boxes; emits `changed` when inputs or ticks change."""

    changed = Signal()

    def __init__(self, paths: Iterable[str], folder: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._folder = folder
        self._inside: dict[str, str] = {}
        self.model = InputModel(self)
        self.list = made(InputList(self.model, self), removed=self.take_away)
        self.total = made(Elided(greedy=True, parent=self), "contentsTotal", alignment=RIGHT)
        buttons = [
            side_button(self.tr(words), slot, name, self.tr(doc))
            for name, words, doc, slot in (
                ("addFiles", "Add &files…", "Files to pack, or a manifest", self._ask_files),
                ("addFolder", "Add f&older…", "A folder, with its subfolders", self._ask_folder),
                ("removeInputs", "&Remove", "Remove the selected inputs from the list", self.take_away),
                ("useManifest", "Use its &manifest", "Take keys and metadata from the manifest", self.use_manifests),
            )
        ]
        *_, self.remove, self.use = buttons
        self.use.hide()
        skip = switch(Pack, "skip_unreadable", "k")
        self.skip = skip.box
        self.skip.setObjectName("skipUnreadable")
        doc = self.tr("Writes the key of every input to NAME.report.json beside the shard")
        self.report = made(TickBox(self.tr("Write repor&t"), self), "writeReport", toolTip=doc)
        for tick in (self.skip, self.report):
            tick.toggled.connect(lambda _: self.changed.emit())
        ticks = lay(QHBoxLayout(), skip, self.report, 1, spacing=16)
        lay(QVBoxLayout(self), self.list, lay(QHBoxLayout(), *buttons, 1, spacing=8), ticks, spacing=7)
        self.list.selectionModel().selectionChanged.connect(lambda *_: self._update())
        self.model.show_things(list(dict.fromkeys(paths)))
        self._update()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.model.things)

    def add(self, paths: Iterable[str]) -> None:
        self._set([*self.model.things, *paths])

    def take_away(self) -> None:
        rows = {index.row() for index in self.list.selectionModel().selectedRows()}
        self._set([path for row, path in enumerate(self.model.things) if row not in rows])

    def use_manifests(self) -> None:
        self._set([self._inside.get(path, path) for path in self.model.things])

    def _set(self, paths: list[str]) -> None:
        paths = list(dict.fromkeys(paths))
        if paths != self.model.things:
            self.model.show_things(paths)
            self._update()
            self.changed.emit()

    def show_count(self, counted: InputCount) -> None:
        self.model.counted = {one.path: one for one in counted.inputs}
        self.model.change()
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

    def _ask_files(self) -> None:
        ask_files(self.window(), self.tr("Add to the new shard"), self.add, start=self._folder)

    def _ask_folder(self) -> None:
        title = self.tr("Add to the new shard")
        ask_folder(self.window(), title, lambda path: self.add([path]), start=self._folder)
