"""The entries of an index as NumPy columns, without an object per entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.formats.des.layout import (
    BIGFILE_FLAG,
    BIGFILE_HEAD,
    BIGFILE_TAIL,
    HASH_LENGTH,
    INDEX_HEAD,
    INLINE,
    PLACE_V1,
    PLACE_V1_SHORT,
    UID_HEAD,
    PayloadFault,
    are_hashes,
    is_hash,
    payload_fault_text,
    payload_faults,
    read_meta,
    read_uid,
)
from shardcore.formats.des.sidecar import created_at_of
from shardcore.formats.des.walk_entries import EntryShape, EntryWalk, Positions, ShapeV1, ShapeV1Short, ShapeV2, walk
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.pointer_table import Links
from shardcore.model.record import Record
from shardcore.model.span import Span
from shardcore.progress import Progress, no_progress

SCANS = 8
"""Number of lookups per uid length that compare all entries; then the uids of this length are sorted."""

Rows = NDArray[np.int64]

_FEW = 1000


@dataclass(frozen=True, slots=True)
class EntryColumns:
    """Fields of all entries as columns; offsets of texts are relative to the start of the index.

    Attributes:
        uid_start: Offset of the uid.
        uid_length: Bytes of the uid.
        flags: Stored value; 0 in version 1.
        big: True for a BigFile.
        offset: Offset of the payload in the file; 0 for BigFiles.
        length: Stored bytes of the payload; 0 for BigFiles.
        codec: Stored value; 0 for BigFiles and in the first layout of version 1.
        compressed: Field `compressed_size`, normally equal to `length`.
        size: Declared bytes of the uncompressed content.
        hash_start: Offset of the hash; start of the entry if there is none.
        hash_length: Bytes of the hash.
        meta_start: Offset of the metadata.
        meta_length: Bytes of the metadata.
    """

    uid_start: Positions
    uid_length: Positions
    flags: NDArray[np.uint8]
    big: NDArray[np.bool_]
    offset: NDArray[np.uint64]
    length: NDArray[np.uint64]
    codec: NDArray[np.uint8]
    compressed: NDArray[np.uint64]
    size: NDArray[np.uint64]
    hash_start: Positions
    hash_length: Positions
    meta_start: Positions
    meta_length: Positions


class Entries:
    """Entries of one index; row numbers are entry numbers.

    Args:
        index: The bytes of the index.
        version: 1 or 2, from the header.
        data_stop: Start of the index in the file, and the end of the payloads.

    Attributes:
        shape: Layout of the entries.
        walk: Start and end of each entry.
        trailing: Bytes of the index after the last entry.
    """

    def __init__(self, index: bytes, version: int, data_stop: int) -> None:
        self.index = index
        self.data_stop = data_stop
        self.declared = int(
            INDEX_HEAD.read_one(index, place=Span("", data_stop, data_stop + len(index)))["entry_count"]
        )
        self.shape, self.walk = _walk(index, version, self.declared)
        self.trailing = len(index) - self.walk.end
        self._scans: Counter[int] = Counter()
        self._by_length: dict[int, tuple[Rows, NDArray[np.bytes_]]] = {}
        self._bad_texts: Rows | None = None

    def __len__(self) -> int:
        return len(self.walk.starts)

    @cached_property
    def columns(self) -> EntryColumns:
        return self._columns_v2() if isinstance(self.shape, ShapeV2) else self._columns_v1()

    def uid(self, row: int) -> bytes:
        at = int(self.columns.uid_start[row])
        return self.index[at : at + int(self.columns.uid_length[row])]

    def uids(self, rows: Rows) -> list[str | None]:
        starts = self.columns.uid_start[rows]
        stops = starts + self.columns.uid_length[rows]
        index = self.index
        try:
            return [index[a:b].decode() for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
        except UnicodeDecodeError:
            return [read_uid(index[a:b]) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]

    def uid_bytes(self, rows: Rows) -> ByteStrings:
        starts, lengths = self.columns.uid_start[rows], self.columns.uid_length[rows]
        stops = np.cumsum(lengths)
        places = np.repeat(starts - (stops - lengths), lengths) + np.arange(int(stops[-1]) if len(stops) else 0)
        return ByteStrings(np.frombuffer(self.index, np.uint8)[places], lengths)

    def hash(self, row: int) -> bytes:
        at = int(self.columns.hash_start[row])
        return self.index[at : at + int(self.columns.hash_length[row])]

    def meta_bytes(self, row: int) -> bytes:
        at = int(self.columns.meta_start[row])
        return self.index[at : at + int(self.columns.meta_length[row])]

    def meta(self, row: int) -> dict[str, Any]:
        """Return the metadata of a row; raise FormatError if it is not a JSON object."""
        at = self.data_stop + int(self.columns.meta_start[row])
        return read_meta(self.meta_bytes(row), place=Span("", at, at + int(self.columns.meta_length[row])))

    def created_at(self, row: int) -> str:
        try:
            return created_at_of(self.meta(row))
        except FormatError:
            return ""

    def span(self, row: int) -> Span:
        return Span("", self.data_stop + int(self.walk.starts[row]), self.data_stop + int(self.walk.stops[row]))

    @property
    def links(self) -> Links:
        c = self.columns
        rows = np.flatnonzero(~c.big & (c.offset <= np.uint64(self.data_stop)))
        starts = c.offset[rows].astype(np.int64)
        stops = starts + np.minimum(c.length[rows], np.uint64(1 << 62)).astype(np.int64)
        record = INLINE if isinstance(self.shape, ShapeV2) else PLACE_V1

        def pointer(at: int) -> tuple[Span, str]:
            row = int(rows[at])
            start = self.span(row).start + UID_HEAD.size + int(c.uid_length[row]) + record.offsets["offset"]
            return Span("", start, start + record.sizes["offset"]), f"Entry {row} has the offset of its content."

        return Links(starts, stops, pointer)

    @property
    def lost_span(self) -> Span:
        return Span("", self.data_stop + self.walk.end, self.data_stop + len(self.index))

    def problem(self, row: int) -> str:
        """Return the reason why the content of a row cannot be read; "" if it can."""
        c = self.columns
        if c.big[row]:
            return "" if is_hash(self.hash(row)) else "the hash of the BigFile is not 64 hex digits, so it is not read"
        fault = int(self._all_faults[row])
        if fault == PayloadFault.NONE:
            return ""
        offset, length, codec, size = (int(column[row]) for column in (c.offset, c.length, c.codec, c.size))
        return payload_fault_text(fault, offset, length, codec, size, self.data_stop)

    def check_readable(self, row: int) -> None:
        problem = self.problem(row)
        if problem:
            raise FormatError(f"entry {row}: {problem}", span=self.span(row))

    def bad_text(self, row: int) -> str:
        """Return the error in uid or metadata of a row; "" if there is none. The content may still be readable."""
        if read_uid(self.uid(row)) is None:
            return "the uid is not UTF-8"
        try:
            self.meta(row)
        except FormatError as error:
            return error.message
        return ""

    def unreadable(self, rows: Rows) -> NDArray[np.bool_]:
        bad = self._faults(rows) != PayloadFault.NONE
        big = np.flatnonzero(self.columns.big[rows])
        if len(big):
            bad[big] = ~self._hashes_are_names(rows[big])
        return np.asarray(bad, bool)

    def bad_texts(self, rows: Rows) -> NDArray[np.bool_]:
        """Return a mask of the rows whose uid is not UTF-8 or whose metadata has no braces; metadata is not parsed."""
        c = self.columns
        raw = self.shape.bytes
        bad = np.zeros(len(rows), bool)
        for place in np.flatnonzero(self._foreign(rows)).tolist():
            bad[place] = read_uid(self.uid(int(rows[place]))) is None
        some = np.flatnonzero(c.meta_length[rows])
        first = c.meta_start[rows[some]]
        last = first + c.meta_length[rows[some]] - 1
        bad[some] |= (raw[first] != ord("{")) | (raw[last] != ord("}"))
        return bad

    def bad_text_rows(self, progress: Progress = no_progress) -> Rows:
        """Return the rows with a `bad_text`; the first call parses all metadata."""
        if self._bad_texts is None:
            rows = np.flatnonzero(self.bad_texts(np.arange(len(self), dtype=np.int64)) | (self.columns.meta_length > 0))
            bad = []
            for number, row in enumerate(rows.tolist()):
                if number % 1000 == 0:
                    progress(number, len(rows))
                if self.bad_text(row):
                    bad.append(row)
            self._bad_texts = np.array(bad, np.int64)
        return self._bad_texts

    def rows_of(self, uids: Iterable[bytes]) -> list[Rows]:
        """Return the rows of each uid, ascending.

        Compares all uids of equal length; after `SCANS` single requests for a length, its uids are kept sorted.
        """
        wanted = list(uids)
        found: list[Rows] = [np.zeros(0, np.int64)] * len(wanted)
        by_length: dict[int, list[int]] = {}
        for number, uid in enumerate(wanted):
            by_length.setdefault(len(uid), []).append(number)
        for length, numbers in by_length.items():
            kept = self._by_length.get(length)
            rows = np.flatnonzero(self.columns.uid_length == length) if kept is None else kept[0]
            if length == 0 or not len(rows):
                hits = [(0, len(rows))] * len(numbers)
            elif kept is None and len(numbers) == 1 and self._scans[length] < SCANS:
                self._scans[length] += 1
                rows = rows[(self._texts(rows, length) == np.frombuffer(wanted[numbers[0]], np.uint8)).all(axis=1)]
                hits = [(0, len(rows))]
            else:
                rows, texts = kept or self._sorted(rows, length)
                if len(numbers) == 1:
                    self._by_length[length] = rows, texts
                asked = np.array([wanted[n] for n in numbers], f"S{length}")
                left, right = (np.searchsorted(texts, asked, side) for side in ("left", "right"))
                hits = list(zip(left.tolist(), right.tolist(), strict=True))
            for number, (first, last) in zip(numbers, hits, strict=True):
                found[number] = rows[first:last]
        return found

    def rows_of_hash(self, digest: bytes) -> Rows:
        c = self.columns
        rows = np.flatnonzero(c.big & (c.hash_length == len(digest)))
        if not digest or not len(rows):
            return rows
        texts = sliding_window_view(self.shape.bytes, len(digest))[c.hash_start[rows]]
        same: NDArray[np.bool_] = (texts == np.frombuffer(digest, np.uint8)).all(axis=1)
        return np.asarray(rows[same])

    def rows_at(self, start: int, stop: int) -> Rows:
        """Return the rows of compressed objects whose payload is exactly `[start, stop)` of the file, ascending."""
        c = self.columns
        if not start <= stop <= self.data_stop:
            return np.zeros(0, np.int64)
        here: NDArray[np.bool_] = (c.offset == np.uint64(start)) & (c.length == np.uint64(stop - start))
        return np.flatnonzero(here & ~c.big & (c.codec > 0))

    def duplicates(self) -> list[Rows]:
        groups: list[Rows] = []
        for length in np.unique(self.columns.uid_length).tolist():
            rows = np.flatnonzero(self.columns.uid_length == length)
            if len(rows) < 2:
                continue
            if length == 0:
                groups.append(rows)
                continue
            rows, texts = self._sorted(rows, length)
            breaks = np.flatnonzero(np.concatenate([[True], texts[1:] != texts[:-1], [True]]))
            wide = np.flatnonzero(np.diff(breaks) > 1)
            groups += [rows[breaks[n] : breaks[n + 1]] for n in wide.tolist()]
        return groups

    def by_offset(self) -> Rows:
        """Return the rows of inline objects with a payload in the data section, sorted by offset."""
        c = self.columns
        rows = np.flatnonzero(~c.big & (c.length > 0))
        rows = rows[self._faults(rows) != PayloadFault.OUTSIDE]
        return np.asarray(rows[np.lexsort((rows, c.offset[rows]))])

    def _foreign(self, rows: Rows) -> NDArray[np.bool_]:
        c = self.columns
        starts, lengths = c.uid_start[rows], c.uid_length[rows]
        if len(rows) < _FEW:
            index = self.index
            places = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
            return np.array([not index[first:last].isascii() for first, last in places], bool)
        order = np.argsort(starts)
        edges = np.stack([starts[order], (starts + lengths)[order]], axis=1).ravel()
        found = np.zeros(len(rows), bool)
        found[order] = np.bitwise_or.reduceat(self.shape.bytes, edges)[::2] >= 0x80
        return np.asarray(found & (lengths > 0), bool)

    def _hashes_are_names(self, rows: Rows) -> NDArray[np.bool_]:
        good: NDArray[np.bool_] = self.columns.hash_length[rows] == HASH_LENGTH
        starts = self.columns.hash_start[rows[good]]
        if len(starts):
            good[good] = are_hashes(sliding_window_view(self.shape.bytes, HASH_LENGTH)[starts])
        return good

    def _faults(self, rows: Rows) -> NDArray[np.uint8]:
        return self._all_faults[rows]

    @cached_property
    def _all_faults(self) -> NDArray[np.uint8]:
        c = self.columns
        return payload_faults(c.offset, c.length, c.codec, c.size, self.data_stop)

    def _texts(self, rows: Rows, length: int) -> NDArray[np.uint8]:
        return np.ascontiguousarray(sliding_window_view(self.shape.bytes, length)[self.columns.uid_start[rows]])

    def _sorted(self, rows: Rows, length: int) -> tuple[Rows, NDArray[np.bytes_]]:
        # `S` drops trailing NULs, which cannot make two texts of one length equal.
        texts = self._texts(rows, length).view(f"S{length}").ravel()
        order = np.argsort(texts, kind="stable")
        return rows[order], texts[order]

    def _records(self, record: Record, starts: Positions) -> NDArray[Any]:
        if not len(starts):
            return np.zeros(0, record.dtype)
        return (
            np.ascontiguousarray(sliding_window_view(self.shape.bytes, record.size)[starts]).view(record.dtype).ravel()
        )

    def _columns_v1(self) -> EntryColumns:
        starts = self.walk.starts
        uid_length = self.shape.number(starts, "<u2")
        uid_start = starts + UID_HEAD.size
        short = isinstance(self.shape, ShapeV1Short)
        place = self._records(PLACE_V1_SHORT if short else PLACE_V1, uid_start + uid_length)
        none = np.zeros(len(starts), np.uint8)
        return EntryColumns(
            uid_start,
            uid_length,
            none,
            none.astype(bool),
            place["offset"],
            place["length"],
            none if short else place["codec"],
            place["length"] if short else place["compressed_size"],
            place["length"] if short else place["uncompressed_size"],
            starts,
            none.astype(np.int64),
            self.walk.stops,
            none.astype(np.int64),
        )

    def _columns_v2(self) -> EntryColumns:
        starts, stops = self.walk.starts, self.walk.stops
        uid_length = self.shape.number(starts, "<u2")
        uid_start = starts + UID_HEAD.size
        body = uid_start + uid_length
        flags = self.shape.bytes[body]
        big = (flags & BIGFILE_FLAG).astype(bool)
        some = bool(big.any())
        place = np.zeros(len(starts), INLINE.dtype) if some else self._records(INLINE, body)
        if some:
            place[~big] = self._records(INLINE, body[~big])
        size = place["uncompressed_size"].copy()
        hash_start, hash_length = starts.copy(), np.zeros(len(starts), np.int64)
        meta_length = place["meta_length"].astype(np.int64)
        if some:
            hash_length[big] = self._records(BIGFILE_HEAD, body[big])["hash_length"]
            hash_start[big] = body[big] + BIGFILE_HEAD.size
            tail = self._records(BIGFILE_TAIL, (hash_start + hash_length)[big])
            size[big], meta_length[big] = tail["size"], tail["meta_length"]
        return EntryColumns(
            uid_start,
            uid_length,
            flags,
            big,
            place["offset"],
            place["length"],
            place["codec"],
            place["compressed_size"],
            size,
            hash_start,
            hash_length,
            stops - meta_length,
            meta_length,
        )


def _walk(index: bytes, version: int, count: int) -> tuple[EntryShape, EntryWalk]:
    """Return the layout and the walk of the entries.

    Version 1 had two layouts: use the one whose entries end exactly with the index, or else the one with all entries.
    """
    if version != 1:
        shape = ShapeV2(index)
        return shape, walk(shape, count)
    found = [(shape, walk(shape, count)) for shape in (ShapeV1(index), ShapeV1Short(index))]
    whole = [(shape, done) for shape, done in found if not done.error]
    exact = [(shape, done) for shape, done in whole if done.end == len(index)]
    return (exact or whole or found)[0]
