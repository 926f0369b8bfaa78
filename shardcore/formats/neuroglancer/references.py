"""References to bytes of a shard: shard index to minishard indices, these to values, manifests to fragments."""

from __future__ import annotations

import numpy as np

from shardcore.formats.neuroglancer.file import NeuroglancerFile
from shardcore.formats.neuroglancer.layout import RangeFault, range_faults
from shardcore.formats.neuroglancer.levels import MinishardTable, pair_span
from shardcore.formats.neuroglancer.regions import WORD
from shardcore.model.references import Pointing, ReferenceCollector
from shardcore.model.source_name import decoded_name
from shardcore.model.span import Span


def gather(file: NeuroglancerFile, into: ReferenceCollector) -> None:
    """Gathers what leads to bytes of the file, from what is in memory."""
    if into.span.source:
        return
    pairs, base, size = file.levels.known_pairs(), file.base, file.source.size
    if pairs is not None:
        fine = (pairs[:, 0] < pairs[:, 1]) & (range_faults(pairs, base, size) == RangeFault.NONE)
        numbers = np.flatnonzero(fine)
        starts = base + pairs[numbers, 0].astype(np.int64)
        stops = base + pairs[numbers, 1].astype(np.int64)
        there = np.flatnonzero((starts < into.span.stop) & (stops > into.span.start))

        def pair_to(at: int) -> Pointing:
            number = int(numbers[at])
            target = Span("", int(starts[at]), int(stops[at]))
            return Pointing(pair_span(number), target, f"The shard index says where minishard {number} has its index.")

        into.add_rows(there.tolist(), pair_to)
    if (table := file.levels.known_table) is not None:
        _gather_values(file, table, into)


def _gather_values(file: NeuroglancerFile, table: MinishardTable, into: ReferenceCollector) -> None:
    entries = table.entries
    rows = np.flatnonzero(entries.inside)
    starts = entries.starts[rows].astype(np.int64)
    stops = starts + entries.sizes[rows].astype(np.int64)
    there = rows[(starts < into.span.stop) & (stops > into.span.start)]
    into.add_rows(there.tolist(), lambda row: _entry_to(file, table, row))
    meshes = file.known_meshes
    if meshes is None:
        return
    before = meshes.fragments[rows]
    owners = rows[(before >= 0) & (before < into.span.stop) & (starts > into.span.start)]

    def manifest_to(row: int) -> Pointing:
        start, size = int(entries.starts[row]), int(entries.sizes[row])
        why = "The manifest tells the sizes of its fragments, which end where it begins."
        return Pointing(Span("", start, start + size), Span("", int(meshes.fragments[row]), start), why)

    into.add_rows(owners.tolist(), manifest_to)


def _entry_to(file: NeuroglancerFile, table: MinishardTable, row: int) -> Pointing:
    """The number in a minishard index that, added to those before it, says where a value begins."""
    entries = table.entries
    minishard = int(entries.minishards[row])
    listed = table.rows_of(minishard)
    first, last = (file.base + edge for edge in table.pairs[minishard].tolist())
    gzipped = file.spec.minishard_index_encoding == "gzip"
    at = (0 if gzipped else first) + WORD * (len(listed) + row - listed.start)
    place = Span(decoded_name(first, last) if gzipped else "", at, at + WORD)
    start = int(entries.starts[row])
    why = f"Number {row - listed.start} of minishard {minishard}: gaps and sizes add up to where this value begins."
    return Pointing(place, Span("", start, start + int(entries.sizes[row])), why)
