"""Findings of a verification, and the report that collects them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any

from shardcore.dataclasses import dataclass
from shardcore.errors import UsageError
from shardcore.model.budget import Budget, budget
from shardcore.model.span import Span
from shardcore.model.text import Displayed, grouped_digits, plural
from shardcore.progress import context_value

MAX_PER_CODE = 1000
"""Maximum number of findings listed per code. Further findings are only counted."""


class Severity(Enum):
    """Severity of a finding. `error`: at least one reader fails or returns wrong bytes. `warning`: none does."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Depth(Enum):
    """Depth of verification; each depth includes the ones before it."""

    STRUCTURE = "structure"
    INDEX = "index"
    CONTENT = "content"

    @classmethod
    def _missing_(cls, value: object) -> Depth:
        raise UsageError(f"unknown depth {value!r}; available: {', '.join(depth.value for depth in cls)}")

    def reaches(self, other: Depth) -> bool:
        """Return whether this depth includes `other`."""
        order = list(Depth)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of verification.

    Attributes:
        code: Code of the problem: the format, a dot, and a name that does not change in later versions.
        span: Bytes that the finding concerns; None for the whole file.
        message: One sentence.
        key: Key of the object, in the text form of the format; None if it concerns no object.
    """

    severity: Severity
    code: str
    span: Span | None
    message: str
    key: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the command line."""
        return {
            "severity": self.severity.value,
            "code": self.code,
            "span": self.span.to_json() if self.span else None,
            "message": self.message,
        } | ({"key": self.key} if self.key is not None else {})


_collected: ContextVar[list[Findings] | None] = ContextVar("collected", default=None)


@contextmanager
def collecting() -> Iterator[list[Findings]]:
    """Yield a list that gets every `Findings` created in this context, so that an interruption does not lose them."""
    found: list[Findings] = []
    with context_value(_collected, found):
        yield found


class Findings:
    """Collector of findings: lists the first `MAX_PER_CODE` of each code, and counts further ones."""

    def __init__(self) -> None:
        if (collected := _collected.get()) is not None:
            collected.append(self)
        self._kept: list[Finding] = []
        self._counts: Counter[str] = Counter()
        self._severities: dict[str, Severity] = {}
        self.verified = self.left_out = 0

    def add(self, finding: Finding) -> None:
        self._counts[finding.code] += 1
        self._severities[finding.code] = finding.severity
        if self._counts[finding.code] <= MAX_PER_CODE:
            self._kept.append(finding)

    def full(self, code: str) -> bool:
        return self._counts[code] >= MAX_PER_CODE

    def more(self, severity: Severity, code: str, count: int) -> None:
        """Count further findings of a code without creating messages."""
        if count > 0:
            self._counts[code] += count
            self._severities[code] = severity

    def error(self, code: str, span: Span | None, message: str, *, key: str | None = None) -> None:
        self.add(Finding(Severity.ERROR, code, span, message, key))

    def warning(self, code: str, span: Span | None, message: str, *, key: str | None = None) -> None:
        """Add a finding about a violated rule that all known readers tolerate."""
        self.add(Finding(Severity.WARNING, code, span, message, key))

    def note(self, code: str, span: Span | None, message: str, *, key: str | None = None) -> None:
        self.add(Finding(Severity.NOTE, code, span, message, key))

    def leave_out(self, code: str, span: Span | None, message: str, *, key: str | None = None, count: int = 1) -> None:
        """Add a warning about `count` objects that were not checked because of a limit; `Report.ok` is then False."""
        self.left_out += count
        self.warning(code, span, message, key=key)

    def all(self) -> tuple[Finding, ...]:
        more = [
            Finding(
                self._severities[code],
                code,
                None,
                f"{plural(count - MAX_PER_CODE, 'more of these is', 'more of these are')} not listed",
            )
            for code, count in self._counts.items()
            if count > MAX_PER_CODE
        ]
        return (*self._kept, *more)


class ContentBudget:
    """Limit on the bytes of contents checked in one file: a small file may refer to the same bytes a million times."""

    def __init__(self, size: int) -> None:
        current = budget()
        if current is None:
            current = Budget()
            current.stored = size
        self._budget = current
        self.unchecked = 0

    @property
    def left(self) -> int:
        return self._budget.left

    def takes(self, size: int) -> bool:
        """Return whether an object of `size` bytes may be checked. After the first False, all objects are left out."""
        if self.unchecked or size > self.left:
            self.unchecked += 1
            return False
        self.spend(max(size, 0))
        return True

    def spend(self, size: int) -> None:
        self._budget.checked += size

    def report(self, findings: Findings, code: str) -> None:
        if self.unchecked:
            what = f"the content of {plural(self.unchecked, 'object')} was not checked"
            text = f"{what}: all objects together are far larger than the file"
            findings.leave_out(code, None, text, count=self.unchecked)


@dataclass(frozen=True, slots=True)
class Report(Displayed):
    """Result of a verification.

    Attributes:
        depth: Depth reached.
        objects: Number of objects.
        findings: The findings.
        checked: Number of objects that were compared with a checksum or hash, or that could not be read.
        without_checksum: Number of objects that have no checksum.
        stopped_after: Progress when the source was lost, such as `41 of 300 files`; empty for a complete report.
        left_out: Number of objects whose content was not checked because of a limit.
    """

    depth: Depth
    objects: int
    findings: tuple[Finding, ...]
    checked: int = 0
    without_checksum: int = 0
    stopped_after: str = ""
    left_out: int = 0

    @property
    def ok(self) -> bool:
        """True if the report is complete and has no finding of severity `error`."""
        complete = not self.stopped_after and not self.left_out
        return complete and all(f.severity is not Severity.ERROR for f in self.findings)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.summary

    @property
    def unverified(self) -> int:
        """Number of objects whose content could not be compared with a checksum; errors in them are not detected."""
        return max(self.objects - self.checked, 0)

    @property
    def summary(self) -> str:
        """Result in a few sentences: findings by severity, then the number of unverified contents."""
        counts = Counter(finding.severity for finding in self.findings)
        errors = plural(counts[Severity.ERROR], "error") if counts[Severity.ERROR] else "No errors"
        warned = f", {plural(counts[Severity.WARNING], 'warning')}" if counts[Severity.WARNING] else ""
        found = f"{errors} found{warned}."
        if self.stopped_after:
            return f"Stopped after {self.stopped_after}. {found}"
        if not self.depth.reaches(Depth.CONTENT):
            return f"{found} Contents were not read (depth {self.depth.value})."
        return " ".join((found, *self._contents()))

    def _contents(self) -> Iterator[str]:
        total = plural(self.objects, "object")
        none = min(self.without_checksum, self.unverified)
        rest = self.unverified - none
        if none:
            how_many = f"{grouped_digits(none)} of {total}" if none < self.objects else total
            have = "has" if none == 1 else "have"
            yield f"{how_many} {have} no checksum: content not verified."
        if rest:
            yield f"Content of {grouped_digits(rest)} of {total} not verified."
        if self.objects and not self.unverified:
            yield f"{total} compared with {'its checksum' if self.objects == 1 else 'their checksums'}."
        if not self.objects and self.ok:
            yield "No objects."

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the command line."""
        return {
            "ok": self.ok,
            "objects": self.objects,
            "unverified": self.unverified,
            "findings": [f.to_json() for f in self.findings],
            **({"left_out": self.left_out} if self.left_out else {}),
        } | ({"stopped_after": self.stopped_after} if self.stopped_after else {})
