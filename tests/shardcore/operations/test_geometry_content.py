"""Meshes, skeletons and annotations as contents: levels, triangles, notes, pictures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore import FormatError, LimitExceeded, UsageError, content
from shardcore.cli import program
from shardcore.operations.content.geometry import AnnotationsContent, MeshContent, mesh_level
from shardcore.operations.content.renderer import DOT, LINE, Camera, coarse_scene, normals_of, shade
from tests.hostile.neuroglancer import SHARDING
from tests.samples.__main__ import RESOURCES
from tests.samples.neuroglancer import SEGMENTS
from tests.samples.shapes import VOXEL
from tests.shardcore.formats.neuroglancer.test_decode_geometry import ANNOTATION_INFO, row

ROOT = RESOURCES / "samples" / "neuroglancer" / "segmentation"


def mesh(key: int, level: int | None = None) -> MeshContent:
    with shardcore.open(ROOT / "mesh") as shard:
        found = content(shard, str(key)) if level is None else mesh_level(shard, str(key), level)
    assert isinstance(found, MeshContent)
    return found


@pytest.mark.parametrize("key", list(SEGMENTS))
@pytest.mark.parametrize("level", [0, 1])
def test_triangles_lie_on_the_surface(key: int, level: int) -> None:
    """Vertices are within a few nanometres of the encoded shape."""
    found = mesh(key, level)
    away = SEGMENTS[key].distance(found.vertices.astype(float) / VOXEL) * VOXEL
    # The pieces of the branching tube reach into each other.
    assert (away if key == 1001 else np.abs(away)).max() < (24 if level else 12)
    assert len(found.triangles) > 100
    assert int(found.triangles.max()) < len(found.vertices)
    assert found.vertices.dtype == np.float32
    assert found.triangles.dtype == np.uint32


def test_the_coarsest_level_is_decoded_first() -> None:
    """Level -1 is the coarsest."""
    found = mesh(1001)
    assert (found.level, len(found.layout.levels)) == (1, 2)
    assert mesh(1001, -1).level == 1
    assert len(mesh(1001, 0).triangles) > len(found.triangles)
    with pytest.raises(UsageError, match="from 0 to 1"):
        mesh(1001, 2)


def test_draco_garbage_keeps_the_levels(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "mesh", tmp_path / "mesh")
    path = tmp_path / "mesh" / "0.shard"
    data = bytearray(path.read_bytes())
    span = mesh(42).fragment_span(0)
    at = span.start
    data[at : at + 5] = b"OCARD"
    path.write_bytes(data)
    with shardcore.open(path) as shard:
        found = content(shard, "42")
        assert found.level == -1
        assert "fragment 0 of level 1" in found.note
        assert found.points().tolist() == [[0, 0, 0], [1024, 1024, 1024]]
        with pytest.raises(FormatError, match="DRACO") as caught:
            mesh_level(shard, "42", 1)
        assert (caught.value.span.start, caught.value.span.stop) == (at, span.stop)


def test_limits_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    with shardcore.open(ROOT / "mesh") as shard:
        with pytest.raises(LimitExceeded, match="limit is 10"):
            mesh_level(shard, "42", 0, limit=10)
        assert "limit is 222" in content(shard, "42", limit=222).note
        for name in ("MOST_FRAGMENTS", "MOST_TRIANGLES"):
            with monkeypatch.context() as patch, pytest.raises(LimitExceeded):
                patch.setattr(f"shardcore.codecs.draco.{name}", 3)
                mesh_level(shard, "42", 0)


def test_a_skeleton_has_the_bytes_of_its_vertices() -> None:
    with shardcore.open(ROOT / "skeletons") as shard:
        found = content(shard, "1001")
    start, stop = found.vertex_bytes(5)
    assert np.frombuffer(found.data[start:stop], "<f4").tolist() == found.skeleton.vertices[5].tolist()
    assert found.vertex_at(start + 11) == 5
    assert found.vertex_at(0) is None
    starts = found.skeleton.starts
    assert found.vertex_at(starts["edges"] + 8 * 3 + 4) == found.skeleton.edges[3, 1]
    assert found.vertex_at(starts["radius"] + 4 * 7) == 7


def annotations(folder: Path, kind: str, count: int = 5) -> AnnotationsContent:
    info = {**ANNOTATION_INFO, "annotation_type": kind}
    values = b"".join(row(number)[12 if kind == "POINT" else 0 :] for number in range(count))
    data = count.to_bytes(8, "little") + values + b"".join(at.to_bytes(8, "little") for at in range(count))
    relation = {"id": "pre", "key": "pre", "sharding": SHARDING}
    info |= {"@type": "neuroglancer_annotations_v1", "by_id": {"key": "by_id"}, "relationships": [relation]}
    (folder / "pre").mkdir()
    with shardcore.create(folder / "pre", format="neuroglancer", spec=SHARDING, info=False) as writer:
        writer.add("3", data)
    (folder / "info").write_text(json.dumps(info))
    with shardcore.open(folder / "pre") as shard:
        found = content(shard, "3")
    assert isinstance(found, AnnotationsContent), found.note
    return found


@pytest.mark.parametrize("kind", ["POINT", "LINE", "AXIS_ALIGNED_BOUNDING_BOX", "ELLIPSOID"])
def test_annotations_are_rows_and_a_scene(tmp_path: Path, kind: str) -> None:
    found = annotations(tmp_path, kind)
    assert found.titles()[-3:] == ("size", "kind", "shade")
    assert found.cells(1)[-2:] == ("dendrite", "9, 8, 7")
    seen = shade(found.scene(), Camera.first(), 200, 200)
    assert (seen.hit >= LINE).any()
    assert ((seen.hit >= DOT).any()) == (kind == "POINT")
    assert set(found.scene().things.tolist()) == set(range(5))


def test_the_nearest_triangle_is_seen() -> None:
    vertices = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 5], [8, 0, 5], [0, 8, 5]], np.float32)
    faces = np.array([[0, 1, 2], [3, 4, 5]], np.uint32)
    found = MeshContent("", 0, b"", "", level=0, vertices=vertices, triangles=faces,
                        triangle_starts=np.array([0, 1, 2]))  # fmt: skip
    scene = found.scene()
    front = shade(scene, Camera(np.eye(3)), 100, 100)
    column, line = front.project(np.array([[2.0, 2.0, 5.0]]))[0, :2]
    assert front.hit[int(line), int(column)] == 1
    assert front.hit[0, 0] == -1
    assert front.light[int(line), int(column)] > 0.5
    behind = shade(scene, Camera(np.diag([-1.0, 1.0, -1.0])), 100, 100)
    column, line = behind.project(np.array([[2.0, 2.0, 0.0]]))[0, :2]
    assert behind.hit[int(line), int(column)] == 0


def test_wild_coordinates_are_left_out() -> None:
    vertices = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0], [np.nan, 0, 0], [np.inf, 0, 0], [3e38, 0, 0]], np.float32)
    faces = np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 1, 5]], np.uint32)
    found = MeshContent("", 0, b"", "", level=0, vertices=vertices, triangles=faces,
                        triangle_starts=np.array([0, 4]))  # fmt: skip
    scene = found.scene()
    assert scene.triangles.tolist() == [[0, 1, 2]]
    assert shade(scene, Camera.first(), 50, 50).hit.max() == 0
    nothing = MeshContent("", 0, b"")
    assert shade(nothing.scene(), Camera.first(), 50, 50).hit.max() == -1


def test_a_coarse_scene_is_closed_and_small() -> None:
    found = mesh(42, 0)
    scene = found.scene()
    assert coarse_scene(scene) is scene
    coarse = coarse_scene(scene, 800)
    assert 100 < len(coarse.triangles) <= 800
    first, second = (shade(one, Camera.first(), 200, 200).hit >= 0 for one in (scene, coarse))
    assert (first ^ second).sum() < 0.25 * first.sum()
    assert np.allclose(np.linalg.norm(normals_of(scene.points, scene.triangles), axis=1), 1, atol=1e-3)


def test_show_prints_meshes_and_skeletons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
