"""Writing objects into files, and what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from shardcore import ObjectRef, Remedy, Shard, ShardError, SourceChanged
from shardcore.extraction import Extracted as Taken
from shardcore.extraction import extract_objects
from shardcore.extraction.choice import taken_rows
from shardcore.progress import Progress
from shardcore.words import plural
from shardscope.extraction.outlook import outlook
from shardscope.extraction.wanted import Extraction

MOST_TOLD = 1000
"""Failures that are kept with their reasons."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One file that there is not.

    Attributes:
        name: The key of the object, and the part, where it is one.
        reason: Why, in a sentence.
        remedy: What would help, where there is something.
    """

    name: str
    reason: str
    remedy: Remedy | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """What became of an extraction.

    Attributes:
        files: Files written.
        size: Their bytes.
        skipped: Files that existed already and stay.
        failed: Files that could not be written.
        left_out: Tombstoned objects that were not wanted.
        failures: The first of those that failed.
        again: Rows of the objects that failed; -1 stands for the whole content.
        manifest: The manifest that was written, or None.
        lost: Whether the server was lost on the way: another opening may go on with what is missing.
    """

    files: int = 0
    size: int = 0
    skipped: int = 0
    failed: int = 0
    left_out: int = 0
    failures: tuple[Failure, ...] = field(default=(), compare=False)
    again: tuple[int, ...] = field(default=(), compare=False)
    manifest: Path | None = field(default=None, compare=False)
    lost: bool = field(default=False, compare=False)

    @property
    def remedy(self) -> Remedy | None:
        """What would help against the first of the failures."""
        return self.failures[0].remedy if self.failures else None

    def text(self, where: Path) -> str:
        """In one sentence."""
        parts = [f"{plural(self.files, 'file')} written to {where.name or where}"]
        if self.skipped:
            what = "file exists already: skipped"
            parts.append(plural(self.skipped, what, "files exist already: skipped"))
        if self.failed:
            see = f": see {self.manifest.name}" if self.manifest is not None else ""
            parts.append(f"{self.failed:,} failed{see}")
        if self.left_out:
            parts.append(f"{self.left_out:,} deleted left out")
        return "; ".join(parts if self.files or len(parts) == 1 else parts[1:])


def write(wanted: Extraction, progress: Progress) -> Extracted:
    """Writes the objects; tombstoned ones are read through a second opening, which the first one leaves as it is.

    Raises:
        ShardError: The rows cannot be read, or the folder cannot be written to.
    """
    if wanted.afresh:
        with _second(wanted, progress, deleted=False) as shard:
            return write(replace(wanted, shard=shard, afresh=False), progress)
    ahead = outlook(replace(wanted, options=replace(wanted.options, guess_extension=False)), progress)
    hidden = ahead.deleted
    serve = bool(hidden and wanted.options.deleted)
    if not ahead.objects and wanted.options.skip_unused:
        return Extracted(left_out=hidden)
    # Where the shard serves them anyway, nothing is hidden.
    options = replace(wanted.options, deleted=wanted.options.deleted or wanted.request.deleted)
    wanted = replace(wanted, options=options)
    with _second(wanted, progress, deleted=True) if serve else nullcontext(wanted.shard) as source:
        found = _write(replace(wanted, shard=source), ahead.size, progress)
    return replace(found, left_out=0 if serve else hidden)


def _write(wanted: Extraction, total: int, progress: Progress) -> Extracted:
    files = size = skipped = failed = 0
    failures: list[Failure] = []
    refs = _Refs(wanted, progress)
    manifests: list[Path] = []
    lost = False

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
    size_written = 0
    for result in results:
        progress(min(size, total), max(total, 1))
        files += bool(result.path)
        size_written += result.size
        skipped += bool(result.skipped)
        if result.error:
            failed += 1
            lost = lost or result.last
            refs.note(result)
            if len(failures) < MOST_TOLD:
                name = result.key if result.key is not None else "an object without a key"
                name = f"{name} ({result.part})" if result.part else name
                failures.append(Failure(name, result.error, result.remedy))
    manifest = manifests[0] if manifests else None
    return Extracted(
        files,
        size_written,
        skipped,
        failed,
        failures=tuple(failures),
        again=tuple(refs.failed),
        manifest=manifest,
        lost=lost,
    )


class _Refs:
    """The objects; an error on the way to one is its result, and the next ones come.

    Attributes:
        failed: Rows of the objects that there is no file for; -1 stands for the whole content.
    """

    def __init__(self, wanted: Extraction, progress: Progress) -> None:
        self.failed: dict[int, None] = {}
        self._objects = wanted.shard.objects
        view = wanted.view
        self._view = [view] if view is not None else []
        pieces = taken_rows(self._objects, wanted.pieces(progress), wanted.options, wanted.kinds)
        self._rows: Iterator[int] = iter(()) if view is not None else (row for rows in pieces for row in rows.tolist())

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
        """Says what became of an object; one of which nothing is known was noted on the way to it."""
        if result.row >= 0 or result.key is not None:
            self.failed[result.row] = None


def _second(wanted: Extraction, progress: Progress, *, deleted: bool) -> Shard:
    """The same shard, opened once more: so that it serves what was deleted, or because its server was lost.

    Raises:
        SourceChanged: The file is another by now.
        ShardError: It cannot be opened.
    """
    request = wanted.request.serving_deleted() if deleted else wanted.request
    opened = request.open(progress)
    try:
        before, now = wanted.shard.source, opened.source
        if before is not None and now is not None and before.identity != now.identity:
            raise SourceChanged(f"{wanted.request.name} was changed: reload it first")
        if deleted or wanted.shard.loaded:
            opened.load_index(progress)
        if wanted.shard.loaded and len(wanted.shard.objects) != len(opened.objects):
            # The rows of a data set count through all of its members.
            raise SourceChanged(f"{wanted.request.name} has other objects by now: reload it first")
    except BaseException:
        opened.close()
        raise
    return opened
