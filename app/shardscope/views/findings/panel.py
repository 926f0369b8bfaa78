"""Verification panel: buttons for the depth, state of the last run, and findings."""

from __future__ import annotations

import json

from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QStackedLayout,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
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
from shardscope.widgets.dock_table_columns import ColumnRule
from shardscope.widgets.plain_text import tip
from shardscope.widgets.row_table import row_table
from shardscope.widgets.save_picture import add_picture
from shardscope.widgets.table_model import THING_ROLE, Index, TableModel
from shardscope.widgets.wrap_text import WrapText

_ORDER = {severity: number for number, severity in enumerate(Severity)}


class FindingModel(TableModel):
    titles = ("Severity", "Message", "Range", "Code", "Key")
    things: tuple[Finding, ...] = ()

    def set_report(self, report: Report | None) -> None:
        findings = report.findings if report is not None else ()
        self.show_things(tuple(sorted(findings, key=lambda f: _ORDER[f.severity])))

    def finding(self, index: Index) -> Finding:
        return self.things[index.row()]

    def text(self, row: int, column: int) -> str:
        finding = self.things[row]
        span = "" if finding.span is None else span_words(finding.span)
        return (finding.severity.value, grouped(finding.message), span, finding.code, finding.key or "")[column]

    def tip(self, row: int, column: int) -> str:
        return ": ".join(self.text(row, one) for one in (0, 1)) if column < 2 else self.text(row, column)


SIGNS = {Severity.ERROR: "E", Severity.WARNING: "W", Severity.NOTE: "N"}

DEPTHS = {
    Depth.STRUCTURE: "Headers, footers and section layout",
    Depth.INDEX: "Structure and every index entry",
    Depth.CONTENT: "Structure, index and content of every object",
}


class SeverityDelegate(QStyledItemDelegate):
    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        finding = index.data(THING_ROLE)
        if isinstance(finding, Finding) and index.column() == 0:
            colours = theme.of(self._table)
            option.text = f"{SIGNS[finding.severity]}  {finding.severity.value}"
            option.palette.setColor(option.palette.ColorRole.Text, getattr(colours, finding.severity.value))
            option.font.setBold(True)


class FindingsTable(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._job: Job | None = None
        self.model = FindingModel()
        session.notation_changed.connect(self.model.change)
        self.buttons = {depth: self._button(depth) for depth in Depth}
        self.state = WrapText()
        self.state.setObjectName("findingsState")
        self.progress = QProgressBar(self)
        self.progress.setFixedWidth(120)
        self.progress.setAccessibleName(self.tr("Progress of the verification"))
        self.stop = QPushButton(self.tr("Cancel"), self)
        self.stop.clicked.connect(self._cancel)
        self.again = self._again_button()
        self.table = self._table()
        self.setFocusProxy(self.table)
        self.big = QLabel(self)
        self.big.setTextFormat(Qt.TextFormat.PlainText)
        self.big.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.big.setWordWrap(True)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 6, 8, 2)
        bar.setSpacing(10)
        bar.addWidget(QLabel(self.tr("Verify:"), self))
        for button in self.buttons.values():
            bar.addWidget(button)
        bar.addStretch(1)
        self.detail = QLabel(self)
        self.detail.setTextFormat(Qt.TextFormat.PlainText)
        self.detail.setObjectName("findingDetail")
        self.detail.setWordWrap(True)
        self.detail.setContentsMargins(8, 4, 8, 6)
        self.detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._stack = QStackedLayout()
        self._stack.addWidget(self.big)
        self._stack.addWidget(self.table)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(bar)
        layout.addWidget(self._line())
        layout.addLayout(self._stack)
        layout.addWidget(self.detail)
        session.opened.connect(lambda _: self._show(None))
        session.closed.connect(lambda: self._show(None))
        session.findings_changed.connect(self._show)
        session.notation_changed.connect(self.detail.hide)
        session.verifying_changed.connect(self._running)
        session.jobs.changed.connect(self._progress)
        self._show(None)
        self._running(None)

    def _button(self, depth: Depth) -> QPushButton:
        button = QPushButton(depth.value.capitalize(), self)
        button.setToolTip(DEPTHS[depth])
        button.setAccessibleDescription(DEPTHS[depth])
        button.clicked.connect(lambda: self._session.verify(depth))
        return button

    def _line(self) -> QWidget:
        """Return the line with state and buttons; it is as high as a button, so that the table never moves."""
        line = QWidget(self)
        line.setMinimumHeight(self.stop.sizeHint().height())
        how = QHBoxLayout(line)
        how.setContentsMargins(8, 0, 8, 2)
        how.setSpacing(10)
        how.addWidget(self.state, 1, Qt.AlignmentFlag.AlignVCenter)
        for part in (self.progress, self.stop, self.again):
            how.addWidget(part)
        return line

    def _again_button(self) -> QPushButton:
        button = QPushButton(self.tr("Retry"), self)
        button.setObjectName("findingsRetry")
        button.setAccessibleDescription(self.tr("Verify again from the beginning"))
        button.clicked.connect(self._retry)
        return button

    def _table(self) -> QTableView:
        rules = (ColumnRule(), ColumnRule(220), ColumnRule(), ColumnRule(), ColumnRule(180))
        table = row_table(self, self.model, rules, 1, self._choose, self._open_menu, wrapped=True)
        table.setObjectName("findingsTable")
        table.setAccessibleName(self.tr("Findings"))
        table.setItemDelegate(SeverityDelegate(table))
        return table

    def _choose(self, current: QModelIndex, previous: QModelIndex) -> None:
        if not current.isValid():
            return
        finding = self.model.finding(current)
        place = f" ({span_words(finding.span)})" if finding.span is not None else ""
        key = f", key {finding.key}" if finding.key is not None else ""
        self.detail.setText(tip(f"{SIGNS[finding.severity]} {grouped(finding.message)}{place}{key}"))
        self.detail.show()
        if finding.span is not None:
            self._session.select_span(finding.span, self)

    def _open_menu(self, place: QPoint) -> None:
        index = self.table.indexAt(place)
        if index.isValid():
            self.menu_of(self.model.finding(index)).popup(self.table.viewport().mapToGlobal(place))

    def menu_of(self, finding: Finding) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        span, key = finding.span, finding.key

        if span is not None:
            menu.addAction(self.tr("&Select bytes"), lambda: self._session.select_span(span, self))
        if key is not None:
            menu.addAction(self.tr("&Look up key"), lambda: self._session.look_up(key))
        menu.addSeparator()
        menu.addAction(self.tr("&Copy message"), lambda: copy_text(finding.message))
        menu.addAction(self.tr("Copy c&ode"), lambda: copy_text(finding.code))
        if key is not None:
            menu.addAction(self.tr("Copy &key"), lambda: copy_text(key_text(key)))
        if span is not None:
            menu.addAction(self.tr("Copy &range"), lambda: copy_text(f"{span.start}..{span.stop}"))
        menu.addAction(self.tr("Copy as &JSON"), lambda: copy_text(json.dumps(finding.to_json())))
        menu.addSeparator()
        add_picture(menu, self.table, "findings", self._session.say)
        return menu

    def _retry(self) -> None:
        if self._session.report is not None:
            self._session.verify(self._session.report.depth)

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()

    def _running(self, job: Job | None) -> None:
        self._job = job
        for widget in (self.progress, self.stop):
            widget.setVisible(job is not None)
        for button in self.buttons.values():
            button.setEnabled(job is None and self._session.shard is not None)
        if job is not None:
            self.progress.setRange(0, int(playback.reduced()))
            self.state.set_text(self.tr("Running …"))
            self.again.hide()
            self._say("")
        elif self.state.text == self.tr("Running …"):
            self._show(self._session.report)

    def _progress(self, job: Job) -> None:
        if job is self._job and job.total_amount > 0:
            # Amounts may exceed the 32 bits of a progress bar.
            self.progress.setRange(0, 1000)
            self.progress.setValue(1000 * job.done_amount // job.total_amount)

    def _show(self, report: Report | None) -> None:
        self.model.set_report(report)
        self.detail.hide()
        self.again.setVisible(report is not None and bool(report.stopped_after))
        for button in self.buttons.values():
            button.setEnabled(self._session.shard is not None)
        if report is None:
            self.state.set_text(self.tr("Not verified yet"))
            self._say(self.tr("Choose a depth: structure, index or content."))
            return
        # No tick where contents were not verified.
        complete = report.ok and report.depth is Depth.CONTENT and not report.findings and not report.unverified
        text = f"✔ {report.summary}" if complete else report.summary
        self.state.set_text(self.tr("Source unreachable. {0}").format(text) if report.stopped_after else text)
        if report.findings:
            self._stack.setCurrentWidget(self.table)
        else:
            stopped = self.tr("No findings before the source became unreachable")
            self._say(stopped if report.stopped_after else self.tr("No findings"))

    def _say(self, text: str) -> None:
        self.big.setText(text)
        self._stack.setCurrentWidget(self.big)
