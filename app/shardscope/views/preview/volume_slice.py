"""Array of a shard as a volume: its grid of chunks, and the visible part of a slice, filled as chunks arrive."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QImage

from shardcore import DataSet, Shard, ShardError
from shardcore.dataclasses import dataclass, replace
from shardcore.model.chunk_grid import Chunk, ChunkGrid, GridCell, VoxelBox, copy_box
from shardcore.model.content_layout import RAW, part_stored_at
from shardcore.shards.cache import LruCache
from shardcore.shards.stored_grid import StoredGrid
from shardscope.session.selection import Selection

MOST_EDGE = 1024
"""Maximum width and height in pixels of the part of a slice that is kept in memory."""

MOST_SHOWN = 2048
"""Maximum number of chunks in this part of a slice."""

KEPT = 128 << 20
"""Size in bytes of the cache of decoded chunks."""

MOST_CHUNK = 64 << 20
"""Maximum decoded size in bytes of a chunk."""


class ChunkState(Enum):
    PENDING = "not loaded"
    SHOWN = "shown"
    MISSING = "not stored"
    UNREADABLE = "unreadable"
    ELSEWHERE = "in another file"


Kept = LruCache[tuple[str, tuple[int, ...]], tuple[Chunk]]
"""Cache of decoded chunks, by scale and grid cell."""


def is_shown(grid: ChunkGrid) -> bool:
    """Return whether an array can be shown: numbers, at least two axes longer than 1, chunks up to `MOST_CHUNK`."""
    return grid.dtype.kind in "iufb" and sum(length > 1 for length in grid.shape) > 1 and chunk_size(grid) <= MOST_CHUNK


def planes_of(grid: ChunkGrid) -> list[tuple[int, int]]:
    pairs = list(combinations([axis for axis, length in enumerate(grid.shape) if length > 1], 2))
    # Matrices are shown row by row; of named axes (x, y, z) the first is horizontal.
    return pairs if grid.axes else [(across, down) for down, across in reversed(pairs)]


def chunk_size(grid: ChunkGrid) -> int:
    size = int(np.prod([min(a, b) for a, b in zip(grid.chunk, grid.shape, strict=True)], dtype=object))
    return size * grid.dtype.itemsize * int(np.prod(grid.inner, dtype=object))


def first_slice(grid: ChunkGrid) -> QImage | None:
    """Read and return the default slice; None if it takes more than `MOST_CHUNK` bytes."""
    shown = VolumeSlice(grid, *planes_of(grid)[0], Kept(KEPT))
    if len(shown.chunks) * chunk_size(grid) > MOST_CHUNK:
        return None
    shown.put(list(grid.read_cells(one.cell for one in shown.chunks)))
    return shown.image() if ChunkState.SHOWN in shown.states.values() else None


def keep(kept: Kept, grid: ChunkGrid, cell: GridCell, chunk: Chunk) -> None:
    """Cache a chunk; thread-safe."""
    size = chunk.nbytes if isinstance(chunk, np.ndarray) else 64
    kept.put((grid.name, cell.at), (chunk,), size)


def times(lengths: Any) -> str:
    return " × ".join(f"{length:,}" for length in lengths)


@dataclass(frozen=True, slots=True)
class FoundGrid:
    """Chunk grid of an array. `own` is False if it is not that of the open shard but of another scale, at `uri`."""

    grid: ChunkGrid
    own: bool
    uri: str = ""


def grid_of(shard: Shard, scale: str) -> FoundGrid | None:
    grid = shard.chunk_grid(scale)
    if grid is None or not is_shown(grid):
        return None
    holder = grid.shard if isinstance(grid, StoredGrid) else shard
    return FoundGrid(grid, holder is shard, holder.uri if isinstance(holder, DataSet) and holder is not shard else "")


def elements_of(shard: Shard, selection: Selection, grid: ChunkGrid) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the indices of the first and last element in the selected bytes; None without any. Runs in a job."""
    ref, span = selection.ref, selection.span
    if ref is None or span is None:
        return None
    layout = shard.arrays.array_layout(ref)
    axes = len(grid.shape)
    if layout is None or len(layout.shape) < axes or not layout.begin:
        return None
    if ref.spans and span.holds(ref.spans[0]):
        # The whole chunk, including the header before its blocks.
        first, stop = 0, layout.nbytes
    elif (part := part_stored_at(shard.content_parts(ref), span)) is not None:
        first = part.content_at(span.start)
        stop = first + min(span.size, part.stop - first) if part.exact else part.stop
    else:
        return None
    box = replace(layout, encoding=RAW).box_of(first, max(stop, first + 1))
    if box is None:
        return None
    low, high = (tuple(n + a for n, a in zip(one, layout.begin, strict=True))[:axes] for one in box)
    return low, high


@dataclass(frozen=True, slots=True)
class ShownChunk:
    cell: GridCell
    x: int
    y: int
    width: int
    height: int

    def meets(self, left: int, top: int, right: int, bottom: int) -> bool:
        return self.x < right and left < self.x + self.width and self.y < bottom and top < self.y + self.height


def _count(lengths: Sequence[int], steps: Sequence[int], edge: int) -> float:
    across, down = (min(edge, length) / step + 1 for length, step in zip(lengths, steps, strict=True))
    return across * down


class VolumeSlice:
    """Rectangle of a slice: `values` of shape `(rows, columns)`, and `pixels`. Used only in the GUI thread.

    `at` is the position on each axis; on the two axes of the slice, it is the position of the first pixel.
    """

    def __init__(self, grid: ChunkGrid, across: int, down: int, kept: Kept) -> None:
        self.grid, self.across, self.down = grid, across, down
        self._kept = kept
        self.at = [(begin + end) // 2 for begin, end in zip(grid.box.begin, grid.box.end, strict=True)]
        self.at[across], self.at[down] = grid.box.begin[across], grid.box.begin[down]
        self.channel = 0
        self.look = "labels" if grid.labels or (grid.dtype.kind == "u" and grid.dtype.itemsize >= 4) else "grey"
        self.size = self._window()
        self.levels = (0.0, 1.0)
        self.chosen: tuple[float, float] | None = None
        self.chunks: tuple[ShownChunk, ...] = ()
        self.states: dict[tuple[int, ...], ChunkState] = {}
        self.error: ShardError | None = None
        self._planned: tuple[object, ...] = ()
        middle = [(grid.box.begin[axis] + grid.box.end[axis]) // 2 for axis in (across, down)]
        self.centre_on(*middle)

    def _window(self) -> tuple[int, int]:
        grid = self.grid
        lengths = [grid.shape[axis] for axis in (self.across, self.down)]
        steps = [grid.chunk[axis] for axis in (self.across, self.down)]
        edge = MOST_EDGE
        while edge > 16 and _count(lengths, steps, edge) > MOST_SHOWN:
            edge //= 2
        return min(lengths[0], edge), min(lengths[1], edge)

    @property
    def is_whole(self) -> bool:
        return self.size == (self.grid.shape[self.across], self.grid.shape[self.down])

    @property
    def box(self) -> VoxelBox:
        begin, end = list(self.at), [one + 1 for one in self.at]
        for axis, length in zip((self.across, self.down), self.size, strict=True):
            end[axis] = begin[axis] + length
        return VoxelBox(tuple(begin), tuple(end))

    def centre_on(self, x: int, y: int) -> tuple[int, int]:
        before = self.at[self.across], self.at[self.down]
        for axis, middle, length in zip((self.across, self.down), (x, y), self.size, strict=True):
            first, last = self.grid.box.begin[axis], self.grid.box.end[axis] - length
            self.at[axis] = min(max(middle - length // 2, first), last)
        self.plan()
        return self.at[self.across] - before[0], self.at[self.down] - before[1]

    def move_to(self, axis: int, place: int) -> None:
        if self.at[axis] != place:
            self.at[axis] = place
            self.plan()

    def plan(self) -> None:
        grid, box = self.grid, self.box
        cells = tuple(
            ((a - first) // step, -(-(b - first) // step))
            for a, b, first, step in zip(box.begin, box.end, grid.box.begin, grid.chunk, strict=True)
        )
        planned = (cells, self.at[self.across], self.at[self.down])
        if planned != self._planned:
            self._planned = planned
            self.chunks = tuple(self._shown(cell) for cell in grid.cells_in(box))
        self.values = np.zeros((self.size[1], self.size[0]), grid.dtype)
        self.pixels = np.zeros(self.values.shape, np.uint32)
        self.states = {one.cell.at: ChunkState.PENDING for one in self.chunks}
        self.error = None
        for one in self.chunks:
            if (found := self._kept.get((grid.name, one.cell.at))) is not None:
                self._put(one, found[0])
        self.colour()

    def _shown(self, cell: GridCell) -> ShownChunk:
        ends = []
        for axis, length in zip((self.across, self.down), self.size, strict=True):
            first = max(cell.box.begin[axis] - self.at[axis], 0)
            ends.append((first, min(cell.box.end[axis] - self.at[axis], length) - first))
        (x, width), (y, height) = ends
        return ShownChunk(cell, x, y, width, height)

    def pending(self, left: int, top: int, right: int, bottom: int) -> list[GridCell]:
        return [
            one.cell
            for one in self.chunks
            if self.states[one.cell.at] is ChunkState.PENDING and one.meets(left, top, right, bottom)
        ]

    def put(self, found: Sequence[tuple[GridCell, Chunk]]) -> None:
        places = {one.cell.at: one for one in self.chunks}
        for cell, chunk in found:
            if (one := places.get(cell.at)) is not None:
                self._put(one, chunk)
        self.colour()

    def _put(self, one: ShownChunk, chunk: Chunk) -> None:
        if isinstance(chunk, ShardError):
            self.states[one.cell.at] = ChunkState.UNREADABLE
            self.error = self.error or chunk
        elif chunk is None:
            self.states[one.cell.at] = ChunkState.MISSING if self.grid.whole else ChunkState.ELSEWHERE
        else:
            self.states[one.cell.at] = ChunkState.SHOWN
            self._copy(chunk, one.cell.box)

    def _copy(self, chunk: NDArray[Any], place: VoxelBox) -> None:
        elements = chunk[..., self.channel] if self.grid.inner else chunk
        out = self.values.T if self.across < self.down else self.values
        others = tuple(axis for axis in range(elements.ndim) if axis not in (self.across, self.down))
        copy_box(elements, place, np.expand_dims(out, others), self.box)

    def colour(self) -> None:
        # Loaded when a slice is shown, since summaries of files import this module.
        from shardcore.operations.content.arrays import label_colours
        from shardscope.views.preview.array_view import level_colours

        if self.look == "labels":
            self.pixels = label_colours(self.values)
            return
        if self.chosen is None:
            seen = self.seen()
            seen = seen[np.isfinite(seen)] if seen.dtype.kind == "f" else seen
            self.levels = (float(seen.min()), float(seen.max())) if seen.size else self.levels
        self.pixels = level_colours(self.values, *(self.chosen or self.levels), self.look)

    def seen(self) -> NDArray[Any]:
        states = set(self.states.values())
        return self.values.ravel() if states == {ChunkState.SHOWN} else self.values[self._mask()]

    def _mask(self) -> NDArray[np.bool_]:
        mask = np.zeros(self.values.shape, np.bool_)
        for one in self.chunks:
            if self.states[one.cell.at] is ChunkState.SHOWN:
                mask[one.y : one.y + one.height, one.x : one.x + one.width] = True
        return mask

    def image(self) -> QImage:
        pixels = np.ascontiguousarray(self.pixels, np.uint32)
        rows, columns = pixels.shape
        return QImage(pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGB32).copy()

    def index_of(self, x: int, y: int) -> tuple[int, ...]:
        index = list(self.at)
        index[self.across] += x
        index[self.down] += y
        return tuple(index)

    def pixel_of(self, index: Sequence[int]) -> tuple[int, int]:
        return index[self.across] - self.at[self.across], index[self.down] - self.at[self.down]

    def value_at(self, x: int, y: int) -> str:
        one = next((one for one in self.chunks if one.meets(x, y, x + 1, y + 1)), None)
        state = self.states[one.cell.at] if one is not None else ChunkState.PENDING
        return str(self.values[y, x]) if state is ChunkState.SHOWN else state.value
