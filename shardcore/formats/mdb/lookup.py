"""Finding a file, a xorb or a chunk by its hash: one code path, which also tells its steps.

With a lookup table: the entries whose key is the first word of the hash, then the record of each, whose 32 bytes
decide. Without one: the section is walked once. Under an HMAC key a chunk's plain hash is keyed first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, KeyAbsent, Truncated
from shardcore.formats.mdb.geometry import CHUNK, FILE, Geometry, Table
from shardcore.formats.mdb.hashes import protect
from shardcore.formats.mdb.layout import CAS_ENTRY, CAS_HEADER, FOOTER, FOOTER_SIZE, RECORD_SIZE
from shardcore.formats.mdb.loaded import Index
from shardcore.formats.mdb.objects import BLOCK_GUESS, chunk_ref, file_ref, parse_key, read_file_block, xorb_ref
from shardcore.objects import ObjectRef
from shardcore.span import Span
from shardcore.trace import Look
from shardcore.xet_hashes import ZERO, from_text, to_text, truncated

WHOLE_TABLE = 65536
"""Tables of up to this many bytes are read at once; of longer ones a piece of this size around the likely place."""

FAR = 1 << 19
"""A chunk's record up to this many bytes behind the header of its xorb is read together with it."""

_GUESSES = 6  # after so many pieces in the wrong place the keys are not spread evenly: halve instead
_MANY = 64  # entries of one key that are looked at one by one


class Searched(Protocol):
    """What a lookup needs of a shard."""

    geometry: Geometry

    def read_bytes(self, start: int, stop: int, look: Look) -> bytes:
        """Bytes of the shard; free when they were read before."""

    def index_for(self, look: Look) -> Index:
        """The index, read now if it was not."""

    @property
    def index(self) -> Index | None:
        """The index, when it was read."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a key leads.

    Attributes:
        record: Header record, counted from the start of its section.
        chunk: Chunk in the xorb; -1 for files and xorbs.
        row: Number of the table entry; -1 when it was found by walking.
    """

    record: int
    chunk: int
    row: int


def look_up(shard: Searched, key: str, look: Look) -> ObjectRef:
    """The first object with this key.

    Raises:
        KeyAbsent: There is none.
        UsageError: The key is not of the form of the format.
        FormatError: A table or a record is damaged where the lookup needs it.
    """
    for ref in look_up_all(shard, key, look):
        return ref
    raise KeyAbsent(key)


def look_up_all(shard: Searched, key: str, look: Look) -> Iterator[ObjectRef]:
    """All objects with this key; see `look_up`."""
    kind, text = parse_key(key)
    raw = from_text(text)
    plain = raw
    if kind == CHUNK and shard.geometry.key != ZERO:
        raw = protect(shard.geometry.key, plain)
        at = shard.geometry.size - FOOTER_SIZE + FOOTER.offsets["chunk_hash_hmac_key"]
        look.step(
            "Apply the key",
            f"Chunk hashes of this shard are stored under a key: {to_text(plain)} would be stored as {to_text(raw)}.",
            Span("", at, at + 32),
            plain=to_text(plain),
            stored=to_text(raw),
        )
    found = False
    for ref in _matches(shard, kind, raw, look):
        found = True
        yield ref
    if not found and raw != plain:
        look.step("Take it as stored", "No chunk has that hash; perhaps the hash given is keyed already.")
        yield from _matches(shard, kind, plain, look)


def _matches(shard: Searched, kind: str, raw: bytes, look: Look) -> Iterator[ObjectRef]:
    """The objects of a kind whose stored hash is `raw`."""
    key = truncated(raw)
    look.step(
        "Take the key",
        f"The first word of the hash, its first 16 digits, is the key: {key:016x} = {key}.",
        key=key,
        hash=to_text(raw),
    )
    start, stop = shard.geometry.file_info if kind == FILE else shard.geometry.cas_info
    if stop - start <= RECORD_SIZE:
        look.step("Look at the section", f"There is no {kind} in this shard.", Span("", start, stop))
        return
    table = shard.geometry.tables.get(kind)
    hits = _from_table(shard, table, raw, look) if table else _from_walk(shard, kind, raw, look)
    for hit in hits:
        yield from _compare(shard, kind, raw, hit, look)


def _from_table(shard: Searched, table: Table, raw: bytes, look: Look) -> Iterator[Hit]:
    """The entries of a lookup table that have the key."""
    first, rows = search(lambda a, b: shard.read_bytes(a, b, look), table, truncated(raw))
    size = table.record.size
    at = table.start + first * size
    text = "No entry has the key" if not len(rows) else f"Entry {first} has the key"
    if len(rows) > 1:
        text = f"Entries {first} to {first + len(rows) - 1} have the key"
    look.step(
        f"Search the {table.kind} lookup table",
        f"{text}; the table is sorted and has {table.count} entries.",
        Span("", at, at + len(rows) * size),
        entry=first,
        entries=len(rows),
    )
    numbers = np.arange(first, first + len(rows))
    if len(rows) > _MANY:
        same = _with_hash(shard.index_for(look), table.kind, rows, raw)
        rows, numbers = rows[same], numbers[same]
    chunks = rows["chunk"].tolist() if table.kind == CHUNK else [-1] * len(rows)
    return (Hit(*found) for found in zip(rows["index"].tolist(), chunks, numbers.tolist(), strict=True))


def _with_hash(index: Index, kind: str, rows: NDArray[Any], raw: bytes) -> NDArray[np.int64]:
    """Which of very many entries of one key point at records with the whole hash."""
    hashes = index.section(kind).hashes
    places = rows["index"].astype(np.int64)
    if kind == CHUNK:
        places += 1 + rows["chunk"].astype(np.int64)
    inside = np.flatnonzero(places < len(hashes))
    same: NDArray[np.int64] = inside[(hashes[places[inside]] == np.frombuffer(raw, np.uint8)).all(axis=1)]
    return same


def search(read: Any, table: Table, key: int) -> tuple[int, NDArray[Any]]:
    """The entries with a key: the number of the first (or where it would be), and their rows.

    Hashes are spread evenly, so that the key tells where in a long table it must be; one piece nearly always has it.

    Args:
        read: Reads the bytes `[start, stop)` of the shard.
        table: The table.
        key: The key.

    Raises:
        FormatError: The table is not sorted where it was read.
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
    number = first + int(np.searchsorted(keys, np.uint64(key), "left"))
    found = rows[keys == np.uint64(key)]
    while len(found) and number + len(found) == last and last < table.count:
        more = _sorted_rows(read, table, last, min(last + piece, table.count))
        found, last = np.concatenate([found, more[more["key"] == np.uint64(key)]]), last + len(more)
    return number, found


def _sorted_rows(read: Any, table: Table, first: int, last: int) -> NDArray[Any]:
    start, stop = table.start + first * table.record.size, table.start + last * table.record.size
    rows = table.record.read(read(start, stop), 0, last - first, place=Span("", start, stop))
    if len(rows) > 1 and (rows["key"][1:] < rows["key"][:-1]).any():
        raise FormatError(f"the {table.kind} lookup table is not sorted", span=Span("", start, stop))
    return rows


def _from_walk(shard: Searched, kind: str, raw: bytes, look: Look) -> Iterator[Hit]:
    """The records that a table would name, found by walking the section."""
    index = shard.index_for(look)
    known, section = index.maps[kind], index.section(kind)
    wanted = np.frombuffer(raw, np.uint8).reshape(1, 32)
    first = int(known.find(section, wanted)[0])
    places = np.zeros(0, np.int64)
    if first >= 0:
        last = int(np.searchsorted(known.keys, known.keys[first], "right"))
        same = (section.hashes[known.places[first:last]] == wanted).all(axis=1)
        places = first + np.flatnonzero(same)
    look.step(
        "Walk the section",
        f"There is no {kind} lookup table, so every record is looked at; "
        f"{len(places) or 'none'} of {len(known.keys)} {kind}s have this hash.",
        Span("", section.start, section.stop_byte),
        entries=len(places),
    )
    if section.damage is not None and not len(places):
        # What was not reached may hold it: absence is not proven.
        raise section.damage
    pairs = zip(known.records[places].tolist(), known.chunks[places].tolist(), strict=True)
    return (Hit(record, chunk, -1) for record, chunk in pairs)


def _compare(shard: Searched, kind: str, raw: bytes, hit: Hit, look: Look) -> Iterator[ObjectRef]:
    """The object that an entry leads to, if its whole hash is the one wanted."""
    start, stop = shard.geometry.file_info if kind == FILE else shard.geometry.cas_info
    at = start + hit.record * RECORD_SIZE
    place = at + (1 + hit.chunk) * RECORD_SIZE
    span = Span("", at, at + RECORD_SIZE)
    if max(at, place) + RECORD_SIZE > stop:
        raise FormatError(f"the {kind} lookup entry {hit.row} points at byte {place}, past its section", span=span)
    index = shard.index
    if index is not None and index.section(kind).block_of(hit.record) < 0:
        raise FormatError(f"the {kind} lookup entry {hit.row} points at byte {at}, where no header is", span=span)
    data, entry = _records(shard, kind, at, place, stop, look)
    found = entry[:32]
    if found[:8] != raw[:8]:
        raise FormatError(
            f"the {kind} lookup entry {hit.row} points at a record with another key, {to_text(found)[:16]}",
            span=Span("", place, place + RECORD_SIZE),
        )
    if found != raw:
        look.step(
            "Compare the whole hash",
            f"The record has the same key but another hash, {to_text(found)}: go on.",
            Span("", place, place + RECORD_SIZE),
            record=hit.record,
        )
        return
    ref = _object(shard, kind, hit, (at, place, stop), data, entry)
    values = {"record": hit.record} | ({"chunk": hit.chunk} if kind == CHUNK else {})
    look.step("Compare the whole hash", _meaning(kind, hit, ref), *dict.fromkeys((span, *ref.spans)), **values)
    yield ref


def _records(shard: Searched, kind: str, at: int, place: int, stop: int, look: Look) -> tuple[bytes, bytes]:
    """The header record (for a file with what follows it) and the record that carries the hash; mostly one range."""
    if kind == FILE:
        data = shard.read_bytes(at, min(at + BLOCK_GUESS, stop), look)
        return data, data
    if place - at > FAR:
        return shard.read_bytes(at, at + RECORD_SIZE, look), shard.read_bytes(place, place + RECORD_SIZE, look)
    data = shard.read_bytes(at, place + RECORD_SIZE, look)
    return data[:RECORD_SIZE], data[place - at :]


def _object(shard: Searched, kind: str, hit: Hit, where: tuple[int, int, int], data: bytes, entry: bytes) -> ObjectRef:
    """The object at a record whose hash was found right; its row is -1 while the index is not read."""
    at, place, stop = where
    index = shard.index
    row = -1 if index is None else index.row_of(kind, hit.record, hit.chunk)
    if kind == FILE:

        def read(a: int, b: int) -> bytes:
            inside = a >= at and b <= at + len(data)
            return data[a - at : b - at] if inside else shard.read_bytes(a, b, Look())

        return file_ref(row, read_file_block(read, at, stop), "" if index is None else index.file_fault(row))
    header = CAS_HEADER.read_one(data, 0, place=Span("", at, at + len(data)))
    if hit.chunk >= header["num_entries"]:
        raise FormatError(
            f"the chunk lookup entry {hit.row} names chunk {hit.chunk} of {header['num_entries']}",
            span=Span("", at, at + RECORD_SIZE),
        )
    if kind != CHUNK:
        if at + (1 + header["num_entries"]) * RECORD_SIZE > stop:
            raise Truncated(f"a xorb of {header['num_entries']} chunks goes past its section", span=Span("", at, stop))
        return xorb_ref(row, at, header)
    values = CAS_ENTRY.read_one(entry)
    return chunk_ref(row, place, values, header["cas_hash"], hit.chunk, keyed=shard.geometry.key != ZERO)


def _meaning(kind: str, hit: Hit, ref: ObjectRef) -> str:
    """What was found, in a sentence."""
    where = f"record {hit.record} of the section"
    if kind == FILE:
        segments = ref.extras["segments"]
        return f"All 32 bytes match at {where}: a file of {ref.size} bytes in {len(segments)} segments."
    if kind == CHUNK:
        return (
            f"All 32 bytes match: chunk {hit.chunk} of the xorb {ref.extras['xorb']}, which is {where}; "
            f"{ref.size} bytes from {ref.extras['start']} on of the unpacked xorb."
        )
    return f"All 32 bytes match at {where}: a xorb of {ref.extras['chunks']} chunks and {ref.size} bytes."
