"""Table model of the findings of a verification, sorted by severity."""

from __future__ import annotations

from shardcore import Finding, Report, Severity
from shardscope.session.display_text import grouped, span_words
from shardscope.widgets.table_model import Index, TableModel

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
