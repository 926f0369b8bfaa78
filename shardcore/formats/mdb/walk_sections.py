"""Walking the two sections of a shard to find the kind of every record, as NumPy columns.

A section is a sequence of blocks (a header and its records) with an end mark. Only the walk from header to header
is sequential; the rest is vectorised. An incomplete section keeps its complete blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import SIZE, HashArray, words
from shardcore.errors import FormatError
from shardcore.formats.mdb.layout import (
    BOOKEND,
    CAS_ENTRY,
    CAS_HEADER,
    FILE,
    FILE_ENTRY,
    FILE_HEADER,
    FILE_INFO,
    FILE_METADATA,
    FILE_VERIFICATION,
    RECORD,
    RECORD_SIZE,
    XORB,
    XORB_INFO,
    FileFlag,
    block_fault,
    file_steps,
)
from shardcore.model.record import Record
from shardcore.model.span import Span

_ALL_ONES = np.uint64((1 << 64) - 1)


class RecordKind(IntEnum):
    FILE_HEADER = 0
    FILE_ENTRY = 1
    FILE_VERIFICATION = 2
    FILE_METADATA = 3
    CAS_HEADER = 4
    CAS_ENTRY = 5
    BOOKEND = 6
    UNREAD = 7


RECORDS: dict[RecordKind, Record] = {
    RecordKind.FILE_HEADER: FILE_HEADER,
    RecordKind.FILE_ENTRY: FILE_ENTRY,
    RecordKind.FILE_VERIFICATION: FILE_VERIFICATION,
    RecordKind.FILE_METADATA: FILE_METADATA,
    RecordKind.CAS_HEADER: CAS_HEADER,
    RecordKind.CAS_ENTRY: CAS_ENTRY,
    RecordKind.BOOKEND: BOOKEND,
    RecordKind.UNREAD: RECORD,
}
"""Layout of each kind of record."""


@dataclass(frozen=True)
class WalkedSection:
    """Section after the walk. Positions are record numbers from its start; `start` is its offset in the file.

    Blocks are `[headers[i], ends[i])`. `stop` is the end (exclusive) of the records that could be read, including the
    end mark; `problem` is the error that ended the walk before an end mark.
    """

    start: int
    data: bytes | memoryview
    headers: NDArray[np.int64]
    ends: NDArray[np.int64]
    stop: int
    problem: str = ""
    files: bool = field(default=True, repr=False)

    @property
    def stop_byte(self) -> int:
        return self.start + self.stop * RECORD_SIZE

    def rows(self, record: Record) -> NDArray[Any]:
        """Return all records as rows of one layout; a view, not a copy."""
        return np.frombuffer(self.data, record.dtype, len(self.data) // RECORD_SIZE)

    @property
    def damage(self) -> FormatError | None:
        if not self.problem:
            return None
        stop = self.start + len(self.data)
        return FormatError(self.problem, span=Span("", min(self.stop_byte, stop), stop))

    @cached_property
    def hashes(self) -> HashArray:
        return np.frombuffer(self.data, np.uint8).reshape(-1, RECORD_SIZE)[:, :SIZE]

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        kinds = np.full(len(self.data) // RECORD_SIZE, RecordKind.UNREAD, np.uint8)
        if self.files:
            rows = self.rows(FILE_HEADER)
            counts = rows["num_entries"][self.headers].astype(np.int64)
            metadata = (rows["file_flags"][self.headers] & np.uint32(FileFlag.WITH_METADATA_EXT)) != 0
            block, place = self._places
            kinds[: len(place)] = np.where(place <= counts[block], RecordKind.FILE_ENTRY, RecordKind.FILE_VERIFICATION)
            kinds[self.ends[metadata] - 1] = RecordKind.FILE_METADATA
            kinds[self.headers] = RecordKind.FILE_HEADER
        else:
            kinds[: self.ends[-1] if len(self.ends) else 0] = RecordKind.CAS_ENTRY
            kinds[self.headers] = RecordKind.CAS_HEADER
        if not self.problem:
            kinds[self.stop - 1] = RecordKind.BOOKEND
        return kinds

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each record in a block: the number of the block, and the record's position in it (0 for the header)."""
        lengths = self.ends - self.headers
        block = np.repeat(np.arange(len(lengths)), lengths)
        return block, np.arange(len(block)) - self.headers[block]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """`num_entries` of each block: segments or chunks. Both headers have it at the same offset."""
        return self.rows(FILE_HEADER)["num_entries"][self.headers].astype(np.int64)

    @cached_property
    def entries(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.kinds == (RecordKind.FILE_ENTRY if self.files else RecordKind.CAS_ENTRY))

    @cached_property
    def bounds(self) -> NDArray[np.int64]:
        """Entry bounds, shape `(blocks + 1,)`: block `i` has the entries `[bounds[i], bounds[i + 1])`."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def block_of(self, record: int) -> int:
        number = int(np.searchsorted(self.headers, record))
        return number if number < len(self.headers) and self.headers[number] == record else -1

    def byte_of(self, record: int) -> int:
        return self.start + record * RECORD_SIZE


def walk(data: bytes | memoryview, start: int, *, files: bool) -> WalkedSection:
    """Walk one section from its first record; bytes after the end mark are ignored."""
    count = len(data) // RECORD_SIZE
    data = memoryview(data)[: count * RECORD_SIZE]
    rows = np.frombuffer(data, FILE_HEADER.dtype, count)
    steps = file_steps(rows) if files else 1 + rows["num_entries"].astype(np.int64)
    marks = (words(rows["file_hash"]) == _ALL_ONES).all(axis=1) if count else np.zeros(0, bool)
    steps[marks] = 0
    headers, at, ended = _follow(steps.tolist())
    problem = ""
    if not ended:
        what = FILE if files else XORB
        no_mark = f"the {FILE_INFO if files else XORB_INFO} section has no end mark"
        problem = block_fault(what, int(steps[at]), count - at) if at < count else no_mark
    firsts = np.array(headers, np.int64)
    return WalkedSection(start, data, firsts, np.append(firsts[1:], at), at + ended, problem, files)


def _follow(steps: list[int]) -> tuple[list[int], int, bool]:
    """Return the header positions, the position where the walk stops, and True if there is an end mark (step 0)."""
    headers: list[int] = []
    at, count = 0, len(steps)
    while at < count:
        step = steps[at]
        if step == 0:
            return headers, at, True
        if at + step > count:
            break
        headers.append(at)
        at += step
    return headers, at, False


@dataclass(frozen=True)
class KeyMap:
    """Truncated hashes in ascending order with their records: a lookup table, read or computed.

    `records` are header records, counted from the section's start; `chunks` are -1 for files and xorbs.
    """

    keys: NDArray[np.uint64]
    records: NDArray[np.int64]
    chunks: NDArray[np.int64]

    @property
    def places(self) -> NDArray[np.int64]:
        return self.records + 1 + self.chunks

    def find(self, section: WalkedSection, wanted: HashArray) -> NDArray[np.int64]:
        """Return for each full hash in `wanted`, shape `(m, 32)`, the number of its first entry, or -1."""
        found = np.full(len(wanted), -1, np.int64)
        if not len(self.keys):
            return found
        keys = words(wanted)[:, 0]
        at = np.searchsorted(self.keys, keys)
        left = np.arange(len(wanted))
        for _ in range(_PROBES):
            left = left[at[left] < len(self.keys)]
            left = left[self.keys[at[left]] == keys[left]]
            hit = (section.hashes[self.places[at[left]]] == wanted[left]).all(axis=1)
            found[left[hit]] = at[left[hit]]
            left = left[~hit]
            if not len(left):
                return found
            at[left] += 1
        found[left] = self._find_slowly(section, wanted[left])
        return found

    def _find_slowly(self, section: WalkedSection, wanted: HashArray) -> NDArray[np.int64]:
        """Do the same as `find` by sorting full hashes, which is fast even if very many hashes share a key."""
        whole = np.ascontiguousarray(section.hashes[self.places]).view("S32").ravel()
        order = np.argsort(whole, kind="stable")
        texts = np.ascontiguousarray(wanted).view("S32").ravel()
        at = np.minimum(np.searchsorted(whole[order], texts), len(order) - 1)
        return np.where(whole[order[at]] == texts, order[at], -1)


_PROBES = 16  # maximum of entries with one key that are compared one by one


def header_map(section: WalkedSection) -> KeyMap:
    keys = words(section.hashes[section.headers])[:, 0]
    order = np.argsort(keys, kind="stable")
    return KeyMap(keys[order], section.headers[order], np.full(len(order), -1, np.int64))


def chunk_map(section: WalkedSection) -> KeyMap:
    keys = words(section.hashes[section.entries])[:, 0]
    order = np.argsort(keys, kind="stable")
    xorbs = np.repeat(section.headers, section.counts)
    places = section.entries - xorbs - 1
    return KeyMap(keys[order], xorbs[order], places[order])


def table_map(rows: NDArray[Any], section: WalkedSection) -> tuple[KeyMap, NDArray[np.int64]]:
    """Return the key map of a lookup table without its invalid rows, and the numbers of the invalid rows.

    A row is invalid if it refers to no header, to a chunk after the end of its xorb, or to a record with another key.
    """
    count = len(section.data) // RECORD_SIZE
    is_header = np.zeros(count + 1, bool)
    is_header[section.headers] = True
    records = np.minimum(rows["index"].astype(np.int64), count)
    good = is_header[records]
    chunks = np.full(len(rows), -1, np.int64)
    if "chunk" in (rows.dtype.names or ()):
        chunks = rows["chunk"].astype(np.int64)
        entries = section.rows(CAS_HEADER)["num_entries"]
        good[good] = chunks[good] < entries[records[good]]
    first = words(section.hashes[(records + 1 + chunks)[good]])[:, 0]
    good[good] = first == rows["key"][good]
    keys = rows["key"][good].astype(np.uint64)
    order = np.argsort(keys, kind="stable")
    return KeyMap(keys[order], records[good][order], chunks[good][order]), np.flatnonzero(~good)
