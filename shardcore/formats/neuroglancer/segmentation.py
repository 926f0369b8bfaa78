"""Chunks of the encoding `compressed_segmentation`: checked, decoded, and located in the file.

A chunk starts with one uint32 per channel, its offset. A channel starts with two uint32 per block, x fastest: offset of
the label table (24 bits), bits per voxel (8 bits), offset of the encoded values. A value is an index into the table.
Offsets count uint32; those in a channel are relative to its start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, LimitExceeded
from shardcore.model.content_layout import ArrayLayout, ContentPart, ContentParts
from shardcore.model.span import Span

ENCODING = "compressed_segmentation"

_WORD = 4
_BITS = (0, 1, 2, 4, 8, 16, 32)
_SLAB = 1 << 20
"""Number of words unpacked at a time."""
_MOST_VALUES = 1 << 28
"""Maximum number of encoded values checked in blocks whose label table might exceed the chunk."""


@dataclass(frozen=True, slots=True)
class ChannelBlocks:
    """Blocks of one channel; offsets are bytes in the chunk, arrays have shape `(blocks,)`.

    `tables` and `values` are offsets of the label tables and encoded values, `sizes` their sizes in bytes, `bits`
    their width. `grid` has the blocks along x, y and z.
    """

    start: int
    grid: tuple[int, int, int]
    tables: NDArray[np.int64]
    bits: NDArray[np.int64]
    values: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def block_at(self, cell: Sequence[int]) -> int:
        x, y, z = cell
        return x + self.grid[0] * (y + self.grid[1] * z)


def channel_blocks(data: bytes, layout: ArrayLayout, place: Span | None = None) -> tuple[ChannelBlocks, ...]:
    """Return the blocks of a chunk, all offsets checked.

    Raises:
        FormatError: An offset, a number of bits or an index is invalid; located exactly if `place` is not compressed.
        LimitExceeded: There are too many values to check.
    """
    *volume, channels = layout.shape
    fault = _Fault(len(data), place)
    if len(data) % _WORD or len(data) < _WORD * channels:
        fault(0, f"{len(data):,} bytes are too few for a uint32 offset per channel ({channels:,})")
    block = layout.block
    if len(block) != 3 or min(block) < 1:
        fault(0, f"invalid block size {list(block)}")
    first, second, third = (-(-length // edge) for length, edge in zip(volume, block, strict=True))
    grid = first, second, third
    words = np.frombuffer(data, "<u4")
    return tuple(_channel(words, at, grid, layout, fault) for at in range(channels))


@dataclass(frozen=True, slots=True)
class _Fault:
    size: int
    place: Span | None

    def __call__(self, at: int, message: str) -> NoReturn:
        place = self.place
        if place is not None and place.size == self.size:
            place = Span(place.source, place.start + at, place.start + min(at + 8, self.size))
        raise FormatError(f"invalid compressed_segmentation at byte {at:#x} of the chunk: {message}", span=place)


def _channel(
    words: NDArray[np.uint32], number: int, grid: tuple[int, int, int], layout: ArrayLayout, fault: _Fault
) -> ChannelBlocks:
    start, count, volume = int(words[number]) * _WORD, math.prod(grid), math.prod(layout.block)
    room = _WORD * len(words) - start
    if start < _WORD * layout.shape[-1] or 8 * count > room:
        fault(_WORD * number, f"channel {number} begins at byte {start:#x}, and its {count:,} blocks exceed the chunk")
    pairs = words[start // _WORD : start // _WORD + 2 * count].reshape(count, 2).astype(np.int64)
    tables, bits, values = (pairs[:, 0] & 0xFFFFFF) * _WORD, pairs[:, 0] >> 24, pairs[:, 1] * _WORD
    wrong = ~np.isin(bits, _BITS)
    if wrong.any():
        at = int(wrong.argmax())
        fault(start + 8 * at, f"block {at} has {bits[at]} bits per value; valid: {', '.join(map(str, _BITS))}")
    # Python integers do not overflow, but NumPy's below would.
    if 32 * volume >= 1 << 62:
        fault(0, f"blocks of {volume:,} voxels are too large")
    sizes = -(-bits * volume // 32) * _WORD
    exceeds = (values + sizes > room) & (bits > 0)
    if exceeds.any():
        at = int(exceeds.argmax())
        fault(start + 8 * at, f"block {at} has values at {start + values[at]:#x}, which exceed the chunk")
    found = ChannelBlocks(start, grid, start + tables, bits, start + values, sizes)
    _check_tables(words, found, layout, fault)
    return found


def _check_tables(words: NDArray[np.uint32], blocks: ChannelBlocks, layout: ArrayLayout, fault: _Fault) -> None:
    """Check that all label table indices are inside the chunk; skips blocks whose largest possible index is inside."""
    size, width = _WORD * len(words), layout.dtype.itemsize
    doubtful = np.flatnonzero(blocks.tables + (width << blocks.bits) > size)
    # Unpacking may need one word per value.
    if int((blocks.sizes[doubtful] * 8 // np.maximum(blocks.bits[doubtful], 1)).sum()) > _MOST_VALUES:
        raise LimitExceeded(f"the blocks of the chunk have over {_MOST_VALUES:,} encoded values", span=fault.place)
    for bits in _BITS:
        chosen = doubtful[blocks.bits[doubtful] == bits]
        count = math.prod(layout.block) * bits // 32 + 1
        for first in range(0, len(chosen), step := max(_SLAB // count, 1)):
            some = chosen[first : first + step]
            last = _largest_index(words, blocks, some, bits)
            outside = blocks.tables[some] + (last + 1) * width > size
            if outside.any():
                at = int(some[outside.argmax()])
                message = f"block {at} has labels at {blocks.tables[at]:#x}, which exceed the chunk"
                fault(blocks.start + 8 * at, message)


def _largest_index(
    words: NDArray[np.uint32], blocks: ChannelBlocks, chosen: NDArray[np.int64], bits: int
) -> NDArray[np.int64]:
    if bits == 0:
        return np.zeros(len(chosen), np.int64)
    count = int(blocks.sizes[chosen[0]]) // _WORD
    found = np.zeros(len(chosen), np.int64)
    starts = blocks.values[chosen] // _WORD
    for first in range(0, count, _SLAB):
        ats = starts[:, None] + np.arange(first, min(first + _SLAB, count))
        packed = words[ats]
        for shift in range(0, 32, bits):
            values = packed >> np.uint32(shift) & np.uint32((1 << bits) - 1)
            np.maximum(found, values.max(axis=1), out=found)
    return found


def segmentation_task(header: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Decode one channel (task `segmentation` of `codecs.isolated`); check its blocks first."""
    import compressed_segmentation

    try:
        labels = compressed_segmentation.decompress(
            data, tuple(header["shape"]), np.dtype(header["dtype"]), block_size=tuple(header["block"]), order="F"
        )
    except (compressed_segmentation.DecodeError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise FormatError(f"invalid compressed_segmentation: {error}") from error
    return {}, labels.astype(header["dtype"], copy=False).tobytes(order="F")


class SegmentationParts(ContentParts):
    """Mapping of decoded labels to stored bytes: runs of voxels in one x row of a block map to the block's values.

    Blocks with one label have no values: their voxels map to the table entry.
    """

    def __init__(self, layout: ArrayLayout, channels: tuple[ChannelBlocks, ...], stored: Span) -> None:
        self._layout, self._channels, self._stored = layout, channels, stored
        self._runs = -(-layout.shape[0] // layout.block[0])

    def __len__(self) -> int:
        return self._runs * math.prod(self._layout.shape[1:])

    @overload
    def __getitem__(self, index: int) -> ContentPart: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ContentPart]: ...
    def __getitem__(self, index: int | slice) -> ContentPart | Sequence[ContentPart]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        row, run = divmod(index % len(self), self._runs)
        across, width, edge = self._layout.shape[0], self._layout.dtype.itemsize, self._layout.block[0]
        start = row * across + run * edge
        return ContentPart(start * width, min(start + edge, (row + 1) * across) * width, self._span(row, run))

    def __iter__(self) -> Iterator[ContentPart]:
        return (self[at] for at in range(len(self)))

    def _span(self, row: int, run: int) -> Span:
        _, height, depth, _ = self._layout.shape
        rest, y = divmod(row, height)
        channel, z = divmod(rest, depth)
        blocks = self._channels[channel]
        block = blocks.block_at((run, y // self._layout.block[1], z // self._layout.block[2]))
        start, size = int(blocks.values[block]), int(blocks.sizes[block])
        if not blocks.bits[block]:
            start, size = int(blocks.tables[block]), self._layout.dtype.itemsize
        begin = self._stored.start + start
        return Span(self._stored.source, begin, begin + size)

    def at_stored(self, span: Span) -> ContentPart | None:
        offset = span.start - self._stored.start
        if span.source != self._stored.source:
            return None
        for number, blocks in enumerate(self._channels):
            single = blocks.bits == 0
            starts = np.where(single, blocks.tables, blocks.values)
            stops = starts + np.where(single, self._layout.dtype.itemsize, blocks.sizes)
            inside = (starts <= offset) & (offset < stops)
            if inside.any():
                rest, x = divmod(int(inside.argmax()), blocks.grid[0])
                z, y = divmod(rest, blocks.grid[1])
                _, height, depth, _ = self._layout.shape
                row = (number * depth + z * self._layout.block[2]) * height + y * self._layout.block[1]
                return self[row * self._runs + x]
        return None

    def placed(self, place: Callable[[Span], Span]) -> SegmentationParts:
        return SegmentationParts(self._layout, self._channels, place(self._stored))
