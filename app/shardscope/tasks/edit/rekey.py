"""Writing a copy of the open shard with another HMAC key or expiry: dialog and job."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from shardcore.model.options import Option, OptionPurpose, read_options
from shardcore.writing.declaration import REKEY
from shardscope.session.jobs import JobPriority, Pool
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.tasks.edit.edit_switch import EditSwitch, maker
from shardscope.tasks.edit.editor import EditOutcome, title_of
from shardscope.tasks.form import FieldForm, side_button
from shardscope.tasks.task_dialog import Role, TaskDialog
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.fonts import LARGE
from shardscope.widgets.plain_text import plain_label


class RekeyDialog(TaskDialog):
    name = "rekeySheet"
    words = REKEY.title
    written = Signal(Path)

    def __init__(self, options: tuple[Option, ...], session: Session, window: QWidget) -> None:
        super().__init__(session, window)
        self._options = options
        place = session.request.folder / Path(session.uri).name
        self.target = QLineEdit(str(place.with_suffix(f".rekeyed{place.suffix}")), self)
        self.target.setObjectName("rekeyTarget")
        self.form = FieldForm(spacing=8, reserved="cwn")
        self.form.add_options(options)
        self.form.add(self.tr("&New file"), self.target, side_button(self.tr("&Choose…"), self._choose))
        self.fields = self.form.fields
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
        self.write.setEnabled(complete and not self.form.problem and not self.busy)

    def _choose(self) -> None:
        # No confirmation here: the library refuses to replace an existing file.
        ask_target(self, self.tr("New file"), self.target.setText, name=self.target.text(), confirms=False)

    def _write(self) -> None:
        shard, target, values = self.session.shard, Path(self.target.text().strip()), self.form.values
        if shard is None:
            return
        self.show_message("")

        def take(_: object) -> None:
            self.accept()
            self.written.emit(target)

        self.check(
            lambda _: maker(shard, REKEY)(
                shard, target, **read_options(self._options, values, OptionPurpose.REKEY, REKEY.name)
            ),
            take,
            kind="act",
            pool=Pool.IO,
            priority=JobPriority.SELECTED,
            title=self.tr("Write {0}").format(target.name),
        )
        self.refresh()


class RekeyTask(QObject):
    news = Signal(EditOutcome)

    def __init__(self, session: Session, switch: EditSwitch, window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._switch = switch
        self._window = window
        self.sheet: RekeyDialog | None = None

    def ask(self) -> RekeyDialog | None:
        options = self._switch.edit_permission.rekey
        if self._session.shard is None or not options:
            return None
        self.sheet = RekeyDialog(options, self._session, self._window)
        self.sheet.written.connect(self._written)
        self.sheet.open()
        return self.sheet

    def _written(self, target: Path) -> None:
        text = self.tr("{0} was written. The open file is unchanged.").format(target)
        opens = partial(self._session.open_tab, OpenRequest(str(target)))
        self.news.emit(EditOutcome(text, action=self.tr("Open it"), do=opens))
