"""The chunks of a xorb as objects, and the lookup of a chunk by its number or its hash.

`trace_steps.py` has the texts of the lookup's steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import from_text, text_of_key, to_text
from shardcore.codecs.xet.xorb_layout import CHUNK_HEADER, HEADER_SIZE, Scheme, read_u24
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, KeyAbsent, UsageError
from shardcore.formats.xorb.file import Read, XorbFile
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.keys import KeyForm, number_or_text
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, ObjectSlice, State
from shardcore.model.span import Span
from shardcore.model.text import plural, short
from shardcore.sources.base import Source

CODECS = (*(scheme.label for scheme in Scheme), "unknown")
UNKNOWN = len(CODECS) - 1


class XorbObjects(Objects):
    kinds = ("chunk",)
    codecs = CODECS
    key_encoding = "number"

    def __init__(self, file: XorbFile) -> None:
        self.file = file

    def __len__(self) -> int:
        return self.file.records.count

    @property
    def sized(self) -> bool:
        """True if the info block lists the uncompressed sizes."""
        return self.file.records.unpacked_ends is not None

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        """Return the columns of rows. Codec and state are known only after `load` or with `sizes=True`."""
        rows, records = np.asarray(rows, np.int64), self.file.records
        headers = self.file.load() if sizes else self.file.headers
        stop = records.ends[rows]
        start = np.minimum(records.starts[rows] + HEADER_SIZE, stop)
        codec: Any = UNKNOWN
        state: Any = State.LIVE
        size: Any = -1
        if headers is not None or self.sized:
            size = self.file.chunk_sizes()[rows]
        if headers is not None:
            codec = np.minimum(headers["compression_type"][rows], UNKNOWN)
            state = np.where(records.faults(headers)[rows], State.DAMAGED, State.LIVE)
        return ObjectColumns.of(rows, start, stop, size, codec=codec, state=state)

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        return [str(row) for row in np.asarray(rows).tolist()]

    def key_bytes(self, rows: NDArray[np.int64]) -> ByteStrings:
        """Return the chunk numbers as 8 little-endian bytes each."""
        return ByteStrings.rows(np.ascontiguousarray(rows, "<i8"))

    def ref(self, row: int) -> ObjectRef:
        return self.ref_at(row, self.file.source.read)

    def ref_at(self, row: int, read: Read) -> ObjectRef:
        if not 0 <= row < len(self):
            raise IndexError(row)
        records, headers = self.file.records, self.file.headers
        span, stored = records.span(row), records.stored_span(row)
        if headers is not None:
            header = CHUNK_HEADER.values(headers[row])
        else:
            header = CHUNK_HEADER.read_one(read(span.start, stored.start), place=span)
        fault, size = records.fault(header, row), records.size(row)
        extras: dict[str, Any] = {"record": (span.start, span.stop)}
        if records.hashes is not None:
            extras["hash"] = to_text(records.hashes[row].tobytes())
        return ObjectRef(
            key=str(row),
            row=row,
            spans=(stored,),
            size=read_u24(header["uncompressed_size"]) if size < 0 else size,
            stored_size=stored.size,
            codec=CODECS[min(header["compression_type"], UNKNOWN)],
            state=State.DAMAGED if fault else State.LIVE,
            kind="chunk",
            error=fault,
            extras=extras,
        )

    @property
    def orders(self) -> tuple[str, ...]:
        return ("slot", "offset") + (("size",) if self.file.headers is not None else ())

    def order(self, name: str) -> NDArray[np.int64] | None:
        if name == "offset":
            return None
        if name == "size" and name in self.orders:
            return np.argsort(self[:].size, kind="stable")
        return super().order(name)


# --- facts of a lookup ------------------------------------------------------------------------------------------

ALL = "all"
"""Key of the whole content: all chunks, decompressed and concatenated."""

_MOST_DIGITS = 9
_COUNT_BYTES = 4


@dataclass(frozen=True, slots=True)
class WholeXorb:
    """The lookup of all chunks, which needs no search."""

    file: XorbFile


@dataclass(frozen=True, slots=True)
class InfoFound:
    """The span of the info block, including the 4-byte length after it."""

    block: Span


@dataclass(frozen=True, slots=True)
class Searched:
    """Result of a search by hash: the number of hashes compared, and the numbers of the chunks with the same hash."""

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
    """Result of decompressing a chunk: its size in bytes. Its hash was compared if the info block lists it."""

    file: XorbFile
    ref: ObjectRef
    size: int


Fact = WholeXorb | InfoFound | Searched | Counted | RecordLocated | ObjectRef | Checked


def all_records(file: XorbFile) -> Span:
    return Span("", 0, file.records.stop)


def count_span(file: XorbFile) -> Span:
    """Return the bytes that prove the chunk count: the count in the info block, or without one all records."""
    parts = file.info_parts
    span = next((parts[name][1] for name in ("hashes", "count") if name in parts), None)
    return all_records(file) if span is None else Span("", span.stop - _COUNT_BYTES, span.stop)


def listed_at(file: XorbFile, name: str, number: int) -> Span:
    """Return the span of an entry in the list `name` of the info block; without this list, that of all records."""
    if name not in file.info_parts:
        return all_records(file)
    part, span = file.info_parts[name]
    return part.record.span("", span.start + number * part.record.size)


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
        """Look up a chunk and yield each intermediate result. If several chunks have the hash, the first is used.

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
            if (number := _number(key)) is not None:
                rows[place] = number if number < self._file.records.count else -1
            elif key != ALL:
                rows[place] = next(iter(self._with_hash(key)), -1)
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
