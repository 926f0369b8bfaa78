"""Which objects are shown, in which order: filters and orders over columns, and "is this file in here?". No Qt here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from re import compile as compile_pattern

import numpy as np
from numpy.typing import NDArray

from shardcore import KeyAbsent, ObjectRef, Objects, Shard, ShardError, SourceError, State, UsageError
from shardcore.progress import Progress, no_progress
from shardcore.words import plural

STEP = 1 << 16
"""Rows looked at between two calls of `progress`."""

PIECE = 1 << 20

MAX_SORTED = 4_000_000
"""Rows sorted by a column for which the format keeps no order."""

MAX_COMPARED = 500
"""Objects of the size of a dropped file that are read to compare them."""

HIDDEN = (State.UNUSED, State.DELETED)

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class View:
    """What somebody wants to see of the objects.

    Attributes:
        text: A key, the beginning of one, or a pattern with `*`, `?` or `[…]`; empty for all.
        hide: Whether unused and deleted rows are left out.
        order: One of `Objects.orders`, or the name of a column: key, kind, state, stored, codec, shard.
        descending: Whether the order is turned round.
    """

    text: str = ""
    hide: bool = False
    order: str = "slot"
    descending: bool = False

    @property
    def plain(self) -> bool:
        """Whether this is every row as the format orders them."""
        return self == View()


def rows_of(shard: Shard, view: View, progress: Progress = no_progress) -> Rows | None:
    """The rows of a view, int64; None for all rows in the order of the format.

    Raises:
        UsageError: The order is not known (yet).
        SourceError: The bytes cannot be had.
    """
    objects = shard.objects
    if view.plain:
        return None
    exact = _exact(shard, view.text)
    if exact is not None:
        return exact
    order = _ordered(shard, view.order, progress)
    if view.hide or view.text:
        order = _filtered(objects, order, view, progress)
    elif order is None:
        order = np.arange(len(objects), dtype=np.int64)
    return order[::-1] if view.descending else order


def can_sort(shard: Shard, order: str) -> bool:
    """Whether the objects can be shown in this order: the format keeps it, or there are few enough to sort."""
    return order in shard.objects.orders or (shard.loaded and len(shard.objects) <= MAX_SORTED)


def _ordered(shard: Shard, name: str, progress: Progress) -> Rows | None:
    """The rows in an order; sorted here where the format keeps none. Equal ones stay in the order of the format."""
    objects = shard.objects
    if name in objects.orders:
        return objects.order(name)
    if not can_sort(shard, name):
        raise UsageError(f"the objects cannot be sorted by {name} here")
    parts = list(_steps(len(objects), None, progress))
    if name == "key":
        texts = [text or "" for rows in parts for text in objects.key_texts(rows)]
        return np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
    field = {"offset": "start", "stored": "stored_size"}.get(name, name)
    columns = [getattr(objects.columns(rows), field) for rows in parts]
    return np.argsort(np.concatenate(columns), kind="stable").astype(np.int64) if columns else np.empty(0, np.int64)


def _exact(shard: Shard, text: str) -> Rows | None:
    """The rows of a whole key; None when the text is none that is there."""
    if not text:
        return None
    try:
        rows = sorted({ref.row for ref in shard.find_all(text) if ref.row >= 0})
    except ShardError:
        return None
    return np.array(rows, np.int64) if rows else None


def _filtered(objects: Objects, order: Rows | None, view: View, progress: Progress) -> Rows:
    kept: list[Rows] = []
    for rows in _steps(len(objects), order, progress):
        if view.hide:
            state = objects.columns(rows).state
            rows = rows[~np.isin(state, np.array(HIDDEN, np.uint8))]
        if view.text and len(rows):
            fits = _matcher(view.text)
            texts = objects.key_texts(rows)
            rows = rows[np.fromiter((text is not None and fits(text) for text in texts), bool, len(rows))]
        kept.append(rows)
    return np.concatenate(kept) if kept else np.empty(0, np.int64)


def _steps(count: int, order: Rows | None, progress: Progress) -> Iterator[Rows]:
    total = count if order is None else len(order)
    for start in range(0, total, STEP):
        progress(start, total)
        stop = min(start + STEP, total)
        yield np.arange(start, stop, dtype=np.int64) if order is None else order[start:stop]
    progress(total, total)


def _matcher(text: str) -> Callable[[str], bool]:
    """A pattern, where there is a sign of one; else the beginning of keys. Hex keys are found in either case."""
    if any(sign in text for sign in "*?["):
        pattern = compile_pattern(translate(text))
        return lambda key: pattern.match(key) is not None
    lower = text.lower()
    return lambda key: key.startswith((text, lower))


@dataclass(frozen=True, slots=True)
class Sought:
    """Whether a file is among the objects.

    Attributes:
        name: The file.
        ref: The object, or None.
        how: One sentence: how it was sought, and what came out.
    """

    name: str
    ref: ObjectRef | None
    how: str


def seek_file(shard: Shard, path: Path, progress: Progress = no_progress) -> Sought:
    """Answers "is this file in here?": by its SHA-256 as a key, by its name as a key, then by its content.

    Comparing contents needs the index, which is read if it was not.

    Raises:
        ShardError: The file or the index cannot be read.
    """
    digest, size = _digest(path, progress)
    name = path.name
    ref = _found(shard, digest)
    if ref is not None:
        return Sought(name, ref, f"{name} is here: its SHA-256 is the key of row {ref.row:,}.")
    for key in (name, path.stem):
        ref = _found(shard, key)
        if ref is not None and _same(shard, ref, digest, size):
            return Sought(name, ref, f"{name} is here: row {ref.row:,} has its name as key, and the same content.")
    if not shard.loaded:
        shard.load_index(progress)
    rows = _rows_of_size(shard.objects, size, progress)
    for row in rows[:MAX_COMPARED].tolist():
        ref = shard.objects.ref(row)
        if _same(shard, ref, digest, size):
            return Sought(name, ref, f"{name} is here: row {ref.row:,} has the same content.")
    looked = f"no key is its SHA-256 ({digest[:12]}…)"
    others = plural(len(rows), "object of its size has another content", "objects of its size have other contents")
    rest = f"{others} ({plural(size, 'byte')})" if len(rows) else f"no object has its size, {plural(size, 'byte')}"
    more = f"; only the first {MAX_COMPARED} were compared" if len(rows) > MAX_COMPARED else ""
    return Sought(name, None, f"{name} is not here: {looked}, and {rest}{more}.")


def _digest(path: Path, progress: Progress) -> tuple[str, int]:
    digest, at = hashlib.sha256(), 0
    try:
        total = path.stat().st_size
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                digest.update(piece)
                at += len(piece)
                progress(min(at, total), total)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    return digest.hexdigest(), at


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
    for rows in _steps(len(objects), None, progress):
        columns = objects.columns(rows)
        fits = (columns.size == size) & np.isin(columns.state, np.array([State.LIVE, State.EXTERNAL], np.uint8))
        kept.append(rows[fits])
    return np.concatenate(kept) if kept else np.empty(0, np.int64)
