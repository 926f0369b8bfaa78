"""Serialising the contents of a shard; the inverse of `walk`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import ZERO, HashArray, words
from shardcore.formats.mdb.footer_text import expiry_field
from shardcore.formats.mdb.hashes import protect_many
from shardcore.formats.mdb.layout import (
    BOOKEND,
    CAS_HEADER,
    CHUNK_LOOKUP,
    FILE_HEADER,
    FILE_LOOKUP,
    FILE_METADATA,
    FILE_VERIFICATION,
    FOOTER,
    FOOTER_SIZE,
    HEADER,
    RECORD_SIZE,
    SECTIONS_START,
    XORB_LOOKUP,
    ChunkFlag,
    FileFlag,
)
from shardcore.model.record import Record

FULL, MINIMAL, UPLOAD = "full", "minimal", "upload"

FLAGS = FileFlag.WITH_VERIFICATION | FileFlag.WITH_METADATA_EXT


@dataclass(frozen=True, slots=True, eq=False)
class Recipes:
    """Contents of a shard, files and xorbs in any order; every file has verification entries and metadata.

    Hashes have shape `(n, 32)`; those of chunks are not keyed. `segments` are rows of `FILE_ENTRY`, `chunks` rows of
    `CAS_ENTRY`; `counts` has the number of segments per file, `chunk_counts` the number of chunks per xorb.
    """

    files: HashArray
    sha256s: HashArray
    counts: NDArray[np.int64]
    segments: NDArray[Any]
    ranges: HashArray
    xorbs: HashArray
    chunk_counts: NDArray[np.int64]
    chunks: NDArray[Any]


@dataclass(frozen=True, slots=True)
class FooterValues:
    """Footer fields that are not offsets: HMAC key (zero: none), creation (0: not recorded), expiry (None: never)."""

    key: bytes = ZERO
    created: int = 0
    expiry: int | None = None


EMPTY_FOOTER = FooterValues()


def size_of(form: str, files: int, segments: int, xorbs: int, chunks: int) -> int:
    records = 2 * files + 2 * segments + xorbs + chunks + 2
    size = HEADER.size + records * RECORD_SIZE
    if form == FULL:
        size += files * FILE_LOOKUP.size + xorbs * XORB_LOOKUP.size + chunks * CHUNK_LOOKUP.size
    return size if form == UPLOAD else size + FOOTER_SIZE


def build(recipes: Recipes, form: str, values: FooterValues = EMPTY_FOOTER) -> bytes:
    """Return the bytes of a shard, files and xorbs sorted by hash; the upload form ignores `values`."""
    file_part, file_starts = _file_section(recipes)
    cas_part, cas_starts = _cas_section(recipes, values.key, eligible=form == MINIMAL)
    head = HEADER.pack(footer_size=0 if form == UPLOAD else FOOTER_SIZE)
    sections = [head, file_part, cas_part]
    if form == UPLOAD:
        return b"".join(sections)
    places = [SECTIONS_START, SECTIONS_START + len(file_part)]
    at = places[-1] + len(cas_part)
    tables: list[bytes] = [b"", b"", b""]
    if form == FULL:
        tables = _tables(recipes, values.key, file_starts, cas_starts)
    lookups = []
    for table in tables:
        lookups.append(at)
        at += len(table)
    footer = FOOTER.pack(
        cas_info_offset=places[1],
        file_lookup_offset=lookups[0],
        file_lookup_num_entry=len(tables[0]) // FILE_LOOKUP.size,
        xorb_lookup_offset=lookups[1],
        xorb_lookup_num_entry=len(tables[1]) // XORB_LOOKUP.size,
        chunk_lookup_offset=lookups[2],
        chunk_lookup_num_entry=len(tables[2]) // CHUNK_LOOKUP.size,
        chunk_hash_hmac_key=values.key,
        shard_creation_timestamp=values.created,
        shard_key_expiry=expiry_field(values.expiry, for_ever=form == FULL),
        materialized_bytes=int(recipes.segments["unpacked_segment_bytes"].sum(dtype=np.int64)),
        stored_bytes=int(recipes.chunks["unpacked_segment_bytes"].sum(dtype=np.int64)),
        footer_offset=at,
    )
    return b"".join([*sections, *tables, footer])


def by_hash(hashes: HashArray) -> NDArray[np.int64]:
    """Return the sort order by text form, which is the numeric order of the four words."""
    w = words(hashes)
    return np.lexsort((w[:, 3], w[:, 2], w[:, 1], w[:, 0]))


def chunk_table(hashes: HashArray, headers: NDArray[np.int64], counts: NDArray[np.int64]) -> bytes:
    """Return the chunk lookup table, sorted by key, record, chunk; `hashes` are as stored, in record order."""
    rows = np.zeros(len(hashes), CHUNK_LOOKUP.dtype)
    rows["key"] = words(hashes)[:, 0]
    rows["index"] = np.repeat(headers, counts)
    rows["chunk"] = _within(counts)
    return CHUNK_LOOKUP.write(rows[np.lexsort((rows["chunk"], rows["index"], rows["key"]))])


def _file_section(recipes: Recipes) -> tuple[bytes, NDArray[np.int64]]:
    """Return the File Info Section, and the header record of each file, both in hash order."""
    order = by_hash(recipes.files)
    counts = recipes.counts[order]
    steps = 2 + 2 * counts
    starts = np.cumsum(steps) - steps
    rows = np.zeros((int(steps.sum()), RECORD_SIZE), np.uint8)
    _put(rows, starts, FILE_HEADER, file_hash=recipes.files[order], file_flags=FLAGS, num_entries=counts)
    source = _gathered(recipes.counts, order)
    places = np.repeat(starts, counts) + 1 + _within(counts)
    rows[places] = _bytes_of(recipes.segments[source])
    _put(rows, places + np.repeat(counts, counts), FILE_VERIFICATION, range_hash=recipes.ranges[source])
    _put(rows, starts + steps - 1, FILE_METADATA, sha256=recipes.sha256s[order])
    return rows.tobytes() + BOOKEND.pack(), starts


def _cas_section(recipes: Recipes, key: bytes, *, eligible: bool) -> tuple[bytes, NDArray[np.int64]]:
    order = by_hash(recipes.xorbs)
    counts = recipes.chunk_counts[order]
    steps = 1 + counts
    starts = np.cumsum(steps) - steps
    rows = np.zeros((int(steps.sum()), RECORD_SIZE), np.uint8)
    chunks = recipes.chunks.copy()
    if eligible:
        chunks["flags"][_first_chunks(recipes)] |= np.uint32(ChunkFlag.GLOBAL_DEDUP_ELIGIBLE)
    if len(chunks):
        chunks["chunk_hash"] = protect_many(key, np.ascontiguousarray(chunks["chunk_hash"]))
    totals = np.concatenate([[0], np.cumsum(chunks["unpacked_segment_bytes"], dtype=np.int64)])
    bounds = np.concatenate([[0], np.cumsum(recipes.chunk_counts)])
    sizes = (totals[bounds[1:]] - totals[bounds[:-1]])[order]
    _put(rows, starts, CAS_HEADER, cas_hash=recipes.xorbs[order], num_entries=counts, num_bytes_in_cas=sizes)
    source = _gathered(recipes.chunk_counts, order)
    rows[np.repeat(starts, counts) + 1 + _within(counts)] = _bytes_of(chunks[source])
    return rows.tobytes() + BOOKEND.pack(), starts


def _first_chunks(recipes: Recipes) -> NDArray[np.int64]:
    """Return the rows of the first chunks of files, eligible for global dedup, if the shard describes their xorb."""
    known = {raw.tobytes(): number for number, raw in enumerate(recipes.xorbs)}
    bounds = np.cumsum(recipes.chunk_counts) - recipes.chunk_counts
    firsts = (np.cumsum(recipes.counts) - recipes.counts)[recipes.counts > 0]
    found = []
    for segment in recipes.segments[firsts]:
        number = known.get(segment["cas_hash"].tobytes())
        if number is not None:
            found.append(int(bounds[number]) + int(segment["chunk_index_start"]))
    return np.array(found, np.int64)


def _tables(recipes: Recipes, key: bytes, file_starts: NDArray[np.int64], cas_starts: NDArray[np.int64]) -> list[bytes]:
    tables = []
    for record, hashes, starts in (
        (FILE_LOOKUP, recipes.files, file_starts),
        (XORB_LOOKUP, recipes.xorbs, cas_starts),
    ):
        rows = np.zeros(len(hashes), record.dtype)
        rows["key"], rows["index"] = words(hashes[by_hash(hashes)])[:, 0], starts
        tables.append(record.write(rows))
    order = by_hash(recipes.xorbs)
    hashes = np.ascontiguousarray(recipes.chunks["chunk_hash"][_gathered(recipes.chunk_counts, order)])
    stored = protect_many(key, hashes) if len(hashes) else hashes
    return [*tables, chunk_table(stored, cas_starts, recipes.chunk_counts[order])]


def _gathered(counts: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    starts = np.cumsum(counts) - counts
    return np.repeat(starts[order], counts[order]) + _within(counts[order])


def _within(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions 0, 1, 2, … within each of the concatenated lists of length `counts`."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _put(rows: NDArray[np.uint8], places: NDArray[np.int64], record: Record, **values: Any) -> None:
    new = np.zeros(len(places), record.dtype)
    for name, value in values.items():
        new[name] = value
    rows[places] = _bytes_of(new)


def _bytes_of(rows: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), RECORD_SIZE)
