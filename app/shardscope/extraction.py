"""Writing objects into files: which of them, and what to do about those that were deleted. No Qt here."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shardcore import Shard, SourceChanged, State
from shardcore.extract import extract
from shardcore.progress import Progress
from shardscope.opening import OpenRequest
from shardscope.row_ranges import RowRanges


@dataclass(frozen=True, slots=True)
class Extraction:
    """What is to be written where.

    Attributes:
        shard: What is open.
        request: How it was opened.
        rows: Which of its objects.
        where: The folder.
        deleted: Whether tombstoned objects are written, too; None when that has to be asked if there are some.
    """

    shard: Shard
    request: OpenRequest
    rows: RowRanges
    where: Path
    deleted: bool | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """What became of it.

    Attributes:
        files: Files written.
        failed: Objects that could not be read.
        left_out: Tombstoned objects that were not wanted.
        asks: Tombstoned objects about which the user has to be asked; then nothing was written.
    """

    files: int = 0
    failed: int = 0
    left_out: int = 0
    asks: int = 0


def write(wanted: Extraction, progress: Progress) -> Extracted:
    """Writes the objects, with a manifest; unused rows are left out.

    Tombstoned objects are read through a second opening, which the first one leaves as it is.

    Raises:
        ShardError: The rows cannot be read, or the folder cannot be written to.
    """
    shard, rows = wanted.shard, wanted.rows.rows()
    columns = shard.objects.columns(rows, sizes=True)
    used, dead = columns.state != State.UNUSED, columns.state == State.TOMBSTONED
    hidden = 0 if wanted.request.deleted else int(dead.sum())
    if hidden and wanted.deleted is None:
        return Extracted(asks=hidden)
    serve = bool(hidden and wanted.deleted)
    kept = used if serve or not hidden else used & ~dead
    total, written = int(np.maximum(columns.size[kept], 0).sum(dtype=object) or 0), 0

    def each_piece(size: int) -> None:
        nonlocal written
        written += size
        progress(min(written, total), max(total, 1))

    if not kept.any():
        return Extracted(left_out=hidden)
    with _second(wanted, progress) if serve else nullcontext(shard) as source:
        refs = (source.objects.ref(row) for row in rows[kept].tolist())
        files = failed = 0
        for result in extract(source, refs, wanted.where, each_piece=each_piece):
            progress(min(written, total), max(total, 1))
            files += not result.error
            failed += bool(result.error)
    return Extracted(files, failed, 0 if serve else hidden)


def _second(wanted: Extraction, progress: Progress) -> Shard:
    """The same shard, opened once more so that it serves what was deleted.

    Raises:
        SourceChanged: The file is another by now.
        ShardError: It cannot be opened.
    """
    opened = wanted.request.serving_deleted().open(progress)
    try:
        before, now = wanted.shard.source, opened.source
        if before is not None and now is not None and before.identity != now.identity:
            raise SourceChanged(f"{wanted.request.name} was changed: reload it first")
        opened.load_index(progress)
    except BaseException:
        opened.close()
        raise
    return opened
