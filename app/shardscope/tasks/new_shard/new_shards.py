"""Dialog and job that create shards and open them afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QKeySequence
from PySide6.QtWidgets import QDialog, QStackedWidget, QVBoxLayout, QWidget

from shardcore import Cancelled, Shard
from shardcore.operations.pack import Packed
from shardcore.shards.format import Format
from shardcore.shards.registry import all_formats, format_of
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority, alive
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.new_shard.form import PackForm, Start
from shardscope.tasks.new_shard.form_jobs import LOOK_MILLISECONDS, FormJobs
from shardscope.tasks.new_shard.request import JobStage, NewShardJob, NewShardTarget
from shardscope.tasks.new_shard.result_page import ResultPage, WritingPage, result_text
from shardscope.widgets import fonts

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
