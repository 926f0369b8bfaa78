"""Preview of an extraction: number, size and names of the files, and those that exist already."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shardcore import ObjectRef, ShardError, State
from shardcore.operations.extraction import MANIFEST, Names, files_of
from shardcore.operations.extraction.names import HEAD, MAGICS, ending_of
from shardcore.progress import Progress, no_progress
from shardcore.shards.shard import bounded
from shardscope.session.extraction.request import ExtractionPreview, ExtractionRequest

EXAMPLES = 3

FEW = 10_000
"""Maximum number of rows for which unknown sizes are read."""

MOST_KEPT = 1 << 22
"""Maximum number of rows kept by a preview; otherwise, writing looks them up again."""

LOOKED_INTO = 1 << 26
"""Maximum size in bytes of an object that is read to find the extension of its file name."""

_ENDINGS = {ending for _, _, ending in MAGICS} | {".txt", ".json"}


def preview_extraction(wanted: ExtractionRequest, progress: Progress = no_progress) -> ExtractionPreview:
    """Count the objects and name the first files; reads all columns, and the beginning of the first objects."""
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
        size += _sum(sizes[sizes > 0])
        unknown += int(np.count_nonzero(sizes < 0))
        first += rows[kept][: EXAMPLES - len(first)].tolist()
    refs = list(_refs(wanted, first))
    parts = tuple(dict.fromkeys(part for ref in refs for part in ref.parts))
    kept_rows = tuple(taken) if done <= MOST_KEPT else None
    return ExtractionPreview(count, size, unknown, unused, dead, parts, _examples(wanted, refs), rows=kept_rows)


def _sum(sizes: NDArray[np.int64]) -> int:
    """Return the sum; values that exceed 64 bits in damaged files are added as floats."""
    large = len(sizes) > 0 and int(sizes.max()) > (1 << 62) // len(sizes)
    return int(sizes.sum(dtype=np.float64)) if large else int(sizes.sum())


def existing(wanted: ExtractionRequest, progress: Progress = no_progress) -> int:
    """Return how many target files exist; approximate if extensions are added from the content."""
    if not os.path.isdir(wanted.where):  # noqa: PTH112 - Path.is_dir raises where looking is not allowed
        return 0
    there = _There(wanted.where, guessed=wanted.options.guess_extension)
    names = Names([MANIFEST], folders=wanted.options.folders)
    found = 0
    for number, ref in enumerate(_wanted_refs(wanted, progress)):
        progress(number, max(len(wanted.rows) if wanted.rows is not None else 0, number + 1))
        try:
            files = files_of(wanted.shard, ref, wanted.options)
        except ShardError:
            continue
        found += sum(there.has(names.give(name)) for name in files.values())
    return found


class _There:
    def __init__(self, where: Path, *, guessed: bool) -> None:
        self._where = where
        self._guessed = guessed
        self._listed: dict[Path, set[str]] = {}

    def has(self, name: str) -> bool:
        path = self._where / name
        if os.path.lexists(path):
            return True
        return self._guessed and path.name in self._stems(path.parent)

    def _stems(self, folder: Path) -> set[str]:
        if folder not in self._listed:
            try:
                names = [Path(name) for name in os.listdir(folder)]  # noqa: PTH208 - names, not paths
            except OSError:
                names = []
            self._listed[folder] = {name.stem for name in names if name.suffix in _ENDINGS}
        return self._listed[folder]


def _wanted_refs(wanted: ExtractionRequest, progress: Progress) -> Iterator[ObjectRef]:
    view = wanted.view
    if view is not None:
        yield view
        return
    for rows in wanted.taken(progress):
        yield from _refs(wanted, rows.tolist())


def _refs(wanted: ExtractionRequest, rows: list[int]) -> Iterator[ObjectRef]:
    for row in rows:
        try:
            yield wanted.shard.objects.ref(row)
        except ShardError:
            # Without a readable entry it has no name; the error is reported when it is written.
            continue


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
