"""Recovery of objects from a damaged file, with a report; see `shardcore.shards.salvage`."""

from __future__ import annotations

import hashlib
import json
import marshal
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, overload

from shardcore.dataclasses import dataclass, fields, replace
from shardcore.errors import (
    LimitExceeded,
    NotAShard,
    ShardError,
    SourceError,
    UsageError,
    ends_reading,
    reported_as,
)
from shardcore.model.budget import Budget, OverBudget, budgeted
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.operations.extraction.names import Names
from shardcore.progress import Progress, no_progress
from shardcore.shards.format import Format
from shardcore.shards.opening import open as open_shard
from shardcore.shards.registry import all_formats, format_of
from shardcore.shards.salvage import Condition, Damaged, SalvagedObject, indexed
from shardcore.shards.shard import DEFAULT_LIMIT, Shard
from shardcore.sources.base import RANGE, Folder, Source
from shardcore.sources.location import source_of
from shardcore.sources.prefetched_source import WholeFiles
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.request_log import RequestLog
from shardcore.sources.wrapper_sources import WrapperSource
from shardcore.writing.temporary import write_whole

REPORT = "salvage.json"

UNCHECKED = "unchecked"
"""Name of the sub-folder for recovered objects that no checksum confirms."""

READ_WHOLE = 128 << 20
"""Maximum size in bytes of a remote file that is fetched whole before the search, since it fits into the cache."""

_MOST_SPANS = 8


@dataclass(frozen=True, slots=True)
class Saved:
    """Result for one object that the recovery found.

    Attributes:
        key: Its key; None if it was found without one.
        name: File name that the format suggests, which may be unsafe.
        path: Path of the written file below the target folder; empty if none was written.
        size: Uncompressed bytes; -1 if they could not be read.
        checked_by: Name of the checksum or digest that confirms the content; empty if there is none.
        why: Reason why it is damaged or lost, or was not written.
        spans: Ranges of its stored bytes, at most eight.
        without_index: Whether it was found without the index.
        raw: Whether it is a range of bytes outside all structures instead of an object.
    """

    key: str | None
    name: str
    condition: Condition
    path: str = ""
    size: int = -1
    sha256: str = ""
    checked_by: str = ""
    why: str = ""
    spans: tuple[Span, ...] = ()
    without_index: bool = False
    raw: bool = False

    def to_json(self) -> dict[str, Any]:
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        found |= {name: found[name] or None for name in ("path", "sha256", "checked_by", "why")}
        found |= {"condition": self.condition.value, "size": self.size if self.size >= 0 else None}
        return found | {"spans": [span.to_json() for span in self.spans]}


_AT_ONCE = 1024


class SavedItems(Sequence[Saved]):
    """Sequence of results, stored in compressed blocks, since a file of a few MB may contain a million objects."""

    def __init__(self, items: Iterable[Saved] = ()) -> None:
        self._blocks: list[bytes] = []
        self._last: list[Saved] = []
        self._counts: Counter[str] = Counter()
        self._read: tuple[int, list[Saved]] = -1, []
        for one in items:
            self.append(one)

    def append(self, one: Saved) -> None:
        self._counts["raw" if one.raw else one.condition.value] += 1
        there = one.condition in (Condition.WHOLE, Condition.UNCHECKED) and not one.raw
        self._counts["without_key"] += there and one.key is None
        self._last.append(one)
        if len(self._last) == _AT_ONCE:
            self._blocks.append(zlib.compress(marshal.dumps([_row(one) for one in self._last]), 1))
            self._last = []

    def count_of(self, what: str) -> int:
        """Return the number of results: in a condition (`lost`), `raw` ranges, or readable objects `without_key`."""
        return self._counts[what]

    def __len__(self) -> int:
        return _AT_ONCE * len(self._blocks) + len(self._last)

    @overload
    def __getitem__(self, index: int) -> Saved: ...

    @overload
    def __getitem__(self, index: slice) -> list[Saved]: ...

    def __getitem__(self, index: int | slice) -> Saved | list[Saved]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        block, at = divmod(range(len(self))[index], _AT_ONCE)
        return self._block(block)[at]

    def __iter__(self) -> Iterator[Saved]:
        for block in range(len(self._blocks) + 1):
            yield from self._block(block)

    def _block(self, number: int) -> list[Saved]:
        if number == len(self._blocks):
            return self._last
        if self._read[0] != number:
            rows = marshal.loads(zlib.decompress(self._blocks[number]))
            self._read = number, [_saved_of(*row) for row in rows]
        return self._read[1]


def _row(one: Saved) -> tuple[Any, ...]:
    spans = [(span.source, span.start, span.stop) for span in one.spans]
    return spans, one.condition.value, *(getattr(one, name) for name in _PLAIN)


def _saved_of(spans: list[tuple[str, int, int]], condition: str, *values: Any) -> Saved:
    plain = dict(zip(_PLAIN, values, strict=True))
    return Saved(condition=Condition(condition), spans=tuple(Span(*one) for one in spans), **plain)


_PLAIN = tuple(one.name for one in fields(Saved) if one.name not in ("spans", "condition"))


@dataclass(frozen=True, slots=True)
class Salvage:
    """Result of a recovery.

    Attributes:
        format: Name of the format, detected or as the caller stated it.
        opens: Reason why the file cannot be opened; empty if it can.
        items: Results, in the order in which they were found.
        folder: Target folder; None for a dry run.
        notes: Messages about the file, such as bytes that belong to no object.
        left_out: Messages about objects or bytes left out because of a limit; `shardcore.allowing` raises limits.
        unclaimed: Number of bytes that belong to no structure and may be uncompressed payloads.
        declared: Number of objects that the file declares; None if unknown.
    """

    format: str
    opens: str
    items: SavedItems
    folder: Path | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    unclaimed: int = 0
    declared: int | None = None

    @property
    def missing(self) -> int:
        return max((self.declared or 0) - (len(self.items) - self.raw), 0)

    def count(self, condition: Condition) -> int:
        return self.items.count_of(condition.value)

    @property
    def raw(self) -> int:
        return self.items.count_of("raw")

    @property
    def without_key(self) -> int:
        return self.items.count_of("without_key")

    @property
    def counts(self) -> dict[str, int]:
        names = (*(one.value for one in Condition), "without_key", "raw")
        return {name: self.items.count_of(name) for name in names}

    def summary(self) -> dict[str, Any]:
        notes = [*self.notes, *self.left_out]
        found = {"format": self.format, "damage": self.opens or None, "notes": notes, **self.counts}
        return found | {"declared": self.declared, "missing": self.missing, "complete": not self.left_out}


def salvage(
    where: str | Path | bytes | Source,
    folder: str | Path | None,
    *,
    format: str | None = None,
    limit: int = DEFAULT_LIMIT,
    raw: bool = False,
    progress: Progress = no_progress,
    remote: RemoteOptions | None = None,
    tape: RequestLog | None = None,
    **options: Any,
) -> Salvage:
    """Recover intact objects of a file into a folder, and unverified ones into its sub-folder `unchecked`.

    Existing files are never replaced. The report is `salvage.json`. Without `folder`, nothing is written. A format that
    cannot be detected is found by the file name, or by the objects that each format recovers.

    Args:
        where: A path, an address, bytes, or a `Source`.
        folder: Target folder, created if missing; None for a dry run.
        format: Name of the format.
        limit: Maximum uncompressed bytes of one object.
        raw: Whether byte ranges outside all structures are extracted, if they may be payloads of lost objects.
        progress: Called often; may raise `Cancelled`.
        remote: Options for remote files.
        tape: Request log for remote files.
        **options: Options for opening, as for `shardcore.open`.

    Raises:
        UsageError: `where` is a folder, or no format recovers an object.
        NotAShard: The file is recognised as one of another kind.
        SourceError: The bytes cannot be read, or a file cannot be written; `partial` has the results so far.
    """
    source = source_of(where, remote, tape)
    if isinstance(source, Folder):
        source.close()
        raise UsageError(f"{source.uri} is a folder: give one of its files")
    try:
        target = _made(folder)
        allowed = limit if limit != DEFAULT_LIMIT else 0
        # The whole file is searched, parts of it repeatedly: prefetch a remote one in large parallel requests.
        fetching = WholeFiles(source, READ_WHOLE, longest=RANGE)
        with fetching, budgeted(taking=target is not None, allowed=allowed) as budget:
            done = _saved(_Search(_UnclosedSource(source), limit, raw, progress, options, budget), format, target)
        if target is not None:
            write_whole(target / REPORT, _report(source, done))
        return done
    finally:
        if source is not where:
            source.close()


def _saved(search: _Search, format: str | None, target: Path | None) -> Salvage:
    name = format or _format_of(search)
    one, saver = format_of(name), _Saver(search, target)
    items = SavedItems()
    with _opened(search.source, name, search.options) as shard:
        opens = str(shard.damage) if shard.damage else ""
        damaged = search.damaged(one, shard)

        def done() -> Salvage:
            notes, left_out = tuple(damaged.notes), (*damaged.left_out, *saver.left_out)
            unclaimed = sum(stop - start for start, stop in damaged.unclaimed)
            return Salvage(one.name, opens, items, target, notes, left_out, unclaimed, damaged.declared)

        try:
            for found in _found(one, damaged):
                items.append(saver.save(found))
        except OverBudget as over:
            damaged.left_out.append(over.message)
        except SourceError as error:
            error.partial = done()
            raise
        return done()


def _made(folder: str | Path | None) -> Path | None:
    if folder is None:
        return None
    path = Path(folder)
    with reported_as(f"cannot create the folder {path}"):
        path.mkdir(parents=True, exist_ok=True)
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder")
        if (path / REPORT).exists():
            raise UsageError(f"{path / REPORT} exists already: give another folder")
    return path


class _UnclosedSource(WrapperSource):
    """Source that stays open when a shard that reads from it is closed."""

    def close(self) -> None:
        """Do nothing: the caller closes the source."""


@dataclass(frozen=True, slots=True)
class _Search:
    source: Source
    limit: int
    raw: bool
    progress: Progress
    options: dict[str, Any]
    budget: Budget

    def damaged(self, one: Format, shard: Shard) -> Damaged:
        def reopen(other: Source) -> Shard:
            return _opened(other, one.name, self.options)

        return Damaged(self.source, shard, reopen, self.limit, self.progress, raw=self.raw)


def _format_of(search: _Search) -> str:
    """Return the format that opens the file; else that of its suffix, or the one that recovers the most bytes."""
    source, options = search.source, search.options
    with _opened(source, None, options) as shard:
        if shard.format != "unknown":
            return shard.format
        if isinstance(shard.damage, NotAShard) and shard.damage.is_other:
            raise shard.damage
    fitting = [one for one in all_formats() if any(fnmatchcase(source.name.lower(), f"*{s}") for s in one.suffixes)]
    if len(fitting) == 1:
        return fitting[0].name
    worth: dict[str, int] = {}
    for one in fitting or all_formats():
        try:
            shard = _opened(source, one.name, options)
        except UsageError:
            continue
        saver = _Saver(search, None)
        with shard:
            damaged = replace(search, raw=False).damaged(one, shard)
            found = [saver.save(item) for item in _found(one, damaged)]
        sizes = [item.size * (2 if item.condition is Condition.WHOLE else 1) for item in found if item.size > 0]
        worth[one.name] = sum(sizes)
    best = max(worth, key=lambda name: worth[name], default="")
    if not best or not worth[best]:
        raise UsageError(f"{source.name}: no format recovers an object; give the format")
    return best


def _opened(source: Source, name: str | None, options: dict[str, Any]) -> Shard:
    return open_shard(source, format=name, partial=True, **options)


def _found(one: Format, damaged: Damaged) -> Iterator[SalvagedObject]:
    return one.salvage(damaged) if one.salvage is not None else indexed(damaged, lambda _: "")


class _Saver:
    def __init__(self, search: _Search, folder: Path | None) -> None:
        self._search, self._folder = search, folder
        self._size = search.source.size
        self._names = Names([REPORT, UNCHECKED])
        self._over = 0

    @property
    def left_out(self) -> tuple[str, ...]:
        many = plural(self._over, "object was", "objects were")
        return (f"{many} not read: the total size far exceeds the file",) if self._over else ()

    def save(self, found: SalvagedObject) -> Saved:

        def saved(condition: Condition, **more: Any) -> Saved:
            facts: dict[str, Any] = {name: getattr(found, name) for name in ("why", "without_index", "raw")}
            return Saved(found.key, found.name, condition, **(facts | {"spans": found.spans[:_MOST_SPANS]} | more))

        if found.pieces is None:
            return saved(Condition.DAMAGED if any(span.size for span in found.spans) else Condition.LOST)
        budget, limit = self._search.budget, self._search.limit
        if budget.left <= 0:
            self._over += 1
            return saved(Condition.UNCHECKED, why="not read: the objects before it reached the limit for all")
        condition = Condition.WHOLE if found.checked_by else Condition.UNCHECKED
        digest, size = hashlib.sha256(), 0

        fault: list[ShardError] = []

        def stored() -> Iterator[bytes]:
            assert found.pieces is not None
            try:
                yield from found.pieces()
            except ShardError as error:
                fault.append(error)
                raise

        def pieces() -> Iterator[bytes]:
            nonlocal size
            for piece in stored():
                self._search.progress(max(self._size - 1, 0), max(self._size, 1))
                digest.update(piece)
                size += len(piece)
                budget.checked += len(piece)
                if size > limit:
                    fault.append(LimitExceeded(f"the content exceeds the limit of {plural(limit, 'byte')}"))
                    raise fault[-1]
                yield piece

        path, before = "", budget.read
        try:
            if self._folder is None:
                for _ in pieces():
                    pass
            else:
                path = self._write(found, condition, pieces())
        except ShardError as error:
            # A failed write is not damage of the file.
            if error not in fault or ends_reading(error):
                raise
            fault.clear()  # its traceback would keep the bytes that were read in memory
            return saved(Condition.DAMAGED, why=error.message)
        finally:
            # Reads without output count as well: many damaged payloads may share the same bytes.
            budget.checked += max(budget.read - before - size, 0)
        return saved(condition, path=path, size=size, sha256=digest.hexdigest(), checked_by=found.checked_by)

    def _write(self, found: SalvagedObject, condition: Condition, pieces: Iterator[bytes]) -> str:
        assert self._folder is not None
        name = self._names.give(found.name)
        parent = self._folder / UNCHECKED if condition is Condition.UNCHECKED else self._folder
        with reported_as(f"cannot create the folder {parent}"):
            parent.mkdir(exist_ok=True)
        while (parent / name).exists():
            name = self._names.rename(name)
        write_whole(parent / name, pieces)
        return name if parent == self._folder else f"{UNCHECKED}/{name}"


def _report(source: Source, done: Salvage) -> Iterator[bytes]:
    head = json.dumps({"file": source.name, "size": source.size, **done.summary()}, indent=1)
    yield (head.removesuffix("\n}") + ',\n "items": [').encode("ascii")
    for number, one in enumerate(done.items):
        yield f"{',' if number else ''}\n  {json.dumps(one.to_json())}".encode("ascii")
    yield b"\n ]\n}\n"


__all__ = ["REPORT", "UNCHECKED", "Salvage", "Saved", "salvage"]
