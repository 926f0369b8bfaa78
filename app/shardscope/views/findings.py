"""Verification panel: buttons for the depth, state of the last run, and findings."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from shardcore import Depth, Finding, Report, Severity
from shardcore.model.text import key_text
from shardscope.session.display_text import grouped, span_words
from shardscope.session.jobs import Job
from shardscope.session.session import Session
from shardscope.widgets import playback, theme
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.table import Column, RowTable, TableModel, TableOrText, context_menu
from shardscope.widgets.wrap_text import WrapText

SIGNS = {Severity.ERROR: "E", Severity.WARNING: "W", Severity.NOTE: "N"}

DEPTHS = {
    Depth.STRUCTURE: "Headers, footers and section layout",
    Depth.INDEX: "Structure and every index entry",
    Depth.CONTENT: "Structure, index and content of every object",
}

_ORDER = {severity: number for number, severity in enumerate(Severity)}


def _severity(finding: Finding) -> int:
    return _ORDER[finding.severity]


def _first_byte(finding: Finding) -> tuple[str, int]:
    return ("", -1) if finding.span is None else (finding.span.source, finding.span.start)


def _message_tip(finding: Finding) -> str:
    return f"{finding.severity.value}: {grouped(finding.message)}"


def _signed(option: QStyleOptionViewItem, colours: theme.Palette, finding: Finding) -> None:
    option.text = f"{SIGNS[finding.severity]}  {finding.severity.value}"
    option.palette.setColor(option.palette.ColorRole.Text, getattr(colours, finding.severity.value))
    option.font.setBold(True)


COLUMNS = (
    Column("Severity", lambda finding: finding.severity.value, tip=_message_tip, key=_severity, look=_signed),
    Column(
        "Message",
        lambda finding: grouped(finding.message),
        220,
        tip=_message_tip,
        key=lambda finding: finding.message,
        stretched=True,
    ),
    Column("Range", lambda finding: "" if finding.span is None else span_words(finding.span), key=_first_byte),
    Column("Code", lambda finding: finding.code, key=lambda finding: finding.code),
    Column("Key", lambda finding: finding.key or "", 180, key=lambda finding: finding.key or ""),
)


class FindingsTable(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._job: Job | None = None
        self.model = TableModel(None, COLUMNS)
        self.buttons = {depth: self._button(depth) for depth in Depth}
        self.state = made(WrapText(), "findingsState")
        self.progress = made(QProgressBar(self), accessibleName=self.tr("Progress of the verification"))
        self.progress.setFixedWidth(120)
        self.stop = made(QPushButton(self.tr("Cancel"), self), clicked=self._cancel)
        about = self.tr("Verify again from the beginning")
        self.again = made(
            QPushButton(self.tr("Retry"), self), "findingsRetry", accessibleDescription=about, clicked=self._retry
        )
        self.table = RowTable(
            self.model,
            self,
            "findingsTable",
            self.tr("Findings"),
            self._choose,
            lambda row: self.menu_of(self.model.things[row]),
            wrapped=True,
        )
        self.setFocusProxy(self.table)
        self.detail = plain_label("", "findingDetail", wrap=True)
        self.detail.setContentsMargins(8, 4, 8, 6)
        self.detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        verify = QLabel(self.tr("Verify:"), self)
        bar = lay(QHBoxLayout(), verify, *self.buttons.values(), 1, margins=(8, 6, 8, 2), spacing=10)
        # As high as a button, so that the table never moves.
        line = made(QWidget(self), minimumHeight=self.stop.sizeHint().height())
        row = lay(
            QHBoxLayout(line), (self.state, 1), self.progress, self.stop, self.again, margins=(8, 0, 8, 2), spacing=10
        )
        row.setAlignment(self.state, Qt.AlignmentFlag.AlignVCenter)
        self._body = TableOrText(self.table, self)
        lay(QVBoxLayout(self), bar, line, self._body, self.detail)
        for signal, slot in (
            (session.opened, lambda _: self._show(None)),
            (session.closed, lambda: self._show(None)),
            (session.verification.changed, self._show),
            (session.verification.running_changed, self._running),
            (session.jobs.changed, self._progress),
            (session.notation_changed, self.model.change),
            (session.notation_changed, self.detail.hide),
        ):
            signal.connect(slot)
        self._show(None)
        self._running(None)

    def _button(self, depth: Depth) -> QPushButton:
        about, start = DEPTHS[depth], lambda: self._session.verification.start(depth)
        button = QPushButton(depth.value.capitalize(), self)
        return made(button, toolTip=about, accessibleDescription=about, clicked=start)

    def _choose(self, row: int) -> None:
        finding = self.model.things[row]
        place = f" ({span_words(finding.span)})" if finding.span is not None else ""
        key = f", key {finding.key}" if finding.key is not None else ""
        self.detail.setText(tip(f"{SIGNS[finding.severity]} {grouped(finding.message)}{place}{key}"))
        self.detail.show()
        if finding.span is not None:
            self._session.select_span(finding.span, self)

    def menu_of(self, finding: Finding) -> QMenu:
        span, key, session = finding.span, finding.key, self._session
        entries = [
            span is not None and (self.tr("&Select bytes"), lambda: session.select_span(span, self)),
            key is not None and (self.tr("&Look up key"), lambda: session.lookup.start(key)),
            None,
            (self.tr("&Copy message"), lambda: copy_text(finding.message)),
            (self.tr("Copy c&ode"), lambda: copy_text(finding.code)),
            key is not None and (self.tr("Copy &key"), lambda: copy_text(key_text(key))),
            span is not None and (self.tr("Copy &range"), lambda: copy_text(f"{span.start}..{span.stop}")),
            (self.tr("Copy as &JSON"), lambda: copy_text(json.dumps(finding.to_json()))),
        ]
        return context_menu(self.table, entries, "findings", session.say)

    def _retry(self) -> None:
        if self._session.verification.report is not None:
            self._session.verification.start(self._session.verification.report.depth)

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()

    def _running(self, job: Job | None) -> None:
        self._job, focused = job, QApplication.focusWidget()
        keyboard = focused is not None and self.isAncestorOf(focused)
        self._enable()
        for widget in (self.progress, self.stop):
            widget.setVisible(job is not None)
        if job is not None:
            playback.show_progress(self.progress, job)
            self.state.set_text(self.tr("Running …"))
            self.again.hide()
            self._body.show_table(False)
        elif self.state.text == self.tr("Running …"):
            self._show(self._session.verification.report)
        if keyboard:
            # The focused button was disabled, or the focused table hidden.
            (self.stop if job is not None else next(iter(self.buttons.values()))).setFocus()

    def _enable(self) -> None:
        for button in self.buttons.values():
            button.setEnabled(self._job is None and self._session.shard is not None)

    def _progress(self, job: Job) -> None:
        if job is self._job and job.total_amount > 0:
            playback.show_progress(self.progress, job)

    def _show(self, report: Report | None) -> None:
        self.model.show_things(tuple(sorted(report.findings, key=_severity)) if report is not None else ())
        self.detail.hide()
        self.again.setVisible(report is not None and bool(report.stopped_after))
        self._enable()
        if report is None:
            self.state.set_text(self.tr("Not verified yet"))
            self._body.show_table(False, self.tr("Choose a depth: structure, index or content."))
            return
        # No tick where contents were not verified.
        complete = report.ok and report.depth is Depth.CONTENT and not report.findings and not report.unverified
        text = f"✔ {report.summary}" if complete else report.summary
        self.state.set_text(self.tr("Source unreachable. {0}").format(text) if report.stopped_after else text)
        none = self.tr("No findings before the source became unreachable" if report.stopped_after else "No findings")
        self._body.show_table(bool(report.findings), none)
