"""What other readers of a format do about damage, as far as its fact sheet knows: a plain declaration of the format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase


class Answer(Enum):
    """What a reader does where a check of ours finds something."""

    WRONG = "serves wrong bytes"
    IGNORES = "does not notice"
    REFUSES = "refuses"
    CRASHES = "may crash"


@dataclass(frozen=True, slots=True)
class Peer:
    """What one reader does about some findings.

    Attributes:
        name: The reader, with the version that was tried.
        codes: Codes of findings, as patterns.
        answer: What it does.
        says: Why, as a sentence.
    """

    name: str
    codes: tuple[str, ...]
    answer: Answer
    says: str

    def knows(self, codes: Iterable[str]) -> bool:
        """Whether it is about one of some findings."""
        return any(fnmatchcase(code, pattern) for code in codes for pattern in self.codes)


def peers_about(peers: Iterable[Peer], codes: Iterable[str]) -> tuple[Peer, ...]:
    """What is known of other readers about some findings; nothing where nothing was tried."""
    found = tuple(codes)
    return tuple(peer for peer in peers if peer.knows(found))
