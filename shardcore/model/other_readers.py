"""Behaviour of other readers of a format on damage, as its fact sheet knows: a declaration of the format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from shardcore.model.finding import Finding

SILENT = "silent"
"""Among the codes of findings: wrong bytes are returned, and no check states anything about it."""


class ReaderAnswer(Enum):
    """Behaviour of a reader on bytes for which a check has a finding."""

    WRONG = "returns wrong bytes"
    IGNORES = "does not detect it"
    REFUSES = "refuses"
    CRASHES = "may crash"


@dataclass(frozen=True, slots=True)
class Peer:
    """Behaviour of one reader on some findings.

    Attributes:
        name: The reader, with the version that was tried.
        codes: Codes of findings, as patterns; or `SILENT`.
        answer: What it does.
        says: Reason, in one sentence.
        within: Stretches of the file, half-open, to which it is bound; empty for findings at any place.
    """

    name: str
    codes: tuple[str, ...]
    answer: ReaderAnswer
    says: str
    within: tuple[tuple[int, int], ...] = ()

    def knows(self, findings: Iterable[Finding]) -> bool:
        """Return whether it is about one of some findings."""
        return any(fnmatchcase(one.code, pattern) and self._reaches(one) for one in findings for pattern in self.codes)

    def _reaches(self, finding: Finding) -> bool:
        span = finding.span
        if not self.within or span is None:
            return not self.within
        return not span.source and any(start <= span.start < stop for start, stop in self.within)


def peers_about(peers: Iterable[Peer], findings: Iterable[Finding], *, silent: bool = False) -> tuple[Peer, ...]:
    """Return what is known of other readers about some findings; nothing where nothing was tried.

    Args:
        peers: What is known.
        findings: What the checks state.
        silent: Whether wrong bytes are returned that no check states anything about.
    """
    found = tuple(findings)
    return tuple(peer for peer in peers if peer.knows(found) or (silent and SILENT in peer.codes))
