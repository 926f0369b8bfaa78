"""References to bytes of a shard: entries of the index to payloads and BigFiles."""

from __future__ import annotations

import numpy as np

from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import BIGFILES, INLINE, PLACE_V1, UID_HEAD
from shardcore.formats.des.walk import ShapeV2
from shardcore.model.references import Pointing, ReferenceCollector
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span


def gather(file: DesFile, into: ReferenceCollector) -> None:
    """Gathers what leads to bytes of the file, or to a BigFile of it."""
    entries, span = file.entries, into.span
    name = SourceName.parse(span.source)
    if name.is_file:
        if span.start >= entries.data_stop:
            return
        c = entries.columns
        there = (c.offset < span.stop) & (c.offset + c.length > span.start) & (c.big == 0)
        into.add_rows(np.flatnonzero(there).tolist(), lambda row: _place_of(file, row))
    elif name.path.startswith(f"{BIGFILES}/") and not name.stretches:
        rows = entries.rows_of_hash(name.path.rpartition("/")[2].encode("utf-8", "replace"))
        target = Span(span.source, 0, span.stop)
        why = "This entry names the BigFile by its hash."
        into.add_rows(rows.tolist(), lambda row: Pointing(entries.span(row), target, why))


def _place_of(file: DesFile, row: int) -> Pointing:
    """The field of an entry that says where its payload begins."""
    entries = file.entries
    c = entries.columns
    record = INLINE if isinstance(entries.shape, ShapeV2) else PLACE_V1
    at = entries.span(row).start + UID_HEAD.size + int(c.uid_length[row]) + record.offsets["offset"]
    place = Span("", at, at + record.sizes["offset"])
    target = Span("", int(c.offset[row]), int(c.offset[row]) + int(c.length[row]))
    return Pointing(place, target, f"Entry {row} says where its content begins.")
