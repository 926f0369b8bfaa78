"""Decoding of volume chunks: `jpeg`, `png` and `compressed_segmentation` ("Chunk encodings").

An image stores the voxels row by row, x fastest, then y, then z. Only the product of width and height is fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from shardcore.codecs.decoder_process import TaskRunner, run_task
from shardcore.codecs.images import decode_samples, picture_header
from shardcore.errors import FormatError, LimitExceeded, Unsupported
from shardcore.formats.neuroglancer.segmentation import ENCODING as SEGMENTATION
from shardcore.formats.neuroglancer.segmentation import ChannelBlocks, SegmentationParts, channel_blocks
from shardcore.model.array_layout import RAW, ArrayLayout
from shardcore.model.content_part import ContentPart
from shardcore.model.number_text import plural
from shardcore.model.span import Span

PICTURES = ("jpeg", "png")
MOST_BYTES = 1 << 28
"""Largest decoded size of a chunk in bytes."""


def decode_chunk(
    layout: ArrayLayout, data: bytes, *, decoder: TaskRunner = run_task, place: Span | None = None
) -> tuple[ArrayLayout, bytes]:
    """Return the voxels of an encoded chunk, x fastest, and their raw layout.

    Args:
        layout: Layout of the chunk, with its encoding.
        data: The encoded chunk.
        decoder: TaskRunner such as `Shard.decoder`; default: in this process.
        place: Span of the chunk, for errors.

    Raises:
        Unsupported: This encoding cannot be decoded.
        PackageMissing: The decoder is not installed.
        FormatError: The bytes are invalid, or the number or type of voxels differs.
        LimitExceeded: The chunk decodes to more than `MOST_BYTES`.
    """
    if layout.encoding == RAW:
        return layout, data
    if layout.nbytes > MOST_BYTES:
        size = plural(layout.nbytes, "byte")
        raise LimitExceeded(f"the chunk has {size} of voxels; the limit is {MOST_BYTES:,}", span=place)
    if layout.encoding == SEGMENTATION:
        return replace(layout, encoding=RAW), _labels(layout, data, decoder, place)
    if layout.encoding in PICTURES:
        return replace(layout, encoding=RAW), _picture(layout, data, decoder, place)
    raise Unsupported(f"chunk encoding {layout.encoding!r} is not supported", span=place)


def check_chunk(layout: ArrayLayout, data: bytes, decoder: TaskRunner, place: Span | None = None) -> None:
    """Check an encoded chunk like `decode_chunk`; for `compressed_segmentation`, checking the blocks is sufficient."""
    if layout.encoding == SEGMENTATION:
        _blocks(layout, data, place)
    else:
        decode_chunk(layout, data, decoder=decoder, place=place)


def chunk_parts(layout: ArrayLayout, stored: ContentPart, read: Callable[[], bytes]) -> Sequence[ContentPart]:
    if layout.encoding != SEGMENTATION or not stored.exact or layout.nbytes > MOST_BYTES:
        return (ContentPart(0, layout.nbytes, stored.stored),)
    return SegmentationParts(layout, channel_blocks(read(), layout, stored.stored), stored.stored)


def _blocks(layout: ArrayLayout, data: bytes, place: Span | None) -> tuple[ChannelBlocks, ...]:
    if layout.dtype.name not in ("uint32", "uint64"):
        raise FormatError(f"compressed_segmentation requires uint32 or uint64, not {layout.dtype.name}", span=place)
    return channel_blocks(data, layout, place) if layout.nbytes else ()


def _labels(layout: ArrayLayout, data: bytes, decoder: TaskRunner, place: Span | None) -> bytes:
    *volume, channels = layout.shape
    header = {"shape": volume, "dtype": layout.dtype.str, "block": list(layout.block)}
    found, size = [], layout.nbytes // channels if channels else 0
    for blocks in _blocks(layout, data, place):
        # An offset and the channel make a chunk of one channel.
        one = (1).to_bytes(4, "little") + data[blocks.start :]
        found.append(decoder("segmentation", header, one, limit=max(size, 1), place=place)[1])
        if len(found[-1]) != size:
            raise FormatError(f"a channel decodes to {len(found[-1]):,} bytes instead of {size:,}", span=place)
    return b"".join(found)


def _picture(layout: ArrayLayout, data: bytes, decoder: TaskRunner, place: Span | None) -> bytes:
    *volume, channels = layout.shape
    header, voxels = picture_header(data), math.prod(volume)
    if header is None or header.format != layout.encoding or not header.width:
        raise FormatError(f"the chunk is not a {layout.encoding.upper()} image", span=place)
    if header.width * header.height != voxels:
        pixels = f"{header.width:,} × {header.height:,} pixels"
        raise FormatError(f"the image has {pixels}, but the chunk has {plural(voxels, 'voxel')}", span=place)
    samples = decode_samples(data, decoder=decoder, place=place)
    if samples.size != voxels * channels or samples.dtype != layout.dtype:
        found = f"{plural(samples.shape[2], 'channel')} of {samples.dtype.name}"
        raise FormatError(f"the image has {found}, but the chunk has {channels:,} of {layout.dtype.name}", span=place)
    return np.ascontiguousarray(samples.reshape(voxels, channels).T).tobytes()
