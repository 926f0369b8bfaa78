"""Texts and values of the steps of a trace, for each kind of lookup result; titles as in `docs/formats/xorb.md`."""

from __future__ import annotations

from functools import partial

from shardcore.codecs.xet.xorb_layout import CHUNK_HEADER, HEADER_SIZE, INFO_LENGTH
from shardcore.dataclasses import replace
from shardcore.formats.xorb.lookup import (
    ALL,
    CODECS,
    Checked,
    Counted,
    InfoFound,
    RecordLocated,
    Searched,
    WholeXorb,
    all_records,
    count_span,
    listed_at,
)
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.trace import Row, Rows, Value


def _length(fact: InfoFound) -> Span:
    return INFO_LENGTH.span("", fact.block.stop - INFO_LENGTH.size)


def _searched_spans(fact: Searched) -> tuple[Span, ...]:
    if not fact.listed:
        return (all_records(fact.file),)
    name = "chunk hashes"
    return fact.file.info_parts[name][1], *(listed_at(fact.file, name, number) for number in fact.same[:1])


def _ends(fact: RecordLocated) -> tuple[Span, ...]:
    """Return the spans of two entries of the info block: the end of the record, then that of the previous record."""
    if fact.file.info is None:
        return (Span("", 0, fact.record.stop),)
    numbers = (fact.number, fact.number - 1) if fact.number else (0,)
    return tuple(listed_at(fact.file, "stored ends", number) for number in numbers)


def _end(number: int, fact: RecordLocated) -> Span | tuple[()]:
    ends = _ends(fact) if fact.file.info is not None else ()
    return ends[number] if number < len(ends) else ()


def _begin(fact: RecordLocated) -> str:
    return f"byte {fact.record.start:#x}, where the one before it ends" if fact.number else "byte 0x0, as the first"


def _field(name: str, ref: ObjectRef) -> Span:
    return CHUNK_HEADER.span(name, ref.extras["record"][0])


def _header(ref: ObjectRef) -> tuple[Span, ...]:
    start, stop = ref.extras["record"]
    return Span("", start, min(start + HEADER_SIZE, stop)), ref.spans[0]


def _content(fact: Checked) -> str:
    size, codec = plural(fact.size, "byte"), fact.ref.codec
    return f"{size}, stored uncompressed" if codec == CODECS[0] else f"{size} when decompressed ({codec})"


_CHUNKS = Value("chunks", "file.records.count", "number of chunks", "chunks")
_HASHES = (
    Value("hashes", "hashes", "hashes that were compared", "hashes"),
    Value("same", lambda fact: len(fact.same), "chunks that have this hash", "chunks"),
)
_LOCATED = (
    Value("chunk", "number", "number of the chunk"),
    Value("start", "record.start", "start of its record", "byte", partial(_end, 1)),
    Value("stop", "record.stop", "end of its record", "byte", partial(_end, 0)),
)

_SEARCHED = Row(
    "Search the chunk hashes",
    "The info block lists the hashes of {hashes:chunk}; {found}.",
    "With the hashes in a list no chunk has to be decompressed to be found.",
    _HASHES,
    spans=_searched_spans,
    words={"found": lambda fact: f"{f'chunk {fact.same[0]} has' if fact.same else 'no chunk has'} this hash"},
    only=lambda fact: fact.listed,
)
_CHECKED = Row(
    "Read and check the chunk",
    "The chunk has {content}; the computed hash equals the stored one.",
    "The hash detects a corrupt chunk.",
    spans=lambda fact: (fact.ref.spans[0], listed_at(fact.file, "chunk hashes", fact.ref.row)),
    words={"content": _content},
    only=lambda fact: fact.file.records.hashes is not None,
)

STEPS: Rows = {
    WholeXorb: (
        Row(
            "Read all chunks",
            "{chunks:chunk}, one after the other.",
            "The whole xorb needs no search: its records are read one after the other.",
            (_CHUNKS,),
            spans=lambda fact: all_records(fact.file),
        ),
    ),
    InfoFound: (
        Row(
            "Find the info block",
            f"The last {INFO_LENGTH.size} bytes give its size, {{info_length:byte}}: the info block starts at byte "
            "{info_start:#x}, where the chunk records end.",
            "Hashes and ends are known only when all chunks are written, so they are stored at the end.",
            (
                Value(
                    "info_length",
                    lambda fact: fact.block.size - INFO_LENGTH.size,
                    "size of the info block, without the 4-byte length after it",
                    "bytes",
                    _length,
                ),
                Value("info_start", "block.start", "offset of the info block", "byte"),
            ),
            spans=lambda fact: (_length(fact), Span("", fact.block.start, _length(fact).start)),
        ),
    ),
    Searched: (
        _SEARCHED,
        replace(
            _SEARCHED,
            title="Compute the chunk hashes",
            text="No info block lists hashes, so all were computed: {hashes:chunk}; {found}.",
            why="The hash of a chunk is not stored elsewhere, so each has to be decompressed and hashed.",
            only=lambda fact: not fact.listed,
        ),
    ),
    Counted: (
        Row(
            "Count the chunks",
            "The xorb has {chunks:chunk}, numbered from 0: number {number} is not among them.",
            "Chunks are numbered without gaps, so their count proves that this one does not exist.",
            (_CHUNKS,),
            spans=lambda fact: count_span(fact.file),
        ),
    ),
    RecordLocated: (
        Row(
            "Locate the record",
            "{walked}Chunk {chunk}: its record ends at byte {stop:#x}, and begins at {begin}.",
            "Records differ in length and follow each other: where one ends, the next begins.",
            _LOCATED,
            spans=_ends,
            words={
                "begin": _begin,
                "walked": lambda fact: (
                    "No list of record ends: the headers are followed from byte 0. " if fact.file.info is None else ""
                ),
            },
        ),
    ),
    ObjectRef: (
        Row(
            "Read the record's header",
            f"The record begins with a header of {HEADER_SIZE} bytes: {{size:uncompressed byte}} are stored in "
            "{stored_size:,}, codec {codec}.",
            "Eight bytes give the scheme and both sizes, so each chunk can be decompressed alone.",
            (
                Value("codec", "codec", "compression of the chunk", at=partial(_field, "compression_type")),
                Value(
                    "stored_size",
                    "stored_size",
                    "stored size of the chunk, without the record header",
                    "bytes",
                    partial(_field, "compressed_size"),
                ),
                Value("size", "size", "uncompressed size of the chunk", "bytes", partial(_field, "uncompressed_size")),
            ),
            spans=_header,
            only=lambda ref: ref.key != ALL,
        ),
    ),
    Checked: (
        _CHECKED,
        replace(
            _CHECKED,
            text="The chunk has {content}; no hash of it is stored.",
            why="Without a stored hash, only the codec detects a corrupt chunk.",
            spans="ref.spans[0]",
            only=lambda fact: fact.file.records.hashes is None,
        ),
    ),
}
