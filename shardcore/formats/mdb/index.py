"""Index of a shard in memory: the records of both sections, their kinds, and columns derived from them.

A section is a sequence of blocks (a header and its records) with an end mark. Only the walk from header to header is
sequential; the rest is vectorised. Of an incomplete section, the complete blocks are in the index.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import SIZE, ZERO, HashArray, to_text, truncated, words
from shardcore.dataclasses import dataclass, replace
from shardcore.errors import FormatError
from shardcore.formats.mdb.layout import (
    BLOCKS,
    CAS_ENTRY,
    CAS_HEADER,
    CHUNK,
    FILE,
    FILE_ENTRY,
    FILE_HEADER,
    KINDS,
    RECORD_SIZE,
    SECTIONS_START,
    XORB,
    FileFlag,
    LookupTable,
    MdbLayout,
    RecordKind,
    block_fault,
    descents,
    file_steps,
    range_fault,
    section_name,
    size_fault,
)
from shardcore.model.pointer_table import Links
from shardcore.model.record import Record
from shardcore.model.span import Span
from shardcore.shards.cache import OnceEach

I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]
N = TypeVar("N", int, I64)

MISNAMED = "its hash contradicts its segments: only a file without segments has the zero hash"


def running(values: NDArray[Any]) -> I64:
    """Return the running sums of n values, shape `(n + 1,)`: the first is 0, the last is the sum of all."""
    return np.concatenate([[0], np.cumsum(values, dtype=np.int64)])


def block_sums(values: NDArray[Any], bounds: I64) -> I64:
    """Return the sum of each half-open range of values `[bounds[i], bounds[i + 1])`."""
    return np.diff(running(values)[bounds])


def texts_of(hashes: HashArray) -> NDArray[np.bytes_]:
    """Return hashes as one column of byte strings, which can be sorted and compared."""
    return np.ascontiguousarray(hashes).view(f"S{SIZE}").ravel()


# --- sections ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WalkedSection:
    """The section of files or that of xorbs (`kind`), divided into blocks by `walk`.

    Positions are record numbers from its start; `start` is its offset in the file. Blocks are `[headers[i], ends[i])`.
    `stop` is the end (exclusive) of the records that could be read, including the end mark. `problem` is the error that
    ended the walk before an end mark, or empty.
    """

    start: int
    data: bytes | memoryview
    headers: I64
    ends: I64
    stop: int
    problem: str
    kind: str

    @property
    def stop_byte(self) -> int:
        return self.byte_of(self.stop)

    @property
    def size(self) -> int:
        """Number of records, including those that could not be read."""
        return len(self.data) // RECORD_SIZE

    @property
    def damage(self) -> FormatError | None:
        if not self.problem:
            return None
        stop = self.start + len(self.data)
        return FormatError(self.problem, span=Span("", min(self.stop_byte, stop), stop))

    def rows(self, record: Record) -> NDArray[Any]:
        """Return all records of the section as rows of the layout `record`; a view, not a copy."""
        return np.frombuffer(self.data, record.dtype, self.size)

    @cached_property
    def hashes(self) -> HashArray:
        return np.frombuffer(self.data, np.uint8).reshape(-1, RECORD_SIZE)[:, :SIZE]

    @cached_property
    def flags(self) -> NDArray[np.uint32]:
        """`file_flags` of each block; in a section of xorbs they have no meaning."""
        flags: NDArray[np.uint32] = self.rows(FILE_HEADER)["file_flags"][self.headers]
        return flags

    def has(self, flag: FileFlag) -> Mask:
        mask: Mask = (self.flags & np.uint32(flag)) != 0
        return mask

    @cached_property
    def counts(self) -> I64:
        """Number of segments or chunks per block; file headers and xorb headers store it at the same offset."""
        return self.rows(FILE_HEADER)["num_entries"][self.headers].astype(np.int64)

    @cached_property
    def bounds(self) -> I64:
        """Bounds of the blocks in the list of all entries: block `i` has the entries `[bounds[i], bounds[i + 1])`."""
        return running(self.counts)

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        kinds = np.full(self.size, RecordKind.UNREAD, np.uint8)
        lengths, (header, entry) = self.ends - self.headers, BLOCKS[self.kind]
        kinds[: lengths.sum()] = entry
        if self.kind == FILE:
            place = np.arange(lengths.sum()) - np.repeat(self.headers + self.counts, lengths)
            kinds[: len(place)][place > 0] = RecordKind.FILE_VERIFICATION
            kinds[self.ends[self.has(FileFlag.WITH_METADATA_EXT)] - 1] = RecordKind.FILE_METADATA
        kinds[self.headers] = header
        if not self.problem:
            kinds[self.stop - 1] = RecordKind.BOOKEND
        return kinds

    @cached_property
    def entries(self) -> I64:
        return np.flatnonzero(self.kinds == BLOCKS[self.kind][1])

    def block_of(self, record: int) -> int:
        number = int(self.headers.searchsorted(record))
        return number if number < len(self.headers) and self.headers[number] == record else -1

    def block_with(self, entry: int) -> int:
        return int(self.bounds.searchsorted(entry, "right")) - 1

    def byte_of(self, record: N) -> N:
        return self.start + record * RECORD_SIZE

    def span(self, record: int, count: int = 1) -> Span:
        start = self.byte_of(int(record))
        return Span("", start, start + count * RECORD_SIZE)

    def hash_text(self, block: int) -> str:
        return to_text(self.hashes[self.headers[block]].tobytes())


def walk(data: bytes | memoryview, start: int, kind: str) -> WalkedSection:
    """Find the blocks of a section by going from header to header; bytes after the end mark are ignored."""
    count = len(data) // RECORD_SIZE
    data = memoryview(data)[: count * RECORD_SIZE]
    rows = np.frombuffer(data, FILE_HEADER.dtype, count)
    steps = file_steps(rows) if kind == FILE else 1 + rows["num_entries"].astype(np.int64)
    steps[(words(rows["file_hash"]) == np.uint64((1 << 64) - 1)).all(axis=1)] = 0
    headers, at, lengths = list[int](), 0, steps.tolist()
    while at < count and 0 < lengths[at] <= count - at:
        headers.append(at)
        at += lengths[at]
    ended = at < count and not lengths[at]
    problem = "" if ended else f"the {section_name(kind)} section has no end mark"
    if not ended and at < count:
        problem = block_fault(kind, lengths[at], count - at)
    firsts = np.array(headers, np.int64)
    return WalkedSection(start, data, firsts, np.append(firsts[1:], at), at + ended, problem, kind)


# --- from hashes to records -------------------------------------------------------------------------------------

_PROBES = 16  # maximum number of entries with the same table key that are compared one by one


@dataclass(frozen=True)
class KeyMap:
    """Table keys (first 8 bytes of hashes) in ascending order with their records: a lookup table, read or computed.

    `records` are the numbers of header records from the section's start; `chunks` are chunk numbers, -1 for files and
    xorbs. `intact` is False for a lookup table that is not sorted or has invalid rows.
    """

    section: WalkedSection
    keys: NDArray[np.uint64]
    records: I64
    chunks: I64
    intact: bool = True

    @staticmethod
    def sorted(section: WalkedSection, keys: NDArray[Any], records: I64, chunks: I64) -> KeyMap:
        order = np.argsort(keys, kind="stable")
        return KeyMap(section, keys[order].astype(np.uint64), records[order], chunks[order])

    @staticmethod
    def computed(section: WalkedSection, kind: str) -> KeyMap:
        headers = places = section.headers
        if kind == CHUNK:
            headers, places = np.repeat(headers, section.counts), section.entries
        return KeyMap.sorted(section, words(section.hashes[places])[:, 0], headers, places - headers - 1)

    @cached_property
    def places(self) -> I64:
        """Number of the record with the full hash, for each entry."""
        return self.records + 1 + self.chunks

    def find(self, wanted: HashArray) -> I64:
        """Return for each full hash in `wanted`, shape `(m, 32)`, the number of its first entry in this map, or -1."""
        found = np.full(len(wanted), -1, np.int64)
        if not len(self.keys):
            return found
        hashes, keys = self.section.hashes, words(wanted)[:, 0]
        at, left = np.searchsorted(self.keys, keys), np.arange(len(wanted))
        for _ in range(_PROBES):
            left = left[at[left] < len(self.keys)]
            left = left[self.keys[at[left]] == keys[left]]
            hit = (hashes[self.places[at[left]]] == wanted[left]).all(axis=1)
            found[left[hit]] = at[left[hit]]
            left = left[~hit]
            if not len(left):
                return found
            at[left] += 1
        # Very many hashes share these keys: sort full hashes instead.
        whole = texts_of(hashes[self.places])
        order, texts = np.argsort(whole, kind="stable"), texts_of(wanted[left])
        first = order[np.minimum(np.searchsorted(whole[order], texts), len(order) - 1)]
        found[left] = np.where(whole[first] == texts, first, -1)
        return found

    def objects(self, wanted: HashArray) -> I64:
        """Return for each full hash the number of its object (counted among objects of the same kind), or -1."""
        found = self.find(wanted)
        hit = found[found >= 0]
        block, chunks = np.searchsorted(self.section.headers, self.records[hit]), self.chunks[hit]
        found[found >= 0] = np.where(chunks < 0, block, self.section.bounds[block] + chunks)
        return found

    def same(self, raw: bytes) -> I64:
        """Return the numbers of all entries whose record has the full hash `raw`."""
        first, last = (int(self.keys.searchsorted(np.uint64(truncated(raw)), side)) for side in ("left", "right"))
        wanted = np.frombuffer(raw, np.uint8)
        return first + np.flatnonzero((self.section.hashes[self.places[first:last]] == wanted).all(axis=1))


# --- the index --------------------------------------------------------------------------------------------------


class MdbIndex:
    """Index of a shard, held completely in memory; derived columns are computed on first use and cached."""

    def __init__(self, data: bytes, layout: MdbLayout, files: WalkedSection, xorbs: WalkedSection) -> None:
        self.data = data
        self.layout = layout
        self.files = files
        self.xorbs = xorbs
        self._tables: OnceEach[str, tuple[KeyMap, I64]] = OnceEach()

    @property
    def damage(self) -> FormatError | None:
        return self.files.damage or self.xorbs.damage

    @property
    def keyed(self) -> bool:
        return self.layout.key != ZERO

    def section(self, kind: str) -> WalkedSection:
        return self.files if kind == FILE else self.xorbs

    def records(self, kind: str) -> I64:
        return self.xorbs.entries if kind == CHUNK else self.section(kind).headers

    def sizes(self, kind: str) -> NDArray[Any]:
        if kind == FILE:
            return self.file_sizes
        column: NDArray[Any] = self.xorb_headers["num_bytes_in_cas"] if kind == XORB else self.chunk_sizes
        return column

    # --- rows of the objects: files, xorbs, chunks

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of files, xorbs and chunks."""
        return len(self.files.headers), len(self.xorbs.headers), len(self.xorbs.entries)

    @cached_property
    def first_rows(self) -> dict[str, int]:
        """Row of the first file, of the first xorb and of the first chunk, by kind."""
        return {kind: sum(self.counts[:number]) for number, kind in enumerate(KINDS)}

    def row_of(self, kind: str, record: int, chunk: int = -1) -> int:
        """Return the row of the object to which a lookup table entry refers; -1 if the entry is invalid."""
        section = self.section(kind)
        block = section.block_of(record)
        if block < 0 or chunk >= section.counts[block]:
            return -1
        return self.first_rows[kind] + (block if kind != CHUNK else int(section.bounds[block]) + chunk)

    def row_with(self, kind: str, raw: bytes) -> int:
        """Return the row of a stored hash if it is the first with its table key and the table is intact, else -1."""
        known = self.map_of(kind)
        at = int(known.keys.searchsorted(np.uint64(truncated(raw))))
        if not known.intact or at == len(known.keys) or known.section.hashes[known.places[at]].tobytes() != raw:
            return -1
        return self.row_of(kind, int(known.records[at]), int(known.chunks[at]))

    def rows_of(self, kind: str, wanted: HashArray) -> I64:
        """Return the rows of stored hashes, shape `(m, 32)`; -1 if not found."""
        found = self.map_of(kind).objects(wanted)
        return np.where(found >= 0, self.first_rows[kind] + found, -1)

    # --- columns

    @cached_property
    def segments(self) -> NDArray[Any]:
        return self.files.rows(FILE_ENTRY)[self.files.entries]

    @cached_property
    def chunks(self) -> NDArray[Any]:
        return self.xorbs.rows(CAS_ENTRY)[self.xorbs.entries]

    @property
    def chunk_sizes(self) -> NDArray[np.uint32]:
        sizes: NDArray[np.uint32] = self.chunks["unpacked_segment_bytes"]
        return sizes

    @cached_property
    def chunk_starts(self) -> I64:
        """Sum of the sizes of all chunks before each chunk, over all xorbs; the last item is the sum of all."""
        return running(self.chunk_sizes)

    @cached_property
    def xorb_headers(self) -> NDArray[Any]:
        return self.xorbs.rows(CAS_HEADER)[self.xorbs.headers]

    @cached_property
    def file_sizes(self) -> I64:
        return block_sums(self.segments["unpacked_segment_bytes"], self.files.bounds)

    @cached_property
    def segment_edges(self) -> tuple[I64, I64]:
        """First chunk, and last chunk plus one, of each segment."""
        first, last = (self.segments[f"chunk_index_{edge}"].astype(np.int64) for edge in ("start", "end"))
        return first, last

    @cached_property
    def segment_lengths(self) -> I64:
        first, last = self.segment_edges
        return last - first

    @cached_property
    def segment_xorbs(self) -> I64:
        """Number of the xorb per segment; -1 if this shard does not list it."""
        return KeyMap.computed(self.xorbs, XORB).objects(self.segments["cas_hash"])

    @cached_property
    def segment_faults(self) -> Mask:
        """Mask of segments whose chunk range is empty, reversed, or too long for a xorb that the shard lists."""
        (first, last), listed = self.segment_edges, self.segment_xorbs >= 0
        limits = np.full(len(first), 1 << 32, np.int64)
        limits[listed] = self.xorbs.counts[self.segment_xorbs[listed]]
        faults: Mask = (first >= last) | (last > limits)
        return faults

    @cached_property
    def segment_sums(self) -> I64:
        """Sum of the chunk sizes per segment; -1 if the shard does not list the xorb or the range is invalid."""
        sums = np.full(len(self.segments), -1, np.int64)
        sure = np.flatnonzero((self.segment_xorbs >= 0) & ~self.segment_faults)
        begin = self.xorbs.bounds[self.segment_xorbs[sure]]
        first, last = (self.chunk_starts[begin + edge[sure]] for edge in self.segment_edges)
        sums[sure] = last - first
        return sums

    @cached_property
    def wrong_segments(self) -> Mask:
        """Mask of invalid segments: the range is invalid, or the size differs from that of its chunks."""
        sums = self.segment_sums
        wrong: Mask = (sums >= 0) & (sums != self.segments["unpacked_segment_bytes"])
        return wrong | self.segment_faults

    @cached_property
    def misnamed_files(self) -> Mask:
        """Mask of files whose hash is zero although they have segments, or not zero although they have none."""
        misnamed: Mask = self.files.hashes[self.files.headers].any(axis=1) != (self.files.counts > 0)
        return misnamed

    @cached_property
    def damaged_files(self) -> Mask:
        unread: Mask = block_sums(self.wrong_segments, self.files.bounds) > 0
        return unread | self.misnamed_files

    def file_fault(self, number: int) -> str:
        first, last = self.files.bounds[number : number + 2].tolist()
        wrong = np.flatnonzero(self.wrong_segments[first:last])
        if len(wrong):
            return f"segment {wrong[0]}: {self.segment_fault(first + int(wrong[0]))}"
        return MISNAMED if self.misnamed_files[number] else ""

    def segment_fault(self, number: int) -> str:
        xorb, total = int(self.segment_xorbs[number]), int(self.segment_sums[number])
        first, last = (int(edge[number]) for edge in self.segment_edges)
        fault = range_fault(first, last, int(self.xorbs.counts[xorb]) if xorb >= 0 else -1)
        size = int(self.segments["unpacked_segment_bytes"][number])
        return fault or (size_fault(size, total) if total >= 0 else "")

    # --- lookup tables and references

    def table_rows(self, kind: str) -> NDArray[Any]:
        table = self.layout.tables[kind]
        return table.record.read(self.data, table.start, table.count)

    def table(self, kind: str) -> tuple[KeyMap, I64]:
        """Return the `KeyMap` of a lookup table without its invalid rows, and the numbers of the invalid rows.

        A row is invalid if it refers to no header, to a chunk after the end of its xorb, or to a record with another
        key.
        """
        return self._tables.get(kind, lambda: self._table_map(kind))

    def _table_map(self, kind: str) -> tuple[KeyMap, I64]:
        section = self.section(kind)
        if kind not in self.layout.tables:
            return KeyMap.computed(section, kind), np.zeros(0, np.int64)
        rows = self.table_rows(kind)
        is_header = np.zeros(section.size + 1, bool)
        is_header[section.headers] = True
        records = np.minimum(rows["index"].astype(np.int64), section.size)
        good = is_header[records]
        chunks = np.full(len(rows), -1, np.int64)
        if kind == CHUNK:
            chunks = rows["chunk"].astype(np.int64)
            good[good] = chunks[good] < section.rows(CAS_HEADER)["num_entries"][records[good]]
        good[good] = words(section.hashes[(records + 1 + chunks)[good]])[:, 0] == rows["key"][good]
        known = KeyMap.sorted(section, rows["key"][good], records[good], chunks[good])
        return replace(known, intact=bool(good.all()) and not len(descents(rows))), np.flatnonzero(~good)

    def map_of(self, kind: str) -> KeyMap:
        """Return the `KeyMap` of a kind of object, from the lookup table or, if there is none, from the section."""
        return self.table(kind)[0]

    @property
    def segment_links(self) -> Links:
        """References from segments to chunk records."""
        known = np.flatnonzero((self.segment_xorbs >= 0) & ~self.segment_faults)
        begin = self.xorbs.headers[self.segment_xorbs[known]] + 1
        starts, stops = (self.xorbs.byte_of(begin + edge[known]) for edge in self.segment_edges)

        def pointer(at: int) -> tuple[Span, str]:
            number = int(known[at])
            start, stop = (int(edge[number]) for edge in self.segment_edges)
            chunks = f"chunk {start}" if stop == start + 1 else f"chunks {start} to {stop - 1}"
            return self.files.span(self.files.entries[number]), f"A file uses {chunks} of this xorb in this segment."

        return Links(starts, stops, pointer)

    def entry_links(self, table: LookupTable) -> Links:
        """Return the references of a lookup table: to all records of a file or xorb, or to a single chunk record."""
        rows, section = self.table_rows(table.kind), self.section(table.kind)
        first = rows["index"].astype(np.int64)
        if table.kind == CHUNK:
            first = first + 1 + rows["chunk"]
        last = first + 1
        if table.kind != CHUNK and len(section.headers):
            block = np.minimum(np.searchsorted(section.headers, first), len(section.headers) - 1)
            last = np.where(section.headers[block] == first, section.ends[block], last)
        fine = np.flatnonzero(last <= section.stop)

        def pointer(at: int) -> tuple[Span, str]:
            number = int(fine[at])
            why = f"Entry {number} of the {table.kind} lookup table refers to this record."
            return table.span(number, number + 1), why

        return Links(section.byte_of(first[fine]), section.byte_of(last[fine]), pointer)


def load(data: bytes, layout: MdbLayout) -> MdbIndex:
    """Return the index of a shard, from the sections at the offsets in the footer; O(n) in the size of the shard."""
    view = memoryview(data)
    files = walk(view[slice(*layout.file_info)], layout.file_info[0], FILE)
    xorbs = walk(view[slice(*layout.cas_info)], layout.cas_info[0], XORB)
    return MdbIndex(data, layout, files, xorbs)


def discover(data: bytes, header: dict[str, Any], stop: int) -> MdbIndex:
    """Return the index of a shard without a footer: each section ends with its end mark, or at the latest at `stop`."""
    last = max(stop, min(SECTIONS_START, len(data)))
    view = memoryview(data)[:last]
    files = _cut(walk(view[SECTIONS_START:], SECTIONS_START, FILE))
    middle = last if files.problem else files.stop_byte
    xorbs = _cut(walk(view[middle:], middle, XORB))
    end = last if xorbs.problem else xorbs.stop_byte
    layout = MdbLayout(len(data), header, None, (min(SECTIONS_START, last), middle), (middle, end), {})
    return MdbIndex(data, layout, files, xorbs)


def _cut(section: WalkedSection) -> WalkedSection:
    """Return the section without the bytes after its end mark; unchanged if it has no end mark."""
    return section if section.problem else replace(section, data=section.data[: section.stop * RECORD_SIZE])
