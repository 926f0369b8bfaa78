"""Parsing of the `info` of a data set: key spaces, their folders, sharding and grids.

Six kinds of key space can be sharded: scales of a volume, multi-resolution meshes, skeletons, and annotations by id,
by related object and by grid cell.
"""

from __future__ import annotations

import functools
import math
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from shardcore.codecs.json_text import JsonLimits, parse_json, whole_number
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, SourceError
from shardcore.formats.neuroglancer.morton import check_grid, decode, grid_of
from shardcore.formats.neuroglancer.sharding import IDENTITY, SHARDING_TYPE, ShardingSpec
from shardcore.model.chunk_grid import VoxelBox
from shardcore.model.span import Span
from shardcore.model.text import short
from shardcore.sources.base import NAME_LIMIT, check_name

VOLUME_TYPE = "neuroglancer_multiscale_volume"
MESH_TYPE = "neuroglancer_multilod_draco"
SKELETON_TYPE = "neuroglancer_skeletons"
ANNOTATION_TYPE = "neuroglancer_annotations_v1"
PROPERTIES_TYPE = "neuroglancer_segment_properties"
"""`@type` of segment properties, which have no keys: all data is in the info."""
DATA_TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32")
BESIDE = "../"
"""Prefix of a folder outside that of the info; opened only if the user agrees."""
INFO_LIMIT = 16 << 20
AXES_LIMIT = 64
"""Maximum number of axes of a grid: a compressed Morton code has 64 bits."""
TITLE_LETTERS = 200
LENGTH_LIMIT = 1 << 64
INFO_LIMITS = JsonLimits(size=INFO_LIMIT)
_BLOCK_SIZE = "compressed_segmentation_block_size"
FOLDER_MEMBERS = ("mesh", "skeletons")
"""Members of a volume's info that are names of folders."""

Place = tuple[str | int, ...]
"""Path of a key space in an info, such as `("scales", 0)`; empty for the info itself."""


class SpaceKind(Enum):
    VOLUME = "volume"
    MESH = "mesh"
    SKELETON = "skeleton"
    ANNOTATION_ID = "annotation by id"
    ANNOTATION_RELATION = "annotation by relation"
    ANNOTATION_SPATIAL = "annotation spatial"
    UNKNOWN = "unknown"

    @property
    def object_kind(self) -> str:
        return _OBJECT_KINDS[self]


_OBJECT_KINDS = {
    SpaceKind.VOLUME: "chunk",
    SpaceKind.MESH: "mesh",
    SpaceKind.SKELETON: "skeleton",
    SpaceKind.ANNOTATION_ID: "annotation",
    SpaceKind.ANNOTATION_RELATION: "annotation list",
    SpaceKind.ANNOTATION_SPATIAL: "annotation cell",
    SpaceKind.UNKNOWN: "object",
}


@dataclass(frozen=True, slots=True)
class SpaceMember:
    """Member of an info that describes one key space or a list of them; if `member` is empty, the info itself does.

    `name` is the name of the key space; in a list, the value of an item's member `title` is added. `label` is the name
    used in errors.
    """

    kind: SpaceKind
    member: str
    name: str
    title: str = ""
    label: str = ""
    optional: bool = False

    def parts(self, info: Mapping[str, Any]) -> Iterator[tuple[Place, str, object]]:
        """Yield the place, the name and the description of each key space; raise FormatError if a list is missing."""
        if not self.title:
            yield ((self.member,), self.name, info.get(self.member)) if self.member else ((), self.name, info)
            return
        for number, part in enumerate(_list(self.member, info.get(self.member, [] if self.optional else None))):
            title = part.get(self.title, number) if isinstance(part, Mapping) else number
            yield (self.member, number), f"{self.name} {_title(title)}", part


SPACE_MEMBERS: Mapping[str, tuple[SpaceMember, ...]] = {
    VOLUME_TYPE: (SpaceMember(SpaceKind.VOLUME, "scales", "scale", "key"),),
    MESH_TYPE: (SpaceMember(SpaceKind.MESH, "", "meshes"),),
    SKELETON_TYPE: (SpaceMember(SpaceKind.SKELETON, "", "skeletons"),),
    ANNOTATION_TYPE: (
        SpaceMember(SpaceKind.ANNOTATION_ID, "by_id", "annotations by id", label="by id"),
        SpaceMember(SpaceKind.ANNOTATION_RELATION, "relationships", "annotations by relation", "id", optional=True),
        SpaceMember(SpaceKind.ANNOTATION_SPATIAL, "spatial", "annotations by cell", "key", optional=True),
    ),
}
"""Key spaces by `@type` of the info, in the order in which they are listed."""


@dataclass(frozen=True, slots=True)
class VolumeScale:
    """One scale of a volume; axes are x, y, z, lengths are in voxels.

    `resolution` is in nanometres per voxel, empty if unknown. `labels` is True for segment IDs. `block_size` is that
    of `compressed_segmentation`. `capitals` are members written with capital letters, which strict readers reject.
    """

    size: tuple[int, ...]
    chunk_size: tuple[int, ...]
    voxel_offset: tuple[int, ...]
    encoding: str
    data_type: str
    num_channels: int
    resolution: tuple[float, ...] = ()
    labels: bool = False
    block_size: tuple[int, ...] = (8, 8, 8)
    capitals: tuple[str, ...] = ()

    @property
    def chunk_bytes(self) -> int:
        """Size in bytes of a raw chunk that is not cropped; voxels of unknown type count as one byte per channel."""
        itemsize = np.dtype(self.data_type).itemsize if self.data_type in DATA_TYPES else 1
        return math.prod(self.chunk_size) * self.num_channels * itemsize

    def box_of(self, cell: Sequence[int]) -> VoxelBox:
        """Return the half-open box of voxels of a cell; the last cell of an axis ends where the volume ends."""
        begin = [at * step for at, step in zip(cell, self.chunk_size, strict=True)]
        end = [min(at + step, size) for at, step, size in zip(begin, self.chunk_size, self.size, strict=True)]
        return VoxelBox(
            tuple(at + offset for at, offset in zip(begin, self.voxel_offset, strict=True)),
            tuple(at + offset for at, offset in zip(end, self.voxel_offset, strict=True)),
        )


@dataclass(frozen=True, slots=True)
class KeySpace:
    """One set of keys, with its own folder (relative to the info; empty: the same folder) and sharding specification.

    `grid` has the cells per axis if keys are compressed Morton codes. If `sharded` is False, each object is a file,
    and `spec` is not used.
    """

    kind: SpaceKind
    name: str
    folder: str
    spec: ShardingSpec
    grid: tuple[int, ...] | None = None
    scale: VolumeScale | None = None
    sharded: bool = True

    def cell_of(self, key: int) -> tuple[int, ...] | None:
        """Return the grid cell of a key, None if keys are not Morton codes; raise FormatError for an invalid code."""
        return None if self.grid is None else decode(key, self.grid)

    def meaning_of(self, key: int) -> dict[str, object]:
        """Return cell, voxel box and layout of a key that is a Morton code; empty for ids."""
        try:
            cell = self.cell_of(key)
        except FormatError as error:
            return {"error": error.message}
        if cell is None or self.scale is None:
            return {} if cell is None else {"cell": list(cell)}
        scale, box = self.scale, self.scale.box_of(cell)
        meaning: dict[str, object] = {
            "cell": list(cell),
            "voxel_begin": list(box.begin),
            "voxel_end": list(box.end),
            "shape": [*box.shape, scale.num_channels],
            "encoding": scale.encoding,
            "data_type": scale.data_type,
        }
        return meaning | ({"order": "F"} if scale.encoding == "raw" else {})

    @property
    def content(self) -> str:
        return "volume" if self.kind is SpaceKind.VOLUME else self.name

    @property
    def title(self) -> str:
        return self.name if self.sharded else f"{self.name}, one file per {self.kind.object_kind}"

    @property
    def details(self) -> str:
        stored = "sharded" if self.sharded else f"one file per {self.kind.object_kind}"
        if (scale := self.scale) is None:
            return f"{self.name} · {stored}"
        kind = "segmentation" if scale.labels else "image"
        size = " × ".join(f"{length:,}" for length in scale.size)
        nanometres = " × ".join(f"{length:g}" for length in scale.resolution)
        return " · ".join((f"{kind} scale", f"{size} voxels", *([f"{nanometres} nm"] if nanometres else ()), stored))


@dataclass(frozen=True, slots=True)
class Info:
    """Content of an `info` file: sharded key spaces (`spaces`) and those with one file per object (`files`).

    `others` has a sentence for each unusable key space, and for deviations that strict readers reject. `folders` are
    the mesh and skeleton folders of a volume, which have their own info.
    """

    kind: str
    spaces: tuple[KeySpace, ...]
    others: tuple[str, ...]
    folders: tuple[str, ...] = ()
    files: tuple[KeySpace, ...] = ()

    @property
    def key_spaces(self) -> tuple[KeySpace, ...]:
        return (*self.spaces, *self.files)

    @property
    def scales(self) -> tuple[KeySpace, ...]:
        return tuple(space for space in self.key_spaces if space.scale is not None)

    def space_of(self, folder: str) -> KeySpace | None:
        return next((space for space in self.spaces if space.folder == folder), None)


def parse_info(text: str | bytes | Mapping[str, Any]) -> Info:
    """Parse an info; invalid key spaces are reported in `others`, and the rest is used.

    Raises FormatError if the text is not the info of a data set that can be sharded.
    """
    if isinstance(text, bytes):
        read = _parse_cached(text)
        if isinstance(read, FormatError):
            raise FormatError(read.message, span=read.span)
        return read
    return _info_of(text if isinstance(text, Mapping) else _json_object(text))


@functools.lru_cache(maxsize=2)
def _parse_cached(text: bytes) -> Info | FormatError:
    """Return the parsed info, or the error if it is invalid; cached, because both detection and opening need it."""
    try:
        return _info_of(_json_object(text))
    except FormatError as error:
        return error.with_traceback(None)


def _info_of(members: Mapping[str, Any]) -> Info:
    kind = type_of(members)
    if kind == SHARDING_TYPE:
        return Info(kind, (unnamed_space(members),), ())
    if not isinstance(kind, str) or kind not in SPACE_MEMBERS:
        raise FormatError(f"info of type {short(kind)} is not a volume, mesh, skeleton or annotation data set")
    spaces: list[KeySpace] = []
    typed = kind == VOLUME_TYPE or "@type" in members
    others = [] if typed else [f"{kind}: the info has no @type; strict readers reject it"]
    for one in SPACE_MEMBERS[kind]:
        for _, name, part in one.parts(members):
            try:
                spaces.append(_space(one.kind, name, part, members))
            except (FormatError, SourceError) as error:
                others.append(f"{one.label or name}: {error.message}")
    folders = []
    for name in FOLDER_MEMBERS if kind == VOLUME_TYPE else ():
        try:
            if name in members and (folder := _folder(members[name])):
                folders.append(folder)
        except (FormatError, SourceError) as error:
            others.append(f"{name}: {error.message}")
    sharded = tuple(space for space in spaces if space.sharded)
    files = tuple(space for space in spaces if not space.sharded)
    return Info(str(kind), sharded, tuple(others), tuple(dict.fromkeys(folders)), files)


def unnamed_space(sharding: Mapping[str, Any]) -> KeySpace:
    """Return the key space of a sharding object without an info."""
    return KeySpace(SpaceKind.UNKNOWN, "keys", "", ShardingSpec.parse(sharding))


@functools.lru_cache(maxsize=2)
def info_members(text: bytes) -> Mapping[str, Any]:
    """Return the members of an info from its text, cached; an empty mapping if it is empty or not an object."""
    members = parse_json(text, "the info", limits=INFO_LIMITS, encoding="utf-8-sig") if text else {}
    return members if isinstance(members, Mapping) else {}


def type_of(members: Mapping[str, Any]) -> object:
    """Return the `@type`; if missing, infer a volume or skeletons from the other members."""
    for kind, member in ((VOLUME_TYPE, "scales"), (SKELETON_TYPE, "vertex_attributes")):
        if members.get("@type") is None and isinstance(members.get(member), list):
            return kind
    return members.get("@type")


UNSHARDED = ShardingSpec(0, IDENTITY, 0, 0)


def _space(kind: SpaceKind, name: str, part: object, top: Mapping[str, Any]) -> KeySpace:
    """Return the key space described by `part`, which is a part of the info `top` or `top` itself."""
    if not isinstance(part, Mapping):
        raise FormatError(f"its description is {type(part).__name__}, not an object")
    sharding = part.get("sharding")
    spec = ShardingSpec.parse(sharding) if sharding is not None else UNSHARDED
    folder = "" if part is top else _folder(part.get("key"), beside=True)
    grid, scale = None, None
    if kind is SpaceKind.VOLUME:
        scale = _scale(part, top)
        grid = grid_of(scale.size, scale.chunk_size)
    elif kind is SpaceKind.ANNOTATION_SPATIAL:
        grid = _lengths("grid_shape", part.get("grid_shape"))
    if grid is not None and sharding is not None:
        check_grid(grid)
    return KeySpace(kind, name, folder, spec, grid, scale, sharding is not None)


def _scale(part: Mapping[str, Any], top: Mapping[str, Any]) -> VolumeScale:
    chunk_sizes = _list("chunk_sizes", part.get("chunk_sizes"))
    if not chunk_sizes or (len(chunk_sizes) != 1 and part.get("sharding") is not None):
        raise FormatError(f"a sharded scale must have one chunk size; this scale has {len(chunk_sizes)}")
    offset = part.get("voxel_offset", [0, 0, 0])
    channels = top.get("num_channels", 1)
    if isinstance(channels, bool) or not isinstance(channels, int) or not 1 <= channels < 1 << 32:
        raise FormatError(f"num_channels is {short(channels)}; it must be a positive integer of at most 32 bits")
    encoding, data_type = _title(part.get("encoding", "raw")), _title(top.get("data_type", ""))
    names = {"encoding": encoding, "data_type": data_type}
    return VolumeScale(
        size=_lengths("size", part.get("size")),
        chunk_size=_lengths("chunk_sizes", chunk_sizes[0]),
        voxel_offset=_lengths("voxel_offset", offset, signed=True),
        encoding=encoding.lower(),
        data_type=data_type.lower(),
        num_channels=channels,
        resolution=_resolution(part.get("resolution")),
        labels=top.get("type") == "segmentation",
        block_size=_lengths(_BLOCK_SIZE, part[_BLOCK_SIZE]) if part.get(_BLOCK_SIZE) is not None else (8, 8, 8),
        capitals=tuple(f"{name} is {short(value)}" for name, value in names.items() if value != value.lower()),
    )


def _resolution(value: object) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) != 3:
        return ()
    numbers = [one for one in value if isinstance(one, (int, float)) and not isinstance(one, bool) and 0 < one < 1e18]
    return tuple(map(float, numbers)) if len(numbers) == 3 else ()


def _lengths(name: str, value: object, *, signed: bool = False) -> tuple[int, ...]:
    listed = _list(name, value)
    if len(listed) == 3 and all(type(number) is int and 0 <= number <= LENGTH_LIMIT for number in listed):
        return tuple(listed)
    numbers = []
    for number in listed[: AXES_LIMIT + 1]:
        whole = isinstance(number, int) or (isinstance(number, float) and number.is_integer())
        if isinstance(number, bool) or not whole or (number < 0 and not signed):
            raise FormatError(f"{name} is {short(value)}; it must be a list of integers")
        numbers.append(whole_number(number, f"a number of {name}", -LENGTH_LIMIT, LENGTH_LIMIT))
    if name != "grid_shape" and len(listed) != 3:
        raise FormatError(f"{name} is {short(value)}; it must be three numbers")
    if len(listed) > AXES_LIMIT:
        raise FormatError(f"{name} has {len(listed)} axes; the limit is {AXES_LIMIT}")
    return tuple(numbers)


def _list(name: str, value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise FormatError(f"{name} is {type(value).__name__}, not a list")
    return value


def _folder(key: object, *, beside: bool = False) -> str:
    """Return the path `key` normalised; it must be below the folder of the info or, with `beside`, next to it."""
    if not isinstance(key, str):
        raise FormatError(f"key is {short(key)}, not a name")
    if len(key) > NAME_LIMIT:
        return check_name(key)
    normal = posixpath.normpath(key) if key else "."
    below = normal.removeprefix(BESIDE) if beside else normal
    return "" if normal == "." else normal[: -len(below)] + check_name(below)


def _title(value: object) -> str:
    text = value if isinstance(value, str) else str(value) if isinstance(value, int) else short(value)
    return text if len(text) <= TITLE_LETTERS else text[:TITLE_LETTERS] + "…"


def _json_object(text: str | bytes) -> Mapping[str, Any]:
    place = Span("info", 0, len(text)) if isinstance(text, bytes) else None
    members = parse_json(text, "the info", limits=INFO_LIMITS, span=place, encoding="utf-8-sig")
    if not isinstance(members, Mapping):
        raise FormatError(f"the info is not an object but {type(members).__name__}")
    return members
