"""Byte shares of a Bloscpack file, and the stored sizes of its chunks as a load chart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import BLOCK_START, CHUNK_HEADER, UNKNOWN, Flag
from shardcore.model.byte_shares import Share, Use, budget, share_of
from shardcore.model.slot_usage import Load, LoadSource
from shardcore.progress import Progress


def shares(file: BloscpackFile) -> tuple[Share, ...]:
    inside: dict[str, Sequence[Share]] = {}
    if file.metadata is not None:
        room = file.metadata.padding
        doc = "Space reserved after the metadata, so that it can grow in place."
        inside["metadata"] = [
            share_of(Use.METADATA, "metadata", file.metadata.start, room.start, "Metadata header and stored text."),
            share_of(Use.SLACK, "reserved for metadata", room.start, room.stop, doc),
            share_of(Use.METADATA, "checksum of the metadata", room.stop, file.metadata.stop),
        ]
    if file.offsets.count:
        slots = file.offsets.slots
        filled = np.arange(file.offsets.count) < (slots.count if slots is not None else 0)
        inside["offsets"] = file.offset_table.shares(filled)
    if file.table.loaded:
        inside["chunks"] = _chunks(file)
    return budget(file.sections, inside)


def _chunks(file: BloscpackFile) -> list[Share]:
    area = file.offsets.area
    found = file.table.places != UNKNOWN
    places, headers = file.table.places[found], file.table.headers[found]
    stops = area.stops(places, headers)
    inner = np.minimum(places + CHUNK_HEADER.size, stops)
    blocks = np.minimum(inner + BLOCK_START.size * _block_counts(headers), stops)
    digests = np.minimum(stops + area.digest, area.size)
    return [
        share_of(Use.DATA, "blocks", blocks, stops, "The content, block by block."),
        share_of(Use.INDEX, "Blosc headers", places, inner, "16 bytes at the beginning of each chunk."),
        share_of(Use.INDEX, "block starts", inner, blocks, "Offset of each block of a compressed chunk."),
        share_of(Use.INDEX, "checksums", stops, digests, "After each chunk, so that damage to it is detected."),
    ]


def _block_counts(headers: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the number of blocks of each chunk; 0 for a memcpy, which has no block starts."""
    nbytes, blocksize = headers["nbytes"].astype(np.int64), headers["blocksize"].astype(np.int64)
    plain = (headers["flags"] & Flag.MEMCPYED) != 0
    return np.where(plain | (nbytes <= 0) | (blocksize <= 0), 0, -(-nbytes // np.maximum(blocksize, 1)))


def loads(file: BloscpackFile) -> tuple[LoadSource, ...]:
    reads = 0 if file.table.loaded else CHUNK_HEADER.size * len(file.table)
    return (LoadSource("chunks", "Stored bytes of the chunks", reads, partial(_stored, file)),)


def _stored(file: BloscpackFile, progress: Progress) -> Load:
    file.load(progress)
    table, area = file.table, file.offsets.area
    stops = area.stops(table.places, table.headers)
    starts = np.where(table.places == UNKNOWN, 0, table.places)
    stops = np.where(table.places == UNKNOWN, 0, stops)
    return Load(
        "Stored bytes of the chunks",
        "chunk",
        "stored byte",
        stops - starts,
        "The line shows the uncompressed size of each chunk.",
        table.headers["nbytes"].astype(np.float64),
        "uncompressed bytes",
        row_bounds=np.arange(len(table.places) + 1, dtype=np.int64),
        starts=starts,
        stops=stops,
    )
