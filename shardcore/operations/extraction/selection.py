"""Extraction of selected objects: by key, by pattern, or all of them."""

from __future__ import annotations

import fnmatch
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shardcore.errors import FormatError, ShardError, UsageError
from shardcore.model.keys import Key, several
from shardcore.model.objects import ObjectRef, State, located
from shardcore.operations.extraction.default_objects import (
    all_rows,
    kind_code,
    no_kind,
    outer_kinds,
    rows_in_file_order,
    taken_rows,
)
from shardcore.operations.extraction.files import EachPlanned, Extracted, extract_objects
from shardcore.operations.extraction.options import Conflict, ExtractOptions
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard
from shardcore.shards.shard_tasks import ObjectRow, RowsRequest, member_rows, object_rows, wanted_rows

if TYPE_CHECKING:
    from shardcore.sources.remote.upload import BucketFolder

Unreadable = Callable[[str, ShardError], None]
"""Callback with name and error of a shard that is left out."""

_USUAL = ExtractOptions()

REFS_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class Extraction:
    """Result of an extraction.

    Attributes:
        files: Result of each object, in the order of the rows, or of the keys.
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
    unreadable: dict[str, ShardError] = {}
    found = extract_each(
        shard,
        folder,
        keys,
        match=match,
        kind=kind,
        options=options,
        progress=progress,
        unreadable=unreadable.__setitem__,
    )
    with closing(found):
        return Extraction(tuple(found), unreadable)


def extract_each(
    shard: Shard,
    folder: str | Path,
    keys: Iterable[Key] | None = None,
    *,
    match: str | None = None,
    kind: str | None = None,
    options: ExtractOptions = _USUAL,
    progress: Progress = no_progress,
    unreadable: Unreadable = lambda name, error: None,
    delivery: BucketFolder | None = None,
) -> Generator[Extracted]:
    """Extract objects as `extract` does, and yield each result as soon as its file is complete.

    `unreadable` is called with each shard of a data set that is left out; `delivery`: see `extract_objects`.
    """
    if keys is not None and (match is not None or kind is not None):
        raise UsageError("keys cannot be combined with match or kind")
    with ExitStack() as ends:
        each, total = progress, 0
        planned: EachPlanned | None = None
        refs: Iterable[ObjectRef]
        if keys is not None:
            wanted = [shard.find(key) for key in several(keys, "keys")]
            refs, total = wanted, len(wanted)
        elif isinstance(shard, DataSet) and shard.joins:
            fresh = options.conflict is not Conflict.SKIP or (delivery is None and _is_empty(Path(folder)))
            planned = ends.enter_context(_adapting(shard, fresh))
            members = _MemberRefs(shard, match, kind, options, progress, unreadable, fresh)
            ends.callback(members.close)
            each, refs, total = members.close_done, members, int(not members.none)
        else:
            if match is None and kind is None and options.conflict is not Conflict.SKIP:
                ends.enter_context(shard.reading_all())
            refs, total = _all_refs(shard, match, kind, options, progress)
            for name, error in shard.unreadable.items() if isinstance(shard, DataSet) else ():
                unreadable(name, error)
        if total or match is None:
            found = extract_objects(
                shard, refs, folder, options, total=total, progress=each, delivery=delivery, planned=planned
            )
            with closing(found):
                yield from found


def _is_empty(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is None
    except OSError:
        return True


@contextmanager
def _adapting(shard: DataSet, fresh: bool) -> Iterator[EachPlanned | None]:
    """Yield a callback that decides whether the next shards are fetched whole or only their indexes.

    After an interruption the files of the first shards exist, and those of the others do not.
    """
    whole = shard.whole_member

    def adapted(needed: bool) -> None:
        shard.whole_member = whole if needed else 0

    shard.whole_member = whole if fresh else 0
    try:
        yield None if fresh else adapted
    finally:
        shard.whole_member = whole


def _all_refs(
    shard: Shard, match: str | None, kind: str | None, options: ExtractOptions, progress: Progress
) -> tuple[Iterator[ObjectRef], int]:
    """Return all objects to extract, and their number; if the shard has a view of its whole content, only that view.

    Kinds that are parts of others (the chunks of a file) are left out unless requested.
    """
    if shard.views and match is None and kind is None:
        return iter([shard.find(shard.views[0])]), 1
    shard.load_index(progress)
    objects, code = shard.objects, kind_code(shard, kind)
    kinds = outer_kinds(objects) if code is None else (code,)
    rows = np.concatenate([np.empty(0, np.int64), *taken_rows(objects, rows_in_file_order(objects), options, kinds)])
    if match is not None:
        texts = shard.objects.key_texts(rows)
        matching = [key is not None and fnmatch.fnmatchcase(key, match) for key in texts]
        rows = rows[np.array(matching, bool)]
    steps = (rows[at : at + REFS_AT_ONCE] for at in range(0, len(rows), REFS_AT_ONCE))
    refs = chain.from_iterable(objects.each_ref(step, sizes=False) for step in steps)
    # `map` can continue after an exception: one unreadable row does not stop the others.
    return map(_or_raised, refs), len(rows)


def _or_raised(ref: ObjectRef | ShardError) -> ObjectRef:
    if isinstance(ref, ShardError):
        raise ref
    return ref


class _MemberRefs:
    """Iterator of the objects to extract from a data set, shard by shard; an error of one row does not end it.

    A shard is closed when its objects are extracted.
    """

    def __init__(
        self,
        shard: DataSet,
        match: str | None,
        kind: str | None,
        options: ExtractOptions,
        progress: Progress,
        unreadable: Unreadable,
        fresh: bool,
    ) -> None:
        hidden = tuple(state for state in State if state not in options.states)
        here = shard.tasks is None
        self._asked = RowsRequest(hidden, kind, outer=True, refs=True, jobs=shard.jobs, contents=fresh, keep=here)
        self._shard, self._match, self._progress = shard, match, progress
        self._unreadable = unreadable
        # Objects are still fetched and written after they were yielded.
        self._ended = deque[tuple[int, str]]()
        self._rows = self._found()
        self._first = next(self._rows, None)

    @property
    def none(self) -> bool:
        return self._first is None

    def __iter__(self) -> Iterator[ObjectRef]:
        first = [] if self._first is None else [self._first]
        return map(_given, chain(first, self._rows))

    def close_done(self, done: int, total: int) -> None:
        while self._ended and self._ended[0][0] <= done:
            self._shard.release(self._ended.popleft()[1])

    def close(self) -> None:
        self._rows.close()

    def _found(self) -> Generator[ObjectRow]:
        given = 0
        kinds: dict[str, None] = {}
        with closing(self._shard.each_member(member_rows, self._asked, progress=self._progress)) as found:
            for member, result in found:
                if isinstance(result, ShardError):
                    self._unreadable(member.name, result)
                    self._shard.release(member.name)
                    continue
                kinds.update(dict.fromkeys(result.kinds))
                before = given
                for row in self._large(member.name) if result.more else iter(result.rows):
                    if self._matches(row):
                        given += 1
                        yield row if row.ref is None else ObjectRow(located(row.ref, member.name, None))
                if given > before:
                    self._ended.append((given, member.name))
                else:
                    self._shard.release(member.name)
        if self._asked.kind is not None and kinds and self._asked.kind not in kinds:
            raise no_kind(self._asked.kind, tuple(kinds))

    def _large(self, name: str) -> Iterator[ObjectRow]:
        with self._shard.borrowed(name) as member:
            member.load_index()
            for rows in all_rows(member.objects):
                columns = member.objects.columns(rows)
                yield from object_rows(member, rows[wanted_rows(member, columns, self._asked)])

    def _matches(self, row: ObjectRow) -> bool:
        if self._match is None or row.ref is None:
            return self._match is None
        return row.ref.key is not None and fnmatch.fnmatchcase(row.ref.key, self._match)


def _given(row: ObjectRow) -> ObjectRef:
    if row.ref is None:
        raise FormatError(row.error)
    return row.ref
