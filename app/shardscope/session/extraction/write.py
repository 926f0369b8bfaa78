"""Writing of objects into files, with the outcome of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from shardcore import ObjectRef, Remedy, Shard, ShardError, SourceChanged
from shardcore.model.text import plural
from shardcore.operations.extraction import Extracted as Taken
from shardcore.operations.extraction import extract_objects
from shardcore.progress import Progress
from shardscope.session.extraction.preview import preview_extraction
from shardscope.session.extraction.request import ExtractionRequest

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
        lost: Whether the connection was lost; the rest can be extracted through another opening.
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
            parts.append(f"{self.left_out:,}tombstoned skipped")
        if self.stopped:
            parts.append(f"stopped: {self.stopped}")
        text = "; ".join(parts[1:] if self.complete and not self.files and len(parts) > 1 else parts)
        return f"Cancelled: {text}" if self.cancelled else text


def write(wanted: ExtractionRequest, progress: Progress, found: ExtractionOutcome | None = None) -> ExtractionOutcome:
    """Write the objects. `found` is filled in place, so that it is valid after an error."""
    found = ExtractionOutcome() if found is None else found
    if wanted.afresh:
        with _second(wanted, progress, deleted=False) as shard:
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
    with _second(wanted, progress, deleted=True) if serve else nullcontext(wanted.shard) as source:
        _write(replace(wanted, shard=source), ahead.size, progress, found)
    return found


def _write(wanted: ExtractionRequest, total: int, progress: Progress, found: ExtractionOutcome) -> None:
    size = 0
    refs = _Refs(wanted, progress)
    manifests: list[Path] = []

    def each_piece(length: int) -> None:
        nonlocal size
        size += length
        progress(min(size, total), max(total, 1))

    results = extract_objects(
        wanted.shard,
        refs,
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
                refs.note(result)
                if len(found.failures) < MAX_LISTED:
                    name = result.key if result.key is not None else "an object without a key"
                    name = f"{name} ({result.part})" if result.part else name
                    found.failures.append(Failure(name, result.error, result.remedy))
            progress(min(size, total), max(total, 1))
    finally:
        # Close it now, so that an incomplete manifest is removed.
        results.close()
        found.again = tuple(refs.failed)
        found.manifest = manifests[0] if manifests else None


class _Refs:
    """Iterator over the objects that continues after an error; `failed` has the rows of unreadable objects."""

    def __init__(self, wanted: ExtractionRequest, progress: Progress) -> None:
        self.failed: dict[int, None] = {}
        self._objects = wanted.shard.objects
        view = wanted.view
        self._view = [view] if view is not None else []
        pieces = iter(()) if view is not None else wanted.taken(progress)
        self._rows: Iterator[int] = (row for rows in pieces for row in rows.tolist())

    def __iter__(self) -> Iterator[ObjectRef]:
        return self

    def __next__(self) -> ObjectRef:
        if self._view:
            return self._view.pop()
        row = next(self._rows)
        try:
            return self._objects.ref(row)
        except ShardError:
            self.failed[row] = None
            raise

    def note(self, result: Taken) -> None:
        if result.row >= 0 or result.key is not None:
            self.failed[result.row] = None


def _second(wanted: ExtractionRequest, progress: Progress, *, deleted: bool) -> Shard:
    """Open the shard a second time. Raises `SourceChanged` if the file has changed."""
    request = wanted.request.with_deleted() if deleted else wanted.request
    opened = request.open(progress)
    try:
        before, now = wanted.shard.source, opened.source
        if before is not None and now is not None and before.identity != now.identity:
            raise SourceChanged(f"{wanted.request.name} was changed: reload it first")
        if deleted or wanted.shard.loaded:
            opened.load_index(progress)
        if wanted.shard.loaded and len(wanted.shard.objects) != len(opened.objects):
            # The rows of a data set are numbered through all of its shards.
            raise SourceChanged(f"{wanted.request.name} now has other objects: reload it first")
    except BaseException:
        opened.close()
        raise
    return opened
