"""Prefetching of the objects of a remote shard: many small objects with few requests."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from shardcore.errors import ShardError
from shardcore.sources.base import FAR_GAP, merged

if TYPE_CHECKING:
    from shardcore.model.objects import ObjectRef
    from shardcore.shards.shard import Shard

T = TypeVar("T")

MOST_AHEAD = 16 << 20
"""Maximum bytes of an object that is prefetched."""

WINDOW = 2048
"""Number of objects in a window, which are prefetched together: neighbours in the file are fetched as one range."""

WINDOW_BYTES = 32 << 20
"""Maximum number of bytes of the objects in one window; they must stay in the cache until they are read."""

LEAD = 64
"""Extra bytes fetched before an object, where some formats store its length."""

Wanted = tuple[str, int, int]
"""Byte range to prefetch: name of the source, start and stop."""

Place = tuple[str | None, Wanted | None]
"""Member that contains an object (None if unknown), and its byte range (None if it is not prefetched)."""


def fetched_ahead(
    shard: Shard, things: Iterable[T], ref_of: Callable[[T], ObjectRef | None], *, among: int = 1
) -> Iterator[T]:
    """Yield things in order, while the bytes of the objects of the next ones are fetched; only for remote shards.

    `ref_of` returns the object of a thing, or None. `among` shards are processed in parallel, and share `WINDOW_BYTES`.
    """
    jobs = max(shard.jobs, among)
    if jobs <= 1 or (shard.source is not None and shard.source.near):
        yield from things
        return
    iterator, left = iter(things), deque[T]()
    while window := _next_window(iterator, left, ref_of, jobs, WINDOW_BYTES // among):
        groups = deque(_groups([wanted for _, wanted in window]))
        for number, (thing, _) in enumerate(window):
            while groups and groups[0][0] <= number + jobs:
                source, start, stop = groups.popleft()[1]
                with contextlib.suppress(ShardError):
                    shard.bytes_of(source).prefetch(start, stop)
            yield thing


def _next_window(
    things: Iterator[T], left: deque[T], ref_of: Callable[[T], ObjectRef | None], members: int, most: int
) -> list[tuple[T, Wanted | None]]:
    """Return the next things with their byte ranges. A thing that exceeds a limit is put into `left` for the next call.

    A window spans at most `members` shards, since the caller may close earlier ones, and `most` bytes.
    """
    window: list[tuple[T, Wanted | None]] = []
    size, names = 0, set[str]()
    while len(window) < WINDOW:
        thing = left.popleft() if left else next(things, None)
        if thing is None:
            break
        member, wanted = _place_of(thing, ref_of)
        size += wanted[2] - wanted[1] if wanted is not None else 0
        if member is not None:
            names.add(member)
        if window and (size > most or len(names) > members):
            left.append(thing)
            break
        window.append((thing, wanted))
    return window


def _place_of(thing: T, ref_of: Callable[[T], ObjectRef | None]) -> Place:
    try:
        ref = ref_of(thing)
    except (ShardError, IndexError):
        return None, None
    if ref is None:
        return None, None
    if not ref.spans:
        return ref.shard, None
    span = ref.spans[0]
    if span.source not in ("", ref.shard) or span.size > MOST_AHEAD:
        return ref.shard, None
    return ref.shard, (span.source, max(span.start - LEAD, 0), span.stop)


def _groups(window: list[Wanted | None]) -> list[tuple[int, Wanted]]:
    """Merge ranges that are close to each other; return each with the number of the first thing that needs it."""
    found = []
    for source in {wanted[0] for wanted in window if wanted is not None}:
        mine = [(number, wanted) for number, wanted in enumerate(window) if wanted is not None and wanted[0] == source]
        for start, stop, members in merged([wanted[1:] for _, wanted in mine], FAR_GAP):
            found.append((min(mine[member][0] for member in members), (source, start, stop)))
    return sorted(found, key=itemgetter(0))
