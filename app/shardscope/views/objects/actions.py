"""Actions on the selected objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import TypeVar

from PySide6.QtCore import QByteArray, QMimeData, QObject, Qt, Signal
from PySide6.QtWidgets import QApplication, QWidget

from shardcore import Shard, ShardError, State
from shardcore.codecs.content_hash import sha256_of
from shardcore.errors import ends_reading
from shardcore.model.text import key_text, plural
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.object_rows import RowRanges
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.extract import ExtractTask
from shardscope.views.objects.model import RowPage
from shardscope.views.objects.table import ObjectTable
from shardscope.widgets.layouts import new_action

T = TypeVar("T")
Row = tuple[str | int | None, ...]

MOST_COPIED_KEYS = 1_000_000
MOST_COPIED_ROWS = 100_000


class ObjectActions(QObject):
    """Actions on the selected rows, which read objects in jobs. The window connects `copy_files` to a slot."""

    trace_requested = Signal(object)

    def __init__(self, session: Session, table: ObjectTable, settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._table = table
        self.extracting = ExtractTask(session, settings, parent)
        act, extracting = partial(new_action, self), self.extracting
        self.extract = act(self.tr("&Extract…"), lambda: extracting.ask(table.selected_ranges()), "Ctrl+E")
        self.extract_all = act(self.tr("Extract &all…"), lambda: extracting.ask(None), "Ctrl+Shift+E")
        self.copy_keys = act(self.tr("&Copy keys"), self.copy)
        self.copy_rows = act(self.tr("Copy &rows"), lambda: self._copy_rows(_table_text))
        self.copy_json = act(self.tr("Copy as &JSON"), lambda: self._copy_rows(_json_text))
        self.copy_files = act(self.tr("Copy objects as fi&les"), None, "Ctrl+Shift+C")
        self.go = act(self.tr("&Go to its bytes"), table.open_current)
        self.trace = act(self.tr("&Look up"), self._trace)
        self.references = act(self.tr("Find re&ferences"), self._find_references)
        self.inside = act(self.tr("Open &inside"), self._open_inside)
        self.check = act(self.tr("&Verify selected objects"), self.check_selected)
        self._on_rows = [self.go, self.inside, self.trace, self.references, self.extract]
        self._on_rows += [self.copy_keys, self.copy_rows, self.copy_json, self.copy_files, self.check]
        table.addActions(self._on_rows)
        table.insertAction(self.copy_keys, self.extract_all)
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        table.copy_requested.connect(self.copy)
        table.selectionModel().selectionChanged.connect(self._update)
        # Qt does not signal that a reset ended the selection.
        table.objects.modelReset.connect(self._update)
        session.opened.connect(lambda _: self._update())
        session.closed.connect(self._update)
        self._update()

    def _update(self) -> None:
        count = self._table.selected_count() if self._session.shard is not None else 0
        for action in self._on_rows:
            action.setEnabled(count > 0)
        self.extract_all.setEnabled(self._session.shard is not None)
        sandbox = self._session.request.sandbox
        words = self.tr("Not available in the sandbox: save a copy and open it")
        for action in (self.extract, self.extract_all, self.copy_files):
            action.setEnabled(action.isEnabled() and not sandbox)
            action.setToolTip(words if sandbox else "")

    # --- keys ---

    def copy(self) -> None:
        chosen = self._table.selected_ranges()
        self._keys(
            chosen.head(MOST_COPIED_KEYS),
            lambda keys: (len(keys), QByteArray("\n".join(map(key_text, keys)).encode())),
            lambda found: self._copied(*found, "key", MOST_COPIED_KEYS, len(chosen)),
        )

    def _copy_rows(self, text_of: Callable[[list[str], list[Row]], str]) -> None:
        chosen, names = self._table.selected_ranges(), self._table.visible_columns
        columns = [column for column in self._table.objects.columns if column.name in names]
        if not len(chosen):
            return

        def work(shard: Shard, job: Job) -> tuple[int, QByteArray]:
            values: list[Row] = []
            for rows in chosen.head(MOST_COPIED_ROWS).pieces():
                job.check()
                page = RowPage.read(shard, shard.objects, rows)
                values += zip(*(column.known(page) for column in columns), strict=True)
            return len(values), QByteArray(text_of(names, values).encode())

        self._session.ask(
            work,
            lambda found: self._copied(*found, "row", MOST_COPIED_ROWS, len(chosen)),
            failed="Cannot read the rows",
            key=("rows", self),
        )

    def _copied(self, count: int, text: QByteArray, noun: str, most: int, chosen: int) -> None:
        mime = QMimeData()
        mime.setData("text/plain", text)
        QApplication.clipboard().setMimeData(mime)
        note = self.tr("{0} copied").format(plural(count, noun))
        if chosen > most:
            note = self.tr("the first {0} of {1} rows: {2}").format(f"{most:,}", f"{chosen:,}", note)
        self._session.message.emit(note)

    def _trace(self) -> None:
        def take(keys: list[str]) -> None:
            if keys:
                self.trace_requested.emit(keys[0])

        self._keys(self._table.selected_ranges().head(1), list, take)

    def _open_inside(self) -> None:
        if (row := self._table.selected_ranges().first) is not None:
            self._session.open_inside(row)

    def _find_references(self) -> None:
        if (row := self._table.selected_ranges().first) is not None:
            self._session.select_row(row)
            self._session.references.find()

    def _keys(self, chosen: RowRanges, make: Callable[[list[str]], T], take: Callable[[T], None]) -> None:
        if not len(chosen):
            return

        def work(shard: Shard, job: Job) -> T:
            found: list[str] = []
            for rows in chosen.pieces():
                job.check()
                found.extend(key for key in shard.objects.key_texts(rows) if key is not None)
            return make(found)

        self._session.ask(work, take, failed="Cannot read the keys", key=("keys", self))

    # --- check ---

    def check_selected(self) -> Job | None:
        chosen = self._table.selected_ranges()
        if not len(chosen):
            return None

        def work(shard: Shard, job: Job) -> tuple[int, list[tuple[int, ShardError]], str]:
            sound, wrong, last = 0, [], ""
            for number, row in enumerate(chain.from_iterable(rows.tolist() for rows in chosen.pieces())):
                job.progress(number, len(chosen))
                ref = shard.objects.ref(row)
                if ref.state is State.UNUSED:
                    continue
                try:
                    digest, size = sha256_of(shard.stream(ref), lambda _: job.check())
                    last = f"readable: {size:,} bytes, sha256 {digest}"
                    sound += 1
                except ShardError as error:
                    if ends_reading(error):
                        error.message = f"{plural(sound, 'object')} readable, then: {error.message}"
                        raise
                    wrong.append((row, error))
            return sound, wrong, last

        def take(found: tuple[int, list[tuple[int, ShardError]], str]) -> None:
            sound, wrong, last = found
            if wrong:
                row, error = wrong[0]
                what = f"{sound:,} readable, {len(wrong):,} not readable; row {row:,}"
                text = f"{what}: {error_text(error)}"
                self._session.report_error(what, error)
            else:
                text = last if sound == 1 else f"{sound:,} objects readable"
                self._session.say(text)
            if job is not None:
                job.note = text

        job = self._session.ask(
            work,
            take,
            failed="Not verified",
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
            title=f"Verify {plural(len(chosen), 'object')}",
        )
        return job


def _table_text(names: list[str], rows: list[Row]) -> str:
    lines = [names, *(["" if value is None else key_text(str(value)) for value in row] for row in rows)]
    return "\n".join(map("\t".join, lines))


def _json_text(names: list[str], rows: list[Row]) -> str:
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows], ensure_ascii=False, indent=1)
