"""The lookup of one key, walked through step by step. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass

from shardcore import Shard, Span, Trace, UsageError
from shardcore.cold import ColdTrace
from shardcore.trace import ABSENT
from shardscope.lights import Light, lights_of


@dataclass(frozen=True, slots=True)
class Walk:
    """Where somebody is in a lookup.

    Attributes:
        key: What was asked for; empty when nothing was.
        trace: How it is found; None while it is looked up, and when it cannot be.
        error: Why it cannot be looked up, or None.
        step: The number of the current step, from 0; -1 before the first.
        cold: What a first reader pays for it, once that is measured.
        cold_error: Why it cannot be measured, or None.
    """

    key: str = ""
    trace: Trace | None = None
    error: BaseException | None = None
    step: int = -1
    cold: ColdTrace | None = None
    cold_error: BaseException | None = None

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return len(self.trace.steps) if self.trace is not None else 0

    @property
    def waits(self) -> bool:
        """Whether a key is being looked up."""
        return bool(self.key) and self.trace is None and self.error is None

    @property
    def lights(self) -> tuple[Light, ...]:
        """What the current step lights."""
        return lights_of(self.trace.steps[self.step]) if self.trace is not None and self.step >= 0 else ()

    @property
    def span(self) -> Span | None:
        """The bytes that the current step is about: the first that are not empty."""
        spans = self.trace.steps[self.step].spans if self.trace is not None and self.step >= 0 else ()
        return next((span for span in spans if span.size), spans[0] if spans else None)


def traced(shard: Shard, key: str) -> Trace:
    """The trace of a key; of what is around it when it was pasted with blanks and is no key as it stands.

    Raises:
        UsageError: The key is not of the format's form.
        SourceError: The bytes cannot be had.
    """
    try:
        trace = shard.trace(key)
    except UsageError:
        if key == key.strip():
            raise
        return shard.trace(key.strip())
    return shard.trace(key.strip()) if trace.outcome == ABSENT and key != key.strip() else trace
