"""Key spaces from an info, and what keys mean in space."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError, ShardError, Unsupported
from shardcore.formats.neuroglancer.chunks import chunk_array, chunk_sizes
from shardcore.formats.neuroglancer.info import Info, SpaceKind, parse_info
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.sharding import IDENTITY, ShardingSpec
from shardcore.testing import mutated

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"


SHARDING = ShardingSpec(0, IDENTITY, 1, 0).to_json()
VOLUME = json.loads((DATA / "volume" / "info").read_text())
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
    return parse_info(VOLUME | {"scales": [VOLUME["scales"][0] | change, *VOLUME["scales"][1:]]})


def test_scales_of_a_volume() -> None:
    info = parse_info({name: value for name, value in VOLUME.items() if name != "@type"})  # as in old volumes
    assert [(s.kind, s.name, s.folder, s.grid) for s in info.spaces] == [
        (SpaceKind.VOLUME, "scale 4_4_40", "4_4_40", (7, 5, 2)),
        (SpaceKind.VOLUME, "scale 8_8_80", "8_8_80", (4, 3, 1)),
    ]
    assert info.spaces[0].spec == ShardingSpec(1, "identity", 2, 2, "gzip", "gzip")
    assert info.space_of("8_8_80") is info.spaces[1]
    assert info.space_of("") is None
    (space,) = parse_info(json.dumps(SHARDING)).spaces
    assert (space.kind, space.folder) == (SpaceKind.UNKNOWN, "")


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
    assert info.spaces[3].cell_of(0b0011) == (1, 1)
    assert info.spaces[0].cell_of(3) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({"key": key}, "refused") for key in ("../../else", "..", "../..\0", "/etc", "a/../../../b")),
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


@pytest.mark.parametrize(
    "info",
    [
        *("", "[]", "{}", "nonsense", '{"@type": "other"}', b"\xff\xfe", "[" * 200_000),
        VOLUME | {"scales": 3}, ANNOTATIONS | {"relationships": 3}, ANNOTATIONS | {"spatial": 3},
    ],
)  # fmt: skip
def test_what_is_no_info(info: Any) -> None:
    with pytest.raises(FormatError):
        parse_info(info)


def test_boxes_are_cut_at_the_end_of_the_volume() -> None:
    space = volume(voxel_offset=[100, 0, -5]).spaces[0]
    assert str(space.scale.box_of((0, 0, 0))) == "100..108 × 0..8 × -5..3"
    last = space.scale.box_of((6, 4, 1))
    assert (last.end, last.shape) == ((150, 34, 4), (2, 2, 1))
    assert [encode(cell, space.grid) for cell in ((0, 0, 0), (6, 4, 1))] == [0, 108]


def test_chunks_as_arrays() -> None:
    space = volume().spaces[0]
    data = bytes(range(256)) * 2
    array = chunk_array(space, 0, data)
    assert array.shape == (8, 8, 8, 1)
    assert (array[1, 0, 0, 0], array[0, 1, 0, 0]) == (1, 8)
    assert not array.flags.writeable
    assert np.array_equal(array.ravel(order="F"), np.frombuffer(data, np.uint8))
    with pytest.raises(FormatError, match="512"):
        chunk_array(space, 0, data[:-1])
    with pytest.raises(FormatError):
        chunk_array(space, 7 << 5, data)


def test_scales_that_cannot_be_decoded() -> None:
    with pytest.raises(Unsupported, match="complex64"):
        chunk_array(parse_info(VOLUME | {"data_type": "complex64"}).spaces[0], 0, bytes(512))
    huge = volume(size=[2**40, 2**40, 2], chunk_sizes=[[2**40, 2**40, 1]]).spaces[0]
    with pytest.raises(FormatError):
        chunk_sizes(huge, np.zeros(1, np.uint64))


ODD = (None, True, -1, 0, 2**64, 10**30, 1.5, float("inf"), float("nan"), "", "..", "/", "a\0b", [], [[]], {}, [None])
ODD += ({}, [None])


def variants(value: Any) -> Iterator[Any]:
    """Yield the value with one part left out, or replaced by something odd."""
    yield from ODD
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {name: item for name, item in value.items() if name != key}
            yield from (value | {key: other} for other in variants(inner))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in variants(inner))


@pytest.mark.parametrize(
    "document",
    [VOLUME, json.loads((DATA / "mesh/info").read_text()), ANNOTATIONS, SHARDING],
    ids=lambda one: one["@type"],
)
def test_odd_infos(document: dict[str, Any], tmp_path: Path) -> None:
    dice = random.Random(1)
    for number, odd in enumerate(variants(document)):
        text = json.dumps(odd).encode()
        if number % 3 == 0:
            text = mutated(text, dice)
        with suppress(ShardError):
            for space in parse_info(text).spaces:
                assert ShardingSpec.parse(space.spec.to_json(), strict=space.spec.minishard_bits <= 32) == space.spec
                assert ".." not in space.folder.split("/")
                assert not space.folder.startswith("/")
        if number % 10 == 0:
            (tmp_path / "info").write_bytes(text)
            with suppress(ShardError):
                shardcore.open(tmp_path).close()
