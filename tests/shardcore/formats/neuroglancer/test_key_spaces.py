"""The root of a data set: which key spaces can be reached from it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.errors import SpaceUnchosen, UsageError
from shardcore.formats.neuroglancer.folder import NeuroglancerKeySpaces
from shardcore.formats.neuroglancer.info import parse_info

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"


def root_of(folder: Path, *, sharded_scales: int = 0, scales: int = 2, mesh: str = "", skeletons: str = "") -> Path:
    info: dict[str, Any] = json.loads((DATA / "volume" / "info").read_text())
    del info["scales"][scales:]
    for number, scale in enumerate(info["scales"]):
        if number < sharded_scales:
            shutil.copytree(DATA / "volume" / scale["key"], folder / scale["key"])
        else:
            del scale["sharding"]
    for member, key, sample in (("mesh", mesh, "mesh"), ("skeletons", skeletons, "skeletons_murmur_gzip")):
        if key:
            shutil.copytree(DATA / sample, folder / key)
            info[member] = key
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "info").write_text(json.dumps(info))
    return folder


@pytest.mark.parametrize("key", ["mesh", "deep/meshes", "./mesh/"])
def test_a_root_with_meshes_alone_opens_them(tmp_path: Path, key: str) -> None:
    root = root_of(tmp_path / "set", scales=0, mesh=key)
    with shardcore.open(root) as found, shardcore.open(DATA / "mesh") as known:
        assert found.why == "info in the same folder, meshes"
        assert found.objects.keys[:] == known.objects.keys[:]
        first = known.objects.keys[0]
        assert first is not None
        assert found.read(found.find(first)) == known.read(known.find(first))
        assert found.read_part(found.find(first), "fragments") == known.read_part(known.find(first), "fragments")
        assert found.verify("index").ok
        text = (DATA / "mesh" / "info").read_bytes()
        assert found.bytes_of("info").read(0, len(text)) == text


def test_several_key_spaces_are_named(tmp_path: Path) -> None:
    root = root_of(tmp_path / "set", sharded_scales=1, mesh="mesh", skeletons="skeletons")
    with pytest.raises(SpaceUnchosen, match="4 key spaces") as caught:
        shardcore.open(root)
    assert caught.value.address == f"{root}/4_4_40"
    with pytest.raises(SpaceUnchosen, match="2 key spaces"):
        shardcore.open(root_of(tmp_path / "files"))
    for folder in ("4_4_40", "mesh", "skeletons"):
        with shardcore.open(root / folder) as found:
            assert len(found.objects)


def test_several_key_spaces_can_be_looked_at(tmp_path: Path) -> None:
    root = root_of(tmp_path / "set", sharded_scales=2, mesh="mesh")
    with shardcore.open(root, partial=True) as found:
        assert isinstance(found, NeuroglancerKeySpaces)
        assert found.key_spaces == {"4_4_40": "scale 4_4_40", "8_8_80": "scale 8_8_80", "mesh": "meshes"}
        assert [len(node.children) for node in found.tree.children] == [1, 1, 1]
        found.load_index()
        assert (found.declared_objects, found.listing) == (None, None)
        for ask in (
            lambda: len(found.objects),
            lambda: list(found),
            lambda: found.find_all("1"),
            lambda: found.find("1"),
            lambda: found.trace("1"),
            lambda: found.find_many(["1"]),
            found.verify,
        ):
            with pytest.raises(UsageError, match="3 key spaces"):
                ask()


def test_a_root_without_key_spaces(tmp_path: Path) -> None:
    root = root_of(tmp_path / "set", scales=0)
    info = json.loads((root / "info").read_text()) | {"mesh": "mesh", "skeletons": "../elsewhere"}
    (root / "info").write_text(json.dumps(info))
    with pytest.raises(UsageError, match=r"no usable key space: skeletons: refused.*mesh: no info"):
        shardcore.open(root)


@pytest.mark.parametrize("key", ["../mesh", "/mesh", "a/../../mesh", 7, None, [], "a\0b"])
def test_folders_that_lead_elsewhere_are_not_followed(tmp_path: Path, key: object) -> None:
    shutil.copytree(DATA / "mesh", tmp_path / "mesh")
    root = root_of(tmp_path / "set" / "inner")
    info = json.loads((root / "info").read_text()) | {"mesh": key}
    assert parse_info(info).folders == ()
    (root / "info").write_text(json.dumps(info))
    with pytest.raises(UsageError):
        shardcore.open(root)


def test_a_mesh_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    root = root_of(tmp_path / "set", scales=0, mesh="mesh")
    shutil.rmtree(root / "mesh")
    (root / "mesh").symlink_to(DATA / "mesh")
    with pytest.raises(UsageError, match="mesh"):
        shardcore.open(root)
