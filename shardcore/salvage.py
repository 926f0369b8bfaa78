"""What can still be taken out of a damaged file: the terms in which a format declares it.

A format that knows more of its bytes than its index says declares a function (`Format.salvage`) of a `Damaged`, which
yields what it finds as `Found`. It may use the shard, where something of it opens, and has to do without it where
nothing does. Nothing is allocated from a declared count; what is decompressed is bounded by `Damaged.limit`.

`shardcore.salvaging` runs such a function, writes files, and reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np

from shardcore.errors import DEFAULT_LIMIT, ShardError, UsageError, ends_reading
from shardcore.objects import ObjectRef, State
from shardcore.progress import Progress, no_progress
from shardcore.shard import Shard, bounded
from shardcore.sources.base import Source
from shardcore.span import Span

MOST_FOUND = 1_000_000
"""Things that are listed of one file; a hostile one may look like a million empty objects."""

MOST_TRIES = 200_000
"""Places that are looked at in vain for something that may begin there."""

WINDOW = 1 << 20
"""Bytes that are searched at a time."""


def _nobody(source: Source) -> Shard:
    raise UsageError(f"{source.name} cannot be opened from here")


class Condition(Enum):
    """How what was found is."""

    WHOLE = "whole"
    """Something in the file vouches for every byte of it, and agrees."""
    UNCHECKED = "unchecked"
    """It can be taken out, but nothing in the file says whether it is what it was."""
    DAMAGED = "damaged"
    """It is there, and cannot be right."""
    LOST = "lost"
    """The file still names it, and its bytes are not to be had."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A file of which something is to be saved.

    Attributes:
        source: Its bytes.
        shard: What of it opens; None where nothing does.
        limit: Most plain bytes of one object.
        progress: Called with the bytes searched, and all; may raise `Cancelled`.
        reopen: Opens other bytes as the format, and gives what is left of them: of the file with its frame mended.
    """

    source: Source
    shard: Shard | None = None
    reopen: Callable[[Source], Shard] = _nobody
    limit: int = DEFAULT_LIMIT
    progress: Progress = no_progress


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that was found.

    Attributes:
        key: Its key; None where it was found without one.
        name: What its file is called, before it is made safe.
        spans: Where its stored bytes are.
        pieces: Gives its content, and raises where that is damaged; None where there is nothing to be had.
        checked_by: What vouches for the content when `pieces` comes to its end; empty where nothing does.
        why: Why it is damaged or lost, where that is known beforehand.
        without_index: Whether it was found without the index.
    """

    key: str | None
    name: str
    spans: tuple[Span, ...]
    pieces: Callable[[], Iterator[bytes]] | None = None
    checked_by: str = ""
    why: str = ""
    without_index: bool = False


Checked = Callable[[ObjectRef], str]
"""What vouches for the content of an object that was read without an error; empty where nothing does."""


def indexed(damaged: Damaged, checked: Checked, *, kinds: frozenset[str] | None = None) -> Iterator[Found]:
    """The objects that the index still names, as far as something of the shard opens.

    Args:
        damaged: The file.
        checked: What vouches for each of them.
        kinds: Only objects of these kinds; None for all.
    """
    for ref in refs(damaged, kinds):
        assert damaged.shard is not None
        name = ref.key if ref.key is not None else f"row-{ref.row}"
        if ref.error or ref.state is State.DAMAGED:
            yield Found(ref.key, name, ref.spans, why=ref.error or "what leads to it cannot be right")
        else:
            pieces = partial(bounded, damaged.shard, ref, damaged.limit)
            yield Found(ref.key, name, ref.spans, pieces, checked(ref))


def refs(damaged: Damaged, kinds: frozenset[str] | None = None) -> Iterator[ObjectRef]:
    """The objects that are there, row by row, as far as something of the shard opens; what was deleted is left out."""
    shard = damaged.shard
    if shard is None:
        return
    try:
        shard.load_index()
        count = len(shard.objects)
    except ShardError as error:
        if ends_reading(error):
            raise
        return
    for row in _rows(shard, count):
        ref = shard.objects.ref(row)
        if kinds is None or ref.kind in kinds:
            yield ref


def _rows(shard: Shard, count: int) -> Iterator[int]:
    """The rows of objects; those that are unused or deleted are left out a thousand at a time."""
    for first in range(0, min(count, MOST_FOUND), 1000):
        rows = np.arange(first, min(first + 1000, count), dtype=np.int64)
        states = shard.objects.columns(rows).state
        yield from rows[~np.isin(states, (State.UNUSED, State.DELETED, State.TOMBSTONED))].tolist()


def occurrences(
    source: Source, pattern: bytes, start: int, stop: int, progress: Progress = no_progress
) -> Iterator[int]:
    """Where some bytes stand in `[start, stop)` of a source, ascending; read in windows."""
    at = start
    while at < stop:
        progress(at, stop)
        end = min(at + WINDOW, stop)
        window = source.read(at, min(end + len(pattern) - 1, stop))
        here = window.find(pattern)
        while here >= 0:
            yield at + here
            here = window.find(pattern, here + 1)
        at = end


def pieces_of(source: Source, start: int, stop: int) -> Iterator[bytes]:
    """The bytes `[start, stop)` of a source in pieces."""
    for at in range(start, stop, WINDOW):
        yield source.read(at, min(at + WINDOW, stop))


class Covered:
    """Stretches of a file that belong to something already, in any order."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def add(self, start: int, stop: int) -> None:
        """One more."""
        self._ranges.append((start, stop))

    def gaps(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """What of `[start, stop)` belongs to nothing."""
        at = start
        self._ranges.sort()
        for first, last in self._ranges:
            if first > at and at < stop:
                yield at, min(first, stop)
            at = max(at, last)
            if at >= stop:
                return
        if at < stop:
            yield at, stop
