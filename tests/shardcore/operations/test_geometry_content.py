"""Meshes, skeletons and annotations as contents: levels, triangles, notes, pictures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore import FormatError, LimitExceeded, UsageError, content
from shardcore.cli import program
from shardcore.operations.content.geometry import (
    AnnotationsContent,
    MeshContent,
    SkeletonContent,
    mesh_level,
)
from shardcore.operations.content.scene import coarse_scene, normals_of, scene_of
from shardcore.operations.content.shade import DOT, LINE, Camera, shade
from tests.samples.__main__ import RESOURCES
from tests.samples.neuroglancer import SEGMENTS
from tests.samples.shapes import VOXEL
from tests.shardcore.formats.neuroglancer.test_geometry import ANNOTATION_INFO, row

ROOT = RESOURCES / "samples" / "neuroglancer" / "segmentation"


def mesh(key: int, level: int | None = None) -> MeshContent:
    """A mesh of the sample."""
    with shardcore.open(ROOT / "mesh") as shard:
        found = content(shard, str(key)) if level is None else mesh_level(shard, str(key), level)
    assert isinstance(found, MeshContent)
    return found


@pytest.mark.parametrize("key", list(SEGMENTS))
@pytest.mark.parametrize("level", [0, 1])
def test_triangles_lie_on_the_surface(key: int, level: int) -> None:
    """Vertices are within a few nanometres of the shape that was encoded; a finer level is nearer on the whole."""
    found = mesh(key, level)
    away = SEGMENTS[key].distance(found.vertices.astype(float) / VOXEL) * VOXEL
    # The pieces of the branching tube reach into each other.
    assert (away if key == 1001 else np.abs(away)).max() < (24 if level else 12)
    assert len(found.triangles) > 100
    assert int(found.triangles.max()) < len(found.vertices)
    assert found.vertices.dtype == np.float32
    assert found.triangles.dtype == np.uint32


def test_the_coarsest_level_is_decoded_first() -> None:
    """`content` reads the coarsest level alone; -1 is it, and a level that is not there is refused."""
    found = mesh(1001)
    assert (found.level, len(found.layout.levels)) == (1, 2)
    assert mesh(1001, -1).level == 1
    assert len(mesh(1001, 0).triangles) > len(found.triangles)
    with pytest.raises(UsageError, match="from 0 to 1"):
        mesh(1001, 2)


def test_every_vertex_has_a_fragment_and_its_bytes() -> None:
    """The bytes of the fragment of a vertex are Draco data, in the file, in front of the manifest."""
    found = mesh(42, 0)
    data = (ROOT / "mesh" / "0.shard").read_bytes()
    for vertex in range(0, len(found.vertices), 50):
        span = found.fragment_span(found.fragment_of_vertex(vertex))
        assert data[span.start : span.stop].startswith(b"DRACO")
        low, high = found.layout.boxes(0)[found.fragment_of_vertex(vertex)]
        assert (found.vertices[vertex] >= low - 1e-3).all()
        assert (found.vertices[vertex] <= high + 1e-3).all()


def test_isolation_changes_nothing() -> None:
    """Decoded in another process, the same triangles come back."""
    with shardcore.open(ROOT / "mesh") as shard:
        shard.isolate()
        found = mesh_level(shard, "42", 0)
    assert (found.vertices == mesh(42, 0).vertices).all()
    assert (found.triangles == mesh(42, 0).triangles).all()


def test_a_data_set_names_the_shard_of_the_bytes() -> None:
    """In a data set, spans of fragments name the file that has them."""
    with shardcore.open(ROOT / "mesh") as shard:
        found = mesh_level(shard, "42", 1)
        span = found.fragment_span(0)
        assert shard.bytes_of(span.source).read(span.start, span.start + 5) == b"DRACO"


def test_draco_garbage_keeps_the_levels(tmp_path: Path) -> None:
    """`content` shows the levels and says what is wrong; `mesh_level` raises, with the bytes of the fragment."""
    shutil.copytree(ROOT / "mesh", tmp_path / "mesh")
    path = tmp_path / "mesh" / "0.shard"
    data = bytearray(path.read_bytes())
    span = mesh(42).fragment_span(0)
    at = span.start
    data[at : at + 5] = b"OCARD"
    path.write_bytes(data)
    with shardcore.open(path) as shard:
        found = content(shard, "42")
        assert isinstance(found, MeshContent)
        assert found.level == -1
        assert "fragment 0 of level 1" in found.note
        assert found.points().tolist() == [[0, 0, 0], [1024, 1024, 1024]]
        with pytest.raises(FormatError, match="DRACO") as caught:
            mesh_level(shard, "42", 1)
        assert caught.value.span is not None
        assert (caught.value.span.start, caught.value.span.stop) == (at, span.stop)


def test_limits_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """More bytes, fragments or triangles than allowed are refused before they are decoded."""
    with shardcore.open(ROOT / "mesh") as shard:
        with pytest.raises(LimitExceeded, match="limit is 10"):
            mesh_level(shard, "42", 0, limit=10)
        assert "limit is 222" in content(shard, "42", limit=222).note
        for name in ("MOST_FRAGMENTS", "MOST_TRIANGLES"):
            with monkeypatch.context() as patch, pytest.raises(LimitExceeded):
                patch.setattr(f"shardcore.codecs.draco.{name}", 3)
                mesh_level(shard, "42", 0)


def test_a_skeleton_has_the_bytes_of_its_vertices() -> None:
    """A vertex has 12 bytes; bytes of edges and attributes lead to their vertex."""
    with shardcore.open(ROOT / "skeletons") as shard:
        found = content(shard, "1001")
    assert isinstance(found, SkeletonContent)
    start, stop = found.vertex_bytes(5)
    assert np.frombuffer(found.data[start:stop], "<f4").tolist() == found.skeleton.vertices[5].tolist()
    assert found.vertex_at(start + 11) == 5
    assert found.vertex_at(0) is None
    starts = found.skeleton.starts
    assert found.vertex_at(starts["edges"] + 8 * 3 + 4) == found.skeleton.edges[3, 1]
    assert found.vertex_at(starts["radius"] + 4 * 7) == 7


def annotations(folder: Path, kind: str, count: int = 5) -> AnnotationsContent:
    """A list of annotations of a shape."""
    info = {**ANNOTATION_INFO, "annotation_type": kind}
    values = b"".join(row(number)[12 if kind == "POINT" else 0 :] for number in range(count))
    data = count.to_bytes(8, "little") + values + b"".join(at.to_bytes(8, "little") for at in range(count))
    sharding: dict[str, Any] = {
        "@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, "hash": "identity", "minishard_bits": 0,
        "shard_bits": 0, "minishard_index_encoding": "raw", "data_encoding": "raw",
    }  # fmt: skip
    info |= {
        "@type": "neuroglancer_annotations_v1",
        "by_id": {"key": "by_id"},
        "relationships": [{"id": "pre", "key": "pre", "sharding": sharding}],
    }
    (folder / "pre").mkdir()
    with shardcore.create(folder / "pre", format="neuroglancer", spec=sharding, info=False) as writer:
        writer.add("3", data)
    (folder / "info").write_text(json.dumps(info))
    with shardcore.open(folder / "pre") as shard:
        found = content(shard, "3")
    assert isinstance(found, AnnotationsContent), found.note
    return found


@pytest.mark.parametrize("kind", ["POINT", "LINE", "AXIS_ALIGNED_BOUNDING_BOX", "ELLIPSOID"])
def test_annotations_are_rows_and_a_scene(tmp_path: Path, kind: str) -> None:
    """Each shape has rows with cells, labels instead of numbers, and something to see; a pixel leads to a row."""
    found = annotations(tmp_path, kind)
    assert found.titles()[-3:] == ("size", "kind", "shade")
    assert found.cells(1)[-2:] == ("dendrite", "9, 8, 7")
    seen = shade(scene_of(found), Camera.first(), 200, 200)
    assert (seen.hit >= LINE).any()
    assert ((seen.hit >= DOT).any()) == (kind == "POINT")
    assert set(scene_of(found).things.tolist()) == set(range(5))


def test_the_nearest_triangle_is_seen() -> None:
    """Of two triangles over each other the front one is shown, from either side; nothing is beside them."""
    vertices = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 5], [8, 0, 5], [0, 8, 5]], np.float32)
    faces = np.array([[0, 1, 2], [3, 4, 5]], np.uint32)
    found = MeshContent("", 0, b"", "", level=0, vertices=vertices, triangles=faces,
                        triangle_starts=np.array([0, 1, 2]))  # fmt: skip
    scene = scene_of(found)
    front = shade(scene, Camera(np.eye(3)), 100, 100)
    column, line = front.project(np.array([[2.0, 2.0, 5.0]]))[0, :2]
    assert front.hit[int(line), int(column)] == 1
    assert front.hit[0, 0] == -1
    assert front.light[int(line), int(column)] > 0.5
    behind = shade(scene, Camera(np.diag([-1.0, 1.0, -1.0])), 100, 100)
    column, line = behind.project(np.array([[2.0, 2.0, 0.0]]))[0, :2]
    assert behind.hit[int(line), int(column)] == 0


def test_every_pixel_of_a_closed_surface_is_drawn() -> None:
    """A ball leaves no holes, and takes the area of a disc."""
    found = mesh(7, 0)
    seen = shade(scene_of(found), Camera.first(), 300, 300)
    there = seen.hit >= 0
    radius = 11 * VOXEL * seen.scale
    assert abs(there.sum() / (np.pi * radius**2) - 1) < 0.03
    for line in there:
        across = np.flatnonzero(line)
        assert len(across) == 0 or len(across) == across[-1] - across[0] + 1


def test_turning_keeps_a_rotation() -> None:
    """After many turns the camera still neither stretches nor mirrors."""
    camera = Camera.first()
    for step in range(500):
        camera = camera.turn(0.3, 0.1 * step)
    assert np.allclose(camera.rotation @ camera.rotation.T, np.eye(3))
    assert np.linalg.det(camera.rotation) > 0.999
    assert np.allclose(Camera(np.eye(3)).turn(0.2, 0.0).turn(-0.2, 0.0).rotation, np.eye(3))


def test_wild_coordinates_are_left_out() -> None:
    """Vertices that are no numbers or without bound do not spoil the others, and nothing warns."""
    vertices = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0], [np.nan, 0, 0], [np.inf, 0, 0], [3e38, 0, 0]], np.float32)
    faces = np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 1, 5]], np.uint32)
    found = MeshContent("", 0, b"", "", level=0, vertices=vertices, triangles=faces,
                        triangle_starts=np.array([0, 4]))  # fmt: skip
    scene = scene_of(found)
    assert scene.triangles.tolist() == [[0, 1, 2]]
    assert shade(scene, Camera.first(), 50, 50).hit.max() == 0
    nothing = MeshContent("", 0, b"")
    assert shade(scene_of(nothing), Camera.first(), 50, 50).hit.max() == -1


def test_a_coarse_scene_is_closed_and_small() -> None:
    """Fewer triangles at about the same place; a small scene stays as it is."""
    found = mesh(42, 0)
    scene = scene_of(found)
    assert coarse_scene(scene) is scene
    coarse = coarse_scene(scene, 800)
    assert 100 < len(coarse.triangles) <= 800
    first, second = (shade(one, Camera.first(), 200, 200).hit >= 0 for one in (scene, coarse))
    assert (first ^ second).sum() < 0.25 * first.sum()
    assert np.allclose(np.linalg.norm(normals_of(scene.points, scene.triangles), axis=1), 1, atol=1e-3)


def test_show_prints_meshes_and_skeletons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Levels and fragments with their bytes, vertices with attributes; JSON has the same; a picture is written."""

    def show(*words: object) -> str:
        assert program.run(["show", *map(str, words)]) == 0
        return capsys.readouterr().out

    out = show(ROOT / "mesh", "1001")
    assert "level 0: scale 16, 3 fragments" in out
    assert "634 triangles, 331 vertices" in out
    told = json.loads(show(ROOT / "mesh", "1001", "--level", "0", "--json"))
    assert told["level"] == 0
    assert [one["bytes"] for one in told["levels"]] == [3497, 1119]
    assert told["levels"][0]["fragments"][0]["start"] == mesh(1001).fragment_span(0).start - 3497
    skeleton = json.loads(show(ROOT / "skeletons", "42", "--json"))
    assert (skeleton["vertices"], skeleton["edges"]) == (24, 24)
    assert "radius" in show(ROOT / "skeletons", "42")
    show(ROOT / "mesh", "42", "--png", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"


def test_shading_can_be_stopped() -> None:
    """What `check` raises between two batches ends the work."""

    def check() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        shade(scene_of(mesh(7)), Camera.first(), 50, 50, check=check)
