"""Known behaviour of other readers on damaged files, as declared by formats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from shardcore.model.finding import Finding

SILENT = "silent"
"""Code for wrong bytes that no check detects."""


class ReaderAnswer(Enum):
    WRONG = "returns wrong bytes"
    IGNORES = "does not detect it"
    REFUSES = "refuses"
    CRASHES = "may crash"


@dataclass(frozen=True, slots=True)
class Peer:
    """Behaviour of one reader on some findings: patterns of codes, or `SILENT`; `within` half-open ranges, if any."""

    name: str
    codes: tuple[str, ...]
    answer: ReaderAnswer
    says: str
    within: tuple[tuple[int, int], ...] = ()

    def knows(self, findings: Iterable[Finding]) -> bool:
        return any(fnmatchcase(one.code, pattern) and self._reaches(one) for one in findings for pattern in self.codes)

    def _reaches(self, finding: Finding) -> bool:
        span = finding.span
        if not self.within or span is None:
            return not self.within
        return not span.source and any(start <= span.start < stop for start, stop in self.within)


def peers_about(peers: Iterable[Peer], findings: Iterable[Finding], *, silent: bool = False) -> tuple[Peer, ...]:
    """Return the known behaviour on some findings; with `silent`, also on wrong bytes that no check detects."""
    found = tuple(findings)
    return tuple(peer for peer in peers if peer.knows(found) or (silent and SILENT in peer.codes))
