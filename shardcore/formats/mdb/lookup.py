"""Lookup of a hash: search of the records of files, xorbs and chunks. `trace_steps.py` has the texts of its steps.

With a lookup table: search the first 8 bytes of the hash, then compare the full hash in each record found.
Without: walk the section once. If the shard has an HMAC key, a chunk hash is first keyed with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import SIZE, ZERO, as_rows, from_text, text_of_key, to_text, truncated
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, KeyAbsent, ShardError, Truncated, UsageError, raise_if_lost, shown_key
from shardcore.formats.mdb.content import ContentFact, content_facts
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.index import MdbIndex, load
from shardcore.formats.mdb.layout import (
    CAS_ENTRY,
    CAS_HEADER,
    CHUNK,
    FILE,
    KINDS,
    RECORD_SIZE,
    XORB,
    LookupTable,
    MdbLayout,
    block_fault,
    descents,
    key_text,
    protect,
    protect_many,
)
from shardcore.formats.mdb.objects import BLOCK_GUESS, MdbObjects, Read, chunk_ref, file_ref, read_file_block, xorb_ref
from shardcore.formats.mdb.xorbs import SPAN_PREFIX
from shardcore.model.keys import KeyForm
from shardcore.model.objects import ObjectRef
from shardcore.model.pointer_table import Links
from shardcore.model.references import ReferenceCollector
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural, short
from shardcore.shards.cache import Once
from shardcore.sources.base import Source

WHOLE_TABLE = 65536
"""Number of bytes of a lookup table that are read per request; shorter tables are read completely."""

_GUESSES = 6  # after this many misses the keys are probably not evenly distributed: bisect instead


def search(read: Read, table: LookupTable, key: int) -> tuple[int, NDArray[Any], tuple[int, NDArray[Any]]]:
    """Return the number of the first entry with `key` (or its insertion point), all rows with `key`, and the last read.

    Interpolation search: keys are evenly distributed, so usually one read of `WHOLE_TABLE` bytes is enough. After
    `_GUESSES` misses it falls back to bisection. The last read is returned as number of its first entry, and its keys.

    Raises:
        FormatError: The table is not sorted, as far as it was read.
    """
    piece = WHOLE_TABLE // table.record.size
    low, high = 0, table.count  # the first entry with a key not below `key` has a number in [low, high]
    low_key, high_key, tries = 0, 1 << 64, 0
    while True:
        first, last = low, high
        if high - low > piece:
            share = (high - low) * (key - low_key) // (high_key - low_key) if tries < _GUESSES else (high - low) // 2
            first = min(max(low + share - piece // 2, low), high - piece)
            last = first + piece
        rows = _sorted_rows(read, table, first, last)
        keys, tries = rows["key"], tries + 1
        if first > low and int(keys[0]) >= key:
            high, high_key = first, max(int(keys[0]), key + 1)
        elif last < high and int(keys[-1]) < key:
            low, low_key = last, int(keys[-1])
        else:
            break
    piece_read = first, keys
    number = first + int(np.searchsorted(keys, np.uint64(key), "left"))
    found = rows[keys == np.uint64(key)]
    while len(found) and number + len(found) == last and last < table.count:
        more = _sorted_rows(read, table, last, min(last + piece, table.count))
        found, last = np.concatenate([found, more[more["key"] == np.uint64(key)]]), last + len(more)
    return number, found, piece_read


def _sorted_rows(read: Read, table: LookupTable, first: int, last: int) -> NDArray[Any]:
    span = table.span(first, last)
    rows = table.record.read(read(span.start, span.stop), 0, last - first, place=span)
    if len(descents(rows)):
        raise FormatError(f"the {table.kind} lookup table cannot be searched: it is not sorted by key", span=span)
    return rows


FAR = 1 << 19
"""Largest distance in bytes at which a chunk record is read together with the header of its xorb."""

SMALL_SHARD = 1 << 22
"""Maximum size in bytes of a shard whose records are all compared after a failed lookup, to detect a damaged table."""

_MANY = 64  # up to this many entries of one key are compared one by one; for more, the index is loaded


@dataclass(frozen=True, slots=True)
class MdbKey:
    """Parsed key; `raw` is the requested hash, not yet keyed with the HMAC key of the shard."""

    kind: str
    raw: bytes

    def __str__(self) -> str:
        return key_text(self.kind, to_text(self.raw))


KEY_FORM = KeyForm(of_bytes=text_of_key, to_raw=lambda text: text if ":" in text else from_text(text))
"""Raw keys of 32 bytes are file hashes; for xorbs and chunks use the text form with its prefix."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Header found for a key; `record` is its record number in the section.

    `chunk` is the chunk's number in the xorb, -1 for files and xorbs. `row` is the entry of the lookup table, or -1 if
    the entry is unknown because the index was searched.
    """

    record: int
    chunk: int
    row: int


_FORMS = f"a key is the hash of a file (64 hex digits), or {XORB}:<hash> or {CHUNK}:<hash>"


# --- facts ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Keyed:
    """A chunk hash before and after it is keyed with the shard's HMAC key."""

    layout: MdbLayout
    plain: bytes
    stored: bytes


@dataclass(frozen=True, slots=True)
class Retried:
    layout: MdbLayout


@dataclass(frozen=True, slots=True)
class Wanted:
    """The hash that is searched (for a chunk, possibly keyed) and its key in the lookup table."""

    layout: MdbLayout
    kind: str
    raw: bytes

    @property
    def key(self) -> int:
        return truncated(self.raw)

    @property
    def section(self) -> Span:
        return Span("", *self.layout.section(self.kind))

    @property
    def is_empty(self) -> bool:
        return self.section.size <= RECORD_SIZE


@dataclass(frozen=True, slots=True, eq=False)
class TableSearched:
    """Result of a table search: the `rows` with the table key, and the number of the first one, or where it would be.

    `piece` is the last piece of the table that was read: the number of its first entry, and its keys.
    """

    table: LookupTable
    key: int
    first: int
    rows: NDArray[Any]
    piece: tuple[int, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Walked:
    """Result of a search without lookup table: `same` of all `records` objects of this kind have the hash."""

    kind: str
    records: int
    same: int
    section: Span


@dataclass(frozen=True, slots=True)
class OtherHash:
    """A record with the requested table key, but with another hash."""

    hit: Hit
    place: Span
    raw: bytes
    found: bytes


@dataclass(frozen=True, slots=True)
class Matched:
    """The record with the requested hash, at `place`; `header` is the span of the header of its block."""

    kind: str
    hit: Hit
    header: Span
    place: Span
    raw: bytes
    ref: ObjectRef


@dataclass(frozen=True, slots=True)
class AnyShard:
    """A lookup in a folder: any of its `shards` shards may list the hash."""

    kind: str
    shards: int


Fact = Keyed | Retried | Wanted | TableSearched | Walked | OtherHash | Matched | ObjectRef | ContentFact


class MdbLookup:
    def __init__(self, file: MdbFile) -> None:
        self.file = file
        self._objects = MdbObjects(file)
        # Index of a small shard, loaded when a lookup fails before `load_index`.
        self._small: Once[MdbIndex] = Once()

    @staticmethod
    def parse(text: str) -> MdbKey:
        """Parse `<hash>`, `xorb:<hash>` or `chunk:<hash>`; raise UsageError for anything else."""
        kind, colon, hash_text = text.rpartition(":")
        if colon and kind not in KINDS:
            raise UsageError(f"unknown kind {short(kind)}; {_FORMS}")
        try:
            return MdbKey(kind if colon else FILE, from_text(hash_text))
        except UsageError as error:
            raise UsageError(f"{short(text)} is not a key of an mdb shard; {_FORMS}") from error

    def walk(self, key: MdbKey, source: Source) -> Iterator[Fact]:
        """Look up a key and yield each intermediate result, up to the first object and then to its content in xorbs.

        Raises:
            KeyAbsent: The shard has no such object.
            FormatError: A table or record that was read is damaged.
        """
        for fact in self._each(key, source):
            yield fact
            if isinstance(fact, ObjectRef):
                yield from content_facts(self.file, fact)
                return
        self._check_missed(key)
        raise KeyAbsent(str(key))

    def in_memory(self, key: MdbKey) -> ObjectRef | None:
        """Return the object of a key from the loaded index; None if `walk` is needed to find it or report the error."""
        if (index := self.file.index) is None:
            return None
        raw = protect(self.file.layout.key, key.raw) if key.kind == CHUNK else key.raw
        row = index.row_with(key.kind, raw)
        return self._objects.ref(row) if row >= 0 else None

    def find_all(self, key: MdbKey) -> tuple[ObjectRef, ...]:
        return tuple(fact for fact in self._each(key, self.file.source) if isinstance(fact, ObjectRef))

    def find_many(self, keys: Sequence[MdbKey]) -> NDArray[np.int64]:
        """Return the row per key, vectorised; -1 if not found. Loads the index."""
        rows = np.full(len(keys), -1, np.int64)
        index = self.file.load()
        for kind in KINDS:
            places = np.array([n for n, key in enumerate(keys) if key.kind == kind], np.int64)
            if not len(places):
                continue
            plain = as_rows([keys[n].raw for n in places.tolist()])
            found = index.rows_of(kind, protect_many(self.file.layout.key, plain) if kind == CHUNK else plain)
            if kind == CHUNK and index.keyed:
                found = np.where(found < 0, index.rows_of(kind, plain), found)
            rows[places] = found
        return rows

    def _check_missed(self, key: MdbKey) -> None:
        """Raise FormatError if a record has the hash but no table entry refers to it; makes no request."""
        index, source = self.file.index, self.file.source
        if key.kind not in self.file.layout.tables:
            return
        if index is None:
            if source.size > SMALL_SHARD or source.loaded(0, source.size) != ((0, source.size),):
                return
            index = self._small.get(lambda: load(source.read(0, source.size), self.file.layout))
        raw = protect(self.file.layout.key, key.raw) if key.kind == CHUNK else key.raw
        section, records = index.section(key.kind), index.records(key.kind)
        same = np.flatnonzero((section.hashes[records] == np.frombuffer(raw, np.uint8)).all(axis=1))
        if len(same):
            raise FormatError(
                f"the {key.kind} lookup table does not refer to {shown_key(str(key))}, but a record has this hash: "
                "the table is damaged",
                span=section.span(records[same[0]]),
            )

    def _each(self, key: MdbKey, source: Source) -> Iterator[Fact]:
        """Yield the results for all objects with a key. A chunk hash is tried with the HMAC key, then without it."""
        layout, plain = self.file.layout, key.raw
        raw = protect(layout.key, plain) if key.kind == CHUNK else plain
        if key.kind == CHUNK and layout.key != ZERO:
            yield Keyed(layout, plain, raw)
        found = False
        for fact in self._matches(Wanted(layout, key.kind, raw), source):
            found = found or isinstance(fact, ObjectRef)
            yield fact
        if not found and raw != plain:
            yield Retried(layout)
            yield from self._matches(Wanted(layout, key.kind, plain), source)

    def _matches(self, wanted: Wanted, source: Source) -> Iterator[Fact]:
        yield wanted
        if wanted.is_empty:
            return
        hits = list[Hit]()
        if (table := self.file.layout.tables.get(wanted.kind)) is not None:
            first, rows, piece = search(lambda a, b: self.file.read(a, b, source), table, wanted.key)
            yield TableSearched(table, wanted.key, first, rows, piece)
            if len(rows) > _MANY:
                hits = _hits(self.file.load(source), wanted)
            else:
                chunks = rows["chunk"].tolist() if table.kind == CHUNK else [-1] * len(rows)
                hits = [Hit(*found) for found in zip(rows["index"].tolist(), chunks, count(first), strict=False)]
        else:
            index = self.file.load(source)
            hits, section = _hits(index, wanted), index.section(wanted.kind)
            records = len(index.records(wanted.kind))
            yield Walked(wanted.kind, records, len(hits), Span("", section.start, section.stop_byte))
            if section.damage is not None and not hits:
                # The unread rest may contain the key, so its absence is not proven.
                raise section.damage
        for hit in hits:
            yield from self._compared(wanted, hit, source)

    def _compared(self, wanted: Wanted, hit: Hit, source: Source) -> Iterator[Fact]:
        """Compare the record to which a table entry refers; yield the object if the full hash is equal."""
        kind, raw, file, index = wanted.kind, wanted.raw, self.file, self.file.index
        entry = f"entry {hit.row} of the {kind} lookup table"
        places = file.layout.entry_places(kind, hit.record, hit.chunk)
        if places is None:
            table = file.layout.tables.get(kind)
            span = table.span(hit.row, hit.row + 1) if table else None
            raise FormatError(f"{entry} refers past the end of its section", span=span)
        (header, place), stop = places, file.layout.section(kind)[1]
        if index is not None and index.section(kind).block_of(hit.record) < 0:
            raise FormatError(f"{entry} refers to byte {header.start:#x}, where no header begins", span=header)
        # Usually one request; for a file both records are its header.
        near = place.start - header.start <= FAR
        end = min(header.start + BLOCK_GUESS, stop) if kind == FILE else place.stop if near else header.stop
        data = file.read(header.start, end, source)
        record = data[place.start - header.start :] if near else file.read(place.start, place.stop, source)
        found = record[:SIZE]
        if found[:8] != raw[:8]:
            message = f"{entry} refers to a record with a different table key, {to_text(found)[:16]}"
            raise FormatError(message, span=place)
        if found != raw:
            yield OtherHash(hit, place, raw, found)
            return
        row = -1 if index is None else index.row_of(kind, hit.record, hit.chunk)
        if kind == FILE:
            ref = self._file_ref(row, header.start, data)
        else:
            values = CAS_HEADER.read_one(data, place=header)
            chunks = values["num_entries"]
            if hit.chunk >= chunks:
                message = f"{entry} refers to chunk {hit.chunk}, but the xorb has {plural(chunks, 'chunk')}"
                raise FormatError(message, span=header)
            ref = xorb_ref(row, header.start, values)
            if kind == CHUNK:
                chunk, keyed = CAS_ENTRY.read_one(record), file.layout.key != ZERO
                ref = chunk_ref(row, place.start, chunk, values["cas_hash"], hit.chunk, keyed=keyed)
            elif fault := block_fault(XORB, 1 + chunks, (stop - header.start) // RECORD_SIZE):
                raise Truncated(fault, span=Span("", header.start, stop))
        yield Matched(kind, hit, header, place, raw, ref)
        yield ref

    def _file_ref(self, row: int, start: int, data: bytes) -> ObjectRef:
        file, index = self.file, self.file.index

        def read(a: int, b: int) -> bytes:
            inside = a >= start and b <= start + len(data)
            return data[a - start : b - start] if inside else file.read(a, b)

        block = read_file_block(read, start, file.layout.file_info[1])
        return file_ref(row, block, "" if index is None else index.file_fault(row))

    def gather_references(self, into: ReferenceCollector) -> None:
        """Collect the chunk records and segments that refer to a byte range of a xorb, if the index is loaded."""
        index, name = self.file.index, SourceName.parse(into.span.source)
        if index is None or not name.path.startswith(SPAN_PREFIX) or name.stretches:
            return
        text = name.path.removeprefix(SPAN_PREFIX)
        try:
            xorb, wanted = self.file.xorbs.get(text), as_rows([from_text(text)])
        except ShardError as error:
            raise_if_lost(error)
            return  # the chunks of a xorb that cannot be opened are unknown
        number = int(index.map_of(XORB).objects(wanted)[0])
        if number < 0:
            return
        section, first = index.xorbs, int(index.xorbs.headers[number]) + 1
        spans = [xorb.record_span(chunk) for chunk in range(min(xorb.chunk_count, int(section.counts[number])))]
        starts, stops = (np.array([getattr(span, edge) for span in spans], np.int64) for edge in ("start", "stop"))

        def record_to(chunk: int) -> tuple[Span, str]:
            return section.span(first + chunk), f"This record describes chunk {chunk} of the xorb."

        Links(starts, stops, record_to, into.span.source).gather(into)
        chunks = np.flatnonzero((starts < into.span.stop) & (stops > into.span.start))
        if len(chunks):
            index.segment_links.gather(into, section.span(first + chunks[0], int(chunks[-1] + 1 - chunks[0])))


def _hits(index: MdbIndex, wanted: Wanted) -> list[Hit]:
    """Return the records with the full hash, from the loaded index; their `row` is -1."""
    known = index.map_of(wanted.kind)
    same = known.same(wanted.raw)
    return [Hit(*pair, -1) for pair in zip(known.records[same].tolist(), known.chunks[same].tolist(), strict=True)]
