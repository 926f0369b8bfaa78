"""References to bytes of a file: offsets to chunks; without offsets, from each chunk to the next one."""

from __future__ import annotations

import numpy as np

from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import UNKNOWN, blosc_header_span
from shardcore.model.references import Pointing, ReferenceCollector
from shardcore.model.span import Span


def gather(file: BloscpackFile, into: ReferenceCollector) -> None:
    """Gathers what leads to bytes of the file, from what is in memory."""
    table = file.table
    if into.span.source or not table.loaded:
        return
    numbers = np.flatnonzero(table.places != UNKNOWN)
    starts = table.places[numbers]
    stops = table.geometry.stops(starts, table.headers[numbers]) + table.geometry.digest
    there = np.flatnonzero((starts < into.span.stop) & (stops > into.span.start))

    def slot_to(at: int) -> Pointing:
        number = int(numbers[at])
        target = Span("", int(starts[at]), int(stops[at]))
        slots = table.slots
        stored = slots.place(table.source, number) if slots is not None and number < slots.count else UNKNOWN
        if slots is not None and stored == target.start:
            why = f"Slot {number} of the offsets says where chunk {number} begins."
            return Pointing(slots.span(number), target, why)
        if number == 0 or table.places[number - 1] == UNKNOWN:
            return Pointing(Span("", 0, file.header.size), target, "The first chunk follows what the header tells of.")
        place = blosc_header_span(int(table.places[number - 1]))
        return Pointing(place, target, f"Chunk {number - 1} says how long it is: chunk {number} begins after it.")

    into.add_rows(there.tolist(), slot_to)
