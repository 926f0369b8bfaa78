"""New shards: the dialog with contents, format, target, plan and options; the job that writes, and its result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QFont, QKeySequence, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

import shardcore
from shardcore import Cancelled, Report, Severity, Shard, UsageError
from shardcore.model.options import OptionPurpose
from shardcore.model.text import plural, shown
from shardcore.operations.description import Convert, KeyChoice, Pack
from shardcore.shards.format import Format
from shardcore.shards.registry import format_of, writes_of
from shardcore.writing.declaration import KeyRule, Writes
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Job, JobPriority, Pool, alive
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.form import ChoiceField, FieldForm, option_of, setting_of, small_label
from shardscope.tasks.new_shard.contents import ContentsView, InputCount, count
from shardscope.tasks.new_shard.plan_view import PlanView
from shardscope.tasks.new_shard.request import JobStage, NewShardJob, NewShardTarget, Planned, Refused, note_lines
from shardscope.tasks.new_shard.target import TargetState, TargetView, free_path, look, suggested
from shardscope.tasks.task_dialog import LOOK_MILLISECONDS, ProgressPage, ResultPage, Role, Task, TaskDialog
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import LARGE, px, weighted
from shardscope.widgets.layouts import discard, lay, made, new_action
from shardscope.widgets.plain_text import plain_label, tip

AUTO_EXACT = 16 << 20
"""Maximum size in bytes of contents that are read automatically, to compute an exact plan."""

WIDE = 880
"""Width in pixels at 100 % from which there are two columns."""

FULL = QSize(1240, 790)
"""Size of the dialog in pixels, limited to the window."""

OWN = ("skip_unreadable", "manifest", "report", "keys", "plan", "force")
"""Settings of `Pack` and `Convert` that are not among the options: the dialog shows them elsewhere or not at all."""

RULES = {
    KeyChoice.AS_IS.value: "Keep",
    KeyChoice.SHA256.value: "sha256 of the content",
    KeyChoice.NUMBER.value: "Numbers",
    KeyChoice.NAME.value: "File names",
}

SENTENCES = {
    KeyChoice.AS_IS: "Keys are kept. A key that the format cannot store is an error.",
    KeyChoice.SHA256: "The key is the sha256 of the content. Equal contents become one object.",
    KeyChoice.NUMBER: "Objects are numbered from 0 in table order.",
    KeyChoice.NAME: "The key is the file name that extracting would use.",
}

CONVERTED = {"sha256": "the sha256 of the content becomes the key", "number": "objects are numbered from 0"}


class _FormatRow(QFrame):
    """Radio button of a format, with its purpose and limitations; a click anywhere in the row selects it."""

    def __init__(self, format: Format, writes: Writes, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("formatRow")
        self.format = format
        self.button = QRadioButton(format.title, self)
        self.button.setFont(weighted(self.button.font(), QFont.Weight.DemiBold))
        self.button.setAccessibleDescription(f"{writes.purpose} {writes.cannot}")
        self.setToolTip(self.tr("{0}: written as {1}").format(format.name, " ".join(format.suffixes)))
        self._muted = [plain_label(format.name), small_label(writes.cannot)]
        below = small_label(writes.purpose), self._muted[1]
        for label in below:
            label.setContentsMargins(px(20), 0, 0, 0)
        head = lay(QHBoxLayout(), self.button, (self._muted[0], 1), spacing=10)
        lay(QVBoxLayout(self), head, *below, margins=(8, 6, 0, 6), spacing=1)
        self.button.toggled.connect(lambda _: self.paint_frame())
        self.paint_frame()

    def paint_frame(self) -> None:
        colours, chosen = theme.of(self), self.button.isChecked()
        edge, ground = (colours.accent.name(), colours.raised.name()) if chosen else ("transparent", "transparent")
        sheet = f"#formatRow {{ border: 1px solid {edge}; border-radius: 5px; background: {ground}; }}"
        if sheet != self.styleSheet():
            self.setStyleSheet(sheet)
            for label in self._muted:
                theme.write_in(label, "muted")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.button.click()
        self.button.setFocus()


class FormatList(QWidget):
    chosen = Signal()

    def __init__(self, formats: Sequence[Format], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("formatList")
        self._rows = {one.name: _FormatRow(one, one.writes, self) for one in formats if one.writes is not None}
        group = QButtonGroup(self)
        for row in self._rows.values():
            group.addButton(row.button)
        lay(QVBoxLayout(self), *self._rows.values(), spacing=2)
        group.buttonToggled.connect(lambda _, on: self._moved() if on else None)
        self.choose("")

    @property
    def names(self) -> list[str]:
        return list(self._rows)

    @property
    def format(self) -> Format:
        return next(row.format for row in self._rows.values() if row.button.isChecked())

    def choose(self, name: str) -> None:
        """Select a format by name; unknown names select the first."""
        (self._rows.get(name) or next(iter(self._rows.values()))).button.setChecked(True)

    def _moved(self) -> None:
        self.setFocusProxy(self._rows[self.format.name].button)
        self.chosen.emit()


class NewShardDialog(TaskDialog):
    """Form, progress and result of packing `paths` or converting `shard`. Remote input is written to `folder`."""

    name = "packSheet"
    write_wanted = Signal()

    def __init__(
        self,
        formats: Sequence[Format],
        folder: str,
        session: Session,
        window: QWidget,
        *,
        paths: Sequence[str] = (),
        shard: Shard | None = None,
    ) -> None:
        super().__init__(session, window)
        self.setWindowTitle(self.tr("Convert to another format") if shard is not None else self.tr("New shard"))
        self.setAcceptDrops(shard is None)
        self.shard = shard
        self._request = session.request
        self._folder = folder
        self.counted = InputCount()
        self.writing: ProgressPage | None = None
        self.outcome: ResultPage | None = None
        self._refused, self._final = "", True
        self._planned: tuple[NewShardJob, Planned] | None = None
        self._clock = made(QTimer(self, interval=LOOK_MILLISECONDS), timeout=self._show_busy)
        self.contents = ContentsView(paths, folder, self) if shard is None else None
        self.formats = FormatList(formats, self)
        self.place = TargetView(self)
        self.plan = made(PlanView(self), exact_wanted=lambda: self.preview(unread=False))
        self.keys = small_label("", "keysAbout")
        theme.write_in(self.keys, "muted")
        self.options, self._options_page = FieldForm(), QWidget(self)
        self._settings: set[str] = set()
        self.write = self.add_button(self.tr("&Write"), self._write, Role.AcceptRole, "writeButton")
        self.write.setToolTip(self.tr("Writes the shard, verifies it and opens it"))
        self.add_close()
        columns = self._make_columns()
        spoken = self.tr("Contents, format, target, plan and options")
        self.lay_out([columns], "packArea", spoken, tall=columns, beside=True, margin=20)
        self._take_format()
        self.formats.chosen.connect(self._take_format)
        self.formats.chosen.connect(self._changed)
        self.place.changed.connect(self._changed)
        if self.contents is not None:
            self.contents.changed.connect(self._contents_changed)
        self._count()
        self.resize(FULL)

    def _make_columns(self) -> QBoxLayout:
        formats = self._section(self.tr("Format"), self.formats)
        if self.contents is not None:
            formats.addWidget(self.keys)
            source = self._section(self.tr("Contents"), self.contents, self.contents.total)
        else:
            assert self.shard is not None
            source = self._section(self.tr("Source"), self._source(self.shard))
        target, plan = self._section(self.tr("Target"), self.place), self._section(self.tr("Plan"), self.plan)
        self._last = self._section(self.tr("Options"), self._options_page)
        left = lay(QVBoxLayout(), source, formats, 1, spacing=16)
        right = lay(QVBoxLayout(), target, plan, self._last, 1, spacing=16)
        self._columns = lay(QBoxLayout(QBoxLayout.Direction.LeftToRight), (left, 1), (right, 1))
        return self._columns

    def _section(self, title: str, widget: QWidget, beside: QWidget | None = None) -> QVBoxLayout:
        head = lay(QHBoxLayout(), plain_label(title, size=LARGE, bold=True), (beside or QWidget(self), 1), spacing=16)
        return lay(QVBoxLayout(), head, widget, spacing=7)

    def _source(self, shard: Shard) -> QWidget:
        objects = f", {plural(len(shard.listing), 'row')}" if shard.listing is not None else ""
        source = Elided(greedy=True, parent=self)
        source.set_text(f"{self._request.name} ({shard.format}{objects})")
        source.setToolTip(tip(self._request.shown))
        self.rule = ChoiceField(option_of("keys", *setting_of(Convert, "keys")), titles=RULES)
        made(self.rule.box, "keyRule", accessibleName=self.tr("Rule for keys"))
        self.rule.changed.connect(self._explain_keys)
        self.rule.changed.connect(self._changed)
        page = QWidget(self)
        form = FieldForm(page, spacing=7)
        form.add(self.tr("From"), source)
        form.add_field(self.rule, self.tr("&Keys"))
        form.add("", self.keys)
        return page

    def minimumSizeHint(self) -> QSize:
        return QSize(420, 300)

    # --- values of the form ---

    @property
    def target(self) -> NewShardTarget | None:
        path = self.place.path
        if path is None:
            return None
        options = {name: value for name, value in self.options.values.items() if name not in self._settings}
        return NewShardTarget(self.formats.format.name, path, self.place.folder, options, self.place.force)

    @property
    def work(self) -> NewShardJob | None:
        target = self.target
        if target is None or self.options.problem:
            return None
        settings = {name: value for name, value in self.options.settings.items() if name in self._settings}
        if self.shard is not None:
            settings["keys"] = KeyChoice(self.rule.value() or "")
            return NewShardJob(target, settings, self.shard, deleted=self._request.deleted)
        if self.contents is None or not (self.counted.inputs or self._has_content):
            return None
        settings |= {"skip_unreadable": True} if self.skips else {}
        manifest = next(iter(self.counted.manifests), "")
        report = self.contents.report.isChecked()
        return NewShardJob(target, settings, None, self.counted.count, self.counted.plain, manifest, report)

    @property
    def skips(self) -> bool:
        return self.contents is not None and self.contents.skip.isChecked()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths of the inputs; the new shard must not replace them. Empty for a remote shard."""
        if self.contents is not None:
            return self.contents.paths
        return () if self._request.is_remote else (self._request.uri,)

    @property
    def _has_content(self) -> bool:
        return any(field.option.content and field.value() for field in self.options.fields.values())

    # --- changes ---

    def _take_format(self) -> None:
        """Show the options of the chosen format, and below the settings of the operation with their former values."""
        found = self.formats.format
        kept = {name: text for name, text in self.options.kept().items() if name in self._settings}
        page = QWidget(self)
        form = FieldForm(page, spacing=9, helped=True)
        form.add_options(one for one in found.options_for(OptionPurpose.WRITE) if not one.hidden)
        options = set(form.fields)
        form.add_settings(Pack if self.contents is not None else Convert, without=OWN)
        self._settings = set(form.fields) - options
        form.restore(kept)
        form.changed.connect(self._changed)
        self._last.replaceWidget(self._options_page, page)
        discard(self._options_page)
        self._options_page, self.options = page, form
        self._explain_keys()
        self._fit_place()

    def _fit_place(self) -> None:
        found, writes, shard = self.formats.format, writes_of(self.formats.format), self.shard
        many = shard is not None and not shard.views and shard.listing is not None and len(shard.listing) > 1
        self.place.offer(writes, folder=writes.single and (self.counted.count > 1 or many))
        paths, source = (self.contents.paths, "") if self.contents is not None else ((), self._request.shown)
        self.place.suggest(suggested(paths, source, found, folder=self.place.folder, home=self._folder))

    def _explain_keys(self) -> None:
        writes = writes_of(self.formats.format)
        if self.contents is not None:
            self.keys.setText(shown(pack_keys_text(writes)))
        else:
            self.rule.setEnabled(writes.keys is not KeyRule.NONE)
            self.keys.setText(shown(rule_text(KeyChoice(self.rule.value() or ""), writes)))

    def _contents_changed(self) -> None:
        self._refused = ""
        self._fit_place()
        self.refresh()
        self._count()

    def _changed(self) -> None:
        self._refused = ""
        self.refresh()
        self._look_at_target()
        work = self.work
        if work is not None and self._planned is not None and work.alike(self._planned[0]):
            self.plan.show_plan(self._planned[1], work.target.path.name)
            return
        self._soon.stop()
        self.stop("plan")
        if work is None or self.counted.problem(skip=self.skips):
            self._planned = None
            self.plan.show_none(self.tr("A preview of the new shard appears here. Nothing is written yet."))
        else:
            self._soon.start()

    def refresh(self) -> None:
        if self.contents is not None and not self.contents.paths and not self._has_content:
            self.write.setEnabled(False)
            self.show_message(self.tr("Add files or folders to pack."))
            return
        problem = self.counted.problem(skip=self.skips) or self.options.problem or self.place.problem
        blocked = problem.removeprefix("✖ ") or (self._refused if self._final else "")
        self.write.setEnabled(not blocked and self.work is not None)
        text = blocked or self._refused
        self.show_message(f"✖ {text}" if text else "", "error" if text else "muted")

    # --- counting, target and plan, in jobs ---

    def _count(self) -> None:
        paths = self.contents.paths if self.contents is not None else ()
        self._soon.stop()
        self.stop("plan")
        if paths:
            self.check(
                lambda job: count(paths, job.progress), self._counted, self.show_refused, kind="count", pool=Pool.IO
            )
            self._clock.start()
        else:
            self._counted(InputCount())

    def _counted(self, counted: InputCount) -> None:
        self._planned = None
        self.counted = counted
        if self.contents is not None:
            self.contents.show_count(counted)
        self._fit_place()
        self._changed()

    def _look_at_target(self) -> None:
        target = self.target
        if target is None:
            return
        inputs, members = self.inputs, writes_of(self.formats.format).members

        def take(found: tuple[TargetState, Path]) -> None:
            now, (state, free) = self.target, found
            if now is not None and (now.path, now.folder) == (target.path, target.folder):
                self.place.suggest(free)
                if self.place.path == now.path:
                    self.place.set_state(state)
                    self.refresh()

        work = lambda _: (look(target, inputs, members), free_path(target))  # noqa: E731
        self.check(work, take, kind="target", pool=Pool.IO)

    def preview(self, *, unread: bool = True) -> None:
        """Compute the plan. With `unread`, estimate it from sizes, then compute it exactly if this reads little."""
        work = self.work
        if work is None:
            return
        self.plan.show_busy(self.tr("Planning …"))

        def take(planned: Planned) -> None:
            self._planned, self._refused = (work, planned), ""
            self.plan.show_plan(planned, work.target.path.name)
            self.refresh()
            if unread and not planned.plan.exact and planned.plan.content <= AUTO_EXACT:
                self.preview(unread=False)

        plan = partial(work.plan, unread=unread)
        self.check(lambda job: plan(progress=job.progress), take, self.show_refused, kind="plan")
        self._clock.start()

    def show_refused(self, error: BaseException) -> None:
        self._planned = None
        cause, option = (error.error, error.option) if isinstance(error, Refused) else (error, "")
        if not (option and self.options.reject(option, error_text(cause))):
            # Unreadable input may become readable, so it does not disable *Write*.
            self._refused, self._final = error_text(cause), isinstance(cause, UsageError)
        self.plan.show_none(self.tr("No plan: see the message below"))
        self.refresh()

    def _show_busy(self) -> None:
        if (job := self.running("count")) is not None and self.contents is not None:
            self.contents.show_busy(job.done_amount)
        elif (job := self.running("plan")) is not None:
            total = f" {job.done_amount:,} of {plural(job.total_amount, 'object')}" if job.total_amount else ""
            self.plan.show_busy(f"Planning …{total}")
        else:
            self._clock.stop()

    # --- writing and result ---

    def _write(self) -> None:
        self.refresh()
        if self.write.isEnabled():
            self._clock.stop()
            self._soon.stop()
            self.stop()
            self.write_wanted.emit()

    def begin_writing(self, name: str, job: Job, stage: JobStage) -> None:
        def words() -> str:
            done = f"{stage.done:,} of {plural(stage.total, 'object')}" if stage.total else ""
            return self.tr("Verifying …") if stage.verifying else done

        page = ProgressPage(self, job, self.run_in_background, self.tr("Writing {0}").format(name), words)
        page.stop.setToolTip(self.tr("Stops writing and removes the partial file"))
        self.writing = page
        self.show_in_activity(job)

    def show_written(self, packed: shardcore.Packed, name: str) -> None:
        report = packed.report
        if not (packed.notes or packed.removed or packed.skipped or (report is not None and report.findings)):
            self.accept()
            return
        sign, tone = ("✔", "ok") if report is None or report.ok else ("✖", "error")
        title, text = self.tr("{0} was written and opened").format(name), "\n".join(result_lines(packed))
        self.outcome = ResultPage(self, title, f"{sign} {report_text(report)}", tone, text)

    def show_failed(self, why: str) -> None:
        self.show_form()
        self.refresh()
        self.show_message(f"✖ {why}", "error")
        self.write.setFocus()

    def close_with_file(self) -> None:
        """Close the form of a conversion with its shard; a running job continues."""
        if self.shard is not None and not self.pages.currentIndex():
            self.reject()

    # --- events ---

    def reject(self) -> None:
        writes = self.writing is not None and self.pages.currentWidget() is self.writing
        self.run_in_background() if writes else super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        # Qt would delete a dialog that is only hidden.
        event.setAccepted(self.is_closed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide, ways = event.size().width() >= px(WIDE), QBoxLayout.Direction
        self._columns.setDirection(ways.LeftToRight if wide else ways.TopToBottom)
        self._columns.setSpacing(28 if wide else 16)

    def take_files(self, paths: Iterable[str]) -> None:
        if self.contents is not None:
            self.contents.add(paths)


class NewShards(Task):
    written_unseen = Signal(str, object)

    def __init__(self, session: Session, settings: Settings, parent: QWidget) -> None:
        super().__init__(session, parent)
        self._settings = settings
        doc = self.tr("Packs files and folders into a new shard of any format")
        new = new_action(self, self.tr("&New shard…"), self.ask_new, QKeySequence.StandardKey.New)
        self.new = made(new, "newShard", toolTip=doc)
        doc = self.tr("Writes all objects into a new shard of another format")
        convert = new_action(self, self.tr("Con&vert to…"), self.ask_convert, "Ctrl+Shift+N")
        self.convert = made(convert, "convertTo", toolTip=doc, enabled=False)
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
        def show(formats: Sequence[Format]) -> None:
            if shard is None or self._session.shard is shard:
                self._show(formats, paths, shard)

        return self._session.with_formats(show, self)

    def _show(self, formats: Sequence[Format], paths: tuple[str, ...], shard: Shard | None) -> None:
        written = [one for one in formats if one.writes is not None]
        name = self._settings.pack_format
        if shard is not None and name in ("", shard.format):
            name = next((one.name for one in written if one.name != shard.format), "")
        folder = self._settings.pack_folder or str(Path.home())
        sheet = NewShardDialog(written, folder, self._session, self._window, paths=paths, shard=shard)
        sheet.formats.choose(name)
        sheet.write_wanted.connect(lambda: self._write(sheet))
        sheet.open()

    # --- writing ---

    def _write(self, sheet: NewShardDialog) -> None:
        work = sheet.work
        if work is None:
            return
        self._settings.pack_format = work.target.format
        self._settings.pack_folder = str(work.target.path.parent)
        name, stage = work.target.path.name, JobStage()

        def done(packed: shardcore.Packed | None, error: BaseException | None) -> None:
            if packed is not None:
                job.note, job.details = result_text(packed, name), "\n".join(result_lines(packed))
                self._written(sheet, work, packed, job)
            else:
                self._failed(sheet, name, error)

        job = self._session.jobs.submit(
            lambda job: work.write(job.progress, stage),
            priority=JobPriority.SCAN,
            title=f"Write {name}",
            lasting=True,
            done=done,
        )
        sheet.begin_writing(name, job, stage)

    def _written(self, sheet: NewShardDialog, work: NewShardJob, packed: shardcore.Packed, job: Job) -> None:
        name, path = work.target.path.name, str(work.target.path)
        request = OpenRequest(path, _named_format(work.target), packed.opening)
        if not _seen(sheet):
            job.open_result = lambda: self._session.open_tab(request)
            self.written_unseen.emit(result_text(packed, name), job.open_result)
            if alive(sheet.close):
                sheet.accept()
            return
        sheet.show_written(packed, name)
        self._result = path, result_text(packed, name)
        self._session.open_tab(request)

    def _opened(self) -> None:
        (path, text), self._result = self._result, ("", "")
        if path and path == self._session.uri:
            QTimer.singleShot(0, self, lambda: self._session.say(text))

    def _failed(self, sheet: NewShardDialog, name: str, error: BaseException | None) -> None:
        seen, words = _seen(sheet), self.tr("Stopped. Nothing was written.")
        if isinstance(error, Cancelled):
            self._session.message.emit(self.tr("Stopped: {0} was not written").format(name))
        elif error is not None:
            words = error_text(error)
            if not seen:
                self._session.report_error(self.tr("Cannot write {0}").format(name), error)
        if alive(sheet.close):
            sheet.show_failed(words)


def _seen(sheet: NewShardDialog) -> bool:
    return alive(sheet.close) and sheet.isVisible()


def _named_format(target: NewShardTarget) -> str | None:
    found = format_of(target.format)
    return None if (found.begins or found.marks) and not target.folder else target.format


# --- texts ---


def rule_text(choice: KeyChoice, writes: Writes) -> str:
    if writes.keys is KeyRule.NONE:
        return "The format has no keys. A manifest beside it records which object had which key."
    if choice is not KeyChoice.USUAL:
        return SENTENCES[choice]
    if not writes.converted:
        return f"Keys are kept ({writes.key_form})."
    return f"Keys are kept if all are valid ({writes.key_form}); otherwise {CONVERTED[writes.converted]}."


def pack_keys_text(writes: Writes) -> str:
    match writes.keys:
        case KeyRule.CONTENT:
            return f"The key is computed from the content ({writes.key_form}), or given by a manifest."
        case KeyRule.PATH:
            return "The key is the path below the folder, with /, or given by a manifest."
        case KeyRule.OWN:
            return f"The key is the file name without extension ({writes.key_form}), or given by a manifest."
        case _:
            return "The format has no keys. Keys from a manifest are recorded in a manifest beside the shard."


MAX_LISTED = 200

_SIGNS = {Severity.ERROR: "✖", Severity.WARNING: "▲", Severity.NOTE: "●"}


def report_text(report: Report | None) -> str:
    if report is None:
        return "Not verified."
    return f"Read back: {report.summary}"


def result_lines(packed: shardcore.Packed) -> list[str]:
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


def result_text(packed: shardcore.Packed, name: str) -> str:
    size = sum(file.size for file in packed.written)
    files = f"{plural(len(packed.written), 'file')}, " if len(packed.written) > 1 else ""
    skipped = f"{plural(len(packed.skipped), 'input')} skipped. " if packed.skipped else ""
    return f"{name} written: {files}{plural(size, 'byte')}. {skipped}{report_text(packed.report)}"
