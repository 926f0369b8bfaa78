"""Findings and reports."""

from __future__ import annotations

import pytest

from shardcore.errors import UsageError
from shardcore.model.finding import MAX_PER_CODE, Depth, Findings, Report, Severity
from shardcore.model.span import Span


def test_an_unknown_depth_is_a_mistake_of_the_caller() -> None:
    assert Depth("index") is Depth.INDEX
    with pytest.raises(UsageError, match="structure, index, content"):
        Depth("deep")


def test_many_findings_of_a_code_are_counted() -> None:
    """The first 1,000 are listed; one finding counts the rest."""
    findings = Findings()
    for number in range(MAX_PER_CODE + 5):
        findings.error("x.many", Span("", number, number + 1), "bad")
    findings.note("x.one", None, "fine")
    found = findings.all()
    assert len(found) == MAX_PER_CODE + 2
    assert (found[-1].code, found[-1].severity) == ("x.many", Severity.ERROR)
    assert found[-1].message.startswith("5 more")


def test_only_errors_make_a_report_bad() -> None:
    findings = Findings()
    findings.warning("x.w", None, "odd")
    findings.note("x.n", None, "so")
    assert Report(Depth.INDEX, 3, findings.all()).ok
    findings.error("x.e", Span("", 1, 2), "bad", key="k")
    report = Report(Depth.INDEX, 3, findings.all())
    assert not report.ok
    assert report.to_json() == {
        "ok": False,
        "objects": 3,
        "unverified": 3,
        "findings": [
            {"severity": "warning", "code": "x.w", "span": None, "message": "odd"},
            {"severity": "note", "code": "x.n", "span": None, "message": "so"},
            {"severity": "error", "code": "x.e", "span": {"start": 1, "stop": 2}, "message": "bad", "key": "k"},
        ],
    }
