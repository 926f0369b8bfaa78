"""Chunk grid of a volume scale: the voxel box of each chunk, and the location of each voxel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError, Unsupported, UsageError, source_lost
from shardcore.formats.neuroglancer.chunks import DATA_TYPES, chunk_array
from shardcore.formats.neuroglancer.info import Info, KeySpace, parse_info
from shardcore.formats.neuroglancer.morton import encode, encode_many
from shardcore.model.array_layout import RAW
from shardcore.model.chunk_grid import GridCell, GridScale, VoxelBox
from shardcore.model.objects import ObjectRef, located
from shardcore.model.parallel import in_order
from shardcore.shards.stored_grid import StoredGrid

if TYPE_CHECKING:
    from shardcore.formats.neuroglancer.file import NeuroglancerFile
    from shardcore.formats.neuroglancer.minishard import MinishardEntries
    from shardcore.formats.neuroglancer.objects import NeuroglancerObjects
    from shardcore.shards.shard import Shard

MemberOf = Callable[[int, int], tuple[str, "NeuroglancerFile", "NeuroglancerObjects"] | None]
"""Function that opens a shard by its number, to read a minishard; returns None if there is no such shard."""

Found = ObjectRef | ShardError | None


class VolumeGrid(StoredGrid):
    """Chunks of one scale of `shard`; `text` is the info, empty if there is none."""

    axes = ("x", "y", "z")

    def __init__(self, shard: Shard, space: KeySpace, text: bytes) -> None:
        scale = space.scale
        if scale is None or space.grid is None:
            raise UsageError(f"{space.name} is not a volume")
        if scale.data_type not in DATA_TYPES:
            raise Unsupported(f"data_type {scale.data_type!r} is not supported")
        self.shard, self.space = shard, space
        self.name = space.name
        self.scales = scales_of(parse_info(text)) if text else ()
        self.dtype = np.dtype(scale.data_type).newbyteorder("<")
        end = tuple(first + length for first, length in zip(scale.voxel_offset, scale.size, strict=True))
        self.box = VoxelBox(scale.voxel_offset, end)
        self.chunk, self.inner = scale.chunk_size, (scale.num_channels,)
        self.spacing, self.unit = scale.resolution, "nm" if scale.resolution else ""
        self.labels, self.encoding = scale.labels, scale.encoding

    @property
    def counts(self) -> tuple[int, ...]:
        return self.space.grid or ()

    def elements(self, cell: GridCell, ref: ObjectRef) -> NDArray[Any]:
        return self.decoded(cell, self.shard.read(ref))

    def raw_size(self, cell: GridCell) -> int | None:
        """Return the size of a decoded chunk in bytes; None if the encoding is not raw."""
        return math.prod((*cell.box.shape, *self.inner)) * self.dtype.itemsize if self.encoding == RAW else None

    def decoded(self, cell: GridCell, data: bytes) -> NDArray[Any]:
        if len(data) != self.raw_size(cell):
            number = encode(cell.at, self.counts)
            return chunk_array(self.space, number, data, decoder=self.shard.decoder)
        return np.frombuffer(data, self.dtype).reshape((*cell.box.shape, *self.inner), order="F")


class ShardedGrid(VolumeGrid):
    """Chunks of a sharded scale; with `one_file`, only the chunks in the open file."""

    def __init__(
        self, shard: Shard, space: KeySpace, text: bytes, member_of: MemberOf, *, one_file: bool = False
    ) -> None:
        super().__init__(shard, space, text)
        self._member_of = member_of
        self._one_file = one_file

    def cell(self, at: tuple[int, ...]) -> GridCell:
        place = self.space.spec.place(encode(at, self.counts))
        name = self.space.spec.shard_name(place.shard)
        return GridCell(at, self.box_at(at), str(place.key), name, place.minishard)

    def refs(self, cells: Sequence[GridCell]) -> list[Found]:
        """Return the objects of cells, None for missing chunks; reads each minishard once, several in parallel."""
        if not cells:
            return []
        keys = encode_many(np.array([cell.at for cell in cells], np.uint64), self.counts)
        minishards, shards = self.space.spec.place_many(keys)
        if self._one_file and not self.space.spec.shard_bits:
            shards = np.zeros_like(shards)
        groups: dict[tuple[int, int], list[int]] = {}
        for number, group in enumerate(zip(shards.tolist(), minishards.tolist(), strict=True)):
            groups.setdefault(group, []).append(number)
        found: list[Found] = [None] * len(cells)

        def look_up(group: tuple[tuple[int, int], list[int]]) -> list[tuple[int, Found]]:
            (shard, minishard), numbers = group
            try:
                return list(zip(numbers, self._listed(shard, minishard, keys[numbers]), strict=True))
            except ShardError as error:
                if source_lost(error):
                    raise
                return [(number, error) for number in numbers]

        jobs = self.shard.jobs if len(groups) > 1 else 1
        for listed in in_order(look_up, groups.items(), jobs):
            for number, ref in listed:
                found[number] = ref
        return found

    def _listed(self, shard: int, minishard: int, keys: NDArray[np.uint64]) -> list[Found]:
        opened = self._member_of(shard, minishard)
        if opened is None:
            return [None] * len(keys)
        name, file, objects = opened
        entries, _ = file.levels.minishard(minishard, file.source)
        rows = _first_rows(entries, keys)
        refs = [objects.of_entry(entries, row) if row >= 0 else None for row in rows.tolist()]
        first = None if self._one_file else self.shard.first_row_of(name)  # type: ignore[attr-defined]
        return [one if self._one_file or one is None else located(one, name, first) for one in refs]


def _first_rows(entries: MinishardEntries, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    order = np.argsort(entries.ids, kind="stable")
    at = np.searchsorted(entries.ids, keys, sorter=order)
    rows = np.full(len(keys), -1, np.int64)
    inside = at < len(order)
    rows[inside] = order[at[inside]]
    rows[inside] = np.where(entries.ids[rows[inside]] == keys[inside], rows[inside], -1)
    return rows


def scales_of(info: Info) -> tuple[GridScale, ...]:
    return tuple(
        GridScale(space.name, space.scale.size, space.scale.resolution)
        for space in info.scales
        if space.scale is not None
    )
