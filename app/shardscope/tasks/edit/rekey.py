"""Writing a copy of the open shard with another HMAC key or expiry: dialog and job."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled, Shard
from shardcore.model.options import Option, OptionPurpose, read_options
from shardcore.model.text import shown
from shardcore.writing.declaration import REKEY
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.tasks.edit.edit_permission import maker
from shardscope.tasks.edit.edit_switch import EditSwitch
from shardscope.tasks.edit.editor import EditOutcome, title_of
from shardscope.widgets import theme
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.fonts import LARGE
from shardscope.widgets.option_fields import FieldForm, field_for
from shardscope.widgets.plain_text import plain_label


class RekeyDialog(QDialog):
    wanted = Signal()

    def __init__(self, options: tuple[Option, ...], target: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("rekeySheet")
        self.setWindowTitle(title_of(REKEY))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._options = options
        self.fields = {option.name: field_for(option, None) for option in options}
        self.target = QLineEdit(str(target), self)
        self.target.setObjectName("rekeyTarget")
        self.trouble = plain_label(wrap=True)
        self.buttons = QDialogButtonBox(self)
        self.write = self.buttons.addButton(self.tr("&Write"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self._lay_out()
        for field in self.fields.values():
            field.changed.connect(self._check)
        self.target.textChanged.connect(lambda _: self._check())
        self.write.clicked.connect(lambda _: self.wanted.emit())
        self.buttons.rejected.connect(self.reject)
        self._check()
        next(iter(self.fields.values())).setFocus()

    def _lay_out(self) -> None:
        title = plain_label(title_of(REKEY), size=LARGE)
        help_ = plain_label(QCoreApplication.translate("Verbs", REKEY.help), wrap=True)
        choose = QPushButton(self.tr("&Choose…"), self)
        choose.setAutoDefault(False)
        choose.clicked.connect(lambda _: self._choose())
        form = FieldForm(spacing=8)
        for field in self.fields.values():
            form.add(f"&{field.title}", field)
        form.add(self.tr("&New file"), self.target, choose)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(10)
        for part in (title, help_):
            column.addWidget(part)
        column.addLayout(form)
        column.addWidget(self.trouble)
        column.addStretch(1)
        column.addWidget(self.buttons)
        self.resize(620, self.sizeHint().height())

    @property
    def values(self) -> dict[str, Any]:
        found = {name: field.value() for name, field in self.fields.items()}
        return {name: value for name, value in found.items() if value is not None}

    def show_error(self, text: str) -> None:
        self.trouble.setText(shown(text))
        self.trouble.setStyleSheet(f"color: {theme.of(self).error.name()};")
        self.trouble.setVisible(bool(text))

    def _check(self) -> None:
        wrong = next((text for field in self.fields.values() if (text := field.problem())), "")
        self.show_error(wrong)
        self.write.setEnabled(not wrong and bool(self.values) and bool(self.target.text().strip()))

    def _choose(self) -> None:
        # No confirmation here: the library refuses to replace an existing file.
        ask_target(self, self.tr("New file"), self.target.setText, name=self.target.text(), confirms=False)


class RekeyTask(QObject):
    news = Signal(object)

    def __init__(self, session: Session, switch: EditSwitch, window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._switch = switch
        self._window = window
        self.sheet: RekeyDialog | None = None
        session.closed.connect(self._close)

    def ask(self) -> RekeyDialog | None:
        options, uri = self._switch.edit_permission.rekey, self._session.uri
        if self._session.shard is None or not options:
            return None
        self._close()
        place = self._session.request.folder / Path(uri).name
        sheet = self.sheet = RekeyDialog(options, place.with_suffix(f".rekeyed{place.suffix}"), self._window)
        sheet.wanted.connect(lambda: self._write(sheet, options, sheet.values, Path(sheet.target.text().strip())))
        sheet.finished.connect(lambda _: self._closed(sheet))
        sheet.open()
        return sheet

    def _close(self) -> None:
        if self.sheet is not None:
            self.sheet.reject()

    def _closed(self, sheet: RekeyDialog) -> None:
        if self.sheet is sheet:
            self.sheet = None

    def _write(self, sheet: RekeyDialog, options: tuple[Option, ...], values: Mapping[str, Any], target: Path) -> None:
        def work(shard: Shard, _: Job) -> None:
            maker(shard, REKEY)(shard, target, **read_options(options, values, OptionPurpose.REKEY, REKEY.name))

        def take(_: None) -> None:
            sheet.accept()
            text = self.tr("{0} was written. The open file is unchanged.").format(target)
            opens = partial(self._session.open_tab, OpenRequest(str(target)))
            self.news.emit(EditOutcome(text, action=self.tr("Open it"), do=opens))

        def failed(error: BaseException) -> None:
            if self.sheet is sheet and not isinstance(error, Cancelled):
                sheet.show_error(error_text(error))
                sheet.write.setEnabled(True)

        sheet.write.setEnabled(False)
        self._session.ask(
            work,
            take,
            failed=failed,
            stopped=lambda: sheet.write.setEnabled(True),
            key=("rekey", self),
            priority=JobPriority.SELECTED,
            title=self.tr("Write {0}").format(target.name),
            written=True,
        )
