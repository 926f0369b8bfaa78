"""The findings of a verification as a Qt table model."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from shardcore import Finding, Report, Severity
from shardscope.session.words import grouped
from shardscope.widgets.plain_text import shown, tip

FINDING_ROLE = int(Qt.ItemDataRole.UserRole)

COLUMNS = ("Severity", "What", "Where", "Code", "Key")

_ORDER = {severity: number for number, severity in enumerate(Severity)}

Index = QModelIndex | QPersistentModelIndex


class FindingModel(QAbstractTableModel):
    """The findings of a report, the worst first."""

    def __init__(self) -> None:
        super().__init__()
        self._findings: tuple[Finding, ...] = ()

    def set_report(self, report: Report | None) -> None:
        """Shows a report; None: nothing."""
        self.beginResetModel()
        findings = report.findings if report is not None else ()
        self._findings = tuple(sorted(findings, key=lambda f: _ORDER[f.severity]))
        self.endResetModel()

    def finding(self, index: Index) -> Finding:
        """The finding of a row."""
        return self._findings[index.row()]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._findings)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Texts, and the finding itself (`FINDING_ROLE`)."""
        if not index.isValid():
            return None
        finding = self._findings[index.row()]
        if role == FINDING_ROLE:
            return finding
        texts = (
            finding.severity.value,
            grouped(finding.message),
            "" if finding.span is None else grouped(str(finding.span)),
            finding.code,
            finding.key or "",
        )
        if role == Qt.ItemDataRole.DisplayRole:
            return shown(texts[index.column()])
        if role == Qt.ItemDataRole.ToolTipRole:
            text = texts[index.column()]
            return tip(f"{finding.severity.value}: {grouped(finding.message)}" if index.column() < 2 else text) or None
        return None
