"""Chunks of the encoding `compressed_segmentation`: checked, decoded, and located in the file.

A chunk starts with one uint32 per channel, its offset. A channel starts with two uint32 per block, x fastest: offset of
the label table (24 bits), bits per voxel (8 bits), offset of the encoded values. A value is an index into the table.
Offsets count uint32; those in a channel are relative to its start.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, overload

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, LimitExceeded
from shardcore.model.content_layout import ArrayLayout, ContentPart, ContentParts
from shardcore.model.span import Span

ENCODING = "compressed_segmentation"
I64 = NDArray[np.int64]

_WORD = 4
_BITS = (0, 1, 2, 4, 8, 16, 32)
_SLAB = 1 << 16
"""Number of encoded values that are unpacked per step, to limit the memory."""
_MOST_VOXELS = 1 << 26
"""Maximum number of voxels in the blocks of a channel, including those of its last blocks outside the chunk."""


@dataclass(frozen=True, slots=True)
class ChannelBlocks:
    """Blocks of one channel; offsets are bytes in the chunk, arrays have shape `(blocks,)`.

    `tables` are offsets of label tables, `values` of encoded values; `sizes` are the sizes of the latter in bytes, with
    `bits` bits per value. `grid` has the blocks along x, y, z, `extent` the voxels of a block, limited by the chunk.
    """

    start: int
    grid: tuple[int, int, int]
    extent: tuple[int, int, int]
    tables: I64
    bits: I64
    values: I64
    sizes: I64

    def block_at(self, cell: Sequence[int]) -> int:
        x, y, z = cell
        return x + self.grid[0] * (y + self.grid[1] * z)


def channel_blocks(data: bytes, layout: ArrayLayout, place: Span | None = None) -> tuple[ChannelBlocks, ...]:
    """Return the blocks of each channel of a chunk, after checking all offsets.

    Raises:
        FormatError: The type, an offset or a number of bits is invalid. The span is exact if `place` is uncompressed.
        LimitExceeded: The blocks have too many voxels.
    """
    if layout.dtype.name not in ("uint32", "uint64"):
        raise FormatError(f"compressed_segmentation requires uint32 or uint64, not {layout.dtype.name}", span=place)
    if not layout.nbytes:
        return ()
    *volume, channels = layout.shape
    fault = _Fault(len(data), place)
    if len(data) % _WORD or len(data) < _WORD * channels:
        fault(0, f"{len(data):,} bytes are too few for a uint32 offset per channel ({channels:,})")
    block = layout.block
    if len(block) != 3 or min(block) < 1:
        fault(0, f"invalid block size {list(block)}")
    first, second, third = (-(-length // edge) for length, edge in zip(volume, block, strict=True))
    grid = first, second, third
    voxels = math.prod(grid) * math.prod(map(min, volume, block))
    if voxels > _MOST_VOXELS:
        raise LimitExceeded(
            f"the blocks of the chunk have {voxels:,} voxels; the limit is {_MOST_VOXELS:,}", span=place
        )
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
    x, y, z = map(min, layout.shape, layout.block)
    found = ChannelBlocks(start, grid, (x, y, z), start + tables, bits, start + values, sizes)
    _check_tables(found, np.arange(count), 1, layout, fault)
    return found


def _check_tables(blocks: ChannelBlocks, chosen: I64, labels: I64 | int, layout: ArrayLayout, fault: _Fault) -> None:
    outside = blocks.tables[chosen] + labels * layout.dtype.itemsize > fault.size
    if outside.any():
        at = int(chosen[outside.argmax()])
        fault(blocks.start + 8 * at, f"block {at} has labels at {blocks.tables[at]:#x}, which exceed the chunk")


def check_labels(data: bytes, layout: ArrayLayout, place: Span | None = None) -> None:
    """Check all offsets, and the label indices of those blocks in which an index could point outside the chunk."""
    width, fault = layout.dtype.itemsize, _Fault(len(data), place)
    for blocks in channel_blocks(data, layout, place):
        doubtful = np.flatnonzero(blocks.tables + (width << blocks.bits) > len(data))
        for _ in _indices(data, blocks, layout, doubtful, fault):
            pass


def decode_labels(data: bytes, layout: ArrayLayout, place: Span | None = None) -> bytes:
    """Return the labels of a chunk, x fastest; raises like `channel_blocks`."""
    width, fault, shape = layout.dtype.itemsize, _Fault(len(data), place), layout.shape[2::-1]
    channels = channel_blocks(data, layout, place)
    # Label tables begin at any word: 64-bit labels at even words, then those at odd words.
    odd = len(data) // width if width > _WORD else 0
    both = (np.frombuffer(data, layout.dtype, (len(data) - at) // width, at) for at in range(0, width, _WORD))
    labels = np.concatenate(list(both))
    found = []
    for blocks in channels:
        grid, extent = blocks.grid[::-1], blocks.extent[::-1]
        decoded = np.empty((len(blocks.bits), math.prod(extent)), layout.dtype)
        first = blocks.tables // width + blocks.tables % width // _WORD * odd
        single = blocks.bits == 0
        decoded[single] = labels[first[single], None]
        for chosen, run, indices in _indices(data, blocks, layout, np.flatnonzero(~single), fault):
            decoded[chosen, run] = labels[first[chosen, None] + indices]
        lattice = decoded.reshape(*grid, *extent).transpose(0, 3, 1, 4, 2, 5)
        whole = tuple(count * edge for count, edge in zip(grid, extent, strict=True))
        # The last blocks of an axis may have voxels outside the chunk.
        inside = lattice if whole == shape else lattice.reshape(whole)[tuple(map(slice, shape))]
        found.append(inside.tobytes())
    return b"".join(found)


def _indices(
    data: bytes, blocks: ChannelBlocks, layout: ArrayLayout, chosen: I64, fault: _Fault
) -> Iterator[tuple[I64, slice, NDArray[Any]]]:
    """Yield checked label indices, by bits per value: the block numbers, the voxel range, and a row per block."""
    (x, y, _), (row, column, _), volume = blocks.extent, layout.block, math.prod(blocks.extent)
    # Blocks may be larger than the chunk.
    cropped = blocks.extent != tuple(layout.block)
    for bits in _BITS[1:]:
        same = chosen[blocks.bits[chosen] == bits]
        items = np.frombuffer(data, f"<u{max(bits // 8, 1)}")
        per, starts = max(8 // bits, 1), blocks.values // items.itemsize
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        # The indices in each byte, lowest bits first, as one number.
        unpacked = np.arange(256, dtype=np.uint8)[:, None] >> shifts & np.uint8((1 << min(bits, 8)) - 1)
        unpacked = unpacked.view(f"<u{per}").ravel()
        step = max(_SLAB // volume, 1)
        for at, begin in itertools.product(range(0, len(same), step), range(0, volume, _SLAB)):
            some, run = same[at : at + step], slice(begin, min(begin + _SLAB, volume))
            count, columns = run.stop - begin, np.arange(run.stop - begin)
            if cropped:
                at_x = (voxels := columns + begin) % x
                item, inside = np.divmod(at_x + row * (voxels // x % y + column * (voxels // (x * y))), per)
                packed, columns = items[starts[some, None] + item], columns * per + inside
            else:
                packed = sliding_window_view(items, -(-count // per))[starts[some] + begin // per]
            if per > 1:
                packed = unpacked[packed].view(np.uint8)
            indices = packed[:, columns] if cropped else packed[:, :count]
            _check_tables(blocks, some, indices.max(axis=1).astype(np.int64) + 1, layout, fault)
            yield some, run, indices


class SegmentationParts(ContentParts):
    """Relation of decoded labels to stored bytes: each run of voxels along x in a block refers to the block's values.

    Blocks with a single label have no values: their voxels refer to the entry of the label table.
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
