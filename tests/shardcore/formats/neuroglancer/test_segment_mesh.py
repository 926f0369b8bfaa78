"""The mesh of a segment, from the folder of a volume."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore import LocalFolder
from shardcore.formats.neuroglancer.segment_mesh import mesh_of_segment
from tests.samples.__main__ import RESOURCES

ROOT = RESOURCES / "samples" / "neuroglancer" / "segmentation"


@pytest.mark.parametrize("below", ["", "16_16_16"])
def test_a_segment_leads_to_its_mesh(below: str) -> None:
    found = mesh_of_segment(LocalFolder(ROOT / below), 2**53 + 1)
    assert found is not None
    with shardcore.open(found[0]) as shard:
        assert shard.find(found[1]).key == str(2**53 + 1)


def test_there_may_be_none(tmp_path: Path) -> None:
    assert mesh_of_segment(LocalFolder(ROOT), 0) is None
    assert mesh_of_segment(LocalFolder(ROOT), 1 << 64) is None
    assert mesh_of_segment(LocalFolder(ROOT / "mesh"), 7) is None
    assert mesh_of_segment(LocalFolder(tmp_path), 7) is None
    info = json.loads((ROOT / "info").read_text())
    for name in ("missing", "wrong", "..", "/etc"):
        (tmp_path / "info").write_text(json.dumps({**info, "mesh": name, "skeletons": "wrong"}))
        (tmp_path / "wrong").mkdir(exist_ok=True)
        (tmp_path / "wrong" / "info").write_text("{")
        assert mesh_of_segment(LocalFolder(tmp_path), 7) is None
