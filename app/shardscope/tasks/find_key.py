"""Dialog that finds the files of a folder in which a key is stored."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, QSize
from PySide6.QtWidgets import QDialogButtonBox, QLayout, QLineEdit, QMenu, QWidget

from shardcore import Cancelled, KeyHit, find_in
from shardcore.model.text import grouped_digits, plural
from shardcore.sources.remote.address import is_address
from shardscope.session.display_text import error_text, pace_text
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.open_request import OpenRequest
from shardscope.session.selection import main_span
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.form import FieldForm, FolderBox, side_button
from shardscope.tasks.task_dialog import Task, TaskDialog, thin_progress
from shardscope.widgets import playback, theme
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.layouts import made
from shardscope.widgets.table import Column, RowTable, TableModel, context_menu

MOST_HITS = 10_000


class KeyHitModel(TableModel):
    """Files with the key, and files that cannot be read. Names are shown relative to the searched folder, `top`."""

    things: list[KeyHit]

    def __init__(self) -> None:
        self.top = ""
        columns = (
            Column("File", self._name, 260, tip=lambda hit: _error(hit) or hit.path, stretched=True),
            Column("Format", lambda hit: hit.format if hit.ref is not None else "", tip=_error),
            Column("Size", _size, number=True, tip=_error),
            Column("Shard, error", lambda hit: hit.ref.shard if hit.ref is not None else _error(hit), 120),
        )
        super().__init__(columns=columns)
        self.things = []

    def add(self, hits: list[KeyHit]) -> None:
        hits = hits[: MOST_HITS - len(self.things)]
        if hits:
            first = len(self.things)
            self.beginInsertRows(QModelIndex(), first, first + len(hits) - 1)
            self.things += hits
            self.endInsertRows()

    def _name(self, hit: KeyHit) -> str:
        return f"{'✖ ' if hit.error is not None else ''}{hit.path.removeprefix(self.top.rstrip('/') + '/')}"


def _size(hit: KeyHit) -> str:
    return grouped_digits(hit.ref.size) if hit.ref is not None and hit.ref.size >= 0 else ""


def _error(hit: KeyHit) -> str:
    return error_text(hit.error) if hit.error is not None else ""


class FindKeyDialog(TaskDialog):
    name = "findKeyDialog"
    words = "Find key in folder"
    modal = of_file = False

    def __init__(self, session: Session, settings: Settings, window: QWidget) -> None:
        super().__init__(session, window)
        self._settings = settings
        self._job: Job | None = None
        self._found: deque[KeyHit] = deque()
        ref, request = session.selection.ref, session.request
        key = (ref.key if ref is not None and ref.key else session.lookup.walk.key) or ""
        hint, mono = self.tr("Key, as text"), theme.fixed_font()
        self.key = made(QLineEdit(key, self), "findKey", placeholderText=hint, font=mono)
        here = [] if not request.uri or request.is_remote else [str(Path(request.uri).absolute().parent)]
        folders = list(dict.fromkeys([*here, *settings.searched_folders]))
        self.where = made(FolderBox(folders, self.tr("Choose the folder to search"), characters=30), "findKeyFolder")
        # Return opens the current row, so no button is the default.
        self.start = side_button(self.tr("&Find"), self._start, "findKeyStart")
        self.progress = thin_progress(self.tr("Progress of the search"))
        self.model = KeyHitModel()
        self.table = RowTable(self.model, self, "findKeyHits", self.tr("Files with the key"), menu=self._menu)
        self.table.activated.connect(self._open)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self.refresh())
        self.open_button = self.add_button(self.tr("&Open"), lambda: self._open(self.table.currentIndex()))
        self.hide_button = self.add_button(self.tr("Run in &background"), self.run_in_background)
        self.add_close(QDialogButtonBox.StandardButton.Close)
        form = FieldForm()
        form.add(self.tr("&Key"), self.key, self.start)
        form.add(self.tr("Fol&der"), self.where, self.where.browse)
        parts: list[QWidget | QLayout] = [form, self.progress, self.table]
        self.lay_out(parts, "findKeyArea", self.tr("Search and files"), tall=self.table, beside=True)
        for line in (self.key, self.where.line):
            line.returnPressed.connect(self._start_typed)
            line.textChanged.connect(lambda _: self.refresh())
        session.jobs.changed.connect(self._progressed)
        self.refresh()
        self.resize(QSize(760, 460))

    # --- values of the form ---

    @property
    def searching(self) -> bool:
        return self._job is not None

    def refresh(self) -> None:
        ready = bool(self.key.text().strip() and self.where.text)
        self.start.setText(self.tr("&Cancel") if self.searching else self.tr("&Find"))
        self.start.setEnabled(self.searching or ready)
        self.hide_button.setVisible(self.searching)
        self.open_button.setEnabled(self.table.currentIndex().isValid())

    # --- search ---

    def _start_typed(self) -> None:
        if self.start.isEnabled() and not self.searching:
            self._start()

    def _start(self) -> None:
        if self._job is not None:
            self._job.cancel()
            return
        key, where = self.key.text().strip(), self.where.text
        remote = self.session.documents.reach(where) if is_address(where) else None
        self._settings.add_searched_folder(where)
        self.model.top = where
        self.model.show_things([])
        self.progress.setRange(0, int(playback.reduced()))
        self.show_message(self.tr("Searching …"))

        def work(job: Job) -> tuple[int, int]:
            with closing(find_in(key, [where], progress=job.progress, isolated=True, remote=remote)) as search:
                for hit in search:
                    self._found.append(hit)
                return search.searched, search.failed

        self._job = job = self.session.jobs.submit(
            work,
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
            title=self.tr("Find key in folder"),
            # The search does not depend on the open file.
            lasting=True,
            done=self._ended,
        )
        job.unit = "file"
        self.show_in_activity(job)
        self.refresh()

    def _ended(self, result: tuple[int, int] | None, error: BaseException | None) -> None:
        job, self._job = self._job, None
        self._drain()
        self.progress.setRange(0, 1)
        self.progress.setValue(0)
        if isinstance(error, Cancelled):
            self.show_message(self.tr("Cancelled"))
        elif error is not None:
            self.show_message(error_text(error), "error")
        elif result is not None:
            self.show_message(self._summary(*result))
        if job is not None:
            job.note = self.message.text
        if not self.isVisible():
            self.session.say(self.message.text, failed=error is not None)
        self.refresh()

    def _summary(self, searched: int, failed: int) -> str:
        holds = sum(hit.error is None for hit in self.model.things)
        words = self.tr("{0} searched").format(plural(searched, "file"))
        words += self.tr(", {0} not readable").format(f"{failed:,}") if failed else ""
        text = self.tr("Found in {0}").format(plural(holds, "file")) if holds else self.tr("Not found")
        cut = len(self.model.things) >= MOST_HITS
        more = self.tr(", the first {0} are listed").format(f"{MOST_HITS:,}") if cut else ""
        return f"{text} ({words}){more}"

    def _progressed(self, job: Job) -> None:
        if job is self._job and not job.state.ended:
            self._drain()
            if job.total_amount > 0:
                playback.show_progress(self.progress, job)
                done = f"{job.done_amount:,}"
                text = self.tr("{0} of {1} searched").format(done, plural(job.total_amount, "file"))
                self.show_message(" · ".join(filter(None, (text, pace_text(job)))))

    def _drain(self) -> None:
        self.model.add([self._found.popleft() for _ in range(len(self._found))])

    def done(self, result: int) -> None:
        if self._job is not None:
            self._job.cancel()
        super().done(result)

    # --- result ---

    def _open(self, index: QModelIndex) -> None:
        if index.isValid():
            self._open_hit(self.model.things[index.row()])

    def _open_hit(self, hit: KeyHit) -> None:
        span = main_span(hit.ref) if hit.ref is not None else None
        self.session.tab_wanted.emit(OpenRequest(hit.path, remote=self.session.documents.reach(hit.path)), span)

    def _menu(self, row: int) -> QMenu:
        hit = self.model.things[row]
        copy = self.tr("&Copy path"), partial(copy_text, hit.path)
        return context_menu(self, ((self.tr("&Open"), partial(self._open_hit, hit)), None, copy))


class FindKeyTask(Task):
    dialog: FindKeyDialog | None = None

    def __init__(self, session: Session, settings: Settings, window: QWidget) -> None:
        super().__init__(session, window)
        self._settings = settings

    def ask(self) -> FindKeyDialog:
        if self.dialog is None:
            self.dialog = FindKeyDialog(self._session, self._settings, self._window)
            self.dialog.finished.connect(lambda _: setattr(self, "dialog", None))
        self.dialog.raise_to(self.dialog.key)
        self.dialog.key.selectAll()
        return self.dialog
