"""From the number or hash of a chunk to its record; the sentences are in `trace_steps.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import from_text, text_of_key, to_text
from shardcore.errors import FormatError, KeyAbsent, UsageError
from shardcore.formats.xorb.file import XorbFile
from shardcore.formats.xorb.objects import CODECS, XorbObjects
from shardcore.model.keys import KeyForm, number_or_text
from shardcore.model.number_text import plural
from shardcore.model.objects import ObjectRef, ObjectSlice
from shardcore.model.safe_text import short
from shardcore.model.span import Span
from shardcore.sources.base import Source

ALL = "all"
"""Key of all chunks, concatenated."""

_MOST_DIGITS = 9
_COUNT_BYTES = 4


@dataclass(frozen=True, slots=True)
class WholeXorb:
    """The lookup of all chunks, which needs no search."""

    file: XorbFile


@dataclass(frozen=True, slots=True)
class InfoFound:
    """The info block, with the length after it."""

    block: Span


@dataclass(frozen=True, slots=True)
class Searched:
    """The chunk hashes, compared with the requested one; `same` are the numbers of the chunks that have it."""

    file: XorbFile
    hashes: int
    same: list[int]

    @property
    def listed(self) -> bool:
        """True if the info block lists the hashes; otherwise all chunks were decompressed and hashed."""
        return self.file.records.hashes is not None


@dataclass(frozen=True, slots=True)
class Counted:
    file: XorbFile
    number: int


@dataclass(frozen=True, slots=True)
class RecordLocated:
    file: XorbFile
    number: int

    @property
    def record(self) -> Span:
        return self.file.records.span(self.number)


@dataclass(frozen=True, slots=True)
class Checked:
    """The decompressed content of a chunk; compared with its hash if the info block has it."""

    file: XorbFile
    ref: ObjectRef
    size: int


Fact = WholeXorb | InfoFound | Searched | Counted | RecordLocated | ObjectRef | Checked


def all_records(file: XorbFile) -> Span:
    return Span("", 0, file.records.stop)


def count_span(file: XorbFile) -> Span:
    """Return the bytes that prove the chunk count: the count in the info block, or without one all records."""
    part = file.info_part("hashes") or file.info_part("count")
    return all_records(file) if part is None else Span("", part[1].stop - _COUNT_BYTES, part[1].stop)


def listed_at(file: XorbFile, name: str, number: int) -> Span:
    """Return an entry of a list of the info block; all records if nothing lists it."""
    part = file.info_part(name)
    return all_records(file) if part is None else part[0].record.span("", part[1].start + number * part[0].record.size)


def _raw(text: str) -> bytes | int | str:
    return from_text(text) if len(text) > _MOST_DIGITS else number_or_text(text)


KEY_FORM = KeyForm(of_bytes=text_of_key, numbers=True, to_raw=_raw)


def _number(key: str) -> int | None:
    return int(key) if key.isascii() and key.isdigit() and len(key) <= _MOST_DIGITS else None


class XorbLookup:
    def __init__(self, file: XorbFile, objects: XorbObjects) -> None:
        self._file = file
        self._objects = objects

    @staticmethod
    def parse(text: str) -> str:
        """Return a chunk number, a hash of 64 hex digits, or `all`; raise UsageError for anything else."""
        if text == ALL:
            return text
        if (number := _number(text)) is not None:
            return str(number)
        try:
            return to_text(from_text(text))
        except UsageError as error:
            forms = f"the number of a chunk, its hash (64 hex digits), or `{ALL}`"
            raise UsageError(f"a key of a xorb is {forms}; not {short(text)}") from error

    def walk(self, key: str, source: Source) -> Iterator[Fact]:
        """Look up a chunk and yield each result in order. If several chunks have the hash, the first is used.

        Raises:
            KeyAbsent: There is no such chunk.
            FormatError: The chunk may be in a damaged record.
        """
        file, count, number = self._file, self._file.records.count, _number(key)
        if key == ALL:
            yield WholeXorb(file)
            yield self._all()
            return
        if file.info_span.size:
            yield InfoFound(file.info_span)
        if number is None:
            searched = self._search(key, source)
            yield searched
            self._check_absence(searched, source)
            if not searched.same:
                raise KeyAbsent(key)
            number = searched.same[0]
        elif number >= count:
            yield Counted(file, number)
            self._check_end()
            raise KeyAbsent(key, f"there is no chunk {key}: the xorb has {plural(count, 'chunk')}")
        yield RecordLocated(file, number)
        ref = self._objects.ref_at(number, source.read)
        yield ref
        yield Checked(file, ref, len(file.check_chunk(source, number)))

    def find_all(self, key: str) -> Sequence[ObjectRef]:
        if key == ALL:
            return (self._all(),)
        if (number := _number(key)) is None:
            return ObjectSlice(self._objects, np.array(self._with_hash(key), np.int64))
        if number >= len(self._objects):
            self._check_end()
            return ()
        return (self._objects.ref(number),)

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        rows = np.full(len(keys), -1, np.int64)
        for place, key in enumerate(keys):
            if key != ALL and (number := _number(key)) is None:
                rows[place] = next(iter(self._with_hash(key)), -1)
            elif key != ALL and number is not None and number < self._file.records.count:
                rows[place] = number
        return rows

    def _all(self) -> ObjectRef:
        records, span = self._file.records, all_records(self._file)
        size = -1 if records.unpacked_ends is None else int(records.unpacked_ends[-1]) if records.count else 0
        return ObjectRef(ALL, -1, (span,), size, span.size, codec=CODECS[-1], kind="chunk")

    def _with_hash(self, key: str) -> list[int]:
        searched = self._search(key, self._file.source)
        self._check_absence(searched, self._file.source)
        return searched.same

    def _search(self, key: str, source: Source) -> Searched:
        hashes = self._file.hashes(source)
        same = np.flatnonzero((hashes == np.frombuffer(from_text(key), np.uint8)).all(axis=1)).tolist()
        return Searched(self._file, len(hashes), same)

    def _check_absence(self, searched: Searched, source: Source) -> None:
        """Raise the error of a chunk that could not be hashed, or of an invalid record: the key may be in either."""
        if searched.listed or searched.same:
            return
        for number in np.flatnonzero(~self._file.hashes(source).any(axis=1)).tolist():
            self._file.check_chunk(source, number)
        self._check_end()

    def _check_end(self) -> None:
        if (fault := self._file.fault) is not None:
            raise FormatError(fault.message, span=fault.span)
