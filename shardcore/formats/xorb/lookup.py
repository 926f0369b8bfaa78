"""Finding a chunk in a xorb, by its number or its hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shardcore.errors import KeyAbsent, UsageError
from shardcore.formats.xorb.objects import CODECS
from shardcore.formats.xorb.records import HEADER_SIZE
from shardcore.objects import ObjectRef
from shardcore.span import Span
from shardcore.trace import Look
from shardcore.xet_hashes import from_text

if TYPE_CHECKING:
    from shardcore.formats.xorb.reader import XorbShard

ALL = "all"
"""The key of all chunks, one after the other."""

_MOST_DIGITS = 9


def chunk_number(xorb: XorbShard, key: str) -> int:
    """The number that a key names: itself, or the first chunk with that hash; -1 when no chunk has the hash.

    Raises:
        UsageError: The key is neither a number nor a hash.
    """
    if key.isascii() and key.isdigit() and len(key) <= _MOST_DIGITS:
        return int(key)
    try:
        raw = np.frombuffer(from_text(key), np.uint8)
    except UsageError as error:
        raise UsageError(f"a key of a xorb is the number of a chunk, its hash, or {ALL}, not {key!r}") from error
    if xorb.records.hashes is None:
        return -1
    same = np.flatnonzero((xorb.records.hashes == raw).all(axis=1))
    return int(same[0]) if len(same) else -1


def lookup(xorb: XorbShard, key: str, look: Look) -> ObjectRef:
    """Finds a chunk and tells how.

    Raises:
        KeyAbsent: There is no such chunk.
        UsageError: The key is neither a number, nor a hash, nor `all`.
        FormatError: The header of its record is damaged.
    """
    records = xorb.records
    info = next((Span("", s.start, s.stop) for s in xorb.sections if s.name == "info block"), Span("", 0, 0))
    if key == ALL:
        stop = int(records.ends[-1]) if records.count else 0
        text = f"All {records.count} chunks, one after the other."
        look.step("Take all chunks", text, Span("", 0, stop), chunks=records.count)
        size = -1 if records.unpacked_ends is None else int(records.unpacked_ends[-1]) if records.count else 0
        return ObjectRef(ALL, -1, (Span("", 0, stop),), size, stop, codec=CODECS[-1], kind="chunk")
    number = chunk_number(xorb, key)
    if number < 0:
        look.step("Search the chunk hashes", f"None of the {records.count} chunks has this hash.", info)
        raise KeyAbsent(key)
    if number >= records.count:
        look.step("Count the chunks", f"The xorb has {records.count} chunks, 0 to {records.count - 1}.", info)
        raise KeyAbsent(key)
    span = records.span(number)
    look.step(
        "Take the ends",
        f"Chunk {number} lies between the end of the record before it, {span.start}, and its own end, {span.stop}.",
        info,
        chunk=number,
        start=span.start,
        stop=span.stop,
    )
    meter = look.meter(xorb.source)
    ref = xorb.objects.ref_at(number, meter.read)
    look.step(
        "Read the record's header",
        f"It is stored as {ref.codec}: {ref.stored_size} bytes, {ref.size} unpacked.",
        Span("", span.start, min(span.start + HEADER_SIZE, span.stop)),
        ref.spans[0],
        codec=ref.codec,
        size=ref.size,
    )
    return ref
