"""Meshes and skeletons are what cloud-volume reads, to the vertex; annotations are tested elsewhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore import content
from shardcore.operations.content.geometry import mesh_level
from tests.samples.__main__ import RESOURCES
from tests.samples.neuroglancer import IDENTITY, SEGMENTS

pytestmark = pytest.mark.interop("cloudvolume")

TRANSFORM = [2, 0, 0, 100, 0, 0.5, 0, -7, 0, 0, -1, 3]


@pytest.fixture(params=[IDENTITY, TRANSFORM], ids=["identity", "transform"])
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path / "root"
    shutil.copytree(RESOURCES / "samples" / "neuroglancer" / "segmentation", folder)
    for name in ("mesh", "skeletons"):
        path = folder / name / "info"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"transform": request.param}))
    return folder


def volume(root: Path) -> Any:
    from cloudvolume import CloudVolume

    return CloudVolume(f"precomputed://file://{root}", progress=False, cache=False)


@pytest.mark.parametrize("level", [0, 1])
def test_meshes_are_those_of_cloud_volume(root: Path, level: int) -> None:
    peer = volume(root)
    with shardcore.open(root / "mesh") as shard:
        for segment in SEGMENTS:
            theirs = peer.mesh.get(segment, lod=level)[segment]
            ours = mesh_level(shard, str(segment), level)
            assert np.allclose(ours.vertices, theirs.vertices, atol=1e-2)
            assert (ours.triangles == theirs.faces).all()


def test_skeletons_are_those_of_cloud_volume(root: Path) -> None:
    peer = volume(root)
    with shardcore.open(root / "skeletons") as shard:
        for segment in (42, 1001):
            theirs = peer.skeleton.get(segment)
            ours = content(shard, str(segment))
            assert np.allclose(ours.skeleton.vertices, theirs.vertices, atol=1e-2)
            assert (ours.skeleton.edges == theirs.edges).all()
            assert np.allclose(ours.skeleton.attributes["radius"], theirs.radius)


def test_the_sample_is_a_volume_of_cloud_volume() -> None:
    from tests.samples.shapes import voxels

    peer = volume(RESOURCES / "samples" / "neuroglancer" / "segmentation")
    for mip in (0, 1):
        peer.mip = mip
        assert (np.asarray(peer[:, :, :])[..., 0] == voxels(SEGMENTS, 2**mip)).all()
