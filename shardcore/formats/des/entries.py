"""Entries of an index: their fields as NumPy columns, errors in them, and searches by uid, hash and offset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError
from shardcore.formats.des import layout
from shardcore.formats.des.walk_entries import EntryShape, EntryWalk, Positions, ShapeV1, ShapeV1Short, ShapeV2, walk
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.objects import row_steps
from shardcore.model.pointer_table import Links
from shardcore.model.record import Record
from shardcore.model.span import Span
from shardcore.model.text import ends_text, plural
from shardcore.progress import Progress

SCANS = 8
"""Number of lookups per uid length that compare all uids of this length; the next lookup sorts them."""

Rows = NDArray[np.int64]
N = TypeVar("N")

UIDS_AT_ONCE = 1 << 14


@dataclass(slots=True)
class EntryFields(Generic[N]):
    """Fields of one entry, or of many as columns; offsets of texts are relative to the start of the index.

    Attributes:
        uid_start, uid_length: Offset of the uid, and its length in bytes.
        flags: Stored value; 0 in version 1.
        big: True for a BigFile.
        offset: Offset of the payload in the file; 0 for BigFiles.
        length: Stored bytes of the payload; 0 for BigFiles.
        codec: Stored value; 0 for BigFiles and in the first layout of version 1.
        compressed: Field `compressed_size`, normally equal to `length`.
        size: Declared bytes of the uncompressed content.
        hash_start, hash_length: Offset and length of the hash; start of the entry and 0 if there is none.
        meta_start, meta_length: Offset of the metadata, and their length in bytes.
    """

    uid_start: N
    uid_length: N
    flags: N
    big: N
    offset: N
    length: N
    codec: N
    compressed: N
    size: N
    hash_start: N
    hash_length: N
    meta_start: N
    meta_length: N


EntryColumns = EntryFields[NDArray[Any]]


class Entries:
    """Entries of one index; row numbers are entry numbers.

    Args:
        index: The bytes of the index.
        version: 1 or 2, from the header.
        data_stop: Start of the index in the file, and the end of the payloads.

    Attributes:
        shape: Layout of the entries.
        walk: Start and end of each entry.
        declared: Number of entries that the index declares.
        lost_span: Bytes of the index after the last entry.
    """

    def __init__(self, index: bytes, version: int, data_stop: int) -> None:
        self.index = index
        self.data_stop = data_stop
        whole = Span("", data_stop, data_stop + len(index))
        self.declared = int(layout.INDEX_HEAD.read_one(index, place=whole)["entry_count"])
        self.shape, self.walk = _walk(index, version, self.declared)
        self.lost_span = Span("", data_stop + self.walk.end, whole.stop)
        self._scans: Counter[int] = Counter()
        self._by_length: dict[int, tuple[Rows, NDArray[np.bytes_]]] = {}

    def __len__(self) -> int:
        return len(self.walk.starts)

    @property
    def all_rows(self) -> Rows:
        return np.arange(len(self), dtype=np.int64)

    @cached_property
    def columns(self) -> EntryColumns:
        """Fields of all entries, computed once; they take about 90 bytes of memory per entry."""
        return self.part(slice(None))

    def part(self, rows: Rows | slice) -> EntryColumns:
        shape, starts, stops = self.shape, self.walk.starts[rows], self.walk.stops[rows]
        none = np.zeros(len(starts), np.uint8)
        uid_length = shape.number(starts, "<u2")
        uid_start = starts + layout.UID_HEAD.size
        body = uid_start + uid_length
        flags = shape.bytes[body] if shape.bigfile else none
        big = (flags & layout.BIGFILE_FLAG).astype(bool)
        place = self._records(shape.place, body, ~big)
        length = place["length"]
        codec, compressed, size = none, length, length
        if "codec" in shape.place.offsets:
            codec, compressed, size = place["codec"], place["compressed_size"], place["uncompressed_size"]
        hash_start, hash_length, meta_length = starts, none.astype(np.int64), none.astype(np.int64)
        if shape.bigfile:
            meta_length = place["meta_length"].astype(np.int64)
        if big.any():
            hash_length = self._records(layout.BIGFILE_HEAD, body, big)["hash_length"].astype(np.int64)
            hash_start = np.where(big, body + layout.BIGFILE_HEAD.size, starts)
            tail = self._records(layout.BIGFILE_TAIL, hash_start + hash_length, big)
            size, meta_length = np.where(big, tail["size"], size), np.where(big, tail["meta_length"], meta_length)
        fields = (uid_start, uid_length, flags, big, place["offset"], length, codec, compressed, size)
        return EntryFields(*fields, hash_start, hash_length, stops - meta_length, meta_length)

    def entry(self, row: int) -> EntryFields[int]:
        index, start, stop = self.index, int(self.walk.starts[row]), int(self.walk.stops[row])
        uid_start = start + layout.UID_HEAD.size
        body = uid_start + (index[start] | index[start + 1] << 8)
        uid, flags, meta = (uid_start, body - uid_start), 0, 0
        place: tuple[int, ...]
        if self.shape.bigfile and index[body] & layout.BIGFILE_FLAG:
            flags, hash_length = layout.BIGFILE_HEAD.packer.unpack_from(index, body)
            hash_start = body + layout.BIGFILE_HEAD.size
            size, meta = layout.BIGFILE_TAIL.packer.unpack_from(index, hash_start + hash_length)
            return EntryFields(*uid, flags, True, 0, 0, 0, 0, size, hash_start, hash_length, stop - meta, meta)
        place = self.shape.place.packer.unpack_from(index, body)
        if self.shape.bigfile:
            flags, place, meta = place[0], place[1:-1], place[-1]
        offset, length, codec, compressed, size = place if len(place) > 2 else (*place, 0, place[1], place[1])
        fields = (flags, False, offset, length, codec, compressed, size)
        return EntryFields(*uid, *fields, start, 0, stop - meta, meta)

    def _records(self, record: Record, starts: Positions, there: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the record at each of `starts`; zeros where `there` is False, because the entry does not have it."""
        found = np.zeros(len(starts), record.dtype)
        if there.any():
            windows = sliding_window_view(self.shape.bytes, record.size)
            found[there] = np.ascontiguousarray(windows[starts[there]]).view(record.dtype).ravel()
        return found

    def uid(self, row: int) -> bytes:
        at = int(self.walk.starts[row])
        uid_start = at + layout.UID_HEAD.size
        return self.index[uid_start : uid_start + (self.index[at] | self.index[at + 1] << 8)]

    def hash(self, row: int) -> bytes:
        return self.hash_of(self.entry(row))

    def hash_of(self, entry: EntryFields[int]) -> bytes:
        return self.index[entry.hash_start : entry.hash_start + entry.hash_length]

    def hash_text(self, row: int) -> str:
        return self.hash(row).decode("ascii", "replace")

    def uids(self, rows: Rows) -> list[str | None]:
        found: list[str | None] = []
        for joined, lengths in self._batches(rows):
            stops = np.cumsum(lengths)
            places = zip((stops - lengths).tolist(), stops.tolist(), strict=True)
            if joined.isascii():
                text = joined.decode()
                found += [text[a:b] for a, b in places]
            else:
                found += [layout.read_uid(joined[a:b]) for a, b in places]
        return found

    def _batches(self, rows: Rows) -> Iterator[tuple[bytes, NDArray[np.int64]]]:
        """Yield the bytes of `UIDS_AT_ONCE` uids, one after another, with their lengths."""
        for first in range(0, len(rows), UIDS_AT_ONCE):
            some = rows[first : first + UIDS_AT_ONCE]
            lengths = self.uid_lengths[some].astype(np.int64)
            yield self._joined(self.walk.starts[some] + layout.UID_HEAD.size, lengths), lengths

    def _joined(self, starts: Positions, lengths: NDArray[Any]) -> bytes:
        """Return the uids at `starts`, concatenated."""
        if len(lengths) and (length := int(lengths[0])) and (lengths == length).all():
            return sliding_window_view(self.shape.bytes, length)[starts].tobytes()
        places = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
        return b"".join([self.index[a:b] for a, b in places])

    def uid_bytes(self, rows: Rows) -> ByteStrings:
        uids = bytearray()
        for joined, _ in self._batches(rows):
            uids += joined
        return ByteStrings(np.frombuffer(uids, np.uint8), self.uid_lengths[rows].astype(np.int64))

    def meta(self, row: int) -> dict[str, Any]:
        """Return the metadata of a row; raise FormatError if it is not a JSON object."""
        entry = self.entry(row)
        at = self.data_stop + entry.meta_start
        raw = self.index[entry.meta_start : entry.meta_start + entry.meta_length]
        return layout.read_meta(raw, place=Span("", at, at + len(raw)))

    def created_at(self, row: int) -> str:
        with suppress(FormatError):
            return layout.created_at_of(self.meta(row))
        return ""

    def span(self, row: int) -> Span:
        return Span("", self.data_stop + int(self.walk.starts[row]), self.data_stop + int(self.walk.stops[row]))

    def payload(self, row: int) -> Span:
        entry = self.entry(row)
        return Span("", entry.offset, entry.offset + entry.length)

    def plan(self, *, big: bool) -> layout.EntryParts:
        return (big and self.shape.bigfile) or self.shape.inline

    def parts(self, row: int) -> list[tuple[Record | layout.EntryText, Span]]:
        """Return the records and texts of an entry, each with its span, which may be empty for a text."""
        entry, at = self.entry(row), self.span(row).start
        found: list[tuple[Record | layout.EntryText, Span]] = []
        for part in self.plan(big=bool(entry.big)):
            size = part.size if isinstance(part, Record) else getattr(entry, f"{part.name}_length")
            found.append((part, Span("", at, at + size)))
            at += size
        return found

    def part_span(self, row: int, name: str) -> Span:
        """Return the span of a field or text of an entry; raise KeyError if the entry does not have it."""
        for part, span in self.parts(row):
            if isinstance(part, layout.EntryText):
                if part.name == name:
                    return span
            elif name in part.offsets:
                return part.span(name, span.start)
        raise KeyError(name)

    @property
    def links(self) -> Links:
        c = self.columns
        rows = np.flatnonzero(~c.big & (c.offset <= np.uint64(self.data_stop)))
        starts = c.offset[rows].astype(np.int64)
        stops = starts + np.minimum(c.length[rows], np.uint64(1 << 62)).astype(np.int64)

        def pointer(at: int) -> tuple[Span, str]:
            row = int(rows[at])
            return self.part_span(row, "offset"), f"Entry {row} has the offset of its content."

        return Links(starts, stops, pointer)

    # --- faults ---------------------------------------------------------------------------------------------------

    def _outside(self, c: EntryColumns) -> NDArray[np.bool_]:
        """Return a mask of the entries whose payload ends after the start of the index; False for BigFiles."""
        stop = np.uint64(self.data_stop)
        # `offset + length` may overflow.
        return np.asarray((c.length > stop) | (c.offset > stop - np.minimum(c.length, stop)))

    def problem(self, row: int, entry: EntryFields[int] | None = None) -> str:
        """Return the reason why the content of a row cannot be read; "" if it can."""
        entry = entry or self.entry(row)
        if entry.big:
            bad_hash = "the hash of the BigFile is not 64 hex digits, so its file is not read"
            return "" if layout.is_hash(self.hash_of(entry)) else bad_hash
        stop = entry.offset + entry.length
        if stop > self.data_stop:
            ends = ends_text(entry.offset, stop)
            return f"its payload, bytes {ends}, does not end before the index at {self.data_stop:#x}"
        if entry.codec >= len(layout.CODECS):
            return f"codec {entry.codec} is not supported"
        if entry.codec == 0 and entry.size != entry.length:
            stored = plural(entry.length, "byte")
            return f"stored uncompressed in {stored}, but uncompressed_size is {entry.size:,}"
        return ""

    def readable(self, row: int) -> EntryFields[int]:
        """Return an entry; raise FormatError if its content cannot be read."""
        entry = self.entry(row)
        if problem := self.problem(row, entry):
            raise FormatError(f"entry {row}: {problem}", span=self.span(row))
        return entry

    def unreadable(self, c: EntryColumns) -> NDArray[np.bool_]:
        bad = self._outside(c) | (c.codec >= len(layout.CODECS)) | (c.codec == 0) & (c.size != c.length)
        if len(big := np.flatnonzero(c.big)):
            good = c.hash_length[big] == layout.HASH_LENGTH
            if len(starts := c.hash_start[big[good]]):
                good[good] = layout.are_hashes(sliding_window_view(self.shape.bytes, layout.HASH_LENGTH)[starts])
            bad[big] = ~good
        return np.asarray(bad, bool)

    def bad_text(self, row: int) -> str:
        """Return the error in uid or metadata of an entry; "" if there is none. The content may still be readable."""
        if layout.read_uid(self.uid(row)) is None:
            return "the uid is not UTF-8"
        try:
            self.meta(row)
        except FormatError as error:
            return error.message
        return ""

    def bad_texts(self, c: EntryColumns) -> NDArray[np.bool_]:
        """Return a mask of the rows whose uid is not UTF-8, or whose metadata does not begin and end with braces."""
        raw, bad = self.shape.bytes, np.zeros(len(c.big), bool)
        if not self._joined(c.uid_start, c.uid_length).isascii():
            places = zip(c.uid_start.tolist(), (c.uid_start + c.uid_length).tolist(), strict=True)
            bad[:] = [layout.read_uid(self.index[a:b]) is None for a, b in places]
        some = np.flatnonzero(c.meta_length)
        first = c.meta_start[some]
        last = first + c.meta_length[some] - 1
        bad[some] |= (raw[first] != ord("{")) | (raw[last] != ord("}"))
        return bad

    def bad_text_rows(self, progress: Progress) -> Rows:
        """Return the rows for which `bad_text` returns an error; parses all metadata."""
        parts = (rows[self.bad_texts(c := self.part(rows)) | (c.meta_length > 0)] for rows in row_steps(len(self)))
        rows = np.concatenate([np.zeros(0, np.int64), *parts])
        bad = []
        for number, row in enumerate(rows.tolist()):
            if number % 1000 == 0:
                progress(number, len(rows))
            if self.bad_text(row):
                bad.append(row)
        return np.array(bad, np.int64)

    # --- searches -------------------------------------------------------------------------------------------------

    def rows_of(self, uids: Iterable[bytes]) -> list[Rows]:
        """Return the rows of each uid, ascending.

        Compares with all uids of equal length; after `SCANS` single lookups of a length, these are sorted and cached.
        """
        wanted = list(uids)
        if len(wanted) == 1 and (kept := self._by_length.get(len(wanted[0]))) is not None:
            rows, texts = kept
            return [rows[texts.searchsorted(wanted[0], "left") : texts.searchsorted(wanted[0], "right")]]
        found: list[Rows] = [np.zeros(0, np.int64)] * len(wanted)
        by_length: dict[int, list[int]] = {}
        for number, uid in enumerate(wanted):
            by_length.setdefault(len(uid), []).append(number)
        for length, numbers in by_length.items():
            if length not in self._by_length and len(numbers) == 1 and self._scans[length] < SCANS:
                self._scans[length] += 1
                found[numbers[0]] = self._rows_with(wanted[numbers[0]])
                continue
            rows, texts = self._by_length.get(length) or self._sorted(length)
            if len(numbers) == 1:
                self._by_length[length] = rows, texts
            asked = np.array([wanted[number] for number in numbers], texts.dtype)
            left, right = (np.searchsorted(texts, asked, side).tolist() for side in ("left", "right"))
            for number, first, last in zip(numbers, left, right, strict=True):
                found[number] = rows[first:last]
        return found

    def last_row_of(self, uid: bytes) -> int:
        """Return the last row of a uid, which readers use; -1 if not found or if uids of its length are unsorted."""
        if (kept := self._by_length.get(len(uid))) is None:
            return -1
        rows, texts = kept
        at = int(texts.searchsorted(uid, "right")) - 1
        return int(rows[at]) if at >= 0 and texts[at] == uid.rstrip(b"\0") else -1

    def duplicates(self) -> list[Rows]:
        """Return, for each uid that occurs in several entries, the rows of these entries."""
        groups: list[Rows] = []
        for length in np.flatnonzero(np.bincount(self.uid_lengths)).tolist():
            if _surely_differ(self._of_length(length)[1]):
                continue
            rows, texts = self._sorted(length)
            breaks = np.flatnonzero(np.concatenate([[True], texts[1:] != texts[:-1], [True]]))
            wide = np.flatnonzero(np.diff(breaks) > 1)
            groups += [rows[breaks[n] : breaks[n + 1]] for n in wide.tolist()]
        return groups

    @cached_property
    def uid_lengths(self) -> NDArray[np.uint16]:
        return self.shape.number(self.walk.starts, "<u2").astype(np.uint16)

    def _rows_with(self, uid: bytes) -> Rows:
        """Return the rows with this uid; it is compared word by word with all uids of its length."""
        rows, word = np.flatnonzero(self.uid_lengths == len(uid)), min(len(uid) & -len(uid), 8)
        for at in range(0, len(uid), word or 1):
            starts = self.walk.starts[rows] + (layout.UID_HEAD.size + at)
            found = self.shape.number(starts, f"<i{word}")
            rows = rows[found == int.from_bytes(uid[at : at + word], "little", signed=True)]
        return rows

    def _sorted(self, length: int) -> tuple[Rows, NDArray[np.bytes_]]:
        """Return the rows whose uids have this length in bytes, and these uids; both are sorted by uid."""
        rows, texts = self._of_length(length)
        order = np.argsort(texts, kind="stable")
        return rows[order], texts[order]

    def _of_length(self, length: int) -> tuple[Rows, NDArray[np.bytes_]]:
        rows = np.flatnonzero(self.uid_lengths == length)
        # `S` drops trailing NULs, which cannot make two texts of one length equal.
        texts = np.zeros(len(rows), f"S{max(length, 1)}")
        if length and len(rows):
            joined = self._joined(self.walk.starts[rows] + layout.UID_HEAD.size, self.uid_lengths[rows])
            texts = np.frombuffer(joined, texts.dtype)
        return rows, texts

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

    def by_offset(self) -> Rows:
        """Return the rows of inline objects with a payload in the data section, sorted by offset."""
        c = self.columns
        rows = np.flatnonzero(~c.big & (c.length > 0) & ~self._outside(c))
        return np.asarray(rows[np.lexsort((rows, c.offset[rows]))])


def _surely_differ(texts: NDArray[np.bytes_]) -> bool:
    """Return True if all hashes of the texts differ, so that all texts do: numbers are sorted far faster than texts."""
    width = -(-texts.itemsize // 8)
    words = texts.astype(f"S{8 * width}").view(np.uint64).reshape(-1, width)
    hashes = np.zeros(len(texts), np.uint64)
    for column in words.T:
        hashes = (hashes + column) * np.uint64(0x9E3779B97F4A7C15)  # wraps around
        hashes ^= hashes >> np.uint64(32)
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()


def _walk(index: bytes, version: int, count: int) -> tuple[EntryShape, EntryWalk]:
    """Return the layout and the walk of the entries.

    Version 1 has two layouts. The result is the one whose entries end exactly with the index, or else fit in it.
    """
    if version != 1:
        shape = ShapeV2(index)
        return shape, walk(shape, count)
    found = [(shape, walk(shape, count)) for shape in (ShapeV1(index), ShapeV1Short(index))]
    whole = [(shape, done) for shape, done in found if not done.error]
    exact = [(shape, done) for shape, done in whole if done.end == len(index)]
    return (exact or whole or found)[0]
