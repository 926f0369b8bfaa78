"""Recipe of an object as JSON, and the steps of a trace that follow it into the xorbs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from shardcore.codecs.xet.hashes import to_texts
from shardcore.errors import ExternalMissing, ShardError, source_lost
from shardcore.formats.mdb.content import check_range, chunks_of, stream
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.layout import CAS_ENTRY, FILE, FILE_ENTRY, RECORD_SIZE
from shardcore.formats.mdb.objects import FileBlock, block_of
from shardcore.formats.mdb.segments import AT_ONCE
from shardcore.formats.mdb.xorbs import SPAN_PREFIX, Xorb
from shardcore.model.number_words import ends_text, plural
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.model.text import sentence
from shardcore.shards.step_content import Fields
from shardcore.shards.trace import LookupRecorder

TRACED_SEGMENTS = 16
"""Number of segments of a file that a trace follows into the xorbs."""

TRACED_BYTES = 16 * 1024 * 1024
"""Files of up to this many bytes are read and checked by a trace."""


OPEN = "Open the xorb"
XORB_WHY = "A shard contains no content, only recipes: the chunks are in xorbs, which store shared chunks once."
CHECK_WHY = "Content is named by its hash, so a reader can verify the content that it received."


def recipe_of(file: MdbFile, ref: ObjectRef) -> dict[str, Any]:
    if ref.kind == FILE:
        block = block_of(file, ref)
        segments = _segments(block, 0, len(block.segments))
        return {"file": ref.key, "size": ref.size, "sha256": ref.extras["sha256"], "segments": segments}
    chunks = _chunks(file, ref, 0, ref.extras["chunks"])
    return {"xorb": ref.extras["xorb"], "size": ref.size, "chunks": chunks}


def _segments(block: FileBlock, first: int, last: int) -> list[dict[str, Any]]:
    rows = block.segment_list[first:last]
    ranges = [None] * len(rows) if block.ranges is None else to_texts(block.ranges[first:last])
    return [row | {"range_hash": found} for row, found in zip(rows, ranges, strict=True)]


def _chunks(file: MdbFile, ref: ObjectRef, first: int, last: int) -> list[dict[str, Any]]:
    start = ref.spans[0].start + RECORD_SIZE * (1 + first)
    rows = CAS_ENTRY.read(file.read(start, start + RECORD_SIZE * (last - first)), count=last - first)
    columns = (rows[name].tolist() for name in ("chunk_byte_range_start", "unpacked_segment_bytes", "flags"))
    hashes = to_texts(rows["chunk_hash"])
    return [{"hash": h, "start": a, "size": n, "flags": f} for h, a, n, f in zip(hashes, *columns, strict=True)]


def recipe_pieces(file: MdbFile, ref: ObjectRef) -> Iterator[bytes]:
    """Yield the recipe as JSON text in pieces: a recipe can have hundreds of thousands of entries."""
    name, count = ("segments", len(ref.extras["segments"])) if ref.kind == FILE else ("chunks", ref.extras["chunks"])
    if count <= AT_ONCE:
        yield indented(recipe_of(file, ref)).encode() + b"\n"
        return
    if ref.kind == FILE:
        block = block_of(file, ref)
        head = {"file": ref.key, "size": ref.size, "sha256": ref.extras["sha256"], name: []}
        parts = (_segments(block, first, first + AT_ONCE) for first in range(0, count, AT_ONCE))
    else:
        head = {"xorb": ref.extras["xorb"], "size": ref.size, name: []}
        parts = (_chunks(file, ref, first, min(first + AT_ONCE, count)) for first in range(0, count, AT_ONCE))
    yield indented(head).removesuffix("]\n}").encode()
    for number, rows in enumerate(parts):
        text = indented({name: rows}).partition("[")[2].removesuffix("\n ]\n}")
        yield (("," if number else "") + text).encode()
    yield b"\n ]\n}\n"


def indented(value: Any, level: int = 1) -> str:
    """Return `json.dumps(value, indent=1)`; faster for many small values."""
    if isinstance(value, dict) and value:
        items: list[str] = [f"{json.dumps(key)}: {indented(item, level + 1)}" for key, item in value.items()]
    elif isinstance(value, list) and value:
        items = [indented(item, level + 1) for item in value]
    else:
        return json.dumps(value)
    edge, step = ("{}", "[]")[isinstance(value, list)], "\n" + " " * level
    return edge[0] + step + ("," + step).join(items) + step[:-1] + edge[1]


def describe_content(file: MdbFile, ref: ObjectRef, recorder: LookupRecorder) -> None:
    """Add steps for the content of an object; missing or corrupt xorbs are reported as steps, not raised."""
    if ref.kind == FILE:
        _describe_file(file, ref, recorder)
    else:
        reached = _describe_range(file, *chunks_of(ref), ref.spans[0], recorder)
        if recorder.described:
            recorder.elsewhere("record")
        if reached and ref.size <= TRACED_BYTES:
            _describe_check(lambda: sum(map(len, stream(file, ref))), recorder)
    if recorder.described:
        _describe_missing_xorbs(ref, recorder)


def _records_of(ref: ObjectRef) -> tuple[Span, ...]:
    span = ref.spans[0]
    cut = min(span.start + RECORD_SIZE, span.stop)
    parts = (Span(span.source, span.start, cut), Span(span.source, cut, span.stop))
    return tuple(part for part in parts if part.size)


def _describe_missing_xorbs(ref: ObjectRef, recorder: LookupRecorder) -> None:
    recorder.step(
        "Content not available",
        f"The {recorder.described} is found; its bytes are in xorbs that cannot be read.",
        why="A shard only lists the chunks of each content; the bytes are in xorbs, which are fetched separately.",
        inputs=_records_of(ref),
    )


def _describe_file(file: MdbFile, ref: ObjectRef, recorder: LookupRecorder) -> None:
    block = block_of(file, ref)
    if not len(block.segments):
        recorder.step(
            "Rebuild the file",
            "The file is empty: it has no segments, and its hash is zero.",
            why="An empty file has no bytes in a xorb; its record is sufficient.",
            inputs=_records_of(ref),
            size=0,
        )
        return
    reached = True
    for number, segment in enumerate(block.segment_list[:TRACED_SEGMENTS]):
        place = block.entry_span(number)
        fields = FILE_ENTRY.values(block.segments[number]) | {"cas_hash": segment["xorb"]}
        record = Fields(FILE_ENTRY, place.start, fields)
        reached &= _describe_range(file, segment["xorb"], segment["start"], segment["end"], place, recorder, record)
    if len(block.segments) > TRACED_SEGMENTS:
        more = plural(len(block.segments) - TRACED_SEGMENTS, "more segment follows", "more segments follow")
        rest = Span("", block.entry_span(TRACED_SEGMENTS).start, block.entry_span(len(block.segments) - 1).stop)
        recorder.step(
            "More segments",
            f"{more} in the same way.",
            why="A file is the bytes of all its segments, one after the other.",
            inputs=(rest,),
        )
    if reached and ref.size <= TRACED_BYTES:
        _describe_check(lambda: sum(map(len, stream(file, ref))), recorder)


def _describe_range(
    file: MdbFile, text: str, first: int, last: int, place: Span, recorder: LookupRecorder, *shown: Fields
) -> bool:
    """Add a step for a chunk range of a xorb; return False if the xorb cannot be read."""
    try:
        xorb = file.xorbs.get(text)
        span, unpacked = _stored_span(xorb, text, first, last, place)
    except ShardError as error:
        if source_lost(error):
            raise
        missing = isinstance(error, ExternalMissing)
        recorder.step(OPEN, sentence(error.message), place, why=XORB_WHY, shown=shown, xorb=text)
        if missing:
            recorder.elsewhere("recipe")
        return False
    chunks = f"chunk {first} is" if last == first + 1 else f"chunks {first} to {last - 1} are"
    recorder.step(
        OPEN,
        f"In xorb {text[:16]}… {chunks} stored at bytes {ends_text(span.start, span.stop)} of its file, "
        f"which decompress to bytes {ends_text(*unpacked)} of the uncompressed xorb.",
        place,
        span,
        why=XORB_WHY,
        shown=shown,
        xorb=text,
        start=span.start,
        stop=span.stop,
    )
    return True


def _stored_span(xorb: Xorb, text: str, first: int, last: int, place: Span) -> tuple[Span, tuple[int, int]]:
    check_range(xorb, first, last, place)
    sizes = xorb.chunk_sizes
    start = int(sizes[:first].sum())
    span = Span(SPAN_PREFIX + text, xorb.record_span(first).start, xorb.record_span(last - 1).stop)
    return span, (start, start + int(sizes[first:last].sum()))


def _describe_check(read: Callable[[], int], recorder: LookupRecorder) -> None:
    inputs = tuple(dict.fromkeys(span for step in recorder.steps if step.title == OPEN for span in step.spans))
    try:
        size = read()
    except ShardError as error:
        if source_lost(error):
            raise
        spans = [error.span] if error.span else []
        recorder.step("Decompress and check", f"Damaged: {error.message}.", *spans, why=CHECK_WHY, inputs=inputs)
        return
    recorder.step(
        "Decompress and check",
        f"{plural(size, 'byte')}; all hashes in shard and xorb match.",
        why=CHECK_WHY,
        inputs=inputs,
        size=size,
    )
