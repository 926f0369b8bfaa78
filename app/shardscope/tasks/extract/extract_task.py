"""Extraction of objects: its dialog, its jobs, and resuming."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QRadioButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled
from shardcore.errors import source_lost
from shardcore.model.text import plural, shown, size_text
from shardcore.operations.extraction import ALL_PARTS, AS_USUAL, NO_PARTS, Conflict, ExtractOptions
from shardscope.session.debounce import Debounce
from shardscope.session.display_text import cut_middle
from shardscope.session.error_messages import error_text
from shardscope.session.extraction import (
    ExtractionOutcome,
    ExtractionPreview,
    ExtractionRequest,
    existing,
    preview_extraction,
    write,
)
from shardscope.session.fetch_cost import whole
from shardscope.session.jobs import Job, JobPriority, JobState, Pool
from shardscope.session.row_ranges import RowRanges
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.extract.saved_choices import ASK, Choices, first_folder
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_folder, folder_box
from shardscope.widgets.fonts import LARGE
from shardscope.widgets.option_fields import FieldForm
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.scroll_area import scrolled
from shardscope.widgets.tick_box import TickBox

TYPING_MILLISECONDS = 200

_POLICY_WORDS = {
    ASK: "Ask",
    Conflict.SKIP: "Skip",
    Conflict.RENAME: "Keep both (rename)",
    Conflict.REPLACE: "Replace",
}


class ExtractDialog(QDialog):
    """Dialog for target and options of an extraction; open it with `open()`.

    - `changed`: the choices have changed; reply with `show_preview`
    - `wanted`: *Extract* was pressed; reply with `ask_conflicts` or `accept`
    """

    changed = Signal()
    wanted = Signal()

    def __init__(self, choices: Choices, folders: list[str], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("extractSheet")
        self.setWindowTitle(self.tr("Extract objects"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._around = parent
        self._answer: Conflict | None = None
        self._outlook: ExtractionPreview | None = None
        self._soon = Debounce(self, self.changed, TYPING_MILLISECONDS)
        self.pages = QStackedWidget(self)
        self.pages.addWidget(self._make_choices(choices, folders))
        self.pages.addWidget(self._make_question())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.pages)
        self._connect()
        self._update()
        self.resize(self.sizeHint().expandedTo(QSize(620, 0)))
        self.where.setFocus()
        line = self.where.lineEdit()
        if line is not None:
            line.selectAll()

    # --- making ---

    def _make_choices(self, choices: Choices, folders: list[str]) -> QWidget:
        page = QWidget(self)
        self.total = plain_label(self.tr("Counting …"), size=LARGE, bold=True)
        self.left_out = Elided(greedy=True, parent=page)
        self.left_out.setText(" ")
        self.where = folder_box(page, folders, characters=20)
        self.browse = QPushButton(self.tr("&Browse…"), page)
        self.browse.setAutoDefault(False)
        self.folders = QRadioButton(self.tr("&Sub-folders from keys"), page)
        self.folders.setToolTip(self.tr("A key such as a/b/c.txt becomes the file c.txt in the folder a/b"))
        self.flat = QRadioButton(self.tr("All in &one folder"), page)
        group = QButtonGroup(page)
        group.addButton(self.folders)
        group.addButton(self.flat)
        (self.folders if choices.folders else self.flat).setChecked(True)
        self.conflict = QComboBox(page)
        for name, words in _POLICY_WORDS.items():
            self.conflict.addItem(words, str(name))
        self.conflict.setCurrentIndex(max(self.conflict.findData(choices.conflict), 0))
        self.parts = QComboBox(page)
        self.guess = TickBox("A&dd missing file extensions (detected from content)", page)
        self.guess.setChecked(choices.guess_extension)
        self.skip_unused = TickBox("Skip &unused slots", page)
        self.skip_unused.setToolTip(self.tr("Omits them from the manifest. They are never written as files."))
        self.skip_unused.setChecked(choices.skip_unused)
        self.manifest = TickBox(self.tr("Write a &manifest"), page)
        self.manifest.setToolTip(self.tr("manifest.json: key, size and sha256 of every file written"))
        self.manifest.setChecked(choices.manifest)
        self.deleted = TickBox("Include de&leted objects", page)
        self.warning, self.examples = Elided(greedy=True, parent=page), Elided(greedy=True, parent=page)
        self.examples.setFont(theme.fixed_font())
        self.buttons = QDialogButtonBox(page)
        self.extract = self.buttons.addButton("&Extract", QDialogButtonBox.ButtonRole.AcceptRole)
        self.extract.setDefault(True)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self._lay_out(page)
        return page

    def _lay_out(self, page: QWidget) -> None:
        names = QHBoxLayout()
        names.setSpacing(18)
        names.addWidget(self.folders)
        names.addWidget(self.flat)
        names.addStretch(1)
        ticks = QVBoxLayout()
        ticks.setSpacing(8)
        for box in (self.guess, self.skip_unused, self.manifest, self.deleted, self.warning):
            ticks.addWidget(box)
        form = self._form = FieldForm()
        form.add(self.tr("&To"), self.where, self.browse)
        form.addRow(self.tr("&Names"), names)
        form.labelForField(names).setBuddy(self.folders)  # type: ignore[attr-defined]
        form.add(self.tr("Existing &files"), self.conflict)
        form.add(self.tr("&Parts"), self.parts)
        form.addRow("", ticks)
        form.add(self.tr("First files"), self.examples)
        inner = QWidget(page)
        rows = QVBoxLayout(inner)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addWidget(self.total)
        rows.addWidget(self.left_out)
        rows.addLayout(form)
        rows.addStretch(1)
        column = QVBoxLayout(page)
        column.setContentsMargins(20, 16, 20, 14)
        column.addWidget(scrolled(inner, "extractArea", self.tr("Choices"), page))
        column.addWidget(self.buttons)

    def _make_question(self) -> QWidget:
        page = QWidget(self)
        self.question = plain_label(size=LARGE, bold=True, wrap=True)
        self.question_where = Elided(greedy=True, parent=page)
        words = {
            Conflict.SKIP: ("&Skip them", "Existing files stay; their objects are not written"),
            Conflict.RENAME: ("Keep &both", "The new files are called “name (2)”"),
            Conflict.REPLACE: ("&Replace them", "Existing files are overwritten"),
        }
        self.answers: dict[Conflict, QPushButton] = {}
        column = QVBoxLayout(page)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(10)
        column.addWidget(self.question)
        column.addWidget(self.question_where)
        column.addSpacing(8)
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        for number, (policy, (text, doc)) in enumerate(words.items()):
            button = QPushButton(text, page)
            button.setObjectName(f"conflict_{policy}")
            button.setAccessibleDescription(doc)
            button.clicked.connect(lambda _=False, policy=policy: self._answered(policy))
            grid.addWidget(button, number, 0)
            grid.addWidget(QLabel(doc, page), number, 1)
            self.answers[policy] = button
        column.addLayout(grid)
        column.addStretch(1)
        row = QHBoxLayout()
        self.back = QPushButton(self.tr("Ba&ck"), page)
        self.back.clicked.connect(self.show_choices)
        self.cancel = QPushButton(self.tr("Cancel"), page)
        self.cancel.clicked.connect(self.reject)
        row.addWidget(self.back)
        row.addStretch(1)
        row.addWidget(self.cancel)
        column.addLayout(row)
        return page

    def _connect(self) -> None:
        self.buttons.accepted.connect(self._extract)
        self.buttons.rejected.connect(self.reject)
        self.browse.clicked.connect(self._browse)
        self.where.editTextChanged.connect(lambda _: self._later())
        for box in (self.guess, self.skip_unused, self.manifest, self.deleted):
            box.toggled.connect(lambda _: self._now())
        self.folders.toggled.connect(lambda _: self._now())
        for choice in (self.conflict, self.parts):
            choice.currentIndexChanged.connect(lambda _: self._now())

    # --- what it states ---

    @property
    def choices(self) -> Choices:
        return Choices(
            folders=self.folders.isChecked(),
            conflict=str(self.conflict.currentData()),
            guess_extension=self.guess.isChecked(),
            skip_unused=self.skip_unused.isChecked(),
            manifest=self.manifest.isChecked(),
        )

    @property
    def options(self) -> ExtractOptions:
        parts = str(self.parts.currentData() or AS_USUAL)
        options = self.choices.options(deleted=self.deleted.isChecked(), parts=parts)
        return options if self._answer is None else replace(options, conflict=self._answer)

    @property
    def folder(self) -> Path:
        try:
            return Path(self.where.currentText().strip()).expanduser().absolute()
        except RuntimeError:
            # `~name` of an unknown user.
            return Path(self.where.currentText().strip()).absolute()

    @property
    def asks(self) -> bool:
        """True if the dialog must check for existing files before writing."""
        return self._answer is None and self.choices.conflict == ASK

    # --- what it is reported ---

    def show_preview(self, found: ExtractionPreview) -> None:
        self._outlook = found
        self._offer_parts(found.parts)
        self._update()
        most = self._around.window().size() - QSize(16, 16)
        self.resize(self.size().expandedTo(self.sizeHint()).boundedTo(most))

    def show_error(self, error: BaseException) -> None:
        self.left_out.setText(shown(error_text(error)))
        self.left_out.show()
        self.show_choices()

    def show_busy(self) -> None:
        self.extract.setEnabled(False)
        self.left_out.show()
        self.left_out.setText(self.tr("Checking for existing files …"))

    def ask_conflicts(self, count: int) -> None:
        be = "exists" if count == 1 else "exist"
        self.question.setText(self.tr("{0} {1} already").format(plural(count, "file"), be))
        self.question_where.setText(self.tr("in {0}").format(shown(cut_middle(str(self.folder), 70))))
        self.question_where.setToolTip(tip(str(self.folder)))
        self.pages.setCurrentIndex(1)
        self.answers[Conflict.SKIP].setDefault(True)
        self.answers[Conflict.SKIP].setFocus()

    def show_choices(self) -> None:
        self._answer = None
        self.pages.setCurrentIndex(0)
        self.extract.setDefault(True)
        self.extract.setEnabled(self._possible)
        self.where.setFocus()

    # --- inside ---

    def _offer_parts(self, parts: tuple[str, ...]) -> None:
        if self.parts.count() or not parts:
            return
        self.parts.blockSignals(True)
        self.parts.addItem(self.tr("Default"), AS_USUAL)
        self.parts.addItem(self.tr("All parts"), ALL_PARTS)
        self.parts.addItem(self.tr("Content only"), NO_PARTS)
        for part in parts:
            self.parts.addItem(self.tr("Content and {0}").format(part), part)
        self.parts.blockSignals(False)

    def _now(self) -> None:
        self._update()
        self.changed.emit()

    def _later(self) -> None:
        self._update()
        self._soon.start()

    @property
    def _possible(self) -> bool:
        counted = self._outlook is None or self._outlook.objects > 0 or not self.skip_unused.isChecked()
        return bool(self.where.currentText().strip()) and counted

    def _update(self) -> None:
        self.extract.setEnabled(self._possible)
        self._form.setRowVisible(self.parts, self.parts.count() > 0)
        found = self._outlook
        if found is None:
            self.deleted.hide()
            self.warning.hide()
            self.examples.setText("\n" * 2)
            return
        known = f"{'at least ' if found.unknown else ''}{size_text(found.size)}"
        what = self.tr("Whole content in one file") if found.joined else plural(found.objects, "object")
        self.total.setText(f"{what}, {known}")
        unused = f"{plural(found.unused, 'unused slot')}"
        self.skip_unused.setText(self.tr("Skip &unused slots ({0})").format(f"{found.unused:,}"))
        self.skip_unused.setVisible(found.unused > 0)
        words = "listed in the manifest" if not self.skip_unused.isChecked() else "left out"
        self.left_out.setText(f"{unused} {words}" if found.unused else "")
        self.left_out.setVisible(found.unused > 0)
        self.deleted.setVisible(found.deleted > 0)
        self.warning.setVisible(found.deleted > 0)
        text = plural(found.deleted, "tombstoned object")
        self.warning.setText(self.tr("{0}: deleted on request, but still stored").format(text))
        self.warning.setStyleSheet(f"color: {theme.of(self).warning.name()};")
        lines = [shown(cut_middle(str(Path(self.folder.name) / name), 64)) for name in found.examples]
        self.examples.setText("\n".join([*lines, "", "", ""][:3]))
        self.examples.setToolTip(tip("\n".join(str(self.folder / name) for name in found.examples)))

    def _browse(self) -> None:
        ask_folder(self, self.tr("Extract to"), self.where.setEditText, start=str(self.folder))

    def _extract(self) -> None:
        if self._possible:
            self.wanted.emit()

    def _answered(self, policy: Conflict) -> None:
        self._answer = policy
        self.wanted.emit()


@dataclass(frozen=True, slots=True)
class Result:
    wanted: ExtractionRequest
    found: ExtractionOutcome
    job: Job

    @property
    def text(self) -> str:
        return self.found.text(self.wanted.where)

    @property
    def rest(self) -> ExtractionRequest:
        """Request for the objects that were not written; reopens the shard if the connection was lost."""
        if self.found.stopped or self.found.cancelled:
            return _going_on(replace(self.wanted, afresh=self.found.lost))
        rows = [row for row in self.found.again if row >= 0]
        rest = replace(self.wanted, afresh=self.found.lost)
        return replace(rest, rows=RowRanges.of([range(row, row + 1) for row in rows]), counted=None) if rows else rest


class ExtractTask(QObject):
    """Shows the dialog and extracts in lasting jobs; `started` and `finished` carry a `Result`."""

    started = Signal(object)
    finished = Signal(object)

    def __init__(self, session: Session, settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self.session = session
        self._settings = settings
        self._window = parent
        self._last: dict[str, str] = {}

    def ask(self, rows: RowRanges | None) -> ExtractDialog | None:
        """Show the dialog; `rows` of `Shard.objects`, or None for everything."""
        if self.session.shard is None or (rows is not None and not len(rows)):
            return None
        # Do not mix the objects of several files: each file has its own default folder.
        own = self._last.get(self.session.request.uri) or first_folder(self.session.request)
        folders = list(dict.fromkeys([own, *self._settings.folders]))
        sheet = ExtractDialog(Choices.of(self._settings.extraction), folders, self._window)
        open_ = _Open(sheet)
        sheet.changed.connect(lambda: self._count(sheet, rows, open_))
        sheet.wanted.connect(lambda: self._wanted(sheet, rows, open_))
        self.session.closed.connect(sheet.reject)
        # Some desktops do not return the keyboard to the window.
        sheet.finished.connect(lambda _: self._window.window().activateWindow())
        sheet.open()
        self._count(sheet, rows, open_)
        return sheet

    def start(self, wanted: ExtractionRequest) -> Job:
        """Run an extraction in a lasting job, which continues when another file is opened."""
        found = ExtractionOutcome()

        def done(_: ExtractionOutcome | None, error: BaseException | None) -> None:
            if error is not None:
                found.cancelled = isinstance(error, Cancelled)
                found.stopped = "" if found.cancelled else error_text(error)
                found.lost = found.lost or source_lost(error)
                if self.session.shard is wanted.shard:
                    self.session.note_error(error)
            elif found.failed and not found.files:
                job.state = JobState.FAILED
            job.note = result.text
            if found.lost:
                self.session.check_source()
                job.note += "; " + self.tr("press Resume to extract the rest")
                self._leave_open(job, result.rest)
            self.finished.emit(result)

        what = plural(len(wanted.rows), "object") if wanted.rows is not None else "all objects"
        job = self.session.jobs.submit(
            lambda job: write(wanted, job.progress, found),
            priority=JobPriority.SCAN,
            title=f"Extract {what}",
            lasting=True,
            done=done,
        )
        result = Result(wanted, found, job)
        self.started.emit(result)
        return job

    def _when_agreed(self, wanted: ExtractionRequest) -> None:
        total = wanted.shard.listing
        share = 1.0 if wanted.rows is None or not total else min(len(wanted.rows) / max(len(total), 1), 1.0)
        size = int(whole(wanted.shard) * share)
        self.session.with_consent(self.tr("Extracting"), size, lambda: self.start(wanted))

    def retry(self, result: Result) -> Job | None:
        """Extract the rest of a result in its tab; None if its shard is not open any more."""
        wanted = result.rest
        if not self.session.show_shard(wanted.shard) and not wanted.afresh:
            self.session.say(self.tr("Open {0} to try again").format(wanted.request.name), failed=True)
            return None
        return self.start(wanted)

    def _leave_open(self, job: Job, rest: ExtractionRequest) -> None:
        job.state, job.resume = JobState.BROKEN, partial(self._resume, job, rest)

    def _resume(self, job: Job, wanted: ExtractionRequest) -> Job:
        """Continue an interrupted extraction once; existing files are skipped."""
        job.resume, job.note = None, self.tr("resumed")
        self.session.jobs.changed.emit(job)
        return self.start(replace(_going_on(wanted), afresh=True))

    # --- the dialog ---

    def _extraction(self, sheet: ExtractDialog, rows: RowRanges | None, open_: _Open) -> ExtractionRequest | None:
        shard = self.session.shard
        if shard is None or not open_:
            return None
        wanted = ExtractionRequest(shard, self.session.request, rows, sheet.folder, sheet.options)
        counted = open_.counted
        if counted is None or replace(counted, where=wanted.where) != wanted:
            return wanted
        return replace(counted, where=wanted.where)

    def _count(self, sheet: ExtractDialog, rows: RowRanges | None, open_: _Open) -> None:
        wanted = self._extraction(sheet, rows, open_)
        if wanted is None:
            return
        if wanted.counted is not None:
            sheet.show_preview(wanted.counted)
            return

        def take(found: ExtractionPreview) -> None:
            if open_:
                open_.counted = replace(wanted, counted=found)
                sheet.show_preview(found)

        self.session.ask(
            lambda _, job: preview_extraction(wanted, job.progress),
            take,
            failed=lambda error: sheet.show_error(error) if open_ else None,
            key=("preview_extraction", self),
            pool=Pool.CPU,
        )

    def _wanted(self, sheet: ExtractDialog, rows: RowRanges | None, open_: _Open) -> None:
        wanted = self._extraction(sheet, rows, open_)
        if wanted is None:
            return
        if not sheet.asks:
            self._go(sheet, wanted)
            return

        def take(count: int) -> None:
            if not open_:
                return
            if count:
                sheet.ask_conflicts(count)
            else:
                self._go(sheet, wanted)

        sheet.show_busy()
        self.session.ask(
            lambda _, job: existing(wanted, job.progress),
            take,
            failed=lambda error: sheet.show_error(error) if open_ else None,
            key=("existing", self),
            priority=JobPriority.SCREEN,
        )

    def _go(self, sheet: ExtractDialog, wanted: ExtractionRequest) -> None:
        self._settings.extraction = sheet.choices.kept()
        self._settings.add_folder(str(wanted.where))
        self._last[wanted.request.uri] = str(wanted.where)
        sheet.accept()
        self._when_agreed(wanted)


def _going_on(wanted: ExtractionRequest) -> ExtractionRequest:
    """Return the request with existing files skipped instead of refused."""
    if wanted.options.conflict is not Conflict.ERROR:
        return wanted
    return replace(wanted, options=replace(wanted.options, conflict=Conflict.SKIP))


class _Open:
    """True while a dialog is open; `counted` is the last request whose preview was computed."""

    def __init__(self, sheet: ExtractDialog) -> None:
        self._open = True
        self.counted: ExtractionRequest | None = None
        sheet.finished.connect(self._close)
        # Closing the window deletes dialogs without `finished`.
        sheet.destroyed.connect(lambda _: self._close(0))

    def _close(self, _: int) -> None:
        self._open = False

    def __bool__(self) -> bool:
        return self._open
