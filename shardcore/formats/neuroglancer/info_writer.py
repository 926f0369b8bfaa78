"""The `info` of a new data set: from given infos, from a kind of data, or from an array with its chunks."""

from __future__ import annotations

import json
import math
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, UsageError, failed, reported_as
from shardcore.formats.neuroglancer.info import (
    BESIDE,
    DATA_TYPES,
    MESH_TYPE,
    SKELETON_TYPE,
    SPACE_MEMBERS,
    UNSHARDED,
    VOLUME_TYPE,
    KeySpace,
    Place,
    SpaceKind,
    SpaceMember,
    parse_info,
    type_of,
)
from shardcore.formats.neuroglancer.morton import decode_many, encode_many
from shardcore.formats.neuroglancer.origin import given_origin
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.model.text import plural
from shardcore.writing.inputs import InputItem, check_unchanged
from shardcore.writing.writer import ArraySource

CHUNK = "64,64,64"
RESOLUTION = "1,1,1"
LABELS = ("uint32", "uint64")
"""Voxel types of arrays that are written as a segmentation unless the option `kind` is set."""
BLOCK = 1 << 16
"""Number of chunks whose Morton codes are computed in one step."""

Volume = str | Path | ArraySource  # path of a .npy file, or an array

IDENTITY_TRANSFORM = (1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)
KINDS = ("mesh", "skeleton", "image", "segmentation")
"""Values of the option `kind`; the last two are types of volumes."""


@dataclass(frozen=True, slots=True, eq=False)
class SpaceDescription:
    """A key space to be written, without its sharding specification.

    `members` is the info, or None if its details are unknown; `place` is the path of the key space in that info. `base`
    is the folder of the info, relative to the data set.
    """

    kind: SpaceKind = SpaceKind.UNKNOWN
    members: Mapping[str, Any] | None = None
    place: Place = ()
    base: str = ""

    def info(self, spec: ShardingSpec, members: Any = None, *, beside: bool = False) -> dict[str, Any]:
        """Return the info (default: `self.members`) with `spec`; with `beside`, for a shard in the info's folder."""
        members = members or self.members or {}
        if self.kind is SpaceKind.UNKNOWN:
            return dict(members)
        more = {"sharding": spec.to_json()} | ({"key": "."} if beside and self.place else {})
        return dict(_edited(members, self.place, lambda part: {**part, **more}))

    def spec_option(self, spec: ShardingSpec) -> dict[str, Any]:
        """Return a value for the option `spec` with which the shard can be opened without an info file."""
        if self.members is not None:
            return self.info(spec)
        return of_kind("mesh").info(spec) if self.kind is SpaceKind.MESH else spec.to_json()

    def space(self, spec: ShardingSpec = UNSHARDED) -> KeySpace:
        """Return the key space as parsed from the info; raise UsageError unless the info has exactly one."""
        if self.members is None:
            return KeySpace(self.kind, "keys", "", spec)
        try:
            found = parse_info(self.info(spec))
        except FormatError as error:
            raise UsageError(f"the info cannot be used: {error.message}") from error
        if len(found.spaces) != 1:
            raise UsageError(f"the info cannot be used: {'; '.join(found.others) or 'it has several key spaces'}")
        if found.spaces[0].folder.startswith(BESIDE):
            raise UsageError(f"the info cannot be used: {found.spaces[0].folder} is not below the data set")
        return found.spaces[0]

    def folder(self, space: KeySpace) -> str:
        return "/".join(part for part in (self.base, space.folder) if part)


def info_text(spaces: Sequence[tuple[SpaceDescription, ShardingSpec]], *, beside: bool = False) -> bytes:
    """Return the info of key spaces as JSON; with `beside`, of a single one whose shard is in the info's folder."""
    members: Any = None
    for described, spec in spaces:
        members = described.info(spec, members, beside=beside)
    return json.dumps(members, indent=2).encode() + b"\n"


def _edited(members: Any, place: Sequence[str | int], edit: Callable[[Any], Any]) -> Any:
    """Return a copy of the info in which the part at the path `place` is replaced by the result of `edit`."""
    if not place:
        return edit(members)
    copied: Any = list(members) if isinstance(members, list) else dict(members)
    copied[place[0]] = _edited(members[place[0]], place[1:], edit)
    return copied


def of_kind(kind: str) -> SpaceDescription:
    if kind == "mesh":
        members = {
            "@type": MESH_TYPE,
            "vertex_quantization_bits": 16,
            "transform": list(IDENTITY_TRANSFORM),
            "lod_scale_multiplier": 1.0,
        }
        return SpaceDescription(SpaceKind.MESH, members)
    if kind == "skeleton":
        members = {"@type": SKELETON_TYPE, "transform": list(IDENTITY_TRANSFORM), "vertex_attributes": []}
        return SpaceDescription(SpaceKind.SKELETON, members)
    raise UsageError(f"kind={kind} requires volume=FILE.npy, or for existing chunks spec=INFO")


def check_kind(kind: str, described: SpaceDescription) -> None:
    kinds = {"mesh": SpaceKind.MESH, "skeleton": SpaceKind.SKELETON}
    stated = (described.members or {}).get("type", kind) if described.kind is SpaceKind.VOLUME else kind
    if kinds.get(kind, SpaceKind.VOLUME) is not described.kind or stated != kind:
        raise UsageError(f"kind={kind}, but the info describes {described.kind.value}")


def of_info(members: Mapping[str, Any]) -> SpaceDescription:
    found = spaces_of(members)
    if len(found) != 1:
        raise UsageError(f"the info has {plural(len(found), 'key space')}; exactly one is required")
    return found[0]


def spaces_of(members: Mapping[str, Any], base: str = "") -> list[SpaceDescription]:
    """Return all key spaces of an info, sharded or not; `base` is its folder relative to the data set."""
    kind = type_of(members)
    if not isinstance(kind, str) or kind not in SPACE_MEMBERS:
        supported = "only volumes, multi-resolution meshes, skeletons and annotations can be written"
        raise UsageError(f"info of type {kind} is not supported: {supported}")
    places = [(place, one.kind) for one in SPACE_MEMBERS[kind] for place in _places(members, one)]
    bare: Any = members
    for place, _ in places:
        bare = _edited(bare, place, lambda part: {name: part[name] for name in part if name != "sharding"})
    found = [SpaceDescription(what, bare, place, base) for place, what in places]
    for one in found:
        one.space()
    return found


def _places(members: Mapping[str, Any], one: SpaceMember) -> list[Place]:
    if not one.title:
        return [place for place, _, part in one.parts(members) if isinstance(part, Mapping)]
    listed = members.get(one.member, [])
    if not isinstance(listed, list) or not all(isinstance(part, Mapping) for part in listed):
        raise UsageError(f"the info cannot be used: {one.member} is not a list of objects")
    return [(one.member, number) for number in range(len(listed))]


def of_spec(given: Any) -> tuple[ShardingSpec, SpaceDescription]:
    """Return the specification in `given`, a sharding object or an info, and the description of its key space."""
    origin = given_origin(given)
    space = origin.space
    if space.kind is SpaceKind.UNKNOWN:
        return origin.spec, SpaceDescription()
    members = json.loads(origin.text)
    if space.kind is SpaceKind.VOLUME:
        # Chunks of the other scales are not written.
        scales = [
            each for each in members["scales"] if posixpath.normpath(each.get("key") or "") == (space.folder or ".")
        ]
        members["scales"] = scales[:1]
        return origin.spec, of_info(members)
    for described in spaces_of(members):
        if (described.kind, described.space().folder) == (space.kind, space.folder):
            return origin.spec, described
    raise UsageError("the given specification has no key space that can be written")


def inherited(settings: Mapping[str, Any], given: Mapping[str, Any], folder: bool, renamed: bool) -> dict[str, Any]:
    """Return the options that keep the info of a converted source; see `Writes.inherited`.

    The info of a volume is kept only if keys are not renamed, because they are positions in the volume.
    """
    spec = settings.get("spec")
    if not isinstance(spec, Mapping) or {"template", "volume"} & given.keys() or (renamed and "scales" in spec):
        return {}
    bare = "@type" not in spec and "scales" not in spec
    if given.get("spec") is not None:
        return {"template": spec} if not bare and of_spec(given["spec"])[1].members is None else {}
    if folder and ("scales" in spec or bare or spec.get("sharding") is not None):
        return {"spec": spec}
    return {} if bare else {"template": spec}


# --- a volume from an array --------------------------------------------------------------------------------------


def describe_volume(
    given: Volume, chunk_size: str | None, resolution: str | None, kind: str | None
) -> SpaceDescription:
    """Return the description of a volume with one scale, without sharding specification.

    `chunk_size` and `resolution` (nm) are three comma-separated numbers each. Without `kind`, the voxel type decides.
    """
    array, _ = volume_array(given)
    if kind not in (None, "image", "segmentation"):
        raise UsageError(f"kind={kind}: the kind of a volume must be image or segmentation")
    nanometres = [float(number) for number in _three("resolution", resolution or RESOLUTION, r"[0-9]+(?:\.[0-9]+)?")]
    steps = [int(number) for number in _three("chunk_size", chunk_size or CHUNK, r"[0-9]{1,9}")]
    if not all(steps) or not all(nanometres):
        raise UsageError("chunk_size and resolution must be greater than 0")
    plain = [int(number) if number.is_integer() else number for number in nanometres]
    name = np.dtype(array.dtype).name
    scale = {
        "key": "_".join(map(str, plain)),
        "size": list(map(int, array.shape[:3])),
        "voxel_offset": [0, 0, 0],
        "chunk_sizes": [steps],
        "resolution": plain,
        "encoding": "raw",
    }
    members = {
        "@type": VOLUME_TYPE,
        "type": kind or ("segmentation" if name in LABELS else "image"),
        "data_type": name,
        "num_channels": int(array.shape[3]) if len(array.shape) == 4 else 1,
        "scales": [scale],
    }
    return SpaceDescription(SpaceKind.VOLUME, members, ("scales", 0))


def volume_array(given: Volume) -> tuple[ArraySource, str]:
    """Return the array (memory-mapped if `given` is a path) and its name in messages; UsageError if it is no volume."""
    array, who = given, "the array"
    if isinstance(array, (str, Path)):
        who = str(array)
        try:
            array = np.load(Path(array), mmap_mode="r", allow_pickle=False)
        except OSError as error:
            raise failed(f"cannot read {who}", error) from error
        except (ValueError, EOFError) as error:
            raise UsageError(f"{who} is not a .npy array of numbers: {error}") from error
    if not hasattr(array, "dtype"):
        raise UsageError(f"{who} is {type(array).__name__}: pass one array, or the path of a .npy file with one")
    if len(array.shape) not in (3, 4) or not math.prod(array.shape):
        raise UsageError(f"{who} has the shape {array.shape}; a volume has the axes x, y, z and optionally channel")
    if np.dtype(array.dtype).name not in DATA_TYPES:
        raise UsageError(f"{who} has the type {array.dtype}; voxels must be {', '.join(DATA_TYPES)}")
    return array, who


def volume_chunks(given: Volume, described: SpaceDescription) -> Iterator[InputItem]:
    """Yield the chunks of a volume in the order of their keys; raise SourceError if the file changes meanwhile."""
    array, path = volume_array(given)
    with reported_as(f"cannot read {path}"):
        before = Path(given).stat() if isinstance(given, (str, Path)) else None
    space = described.space()
    scale, grid = space.scale, space.grid
    if scale is None or grid is None:
        return
    dtype = np.dtype(array.dtype).newbyteorder("<")
    for code, cell in _cells(grid):
        box = scale.box_of(cell)
        part = tuple(slice(begin, end) for begin, end in zip(box.begin, box.end, strict=True))
        with reported_as(f"cannot read {path} at {box}"):
            yield InputItem(str(code), np.asarray(array[part], dtype).tobytes(order="F"), f"{path} at {box}")
    if before is not None:
        check_unchanged(Path(path), path, before)


def _cells(grid: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield all cells of a grid, each as its Morton code and its coordinates, in the order of the codes."""
    numbers = range(math.prod(grid))
    blocks = [numbers[first : first + BLOCK] for first in range(0, len(numbers), BLOCK)]
    cells = (np.stack(np.unravel_index(block, grid), axis=1).astype(np.uint64) for block in blocks)
    codes = np.sort(np.concatenate([encode_many(some, grid) for some in cells]))
    for block in blocks:
        part = codes[block.start : block.stop]
        yield from zip(part.tolist(), map(tuple, decode_many(part, grid)[0].tolist()), strict=True)


def _three(name: str, text: str, form: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 3 or not all(re.fullmatch(form, part) for part in parts):
        raise UsageError(f"{name}={text}: three numbers are required, such as 64,64,64")
    return parts
