"""Filters of objects by key, size, row, state, kind and codec; search for keys and for local files. No Qt here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shardcore import (
    ObjectColumns,
    ObjectRef,
    Objects,
    ObjectSlice,
    Shard,
    ShardError,
    SourceError,
    State,
    UsageError,
)
from shardcore.codecs.content_hash import sha256_of
from shardcore.dataclasses import dataclass
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.text import plural
from shardcore.progress import Progress, no_progress

STEP = 1 << 16

PIECE = 1 << 20

MANY_SIZES = 100_000
"""Maximum number of rows for which a filter reads unknown sizes."""

MOST_FOUND_KEYS, MOST_COMPARED_KEYS = 20, 5_000

MAX_COMPARED = 500
"""Maximum number of objects compared with a dropped file."""

Rows = NDArray[np.int64]

SomeRows = NDArray[np.integer]
"""Row numbers: uint32 if that is enough for the number of objects, else int64; see `compact`."""

NO_ROWS = np.empty(0, np.int64)


def compact(objects: Objects) -> type[np.integer]:
    return np.uint32 if len(objects) <= np.iinfo(np.uint32).max else np.int64


def steps(rows: SomeRows, progress: Progress) -> Iterator[Rows]:
    for start in range(0, len(rows), STEP):
        progress(start, len(rows))
        yield rows[start : start + STEP].astype(np.int64)
    progress(len(rows), len(rows))


STATES = tuple(state.name.lower() for state in State)

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_NUMBER = r"(\d[\d,_]*)\s*([KMGT]?)(?:i?B)?"
_COMPARED = re.compile(rf"([<>]=?|=){_NUMBER}", re.IGNORECASE)
_BETWEEN = re.compile(rf"(?:{_NUMBER})?\.\.(?:{_NUMBER})?", re.IGNORECASE)
_EXACT = re.compile(_NUMBER, re.IGNORECASE)
_HEX = re.compile("[0-9a-f]+")
_NAMED = re.compile(r"(-?)(state|kind|codec):(.*)", re.IGNORECASE)
_MEASURED = {"size": "size", "stored": "stored_size", "row": "row"}

Fits = Callable[[ObjectColumns], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that a row must all meet; `key` is a key, a part of a key, or a glob pattern."""

    key: str = ""
    rules: tuple[Fits, ...] = ()
    by_size: bool = False

    def fits(self, columns: ObjectColumns) -> NDArray[np.bool_]:
        wanted = np.ones(len(columns), bool)
        for rule in self.rules:
            wanted &= rule(columns)
        return wanted

    def rows(self, objects: Objects, progress: Progress) -> SomeRows:
        """Return the rows that meet the conditions, in the order of the format."""
        kept: list[SomeRows] = []
        sizes = self.by_size and len(objects) <= MANY_SIZES
        for rows in steps(np.arange(len(objects), dtype=compact(objects)), progress):
            if self.rules:
                rows = rows[self.fits(objects.columns(rows, sizes=sizes))]
            if self.key and len(rows):
                rows = rows[fitting_keys(self.key, objects, rows)]
            kept.append(rows.astype(compact(objects)))
        return np.concatenate(kept) if kept else NO_ROWS


def parse(text: str, objects: Objects) -> Filter:
    """Parse the words of a filter.

    - `>4K`, `<=1M`, `=7`, `10..200`, `size:…`: uncompressed size in bytes, both ends included
    - `stored:…`: stored size
    - `row:…`: row numbers
    - `state:live,unused`, `kind:chunk`, `codec:lz4`; `-state:unused` excludes
    - `key:…` and every other word: part of the key

    Raises:
        UsageError: A size, row, state, kind or codec is invalid.
    """
    keys: list[str] = []
    rules: list[Fits] = []
    by_size = False
    for word in text.split():
        name, colon, rest = word.partition(":")
        name = name.lower() if colon else ""
        if word[0] in "<>=" or _is_between(word):
            name, rest = "size", word
        if name in _MEASURED:
            rules.append(_measured(name, rest, word))
            by_size = by_size or name == "size"
        elif named := _NAMED.fullmatch(word):
            rules.append(_names(named[2].lower(), named[3], bool(named[1]), objects))
        else:
            keys.append(rest if name == "key" else word)
    return Filter(" ".join(keys), tuple(rules), by_size)


def fitting_keys(text: str, objects: Objects, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the rows whose key contains a text or matches a glob pattern; hashes match in either case."""
    part = text.strip("*")
    if any(sign in part for sign in "*?[") or text not in (part, f"*{part}*"):
        match = re.compile(translate(text)).match
        return np.array([key is not None and match(key) is not None for key in objects.key_texts(rows)], bool)
    low = part.lower()
    if objects.key_encoding == "hash" and _HEX.fullmatch(low):
        return _with_digits(low, objects.key_bytes(rows))
    return np.array([key is not None and (part in key or low in key) for key in objects.key_texts(rows)], bool)


def _with_digits(part: str, hashes: ByteStrings) -> NDArray[np.bool_]:
    """Return a mask of the hashes that contain the hex digits `part`; searches one text of all hashes, joined."""
    digits, width = hashes.data.tobytes().hex(), 2 * int(hashes.lengths.max(initial=0))
    numbers, at = [], digits.find(part)
    while at >= 0:
        stop = at - at % width + width
        if at + len(part) <= stop:
            numbers.append(at // width)
            at = digits.find(part, stop)
        else:
            at = digits.find(part, at + 1)
    found = np.zeros(len(hashes), np.bool_)
    found[np.flatnonzero(hashes.lengths)[numbers]] = True
    return found


def toggled(text: str, name: str, value: str) -> str:
    """Return a filter with `name:value` added, or removed if it is there."""
    before = wanted_names(text, name)
    chosen = [one for one in before if one != value] if value in before else [*before, value]
    words = [word for word in text.split() if not word.startswith(f"{name}:")]
    return " ".join([*words, f"{name}:{','.join(chosen)}"] if chosen else words)


def wanted_names(text: str, name: str) -> list[str]:
    values = [word.removeprefix(f"{name}:") for word in text.split() if word.startswith(f"{name}:")]
    return [one for value in values for one in value.split(",") if one]


def _is_between(word: str) -> bool:
    return word != ".." and _BETWEEN.fullmatch(word) is not None


def _measured(name: str, text: str, word: str) -> Fits:
    column, (low, high) = _MEASURED[name], _bounds(text, word)
    return lambda columns: (getattr(columns, column) >= low) & (getattr(columns, column) <= high)


def _bounds(text: str, word: str) -> tuple[int, int]:
    most = int(np.iinfo(np.int64).max)
    if found := _COMPARED.fullmatch(text):
        size = _size(found[2], found[3])
        bounds = {"<": (0, size - 1), "<=": (0, size), ">": (size + 1, most), ">=": (size, most), "=": (size, size)}
        low, high = bounds[found[1]]
    elif _is_between(text) and (found := _BETWEEN.fullmatch(text)):
        low = _size(found[1], found[2]) if found[1] else 0
        high = _size(found[3], found[4]) if found[3] else most
    elif found := _EXACT.fullmatch(text):
        low = high = _size(found[1], found[2])
    else:
        if word.lower().startswith("row:"):
            raise UsageError(f"invalid rows {word}: use row:12 or row:10..20")
        raise UsageError(f"invalid size {word}: use >4K, <=1M or 10..200")
    return min(low, most), min(high, most)


def _size(digits: str, unit: str) -> int:
    return int(digits.replace(",", "").replace("_", "")) * _UNITS[unit.upper()]


def _names(column: str, text: str, negative: bool, objects: Objects) -> Fits:
    names: Sequence[str] = {"state": STATES, "kind": objects.kinds, "codec": objects.codecs}[column]
    lower = [name.lower() for name in names]
    wanted = []
    for name in filter(None, text.lower().split(",")):
        if name not in lower:
            raise UsageError(f"unknown {column} {name}: use one of {', '.join(names)}")
        wanted.append(lower.index(name))
    if not wanted:
        raise UsageError(f"`{column}:` requires a value: {', '.join(names)}")
    numbers = np.array(wanted, np.uint8)
    return lambda columns: np.isin(getattr(columns, column), numbers, invert=negative)


# --- search ---


def exact_rows(shard: Shard, text: str) -> SomeRows | None:
    """Return the rows with exactly this key; None if there are none. Needs no index."""
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


def place_of_key(
    objects: Objects, order: SomeRows | None, text: str, start: int, progress: Progress = no_progress
) -> int | None:
    """Return the position in `order` of the next key with a prefix, searching from `start` and wrapping around."""
    rows, begins = np.arange(len(objects)) if order is None else order, (text, text.lower())
    for first, part in ((start, rows[start:]), (0, rows[:start])):
        at = first
        for step in steps(part, progress):
            for key in objects.key_texts(step):
                if key is not None and key.startswith(begins):
                    return at
                at += 1
    return None


def keys_with(text: str, objects: Objects, progress: Progress) -> list[tuple[int, str]]:
    """Return rows and keys of objects whose key matches as in a filter; keys with this prefix first. O(objects)."""
    rows = Filter(text).rows(objects, progress)[:MOST_COMPARED_KEYS].astype(np.int64)
    found = [(row, key) for row, key in zip(rows.tolist(), objects.key_texts(rows), strict=True) if key is not None]
    return sorted(found, key=lambda one: not one[1].startswith((text, text.lower())))[:MOST_FOUND_KEYS]


@dataclass(frozen=True, slots=True)
class FileMatch:
    name: str
    ref: ObjectRef | None
    how: str


def find_file(shard: Shard, path: Path, progress: Progress = no_progress) -> FileMatch:
    """Find the object equal to a local file: by its SHA-256 as key, its name as key, or its content (loads the index).

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
    there = np.array([State.LIVE, State.EXTERNAL], np.uint8)
    same_size = Filter(rules=(lambda columns: (columns.size == size) & np.isin(columns.state, there),))
    rows = same_size.rows(shard.objects, progress)
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
