"""Findings on bytes: those on the screen are found, whatever overlaps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shardcore import Finding, Severity, Span
from shardscope.session.marks import Marks

spans = st.tuples(st.integers(0, 200), st.integers(0, 60), st.sampled_from(Severity))


@given(st.lists(spans, max_size=30), st.integers(0, 250), st.integers(1, 60))
def test_marks_that_touch_are_found(found: list[tuple[int, int, Severity]], start: int, size: int) -> None:
    findings = [Finding(s, "a.b", Span("", at, at + n), str(number)) for number, (at, n, s) in enumerate(found)]
    expected = {
        f.message
        for f in findings
        if f.span and f.span.start < start + size and max(f.span.stop, f.span.start + 1) > start
    }
    assert {mark.message for mark in Marks(findings).inside(start, start + size)} == expected


def test_the_worst_comes_first_on_a_byte() -> None:
    findings = [Finding(s, "a.b", Span("", 0, 10), s.value) for s in (Severity.NOTE, Severity.ERROR, Severity.WARNING)]
    marks = Marks(findings)
    assert [mark.message for mark in marks.at(5)] == ["error", "warning", "note"]
    assert [mark.message for mark in marks.inside(0, 10)] == ["note", "warning", "error"]


def test_very_many_marks_are_cut() -> None:
    findings = [Finding(Severity.NOTE, "a.b", Span("", n, n + 1), "note") for n in range(1000)]
    findings.append(Finding(Severity.ERROR, "a.c", Span("", 3, 4), "error"))
    shown = Marks(findings).inside(0, 2000, most=10)
    assert len(shown) == 10
    assert shown[-1].message == "error"
