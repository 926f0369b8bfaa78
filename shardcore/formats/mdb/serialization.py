"""Serialisation of shards: collects the contents of added files, splits them into shards, and builds their bytes."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import ZERO, HashArray, as_rows, from_text, keyed, words
from shardcore.codecs.xet.xorb_builder import PackedXorb
from shardcore.dataclasses import dataclass
from shardcore.formats.mdb.index import I64, block_sums, running
from shardcore.formats.mdb.layout import (
    BOOKEND,
    CAS_ENTRY,
    CAS_HEADER,
    CHUNK_LOOKUP,
    FILE_ENTRY,
    FILE_HEADER,
    FILE_KEY,
    FILE_LOOKUP,
    FILE_METADATA,
    FILE_VERIFICATION,
    FOOTER,
    FOOTER_SIZE,
    HEADER,
    KINDS,
    LOOKUPS,
    NO_EXPIRY,
    RANGE_KEY,
    RECORD_SIZE,
    XORB_LOOKUP,
    ChunkFlag,
    FileFlag,
    file_hash,
    file_records,
    protect_many,
    range_hashes,
)
from shardcore.model.objects import steps_by_sum
from shardcore.model.record import Record

FULL, MINIMAL, UPLOAD = "full", "minimal", "upload"

FLAGS = int(FileFlag.WITH_VERIFICATION | FileFlag.WITH_METADATA_EXT)


@dataclass(frozen=True, slots=True, eq=False)
class Recipes:
    """Contents of a shard, files and xorbs in any order; every file has verification entries and metadata.

    Hashes have shape `(n, 32)`; those of chunks are not keyed. `segments` are rows of `FILE_ENTRY`, `chunks` rows of
    `CAS_ENTRY`; `counts` has the number of segments per file, `chunk_counts` the number of chunks per xorb.
    """

    files: HashArray
    sha256s: HashArray
    counts: I64
    segments: NDArray[Any]
    ranges: HashArray
    xorbs: HashArray
    chunk_counts: I64
    chunks: NDArray[Any]

    def part(self, files: I64, xorbs: I64) -> Recipes:
        """Return the contents with only some files and xorbs, both given as consecutive row numbers."""
        segments, chunks = _run(self.counts, files), _run(self.chunk_counts, xorbs)
        return Recipes(
            self.files[files],
            self.sha256s[files],
            self.counts[files],
            self.segments[segments],
            self.ranges[segments],
            self.xorbs[xorbs],
            self.chunk_counts[xorbs],
            self.chunks[chunks],
        )


def _run(counts: I64, rows: I64) -> slice:
    bounds = running(counts)
    return slice(int(bounds[rows[0]]), int(bounds[rows[-1] + 1])) if len(rows) else slice(0, 0)


@dataclass(frozen=True, slots=True)
class FooterValues:
    """Footer fields that are not offsets: HMAC key (zero: none), creation (0: not recorded), expiry (None: never)."""

    key: bytes = ZERO
    created: int = 0
    expiry: int | None = None


EMPTY_FOOTER = FooterValues()


def expiry_field(expiry: int | None, *, for_ever: bool) -> int:
    """Return the field `shard_key_expiry`; None becomes all bits one (never) if `for_ever`, else 0 (not recorded)."""
    if expiry is None:
        return NO_EXPIRY if for_ever else 0
    return expiry


# --- gathering --------------------------------------------------------------------------------------------------


class FileChunks:
    """Chunks of one file in order, each with the number of its xorb and its number in that xorb."""

    def __init__(self) -> None:
        self._hashes = bytearray()
        self._numbers = array("q")  # per chunk its size, the number of its xorb, and its number there

    def add(self, digest: bytes, size: int, xorb: int, number: int) -> None:
        self._hashes += digest
        self._numbers.extend((size, xorb, number))

    def segments(self) -> tuple[bytes, list[int], bytes]:
        """Merge neighbouring chunks into segments.

        Returns:
            The hash of the file; per segment the xorb, first chunk, end and size in bytes; the range hashes.
        """
        if len(self._numbers) == 3:
            # A single chunk, as in most small files: without arrays this is ten times faster.
            raw, (size, xorb, number) = bytes(self._hashes), self._numbers
            return keyed(FILE_KEY, raw), [xorb, number, number + 1, size], keyed(RANGE_KEY, raw)
        hashes = _hash_rows(self._hashes)
        sizes, xorbs, numbers = np.array(self._numbers, np.int64).reshape(-1, 3).T
        cuts = np.flatnonzero((np.diff(xorbs) != 0) | (np.diff(numbers) != 1)) + 1
        bounds = np.concatenate([[0], cuts, [len(xorbs)]]) if len(xorbs) else np.zeros(1, np.int64)
        first, last = bounds[:-1], bounds[1:] - 1
        table = np.stack([xorbs[first], numbers[first], numbers[last] + 1, block_sums(sizes, bounds)], axis=1)
        ranges = range_hashes(hashes, bounds).tobytes()
        return file_hash(hashes, sizes.astype(np.uint64)), table.ravel().tolist(), ranges


class FileCollector:
    """Files added to a shard so far, without duplicates; `last` is the number of segments of the latest file."""

    def __init__(self) -> None:
        self.last = 0
        self._files = bytearray()
        self._sha256s = bytearray()
        self._counts = array("q")
        self._segments = array("q")  # four numbers per segment
        self._ranges = bytearray()
        self._known: set[bytes] = set()

    @property
    def files(self) -> int:
        return len(self._counts)

    @property
    def segments(self) -> int:
        return len(self._segments) // 4

    @property
    def _table(self) -> I64:
        return np.array(self._segments, np.int64).reshape(-1, 4)

    def add(self, chunks: FileChunks, sha256: str) -> bytes:
        """Add a file and return its hash; a duplicate is not added, and sets `last` to 0."""
        found, segments, ranges = chunks.segments()
        self.last = 0
        if found in self._known:
            return found
        self._known.add(found)
        self._files += found
        # A digest is stored like the text form of a hash; hf-xet stores zeros for an empty file.
        self._sha256s += from_text(sha256) if found != ZERO else ZERO
        self.last = len(segments) // 4
        self._counts.append(self.last)
        self._segments.extend(segments)
        self._ranges += ranges
        return found

    def after(self) -> I64:
        """Return per file the number of xorbs that must be written before it: its highest xorb number plus one."""
        counts = np.array(self._counts, np.int64)
        found = np.zeros(len(counts), np.int64)
        if len(starts := running(counts)[:-1][counts > 0]):
            found[counts > 0] = np.maximum.reduceat(self._table[:, 0] + 1, starts)
        return found

    def recipes(self, xorbs: list[PackedXorb]) -> Recipes:
        table, hashes = self._table, as_rows([xorb.hash for xorb in xorbs])
        segments = np.zeros(len(table), FILE_ENTRY.dtype)
        segments["cas_hash"] = hashes[table[:, 0]]
        for column, name in enumerate(("chunk_index_start", "chunk_index_end", "unpacked_segment_bytes"), 1):
            segments[name] = table[:, column]
        sizes = [xorb.sizes for xorb in xorbs]
        counts = np.array([len(one) for one in sizes], np.int64)
        chunks = np.zeros(int(counts.sum()), CAS_ENTRY.dtype)
        if xorbs:
            chunks["chunk_hash"] = np.concatenate([xorb.info.hashes for xorb in xorbs])
            chunks["unpacked_segment_bytes"] = np.concatenate(sizes)
            chunks["chunk_byte_range_start"] = np.concatenate([np.cumsum(one) - one for one in sizes])
        files, digests, ranges = map(_hash_rows, (self._files, self._sha256s, self._ranges))
        return Recipes(files, digests, np.array(self._counts, np.int64), segments, ranges, hashes, counts, chunks)


def _hash_rows(raw: bytearray) -> HashArray:
    return np.frombuffer(bytes(raw), np.uint8).reshape(-1, 32)


# --- sizes and splitting ----------------------------------------------------------------------------------------


def size_of(form: str, files: int, segments: int, xorbs: int, chunks: int) -> int:
    records = 2 * files + 2 * segments + xorbs + chunks + 2
    size = HEADER.size + records * RECORD_SIZE
    if form == FULL:
        size += files * FILE_LOOKUP.size + xorbs * XORB_LOOKUP.size + chunks * CHUNK_LOOKUP.size
    return size if form == UPLOAD else size + FOOTER_SIZE


EMPTY_SIZE = size_of(FULL, 0, 0, 0, 0)


def split(recipes: Recipes, after: I64, limit: int) -> list[Recipes]:
    """Split contents, in order, into shards of at most `limit` bytes in full form.

    `after` has the number of xorbs that precede each file. A file may use xorbs listed in another shard of the store.
    """
    files, xorbs = len(recipes.files), len(recipes.xorbs)
    if size_of(FULL, files, len(recipes.segments), xorbs, len(recipes.chunks)) <= limit:
        return [recipes]
    per_file, per_segment, per_xorb, per_chunk = (size_of(FULL, *one) - EMPTY_SIZE for one in np.eye(4, dtype=int))
    sizes = np.append(per_xorb + per_chunk * recipes.chunk_counts, per_file + per_segment * recipes.counts)
    # One sequence: xorbs by number, each file after the xorbs that it uses.
    needs = np.append(np.arange(1, xorbs + 1), np.maximum.accumulate(after))
    order = np.lexsort((np.arange(xorbs + files) >= xorbs, needs))
    steps = (order[some] for some in steps_by_sum(sizes[order], limit - EMPTY_SIZE))
    return [recipes.part(rows[rows >= xorbs] - xorbs, rows[rows < xorbs]) for rows in steps]


# --- bytes ------------------------------------------------------------------------------------------------------


def build(recipes: Recipes, form: str, values: FooterValues = EMPTY_FOOTER) -> bytes:
    """Return the bytes of a shard, files and xorbs sorted by hash; the upload form ignores `values`."""
    chunks = recipes.chunks.copy()
    if form == MINIMAL:
        chunks["flags"][_first_chunks(recipes)] |= np.uint32(ChunkFlag.GLOBAL_DEDUP_ELIGIBLE)
    chunks["chunk_hash"] = protect_many(values.key, chunks["chunk_hash"])
    order = by_hash(recipes.xorbs)
    counts = recipes.chunk_counts[order]
    chunks = chunks[_gathered(recipes.chunk_counts, order)]
    files, file_starts = _file_section(recipes)
    xorbs, xorb_starts = _xorb_section(recipes.xorbs[order], counts, chunks)
    parts = [HEADER.pack(footer_size=0 if form == UPLOAD else FOOTER_SIZE), files, xorbs]
    if form == UPLOAD:
        return b"".join(parts)
    tables = [b"", b"", b""]
    if form == FULL:
        tables = [
            _table(FILE_LOOKUP, recipes.files[by_hash(recipes.files)], index=file_starts),
            _table(XORB_LOOKUP, recipes.xorbs[order], index=xorb_starts),
            _table(CHUNK_LOOKUP, chunks["chunk_hash"], index=np.repeat(xorb_starts, counts), chunk=_within(counts)),
        ]
    parts += tables
    offsets = running(np.array([len(part) for part in parts])).tolist()
    fields: dict[str, int] = {}
    for kind, table, offset in zip(KINDS, tables, offsets[3:], strict=False):
        fields |= {f"{kind}_lookup_offset": offset, f"{kind}_lookup_num_entry": len(table) // LOOKUPS[kind].size}
    footer = FOOTER.pack(
        cas_info_offset=offsets[2],
        **fields,
        chunk_hash_hmac_key=values.key,
        shard_creation_timestamp=values.created,
        shard_key_expiry=expiry_field(values.expiry, for_ever=form == FULL),
        materialized_bytes=int(recipes.segments["unpacked_segment_bytes"].sum(dtype=np.int64)),
        stored_bytes=int(recipes.chunks["unpacked_segment_bytes"].sum(dtype=np.int64)),
        footer_offset=offsets[-1],
    )
    return b"".join((*parts, footer))


def by_hash(hashes: HashArray) -> I64:
    """Return the order that sorts hashes by text form, which equals the numeric order of their four words."""
    return np.lexsort(words(hashes).T[::-1])


def by_key(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows of a lookup table sorted by key, record and chunk."""
    return rows[np.lexsort([rows[name] for name in reversed(rows.dtype.names or ())])]


def _first_chunks(recipes: Recipes) -> I64:
    """Return the rows of the chunks that begin a file, which are eligible for global dedup, if their xorb is listed."""
    known = dict(zip(map(bytes, recipes.xorbs), running(recipes.chunk_counts).tolist(), strict=False))
    firsts = recipes.segments[running(recipes.counts)[:-1][recipes.counts > 0]]
    pairs = zip(map(bytes, firsts["cas_hash"]), firsts["chunk_index_start"].tolist(), strict=True)
    return np.array([known[xorb] + chunk for xorb, chunk in pairs if xorb in known], np.int64)


def _file_section(recipes: Recipes) -> tuple[bytes, I64]:
    """Return the bytes of the File Info Section, and the record number of each file header, both in hash order."""
    order = by_hash(recipes.files)
    counts = recipes.counts[order]
    ends = running(file_records(FLAGS, counts))
    starts = ends[:-1]
    rows = np.zeros((ends[-1], RECORD_SIZE), np.uint8)
    source, places = _gathered(recipes.counts, order), np.repeat(starts, counts) + 1 + _within(counts)
    _put(rows, starts, FILE_HEADER, file_hash=recipes.files[order], file_flags=FLAGS, num_entries=counts)
    rows.view(FILE_ENTRY.dtype)[:, 0][places] = recipes.segments[source]
    _put(rows, places + np.repeat(counts, counts), FILE_VERIFICATION, range_hash=recipes.ranges[source])
    _put(rows, ends[1:] - 1, FILE_METADATA, sha256=recipes.sha256s[order])
    return rows.tobytes() + BOOKEND.pack(), starts


def _xorb_section(hashes: HashArray, counts: I64, chunks: NDArray[Any]) -> tuple[bytes, I64]:
    """Return the bytes of the CAS Info Section, and the record number of each xorb header."""
    ends = running(1 + counts)
    starts = ends[:-1]
    rows = np.zeros((ends[-1], RECORD_SIZE), np.uint8)
    sizes = block_sums(chunks["unpacked_segment_bytes"], running(counts))
    _put(rows, starts, CAS_HEADER, cas_hash=hashes, num_entries=counts, num_bytes_in_cas=sizes)
    rows.view(CAS_ENTRY.dtype)[:, 0][np.repeat(starts, counts) + 1 + _within(counts)] = chunks
    return rows.tobytes() + BOOKEND.pack(), starts


def _table(record: Record, hashes: HashArray, **columns: I64) -> bytes:
    rows = np.zeros(len(hashes), record.dtype)
    rows["key"] = words(hashes)[:, 0]
    for name, column in columns.items():
        rows[name] = column
    return record.write(by_key(rows))


def _gathered(counts: I64, order: I64) -> I64:
    return np.repeat(running(counts)[order], counts[order]) + _within(counts[order])


def _within(counts: I64) -> I64:
    """Return the positions 0, 1, 2, … within each of the concatenated lists of length `counts`."""
    bounds = running(counts)
    return np.arange(bounds[-1]) - np.repeat(bounds[:-1], counts)


def _put(rows: NDArray[np.uint8], places: I64, record: Record, **values: Any) -> None:
    fields = rows.view(record.dtype)[:, 0]
    for name, value in values.items():
        fields[name][places] = value
