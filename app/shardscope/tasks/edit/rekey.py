"""Writing a copy of the open shard with another HMAC key or expiry: dialog and job."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from shardcore import Shard
from shardcore.model.options import Option, OptionPurpose, read_options
from shardcore.writing.declaration import REKEY
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.tasks.edit.edit_switch import EditSwitch
from shardscope.tasks.edit.editor import EditOutcome, title_of
from shardscope.tasks.form import FieldForm, side_button
from shardscope.tasks.task_dialog import Role, Task, TaskDialog
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.fonts import LARGE
from shardscope.widgets.layouts import made
from shardscope.widgets.plain_text import plain_label


class RekeyDialog(TaskDialog):
    name = "rekeySheet"
    words = REKEY.title
    wanted = Signal(dict, Path)
    """Carries the values of the options, and the path of the new file."""

    def __init__(self, options: tuple[Option, ...], session: Session, window: QWidget) -> None:
        super().__init__(session, window)
        place = session.request.folder / Path(session.uri).name
        self.target = made(QLineEdit(str(place.with_suffix(f".rekeyed{place.suffix}")), self), "rekeyTarget")
        self.form = FieldForm(spacing=8, reserved="cwn")
        self.form.add_options(options)
        self.form.add(self.tr("&New file"), self.target, side_button(self.tr("&Choose…"), self._choose))
        self.fields = self.form.fields
        self.writing = False
        self.write = self.add_button(self.tr("&Write"), self._write, Role.AcceptRole)
        self.add_close()
        title = plain_label(title_of(REKEY), size=LARGE)
        help_ = plain_label(QCoreApplication.translate("Verbs", REKEY.help), wrap=True)
        self.lay_out([title, help_, self.form], "rekeyArea", self.tr("Options and target"))
        for changed in (self.form.changed, self.target.textChanged):
            changed.connect(lambda *_: self.show_message(""))
            changed.connect(self.refresh)
        self.resize(620, self.sizeHint().height())
        self.refresh()
        next(iter(self.fields.values())).setFocus()

    def refresh(self, *_: object) -> None:
        complete = bool(self.form.values) and bool(self.target.text().strip())
        self.write.setEnabled(complete and not self.form.problem and not self.writing)

    def _choose(self) -> None:
        # No confirmation here: the library refuses to replace an existing file.
        ask_target(self, self.tr("New file"), self.target.setText, name=self.target.text(), confirms=False)

    def _write(self) -> None:
        self.show_message("")
        self.show_writing(True)
        self.wanted.emit(self.form.values, Path(self.target.text().strip()))

    def show_writing(self, writing: bool) -> None:
        self.writing = writing
        self.refresh()


class RekeyTask(Task):
    news = Signal(EditOutcome)
    sheet: RekeyDialog | None = None

    def __init__(self, session: Session, switch: EditSwitch, window: QWidget) -> None:
        super().__init__(session, window)
        self._switch = switch

    def ask(self) -> RekeyDialog | None:
        options = self._switch.edit_permission.rekey
        if self._session.shard is None or not options:
            return None
        sheet = self.sheet = RekeyDialog(options, self._session, self._window)
        sheet.wanted.connect(partial(self._write, sheet, options))
        sheet.open()
        return sheet

    def _write(self, sheet: RekeyDialog, options: tuple[Option, ...], values: dict[str, object], target: Path) -> None:
        """Write the copy in a job that continues when the dialog is closed."""

        def work(shard: Shard, _: Job) -> None:
            from shardcore.operations.edit import edit_for

            edit_for(shard, REKEY.name)(shard, target, **read_options(options, values, OptionPurpose.REKEY, REKEY.name))

        def take(_: None) -> None:
            if self.sheet is sheet and not sheet.is_closed:
                sheet.accept()
            text = self.tr("{0} was written. The open file is unchanged.").format(target)
            opens = partial(self._session.open_tab, OpenRequest(str(target)))
            self.news.emit(EditOutcome(text, action=self.tr("Open it"), do=opens))

        def ended(error: BaseException | None = None) -> None:
            if self.sheet is sheet and not sheet.is_closed:
                sheet.show_writing(False)
                if error is not None:
                    sheet.show_error(error)

        self._session.ask(
            work,
            take,
            failed=ended,
            stopped=ended,
            key=("rekey", self),
            priority=JobPriority.SELECTED,
            title=self.tr("Write {0}").format(target.name),
            written=True,
        )
