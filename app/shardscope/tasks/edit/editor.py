"""Edits of the open file: the dialog, beside bytes that show the changes; the job, undo, redo and the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QSize, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QRadioButton,
    QSizePolicy,
    QStyleOptionViewItem,
    QWidget,
)

from shardcore import Cancelled, Depth, Report, Severity, Shard, SourceChanged, Span, UsageError
from shardcore.dataclasses import dataclass, field, replace
from shardcore.model.options import Option
from shardcore.model.text import iso_text, plural, shown
from shardcore.sources.patched_source import Change
from shardcore.writing.declaration import EditSubject, Verb
from shardcore.writing.journal import Journal
from shardscope.session.byte_marks import Proposed
from shardscope.session.display_text import cut_end, cut_middle, failure, range_words
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.object_rows import RowRanges
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.tasks.edit.edit_preview import (
    ChangeRow,
    EditRequest,
    Proposal,
    propose,
    propose_bytes,
    propose_undo,
    put_back,
)
from shardscope.tasks.edit.edit_switch import EditSwitch
from shardscope.tasks.form import FieldForm, side_button
from shardscope.tasks.task_dialog import Role, Task, TaskDialog
from shardscope.widgets import theme
from shardscope.widgets.file_dialogs import ask_files
from shardscope.widgets.fonts import LARGE, px
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.table import Column, RowTable, TableModel
from shardscope.widgets.tick_box import TickBox

SHORT, NARROW, LONG = 6, 3, 64
"""Number of bytes shown in a cell: in a wide dialog, in a narrow dialog, and in the tooltip."""


class ChangeModel(TableModel):
    things: tuple[ChangeRow, ...]

    def __init__(self, parent: QObject) -> None:
        self.short = SHORT
        columns = (
            self._column("Change", lambda row: row.what, least=80, stretched=True),
            self._column("Range", lambda row: range_words(row.start, row.stop)),
            self._column("Old", lambda row: _old(row, self.short), tip=_old, look=_fixed),
            self._column("New", lambda row: _new(row, self.short), tip=_new, look=_fixed),
        )
        super().__init__(parent, columns)

    @staticmethod
    def _column(title: str, text: Callable[[ChangeRow], str], **more: Any) -> Column:
        return Column(title, text, spoken=lambda row: f"{title}: {text(row)}", **more)


def _fixed(option: QStyleOptionViewItem, _: theme.Palette, __: ChangeRow) -> None:
    option.font = theme.fixed_font()
    option.fontMetrics = QFontMetrics(option.font)


def _old(row: ChangeRow, most: int = LONG) -> str:
    return _bytes(row, row.old, row.old_size, most) or ("—" if row.is_text else "after the end")


def _new(row: ChangeRow, most: int = LONG) -> str:
    return _bytes(row, row.new, row.new_size, most) or ("—" if row.is_text else "cut off")


def _bytes(row: ChangeRow, data: bytes, size: int, most: int) -> str:
    if row.is_text:
        # As many characters as the same bytes in hex.
        return cut_end(" ".join(data.decode("utf-8", "replace").split()), 3 * most)
    more = " …" if size > min(len(data), most) else ""
    return f"{data[:most].hex(' ')}{more}"


NARROW_SHEET = 540
"""Width in pixels at 100 % below which rows show fewer bytes."""
LEAST = 400
"""Minimum width of the table in pixels."""
LEAST_ROWS = 90
"""Minimum height of the table in pixels; if there is less room, the whole dialog scrolls."""


@dataclass(frozen=True)
class EditOutcome:
    text: str
    bad: bool = False
    action: str = ""
    do: Callable[[], object] | None = None


def title_of(verb: Verb, *, back: bool = False) -> str:
    return QCoreApplication.translate("Verbs", verb.back if back else verb.title)


@dataclass(frozen=True)
class EditTask:
    """Texts and input fields of the dialog of an edit; `propose` computes the changes from the input, in a job."""

    title: str
    help: str
    propose: Callable[[Shard, Job, tuple[Path, ...], dict[str, str]], Proposal]
    options: tuple[Option, ...] = ()
    takes_files: bool = False


class EditDialog(TaskDialog):
    """Preview of an edit; signal `wanted(proposal, keep)` requests to run it, with an undo file if `keep`."""

    name = "editSheet"
    modal = False
    message_lines = 3
    shown_changed = Signal()
    row_chosen = Signal(ChangeRow)
    wanted = Signal(Proposal, bool)

    def __init__(self, task: EditTask, session: Session, window: QWidget) -> None:
        super().__init__(session, window)
        self.setWindowTitle(task.title)
        self._task = task
        self._paths: tuple[Path, ...] = ()
        self.proposal: Proposal | None = None
        self.setAcceptDrops(task.takes_files)
        self.title = plain_label(shown(task.title), size=LARGE)
        help_ = plain_label(shown(task.help), "editHelp", wrap=True)
        self.form = FieldForm(spacing=8, reserved="onkc")
        self.file = self._file_field() if task.takes_files else None
        self.form.add_options(task.options)
        self.fields = self.form.fields
        self.model = ChangeModel(self)
        self.table = self._table()
        self.total = plain_label("", "editTotal", wrap=True)
        sides = self._sides()
        self.takedown = TickBox(self.tr("Do not &keep the old bytes (takedown)"), self)
        self.kept = plain_label("", "editKept", wrap=True)
        self.apply = self.add_button(task.title.partition(" ")[0], self._act, Role.AcceptRole)
        self.add_close()
        parts: list[QWidget | QLayout] = [self.title, help_, self.form, self.table, self.total, sides]
        parts += [self.takedown, self.kept]
        self.lay_out(parts, "editArea", self.tr("Options and changes"), tall=self.table)
        self.form.changed.connect(self._typed)
        self.takedown.toggled.connect(lambda _: self.refresh())
        self.resize(620, 460)
        first = self.file or next(iter(self.fields.values()), None)
        (first or self.table).setFocus()
        self.refresh()

    def _file_field(self) -> QLineEdit:
        hint = self.tr("Drop or choose files")
        line = made(QLineEdit(self), "edit_file", placeholderText=hint, acceptDrops=False, textChanged=self._typed)
        choose = partial(ask_files, self, self.tr("Choose files"), self.take_files)
        self.form.add(self.tr("&Files"), line, side_button(self.tr("&Choose…"), choose))
        return line

    def _sides(self) -> QHBoxLayout:
        self.old, self.new = QRadioButton(self.tr("&Old bytes"), self), QRadioButton(self.tr("&New bytes"), self)
        self.new.setChecked(True)
        self.new.toggled.connect(self._side_chosen)
        return lay(QHBoxLayout(), QLabel(self.tr("Show in the bytes view")), self.old, self.new, 1, spacing=14)

    def _table(self) -> RowTable:
        table = RowTable(self.model, self, "editChanges", self.tr("Changes"), self._chosen)
        made(table, tabKeyNavigation=False, minimumHeight=LEAST_ROWS)
        table.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        return table

    def minimumSizeHint(self) -> QSize:
        return QSize(LEAST - 80, 200)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        short = NARROW if self.width() < px(NARROW_SHEET) else SHORT
        if short != self.model.short:
            self.model.short = short
            self.model.layoutChanged.emit()

    # --- values of the form ---

    @property
    def paths(self) -> tuple[Path, ...]:
        text = self.file.text().strip() if self.file is not None else ""
        if text == _listed(self._paths):
            return self._paths
        return (Path(text),) if text else ()

    def take_files(self, paths: Iterable[str]) -> None:
        assert self.file is not None
        self._paths = tuple(map(Path, paths))
        self.file.setText(_listed(self._paths))

    @property
    def row(self) -> ChangeRow | None:
        index = self.table.currentIndex()
        return self.model.things[index.row()] if index.isValid() else None

    def _typed(self) -> None:
        self.apply.setEnabled(False)
        self._soon.start()

    # --- preview ---

    def preview(self) -> None:
        self.proposal = None
        shard, paths, values = self.session.shard, self.paths, self.form.values
        self.show_message("")
        self.refresh()
        if shard is None or (self.file is not None and not paths):
            self._clear()
            return
        self.total.setText(self.tr("Computing the changes …"))
        self.check(lambda job: self._task.propose(shard, job, paths, values), self._show, self._failed)

    def _show(self, proposal: Proposal) -> None:
        self.proposal = proposal
        what = proposal.what[:1].upper() + proposal.what[1:]
        self.show_message(proposal.remark)
        self.total.setText(shown(f"{cut_middle(what, 160)}. {proposal.total}"))
        self.total.setToolTip(tip(what))
        self.model.show_things(proposal.rows)
        self.refresh()
        if proposal.rows:
            self.table.selectRow(0)
            self.row_chosen.emit(proposal.rows[0])
        self.shown_changed.emit()

    def _failed(self, error: BaseException) -> None:
        self._clear()
        self.show_error(error)
        self.shown_changed.emit()

    def _clear(self) -> None:
        self.model.show_things(())
        self.total.setText("")

    def refresh(self) -> None:
        found = self.proposal
        for button in (self.old, self.new):
            button.setEnabled(found is not None and bool(found.proposed))
        self.apply.setEnabled(found is not None and bool(found.rows))
        kept = found.kept if found is not None and found.rows else ()
        self.takedown.setVisible(bool(kept))
        self.kept.setVisible(bool(kept))
        gone = self.takedown.isChecked()
        if kept:
            words = kept[not gone]
            more = self.tr(". This cannot be undone.") if gone else self.tr(", readable by anyone with access to it.")
            self.kept.setText(shown(f"{'▲ ' if gone else ''}{words[:1].upper()}{words[1:]}{more}"))
        theme.write_in(self.kept, "error" if gone else "muted")

    # --- the bytes view ---

    @property
    def shown_bytes(self) -> Proposed | None:
        row = self.row
        found = self.proposal.proposed.get(row.source) if row and self.proposal and row.source is not None else None
        if found is None or row is None:
            return None
        new = self.new.isChecked()
        return replace(found, shows_new=new, current=row.start if new else row.old_start)

    def _chosen(self, row: int) -> None:
        self.shown_changed.emit()
        self.row_chosen.emit(self.model.things[row])

    def _side_chosen(self, _: bool) -> None:
        self.shown_changed.emit()
        if (row := self.row) is not None and row.start != row.old_start:
            self.row_chosen.emit(row)

    # --- run ---

    def _act(self) -> None:
        if self.proposal is not None:
            self.accept()
            self.wanted.emit(self.proposal, not self.takedown.isChecked())


def _listed(paths: Iterable[Path]) -> str:
    return "; ".join(map(str, paths))


@dataclass
class _History:
    """Edits of a file made and undone in this window, the latest last; `left` is the file identity after them."""

    made: list[Proposal] = field(default_factory=list)
    undone: list[Proposal] = field(default_factory=list)
    left: str = ""


class Editor(Task):
    """Shows edit dialogs and runs the edits in jobs; `now` returns the time for the journal, ISO 8601 in UTC."""

    opened = Signal(object)
    proposed = Signal(object)
    """Carries the `Proposed` bytes to show, or None."""
    place_wanted = Signal(Span)
    reloading = Signal()
    reloaded = Signal()
    news = Signal(EditOutcome)

    def __init__(self, session: Session, switch: EditSwitch, chosen: Callable[[], RowRanges], window: QWidget) -> None:
        super().__init__(session, window)
        self._switch, self._chosen = switch, chosen
        self._after: EditOutcome | None = None
        self._histories: dict[str, _History] = {}
        self.sheet: EditDialog | None = None
        self.now: Callable[[], str] = lambda: iso_text(datetime.now(UTC))
        session.opened.connect(self._opened)
        session.documents.failed.connect(lambda _: setattr(self, "_after", None))

    # --- dialogs ---

    def ask(self, verb: Verb, *, back: bool = False, keys: tuple[str, ...] = ()) -> EditDialog | None:
        """Show the dialog of a verb, for `keys` or the selected rows; return None if the file cannot be changed."""
        if self._switch.why_not:
            return None
        rows = self._chosen() if verb.takes is EditSubject.KEYS and not keys else RowRanges()

        def work(shard: Shard, job: Job, paths: tuple[Path, ...], values: dict[str, str]) -> Proposal:
            asked = EditRequest(verb, keys, paths, values, self.now(), back=back)
            if verb.takes is not EditSubject.KEYS or keys:
                return propose(shard, asked)
            found, left_out = _keys(shard, rows, job)
            proposal = propose(shard, replace(asked, keys=found))
            more = f"{plural(left_out, 'row')} without an object skipped." if left_out else ""
            return replace(proposal, remark=f"{proposal.remark} {more}".strip())

        title = title_of(verb, back=back)
        help_ = QCoreApplication.translate("Verbs", verb.back_help if back else verb.help)
        options, takes_files = () if back else verb.options, verb.takes is EditSubject.FILES
        return self._show(EditTask(title, help_, work, options, takes_files))

    def ask_bytes(self, changes: Sequence[Change]) -> EditDialog | None:
        if self._switch.why_not or not changes:
            return None
        help_ = self.tr("Overwrite bytes of the file. Checksums are not updated.")
        typed = tuple(changes)
        return self._show(EditTask(self.tr("Write typed bytes"), help_, lambda shard, *_: propose_bytes(shard, typed)))

    def ask_undo(self) -> EditDialog | None:
        if self._session.shard is None:
            return None
        help_ = self.tr("Restore the bytes that the edit changed. The undo file is removed.")
        return self._show(EditTask(self.tr("Undo the last edit"), help_, lambda shard, *_: propose_undo(shard)))

    # --- undo and redo ---

    def _history(self, uri: str = "") -> _History:
        return self._histories.setdefault(uri or self._session.uri, _History())

    @property
    def last_edit(self) -> str:
        """Name of the edit that `undo` undoes, with `…` if `undo` shows a dialog first; empty if there is none."""
        permission, edits = self._switch.edit_permission, self._history().made
        if edits and not permission.interrupted:
            return edits[-1].what
        return permission.last_edit and f"{permission.last_edit}…"

    @property
    def last_undone(self) -> str:
        return undone[-1].what if (undone := self._history().undone) else ""

    def undo(self, uri: str = "") -> None:
        """Undo the last edit. Show a dialog first if this window did not make it, or the file changed since."""
        uri = uri or self._session.uri
        history = self._history(uri)
        if self._switch.edit_permission.interrupted or not history.made:
            self.ask_undo()
            return
        last = history.made[-1]
        undo, asked = last.undo, last.asked
        assert undo is not None

        def changed() -> None:
            if asked is not None and asked.verb.back:
                self.ask(asked.verb, back=not asked.back, keys=tuple(asked.keys))
            else:
                self.ask_undo()

        self._run(
            lambda job: undo(history.left, job.progress),
            f"undo: {last.what}",
            self._undone(Path(uri).name),
            uri=uri,
            then=lambda: history.undone.append(history.made.pop()),
            changed=changed,
        )

    def redo(self) -> None:
        shard, undone = self._session.shard, self._history().undone
        if shard is None or self._switch.why_not or not undone or (again := undone[-1].again) is None:
            return
        make = lambda keep, progress: again(shard).make(keep, progress)  # noqa: E731
        self._go(replace(undone[-1], make=make), keep=True, redone=True)

    def _show(self, task: EditTask) -> EditDialog:
        if self.sheet is not None:
            self.sheet.reject()
        sheet = self.sheet = EditDialog(task, self._session, self._window)
        sheet.shown_changed.connect(lambda: self.proposed.emit(sheet.shown_bytes))
        sheet.row_chosen.connect(self._see)
        sheet.wanted.connect(self._go)
        sheet.finished.connect(lambda _: self._closed(sheet))
        sheet.show()
        self.opened.emit(sheet)
        sheet.preview()
        return sheet

    def _see(self, row: ChangeRow) -> None:
        if row.source is not None and self.sheet is not None:
            start = row.start if self.sheet.new.isChecked() else row.old_start
            self.place_wanted.emit(Span(row.source, start, start + 1))

    def _closed(self, sheet: EditDialog) -> None:
        if self.sheet is sheet:
            self.sheet = None
            self.proposed.emit(None)

    # --- run ---

    def _go(self, proposal: Proposal, keep: bool, *, redone: bool = False) -> None:
        uri, history = self._session.uri, self._history()
        text = self.tr("{0} was changed: {1}").format(proposal.name or Path(uri).name, proposal.what)
        news = EditOutcome(text) if not proposal.undoes else self._undone(Path(uri).name)
        undoable = proposal.undo is not None and (keep or not proposal.kept)
        if undoable:
            news = EditOutcome(text, action=self.tr("Undo"), do=lambda: self.undo(uri))

        def written() -> None:
            history.undone.pop() if redone else history.undone.clear()
            if undoable:
                # Drop `make`, which may keep temporary files open.
                history.made.append(replace(proposal, rows=(), proposed={}, make=lambda *_: None))
            elif not proposal.undoes:
                history.made.clear()
            elif history.made:
                history.made.pop()

        stops = keep and bool(proposal.kept)
        self._run(lambda job: proposal.make(keep, job.progress), proposal.what, news, stops=stops, then=written)

    def put_back(self, uri: str, journal: Journal | None = None) -> Job:
        """Start a job that undoes the last edit, or finishes an interrupted one without undo file; then reopen."""
        name = Path(uri).name
        if journal is not None and not journal.kept:
            what = f"finish {journal.what}"
            news = EditOutcome(self.tr("{0} was changed: {1}").format(name, journal.what))
        else:
            what, news = f"undo the edit of {name}", self._undone(name)
        history = self._history(uri)
        return self._run(
            lambda job: put_back(Path(uri), "", job.progress), what, news, uri=uri, then=history.made.clear
        )

    def _undone(self, name: str) -> EditOutcome:
        return EditOutcome(self.tr("{0} restored to its state before the edit").format(name))

    def _run(
        self,
        work: Callable[[Job], object],
        what: str,
        news: EditOutcome,
        *,
        then: Callable[[], object],
        stops: bool = False,
        uri: str = "",
        changed: Callable[[], object] | None = None,
    ) -> Job:
        """Change the file in a lasting job, then reopen it. `stops`: a cancelled job leaves the file unchanged."""
        session, shard, name = self._session, self._session.shard, Path(uri or self._session.uri).name
        session.watch.hold(held=True)

        def done(_: object, error: BaseException | None) -> None:
            after = news
            if error is None:
                then()
            if isinstance(error, Cancelled):
                after = EditOutcome(self.tr("Stopped: the file is unchanged")) if stops else news
            elif error is not None:
                after = EditOutcome(failure(self.tr("Cannot change {0}").format(name), error), bad=True)
            if session.shard is not shard:
                session.say(after.text, failed=after.bad)
            elif isinstance(error, (SourceChanged, UsageError)) or (after.bad and shard is None):
                # Nothing was written, or no file is open that could be reopened.
                session.watch.hold(held=False)
                # Another program had changed the file.
                if isinstance(error, SourceChanged) and changed is not None:
                    changed()
                else:
                    self.news.emit(after)
            else:
                self._after = after
                self._reload(uri)

        title, home = what[:1].upper() + what[1:], session.documents.when_shown(done, closed=True)
        return session.jobs.submit(work, title=title, lasting=True, priority=JobPriority.SELECTED, done=home)

    def _reload(self, uri: str) -> None:
        if self._session.shard is None or (uri and uri != self._session.uri):
            self._session.open_tab(OpenRequest(uri))
            return
        self._switch.stay()
        self.reloading.emit()
        self._session.reload()

    def _opened(self, _: Shard) -> None:
        if (news := self._after) is not None:
            self._after = None
            # Wait until all slots of `opened` have run and the selection is restored.
            QTimer.singleShot(0, self, lambda: self._reloaded(news))

    def _reloaded(self, news: EditOutcome) -> None:
        shard = self._session.shard
        if not news.bad and shard is not None and shard.source is not None:
            self._history().left = shard.source.identity
        self.reloaded.emit()
        self.news.emit(news)
        if not news.bad:
            self._verify(news)

    def _verify(self, news: EditOutcome) -> None:
        """Verify the index in a job after an edit; only errors are shown."""

        def take(report: Report) -> None:
            wrong = [one for one in report.findings if one.severity is Severity.ERROR]
            if wrong:
                text = self.tr("{0}, but verification failed: {1}").format(news.text, wrong[0].message)
                self.news.emit(replace(news, text=text, bad=True))

        self._session.ask(
            lambda shard, job: shard.verify(Depth.INDEX, job.progress),
            take,
            key=("edited", self),
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
        )


def _keys(shard: Shard, rows: RowRanges, job: Job) -> tuple[tuple[str, ...], int]:
    found: dict[str, None] = {}
    left_out = 0
    for piece in rows.pieces():
        job.check()
        for key in shard.objects.key_texts(piece):
            if key is None:
                left_out += 1
            else:
                found[key] = None
    if not found:
        raise UsageError("the selected rows have no objects: select others")
    return tuple(found), left_out
