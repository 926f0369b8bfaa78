"""*Open as…* and *Reopen with options…*: opening a file with a chosen format and options instead of detected ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled, Depth, Report, Severity, Shard, Span
from shardcore.dataclasses import replace
from shardcore.model.options import Option, OptionPurpose, OptionType
from shardcore.model.text import plural
from shardcore.shards.format import Format
from shardscope.session.display_text import grouped
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.shell.notices import Notices, NoticeTone
from shardscope.startup.single_instance import may_be_link, pasted_link
from shardscope.tasks.form import FieldForm, OptionField, field_for, path_button
from shardscope.widgets.layouts import lay


def no_fit() -> str:
    return QCoreApplication.translate("OpenAs", "The specification does not match the file")


class OpenAsDialog(QDialog):
    """Dialog for path, format and options of a file, or to reopen `shard`. `chosen` carries the `OpenRequest`."""

    chosen = Signal(object)

    def __init__(
        self, request: OpenRequest, formats: Sequence[Format], shard: Shard | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("openWith")
        self.setWindowTitle(self.tr("Reopen with options") if shard is not None else self.tr("Open as"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._formats = {one.name: one for one in formats}
        self._asked_for = request
        self._detected = shard.format if shard is not None else ""
        self.path = QLineEdit(request.shown, self)
        self.path.setPlaceholderText(self.tr("Path, address, or a link copied from Shardscope"))
        self.format = QComboBox(self)
        self.format.addItem(self.tr("Detect automatically"), None)
        for one in formats:
            self.format.addItem(f"{one.title}  ({one.name})", one.name)
        self.format.setCurrentIndex(max(self.format.findData(request.format), 0))
        self.fields: dict[str, OptionField] = {
            option.name: self._field(option, request, shard) for option in _options(formats)
        }
        self.buttons = QDialogButtonBox(self)
        words = "&Reopen" if shard is not None else "&Open"
        self.apply = self.buttons.addButton(words, QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self._lay_out(fixed=shard is not None)
        self.path.textChanged.connect(self._check)
        self.format.currentIndexChanged.connect(self._choose)
        for field in self.fields.values():
            field.changed.connect(self._check)
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        self._choose()
        guessed = next((f for f in self.fields.values() if shard is not None and _read_with(shard, f.option)), None)
        (guessed or (self.format if request.uri else self.path)).setFocus()

    def _field(self, option: Option, request: OpenRequest, shard: Shard | None) -> OptionField:
        given = request.options.get(option.name)
        if shard is None or not _read_with(shard, option):
            return field_for(option, given)
        return field_for(option, given, shard.parameters, _evidence(shard))

    def _lay_out(self, *, fixed: bool) -> None:
        self.path.setReadOnly(fixed)
        buttons = () if fixed else (path_button("File…", self.path), path_button("Folder…", self.path, folder=True))
        self._form = FieldForm()
        self._form.add(self.tr("&File"), self.path, *buttons)
        self._form.add(self.tr("For&mat"), self.format)
        for field in self.fields.values():
            self._form.add_field(field, field.title)
        lay(QVBoxLayout(self), (self._form, 1), self.buttons, margins=(18, 16, 18, 14), spacing=14)

    def _asked(self) -> list[OptionField]:
        chosen = self._formats.get(self.format.currentData() or self._detected)
        return [self.fields[option.name] for option in _options([chosen])] if chosen is not None else []

    def _choose(self) -> None:
        asked = self._asked()
        for field in self.fields.values():
            self._form.setRowVisible(field, field in asked)
        self.resize(660, self.sizeHint().height())
        self._check()

    def _check(self) -> None:
        wrong = any(field.problem() for field in self._asked())
        self.apply.setEnabled(not wrong and bool(self.path.text().strip()))

    @property
    def request(self) -> OpenRequest:
        """Request with the values of the fields; a field that was not changed keeps the option of the first request."""
        values = {field.option.name: field.value() for field in self._asked()}
        options: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        given, begun = self.path.text().strip(), self._asked_for
        if given == begun.shown:
            return replace(begun, format=self.format.currentData(), options=options)
        return OpenRequest(given, self.format.currentData(), options)

    def _accept(self) -> None:
        self.chosen.emit(self.request)
        self.accept()


class OpenAs(QObject):
    def __init__(self, session: Session, notices: Notices, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._notices = notices
        self._window = parent

    def ask(self, request: OpenRequest | None = None) -> Job:
        return self._ask(request or OpenRequest(""), None)

    def change(self) -> Job | None:
        return self._ask(self._session.request, self._session.shard) if self._session.shard is not None else None

    def _ask(self, request: OpenRequest, shard: Shard | None) -> Job:
        def show(formats: Sequence[Format]) -> None:
            first = request
            if request.uri and shard is None and request.format is None:
                # The dialog is shown because a specification is missing: preselect the format that needs one.
                named = next((one.name for one in formats if any(map(_is_spec, one.options))), None)
                first = replace(request, format=named)
            dialog = OpenAsDialog(first, formats, shard, self._window)
            dialog.chosen.connect(self._chosen)
            dialog.open()

        return self._session.with_formats(show, self)

    def _chosen(self, request: OpenRequest) -> None:
        if not may_be_link(request.uri):
            self._open(request)
            return

        def done(found: tuple[str, Span | None] | None, error: BaseException | None) -> None:
            uri, span = found if found is not None else (request.uri, None)
            if not isinstance(error, Cancelled):
                self._open(replace(request, uri=uri), span)

        self._session.jobs.submit(
            lambda _: pasted_link(request.uri), key=("link", self), priority=JobPriority.SCREEN, done=done
        )

    def _open(self, request: OpenRequest, place: Span | None = None) -> None:
        if request.uri == self._session.request.uri and self._session.shard is not None:
            self._session.open(request, select=place or self._session.selection.span)
        else:
            self._session.open_tab(request, place)

    def check_given(self, shard: Shard) -> None:
        """Verify in a job that a specification given by the user matches the file; show a notice if not."""
        if not self._is_given(shard) or shard.damage is not None or self._session.request.sandbox:
            return

        def take(report: Report) -> None:
            wrong = [one for one in report.findings if one.severity is Severity.ERROR]
            if wrong:
                text = f"{no_fit()}: {grouped(wrong[0].message)}"
                if len(wrong) > 1:
                    text = self.tr("{0} ({1} in all)").format(text, plural(len(wrong), "error"))
                self._notices.add_notice(f"{text}.", NoticeTone.WARNING, action=self.tr("Change…"), do=self.change)

        self._session.ask(lambda shard, job: shard.verify(Depth.INDEX, job.progress), take, key=("fit", self))

    def fits_not(self, shard: Shard) -> bool:
        return shard.damage is not None and self._is_given(shard)

    def _is_given(self, shard: Shard) -> bool:
        return bool(shard.parameters) and not shard.evidence and bool(self._session.request.options)

    def show_guess(self, shard: Shard) -> None:
        if shard.damage is None and shard.evidence:
            self._notices.add_notice(guess_text(shard), NoticeTone.NOTE, action=self.tr("Change…"), do=self.change)


def guess_text(shard: Shard) -> str:
    try:
        members = json.loads(shard.parameters)
    except ValueError:
        members = {}
    values = ", ".join(f"{name} {value}" for name, value in members.items() if not name.startswith("@"))
    left = len(shard.sharding.ambiguity) if shard.sharding is not None else 0
    more = f" {plural(left, 'parameter is', 'parameters are')} ambiguous." if left else ""
    return f"Specification inferred from the bytes: {values or 'see Change'}.{more}"


def _options(formats: Sequence[Format]) -> list[Option]:
    found = {one.name: one for format in formats for one in format.options_for(OptionPurpose.OPEN) if not one.hidden}
    return sorted(found.values(), key=lambda option: option.type is not OptionType.JSON)


def _read_with(shard: Shard, option: Option) -> bool:
    """Return whether the shard was opened with parameters of this option, given or inferred."""
    return bool(shard.parameters) and _is_spec(option)


def _is_spec(option: Option) -> bool:
    return option.names_format and option.type is OptionType.JSON


def _evidence(shard: Shard) -> str:
    """Return the evidence for an inferred specification, and what is still unknown, as rich text."""
    found = shard.sharding
    if found is None or not found.evidence:
        return ""
    lines = ["<b>Inferred from the bytes</b>", *(f"✔ {escape(text)}" for text in found.evidence)]
    if found.ambiguity:
        lines += ["<b>Ambiguous</b>", *(f"? {escape(text)}" for text in found.ambiguity)]
    return "<br>".join(lines)
