"""The lookup of one key, walked through step by step. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass

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


def traced(shard: Shard, key: str) -> Trace:
    """The trace of a key; of what is around it when it was pasted with blanks and is no key as it stands.

    The beginning of a key stands for the key where only one begins so, as far as the index is loaded.

    Raises:
        UsageError: The key is not of the format's form, or several keys begin so.
        SourceError: The bytes cannot be had.
    """
    stripped = key.strip()
    try:
        trace = shard.trace(key)
        if trace.outcome == ABSENT and key != stripped:
            trace = shard.trace(stripped)
    except UsageError:
        if key != stripped:
            return traced(shard, stripped)
        if (whole := _completed(shard, stripped)) is None:
            raise
        return shard.trace(whole)
    whole = _completed(shard, stripped) if trace.outcome == ABSENT else None
    return shard.trace(whole) if whole is not None else trace


def _completed(shard: Shard, prefix: str) -> str | None:
    """The key that begins so; None where none does, or where the keys are not loaded.

    Raises:
        UsageError: Several do.
    """
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
