"""Chunks of a volume: arrays, decoding, file names, and the chunk grid of a scale ("Chunk encodings").

A JPEG or PNG image has the voxels in the order x (fastest), y, z; only the product of its width and height is fixed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decoder_process import TaskRunner, run_task
from shardcore.codecs.images import decode_samples, picture_header
from shardcore.dataclasses import replace
from shardcore.errors import FormatError, LimitExceeded, ShardError, Unsupported, UsageError, raise_if_lost
from shardcore.formats.neuroglancer.info import DATA_TYPES, KeySpace, VolumeScale, parse_info
from shardcore.formats.neuroglancer.morton import Codes, decode, decode_many, encode, encode_many
from shardcore.formats.neuroglancer.segmentation import ENCODING as SEGMENTATION
from shardcore.formats.neuroglancer.segmentation import SegmentationParts, channel_blocks, decode_labels
from shardcore.model.chunk_grid import GridCell, GridScale, VoxelBox
from shardcore.model.content_layout import RAW, ArrayLayout, ContentPart
from shardcore.model.objects import ObjectRef, located
from shardcore.model.parallel import in_order
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.stored_grid import StoredGrid

if TYPE_CHECKING:
    from shardcore.formats.neuroglancer.file import NeuroglancerFile
    from shardcore.formats.neuroglancer.objects import NeuroglancerObjects
    from shardcore.shards.shard import Shard

PICTURES = ("jpeg", "png")
MOST_BYTES = 1 << 28
"""Maximum decoded size of a chunk in bytes."""

MANIFEST = ".index"
"""Suffix of the manifest file of an unsharded mesh; the file with its fragments has the same name without suffix."""
ENDINGS = {".gz": "gzip", ".br": "brotli", ".zstd": "zstd"}
"""Suffixes of compressed files in an unsharded data set, as cloud-volume writes them, and their codecs."""
_CHUNK = re.compile(r"(-?[0-9]{1,19})-(-?[0-9]{1,19})_(-?[0-9]{1,19})-(-?[0-9]{1,19})_(-?[0-9]{1,19})-(-?[0-9]{1,19})")
_CELL = re.compile(r"[0-9]{1,19}")

MemberOf = Callable[[int, int], tuple[str, "NeuroglancerFile", "NeuroglancerObjects"] | None]
"""Function that opens a shard, passed its number and the minishard to read next; returns None if it does not exist."""

Found = ObjectRef | ShardError | None


# --- the array of a chunk ---------------------------------------------------------------------------------------


def volume_of(space: KeySpace) -> tuple[VolumeScale, tuple[int, ...], np.dtype[np.generic]]:
    """Return scale, grid and voxel type; raise FormatError if it is not a volume, Unsupported for an unknown type."""
    if space.scale is None or space.grid is None:
        raise FormatError(f"{space.name} is not a volume")
    if space.scale.data_type not in DATA_TYPES:
        raise Unsupported(f"data_type {space.scale.data_type!r} is not supported")
    return space.scale, space.grid, np.dtype(space.scale.data_type).newbyteorder("<")


def chunk_sizes(space: KeySpace, keys: Codes) -> NDArray[np.int64]:
    """Return the sizes of raw chunks in bytes, one per key; -1 if no cell has the key."""
    scale, grid, dtype = volume_of(space)
    if scale.encoding != RAW:
        raise Unsupported(f"chunk encoding {scale.encoding!r} is not supported")
    if scale.chunk_bytes >= 1 << 62:
        raise FormatError(f"a chunk of {list(scale.chunk_size)} voxels is larger than any file")
    cells, valid = decode_many(keys, grid)
    sizes = np.full(len(keys), scale.num_channels * dtype.itemsize, np.int64)
    for axis, (length, step, count) in enumerate(zip(scale.size, scale.chunk_size, grid, strict=True)):
        # Only the last cell of an axis is cropped.
        last = length - (count - 1) * step
        sizes *= np.where(cells[:, axis] == np.uint64(count - 1), min(last, step), min(step, length))
    return np.where(valid, sizes, -1)


def chunk_layout(space: KeySpace, key: int) -> ArrayLayout:
    """Return the layout of a decoded chunk: axes x, y, z and channel, x fastest."""
    scale, grid, dtype = volume_of(space)
    box = scale.box_of(decode(key, grid))
    return ArrayLayout(
        dtype,
        (*box.shape, scale.num_channels),
        "F",
        axes=("x", "y", "z", "channel"),
        begin=(*box.begin, 0),
        encoding=scale.encoding,
        block=scale.block_size if scale.encoding == SEGMENTATION else (),
        units=("nm", "nm", "nm", "") if scale.resolution else (),
        resolution=(*scale.resolution, 1) if scale.resolution else (),
    )


def chunk_array(space: KeySpace, key: int, data: bytes, *, decoder: TaskRunner = run_task) -> NDArray[np.generic]:
    """Return a decoded chunk as a read-only array of shape `(x, y, z, channel)`; raises like `decode_chunk`."""
    layout, data = decode_chunk(chunk_layout(space, key), data, decoder=decoder)
    if len(data) != layout.nbytes:
        text = f"{'×'.join(map(str, layout.shape))} values of {layout.dtype.name} take {layout.nbytes:,}"
        raise FormatError(f"chunk {key} has {plural(len(data), 'byte')}; {text}")
    return layout.of(data)


# --- names of files, in key spaces that are not sharded ---------------------------------------------------------


def split_name(name: str) -> tuple[str, str]:
    """Return a file name without its compression suffix (such as `.gz`), and the codec: `none` if it has no suffix."""
    stem, dot, ending = name.rpartition(".")
    codec = ENDINGS.get(dot + ending) if stem else None
    return (name, "none") if codec is None else (stem, codec)


def plain_name(name: str) -> str:
    return split_name(name)[0]


def chunk_key(name: str, space: KeySpace) -> str | None:
    """Return the key of a chunk file such as `0-64_64-128_0-30`, None for other names.

    Raises UsageError if the volume has no such chunk.
    """
    match = _CHUNK.fullmatch(name)
    scale, grid = space.scale, space.grid
    if match is None or scale is None or grid is None:
        return None
    numbers = [int(number) for number in match.groups()]
    begin, end = tuple(numbers[::2]), tuple(numbers[1::2])
    steps = zip(begin, scale.voxel_offset, scale.chunk_size, strict=True)
    cell = tuple((at - offset) // step for at, offset, step in steps)
    inside = all(0 <= at < length for at, length in zip(cell, grid, strict=True))
    if not inside or scale.box_of(cell) != VoxelBox(begin, end):
        raise UsageError(f"{name} is not a chunk of {space.name}: size, offset or chunk size in the info differ")
    return str(encode(cell, grid))


def cell_key(name: str, space: KeySpace) -> str | None:
    """Return the key of a cell file such as `1_0_2`, None for other names; raise UsageError outside the grid."""
    parts, grid = name.split("_"), space.grid or ()
    if len(parts) != len(grid) or not all(_CELL.fullmatch(part) for part in parts):
        return None
    cell = tuple(map(int, parts))
    if any(at >= length for at, length in zip(cell, grid, strict=True)):
        raise UsageError(f"{name} is not a cell of {space.name}: its grid is {', '.join(map(str, grid))}")
    return str(encode(cell, grid))


# --- encodings --------------------------------------------------------------------------------------------------


def decode_chunk(
    layout: ArrayLayout, data: bytes, *, decoder: TaskRunner = run_task, place: Span | None = None
) -> tuple[ArrayLayout, bytes]:
    """Return the voxels of an encoded chunk, x fastest, and their raw layout.

    Args:
        layout: Layout of the chunk, with its encoding.
        data: The encoded chunk.
        decoder: Function that runs the decoder of an image, such as `Shard.decoder`; default: in this process.
        place: Span of the chunk, for errors.

    Raises:
        Unsupported: This encoding cannot be decoded.
        PackageMissing: The decoder is not installed.
        FormatError: The bytes are invalid, or the number or type of voxels is not that of the layout.
        LimitExceeded: The chunk decodes to more than `MOST_BYTES`.
    """
    if layout.encoding == RAW:
        return layout, data
    if layout.nbytes > MOST_BYTES:
        size = plural(layout.nbytes, "byte")
        raise LimitExceeded(f"the chunk has {size} of voxels; the limit is {MOST_BYTES:,}", span=place)
    if layout.encoding == SEGMENTATION:
        return replace(layout, encoding=RAW), decode_labels(data, layout, place)
    if layout.encoding in PICTURES:
        return replace(layout, encoding=RAW), _picture(layout, data, decoder, place)
    raise Unsupported(f"chunk encoding {layout.encoding!r} is not supported", span=place)


def chunk_parts(layout: ArrayLayout, stored: ContentPart, read: Callable[[], bytes]) -> Sequence[ContentPart]:
    if layout.encoding != SEGMENTATION or not stored.exact or layout.nbytes > MOST_BYTES:
        return (ContentPart(0, layout.nbytes, stored.stored),)
    return SegmentationParts(layout, channel_blocks(read(), layout, stored.stored), stored.stored)


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
        raise FormatError(
            f"the image has {found}; the chunk requires {plural(channels, 'channel')} of {layout.dtype.name}",
            span=place,
        )
    return np.ascontiguousarray(samples.reshape(voxels, channels).T).tobytes()


# --- the grid ---------------------------------------------------------------------------------------------------


class VolumeGrid(StoredGrid):
    """Chunk grid of one scale of the data set `shard`; `text` is the info, empty if there is none."""

    axes = ("x", "y", "z")

    def __init__(self, shard: Shard, space: KeySpace, text: bytes) -> None:
        scale, _, self.dtype = volume_of(space)
        self.shard, self.space = shard, space
        self.name = space.name
        scales = [(each.name, each.scale) for each in parse_info(text).scales] if text else ()
        self.scales = tuple(GridScale(name, one.size, one.resolution) for name, one in scales if one is not None)
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
            return chunk_array(self.space, encode(cell.at, self.counts), data, decoder=self.shard.decoder)
        return np.frombuffer(data, self.dtype).reshape((*cell.box.shape, *self.inner), order="F")


class ShardedGrid(VolumeGrid):
    """Chunk grid of a sharded scale; with `one_file`, it has only the chunks in the opened shard file."""

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
                raise_if_lost(error)
                return [(number, error) for number in numbers]

        for listed in in_order(look_up, groups.items(), self.shard.jobs if len(groups) > 1 else 1):
            for number, ref in listed:
                found[number] = ref
        return found

    def _listed(self, shard: int, minishard: int, keys: NDArray[np.uint64]) -> list[Found]:
        opened = self._member_of(shard, minishard)
        if opened is None:
            return [None] * len(keys)
        name, file, objects = opened
        entries, _ = file.levels.minishard(minishard, file.source)
        if not len(entries):
            return [None] * len(keys)
        order = np.argsort(entries.ids, kind="stable")
        rows = order[np.minimum(np.searchsorted(entries.ids, keys, sorter=order), len(order) - 1)]
        there = (entries.ids[rows] == keys).tolist()
        refs = [objects.of_entry(entries, row) if it else None for row, it in zip(rows.tolist(), there, strict=True)]
        first = None if self._one_file else self.shard.first_row_of(name)  # type: ignore[attr-defined]
        return [one if self._one_file or one is None else located(one, name, first) for one in refs]
