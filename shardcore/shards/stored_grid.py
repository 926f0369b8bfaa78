"""Grid of the array chunks in a shard: reads chunks in parallel, and locates the stored bytes of an element."""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from numpy.typing import NDArray

from shardcore.dataclasses import replace
from shardcore.errors import NoSuchObject, ShardError, raise_if_lost
from shardcore.model.chunk_grid import Chunk, ChunkGrid, ElementLocation, GridCell
from shardcore.model.content_layout import RAW, part_at
from shardcore.model.objects import ObjectRef
from shardcore.model.parallel import in_order
from shardcore.shards.prefetch import fetched_ahead
from shardcore.shards.shard import Shard

THREADS = min(os.cpu_count() or 1, 4)
"""Number of threads that read and decompress chunks of local files."""

TOGETHER_BYTES = 1 << 20
"""Maximum bytes of small local chunks that one task of a thread reads; a task per chunk would be slower."""


class StoredGrid(ChunkGrid):
    """Grid of the chunks of a shard or data set; both must stay open."""

    shard: Shard

    @abstractmethod
    def refs(self, cells: Sequence[GridCell]) -> list[ObjectRef | ShardError | None]:
        """Return the objects of cells, in order: None for a cell that is not stored, or the error of its lookup."""

    @abstractmethod
    def elements(self, cell: GridCell, ref: ObjectRef) -> NDArray[Any]:
        """Return the elements of a cell, shape `(*cell.box.shape, *inner)`.

        Raises:
            ShardError: The elements cannot be read or decoded.
        """

    def read_cells(self, cells: Iterable[GridCell]) -> Iterator[tuple[GridCell, Chunk]]:
        wanted = list(cells)

        def read(one: tuple[GridCell, ObjectRef | ShardError | None]) -> tuple[GridCell, Chunk]:
            cell, ref = one
            if not isinstance(ref, ObjectRef):
                return cell, ref
            try:
                return cell, self.elements(cell, ref)
            except NoSuchObject:
                return cell, None
            except ShardError as error:
                raise_if_lost(error)
                return cell, error

        things = zip(wanted, self.refs(wanted), strict=True)
        ahead = fetched_ahead(self.shard, things, lambda one: one[1] if isinstance(one[1], ObjectRef) else None)
        jobs = max(self.shard.jobs, THREADS) if len(wanted) > 1 else 1
        size = math.prod((*self.chunk, *self.inner)) * self.dtype.itemsize
        most = TOGETHER_BYTES // max(size, 1) if self.shard.jobs == 1 else 1
        together = max(min(most, len(wanted) // (4 * jobs)), 1)
        batches = iter(lambda: list(islice(ahead, together)), [])
        for batch in in_order(lambda batch: list(map(read, batch)), batches, jobs):
            yield from batch

    def locate(self, index: Sequence[int]) -> ElementLocation:
        cell = self.cell_of(index)
        ref = self.refs([cell])[0]
        if isinstance(ref, ShardError):
            raise ref
        return self.located_in(cell, tuple(index), ref)

    def located_in(self, cell: GridCell, index: tuple[int, ...], ref: ObjectRef | None) -> ElementLocation:
        if ref is None:
            return ElementLocation(index, cell)
        layout = self.shard.arrays.array_layout(ref)
        if layout is None:
            return ElementLocation(index, cell, ref, span=ref.spans[0] if ref.spans else None)
        inside = [at - first for at, first in zip(index, cell.box.begin, strict=True)]
        start, stop = layout.bytes_of((*inside, *(0,) * len(self.inner)))
        if ref.size < 0:
            # The index does not contain uncompressed sizes; for raw chunks the layout has them.
            size = layout.nbytes if layout.encoding == RAW else len(self.shard.read(ref))
            ref = replace(ref, size=size)
        return self._stored(ElementLocation(index, cell, ref, start, stop))

    def _stored(self, found: ElementLocation) -> ElementLocation:
        ref, start, stop = found.ref, found.start, found.stop
        assert ref is not None
        part = part_at(self.shard.content_parts(ref), start)
        span = part.span_of(start, stop) if part is not None else None
        return ElementLocation(found.index, found.cell, ref, start, stop, span, part is not None and part.exact)
