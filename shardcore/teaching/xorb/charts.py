"""Charts of a xorb: use of the file's bytes, stored and uncompressed chunk sizes."""

from __future__ import annotations

from functools import partial

import numpy as np

from shardcore.codecs.xet.xorb_layout import CHUNKS, HEADER_SIZE
from shardcore.formats.xorb.file import XorbFile
from shardcore.model.byte_shares import Share, Use, budget, share_of
from shardcore.model.slot_usage import Load, LoadSource
from shardcore.progress import Progress


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
