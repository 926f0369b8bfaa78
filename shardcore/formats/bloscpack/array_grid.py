"""Chunk grid of an array in a Bloscpack file or in a bcolz column.

A chunk has consecutive elements, so only the slowest axis is divided: the first in C order, the last in F order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import replace
from shardcore.errors import DEFAULT_LIMIT, FormatError, ShardError
from shardcore.formats.bloscpack.lookup import ALL
from shardcore.model.chunk_grid import ElementLocation, GridCell, VoxelBox
from shardcore.model.content_layout import ArrayLayout
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.shards.shard import Shard
from shardcore.shards.stored_grid import StoredGrid

FileOf = Callable[[int], str | None]
"""Function that returns the file name of a chunk; None if the file is missing."""

Places = Callable[[int, int], tuple[int, int]]
"""Function that returns the offsets in the file of two chunks, given by number; -1 if unknown."""


class ArrayGrid(StoredGrid):
    """Array divided along its slowest axis into cells, each with as many indices as fit into a chunk, at least one.

    Args:
        shard: The shard with the array as the object `all`.
        layout: Type, shape and order of the array.
        chunk_bytes: Uncompressed bytes of a chunk.
        file_of: Returns the file name of a chunk: "" for a single file, None if the file is missing.
        places: Returns the start offsets of two chunks, for prefetching; -1 if unknown.
    """

    def __init__(
        self,
        shard: Shard,
        layout: ArrayLayout,
        chunk_bytes: int,
        file_of: FileOf = lambda _: "",
        places: Places = lambda first, last: (-1, -1),
    ) -> None:
        self.shard, self.layout = shard, layout
        self.dtype, self.order = layout.dtype, layout.order
        self.box = VoxelBox((0,) * len(layout.shape), layout.shape)
        self._chunk_bytes = chunk_bytes
        self._file_of = file_of
        self._places = places
        self.axis = 0 if layout.order == "C" else len(layout.shape) - 1
        self._place_bytes = layout.nbytes // layout.shape[self.axis]
        edge = max(chunk_bytes // self._place_bytes, 1)
        self.chunk = tuple(edge if axis == self.axis else length for axis, length in enumerate(layout.shape))
        self._all: ObjectRef | None = None

    def cell(self, at: tuple[int, ...]) -> GridCell:
        box = self.box_at(at)
        number = box.begin[self.axis] * self._place_bytes // self._chunk_bytes
        return GridCell(at, box, str(number), self._file_of(number) or "")

    def refs(self, cells: Sequence[GridCell]) -> list[ObjectRef | ShardError | None]:
        return list(map(self._ref, cells))

    def _ref(self, cell: GridCell) -> ObjectRef | None:
        start, stop = self._bytes_of(cell.box)
        numbers = range(start // self._chunk_bytes, -(-stop // self._chunk_bytes))
        if any(self._file_of(number) is None for number in numbers):
            return None
        if self._all is None:
            self._all = self.shard.find(ALL)
        # The chunks of the cell, for prefetching, if their offsets are known.
        first, last = self._places(numbers.start, numbers.stop)
        return replace(self._all, spans=(Span("", first, last),) if 0 < first < last else ())

    def _bytes_of(self, box: VoxelBox) -> tuple[int, int]:
        return box.begin[self.axis] * self._place_bytes, box.end[self.axis] * self._place_bytes

    def elements(self, cell: GridCell, ref: ObjectRef) -> NDArray[Any]:
        start, stop = self._bytes_of(cell.box)
        data = self.shard.read_range(ref, start, stop, limit=DEFAULT_LIMIT)
        if len(data) != stop - start:
            raise FormatError(f"the content ends at byte {start + len(data):#x}; the array at {self.layout.nbytes:#x}")
        return np.frombuffer(data, self.dtype).reshape(cell.box.shape, order="C" if self.layout.order == "C" else "F")

    def locate(self, index: Sequence[int]) -> ElementLocation:
        box = self.cell_of(index).box
        begin, end = self.layout.bytes_of(index)
        number, start = divmod(begin, self._chunk_bytes)
        at = tuple(0 if axis != self.axis else number for axis in range(len(self.shape)))
        name = self._file_of(number)
        cell = GridCell(at, box, str(number), name or "")
        if name is None:
            return ElementLocation(tuple(index), cell)
        ref = self.shard.find(str(number))
        return self._stored(ElementLocation(tuple(index), cell, ref, start, start + end - begin))


def array_grid(shard: Shard, layout: ArrayLayout | None, chunk_bytes: int, **more: Any) -> ArrayGrid | None:
    """Return the grid of an array; None without an array, without elements, or if `chunk_bytes` is not positive."""
    if layout is None or not layout.shape or not layout.nbytes or chunk_bytes <= 0:
        return None
    return ArrayGrid(shard, layout, chunk_bytes, **more)
