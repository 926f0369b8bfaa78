"""The lookup of one key, walked through step by step. No Qt here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from shardcore import Shard, Span, Trace, UsageError
from shardcore.operations.cold_cost import ColdTrace
from shardcore.shards.trace import ABSENT
from shardscope.session.highlights import Light, lights_of

LEAST_PREFIX = 4
"""Letters of the beginning of a key that may stand for it."""

STEP = 1 << 16
"""Keys compared at a time."""


@dataclass(frozen=True, slots=True)
class TraceWalk:
    """Position in the steps of a lookup.

    Attributes:
        key: What was requested; empty when nothing was.
        trace: How it is found; None while it is looked up, and when it cannot be.
        error: Reason why it cannot be looked up, or None.
        step: The number of the current step, from 0; -1 before the first.
        cold: What a first reader pays for it, once that is measured.
        cold_error: Reason why it cannot be measured, or None.
        begins: The one key that begins with an absent key; empty if there is none.
    """

    key: str = ""
    trace: Trace | None = None
    error: BaseException | None = None
    step: int = -1
    cold: ColdTrace | None = None
    cold_error: BaseException | None = None
    begins: str = ""

    @property
    def steps(self) -> int:
        """Return how many steps there are."""
        return len(self.trace.steps) if self.trace is not None else 0

    @property
    def waits(self) -> bool:
        """Return whether a key is being looked up."""
        return bool(self.key) and self.trace is None and self.error is None

    @property
    def lights(self) -> tuple[Light, ...]:
        """Return what the current step lights."""
        return lights_of(self.trace.steps[self.step]) if self.trace is not None and self.step >= 0 else ()

    @property
    def span(self) -> Span | None:
        """The bytes that the current step is about: the first that are not empty."""
        spans = self.trace.steps[self.step].spans if self.trace is not None and self.step >= 0 else ()
        return next((span for span in spans if span.size), spans[0] if spans else None)


def looked_up(shard: Shard, key: str) -> TraceWalk:
    """Look a key up, before its first step; a pasted key may have blanks around it.

    A text that is no key of the format stands for the one key that begins so, as far as the index is loaded.
    """
    stripped = key.strip()
    try:
        trace = shard.trace(key)
        if trace.outcome == ABSENT and key != stripped:
            trace = shard.trace(stripped)
    except UsageError as error:
        if key != stripped:
            return replace(looked_up(shard, stripped), key=key)
        if (whole := _completed(shard, stripped)) is not None:
            return TraceWalk(key, shard.trace(whole))
        if not shard.loaded:
            raise
        more = "no key has this prefix" if len(stripped) >= LEAST_PREFIX else f"type at least {LEAST_PREFIX} characters"
        raise UsageError(f"{error.message}; {more}") from error
    if trace.outcome != ABSENT:
        return TraceWalk(key, trace)
    with suppress(UsageError):
        return TraceWalk(key, trace, begins=_completed(shard, stripped) or "")
    return TraceWalk(key, trace)


def _completed(shard: Shard, prefix: str) -> str | None:
    """Return the key that begins so; None where none does, or where the keys are not loaded."""
    if len(prefix) < LEAST_PREFIX or not shard.loaded:
        return None
    objects, found = shard.objects, dict[str, None]()
    for start in range(0, len(objects), STEP):
        texts = objects.key_texts(np.arange(start, min(start + STEP, len(objects)), dtype=np.int64))
        found.update((text, None) for text in texts if text is not None and text.startswith((prefix, prefix.lower())))
        if len(found) > 1:
            first, second = list(found)[:2]
            raise UsageError(f"several keys begin with {prefix}: {first}, {second} …; type more of one")
    return next(iter(found), None)
