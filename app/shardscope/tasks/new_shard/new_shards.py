"""Dialog and job that create shards and open them afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QFont, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled, Report, Severity, Shard, UsageError
from shardcore.model.text import plural, shown
from shardcore.operations.pack import Packed
from shardcore.shards.format import Format
from shardcore.shards.registry import all_formats, format_of, writes_of
from shardscope.session.debounce import Debounce
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool, alive
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.new_shard.form import PackForm, Start
from shardscope.tasks.new_shard.inputs import InputCount, count
from shardscope.tasks.new_shard.request import (
    ConvertWork,
    JobStage,
    NewShardJob,
    NewShardTarget,
    PackWork,
    Planned,
    Refused,
    note_lines,
)
from shardscope.tasks.new_shard.target import TargetState, look
from shardscope.widgets import fonts
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import LARGE, sized
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.wrap_text import WrapText

T = TypeVar("T")
Take = Callable[[T | None, BaseException | None], None]

SOON_MILLISECONDS = 250
"""Pause in changes, in milliseconds, after which the plan is computed."""

LOOK_MILLISECONDS = 100

AUTO_EXACT = 16 << 20
"""Maximum size in bytes of contents that are read automatically, to compute an exact plan."""


class FormJobs(QObject):
    """Jobs of one form; results are not delivered after `stop`."""

    def __init__(self, form: PackForm, jobs: Jobs) -> None:
        super().__init__(form)
        self._form = form
        self._jobs = jobs
        self._planned: tuple[NewShardJob, Planned] | None = None
        self._soon = Debounce(self, self._plan, SOON_MILLISECONDS)
        self._clock = QTimer(self)
        self._clock.setInterval(LOOK_MILLISECONDS)
        self._clock.timeout.connect(self._look)
        form.contents_changed.connect(self.count)
        form.changed.connect(self._changed)
        form.exact_wanted.connect(lambda: self._plan(unread=False))
        self.count()

    def count(self) -> None:
        if self._form.contents is None:
            self._changed()
            return
        paths = self._form.contents.paths
        self._stop_planning()
        if not paths:
            self._counted(InputCount(), None)
            return
        self._ask(lambda job: count(paths, job.progress), self._counted, "count inputs")
        self._clock.start()

    def _ask(self, work: Callable[[Job], T], take: Take[T], key: str, *, pool: Pool = Pool.IO) -> None:
        def done(result: T | None, error: BaseException | None) -> None:
            # A cancelled job may fail before it notices; its error belongs to an older request.
            if alive(self.stop) and not job.cancelled and not isinstance(error, Cancelled):
                take(result, error)

        job = self._jobs.submit(work, key=(key, self), pool=pool, priority=JobPriority.SCREEN, done=done)

    def stop(self) -> None:
        self._soon.stop()
        self._clock.stop()
        for key in ("count inputs", "plan", "target"):
            if (job := self._jobs.newest((key, self))) is not None:
                job.cancel()

    def _counted(self, counted: InputCount | None, error: BaseException | None) -> None:
        if counted is None:
            self._refuse(error)
            return
        self._planned = None
        self._form.show_counted(counted)
        self._changed()

    def _changed(self) -> None:
        self._look_at_target()
        work = self._form.work
        if work is not None and self._planned is not None and _alike(work, self._planned[0]):
            self._form.show_planned(self._planned[1])
            return
        self._stop_planning()
        if work is None or self._form.options.problem or self._form.counted.problem(skip=self._form.skips):
            self._planned = None
            self._form.plan.show_none(self._form.tr("A preview of the new shard appears here. Nothing is written yet."))
            return
        self._soon.start()

    def _stop_planning(self) -> None:
        self._soon.stop()
        if (job := self._jobs.newest(("plan", self))) is not None:
            job.cancel()

    # --- the target ---

    def _look_at_target(self) -> None:
        target = self._form.target
        if target is None:
            self._form.refresh()
            return
        inputs, members = self._form.inputs, writes_of(self._form.formats.format).members
        self._ask(lambda _: look(target, inputs, members), lambda place, _: self._looked(target, place), "target")

    def _looked(self, target: NewShardTarget, place: TargetState | None) -> None:
        now = self._form.target
        if place is not None and now is not None and (now.path, now.folder) == (target.path, target.folder):
            self._form.place.set_target(place)
            self._form.refresh()

    # --- the plan ---

    def _plan(self, *, unread: bool = True) -> None:
        work = self._form.work
        if work is None:
            return
        self._form.plan.show_busy(self._form.tr("Planning …"))

        def take(planned: Planned | None, error: BaseException | None) -> None:
            if planned is None:
                self._planned = None
                self._refuse(error)
                return
            self._planned = work, planned
            self._form.show_planned(planned)
            if unread and not planned.plan.exact and planned.plan.content <= AUTO_EXACT:
                self._plan(unread=False)

        self._ask(lambda job: work.plan(unread=unread, progress=job.progress), take, "plan", pool=Pool.CPU)
        self._clock.start()

    def _refuse(self, error: BaseException | None) -> None:
        cause = error.error if isinstance(error, Refused) else error
        option = error.option if isinstance(error, Refused) else ""
        # Unreadable input may become readable, so it does not disable *Write*.
        self._form.show_refused(error_text(cause), option, final=isinstance(cause, UsageError))

    # --- how far ---

    def _look(self) -> None:
        if (job := self._jobs.newest(("count inputs", self))) is not None:
            if self._form.contents is not None:
                self._form.contents.show_busy(job.done_amount)
        elif (job := self._jobs.newest(("plan", self))) is not None:
            self._form.plan.show_busy(_planning_text(job))
        else:
            self._clock.stop()


def _planning_text(job: Job) -> str:
    if not job.total_amount:
        return "Planning …"
    return f"Planning … {job.done_amount:,} of {plural(job.total_amount, 'object')}"


def _alike(one: NewShardJob, other: NewShardJob) -> bool:
    """Return whether two jobs have the same plan; the name of the target may differ."""
    if not one.target.alike(other.target):
        return False
    if isinstance(one, PackWork) and isinstance(other, PackWork):
        inputs = [(work.inputs, work.manifest, work.skip_unreadable) for work in (one, other)]
        return inputs[0] == inputs[1]
    if isinstance(one, ConvertWork) and isinstance(other, ConvertWork):
        return one.shard is other.shard and one.keys is other.keys
    return False


MAX_LISTED = 200
"""Maximum number of files, notes and findings listed."""

_SIGNS = {Severity.ERROR: "✖", Severity.WARNING: "▲", Severity.NOTE: "●"}


class WritingPage(QWidget):
    stop_wanted = Signal()
    hide_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("writingPage")
        self.title = Elided(greedy=True, parent=self)
        self.title.setFont(_large(self.title.font()))
        self.bar = QProgressBar(self)
        self.bar.setObjectName("writingBar")
        self.bar.setAccessibleName(self.tr("Progress of writing"))
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.state = plain_label("", "writingState")
        self.buttons = QDialogButtonBox(self)
        self.stop = self.buttons.addButton(self.tr("&Stop"), QDialogButtonBox.ButtonRole.DestructiveRole)
        self.stop.setToolTip(self.tr("Stops writing and removes the partial file"))
        self.hide_button = self.buttons.addButton(self.tr("Run in &background"), QDialogButtonBox.ButtonRole.RejectRole)
        self.hide_button.setToolTip(self.tr("Progress is shown in Activity"))
        for button in (self.stop, self.hide_button):
            button.setAutoDefault(False)
        self.stop.clicked.connect(self.stop_wanted)
        self.hide_button.clicked.connect(self.hide_wanted)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(10)
        column.addWidget(self.title)
        column.addWidget(self.bar)
        column.addWidget(self.state)
        column.addStretch(1)
        column.addWidget(self.buttons)

    def begin(self, name: str) -> None:
        self.title.set_text(self.tr("Writing {0}").format(name))
        self.stop.setEnabled(True)
        self.show_progress(JobStage(), 0)

    def show_progress(self, stage: JobStage, share: int) -> None:
        self.bar.setValue(share)
        done = f"{stage.done:,} of {plural(stage.total, 'object')}" if stage.total else ""
        if stage.verifying:
            self.state.setText(self.tr("Verifying …"))
        else:
            self.state.setText(done or self.tr("Starting …"))


class ResultPage(QWidget):
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("resultPage")
        self.title = Elided(greedy=True, parent=self)
        self.title.setFont(_large(self.title.font()))
        self.verified = WrapText()
        self.text = WrapText()
        self.text.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        inner = QWidget(self)
        lines = QVBoxLayout(inner)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(10)
        lines.addWidget(self.verified)
        lines.addWidget(self.text)
        lines.addStretch(1)
        area = QScrollArea(self)
        area.setObjectName("resultArea")
        area.setAccessibleName(self.tr("Summary"))
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidget(inner)
        self.button = QPushButton(self.tr("&Close"), self)
        self.button.setObjectName("resultClose")
        self.button.clicked.connect(self.closed)
        buttons = QDialogButtonBox(self)
        buttons.addButton(self.button, QDialogButtonBox.ButtonRole.AcceptRole)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(10)
        column.addWidget(self.title)
        column.addWidget(area, 1)
        column.addWidget(buttons)

    def show_result(self, packed: Packed, name: str) -> None:
        sound = packed.report is None or packed.report.ok
        self.title.set_text(self.tr("{0} was written and opened").format(name))
        self.verified.set_text(f"{'✔' if sound else '✖'} {report_text(packed.report)}")
        colours = "ok" if sound else "error"
        self.verified.set_tone(colours)
        self.text.set_text("\n".join(result_lines(packed)))
        self.button.setDefault(True)
        self.button.setFocus()


def report_text(report: Report | None) -> str:
    if report is None:
        return "Not verified."
    return f"Read back: {report.summary}"


def result_lines(packed: Packed) -> list[str]:
    lines = note_lines(packed.notes[:MAX_LISTED], [loss.text for loss in packed.losses])
    lines += [f"● {path} was removed: not part of the new data set" for path in packed.removed[:MAX_LISTED]]
    lines += [f"▲ skipped: {one.why}" for one in packed.skipped[:MAX_LISTED]]
    if len(packed.skipped) > MAX_LISTED:
        lines.append(f"… and {plural(len(packed.skipped) - MAX_LISTED, 'more skipped input')}")
    if packed.report is not None:
        lines += [f"{_SIGNS[one.severity]} {one.message}" for one in packed.report.findings[:MAX_LISTED]]
    if lines:
        lines.append("")
    for file in packed.written[:MAX_LISTED]:
        lines.append(f"{file.path.name} · {plural(file.size, 'byte')}")
    if len(packed.written) > MAX_LISTED:
        lines.append(f"… and {plural(len(packed.written) - MAX_LISTED, 'more file')}")
    return [shown(line) for line in lines]


def result_text(packed: Packed, name: str) -> str:
    size = sum(file.size for file in packed.written)
    files = f"{plural(len(packed.written), 'file')}, " if len(packed.written) > 1 else ""
    skipped = f"{plural(len(packed.skipped), 'input')} skipped. " if packed.skipped else ""
    return f"{name} written: {files}{plural(size, 'byte')}. {skipped}{report_text(packed.report)}"


def _large(font: QFont) -> QFont:
    made = sized(font, LARGE)
    made.setWeight(QFont.Weight.DemiBold)
    return made


FULL = QSize(1240, 790)
"""Size of the dialog in pixels, limited to the window."""

SMALL_PAGE = QSize(580, 190)
"""Size of the progress page in pixels at 100 %."""

RESULT_PAGE = QSize(640, 360)
"""Size of the result page in pixels at 100 %."""


class NewShardDialog(QDialog):
    """Dialog with the pages form, progress and result; reply to `write_wanted` with `begin_writing`."""

    write_wanted = Signal()

    def __init__(self, start: Start, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("packSheet")
        converting = start.shard is not None
        self.setWindowTitle(self.tr("Convert to another format") if converting else self.tr("New shard"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAcceptDrops(not converting)
        self._stop: Callable[[], object] = self.reject
        self.form = PackForm(start, self)
        self.writing = WritingPage(self)
        self.outcome = ResultPage(self)
        self.pages = QStackedWidget(self)
        for page in (self.form, self.writing, self.outcome):
            self.pages.addWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.pages)
        self.form.write_wanted.connect(self.write_wanted)
        self.form.cancel_wanted.connect(self.reject)
        self.writing.hide_wanted.connect(self.reject)
        self.writing.stop_wanted.connect(self._stop_writing)
        self.outcome.closed.connect(self.accept)
        self._form_size = FULL
        self.resize(FULL)

    def minimumSizeHint(self) -> QSize:
        return QSize(420, 300)

    # --- what it is reported ---

    def begin_writing(self, name: str, stop: Callable[[], object]) -> None:
        self.writing.begin(name)
        self._stop = stop
        self._form_size = self.size()
        self.pages.setCurrentWidget(self.writing)
        self._become(SMALL_PAGE * fonts.zoom())
        self.writing.hide_button.setFocus()

    def show_written(self, packed: Packed, name: str, *, stay: bool) -> None:
        """Show the result; without `stay`, close the dialog, since there is nothing to read."""
        if not stay:
            self.accept()
            return
        self.outcome.show_result(packed, name)
        self.pages.setCurrentWidget(self.outcome)
        self._become(RESULT_PAGE * fonts.zoom())

    @property
    def is_written(self) -> bool:
        return self.pages.currentWidget() is self.outcome

    def leave_form(self) -> None:
        """Close the dialog while it shows the form, because its shard was closed; a running job continues."""
        if self.pages.currentIndex() == 0:
            self.reject()

    def show_failed(self, why: str) -> None:
        self.pages.setCurrentWidget(self.form)
        self._become(self._form_size)
        self.form.show_failed(why)

    # --- inside ---

    def _become(self, size: QSize) -> None:
        place = QRect(QPoint(0, 0), size.boundedTo(self._form_size))
        place.moveCenter(self.geometry().center())
        self.setGeometry(place)

    def _stop_writing(self) -> None:
        self.writing.stop.setEnabled(False)
        self._stop()

    # --- events ---

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.source() is None and dropped_paths(event):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        if self.form.contents is not None and self.pages.currentIndex() == 0:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.form.contents.add(dropped_paths(event))


def dropped_paths(event: QDropEvent) -> list[str]:
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]


class NewShards(QObject):
    """Packs and converts: shows the dialog, writes in a lasting job, verifies and opens the result."""

    def __init__(self, session: Session, settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._settings = settings
        self._window = parent
        self.new = QAction(self.tr("&New shard…"), parent)
        self.new.setObjectName("newShard")
        self.new.setShortcut(QKeySequence(QKeySequence.StandardKey.New))
        self.new.setToolTip(self.tr("Packs files and folders into a new shard of any format"))
        self.new.triggered.connect(lambda _: self.ask_new())
        self.convert = QAction(self.tr("Con&vert to…"), parent)
        self.convert.setObjectName("convertTo")
        self.convert.setShortcut(QKeySequence("Ctrl+Shift+N"))
        self.convert.setToolTip(self.tr("Writes all objects into a new shard of another format"))
        self.convert.triggered.connect(lambda _: self.ask_convert())
        self.convert.setEnabled(False)
        self._result = ("", "")
        # Changes of a sandbox are in no file that could be converted.
        session.opened.connect(lambda _: self.convert.setEnabled(not session.request.sandbox))
        session.opened.connect(lambda _: self._opened())
        session.closed.connect(lambda: self.convert.setEnabled(False))

    def ask_new(self, paths: tuple[str, ...] = ()) -> Job:
        return self._ask(paths, None)

    def ask_convert(self) -> Job | None:
        shard = self._session.shard
        return self._ask((), shard) if shard is not None else None

    def _ask(self, paths: tuple[str, ...], shard: Shard | None) -> Job:
        def done(formats: tuple[Format, ...] | None, error: BaseException | None) -> None:
            if formats is None:
                if error is not None and not isinstance(error, Cancelled):
                    self._session.report_error(self.tr("Cannot list the formats"), error)
            elif shard is None or self._session.shard is shard:
                self._show(formats, paths, shard)

        # In a job: the first call imports all formats.
        return self._session.jobs.submit(
            lambda _: all_formats(), key=("formats", self), priority=JobPriority.SCREEN, done=done
        )

    def _show(self, formats: tuple[Format, ...], paths: tuple[str, ...], shard: Shard | None) -> None:
        written = [one for one in formats if one.writes is not None]
        name = self._settings.pack_format
        if shard is not None and name in ("", shard.format):
            name = next((one.name for one in written if one.name != shard.format), "")
        folder = self._settings.pack_folder or str(Path.home())
        request = self._session.request if shard is not None else None
        sheet = NewShardDialog(Start(written, name, folder, paths, shard, request), self._window)
        desk = FormJobs(sheet.form, self._session.jobs)
        sheet.finished.connect(lambda _: desk.stop())
        sheet.write_wanted.connect(lambda: self._write(sheet, desk))
        if shard is not None:
            # A closed shard cannot be planned; writing continues.
            self._session.closed.connect(sheet.leave_form)
        # Some desktops do not return the keyboard to the window.
        sheet.finished.connect(lambda _: self._window.window().activateWindow())
        sheet.open()

    # --- writing ---

    def _write(self, sheet: NewShardDialog, desk: FormJobs) -> None:
        work = sheet.form.work
        if work is None:
            return
        desk.stop()
        self._settings.pack_format = work.target.format
        self._settings.pack_folder = str(work.target.path.parent)
        name, stage = work.target.path.name, JobStage()

        def done(packed: Packed | None, error: BaseException | None) -> None:
            if alive(clock.stop):
                clock.stop()
            if packed is not None:
                job.note = result_text(packed, name)
                self._written(sheet, work, packed)
            else:
                self._failed(sheet, name, error)

        job = self._session.jobs.submit(
            lambda job: work.write(job.progress, stage),
            priority=JobPriority.SCAN,
            title=f"Write {name}",
            lasting=True,
            done=done,
        )
        sheet.begin_writing(name, job.cancel)
        clock = QTimer(sheet)
        clock.setInterval(LOOK_MILLISECONDS)
        clock.timeout.connect(lambda: sheet.writing.show_progress(stage, job.done_amount))
        clock.start()

    def _written(self, sheet: NewShardDialog, work: NewShardJob, packed: Packed) -> None:
        name = work.target.path.name
        if not watches(sheet):
            self._session.say(result_text(packed, name))
            return
        sound = packed.report is None or not packed.report.findings
        sheet.show_written(packed, name, stay=bool(packed.notes or packed.removed or packed.skipped) or not sound)
        self._result = str(work.target.path), result_text(packed, name)
        self._session.open_tab(OpenRequest(str(work.target.path), _named_format(work.target), packed.opening))

    def _opened(self) -> None:
        (path, text), self._result = self._result, ("", "")
        if path and path == self._session.uri:
            QTimer.singleShot(0, self, lambda: self._session.say(text))

    def _failed(self, sheet: NewShardDialog, name: str, error: BaseException | None) -> None:
        if isinstance(error, Cancelled):
            self._session.message.emit(self.tr("Stopped: {0} was not written").format(name))
            words = self.tr("Stopped. Nothing was written.")
        else:
            words = error_text(error)
            if not watches(sheet) and error is not None:
                self._session.report_error(self.tr("Cannot write {0}").format(name), error)
        if watches(sheet):
            sheet.show_failed(words)


def _named_format(target: NewShardTarget) -> str | None:
    """Return the format with which to open the result; None to detect it."""
    found = format_of(target.format)
    return None if (found.begins or found.marks) and not target.folder else target.format


def watches(sheet: NewShardDialog) -> bool:
    return alive(sheet.close) and sheet.isVisible()
