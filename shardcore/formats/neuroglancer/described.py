"""What a data set says of itself: the `info` that is written with its shards."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardcore.errors import FormatError, UsageError
from shardcore.formats.neuroglancer.info import (
    MESH_TYPE,
    SKELETON_TYPE,
    VOLUME_TYPE,
    KeySpace,
    SpaceKind,
    parse_info,
)
from shardcore.formats.neuroglancer.origin import given_origin
from shardcore.formats.neuroglancer.sharding import IDENTITY, ShardingSpec

IDENTITY_TRANSFORM = (1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)
KINDS = ("mesh", "skeleton", "image", "segmentation")
"""What keys can be said to be; the latter two are types of volumes."""

_UNSHARDED = ShardingSpec(0, IDENTITY, 0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """A data set without its specification.

    Attributes:
        kind: What the keys stand for.
        members: The info, without the sharding object; None where nothing is known that could be written.
    """

    kind: SpaceKind = SpaceKind.UNKNOWN
    members: Mapping[str, Any] | None = None

    def info(self, spec: ShardingSpec, *, beside: bool = False) -> dict[str, Any]:
        """The info with a specification in its place.

        Args:
            spec: How keys are sharded.
            beside: Whether the shards of a volume lie beside the info, instead of in a folder of the scale.
        """
        found = dict(self.members or {})
        if self.kind in (SpaceKind.MESH, SpaceKind.SKELETON):
            found["sharding"] = spec.to_json()
        elif self.kind is SpaceKind.VOLUME:
            scale = dict(found["scales"][0])
            found["scales"] = [scale | {"sharding": spec.to_json()} | ({"key": "."} if beside else {})]
        return found

    def text(self, spec: ShardingSpec, *, beside: bool = False) -> bytes:
        """The same, as it is written."""
        return json.dumps(self.info(spec, beside=beside), indent=2).encode() + b"\n"

    def told(self, spec: ShardingSpec) -> dict[str, Any]:
        """What `spec` has to be where no info is written, so that reading knows as much as writing did."""
        if self.members is not None:
            return self.info(spec)
        return of_kind("mesh").info(spec) if self.kind is SpaceKind.MESH else spec.to_json()

    def space(self, spec: ShardingSpec = _UNSHARDED) -> KeySpace:
        """The key space, as reading would find it.

        Raises:
            UsageError: The info states none.
        """
        if self.members is None:
            return KeySpace(self.kind, "keys", "", spec)
        try:
            found = parse_info(self.info(spec))
        except FormatError as error:
            raise UsageError(f"the info cannot be used: {error.message}") from error
        if len(found.spaces) != 1:
            raise UsageError(f"the info cannot be used: {'; '.join(found.others) or 'it has several key spaces'}")
        return found.spaces[0]


def of_kind(kind: str) -> Described:
    """What can be said where only the kind is known.

    Raises:
        UsageError: It is not enough for that kind.
    """
    if kind == "mesh":
        members = {
            "@type": MESH_TYPE,
            "vertex_quantization_bits": 16,
            "transform": list(IDENTITY_TRANSFORM),
            "lod_scale_multiplier": 1.0,
        }
        return Described(SpaceKind.MESH, members)
    if kind == "skeleton":
        members = {"@type": SKELETON_TYPE, "transform": list(IDENTITY_TRANSFORM), "vertex_attributes": []}
        return Described(SpaceKind.SKELETON, members)
    raise UsageError(f"kind={kind} is said of volume=FILE.npy; chunks that are there already need their info as spec")


def check_kind(kind: str, said: Described) -> None:
    """Refuses a kind that is another than the info states.

    Raises:
        UsageError: It is.
    """
    kinds = {"mesh": SpaceKind.MESH, "skeleton": SpaceKind.SKELETON}
    stated = (said.members or {}).get("type", kind) if said.kind is SpaceKind.VOLUME else kind
    if kinds.get(kind, SpaceKind.VOLUME) is not said.kind or stated != kind:
        raise UsageError(f"kind={kind}, but the info is that of another kind: {said.kind.value}")


def of_info(members: Mapping[str, Any]) -> Described:
    """What an info of one key space says, sharded or not.

    Raises:
        UsageError: It says nothing that can be used.
    """
    kind = members.get("@type", VOLUME_TYPE if "scales" in members else None)
    kinds = {VOLUME_TYPE: SpaceKind.VOLUME, MESH_TYPE: SpaceKind.MESH, SKELETON_TYPE: SpaceKind.SKELETON}
    if not isinstance(kind, str) or kind not in kinds:
        raise UsageError(f"the info is of type {kind}; volumes, multi-resolution meshes and skeletons can be written")
    found = Described(kinds[kind], {name: value for name, value in members.items() if name != "sharding"})
    found.space()
    return found


def of_spec(given: Any) -> tuple[ShardingSpec, Described]:
    """What `spec` states: a sharding object alone, or the whole info of one key space.

    Raises:
        UsageError: It is neither, or an info of several key spaces.
        SourceError: The file it names cannot be read.
    """
    origin = given_origin(given)
    space = origin.space
    if space.kind is SpaceKind.UNKNOWN:
        return origin.spec, Described()
    members = json.loads(origin.text)
    if space.kind is SpaceKind.VOLUME:
        # Of the other scales no chunks are written.
        scales = [
            each for each in members["scales"] if posixpath.normpath(each.get("key") or "") == (space.folder or ".")
        ]
        members["scales"] = scales[:1]
    return origin.spec, Described(space.kind, members)
