"""Data sets as Dask collections: a bag of shards, an array of voxels. Needs the extra `cluster`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import UsageError
from shardcore.model.chunk_grid import ChunkGrid
from shardcore.model.optional_packages import optional
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard
from shardcore.shards.tickets import ShardTicket, absolute, check_keys, folder_address, open_ticket

CHUNK_BYTES = 64 << 20
"""Maximum bytes of a block of the array, if `chunks` is not given."""


def to_bag(shard: Shard, function: Callable[[Shard], Any] | None = None, *, batch: int = 32, keys: bool = False) -> Any:
    """Return the shards of a data set as a `dask.bag.Bag`.

    Args:
        shard: Data set or single file, opened by a path or address that the workers can reach.
        function: Called with each opened shard; its results are the items of the bag, and must not refer to the shard.
            None: the items are tickets.
        batch: Number of shards per partition.
        keys: Whether tickets may contain credentials.
    """
    bag = optional("dask.bag").from_sequence(shard.tickets(keys=keys), partition_size=batch)
    return bag if function is None else bag.map(on_ticket, function)


def on_ticket(ticket: ShardTicket, function: Callable[[Shard], Any]) -> Any:
    with open_ticket(ticket) as shard:
        return function(shard)


def array(shard: Shard, scale: str = "", *, chunks: Sequence[int] | None = None, keys: bool = False) -> Any:
    """Return a volume or array as a `dask.array.Array` of shape `(*grid.shape, *grid.inner)`.

    Index 0 is the first voxel, even if the volume has a `voxel_offset`. Voxels of missing chunks are 0.

    Args:
        shard: Volume or array, opened by a path or address that the workers can reach.
        scale: Name of a scale; default: the scale that was opened.
        chunks: Elements per block along each axis; default: several whole chunks, together at most 64 MiB.
        keys: Whether tasks may contain credentials.
    """
    dask_array = optional("dask.array")
    if (grid := shard.chunk_grid(scale)) is None:
        raise UsageError(f"{shard.format}: its objects do not form one array")
    ticket = _whole_ticket(shard, same=not scale)
    if not keys:
        check_keys(ticket)
    shape, axes = (*map(int, grid.shape), *grid.inner), tuple(chunks or _usual_chunks(grid))
    return dask_array.map_blocks(
        grid_block,
        chunks=dask_array.core.normalize_chunks((*axes, *grid.inner), shape),
        dtype=grid.dtype,
        meta=np.empty((0,) * len(shape), grid.dtype),
        ticket=ticket,
        scale=scale,
        axes=len(grid.shape),
    )


def grid_block(ticket: ShardTicket, scale: str, axes: int, block_info: Any = None) -> NDArray[Any]:
    places = block_info[None]["array-location"][:axes]
    with open_ticket(ticket) as shard:
        grid = shard.chunk_grid(scale)
        assert grid is not None
        first = grid.box.begin
        return grid.read(tuple(slice(at + begin, at + end) for at, (begin, end) in zip(first, places, strict=True)))


def _whole_ticket(shard: Shard, *, same: bool) -> ShardTicket:
    """Return a ticket of the data set. `same`: for the opened scale, with its info, so that workers do not read it."""
    options = {name: value for name, value in shard.chosen.items() if name != "format"} | {"remote": shard.opened_with}
    if same and isinstance(shard, DataSet):
        where = folder_address(shard.folder.uri, shard.opened_at)
        return ShardTicket(where, shard.format, options | shard.ticket_options)
    if not shard.opened_at:
        raise UsageError("this shard was not opened by a path or address, so another process cannot open it")
    return ShardTicket(absolute(shard.opened_at), shard.format, options)


def _usual_chunks(grid: ChunkGrid) -> list[int]:
    """Return the block size: one chunk, doubled along each axis in turn while it fits into `CHUNK_BYTES`."""
    block = [min(step, length) for step, length in zip(grid.chunk, grid.shape, strict=True)]
    size = math.prod((*block, *grid.inner)) * grid.dtype.itemsize
    growing = True
    while growing:
        growing = False
        for axis, length in enumerate(grid.shape):
            if block[axis] < length and 2 * size <= CHUNK_BYTES:
                block[axis], size, growing = block[axis] * 2, size * 2, True
    return [min(step, length) for step, length in zip(block, grid.shape, strict=True)]
