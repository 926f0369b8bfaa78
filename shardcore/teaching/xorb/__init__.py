"""What teaches xorbs: drawings of the file and of lookup steps, and charts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shardcore.codecs.xet.xorb_layout import CHUNKS, HEADER_SIZE
from shardcore.formats.xorb.file import XorbFile
from shardcore.formats.xorb.lookup import RecordLocated
from shardcore.model.byte_shares import Share, Use, budget, share_of
from shardcore.model.slot_usage import Load, LoadSource
from shardcore.progress import Progress
from shardcore.teaching.xorb.sketches import BytePlanesSketch, RecordsSketch, sums_figure

if TYPE_CHECKING:
    from shardcore.formats.xorb.shard import XorbShard
    from shardcore.model.drawing import Drawing, Sketch
    from shardcore.shards.step_content import Shown
    from shardcore.shards.trace import Trace


def shares(file: XorbFile) -> tuple[Share, ...]:
    starts, stops = file.records.starts, file.records.ends
    inner = np.minimum(starts + HEADER_SIZE, stops)
    inside = [
        share_of(Use.DATA, "chunks", inner, stops, "The stored bytes of the chunks."),
        share_of(Use.INDEX, "headers of chunks", starts, inner, "8 bytes before each chunk: sizes and scheme."),
    ]
    return tuple(
        Share(Use.LOOKUP, share.name, share.size, share.span, 1, share.doc)
        if file.info is not None and share.span == file.info_span
        else share
        for share in budget(file.sections, {CHUNKS: inside})
    )


def loads(file: XorbFile) -> tuple[LoadSource, ...]:
    """Return the chart of chunk sizes; without an info block it reads every record header."""
    known = file.records.unpacked_ends is not None or file.headers is not None
    reads = 0 if known else file.records.count * HEADER_SIZE
    return (LoadSource("chunks", "Stored bytes of the chunks", reads, partial(_stored, file)),)


def _stored(file: XorbFile, progress: Progress) -> Load:
    if file.records.unpacked_ends is None:
        file.load(progress)
    starts, stops = file.records.starts, file.records.ends
    inner = np.minimum(starts + HEADER_SIZE, stops)
    return Load(
        "Stored bytes of the chunks",
        "chunk",
        "stored byte",
        stops - inner,
        "Chunks are cut by content, at 8 KiB to 128 KiB. The line shows the uncompressed size of each chunk.",
        file.chunk_sizes().astype(np.float64),
        "uncompressed bytes",
        row_bounds=np.arange(file.records.count + 1, dtype=np.int64),
        starts=starts,
        stops=stops,
    )


__all__ = ["loads", "shares", "sketches", "step_drawing", "step_figures"]


def sketches(shard: XorbShard, trace: Trace | None) -> tuple[Sketch, ...]:
    number = max(trace.ref.row, 0) if trace is not None and trace.ref is not None else 0
    absent = "Key not found. " if trace is not None and trace.ref is None else ""
    return RecordsSketch(shard.file, number, absent), BytePlanesSketch(shard.file, number, absent)


def step_drawing(fact: Any, title: str) -> Drawing | None:
    return None


def step_figures(fact: Any, title: str) -> tuple[Shown, ...]:
    return (sums_figure(fact.file.records, fact.number),) if isinstance(fact, RecordLocated) else ()
