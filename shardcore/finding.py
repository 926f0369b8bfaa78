"""What verification says."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Any

from shardcore.errors import UsageError
from shardcore.span import Span
from shardcore.words import plural

MAX_PER_CODE = 1000
"""Findings of one code that are listed one by one; the rest is counted."""


class Severity(Enum):
    """How bad: an `error` means that some reader will fail, or gives wrong bytes."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Depth(Enum):
    """How far verification goes; each depth includes the ones before it."""

    STRUCTURE = "structure"
    INDEX = "index"
    CONTENT = "content"

    @classmethod
    def _missing_(cls, value: object) -> Depth:
        raise UsageError(f"no depth is called {value!r}; there is {', '.join(depth.value for depth in cls)}")

    def reaches(self, other: Depth) -> bool:
        """Whether this depth includes `other`."""
        order = list(Depth)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact that verification found.

    Attributes:
        severity: How bad.
        code: Stable, `format.what`.
        span: The bytes, or None when it is about the whole.
        message: One sentence.
        key: The object, in the text form of the format, when it is about one.
    """

    severity: Severity
    code: str
    span: Span | None
    message: str
    key: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON form of the command line."""
        return {
            "severity": self.severity.value,
            "code": self.code,
            "span": self.span.to_json() if self.span else None,
            "message": self.message,
        } | ({"key": self.key} if self.key is not None else {})


class Findings:
    """Collects findings: the first thousand of each code, then a count."""

    def __init__(self) -> None:
        self._kept: list[Finding] = []
        self._counts: Counter[str] = Counter()
        self._severities: dict[str, Severity] = {}

    def add(self, finding: Finding) -> None:
        """Takes one finding."""
        self._counts[finding.code] += 1
        self._severities[finding.code] = finding.severity
        if self._counts[finding.code] <= MAX_PER_CODE:
            self._kept.append(finding)

    def error(self, code: str, span: Span | None, message: str, *, key: str | None = None) -> None:
        """Some reader will fail here, or gives wrong bytes."""
        self.add(Finding(Severity.ERROR, code, span, message, key))

    def warning(self, code: str, span: Span | None, message: str, *, key: str | None = None) -> None:
        """Against a rule, but every reader copes."""
        self.add(Finding(Severity.WARNING, code, span, message, key))

    def note(self, code: str, span: Span | None, message: str, *, key: str | None = None) -> None:
        """Worth knowing."""
        self.add(Finding(Severity.NOTE, code, span, message, key))

    def all(self) -> tuple[Finding, ...]:
        """What was collected, in order; codes with too many end with a finding that counts the rest."""
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


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verification.

    Attributes:
        depth: How far it went.
        objects: How many objects were looked at.
        findings: What was found.
    """

    depth: Depth
    objects: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no finding of severity error."""
        return all(f.severity is not Severity.ERROR for f in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The JSON form of the command line."""
        return {"ok": self.ok, "objects": self.objects, "findings": [f.to_json() for f in self.findings]}
