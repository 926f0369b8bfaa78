"""Extraction of objects to files: the dialog, the job, and resuming after an interruption."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from shardcore import Cancelled
from shardcore.dataclasses import dataclass, replace
from shardcore.errors import source_lost
from shardcore.model.options import Option, OptionType
from shardcore.model.text import plural, shown, size_text
from shardcore.operations.extraction import ALL_PARTS, AS_USUAL, NO_PARTS, Conflict, ExtractOptions
from shardscope.session.display_text import cut_middle, error_text
from shardscope.session.extraction import (
    ExtractionOutcome,
    ExtractionPreview,
    ExtractionRequest,
    existing,
    preview_extraction,
    write,
)
from shardscope.session.index import whole
from shardscope.session.jobs import Job, JobPriority, JobState
from shardscope.session.object_rows import RowRanges
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.form import ChoiceField, FieldForm, FlagField, FolderBox, TwoWayField
from shardscope.tasks.task_dialog import PAGE_MARGINS, Role, TaskDialog
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import path_of
from shardscope.widgets.fonts import LARGE
from shardscope.widgets.layouts import grid_in, lay, made
from shardscope.widgets.plain_text import plain_label, tip

ASK = "ask"
"""Policy *Ask* for existing files, which only the dialog has, in addition to those of `Conflict`."""

POLICIES = {
    ASK: "Ask",
    Conflict.SKIP.value: "Skip",
    Conflict.RENAME.value: "Keep both (rename)",
    Conflict.REPLACE.value: "Replace",
}

ANSWERS = {
    Conflict.SKIP: ("&Skip them", "Existing files stay; their objects are not written"),
    Conflict.RENAME: ("Keep &both", "The new files are called “name (2)”"),
    Conflict.REPLACE: ("&Replace them", "Existing files are overwritten"),
}

WITHOUT = ("limit",)
"""Settings without a field in the dialog: it extracts objects of any size, since the job can be cancelled."""

PASSING = ("parts", "deleted")
"""Settings that are not remembered for the next extraction, since they depend on the file."""


class ExtractDialog(TaskDialog):
    name = "extractSheet"
    words = "Extract objects"
    chosen = Signal(ExtractionRequest)

    def __init__(self, request: ExtractionRequest, folders: list[str], kept: dict[str, str], task: ExtractTask) -> None:
        super().__init__(task.session, task.window)
        self._request = request
        self._counted: ExtractionRequest | None = None
        self._answer: Conflict | None = None
        self._make_form(folders)
        self.form.restore({"folders": "yes", **kept})
        self.extract = self.add_button(self.tr("&Extract"), self._act, Role.AcceptRole)
        self.add_close()
        self.lay_out([self.total, self.left_out, self.form], "extractArea", self.tr("Choices"), margin=20)
        for slot in (lambda _: self.refresh(), self._soon.again):
            self.where.editTextChanged.connect(slot)
        self.form.changed.connect(self.preview)
        self.refresh()
        self.resize(max(self.sizeHint().width(), 620), self.sizeHint().height())
        self.where.setFocus()
        self.where.line.selectAll()

    def _make_form(self, folders: list[str]) -> None:
        self.total = plain_label(self.tr("Counting …"), size=LARGE, bold=True)
        self.left_out, self.warning, self.examples = (Elided(greedy=True, parent=self) for _ in range(3))
        self.left_out.setText(" ")
        self.examples.setFont(theme.fixed_font())
        self.where = FolderBox(folders, self.tr("Extract to"), characters=20)
        names = Option("folders", OptionType.FLAG, "A key such as a/b/c.txt becomes the file c.txt in the folder a/b")
        policy = Option("conflict", OptionType.CHOICE, "", default=ASK, choices=tuple(POLICIES))
        unused = "Leaves unused slots out of the manifest. They are never written as files."
        self.parts = ChoiceField(Option("parts", OptionType.CHOICE, "", default=AS_USUAL))
        conflict = ChoiceField(policy, titles=POLICIES)
        self.conflict = conflict.box
        self.skip_unused = FlagField(
            Option("skip_unused", OptionType.FLAG, unused, default=True), title=self.tr("Skip unused slots")
        )
        deleted = FlagField(Option("deleted", OptionType.FLAG, ""), title=self.tr("Include deleted objects"))
        self.deleted = deleted.box
        own = {
            "folders": TwoWayField(names, "", self.tr("&Sub-folders from keys"), self.tr("All in &one folder")),
            "conflict": conflict,
            "parts": self.parts,
        }
        form = self.form = FieldForm(reserved="ebcso")
        form.add(self.tr("&To"), self.where, self.where.browse)
        form.add_settings(ExtractOptions, own=own, without=WITHOUT)
        form.add_field(self.skip_unused, "")
        form.add_field(deleted, "")
        form.add("", self.warning)
        form.add(self.tr("First files"), self.examples)
        self._rows = {self.parts: "parts", self.skip_unused: "unused", deleted: "deleted", self.warning: "deleted"}

    # --- values of the form ---

    @property
    def options(self) -> ExtractOptions:
        values = self.form.settings
        policy = self._answer or Conflict(values.pop("conflict", Conflict.ERROR))
        return ExtractOptions(**values, conflict=policy)

    @property
    def folder(self) -> Path:
        return path_of(self.where.text)

    @property
    def request(self) -> ExtractionRequest:
        """Extraction as entered in the fields, with its preview if that was already computed."""
        wanted = replace(self._request, where=self.folder, options=self.options)
        known = self._counted
        return replace(known, where=wanted.where) if known and replace(known, where=wanted.where) == wanted else wanted

    @property
    def kept(self) -> dict[str, str]:
        return {name: text for name, text in self.form.kept().items() if name not in PASSING}

    # --- preview ---

    def preview(self) -> None:
        self.refresh()
        wanted = self.request

        def take(found: ExtractionPreview) -> None:
            self._counted = replace(wanted, counted=found)
            self.show_message("")
            self.refresh()
            self.fit()

        if wanted.counted is not None:
            take(wanted.counted)
        else:
            self.check(lambda job: preview_extraction(wanted, job.progress), take, priority=JobPriority.SELECTED)

    def refresh(self) -> None:
        found = self._counted.counted if self._counted is not None else None
        skips = self.skip_unused.box.isChecked()
        counted = found is None or found.objects > 0 or not skips
        self.extract.setEnabled(bool(self.where.text) and counted and self.running("act") is None)
        for part, name in self._rows.items():
            self.form.setRowVisible(part, bool(found and getattr(found, name)))
        if found is None:
            self.examples.setText("\n" * 2)
            return
        if found.parts and not self.parts.option.choices:
            titles = {AS_USUAL: self.tr("Default"), ALL_PARTS: self.tr("All parts"), NO_PARTS: self.tr("Content only")}
            titles |= {part: self.tr("Content and {0}").format(part) for part in found.parts}
            self.parts.offer(tuple(titles), titles)
        known = f"{'at least ' if found.unknown else ''}{size_text(found.size)}"
        what = self.tr("Whole content in one file") if found.joined else plural(found.objects, "object")
        self.total.setText(f"{what}, {known}")
        self.skip_unused.box.setText(self.tr("Skip &unused slots ({0})").format(f"{found.unused:,}"))
        words = "left out" if skips else "listed in the manifest"
        self.left_out.setText(f"{plural(found.unused, 'unused slot')} {words}")
        self.left_out.setVisible(found.unused > 0)
        text = plural(found.deleted, "tombstoned object")
        self.warning.setText(self.tr("{0}: deleted on request, but still stored").format(text))
        theme.write_in(self.warning, "warning")
        lines = [shown(cut_middle(str(Path(self.folder.name) / name), 64)) for name in found.examples]
        self.examples.setText("\n".join([*lines, "", "", ""][:3]))
        self.examples.setToolTip(tip("\n".join(str(self.folder / name) for name in found.examples)))

    # --- run ---

    def _act(self) -> None:
        wanted = self.request
        if self._answer is not None or self.conflict.currentData() != ASK:
            self._go(wanted)
            return
        self.show_message(self.tr("Checking for existing files …"))
        self.check(lambda job: existing(wanted, job.progress), partial(self._found_existing, wanted), kind="act")
        self.refresh()

    def _found_existing(self, wanted: ExtractionRequest, count: int) -> None:
        if count:
            self.show_page(self._question(count))
            self.answers[Conflict.SKIP].setDefault(True)
            self.answers[Conflict.SKIP].setFocus()
        else:
            self._go(wanted)

    def _question(self, count: int) -> QWidget:
        page = QWidget(self)
        be = "exists" if count == 1 else "exist"
        text = self.tr("{0} {1} already").format(plural(count, "file"), be)
        where = Elided(greedy=True, parent=page)
        where.setText(self.tr("in {0}").format(shown(cut_middle(str(self.folder), 70))))
        where.setToolTip(tip(str(self.folder)))
        grid = grid_in(None, 14, 8, (0, 8, 0, 0))
        grid.setColumnStretch(1, 1)
        self.answers: dict[Conflict, QPushButton] = {}
        for row, (policy, (words, doc)) in enumerate(ANSWERS.items()):
            button = self.answers[policy] = made(QPushButton(words), f"conflict_{policy}", accessibleDescription=doc)
            button.clicked.connect(lambda _, policy=policy: self._answered(policy))
            grid.addWidget(button, row, 0)
            grid.addWidget(QLabel(doc), row, 1)
        self.back = made(QPushButton(self.tr("Ba&ck")), clicked=self._show_choices)
        cancel = made(QPushButton(self.tr("Cancel")), clicked=self.reject)
        title, foot = plain_label(text, size=LARGE, bold=True, wrap=True), lay(QHBoxLayout(), self.back, 1, cancel)
        lay(QVBoxLayout(page), title, where, grid, 1, foot, margins=PAGE_MARGINS, spacing=10)
        return page

    def _answered(self, policy: Conflict) -> None:
        self._answer = policy
        self._go(self.request)

    def _show_choices(self) -> None:
        self.show_form()
        self.show_message("")
        self.extract.setDefault(True)
        self.refresh()
        self.where.setFocus()

    def _go(self, wanted: ExtractionRequest) -> None:
        self.accept()
        self.chosen.emit(wanted)


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
        rest = replace(self.wanted, afresh=self.found.lost)
        if self.found.stopped or self.found.cancelled:
            return _going_on(rest)
        rows = [row for row in self.found.again if row >= 0]
        return replace(rest, rows=RowRanges.of([range(row, row + 1) for row in rows]), counted=None) if rows else rest


class ExtractTask(QObject):
    started = Signal(Result)
    finished = Signal(Result)

    def __init__(self, session: Session, settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self.session = session
        self.window = parent
        self._settings = settings
        self._last: dict[str, str] = {}

    def ask(self, rows: RowRanges | None) -> ExtractDialog | None:
        """Show the dialog for `rows` of `Shard.objects`, or for all objects if that is None."""
        shard, request = self.session.shard, self.session.request
        if shard is None or (rows is not None and not len(rows)):
            return None
        # Do not mix the objects of several files: each file has its own default folder.
        own = self._last.get(request.uri) or str(request.folder / f"{Path(request.name).stem or 'objects'}-objects")
        folders = list(dict.fromkeys([own, *self._settings.folders]))
        sheet = ExtractDialog(ExtractionRequest(shard, request, rows, Path()), folders, self._settings.extraction, self)
        sheet.chosen.connect(lambda wanted: self._chosen(wanted, sheet.kept))
        sheet.open()
        sheet.preview()
        return sheet

    def _chosen(self, wanted: ExtractionRequest, kept: dict[str, str]) -> None:
        self._settings.extraction = kept
        self._settings.add_folder(str(wanted.where))
        self._last[wanted.request.uri] = str(wanted.where)
        total = wanted.shard.listing
        share = 1.0 if wanted.rows is None or not total else min(len(wanted.rows) / max(len(total), 1), 1.0)
        size = int(whole(wanted.shard) * share)
        self.session.with_consent(self.tr("Extracting"), size, lambda: self.start(wanted))

    def start(self, wanted: ExtractionRequest) -> Job:
        """Run an extraction in a lasting job, which continues when another file is opened."""
        found = ExtractionOutcome()

        def done(_: ExtractionOutcome | None, error: BaseException | None) -> None:
            if error is not None:
                found.cancelled = isinstance(error, Cancelled)
                found.stopped = "" if found.cancelled else error_text(error)
                found.lost = found.lost or source_lost(error)
                if self.session.shard is wanted.shard:
                    self.session.watch.note_error(error)
            elif found.failed and not found.files:
                job.state = JobState.FAILED
            job.note, job.details = result.text, "\n".join(f"{one.name}: {one.reason}" for one in found.failures)
            if found.lost:
                self.session.watch.check()
                job.note += "; " + self.tr("press Resume to extract the rest")
                job.state, job.resume = JobState.BROKEN, partial(self._resume, job, result.rest)
            self.finished.emit(result)

        what = plural(len(wanted.rows), "object") if wanted.rows is not None else "all objects"
        job = self.session.jobs.submit(
            lambda job: write(wanted, job.progress, found),
            priority=JobPriority.SCAN,
            title=f"Extract {what}",
            lasting=True,
            done=done,
        )
        job.unit = "byte"
        result = Result(wanted, found, job)
        self.started.emit(result)
        return job

    def retry(self, result: Result) -> Job:
        """Extract the objects that `result` lacks, in the tab of its shard; a closed shard is opened again."""
        wanted = result.rest
        is_open = self.session.documents.show_shard(wanted.shard)
        return self.start(wanted if is_open else replace(wanted, afresh=True))

    def _resume(self, job: Job, wanted: ExtractionRequest) -> Job:
        """Continue an interrupted extraction; files that exist are skipped. The job cannot be resumed again."""
        job.resume, job.note = None, self.tr("resumed")
        self.session.jobs.changed.emit(job)
        return self.start(replace(_going_on(wanted), afresh=True))


def _going_on(wanted: ExtractionRequest) -> ExtractionRequest:
    if wanted.options.conflict is not Conflict.ERROR:
        return wanted
    return replace(wanted, options=replace(wanted.options, conflict=Conflict.SKIP))
