"""Dialog that finds the files of a folder in which a key is stored."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from pathlib import Path

from PySide6.QtCore import QModelIndex, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QProgressBar,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled, KeyHit, find_in
from shardcore.model.text import grouped_digits, plural
from shardcore.sources.remote.address import is_address
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.open_request import OpenRequest
from shardscope.session.selection import main_span
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.widgets import playback, theme
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_folder, folder_box
from shardscope.widgets.table import ColumnRule, TableModel, row_table

MOST_HITS = 10_000
"""Maximum number of files listed."""


class KeyHitModel(TableModel):
    titles = ("File", "Format", "Size", "Shard, error")
    numbers = (2,)

    def __init__(self, top: str = "") -> None:
        super().__init__()
        self.things: list[KeyHit] = []
        self._top = top

    def begin(self, top: str) -> None:
        self._top = top
        self.show_things([])

    def add(self, hits: list[KeyHit]) -> None:
        hits = hits[: MOST_HITS - len(self.things)]
        if hits:
            first = len(self.things)
            self.beginInsertRows(QModelIndex(), first, first + len(hits) - 1)
            self.things += hits
            self.endInsertRows()

    def text(self, row: int, column: int) -> str:
        hit = self.things[row]
        if column == 0:
            name = hit.path.removeprefix(self._top.rstrip("/") + "/") if self._top else hit.path
            return f"✖ {name}" if hit.error is not None else name
        if hit.ref is None:
            return error_text(hit.error) if column == 3 and hit.error is not None else ""
        size = grouped_digits(hit.ref.size) if hit.ref.size >= 0 else ""
        return (hit.format, size, hit.ref.shard)[column - 1]

    def tip(self, row: int, column: int) -> str:
        hit = self.things[row]
        return error_text(hit.error) if hit.error is not None else hit.path if not column else self.text(row, column)


class FindKeyDialog(QDialog):
    wanted = Signal(str, str)
    cancelled = Signal()
    chosen = Signal(object)

    def __init__(self, key: str, folders: list[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findKeyDialog")
        self.setWindowTitle(self.tr("Find key in folder"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.running = False
        self.key = QLineEdit(key, self)
        self.key.setObjectName("findKey")
        self.key.setFont(theme.fixed_font())
        self.key.setPlaceholderText(self.tr("Key, as text"))
        self.key.setAccessibleName(self.tr("Key"))
        self.where = folder_box(self, folders, characters=30)
        self.where.setObjectName("findKeyFolder")
        self.where.setAccessibleName(self.tr("Folder"))
        self.browse = QPushButton(self.tr("&Browse…"), self)
        self.browse.setAutoDefault(False)
        self.browse.clicked.connect(self._browse)
        self.progress = QProgressBar(self)
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(8)
        self.progress.setAccessibleName(self.tr("Progress of the search"))
        self.progress.setRange(0, 1)
        self.state = Elided(greedy=True, parent=self)
        self.state.setObjectName("findKeyState")
        self.model = KeyHitModel()
        self.table = self._make_table()
        self.buttons = QDialogButtonBox(self)
        self.start = QPushButton(self.tr("&Find"), self)
        self.start.setObjectName("findKeyStart")
        # Return opens the current row, so no button may be the default.
        self.start.setAutoDefault(False)
        self.open_button = self.buttons.addButton(self.tr("&Open"), QDialogButtonBox.ButtonRole.ActionRole)
        self.open_button.setAutoDefault(False)
        self.open_button.clicked.connect(lambda _: self._activated(self.table.currentIndex()))
        close = self.buttons.addButton(QDialogButtonBox.StandardButton.Close)
        close.setAutoDefault(False)
        close.setShortcut(QKeySequence(Qt.Key.Key_Escape))
        self.buttons.rejected.connect(self.reject)
        self.start.clicked.connect(lambda _: self._start())
        self.key.returnPressed.connect(self._start_typed)
        if (line := self.where.lineEdit()) is not None:
            line.returnPressed.connect(self._start_typed)
        self.key.textChanged.connect(lambda _: self._enable())
        self.where.editTextChanged.connect(lambda _: self._enable())
        self._lay_out()
        self._enable()
        self.resize(QSize(760, 460))
        self.key.setFocus(Qt.FocusReason.OtherFocusReason)

    def _make_table(self) -> QTableView:
        rules = (ColumnRule(260), ColumnRule(), ColumnRule(), ColumnRule(120))
        table = row_table(self, self.model, rules, 0, lambda *_: None, self._open_menu)
        table.setObjectName("findKeyHits")
        table.setAccessibleName(self.tr("Files with the key"))
        table.activated.connect(self._activated)
        table.selectionModel().selectionChanged.connect(lambda *_: self._enable())
        return table

    def _lay_out(self) -> None:
        form = QGridLayout()
        form.setHorizontalSpacing(10)
        for row, (text, field) in enumerate(((self.tr("&Key:"), self.key), (self.tr("Fol&der:"), self.where))):
            label = QLabel(text, self)
            label.setBuddy(field)
            form.addWidget(label, row, 0)
            form.addWidget(field, row, 1)
        form.addWidget(self.start, 0, 2)
        form.addWidget(self.browse, 1, 2)
        form.setColumnStretch(1, 1)
        below = QHBoxLayout()
        below.addWidget(self.state, 1)
        below.addWidget(self.buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(10)
        column.addLayout(form)
        column.addWidget(self.progress)
        column.addWidget(self.table, 1)
        column.addLayout(below)

    # --- what is shown ---

    def show_started(self, top: str) -> None:
        self.running = True
        self.model.begin(top)
        self.progress.setRange(0, int(playback.reduced()))
        self.state.set_text(self.tr("Searching …"))
        self._enable()

    def show_progress(self, done: int, total: int) -> None:
        if self.running and total > 0:
            self.progress.setRange(0, total)
            self.progress.setValue(done)
            self.state.set_text(self.tr("{0} of {1} searched").format(f"{done:,}", plural(total, "file")))

    def show_ended(self, text: str) -> None:
        self.running = False
        self.progress.setRange(0, 1)
        self.progress.setValue(0)
        self.state.set_text(text)
        self._enable()

    def _enable(self) -> None:
        ready = bool(self.key.text().strip() and self.where.currentText().strip())
        self.start.setText(self.tr("&Cancel") if self.running else self.tr("&Find"))
        self.start.setEnabled(self.running or ready)
        row = self.table.currentIndex().row() if self.table.currentIndex().isValid() else -1
        self.open_button.setEnabled(0 <= row < len(self.model.things))

    # --- what is done ---

    def _start(self) -> None:
        if self.running:
            self.cancelled.emit()
        else:
            self.wanted.emit(self.key.text().strip(), self.where.currentText().strip())

    def _start_typed(self) -> None:
        if self.start.isEnabled() and not self.running:
            self._start()

    def _browse(self) -> None:
        title, start = self.tr("Choose the folder to search"), self.where.currentText()
        ask_folder(self, title, self.where.setEditText, start=start).setObjectName("findKeyBrowse")

    def _activated(self, index: QModelIndex) -> None:
        if index.isValid() and index.row() < len(self.model.things):
            self.chosen.emit(self.model.things[index.row()])

    def _open_menu(self, place: QPoint) -> None:
        index = self.table.indexAt(place)
        if index.isValid():
            self.menu_of(self.model.things[index.row()]).popup(self.table.viewport().mapToGlobal(place))

    def menu_of(self, hit: KeyHit) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("&Open"), lambda: self.chosen.emit(hit))
        menu.addSeparator()
        menu.addAction(self.tr("&Copy path"), lambda: copy_text(hit.path))
        return menu


class FindKeyTask(QObject):
    """Shows the dialog and searches in a lasting job; hits are listed while it runs."""

    def __init__(self, session: Session, settings: Settings, window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._settings = settings
        self._window = window
        self._found: deque[KeyHit] = deque()
        self._job: Job | None = None
        self.dialog: FindKeyDialog | None = None
        session.jobs.changed.connect(self._progressed)

    def ask(self) -> FindKeyDialog:
        if self.dialog is None:
            dialog = self.dialog = FindKeyDialog(self._key, self._folders, self._window)
            dialog.wanted.connect(self.search)
            dialog.cancelled.connect(self._cancel)
            dialog.chosen.connect(self._open)
            dialog.finished.connect(lambda _: self._closed())
            dialog.show()
        # Some desktops do not give the keyboard to a new window.
        self.dialog.raise_()
        self.dialog.activateWindow()
        return self.dialog

    @property
    def _key(self) -> str:
        ref = self._session.selection.ref
        return (ref.key if ref is not None and ref.key else self._session.walk.key) or ""

    @property
    def _folders(self) -> list[str]:
        request = self._session.request
        open_one = [] if not request.uri or request.is_remote else [str(Path(request.uri).absolute().parent)]
        return list(dict.fromkeys([*open_one, *self._settings.searched_folders]))

    def search(self, key: str, where: str) -> Job | None:
        dialog = self.dialog
        if dialog is None:
            return None
        remote = self._session.reach(where) if is_address(where) else None
        self._settings.add_searched_folder(where)
        found: deque[KeyHit] = deque()
        self._found = found
        dialog.show_started(where)

        def work(job: Job) -> tuple[int, int]:
            with closing(find_in(key, [where], progress=job.progress, isolated=True, remote=remote)) as search:
                for hit in search:
                    found.append(hit)
                return search.searched, search.failed

        def done(result: tuple[int, int] | None, error: BaseException | None) -> None:
            if self._found is found:
                self._drain()
                self._show_result(result, error)

        self._cancel()
        self._job = self._session.jobs.submit(
            work,
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
            title=self.tr("Find key in folder"),
            lasting=True,
            done=done,
        )
        return self._job

    def _show_result(self, result: tuple[int, int] | None, error: BaseException | None) -> None:
        dialog = self.dialog
        if dialog is None:
            return
        listed = len(dialog.model.things)
        if isinstance(error, Cancelled):
            dialog.show_ended(self.tr("Cancelled"))
        elif error is not None:
            dialog.show_ended(error_text(error))
        elif result is not None:
            holds = sum(hit.error is None for hit in dialog.model.things)
            searched = self.tr("{0} searched").format(plural(result[0], "file"))
            failed = self.tr(", {0} not readable").format(f"{result[1]:,}") if result[1] else ""
            text = self.tr("Found in {0}").format(plural(holds, "file")) if holds else self.tr("Not found")
            more = self.tr(", the first {0} are listed").format(f"{MOST_HITS:,}") if listed >= MOST_HITS else ""
            dialog.show_ended(f"{text} ({searched}{failed}){more}")

    def _progressed(self, job: Job) -> None:
        if self.dialog is not None and job is self._job and not job.state.ended:
            self._drain()
            self.dialog.show_progress(job.done_amount, job.total_amount)

    def _drain(self) -> None:
        hits: list[KeyHit] = []
        while self._found:
            hits.append(self._found.popleft())
        if self.dialog is not None and hits:
            self.dialog.model.add(hits)

    def _open(self, hit: KeyHit) -> None:
        span = main_span(hit.ref) if hit.ref is not None else None
        self._session.tab_wanted.emit(OpenRequest(hit.path, remote=self._session.reach(hit.path)), span)

    def _cancel(self) -> None:
        # Keep the job itself, not a job key: keys are unique within a document, but the search belongs to none.
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _closed(self) -> None:
        self.dialog = None
        self._cancel()
