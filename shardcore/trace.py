"""A lookup, told step by step.

There is one code path: a format's lookup takes a `Look`, reads through it and tells it each step. `find` uses a `Look`
that does not listen; `trace` uses one that does. What a step costs is counted where it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, NotAShard, ShardError
from shardcore.objects import ObjectRef
from shardcore.sources.base import Source
from shardcore.sources.wrapped import MeteredSource
from shardcore.span import Span

FOUND = "found"
ABSENT = "absent"
DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a lookup.

    Attributes:
        title: A few words.
        text: One sentence: what is done and what came out.
        spans: The bytes looked at.
        values: What the step produced, by name.
        requests: Ranges read for it; 0 when all was known already.
        bytes: Bytes in those ranges.
    """

    title: str
    text: str
    spans: tuple[Span, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    requests: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole lookup.

    Attributes:
        key: What was looked for, in the text form of the format.
        outcome: `found`, `absent` (the last step proves it) or `damaged`.
        steps: In order.
        ref: The object, when found.
        error: Why it ended, when it was not found.
    """

    key: str
    outcome: str
    steps: tuple[Step, ...]
    ref: ObjectRef | None = None
    error: str = ""


class Look:
    """One lookup under way: counts what is read and keeps what is told.

    Args:
        telling: Whether steps are kept; without it `step` does nothing.
    """

    def __init__(self, *, telling: bool = False) -> None:
        self.telling = telling
        self.steps: list[Step] = []
        self._meters: dict[int, MeteredSource] = {}
        self._told_requests = 0
        self._told_bytes = 0
        self._told_damage: list[Exception] = []

    def meter(self, source: Source) -> MeteredSource:
        """The source to read from in this lookup; what is read through it is counted."""
        if isinstance(source, MeteredSource) and self._meters.get(id(source.base)) is source:
            return source
        return self._meters.setdefault(id(source), MeteredSource(source))

    def step(self, title: str, text: str, *spans: Span, **values: Any) -> None:
        """Tells one step; what was read since the last one is its cost."""
        if not self.telling:
            return
        requests = sum(meter.requests for meter in self._meters.values())
        size = sum(meter.bytes for meter in self._meters.values())
        self.steps.append(Step(title, text, spans, values, requests - self._told_requests, size - self._told_bytes))
        self._told_requests, self._told_bytes = requests, size

    def damaged(self, error: ShardError, text: str = "") -> None:
        """Tells, as a step, where a lookup met damage, or a file that is no shard; the same error is told once."""
        if self.telling and error not in self._told_damage:
            self._told_damage.append(error)
            title = "Not a shard" if isinstance(error, NotAShard) else "Damaged"
            self.step(title, text or error.message, *([error.span] if error.span else []))


def tell(key: str, lookup: Callable[[Look], ObjectRef]) -> Trace:
    """Runs a lookup and tells it.

    Args:
        key: What is looked for.
        lookup: The lookup; it returns the object, or raises `KeyAbsent`, a `FormatError` or `NotAShard`.

    Returns:
        The trace. Errors of the source (the network, a missing file) are raised, not told.
    """
    look = Look(telling=True)
    try:
        ref = lookup(look)
    except KeyAbsent as error:
        return Trace(key, ABSENT, tuple(look.steps), error=error.placed)
    except (FormatError, NotAShard, LimitExceeded) as error:
        look.damaged(error)
        return Trace(key, DAMAGED, tuple(look.steps), error=error.placed)
    return Trace(key, FOUND, tuple(look.steps), ref=ref)
