"""Texts and values of the steps of a trace, for each kind of lookup result; titles as in `docs/formats/mdb.md`."""

from __future__ import annotations

from shardcore.codecs.xet.hashes import ZERO, to_text
from shardcore.dataclasses import replace
from shardcore.formats.mdb.content import ChunksFound, ChunksMissing, ContentRead, EmptyFile, MoreSegments
from shardcore.formats.mdb.layout import CHUNK, FILE, RECORD_SIZE, section_name
from shardcore.formats.mdb.lookup import AnyShard, Keyed, Matched, OtherHash, Retried, TableSearched, Walked, Wanted
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.model.text import ends_text, plural, sentence
from shardcore.shards.trace import Elsewhere, Row, Rows, Value


def _table_row(fact: TableSearched) -> str:
    first, count, last = fact.first, len(fact.rows), fact.table.count
    if count > 1:
        return f"Entries {first} to {first + count - 1} have this table key"
    if count:
        return f"Entry {first} has this table key"
    if not last:
        return "No entry has this table key"
    where = f"between entries {first - 1} and {first}"
    if not first:
        where = "before entry 0"
    elif first == last:
        where = f"after entry {first - 1}, the last"
    return f"No entry has this table key, which would be {where}"


def _table_spans(fact: TableSearched) -> list[Span]:
    first, count, table = fact.first, len(fact.rows), fact.table
    if count:
        return [table.span(first, first + count)]
    return [table.span(at, at + 1) for at in (first - 1, first) if 0 <= at < table.count]


def _matched(fact: Matched) -> str:
    kind, hit, ref = fact.kind, fact.hit, fact.ref
    where = f"record {hit.record} of the {section_name(kind)} section"
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


def _matched_spans(fact: Matched) -> tuple[Span, ...]:
    return tuple(dict.fromkeys((fact.header, *_records_of(fact.ref))))


def _records_of(ref: ObjectRef) -> tuple[Span, ...]:
    """Return the span of the first record of an object, and that of its other records if it has any."""
    span = ref.spans[0]
    cut = min(span.start + RECORD_SIZE, span.stop)
    parts = Span(span.source, span.start, cut), Span(span.source, cut, span.stop)
    return tuple(part for part in parts if part.size)


def _chunks(fact: ChunksFound) -> str:
    first, last = fact.chunks.first, fact.chunks.last
    return f"chunk {first} is" if last == first + 1 else f"chunks {first} to {last - 1} are"


def _inputs(fact: ContentRead) -> tuple[Span, ...]:
    spans = (span for fetched in fact.fetched for span in (fetched.chunks.place, fetched.stored) if span.size)
    return tuple(dict.fromkeys(spans))


_HASHED = "Different hashes may begin with the same eight bytes, so all 32 must be compared."
_OPEN = "Open the xorb"
_OPEN_WHY = "A shard contains no content, only recipes: the chunks are in xorbs, which store shared chunks once."
_ENTRY = "number of the first entry with this table key, or its insertion point"
_ENTRIES = Value("entries", lambda fact: len(fact.rows), "number of entries with this table key", "entries")
_RECORD = Value("record", "hit.record", "position of the header in its section")
_XORB = Value("xorb", "chunks.xorb", "the hash of the xorb, which is also its name")
_SIZE = Value("size", "size", "uncompressed size of the content", "bytes")
_SEARCH = Row(
    "Search the {table.kind} lookup table",
    "{row}; the table is sorted and has {table.count:entry}.",
    "The table is sorted and hashes are spread evenly, so the key itself gives the approximate row.",
    (Value("entry", "first", _ENTRY), _ENTRIES),
    spans=_table_spans,
    words={"row": _table_row},
    only=lambda fact: len(fact.rows) > 0,
)
_BETWEEN = "The table is sorted, so a key between two neighbouring entries is not in it."
_COMPARE = Row(
    "Compare the whole hash",
    "{matched}",
    "The table has only the first eight bytes of each hash; the record has all 32, which must be equal.",
    (_RECORD,),
    spans=_matched_spans,
    words={"matched": _matched},
    only=lambda fact: fact.kind != CHUNK,
)
_CHUNK = Value("chunk", "hit.chunk", "number of the chunk in the xorb")
_CHECK = Row(
    "Decompress and check",
    "{size:byte}; all hashes in shard and xorb match.",
    "Content is named by its hash, so a reader can verify the content that it received.",
    (_SIZE,),
    inputs=_inputs,
    only=lambda fact: fact.error is None,
)

STEPS: Rows = {
    AnyShard: (
        Row(
            "Search every shard",
            "A {kind} may be listed in any of the {shards} shards; each is searched in turn.",
            "A hash does not show which shard lists it; lookup tables are small, so searching all is cheap.",
            (Value("shards", "shards", "number of shards that may list the hash", "shards"),),
        ),
    ),
    Keyed: (
        Row(
            "Apply the HMAC key",
            "The footer has an HMAC key, so chunk hashes are stored keyed: the hash {plain} is stored as {stored}.",
            "A reader that has a chunk can compute its keyed hash; others do not learn the original hash.",
            (
                Value("plain", lambda fact: to_text(fact.plain), "the hash of the chunk's uncompressed bytes"),
                Value("stored", lambda fact: to_text(fact.stored), "the hash as stored, keyed with the HMAC key"),
            ),
            spans="layout.key_span",
        ),
    ),
    Retried: (
        Row(
            "Retry: the hash may be keyed already",
            "No chunk is stored under the keyed hash; the given hash may already be a keyed hash, so it is "
            "looked up unchanged.",
            "A hash copied from such a shard is already keyed; keyed a second time, it would not be found.",
            inputs="layout.key_span",
        ),
    ),
    Wanted: (
        Row(
            "Table key",
            "Tables are sorted by the first 16 digits of each hash, read as one number: 0x{key:016x} = {key}.",
            "Eight of 32 bytes keep the tables small and are nearly always unique, as hashes are evenly distributed.",
            (
                Value("key", "key", "the first 16 digits of the hash as a number, stored in 8 bytes, little-endian"),
                Value("hash", lambda fact: to_text(fact.raw), "the hash that is searched in the tables"),
            ),
            inputs=lambda fact: fact.layout.key_span if fact.kind == CHUNK and fact.layout.key != ZERO else (),
        ),
        Row(
            "Empty section",
            "The {name} section has only its end mark: this shard lists no {kind}.",
            "A section without records cannot contain the key, so the lookup ends here.",
            spans="section",
            words={"name": lambda fact: section_name(fact.kind)},
            only=lambda fact: fact.is_empty,
        ),
    ),
    TableSearched: (_SEARCH, replace(_SEARCH, why=_BETWEEN, only=lambda fact: not len(fact.rows))),
    Walked: (
        Row(
            "Walk the section",
            "This shard has no {kind} lookup table, so every record is compared; {found} of {of} {have} this hash.",
            "Records are not sorted by hash, so without a table each of them has to be compared.",
            (Value("entries", "same", "number of entries with this table key", "entries"),),
            spans="section",
            words={
                "found": lambda fact: fact.same or "none",
                "of": lambda fact: plural(fact.records, fact.kind),
                "have": lambda fact: "have" if fact.same > 1 else "has",
            },
        ),
    ),
    OtherHash: (
        Row(
            "Compare the whole hash",
            "The record has the same table key but a different hash, {found}: the next entry is tried.",
            _HASHED,
            (_RECORD,),
            spans="place",
            words={"found": lambda fact: to_text(fact.found)},
        ),
    ),
    Matched: (_COMPARE, replace(_COMPARE, values=(_RECORD, _CHUNK), only=lambda fact: fact.kind == CHUNK)),
    EmptyFile: (
        Row(
            "Rebuild the file",
            "The file is empty: it has no segments, and its hash is zero.",
            "An empty file has no bytes in a xorb; its record is sufficient.",
            (Value("size", lambda _: 0, _SIZE.text, "bytes"),),
            inputs=lambda fact: _records_of(fact.ref),
        ),
    ),
    ChunksFound: (
        Row(
            _OPEN,
            "In xorb {name}… {chunks} stored at bytes {stored_text} of its file, which decompress to bytes "
            "{unpacked_text} of the uncompressed xorb.",
            _OPEN_WHY,
            (
                _XORB,
                Value("start", "stored.start", "start of the chunks in the xorb file", "byte", relative=True),
                Value("stop", "stored.stop", "end of the chunks in the xorb file", "byte", relative=True),
            ),
            spans=lambda fact: (fact.chunks.place, fact.stored),
            words={
                "name": lambda fact: fact.chunks.xorb[:16],
                "chunks": _chunks,
                "stored_text": lambda fact: ends_text(fact.stored.start, fact.stored.stop),
                "unpacked_text": lambda fact: ends_text(*fact.unpacked),
            },
        ),
    ),
    ChunksMissing: (
        Row(
            _OPEN,
            "{message}",
            _OPEN_WHY,
            (_XORB,),
            spans="chunks.place",
            words={"message": lambda fact: sentence(fact.error.message)},
        ),
    ),
    MoreSegments: (
        Row(
            "More segments",
            "{more} in the same way.",
            "A file is the bytes of all its segments, one after the other.",
            inputs="places",
            words={"more": lambda fact: plural(fact.count, "more segment follows", "more segments follow")},
        ),
    ),
    ContentRead: (
        _CHECK,
        replace(
            _CHECK,
            text="Damaged: {error.message}.",
            values=(),
            spans=lambda fact: fact.error.span or (),
            only=lambda fact: fact.error is not None,
        ),
    ),
    Elsewhere: (
        Row(
            "Content not available",
            "The {described} is found; its bytes are in xorbs that cannot be read.",
            "A shard only lists the chunks of each content; the bytes are in xorbs, which are fetched separately.",
            inputs=lambda fact: _records_of(fact.ref),
        ),
    ),
}
