"""Rows of the object table: filter, order, and the search for a local file among the objects. No Qt here."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shardcore import KeyAbsent, ObjectRef, Objects, ObjectSlice, Shard, ShardError, SourceError, State, UsageError
from shardcore.codecs.content_hash import sha256_of
from shardcore.model.text import plural
from shardcore.progress import Progress, no_progress
from shardscope.session.object_filter import Filter, fitting_keys, parse

STEP = 1 << 16

PIECE = 1 << 20

MAX_SORTED = 16_000_000
"""Maximum number of rows sorted by a numeric column without a stored order."""

MAX_SORTED_KEYS = 4_000_000
"""Maximum number of rows sorted by key as text."""

MANY_SIZES = 100_000
"""Maximum number of rows for which a filter reads unknown sizes."""

MAX_COMPARED = 500
"""Maximum number of objects compared with a dropped file."""

_FIELDS = {"offset": "start", "stored": "stored_size"}

Rows = NDArray[np.int64]

SomeRows = NDArray[np.integer]
"""Row numbers, uint32 or int64; see `_compact`."""


@dataclass(frozen=True, slots=True)
class View:
    """Filter (see `object_filter.parse`) and order: one of `Objects.orders`, or the name of a column."""

    text: str = ""
    order: str = "slot"
    descending: bool = False

    @property
    def plain(self) -> bool:
        return self == View()


class NeedsAllRows(UsageError):
    """Raised if a view needs all rows, which `whole=False` excludes."""


def rows_of(shard: Shard, view: View, progress: Progress = no_progress, *, whole: bool = True) -> SomeRows | None:
    """Return the rows of a view in order; None for all rows in the order of the format.

    Rows without a value in the sorted column come last in both directions.

    Raises:
        NeedsAllRows: The view needs all rows and `whole` is False. A complete key is looked up without the index.
        UsageError: The filter is invalid, or there are too many rows to sort.
    """
    objects = shard.objects
    if view.plain:
        return None
    wanted = parse(view.text, objects)
    exact = _exact(shard, wanted.key) if not wanted.rules else None
    if exact is not None:
        return exact
    if not whole:
        raise NeedsAllRows("all rows are needed: load the index first")
    # Filter first: keys are read fastest in the order of the format, and fewer rows are left to sort.
    kept = _filtered(objects, wanted, progress) if view.text else None
    known, rest = _ordered(shard, view.order, kept, progress)
    known = known[::-1] if view.descending else known
    return np.concatenate([known, rest]).astype(_compact(objects)) if len(rest) else known


def can_sort(shard: Shard, order: str) -> bool:
    most = MAX_SORTED_KEYS if order == "key" else MAX_SORTED
    return order in shard.objects.orders or (shard.loaded and len(shard.objects) <= most)


def _compact(objects: Objects) -> type[np.integer]:
    return np.uint32 if len(objects) <= np.iinfo(np.uint32).max else np.int64


_NO_ROWS = np.empty(0, np.int64)


def _ordered(shard: Shard, name: str, kept: SomeRows | None, progress: Progress) -> tuple[SomeRows, SomeRows]:
    """Return the rows in ascending order (stable), and the rows without a value in it."""
    objects = shard.objects
    rows = np.arange(len(objects), dtype=_compact(objects)) if kept is None else kept
    if name in objects.orders:
        order = objects.order(name)
        if order is None:
            return rows, _NO_ROWS
        if kept is not None:
            order = order[_marked(len(objects), kept)[order]]
        return _split(objects, name, rows, order)
    if not can_sort(shard, name):
        raise UsageError(f"this shard cannot be sorted by {name}")
    parts = list(_steps(rows, progress))
    if name == "key":
        texts = [text for part in parts for text in objects.key_texts(part)]
        keyed = [at for at, text in enumerate(texts) if text is not None]
        by_key = rows[np.array(sorted(keyed, key=lambda at: texts[at] or ""), np.int64)]
        return by_key, _missing(len(objects), rows, by_key)
    columns = [getattr(objects.columns(part), _FIELDS.get(name, name)) for part in parts]
    if not columns:
        return _NO_ROWS, _NO_ROWS
    return _split(objects, name, rows, rows[np.argsort(np.concatenate(columns), kind="stable")])


def _split(objects: Objects, name: str, rows: SomeRows, order: SomeRows) -> tuple[SomeRows, SomeRows]:
    """Split an ascending order into rows with and without a value; -1 at its beginning and absent rows have none."""
    left_out = _missing(len(objects), rows, order)
    field = _FIELDS.get(name, name)
    if name not in ("size", "stored", "offset") or not len(order):
        return order, left_out

    def unknown(at: int) -> bool:
        return int(getattr(objects.columns(order[at : at + 1].astype(np.int64)), field)[0]) < 0

    known = bisect_left(range(len(order)), True, key=lambda at: not unknown(at))
    return order[known:], np.concatenate([order[:known], left_out]) if known else left_out


def _marked(count: int, rows: SomeRows) -> NDArray[np.bool_]:
    marked = np.zeros(count, np.bool_)
    marked[rows] = True
    return marked


def _missing(count: int, rows: SomeRows, order: SomeRows) -> SomeRows:
    return _NO_ROWS if len(order) == len(rows) else rows[~_marked(count, order)[rows]]


def _exact(shard: Shard, text: str) -> SomeRows | None:
    if not text:
        return None
    try:
        found = shard.find_all(text)
    except ShardError:
        return None
    # Take the rows without creating an object for each: there may be very many.
    rows = found.row if isinstance(found, ObjectSlice) else np.array([ref.row for ref in found], np.int64)
    rows = np.unique(rows[rows >= 0])
    return rows if len(rows) else None


def _filtered(objects: Objects, wanted: Filter, progress: Progress) -> SomeRows:
    kept: list[SomeRows] = []
    sizes = wanted.by_size and len(objects) <= MANY_SIZES
    for rows in _steps(np.arange(len(objects), dtype=_compact(objects)), progress):
        if wanted.rules:
            rows = rows[wanted.fits(objects.columns(rows, sizes=sizes))]
        if wanted.key and len(rows):
            rows = rows[fitting_keys(wanted.key, objects, rows)]
        kept.append(rows.astype(_compact(objects)))
    return np.concatenate(kept) if kept else _NO_ROWS


def place_of_key(
    objects: Objects, order: SomeRows | None, text: str, start: int, progress: Progress = no_progress
) -> int | None:
    """Return the position in `order` of the next key with a prefix, searching from `start` and wrapping around."""
    rows, begins = np.arange(len(objects)) if order is None else order, (text, text.lower())
    for first, part in ((start, rows[start:]), (0, rows[:start])):
        at = first
        for step in _steps(part, progress):
            for key in objects.key_texts(step):
                if key is not None and key.startswith(begins):
                    return at
                at += 1
    return None


def _steps(rows: SomeRows, progress: Progress) -> Iterator[Rows]:
    for start in range(0, len(rows), STEP):
        progress(start, len(rows))
        yield rows[start : start + STEP].astype(np.int64)
    progress(len(rows), len(rows))


@dataclass(frozen=True, slots=True)
class FileMatch:
    name: str
    ref: ObjectRef | None
    how: str


def find_file(shard: Shard, path: Path, progress: Progress = no_progress) -> FileMatch:
    """Search a local file: by SHA-256 as key, by name as key, then by content, which loads the index.

    Raises:
        UsageError: The path is a folder.
        SourceError: The file cannot be read.
    """
    name = path.name
    if path.is_dir():
        raise UsageError(f"{name} is a folder: drop a single file to search for it")
    digest, size = _digest(path, progress)
    ref = _found(shard, digest)
    if ref is not None:
        return FileMatch(name, ref, f"{name} was found: its SHA-256 is the key of row {ref.row:,}.")
    for key in (name, path.stem):
        ref = _found(shard, key)
        if ref is not None and _same(shard, ref, digest, size):
            return FileMatch(name, ref, f"{name} was found: row {ref.row:,} has its name as key and the same content.")
    if not shard.loaded:
        shard.load_index(progress)
    rows = _rows_of_size(shard.objects, size, progress)
    for row in rows[:MAX_COMPARED].tolist():
        ref = shard.objects.ref(row)
        if _same(shard, ref, digest, size):
            return FileMatch(name, ref, f"{name} was found: row {ref.row:,} has the same content.")
    looked = f"no key is its SHA-256 ({digest[:12]}…)"
    others = plural(len(rows), "object of its size has another content", "objects of its size have other contents")
    rest = f"{others} ({plural(size, 'byte')})" if len(rows) else f"no object has its size, {plural(size, 'byte')}"
    more = f"; only the first {MAX_COMPARED} were compared" if len(rows) > MAX_COMPARED else ""
    return FileMatch(name, None, f"{name} was not found: {looked}, and {rest}{more}.")


def _digest(path: Path, progress: Progress) -> tuple[str, int]:
    try:
        total = path.stat().st_size
        with path.open("rb") as file:
            return sha256_of(iter(partial(file.read, PIECE), b""), lambda at: progress(min(at, total), total))
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error


def _found(shard: Shard, key: str) -> ObjectRef | None:
    try:
        ref = shard.find(key)
    except (KeyAbsent, UsageError):
        return None
    except ShardError:
        return None
    return ref if ref.row >= 0 else None


def _same(shard: Shard, ref: ObjectRef, digest: str, size: int) -> bool:
    if ref.size not in (-1, size):
        return False
    sha256, seen = hashlib.sha256(), 0
    try:
        for piece in shard.stream(ref):
            sha256.update(piece)
            seen += len(piece)
            if seen > size:
                return False
    except ShardError:
        return False
    return sha256.hexdigest() == digest


def _rows_of_size(objects: Objects, size: int, progress: Progress) -> Rows:
    kept: list[Rows] = []
    for rows in _steps(np.arange(len(objects)), progress):
        columns = objects.columns(rows)
        fits = (columns.size == size) & np.isin(columns.state, np.array([State.LIVE, State.EXTERNAL], np.uint8))
        kept.append(rows[fits])
    return np.concatenate(kept) if kept else np.empty(0, np.int64)
