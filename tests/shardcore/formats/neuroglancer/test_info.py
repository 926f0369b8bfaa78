"""Key spaces from an info, and what keys mean in space."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError, ShardError, Unsupported, UsageError
from shardcore.formats.neuroglancer.chunks import box_of, cell_of, chunk_array, chunk_sizes, key_of_voxel
from shardcore.formats.neuroglancer.info import Info, SpaceKind, parse_info
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.testing import mutated

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"

SHARDING = {
    "@type": "neuroglancer_uint64_sharded_v1",
    "preshift_bits": 0,
    "hash": "identity",
    "minishard_bits": 1,
    "shard_bits": 0,
}

ANNOTATIONS: dict[str, Any] = {
    "@type": "neuroglancer_annotations_v1",
    "dimensions": {},
    "by_id": {"key": "by_id", "sharding": SHARDING},
    "relationships": [{"id": "segment", "key": "rel_segment", "sharding": SHARDING}, {"id": "b", "key": "rel_b"}],
    "spatial": [
        {"key": "spatial0", "grid_shape": [1, 1], "chunk_size": [4, 4], "limit": 1, "sharding": SHARDING},
        {"key": "spatial1", "grid_shape": [5, 2], "chunk_size": [4, 4], "limit": 1, "sharding": SHARDING},
    ],
}


def volume(**change: object) -> Info:
    members = json.loads((DATA / "volume" / "info").read_text())
    members["scales"][0] |= change
    return parse_info(members)


def test_scales_of_a_volume() -> None:
    info = parse_info((DATA / "volume" / "info").read_bytes())
    assert [(s.kind, s.name, s.folder, s.grid) for s in info.spaces] == [
        (SpaceKind.VOLUME, "scale 4_4_40", "4_4_40", (7, 5, 2)),
        (SpaceKind.VOLUME, "scale 8_8_80", "8_8_80", (4, 3, 1)),
    ]
    assert info.spaces[0].spec == ShardingSpec(1, "identity", 2, 2, "gzip", "gzip")
    assert info.space_of("8_8_80") is info.spaces[1]
    assert info.space_of("") is None


@pytest.mark.parametrize(("folder", "kind"), [("mesh", SpaceKind.MESH), ("identity_raw", SpaceKind.SKELETON)])
def test_meshes_and_skeletons(folder: str, kind: SpaceKind) -> None:
    (space,) = parse_info((DATA / folder / "info").read_bytes()).spaces
    assert (space.kind, space.folder, space.grid) == (kind, "", None)


def test_annotations() -> None:
    info = parse_info(ANNOTATIONS)
    assert [(s.kind, s.folder, s.grid) for s in info.spaces] == [
        (SpaceKind.ANNOTATION_ID, "by_id", None),
        (SpaceKind.ANNOTATION_RELATION, "rel_segment", None),
        (SpaceKind.ANNOTATION_SPATIAL, "spatial0", (1, 1)),
        (SpaceKind.ANNOTATION_SPATIAL, "spatial1", (5, 2)),
    ]
    assert [space.title for space in info.files] == ["annotations by relation b, one file per annotation list"]
    assert info.others == ()
    assert cell_of(info.spaces[3], 0b0011) == (1, 1)
    assert cell_of(info.spaces[0], 3) is None


def test_old_volumes_have_no_type() -> None:
    members = json.loads((DATA / "volume" / "info").read_text())
    del members["@type"]
    assert len(parse_info(members).spaces) == 2


def test_a_sharding_object_alone() -> None:
    (space,) = parse_info(json.dumps(SHARDING)).spaces
    assert (space.kind, space.folder) == (SpaceKind.UNKNOWN, "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": "../../else"}, "refused"),
        ({"key": ".."}, "refused"),
        ({"key": "../..\0"}, "refused"),
        ({"key": "/etc"}, "refused"),
        ({"key": "a/../../../b"}, "refused"),
        ({"key": 7}, "not a name"),
        ({"chunk_sizes": [[8, 8, 8], [4, 4, 4]]}, "one chunk size"),
        ({"chunk_sizes": [[8, 0, 8]]}, "cannot be cut"),
        ({"size": [8, 8]}, "three numbers"),
        ({"size": [8, 8, True]}, "list of integers"),
        ({"size": [2**40, 2**40, 2**40]}, "64"),
        ({"size": [0, 8, 8]}, "at least one cell"),
        ({"sharding": {**SHARDING, "hash": "md5"}}, "hash must be"),
    ],
)
def test_a_wrong_scale_does_not_spoil_the_others(change: dict[str, object], message: str) -> None:
    info = volume(**change)
    assert [space.folder for space in info.spaces] == ["8_8_80"]
    assert message in info.others[0]


@pytest.mark.parametrize(("key", "folder"), [("./a/b/", "a/b"), ("", ""), (".", ""), ("x/../y", "y")])
def test_keys_are_normalised(key: str, folder: str) -> None:
    assert volume(key=key).spaces[0].folder == folder


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", '{"@type": "other"}', b"\xff\xfe", "[" * 200_000])
def test_what_is_no_info(text: str | bytes) -> None:
    with pytest.raises(FormatError):
        parse_info(text)


@pytest.mark.parametrize("member", ["scales", "relationships", "spatial"])
def test_lists_that_are_none(member: str) -> None:
    top = dict(ANNOTATIONS) if member != "scales" else json.loads((DATA / "volume" / "info").read_text())
    with pytest.raises(FormatError):
        parse_info({**top, member: 3})


def test_boxes_are_cut_at_the_end_of_the_volume() -> None:
    scale = volume(voxel_offset=[100, 0, -5]).spaces[0].scale
    assert scale is not None
    assert str(box_of(scale, (0, 0, 0))) == "100..108 × 0..8 × -5..3"
    last = box_of(scale, (6, 4, 1))
    assert last.end == (150, 34, 4)
    assert last.shape == (2, 2, 1)


def test_keys_of_voxels() -> None:
    space = volume(voxel_offset=[100, 0, -5]).spaces[0]
    assert key_of_voxel(space, (100, 0, -5)) == 0
    assert key_of_voxel(space, (149, 33, 3)) == 108
    with pytest.raises(UsageError):
        key_of_voxel(space, (99, 0, -5))


def test_chunks_as_arrays() -> None:
    space = volume().spaces[0]
    data = bytes(range(256)) * 2
    array = chunk_array(space, 0, data)
    assert array.shape == (8, 8, 8, 1)
    assert array[1, 0, 0, 0] == 1
    assert array[0, 1, 0, 0] == 8
    assert not array.flags.writeable
    assert np.array_equal(array.ravel(order="F"), np.frombuffer(data, np.uint8))
    with pytest.raises(FormatError, match="512"):
        chunk_array(space, 0, data[:-1])
    with pytest.raises(FormatError):
        chunk_array(space, 7 << 5, data)


def test_scales_that_cannot_be_decoded() -> None:
    members = json.loads((DATA / "volume" / "info").read_text()) | {"data_type": "complex64"}
    with pytest.raises(Unsupported, match="complex64"):
        chunk_array(parse_info(members).spaces[0], 0, bytes(512))
    huge = volume(size=[2**40, 2**40, 2], chunk_sizes=[[2**40, 2**40, 1]]).spaces[0]
    with pytest.raises(FormatError):
        chunk_sizes(huge, np.zeros(1, np.uint64))


NUMBERS: tuple[Any, ...] = (True, -1, 0, 2**64, 10**30, 1.5, float("inf"), float("nan"))
ODD: tuple[Any, ...] = (None, *NUMBERS, "", "..", "/", "a\0b", [], [[]], {}, [None])


def replaced(value: Any, dice: random.Random) -> Any:
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice(sorted(value))
        if dice.random() < 0.2:
            return {name: item for name, item in value.items() if name != key}
        return value | {key: replaced(value[key], dice)}
    if isinstance(value, list) and value and dice.random() < 0.85:
        at = dice.randrange(len(value))
        return [*value[:at], replaced(value[at], dice), *value[at + dice.randrange(2) :]]
    return dice.choice(ODD)


@pytest.mark.parametrize("base", ["volume", "mesh", "annotations", "sharding"])
def test_odd_infos(base: str, tmp_path: Path) -> None:
    documents = {"annotations": ANNOTATIONS, "sharding": SHARDING}
    document = documents.get(base) or json.loads((DATA / base / "info").read_text())
    dice = random.Random(base)
    for number in range(1500):
        odd = document
        for _ in range(dice.choice((1, 1, 2, 3))):
            odd = replaced(odd, dice) if isinstance(odd, dict) else odd
        text = json.dumps(odd).encode()
        if number % 3 == 0:
            text = mutated(text, dice)
        try:
            info = parse_info(text)
        except ShardError:
            info = None
        if info is not None:
            for space in info.spaces:
                assert ShardingSpec.parse(space.spec.to_json(), strict=space.spec.minishard_bits <= 32) == space.spec
                assert ".." not in space.folder.split("/")
                assert not space.folder.startswith("/")
        if number % 10 == 0:
            (tmp_path / "info").write_bytes(text)
            try:
                shardcore.open(tmp_path).close()
            except ShardError:
                continue
