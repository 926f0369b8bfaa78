"""Extraction of objects into files: request, preview and writing. No Qt here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shardcore import ObjectColumns, ObjectRef, Remedy, Shard, ShardError, SourceChanged, State
from shardcore.dataclasses import dataclass, field, replace
from shardcore.model.objects import exact_sum, in_states
from shardcore.model.text import plural
from shardcore.operations.extraction import MANIFEST, ExtractOptions, Names, extract_objects, files_of
from shardcore.operations.extraction.names import HEAD, MAGICS, ending_of
from shardcore.operations.extraction.selection import outer_kinds, rows_in_file_order
from shardcore.progress import Progress, no_progress
from shardcore.shards.shard import bounded
from shardcore.sources.base import on_failure
from shardscope.session.object_rows import RowRanges
from shardscope.session.open_request import OpenRequest

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ExtractionPreview:
    """Counts of an extraction before it is run; `size` is in bytes.

    Attributes:
        unknown: Number of objects whose size is unknown before they are read.
        deleted: Number of tombstoned objects, which are only extracted on request.
        rows: Rows to write, in pieces; None if the complete content is one object, or above `MOST_KEPT` rows.
    """

    objects: int = 0
    size: int = 0
    unknown: int = 0
    unused: int = 0
    deleted: int = 0
    parts: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    joined: bool = False
    rows: tuple[Rows, ...] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """Objects to extract, target folder and options.

    Attributes:
        rows: Rows to extract; None: what the command `extract` takes by default.
        afresh: Whether to open the shard again for reading, because it was closed or the connection was lost.
    """

    shard: Shard
    request: OpenRequest
    rows: RowRanges | None
    where: Path
    options: ExtractOptions = field(default_factory=ExtractOptions)
    afresh: bool = False
    counted: ExtractionPreview | None = field(default=None, compare=False, repr=False)

    @property
    def view(self) -> ObjectRef | None:
        """Object with the complete content if all rows are extracted and the format has one, else None; reads bytes."""
        return self.shard.find(self.shard.views[0]) if self.rows is None and self.shard.views else None

    @property
    def kinds(self) -> tuple[int, ...] | None:
        return outer_kinds(self.shard.objects) if self.rows is None else None

    def takes(self, columns: ObjectColumns) -> NDArray[np.bool_]:
        keep = in_states(columns.state, self.options.states)
        return keep if self.kinds is None else keep & np.isin(columns.kind, self.kinds)

    def taken(self, progress: Progress) -> Iterator[Rows]:
        if self.counted is not None and self.counted.rows is not None:
            return iter(self.counted.rows)
        return (rows[self.takes(self.shard.objects.columns(rows))] for rows in self.pieces(progress))

    def pieces(self, progress: Progress) -> Iterator[Rows]:
        """Yield the requested rows in pieces, whatever their state; loads the index if all rows are requested."""
        if self.rows is not None:
            yield from self.rows.pieces()
            return
        self.shard.load_index(progress)
        yield from rows_in_file_order(self.shard.objects)


EXAMPLES = 3

FEW = 10_000
"""Maximum number of rows for which unknown sizes are read."""

MOST_KEPT = 1 << 22
"""Maximum number of rows that a preview keeps for the extraction, which otherwise finds them again."""

LOOKED_INTO = 1 << 26
"""Maximum size in bytes of an object that is read to find the extension of its file name."""

_ENDINGS = {ending for _, _, ending in MAGICS} | {".txt", ".json"}


def preview_extraction(wanted: ExtractionRequest, progress: Progress = no_progress) -> ExtractionPreview:
    """Count the objects and name the first files; reads the columns of all rows and the start of the first objects."""
    view = wanted.view
    if view is not None:
        examples = _examples(wanted, [view])
        size, unknown = max(view.size, 0), int(view.size < 0)
        return ExtractionPreview(1, size, unknown, parts=view.parts, examples=examples, joined=True)
    objects = wanted.shard.objects
    total = len(wanted.rows) if wanted.rows is not None else -1
    done = count = size = unknown = unused = dead = 0
    first: list[int] = []
    taken: list[NDArray[np.int64]] = []
    for rows in wanted.pieces(progress):
        progress(done, max(total, done, 1))
        done += len(rows)
        columns = objects.columns(rows, sizes=0 <= total <= FEW)
        kept = np.isin(columns.state, (State.LIVE, State.EXTERNAL, State.DAMAGED, State.TOMBSTONED))
        if wanted.kinds is not None:
            kept &= np.isin(columns.kind, wanted.kinds)
        if done <= MOST_KEPT:
            taken.append(rows[wanted.takes(columns)])
        unused += int(np.count_nonzero(np.isin(columns.state, (State.UNUSED, State.DELETED))))
        if not wanted.request.deleted:
            tombstoned = kept & (columns.state == State.TOMBSTONED)
            dead += int(np.count_nonzero(tombstoned))
            kept &= ~tombstoned | wanted.options.deleted
        sizes = columns.size[kept]
        count += len(sizes)
        size += exact_sum(sizes[sizes > 0])
        unknown += int(np.count_nonzero(sizes < 0))
        first += rows[kept][: EXAMPLES - len(first)].tolist()
    refs = [ref for row in first if not isinstance(ref := _ref(wanted, row), ShardError)]
    parts = tuple(dict.fromkeys(part for ref in refs for part in ref.parts))
    kept_rows = tuple(taken) if done <= MOST_KEPT else None
    return ExtractionPreview(count, size, unknown, unused, dead, parts, _examples(wanted, refs), rows=kept_rows)


def existing(wanted: ExtractionRequest, progress: Progress = no_progress) -> int:
    """Return how many target files exist; approximate if extensions are added from the content."""
    if not os.path.isdir(wanted.where):  # noqa: PTH112 - Path.is_dir raises where looking is not allowed
        return 0
    names, stems = Names([MANIFEST], folders=wanted.options.folders), cache(_stems)
    found = 0
    for number, ref in enumerate(_wanted_refs(wanted, progress, {})):
        progress(number, max(len(wanted.rows) if wanted.rows is not None else 0, number + 1))
        try:
            files = {} if isinstance(ref, ShardError) else files_of(wanted.shard, ref, wanted.options)
        except ShardError:
            continue
        for path in [wanted.where / names.give(name) for name in files.values()]:
            guessed = wanted.options.guess_extension and path.name in stems(path.parent)
            found += os.path.lexists(path) or guessed
    return found


def _stems(folder: Path) -> set[str]:
    """Return the names, without extension, of the files in a folder that have an extension which extraction can add."""
    try:
        names = [Path(name) for name in os.listdir(folder)]  # noqa: PTH208 - names, not paths
    except OSError:
        return set()
    return {name.stem for name in names if name.suffix in _ENDINGS}


def _wanted_refs(
    wanted: ExtractionRequest, progress: Progress, unreadable: dict[int, None]
) -> Iterator[ObjectRef | ShardError]:
    """Yield the objects; for a row whose entry cannot be read, yield the error and add the row to `unreadable`."""
    view = wanted.view
    if view is not None:
        yield view
        return
    for rows in wanted.taken(progress):
        for row in rows.tolist():
            ref = _ref(wanted, row)
            if isinstance(ref, ShardError):
                unreadable[row] = None
            yield ref


def _ref(wanted: ExtractionRequest, row: int) -> ObjectRef | ShardError:
    try:
        return wanted.shard.objects.ref(row)
    except ShardError as error:
        return error


def _examples(wanted: ExtractionRequest, refs: list[ObjectRef]) -> tuple[str, ...]:
    names, found = Names([MANIFEST], folders=wanted.options.folders), []
    for ref in refs:
        try:
            for part, name in files_of(wanted.shard, ref, wanted.options).items():
                found.append(names.give(name, "" if part else _ending(wanted, ref)))
        except ShardError:
            continue
    return tuple(islice(found, EXAMPLES))


def _ending(wanted: ExtractionRequest, ref: ObjectRef) -> str:
    if not wanted.options.guess_extension or not 0 <= ref.size <= LOOKED_INTO:
        return ""
    head = b""
    try:
        for piece in bounded(wanted.shard, ref, LOOKED_INTO):
            head += piece[:HEAD]
            if len(head) >= HEAD:
                break
    except ShardError:
        return ""
    return ending_of(head[:HEAD], whole=len(head) < HEAD)


MAX_LISTED = 1000
"""Maximum number of failures kept with their reasons; others are only counted."""


@dataclass(frozen=True, slots=True)
class Failure:
    name: str
    reason: str
    remedy: Remedy | None = None


@dataclass(slots=True)
class ExtractionOutcome:
    """Outcome of an extraction, filled while it runs; `size` is in bytes.

    Attributes:
        again: Rows of the objects that failed; -1 is the view of the complete content.
        lost: Whether the connection was lost; the other objects can be extracted once the file is opened again.
    """

    total: int = field(default=0, compare=False)
    files: int = 0
    size: int = 0
    skipped: int = 0
    failed: int = 0
    left_out: int = 0
    failures: list[Failure] = field(default_factory=list, compare=False)
    again: tuple[int, ...] = field(default=(), compare=False)
    manifest: Path | None = field(default=None, compare=False)
    lost: bool = field(default=False, compare=False)
    stopped: str = field(default="", compare=False)
    cancelled: bool = field(default=False, compare=False)

    @property
    def remedy(self) -> Remedy | None:
        return self.failures[0].remedy if self.failures else None

    @property
    def complete(self) -> bool:
        return not (self.failed or self.stopped or self.cancelled)

    def text(self, where: Path) -> str:
        total = max(self.total, self.files + self.skipped + self.failed)
        count = plural(self.files, "file") if self.complete else f"{self.files:,} of {plural(total, 'file')}"
        parts = [f"{count} written to {where.name or where}"]
        if self.skipped:
            parts.append(plural(self.skipped, "file already exists: skipped", "files already exist: skipped"))
        if self.failed:
            reason = f": {self.failures[0].reason}" if self.failures and not self.stopped else ""
            see = f"; see {self.manifest.name}" if self.manifest is not None else ""
            parts.append(f"{self.failed:,} failed{reason}{see}")
        if self.left_out:
            parts.append(f"{self.left_out:,} tombstoned skipped")
        if self.stopped:
            parts.append(f"stopped: {self.stopped}")
        text = "; ".join(parts[1:] if self.complete and not self.files and len(parts) > 1 else parts)
        return f"Cancelled: {text}" if self.cancelled else text


def write(wanted: ExtractionRequest, progress: Progress, found: ExtractionOutcome | None = None) -> ExtractionOutcome:
    """Write the objects to files. `found` is filled while this runs, so that it is valid after an error."""
    found = ExtractionOutcome() if found is None else found
    if wanted.afresh:
        with _reopened(wanted, progress, deleted=False) as shard:
            return write(replace(wanted, shard=shard, afresh=False, counted=None), progress, found)
    ahead = wanted.counted
    if ahead is None:
        ahead = preview_extraction(replace(wanted, options=replace(wanted.options, guess_extension=False)), progress)
    hidden = ahead.deleted
    serve = bool(hidden and wanted.options.deleted)
    found.total, found.left_out = ahead.objects, 0 if serve else hidden
    if not ahead.objects and wanted.options.skip_unused:
        return found
    # A shard opened with deleted objects returns them without a second opening.
    options = replace(wanted.options, deleted=wanted.options.deleted or wanted.request.deleted)
    # With other states, other rows are written than the preview counted.
    wanted = replace(wanted, options=options, counted=ahead if options.states == wanted.options.states else None)
    with _reopened(wanted, progress, deleted=True) if serve else nullcontext(wanted.shard) as source:
        _write(replace(wanted, shard=source), ahead.size, progress, found)
    return found


def _write(wanted: ExtractionRequest, total: int, progress: Progress, found: ExtractionOutcome) -> None:
    size = 0
    again: dict[int, None] = {}
    manifests: list[Path] = []

    def each_piece(length: int) -> None:
        nonlocal size
        size += length
        progress(min(size, total), max(total, 1))

    results = extract_objects(
        wanted.shard,
        _wanted_refs(wanted, progress, again),
        wanted.where,
        wanted.options,
        each_piece=each_piece,
        manifest_written=manifests.append,
    )
    try:
        for result in results:
            found.files += bool(result.path)
            found.size += result.size
            found.skipped += bool(result.skipped)
            if result.last:
                # The outcome of the remaining objects is unknown: they are extracted when it is resumed.
                found.lost, found.stopped = True, result.error
            elif result.error:
                found.failed += 1
                if result.row >= 0 or result.key is not None:
                    again[result.row] = None
                if len(found.failures) < MAX_LISTED:
                    name = result.key if result.key is not None else "an object without a key"
                    name = f"{name} ({result.part})" if result.part else name
                    found.failures.append(Failure(name, result.error, result.remedy))
            progress(min(size, total), max(total, 1))
    finally:
        # Close it now, so that an incomplete manifest is removed.
        results.close()
        found.again = tuple(again)
        found.manifest = manifests[0] if manifests else None


def _reopened(wanted: ExtractionRequest, progress: Progress, *, deleted: bool) -> Shard:
    """Open the shard a second time. Raises `SourceChanged` if the file has changed."""
    request = wanted.request.with_deleted() if deleted else wanted.request
    opened = request.open(progress)
    with on_failure(opened.close):
        before, now = wanted.shard.source, opened.source
        if before is not None and now is not None and before.identity != now.identity:
            raise SourceChanged(f"{wanted.request.name} was changed: reload it first")
        if deleted or wanted.shard.loaded:
            opened.load_index(progress)
        if wanted.shard.loaded and len(wanted.shard.objects) != len(opened.objects):
            # The rows of a data set are numbered through all of its shards.
            raise SourceChanged(f"{wanted.request.name} now has other objects: reload it first")
    return opened
