"""Meshes, skeletons and annotations: numbers, units, and the bytes of each part."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from shardcore import FormatError, Span, Truncated, Unsupported
from shardcore.formats.neuroglancer.geometry import annotation, annotation_list, mesh_layout, skeleton
from shardcore.formats.neuroglancer.layout import MeshManifest
from shardcore.operations.content.geometry import AnnotationsContent
from tests.samples.shapes import write_manifest

MESH_INFO: dict[str, Any] = {
    "vertex_quantization_bits": 10,
    "lod_scale_multiplier": 2.0,
    "transform": [2, 0, 0, 100, 0, 1, 0, 0, 0, 0, -1, 0],
}
SKELETON_INFO: dict[str, Any] = {
    "transform": [10, 0, 0, 1, 0, 10, 0, 2, 0, 0, 10, 3],
    "vertex_attributes": [
        {"id": "radius", "data_type": "float32", "num_components": 1},
        {"id": "colour", "data_type": "uint8", "num_components": 3},
    ],
}
SKELETON = (
    struct.pack("<2I", 3, 2)
    + struct.pack("<9f", 0, 0, 0, 1, 0, 0, 1, 1, 0)  # three vertices
    + struct.pack("<4I", 0, 1, 1, 2)  # two edges
    + struct.pack("<3f", 5, 6, 7)  # a radius each
    + bytes(range(9))  # a colour each
)
ANNOTATION_INFO: dict[str, Any] = {
    "annotation_type": "LINE",
    "dimensions": {"x": [4e-9, "m"], "y": [4, "nm"], "z": [0.04, "µm"]},
    "properties": [
        {"id": "shade", "type": "rgb"},
        {"id": "kind", "type": "uint16", "enum_values": [1, 2], "enum_labels": ["axon", "dendrite"]},
        {"id": "size", "type": "float32"},
    ],
    "relationships": [{"id": "pre", "key": "pre"}, {"id": "post", "key": "post"}],
}


def row(number: int) -> bytes:
    """A line from (n, 0, 0) to (n, 1, 2); the largest numbers come first, then padding up to 4 bytes."""
    ends = struct.pack("<6f", number, 0, 0, number, 1, 2)
    return ends + struct.pack("<fH3B", 0.5, 1 + number % 2, 9, 8, 7) + b"\0" * 3


def manifest() -> MeshManifest:
    return MeshManifest(
        (4.0, 4.0, 8.0),
        (1.0, 2.0, 3.0),
        np.array([1, 2], np.float32),
        np.array([[0, 0, 0], [0.5, 0, 0]], np.float32),
        (np.array([[0, 1], [0, 0], [0, 0]], np.uint32), np.array([[0], [0], [0]], np.uint32)),
        (np.array([10, 20], np.uint32), np.array([7], np.uint32)),
    )


def test_fragments_have_bytes_and_boxes() -> None:
    data = write_manifest(manifest())
    layout = mesh_layout(MESH_INFO, data, Span("", 100, 100 + len(data)), 32)
    assert layout.stored == Span("", 63, 100)
    assert [layout.fragment_span(0, 0), layout.fragment_span(0, 1)] == [Span("", 63, 73), Span("", 73, 93)]
    assert layout.fragment_span(1, 0) == Span("", 93, 100)
    assert [layout.fragment_at(Span("", at, at + 1)) for at in (62, 63, 72, 73, 99, 100)] == [
        None, (0, 0), (0, 0), (0, 1), (1, 0), None,
    ]  # fmt: skip
    assert layout.fragment_at(Span("other", 63, 64)) is None
    assert [level.scale for level in layout.levels] == [2.0, 4.0]
    assert layout.boxes(0)[1].tolist() == [[110, 2, -11], [118, 6, -3]]
    assert layout.boxes(1)[0].tolist() == [[102, 2, -19], [118, 10, -3]]

    ends = np.array([[0, 0, 0], [1023, 1023, 1023]], np.float32)
    assert layout.placed(0, 1, ends).tolist() == [[110, 2, -3], [118, 6, -11]]
    assert layout.placed(1, 0, ends).tolist() == [[103, 2, -3], [119, 10, -19]]


@pytest.mark.parametrize(
    ("info", "match"),
    [
        ({"vertex_quantization_bits": 0}, "vertex_quantization_bits"),
        ({"vertex_quantization_bits": "10"}, "vertex_quantization_bits"),
        ({"transform": [1] * 11}, "12 numbers"),
        ({"transform": [None] * 12}, "transform"),
        ({"lod_scale_multiplier": True}, "lod_scale_multiplier"),
    ],
)
def test_a_wrong_info_of_meshes_is_named(info: dict[str, Any], match: str) -> None:
    data = write_manifest(manifest())
    with pytest.raises(FormatError, match=match):
        mesh_layout(MESH_INFO | info, data, Span("", 100, 100 + len(data)), 32)
    with pytest.raises(FormatError, match="do not fit"):
        mesh_layout(MESH_INFO, data, Span("", 60, 60 + len(data)), 32)


def test_a_skeleton_is_read_as_the_page_says() -> None:
    found = skeleton(SKELETON_INFO, SKELETON)
    assert found.vertices.tolist() == [[1, 2, 3], [11, 2, 3], [11, 12, 3]]
    assert (found.edges.tolist(), found.attributes["radius"].tolist()) == ([[0, 1], [1, 2]], [5, 6, 7])
    assert found.attributes["colour"].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert found.starts == {"vertices": 8, "edges": 44, "radius": 60, "colour": 72}


def test_wild_skeletons_are_errors() -> None:
    assert skeleton(SKELETON_INFO, SKELETON + b"\0").trailing == 1
    for data in (b"\xff" * 8 + SKELETON[8:], *(SKELETON[:cut] for cut in range(len(SKELETON)))):
        with pytest.raises(Truncated):
            skeleton(SKELETON_INFO, data)
    with pytest.raises(FormatError, match="edge 1 refers to vertex 3; there are 3"):
        skeleton(SKELETON_INFO, SKELETON[:56] + struct.pack("<I", 3) + SKELETON[60:])
    for wrong in ("object", [], {}, None, 3):
        with pytest.raises(FormatError, match="vertex attribute 'a'"):
            skeleton({"vertex_attributes": [{"id": "a", "data_type": wrong, "num_components": 1}]}, SKELETON)


def test_one_annotation_has_its_properties_and_relations() -> None:
    data = row(7) + struct.pack("<IQQI", 2, 11, 2**63, 0)
    found = annotation(ANNOTATION_INFO, data, 99)
    values = [found.rows[name].tolist() for name in ("point_a", "size", "kind", "shade")]
    assert values == [[[7, 0, 0]], [0.5], [2], [[9, 8, 7]]]
    assert (found.labels["kind"][2], found.ids.tolist(), found.unit) == ("dendrite", [99], "nm")
    assert {name: keys.tolist() for name, keys in found.related.items()} == {"pre": [11, 2**63], "post": []}
    assert found.points().tolist() == [[[28, 0, 0], [28, 4, 80]]]
    for cut in range(len(data)):
        with pytest.raises(Truncated):
            annotation(ANNOTATION_INFO, data[:cut], 99)
    with pytest.raises(FormatError):
        annotation(ANNOTATION_INFO, data + b"\0", 99)


def test_a_list_of_annotations_has_the_bytes_of_each_row() -> None:
    data = struct.pack("<Q", 3) + b"".join(map(row, range(3))) + struct.pack("<3Q", 5, 6, 2**64 - 1)
    found = annotation_list(ANNOTATION_INFO, data)
    assert found.ids.tolist() == [5, 6, 2**64 - 1]
    assert found.row_bytes(1) == (8 + 36, 8 + 72)
    assert data[slice(*found.row_bytes(2))] == row(2)
    assert [found.row_at(at) for at in (0, 7, 8, 43, 44, 115, 116, 124, 139)] == [
        None, None, 0, 0, 1, 2, 0, 1, 2,
    ]  # fmt: skip
    with pytest.raises(Truncated, match="list has 7 bytes"):
        annotation_list(ANNOTATION_INFO, data[:7])
    for count in (2, 4, 2**63):
        with pytest.raises(FormatError):
            annotation_list(ANNOTATION_INFO, struct.pack("<Q", count) + data[8:])


def test_shapes_of_annotations() -> None:
    info = {"dimensions": {"x": [1, "nm"], "y": [1, "nm"]}}
    for kind, points in (
        ("point", [[3, 4, 0], [3, 4, 0]]),
        ("ELLIPSOID", [[2, 2, 0], [4, 6, 0]]),
        ("AXIS_ALIGNED_BOUNDING_BOX", [[3, 4, 0], [1, 2, 0]]),
    ):
        data = struct.pack("<4f", 3, 4, 1, 2)[: 8 if kind == "point" else 16]
        assert annotation(info | {"annotation_type": kind}, data, 1).points().tolist() == [points]
    point = info | {"annotation_type": "point"}
    for wrong, error, match in (
        (info | {"annotation_type": "sphere"}, Unsupported, "sphere"),
        ({"annotation_type": "point"}, FormatError, "dimensions"),
        *(
            (point | {"properties": [{"id": "a", "type": kind}]}, FormatError, "'a'")
            for kind in ("str", [], {}, None, 3)
        ),
    ):
        with pytest.raises(error, match=match):
            annotation(wrong, b"", 1)
    assert annotation_list({**ANNOTATION_INFO, "dimensions": {"x": [1, []]}}, bytes(8)).unit == "[]"


def test_polylines_have_any_number_of_points() -> None:
    info = ANNOTATION_INFO | {"annotation_type": "POLYLINE", "relationships": []}
    empty = annotation(info, struct.pack("<I", 0) + row(0)[24:], 7)
    assert (len(empty.rows), empty.line(0).shape) == (1, (0, 3))
    lines = [struct.pack(f"<I{3 * count}f", count, *range(3 * count)) + row(0)[24:] for count in (3, 0, 2)]
    data = struct.pack("<Q", 3) + b"".join(lines) + struct.pack("<3Q", 5, 6, 7)
    found = annotation_list(info, data)
    assert [found.line(row).tolist() for row in (1, 2)] == [[], [[0, 1, 2], [3, 4, 5]]]
    assert [data[slice(*found.row_bytes(row))] for row in range(3)] == lines
    keys = found.ids_start
    assert [found.row_at(at) for at in (7, 8, keys - 1, keys, len(data) - 1)] == [None, 0, 2, 0, 2]
    assert found.points().shape == (5, 1, 3)
    scene = AnnotationsContent("", len(data), data, "", found).scene()
    assert (scene.lines.tolist(), scene.things.tolist()) == ([[0, 1], [1, 2], [3, 4]], [0, 0, 0, 2, 2])
    bare = annotation_list(info | {"properties": []}, struct.pack("<QIQ", 1, 0, 9))
    assert (len(bare.rows), bare.ids.tolist()) == (1, [9])
    for cut in range(len(data)):
        with pytest.raises(Truncated):
            annotation_list(info, data[:cut])
    for more in (data + b"\0", struct.pack("<Q", 2) + data[8:], struct.pack("<Q", 2**63) + data[8:]):
        with pytest.raises(FormatError):
            annotation_list(info, more)
