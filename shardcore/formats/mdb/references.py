"""References from a shard to bytes in a xorb."""

from __future__ import annotations

import numpy as np

from shardcore.codecs.xet.hashes import from_text
from shardcore.errors import ShardError, source_lost
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.layout import RECORD_SIZE, XORB
from shardcore.formats.mdb.xorbs import SPAN_PREFIX
from shardcore.model.references import Reference, ReferenceCollector
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span


def gather(file: MdbFile, into: ReferenceCollector) -> None:
    """Collect the chunk records and segments that refer to a range of a xorb; nothing before the index is loaded."""
    index, name = file.index, SourceName.parse(into.span.source)
    if index is None or not name.path.startswith(SPAN_PREFIX) or name.stretches:
        return
    text = name.path.removeprefix(SPAN_PREFIX)
    try:
        xorb, wanted = file.xorbs.get(text), np.frombuffer(from_text(text), np.uint8).reshape(1, 32)
    except ShardError as error:
        if source_lost(error):
            raise
        return  # the chunks of a xorb that cannot be opened are unknown
    row = int(index.rows_of(XORB, wanted)[0]) - index.first_row(XORB)
    if row < 0:
        return
    numbers = [
        number
        for number in range(min(xorb.chunk_count, int(index.xorbs.counts[row])))
        if into.wants(Span(into.span.source, *_edges(xorb.record_span(number))))
    ]
    header = int(index.xorbs.headers[row])

    def record_to(number: int) -> Reference:
        at = index.xorbs.byte_of(header + 1 + number)
        target = Span(into.span.source, *_edges(xorb.record_span(number)))
        return Reference(Span("", at, at + RECORD_SIZE), target, f"This record describes chunk {number} of the xorb.")

    into.add_rows(numbers, record_to)
    if numbers:
        edges = (index.xorbs.byte_of(header + at) for at in (1 + numbers[0], 2 + numbers[-1]))
        index.segment_links.gather(into, Span("", *edges))


def _edges(span: Span) -> tuple[int, int]:
    return span.start, span.stop
