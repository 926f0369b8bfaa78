"""Lookup of one key and the step of it that is shown. No Qt here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from shardcore import Shard, Span, Trace, UsageError
from shardcore.operations.cold_cost import ColdTrace
from shardcore.shards.trace import ABSENT
from shardscope.session.highlights import Highlight, highlights_of

LEAST_PREFIX = 4
"""Minimum length in characters of a prefix that is completed to a key."""

STEP = 1 << 16


@dataclass(frozen=True, slots=True)
class TraceWalk:
    """Lookup and its current step.

    Attributes:
        step: Index of the current step; -1 before the first.
        cold: Cost of the lookup on a cold start, once measured.
        begins: If the requested key was not found: the only stored key that begins with it, or empty.
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
        return len(self.trace.steps) if self.trace is not None else 0

    @property
    def waits(self) -> bool:
        return bool(self.key) and self.trace is None and self.error is None

    @property
    def highlights(self) -> tuple[Highlight, ...]:
        return highlights_of(self.trace.steps[self.step]) if self.trace is not None and self.step >= 0 else ()

    @property
    def span(self) -> Span | None:
        spans = self.trace.steps[self.step].spans if self.trace is not None and self.step >= 0 else ()
        return next((span for span in spans if span.size), spans[0] if spans else None)


def trace_of_key(shard: Shard, key: str) -> TraceWalk:
    """Trace a key. With a loaded index, `key` may also be a prefix that only one key has.

    Raises:
        UsageError: The key is malformed, and it is not the prefix of exactly one key.
    """
    stripped = key.strip()
    try:
        trace = shard.trace(key)
        if trace.outcome == ABSENT and key != stripped:
            trace = shard.trace(stripped)
    except UsageError as error:
        if key != stripped:
            return replace(trace_of_key(shard, stripped), key=key)
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
    """Return the only key with a prefix; None if there is none, or if the index is not loaded. O(objects)."""
    if len(prefix) < LEAST_PREFIX or not shard.loaded:
        return None
    objects, found = shard.objects, dict[str, None]()
    for start in range(0, len(objects), STEP):
        texts = objects.key_texts(np.arange(start, min(start + STEP, len(objects)), dtype=np.int64))
        found.update((text, None) for text in texts if text is not None and text.startswith((prefix, prefix.lower())))
        if len(found) > 1:
            first, second = list(found)[:2]
            raise UsageError(f"several keys begin with {prefix}: {first}, {second} …; type more characters")
    return next(iter(found), None)
