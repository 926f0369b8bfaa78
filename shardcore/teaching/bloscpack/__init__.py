"""Drawings of Bloscpack files: their chunks, the steps of a lookup, and charts of their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import BLOCK_START, CHUNK_HEADER, METADATA_HEADER, UNKNOWN, Flag
from shardcore.formats.bloscpack.lookup import BlockFound, ChecksumCompared, ChunkWalked, FileOpened, HeaderRead
from shardcore.model.drawing import Drawing, Sketch
from shardcore.model.span import SourceName
from shardcore.model.usage import Load, LoadSource, Share, Use, budget, share_of
from shardcore.progress import Progress
from shardcore.shards.trace import FOUND, Compared, Fields, Shown, Trace
from shardcore.teaching.bloscpack.block import BitShuffleSketch, BlockSketch, Lz4Sketch
from shardcore.teaching.bloscpack.rulers import RulersSketch, blocks_figure, flags_figure
from shardcore.teaching.bloscpack.scene import ChunkScene
from shardcore.teaching.charts import stored_load

if TYPE_CHECKING:
    from shardcore.formats.bloscpack.shard import BloscpackShard
    from shardcore.shards.dataset import DataSet


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
        used = np.arange(file.offsets.count) < file.offsets.used
        inside["offsets"] = file.offset_table.shares(used)
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
    known = table.places != UNKNOWN
    starts, stops = np.where(known, table.places, 0), np.where(known, area.stops(table.places, table.headers), 0)
    return stored_load("", stops - starts, table.headers["nbytes"], starts, stops)


def sketches(shard: BloscpackShard, trace: Trace | None) -> tuple[Sketch, ...]:
    return _sketches(ChunkScene(lambda: shard.file, trace))


def folder_sketches(data_set: DataSet, trace: Trace | None) -> tuple[Sketch, ...] | None:
    """Return the drawings of the first file of a column, or of the file that a lookup found; None as in `part_of`."""
    from shardcore.formats.bloscpack.bcolz_dataset import BcolzDataSet
    from shardcore.formats.bloscpack.shard import BloscpackShard

    if not isinstance(data_set, BcolzDataSet):
        return () if trace is None else None
    first = data_set.first_member
    if trace is not None:
        if any(member.name == trace.member for member in data_set.members):
            return None
        found = trace.ref.spans if trace.outcome == FOUND and trace.ref is not None else ()
        first = SourceName.parse(found[0].source).path if found else ""
    if not first:
        return ()

    def file() -> BloscpackFile:
        shard = data_set.member(first)
        assert isinstance(shard, BloscpackShard)
        return shard.file

    scene = ChunkScene(file, None, lambda: data_set.is_open(first))
    return data_set.placed_sketches(_sketches(scene), first)


def _sketches(scene: ChunkScene) -> tuple[Sketch, ...]:
    return RulersSketch(scene), BlockSketch(scene), BitShuffleSketch(scene), Lz4Sketch(scene)


def step_figures(fact: Any, title: str) -> Drawing | tuple[Shown, ...]:
    if isinstance(fact, BlockFound):
        ribbon, left = blocks_figure(fact.stored, fact.map, fact.block, fact.within)
        caption = "The block starts give the location of each block; to read one byte, one block is decompressed."
        return Drawing(f"Block {fact.block}", (ribbon,), (), caption, left)
    if isinstance(fact, FileOpened) and title == "Header fields":
        return (Fields(fact.file.header.record, 0, fact.file.header.values),)
    if isinstance(fact, FileOpened) and title == "Skip the metadata" and fact.file.metadata is not None:
        return (Fields(METADATA_HEADER, fact.file.metadata.start, fact.file.metadata.values),)
    if isinstance(fact, ChunkWalked):
        return (Fields(CHUNK_HEADER, fact.place, {"ctbytes": fact.after - fact.place - fact.digest}),)
    if isinstance(fact, HeaderRead):
        header, start = fact.stored.header, fact.stored.span.start
        values = {name: getattr(header, name) for name in CHUNK_HEADER.sizes}
        return Fields(CHUNK_HEADER, start, values, relative=True), flags_figure(header, start)
    if isinstance(fact, ChecksumCompared):
        return (Compared("Stored", fact.computed, fact.stored.digest, fact.stored.digest_span, "Computed"),)
    return ()
