"""Extraction of selected objects: by key, by pattern, or all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, field
from shardcore.errors import FormatError, ShardError, UsageError
from shardcore.model.keys import Key, several
from shardcore.model.objects import ObjectRef, Objects, in_states, located, row_steps
from shardcore.model.text import short
from shardcore.operations.description import AS_USUAL, Conflict, Extract, ExtractOptions
from shardcore.operations.extraction.files import (
    EachPlanned,
    Extracted,
    SmallObjects,
    Wanted,
    extract_objects,
    is_empty,
)
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import AT_ONCE, Shard
from shardcore.shards.shard_tasks import ObjectRow, RowsRequest, member_rows, object_rows, wanted_rows
from shardcore.sources.location import local_path

if TYPE_CHECKING:
    from shardcore.sources.remote.upload import BucketFolder

STEP = 1 << 16

Rows = NDArray[np.int64]


def all_rows(objects: Objects) -> Iterator[Rows]:
    return row_steps(len(objects), STEP)


def rows_in_file_order(objects: Objects) -> Iterator[Rows]:
    """Yield all rows in blocks; rows that are slots of a hash function are sorted by the offsets of their objects."""
    order = objects.order("offset") if objects.hashed_rows and "offset" in objects.orders else None
    if order is None:
        yield from all_rows(objects)
        return
    others = np.ones(len(objects), np.bool_)
    others[order] = False
    rows = np.concatenate([order, np.flatnonzero(others)])
    yield from (rows[first : first + STEP] for first in range(0, len(rows), STEP))


def outer_kinds(objects: Objects) -> tuple[int, ...]:
    """Return the codes of the kinds whose objects are not parts of other objects; chunks, for example, are parts."""
    return tuple(code for code, name in enumerate(objects.kinds) if name not in objects.inner_kinds)


def taken_rows(
    objects: Objects, pieces: Iterable[Rows], options: ExtractOptions, kinds: tuple[int, ...] | None = None
) -> Iterator[Rows]:
    """Yield the rows whose state and kind are selected, in blocks; `kinds` are codes, None for all kinds."""
    for rows in pieces:
        columns = objects.columns(rows)
        keep = in_states(columns.state, options.states)
        if kinds is not None:
            keep &= np.isin(columns.kind, kinds)
        yield rows[keep]


def kind_code(shard: Shard, kind: str | None) -> int | None:
    check_kind(kind, shard.objects.kinds)
    return None if kind is None else shard.objects.kinds.index(kind)


def check_kind(kind: str | None, kinds: Collection[str]) -> None:
    """Raise UsageError if `kind` is not one of the `kinds`; if these are empty, any kind is accepted."""
    if kind is not None and kinds and kind not in kinds:
        raise UsageError(f"no objects of kind {short(kind)} (available: {', '.join(kinds)})")


Unreadable = Callable[[str, ShardError], None]
"""Function called with the name and the error of each shard that is left out."""

_USUAL = ExtractOptions()

RUN_BYTES = 4 << 20
"""Bytes of small objects that are read in one batch."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """Result of an extraction.

    Attributes:
        files: Result of each object: in the order of the requested keys, else in row order.
        unreadable: Shards of a data set that were left out, with the reason.
    """

    files: tuple[Extracted, ...]
    unreadable: dict[str, ShardError] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[Extracted, ...]:
        """Results without a file, with the reason in `error`."""
        return tuple(one for one in self.files if one.error)

    @property
    def ok(self) -> bool:
        """True if everything was extracted."""
        return not self.unreadable and not self.failed


def extract(
    shard: Shard,
    folder: str | Path,
    keys: Iterable[Key] | None = None,
    *,
    match: str | None = None,
    kind: str | None = None,
    options: ExtractOptions = _USUAL,
    progress: Progress = no_progress,
) -> Extraction:
    """Extract objects of a shard or data set into files of a folder, with a manifest.

    A corrupt object does not stop the others: it is listed in `Extraction.failed`.

    Args:
        shard: The opened shard, or an argument of `open`: a path, an address, bytes.
        folder: Created if it does not exist.
        keys: The objects. Default: all, except kinds that are parts of others; if a shard has a view of its whole
            content (`all` of bloscpack), only that.
        match: Only keys that match a pattern such as `2026-*`.
        kind: Only objects of a kind, such as `xorb`.
        options: Names, conflicts with existing files, parts, manifest, limit.
        progress: Called after every object; for a data set after every shard.

    Returns:
        The result of each object. If no key matches, nothing is written.

    Raises:
        KeyAbsent: A key was not found; nothing is written.
        UsageError: Keys are combined with `match` or `kind`, a key is malformed, or there is no such kind.
        SourceError: The folder cannot be written to.
    """
    asked = Extract(folder=local_path(folder), keys=keys, match=match, kind=kind, **vars(options))
    unreadable: dict[str, ShardError] = {}
    found = extract_each(shard, asked, progress=progress, unreadable=unreadable.__setitem__)
    with closing(found):
        return Extraction(tuple(found), unreadable)


def extract_each(
    shard: Shard,
    asked: Extract,
    *,
    progress: Progress = no_progress,
    unreadable: Unreadable = lambda name, error: None,
    delivery: BucketFolder | None = None,
) -> Generator[Extracted]:
    """Extract objects as `extract` does, and yield each result as soon as its file is complete.

    `unreadable` is called with each shard of a data set that is left out; `delivery`: see `extract_objects`.
    """
    if asked.keys is not None and not asked.everything:
        raise UsageError("keys cannot be combined with match or kind")
    with ExitStack() as ends:
        each, total = progress, 0
        planned: EachPlanned | None = None
        refs: Iterable[Wanted]
        fresh = asked.conflict is not Conflict.SKIP or (delivery is None and is_empty(Path(asked.folder)))
        if asked.keys is not None:
            wanted = [shard.find(key) for key in several(asked.keys, "keys")]
            refs, total = wanted, len(wanted)
        elif isinstance(shard, DataSet) and shard.joins:
            planned = ends.enter_context(_adapting(shard, fresh))
            members = _MemberRefs(shard, asked, progress, unreadable, fresh)
            ends.callback(members.close)
            each, refs, total = members.close_done, members, int(not members.none)
        else:
            if asked.everything and asked.conflict is not Conflict.SKIP:
                ends.enter_context(shard.reading_all())
            # Small objects are written in batches, unless existing files could conflict.
            over = asked.conflict is Conflict.REPLACE and not is_empty(Path(asked.folder))
            refs, total = _all_refs(shard, asked, progress, delivery is not None or over or not fresh)
            for name, error in shard.unreadable.items() if isinstance(shard, DataSet) else ():
                unreadable(name, error)
        if total or asked.match is None:
            found = extract_objects(
                shard, refs, asked.folder, asked, total=total, progress=each, delivery=delivery, planned=planned
            )
            with closing(found):
                yield from found


@contextmanager
def _adapting(shard: DataSet, fresh: bool) -> Iterator[EachPlanned | None]:
    """Yield a function that sets whether further shards are fetched whole or only their indexes; None if all are whole.

    The function gets True if an object must be read. When an extraction is resumed, the first files exist already.
    """
    whole = shard.whole_member

    def adapted(needed: bool) -> None:
        shard.whole_member = whole if needed else 0

    shard.whole_member = whole if fresh else 0
    try:
        yield None if fresh else adapted
    finally:
        shard.whole_member = whole


def _all_refs(shard: Shard, asked: Extract, progress: Progress, alone: bool) -> tuple[Iterator[Wanted], int]:
    """Return all objects to extract, and their number. If one object is the whole content, only that is returned.

    Kinds that are parts of others (the chunks of a file) are left out unless requested.
    """
    if shard.views and asked.everything:
        return iter([shard.find(shard.views[0])]), 1
    shard.load_index(progress)
    objects, code = shard.objects, kind_code(shard, asked.kind)
    kinds = outer_kinds(objects) if code is None else (code,)
    rows = np.concatenate([np.empty(0, np.int64), *taken_rows(objects, rows_in_file_order(objects), asked, kinds)])
    if asked.match is not None:
        rows = rows[np.array(list(map(asked.takes, objects.key_texts(rows))), bool)]
    return _refs_of(shard, rows, asked, alone), len(rows)


def _refs_of(shard: Shard, rows: Rows, asked: Extract, alone: bool) -> Iterator[Wanted]:
    from shardcore.writing.inputs import SMALL_FILE

    alone |= asked.guess_extension or asked.conflict is Conflict.RENAME or asked.parts != AS_USUAL
    most = SMALL_FILE if asked.limit is None else min(asked.limit, SMALL_FILE)
    for run in small_runs(shard, rows, -1 if alone else most):
        if isinstance(run, SmallObjects):
            yield run
        else:
            yield from shard.objects.each_ref(run, sizes=False)


def small_runs(shard: Shard, rows: Rows, most: int) -> Iterator[SmallObjects | Rows]:
    """Yield all rows in order: as `SmallObjects` if small and without metadata and parts (local files only)."""
    together = most >= 0 and shard.source is not None and shard.source.near
    for first in range(0, len(rows), AT_ONCE):
        few = rows[first : first + AT_ONCE]
        if not together:
            yield few
            continue
        columns, keys = shard.objects.page(few, sizes=True)
        small = shard.bare(columns) & (columns.size >= 0) & (columns.size <= most)
        group = 2 * (np.cumsum(np.where(small, columns.size, 0)) // RUN_BYTES) + small
        edges = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(few)]
        for run in map(slice, edges, edges[1:]):
            if small[run.start]:
                yield SmallObjects(columns.take(run), [key or "" for key in keys[run]])
            else:
                yield few[run]


class _MemberRefs:
    """Iterator of the objects to extract from a data set, shard by shard; an error of one row does not end it.

    A shard is closed when its objects are extracted.
    """

    def __init__(self, shard: DataSet, asked: Extract, progress: Progress, unreadable: Unreadable, fresh: bool) -> None:
        here = shard.tasks is None
        self._request = RowsRequest(
            asked.hidden, asked.kind, outer=True, refs=True, jobs=shard.jobs, contents=fresh, keep=here
        )
        self._shard, self._asked, self._progress = shard, asked, progress
        self._unreadable = unreadable
        # Shards stay open: their objects are fetched and written after they were yielded.
        self._ended = deque[tuple[int, str]]()
        self._rows = self._found()
        self._first = next(self._rows, None)

    @property
    def none(self) -> bool:
        return self._first is None

    def __iter__(self) -> Iterator[ObjectRef | ShardError]:
        return chain([] if self._first is None else [self._first], self._rows)

    def close_done(self, done: int, total: int) -> None:
        while self._ended and self._ended[0][0] <= done:
            self._shard.release(self._ended.popleft()[1])

    def close(self) -> None:
        self._rows.close()

    def _found(self) -> Generator[ObjectRef | ShardError]:
        given = 0
        kinds: dict[str, None] = {}
        with closing(self._shard.each_member(member_rows, self._request, progress=self._progress)) as found:
            for member, result in found:
                if isinstance(result, ShardError):
                    self._unreadable(member.name, result)
                    self._shard.release(member.name)
                    continue
                kinds.update(dict.fromkeys(result.kinds))
                before = given
                for row in self._large(member.name) if result.more else iter(result.rows):
                    if self._asked.takes(None if row.ref is None else row.ref.key):
                        given += 1
                        yield FormatError(row.error) if row.ref is None else located(row.ref, member.name, None)
                if given > before:
                    self._ended.append((given, member.name))
                else:
                    self._shard.release(member.name)
        check_kind(self._asked.kind, kinds)

    def _large(self, name: str) -> Iterator[ObjectRow]:
        with self._shard.borrowed(name) as member:
            member.load_index()
            for rows in all_rows(member.objects):
                columns = member.objects.columns(rows)
                yield from object_rows(member, rows[wanted_rows(member, columns, self._request)])
