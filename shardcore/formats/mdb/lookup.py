"""Lookup of files, xorbs and chunks by hash; the same code produces the trace.

With a lookup table: search the first word of the hash, then compare the full hash in each record found.
Without: walk the section once. Under an HMAC key, a chunk hash is keyed first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import SIZE, ZERO, as_rows, from_text, text_of_key, to_text, truncated
from shardcore.errors import FormatError, KeyAbsent, Truncated, UsageError, shown_key
from shardcore.formats.mdb.hashes import protect, protect_many
from shardcore.formats.mdb.index import MdbIndex, load
from shardcore.formats.mdb.layout import (
    CAS_ENTRY,
    CAS_HEADER,
    CHUNK,
    FILE,
    FILE_INFO,
    KINDS,
    RECORD_SIZE,
    XORB,
    XORB_INFO,
    LookupTable,
    block_fault,
    descents,
)
from shardcore.formats.mdb.objects import BLOCK_GUESS, Read, chunk_ref, file_ref, read_file_block, xorb_ref
from shardcore.formats.mdb.recipe import describe_content
from shardcore.model.keys import KeyForm
from shardcore.model.number_words import plural
from shardcore.model.span import Span
from shardcore.model.text import short
from shardcore.shards.cache import Once
from shardcore.shards.format import lazily
from shardcore.shards.step_content import Compared, Fields
from shardcore.shards.trace import LookupRecorder

if TYPE_CHECKING:
    from shardcore.formats.mdb.file import MdbFile
    from shardcore.model.objects import ObjectRef

bisection_figure = lazily("shardcore.formats.mdb.hash_lookup_sketch:bisection_figure")

WHOLE_TABLE = 65536
"""Bytes read per request from a lookup table; shorter tables are read completely."""

_GUESSES = 6  # after this many misses the keys are probably not evenly distributed: bisect instead


def search(
    read: Read, table: LookupTable, key: int, seen: list[tuple[int, NDArray[Any]]] | None = None
) -> tuple[int, NDArray[Any]]:
    """Return the number of the first entry with `key` (or its insertion point), and all rows with `key`.

    Interpolation search: keys are evenly distributed, so usually one read of `WHOLE_TABLE` bytes is enough. After
    `_GUESSES` misses it falls back to bisection. First entry number and keys of the last range read go to `seen`.

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
    if seen is not None:
        seen.append((first, keys))
    number = first + int(np.searchsorted(keys, np.uint64(key), "left"))
    found = rows[keys == np.uint64(key)]
    while len(found) and number + len(found) == last and last < table.count:
        more = _sorted_rows(read, table, last, min(last + piece, table.count))
        found, last = np.concatenate([found, more[more["key"] == np.uint64(key)]]), last + len(more)
    return number, found


def _sorted_rows(read: Read, table: LookupTable, first: int, last: int) -> NDArray[Any]:
    span = table.span(first, last)
    rows = table.record.read(read(span.start, span.stop), 0, last - first, place=span)
    if len(descents(rows)):
        raise FormatError(f"the {table.kind} lookup table cannot be searched: it is not sorted by key", span=span)
    return rows


FAR = 1 << 19
"""Largest distance in bytes at which a chunk record is read together with the header of its xorb."""

SMALL_SHARD = 1 << 22
"""Up to this size in bytes, all records are compared after a failed lookup, to detect a damaged table."""

_MANY = 64  # entries of one key that are compared one by one


@dataclass(frozen=True, slots=True)
class MdbKey:
    """Parsed key; `raw` is the hash as given, before it is keyed."""

    kind: str
    raw: bytes

    def __str__(self) -> str:
        return to_text(self.raw) if self.kind == FILE else f"{self.kind}:{to_text(self.raw)}"


KEY_FORM = KeyForm(of_bytes=text_of_key, to_raw=lambda text: text if ":" in text else from_text(text))
"""Raw keys of 32 bytes are file hashes; for xorbs and chunks use the text form with its prefix."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Record found for a key; `record` counts from the start of the section.

    `chunk` is -1 for files and xorbs; `row`, the row of the lookup table, is -1 if the section was walked.
    """

    record: int
    chunk: int
    row: int


_FORMS = f"a key is the hash of a file (64 hex digits), or {XORB}:<hash> or {CHUNK}:<hash>"


class MdbLookup:
    def __init__(self, file: MdbFile) -> None:
        self.file = file
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

    def find(self, key: MdbKey, recorder: LookupRecorder) -> ObjectRef:
        """Return the first object with this key; a trace also has steps in the xorbs if these can be found.

        Raises:
            KeyAbsent: The shard has no such object.
            FormatError: A table or record that was read is damaged.
        """
        ref = next(self._each(key, recorder), None)
        if ref is None:
            self._check_missed(key)
            raise KeyAbsent(str(key))
        if recorder.recording:
            describe_content(self.file, ref, recorder)
        return ref

    def _check_missed(self, key: MdbKey) -> None:
        """Raise FormatError if a record has the hash but no table entry refers to it; makes no request."""
        table, index, source = self.file.layout.tables.get(key.kind), self.file.index, self.file.source
        if table is None:
            return
        if index is None:
            if source.size > SMALL_SHARD or source.loaded(0, source.size) != ((0, source.size),):
                return
            index = self._small.get(lambda: load(source.read(0, source.size), self.file.layout))
        raw = protect(self.file.layout.key, key.raw) if key.kind == CHUNK else key.raw
        section = index.section(key.kind)
        records = section.entries if key.kind == CHUNK else section.headers
        same = np.flatnonzero((section.hashes[records] == np.frombuffer(raw, np.uint8)).all(axis=1))
        if len(same):
            at = int(records[same[0]])
            raise FormatError(
                f"the {key.kind} lookup table does not refer to {shown_key(str(key))}, but a record has this hash: "
                "the table is damaged",
                span=Span("", section.byte_of(at), section.byte_of(at + 1)),
            )

    def find_all(self, key: MdbKey) -> tuple[ObjectRef, ...]:
        return tuple(self._each(key, LookupRecorder()))

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

    def _each(self, key: MdbKey, recorder: LookupRecorder) -> Iterator[ObjectRef]:
        layout, plain = self.file.layout, key.raw
        raw = protect(layout.key, plain) if key.kind == CHUNK else plain
        if key.kind == CHUNK and layout.key != ZERO:
            recorder.step(
                "Apply the HMAC key",
                "The footer has an HMAC key, so chunk hashes are stored keyed: "
                f"the hash {to_text(plain)} is stored as {to_text(raw)}.",
                layout.key_span,
                why="A reader that has a chunk can compute its keyed hash; others do not learn the original hash.",
                plain=to_text(plain),
                stored=to_text(raw),
            )
        found = False
        for ref in _matches(self.file, key.kind, raw, recorder):
            found = True
            yield ref
        if not found and raw != plain:
            recorder.step(
                "Retry: the hash may be keyed already",
                "No chunk is stored under the keyed hash; the given hash may already be a keyed hash, so it is "
                "looked up unchanged.",
                why="A hash copied from such a shard is already keyed; keyed a second time, it would not be found.",
                inputs=(layout.key_span,),
            )
            yield from _matches(self.file, key.kind, plain, recorder)


def _matches(file: MdbFile, kind: str, raw: bytes, recorder: LookupRecorder) -> Iterator[ObjectRef]:
    key = truncated(raw)
    recorder.step(
        "Table key",
        f"Tables are sorted by the first 16 digits of each hash, read as one number: 0x{key:016x} = {key}.",
        why="Eight of 32 bytes keep the tables small and are nearly always unique, as hashes are evenly distributed.",
        inputs=(file.layout.key_span,) if kind == CHUNK and file.layout.key != ZERO else (),
        key=key,
        hash=to_text(raw),
    )
    start, stop = file.layout.section(kind)
    if stop - start <= RECORD_SIZE:
        name = FILE_INFO if kind == FILE else XORB_INFO
        text = f"The {name} section has only its end mark: this shard lists no {kind}."
        why = "A section without records cannot contain the key, so the lookup ends here."
        recorder.step("Empty section", text, Span("", start, stop), why=why)
        return
    table = file.layout.tables.get(kind)
    hits = _from_table(file, table, raw, recorder) if table else _from_walk(file, kind, raw, recorder)
    for hit in hits:
        yield from _compare(file, kind, raw, hit, recorder)


def _from_table(file: MdbFile, table: LookupTable, raw: bytes, recorder: LookupRecorder) -> Iterator[Hit]:
    key, seen = truncated(raw), list[tuple[int, NDArray[Any]]]()
    first, rows = search(lambda a, b: file.read(a, b, recorder), table, key, seen)
    text, spans = _searched(table, first, len(rows))
    fields = [Fields(table.record, spans[0].start, table.record.values(rows[0]), relative=True)] if len(rows) else []
    recorder.step(
        f"Search the {table.kind} lookup table",
        f"{text}; the table is sorted and has {plural(table.count, 'entry')}.",
        *spans,
        why="The table is sorted and hashes are spread evenly, so the key itself gives the approximate row."
        if len(rows)
        else "The table is sorted, so a key between two neighbouring entries is not in it.",
        shown=[bisection_figure(table, *seen[0], key), *fields] if recorder.recording and table.count else fields,
        entry=first,
        entries=len(rows),
    )
    numbers = np.arange(first, first + len(rows))
    if len(rows) > _MANY:
        same = _with_hash(file.load(recorder), table.kind, rows, raw)
        rows, numbers = rows[same], numbers[same]
    chunks = rows["chunk"].tolist() if table.kind == CHUNK else [-1] * len(rows)
    return (Hit(*found) for found in zip(rows["index"].tolist(), chunks, numbers.tolist(), strict=True))


def _searched(table: LookupTable, first: int, count: int) -> tuple[str, list[Span]]:
    if count > 1:
        return f"Entries {first} to {first + count - 1} have this table key", [table.span(first, first + count)]
    if count:
        return f"Entry {first} has this table key", [table.span(first, first + 1)]
    near = [at for at in (first - 1, first) if 0 <= at < table.count]
    where = f"between entries {first - 1} and {first}"
    if not first:
        where = "before entry 0"
    elif first == table.count:
        where = f"after entry {first - 1}, the last"
    text = f"No entry has this table key, which would be {where}" if near else "No entry has this table key"
    return text, [table.span(at, at + 1) for at in near]


def _with_hash(index: MdbIndex, kind: str, rows: NDArray[Any], raw: bytes) -> NDArray[np.int64]:
    hashes = index.section(kind).hashes
    places = rows["index"].astype(np.int64)
    if kind == CHUNK:
        places += 1 + rows["chunk"].astype(np.int64)
    inside = np.flatnonzero(places < len(hashes))
    same: NDArray[np.int64] = inside[(hashes[places[inside]] == np.frombuffer(raw, np.uint8)).all(axis=1)]
    return same


def _from_walk(file: MdbFile, kind: str, raw: bytes, recorder: LookupRecorder) -> Iterator[Hit]:
    index = file.load(recorder)
    known, section = index.maps[kind], index.section(kind)
    wanted = np.frombuffer(raw, np.uint8).reshape(1, 32)
    first = int(known.find(section, wanted)[0])
    places = np.zeros(0, np.int64)
    if first >= 0:
        last = int(np.searchsorted(known.keys, known.keys[first], "right"))
        same = (section.hashes[known.places[first:last]] == wanted).all(axis=1)
        places = first + np.flatnonzero(same)
    recorder.step(
        "Walk the section",
        f"This shard has no {kind} lookup table, so every record is compared; "
        f"{len(places) or 'none'} of {plural(len(known.keys), kind)} {'have' if len(places) > 1 else 'has'} this hash.",
        Span("", section.start, section.stop_byte),
        why="Records are not sorted by hash, so without a table each of them has to be compared.",
        entries=len(places),
    )
    if section.damage is not None and not len(places):
        # The unread rest may contain the key, so its absence is not proven.
        raise section.damage
    pairs = zip(known.records[places].tolist(), known.chunks[places].tolist(), strict=True)
    return (Hit(record, chunk, -1) for record, chunk in pairs)


def _compare(file: MdbFile, kind: str, raw: bytes, hit: Hit, recorder: LookupRecorder) -> Iterator[ObjectRef]:
    places, index = file.layout.entry_places(kind, hit.record, hit.chunk), file.index
    if places is None:
        table = file.layout.tables.get(kind)
        span = table.span(hit.row, hit.row + 1) if table else None
        raise FormatError(f"entry {hit.row} of the {kind} lookup table refers past the end of its section", span=span)
    header, place = places
    if index is not None and index.section(kind).block_of(hit.record) < 0:
        raise FormatError(
            f"entry {hit.row} of the {kind} lookup table refers to byte {header.start:#x}, where no header begins",
            span=header,
        )
    data, entry = _records(file, kind, header, place, recorder)
    found = entry[:SIZE]
    if found[:8] != raw[:8]:
        raise FormatError(
            f"entry {hit.row} of the {kind} lookup table refers to a record with a different table key, "
            f"{to_text(found)[:16]}",
            span=place,
        )
    span = Span("", place.start, place.start + SIZE)
    compared = Compared("The hash in the record", raw, found[:SIZE], span, words=True)
    if found != raw:
        recorder.step(
            "Compare the whole hash",
            f"The record has the same table key but a different hash, {to_text(found)}: the next entry is tried.",
            place,
            why="Different hashes may begin with the same eight bytes, so all 32 must be compared.",
            shown=(compared,),
            record=hit.record,
        )
        return
    ref = _object(file, kind, hit, places, data, entry)
    values: dict[str, Any] = {"record": hit.record} | ({"chunk": hit.chunk} if kind == CHUNK else {})
    recorder.step(
        "Compare the whole hash",
        _meaning(kind, hit, ref),
        header,
        *(rest for span in ref.spans if (rest := _after(span, header)).size),
        why="The table has only the first eight bytes of each hash; the record has all 32, which must be equal.",
        shown=(compared,),
        **values,
    )
    yield ref


def _after(span: Span, header: Span) -> Span:
    return Span(span.source, header.stop, span.stop) if span.start == header.start else span


def _records(file: MdbFile, kind: str, header: Span, place: Span, recorder: LookupRecorder) -> tuple[bytes, bytes]:
    """Return the header record and the record with the hash, usually by one request; for a file both are its block."""
    if kind == FILE:
        data = file.read(header.start, min(header.start + BLOCK_GUESS, file.layout.file_info[1]), recorder)
        return data, data
    if place.start - header.start > FAR:
        return file.read(header.start, header.stop, recorder), file.read(place.start, place.stop, recorder)
    data = file.read(header.start, place.stop, recorder)
    return data[:RECORD_SIZE], data[place.start - header.start :]


def _object(file: MdbFile, kind: str, hit: Hit, places: tuple[Span, Span], data: bytes, entry: bytes) -> ObjectRef:
    index, (span, place) = file.index, places
    at, stop = span.start, file.layout.section(kind)[1]
    row = -1 if index is None else index.row_of(kind, hit.record, hit.chunk)
    if kind == FILE:

        def read(a: int, b: int) -> bytes:
            inside = a >= at and b <= at + len(data)
            return data[a - at : b - at] if inside else file.read(a, b)

        return file_ref(row, read_file_block(read, at, stop), "" if index is None else index.file_fault(row))
    header = CAS_HEADER.read_one(data, 0, place=span)
    count = header["num_entries"]
    if hit.chunk >= count:
        what = f"refers to chunk {hit.chunk}, but the xorb has {plural(count, 'chunk')}"
        raise FormatError(f"entry {hit.row} of the chunk lookup table {what}", span=span)
    if kind != CHUNK:
        if fault := block_fault(XORB, 1 + count, (stop - at) // RECORD_SIZE):
            raise Truncated(fault, span=Span("", at, stop))
        return xorb_ref(row, at, header)
    values = CAS_ENTRY.read_one(entry)
    return chunk_ref(row, place.start, values, header["cas_hash"], hit.chunk, keyed=file.layout.key != ZERO)


def _meaning(kind: str, hit: Hit, ref: ObjectRef) -> str:
    where = f"record {hit.record} of the {FILE_INFO if kind == FILE else XORB_INFO} section"
    if kind == FILE:
        segments = plural(len(ref.extras["segments"]), "segment")
        return f"All 32 bytes match at {where}: a file of {plural(ref.size, 'byte')} in {segments}."
    if kind == CHUNK:
        return (
            f"All 32 bytes match: chunk {hit.chunk} of the xorb {ref.extras['xorb']}, which is {where}; "
            f"{plural(ref.size, 'byte')} from byte {ref.extras['start']:#x} on of the uncompressed xorb."
        )
    chunks = plural(ref.extras["chunks"], "chunk")
    return f"All 32 bytes match at {where}: a xorb of {chunks} and {plural(ref.size, 'uncompressed byte')}."
