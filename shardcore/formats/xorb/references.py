"""References to the records of a xorb: from its info block, or, without one, from each record to the next one."""

from __future__ import annotations

import numpy as np

from shardcore.codecs.xet.xorb_info import info_parts
from shardcore.codecs.xet.xorb_layout import CHUNK_HASH, HEADER_SIZE, STORED_END
from shardcore.formats.xorb.file import XorbFile
from shardcore.model.references import Pointing, ReferenceCollector
from shardcore.model.span import Span

_HASH_WHY = "The info block lists the hash of chunk {}."


def gather(file: XorbFile, into: ReferenceCollector) -> None:
    """Gathers what leads to bytes of the file."""
    records = file.records
    if into.span.source:
        return
    there = np.flatnonzero((records.starts < into.span.stop) & (records.ends > into.span.start)).tolist()
    if file.info is None:

        def before(number: int) -> Pointing:
            place = records.span(number - 1)
            why = f"Record {number - 1} says how long it is: record {number} begins after it."
            return Pointing(Span("", place.start, place.start + HEADER_SIZE), records.span(number), why)

        into.add_rows([number for number in there if number], before)
        return
    for part in info_parts(file.info.version, file.info.count):
        if part.record not in (STORED_END, CHUNK_HASH):
            continue
        start, size = file.info_span.start + part.start, part.record.size
        why = "The info block says where record {} ends." if part.record is STORED_END else _HASH_WHY

        def listed(number: int, start: int = start, size: int = size, why: str = why) -> Pointing:
            at = start + number * size
            return Pointing(Span("", at, at + size), records.span(number), why.format(number))

        into.add_rows(there, listed)
