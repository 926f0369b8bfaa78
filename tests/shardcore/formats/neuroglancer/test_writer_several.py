"""Data sets of several key spaces become sharded as a whole: scales, meshes, skeletons, annotations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.errors import UsageError
from shardcore.operations.pack import pack
from tests.shardcore.formats.neuroglancer.test_writer_inputs import (
    MESH_INFO,
    SKELETON_INFO,
    manifest,
    packed,
    volume_info,
    written,
)

FULL, HALF = (20, 9, 11), (10, 5, 6)
RAW = {
    "@type": "neuroglancer_uint64_sharded_v1",
    "preshift_bits": 1,
    "hash": "identity",
    "minishard_bits": 1,
    "shard_bits": 2,
    "minishard_index_encoding": "raw",
    "data_encoding": "raw",
}


def scale(key: str, size: tuple[int, ...]) -> dict[str, Any]:
    return {"key": key, "size": size, "chunk_sizes": [[8, 8, 8]], "resolution": [4, 4, 40], "encoding": "raw"}


def chunk_files(key: str, size: tuple[int, ...]) -> dict[str, bytes]:
    found = {}
    for corner in np.ndindex(*(-(-length // 8) for length in size)):
        ends = [min(8 * at + 8, length) for at, length in zip(corner, size, strict=True)]
        voxels = int(np.prod([end - 8 * at for at, end in zip(corner, ends, strict=True)]))
        name = "_".join(f"{8 * at}-{end}" for at, end in zip(corner, ends, strict=True))
        found[f"{key}/{name}"] = bytes([sum(corner), len(found)]) * voxels
    return found


def volume(folder: Path, **more: Any) -> Path:
    info = volume_info() | {"scales": [scale("full", FULL), scale("half", HALF)], "type": "segmentation"}
    files: dict[str, bytes | dict[str, Any]] = {
        "info": info | {"mesh": "mesh", "skeletons": "bones", "segment_properties": "names"} | more,
        "mesh/info": MESH_INFO,
        "mesh/7.index": manifest(4),
        "mesh/7": b"four",
        "bones/info": SKELETON_INFO,
        "bones/9": b"skeleton",
        "names/info": {"@type": "neuroglancer_segment_properties", "inline": {"ids": ["7"], "properties": []}},
    }
    return written(folder, files | chunk_files("full", FULL) | chunk_files("half", HALF))


def contents(folder: Path) -> dict[str, bytes]:
    with shardcore.open(folder) as found:
        found.load_index()
        return {str(key): found.read(found.find(str(key))) for key in found.objects.keys[:]}


def test_every_scale_becomes_sharded(tmp_path: Path) -> None:
    root = volume(tmp_path / "in")
    out, done = packed(tmp_path, root)
    info = json.loads((out / "info").read_text())
    assert [one.pop("sharding")["hash"] for one in info["scales"]] == ["identity", "identity"]
    assert info == json.loads((root / "info").read_text())
    for name, size in (("full", FULL), ("half", HALF)):
        assert sorted(contents(out / name).values()) == sorted(chunk_files(name, size).values())
    with shardcore.open(out / "mesh") as found:
        ref = found.find("7")
        assert (found.read(ref), found.read_part(ref, "fragments")) == (manifest(4), b"four")
    assert contents(out / "bones") == {"9": b"skeleton"}
    assert json.loads((out / "bones" / "info").read_text())["note"] == "kept"
    assert json.loads((out / "names" / "info").read_text()) == json.loads((root / "names" / "info").read_text())
    assert [note.partition(":")[0] for note in done.notes] == ["scale full", "scale half", "meshes", "skeletons"]
    assert {file.path.relative_to(out).as_posix() for file in done.written if file.path.name == "info"} == {
        "info",
        "mesh/info",
        "bones/info",
        "names/info",
    }


def test_the_plan_of_several_is_what_is_written(tmp_path: Path) -> None:
    root, out = volume(tmp_path / "in"), f"{tmp_path / 'out'}/"
    plan = pack("neuroglancer", out, [root], options={"spec": RAW}, plan=True).plan
    assert plan is not None
    assert plan.exact
    done = pack("neuroglancer", out, [root], options={"spec": RAW})
    assert {file.name: file.size for file in plan.files} == {
        file.path.relative_to(tmp_path / "out").as_posix(): file.size for file in done.written
    }
    info = json.loads((tmp_path / "out" / "info").read_text())
    assert [one["sharding"] for one in info["scales"]] == [RAW, RAW]
    assert json.loads((tmp_path / "out" / "mesh" / "info").read_text())["sharding"]["hash"] == "murmurhash3_x86_128"


def test_what_does_not_go_along_is_named(tmp_path: Path) -> None:
    root = volume(tmp_path / "in")
    (root / "mesh" / "info").write_text('{"@type": "neuroglancer_legacy_mesh"}')
    (root / "bones" / "info").unlink()
    written(root, {"half/info": b""})
    info = json.loads((root / "info").read_text())
    info["scales"] += [scale("gone", FULL), scale("done", FULL) | {"sharding": RAW}]
    written(root, {"info": info, "done/0.shard": b""})
    out, done = packed(tmp_path, root)
    for words in ("mesh is left out: a mesh in the legacy form", "bones is left out: it has no readable info"):
        assert [note for note in done.notes if words in note and "copy it manually" in note]
    for words in ("scale gone is left out: there is no such folder", "scale done is left out: it is sharded already"):
        assert words in done.notes
    assert [one["key"] for one in json.loads((out / "info").read_text())["scales"]] == ["full", "half"]


def test_several_need_a_folder_and_an_info(tmp_path: Path) -> None:
    root = volume(tmp_path / "in")
    for out, options in (("one.shard", {}), ("out/", {"info": "no"})):
        with pytest.raises(UsageError, match="4 key spaces"):
            pack("neuroglancer", f"{tmp_path}/{out}", [root], options=options)
    with pytest.raises(UsageError, match="the info of one key space"):
        spec = {**volume_info(), "scales": [scale("full", FULL) | {"size": [*FULL], "sharding": RAW}]}
        pack("neuroglancer", f"{tmp_path}/out/", [root], options={"spec": spec})
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_with_force_the_scales_of_the_old_info_go(tmp_path: Path) -> None:
    out, _ = packed(tmp_path, volume(tmp_path / "in"))
    np.save(tmp_path / "a.npy", np.zeros((4, 4, 4), "u1"))
    done = pack("neuroglancer", f"{out}/", options={"volume": str(tmp_path / "a.npy")}, force=True)
    gone = {path.parent.name for path in done.removed}
    assert gone == {"full", "half"}
    assert sorted(path.parent.name for path in out.rglob("*.shard")) == ["1_1_1", "bones", "mesh"]


def annotations(folder: Path) -> tuple[Path, dict[str, dict[str, bytes]]]:
    info = {
        "@type": "neuroglancer_annotations_v1",
        "dimensions": {"x": [4e-9, "m"], "y": [4e-9, "m"]},
        "lower_bound": [0, 0],
        "upper_bound": [40, 20],
        "annotation_type": "POINT",
        "properties": [],
        "by_id": {"key": "by_id"},
        "relationships": [{"id": "segment", "key": "rel"}, {"id": "none", "key": "rel_none"}],
        "spatial": [
            {"key": "spatial0", "grid_shape": [1, 1], "chunk_size": [40, 20], "limit": 10},
            {"key": "spatial1", "grid_shape": [4, 2], "chunk_size": [10, 10], "limit": 10},
        ],
    }
    held = {
        "by_id": {"1": b"one", "18446744073709551615": b"last"},
        "rel": {"77": b"related"},
        "spatial0": {"0_0": b"all"},
        "spatial1": {"0_0": b"first", "3_1": b"corner", "2_0": b"middle"},
    }
    files = {f"{index}/{name}": data for index, objects in held.items() for name, data in objects.items()}
    return written(folder, {"info": info, **files, "by_id/notes": b"no id"}), held


def test_annotations_become_sharded(tmp_path: Path) -> None:
    root, held = annotations(tmp_path / "in")
    out, done = packed(tmp_path, root)
    info = json.loads((out / "info").read_text())
    parts = [info["by_id"], *info["relationships"], *info["spatial"]]
    assert {part.pop("sharding")["hash"] for part in parts} == {"murmurhash3_x86_128"}
    assert info == json.loads((root / "info").read_text())
    for index in ("by_id", "rel"):
        assert contents(out / index) == held[index]
    assert contents(out / "spatial0") == {"0": b"all"}
    # x takes part at two levels, y at one: the bits of 3, 1 are x0=1, y0=1, x1=1.
    assert contents(out / "spatial1") == {"0": b"first", "7": b"corner", "4": b"middle"}
    assert [note for note in done.notes if "rel_none" in note and "no object" in note]
    assert [note for note in done.notes if "1 file left out, not named as objects: 'notes'" in note]


def test_annotations_that_cannot_be_taken(tmp_path: Path) -> None:
    root, _ = annotations(tmp_path / "in")
    written(root, {"spatial1/4_0": b"outside"})
    with pytest.raises(UsageError, match="4_0 is not a cell of annotations by cell spatial1: its grid is 4, 2"):
        packed(tmp_path, root)
    info = json.loads((root / "info").read_text())
    written(root, {"info": {**info, "by_id": {"key": "by_id", "sharding": RAW}}})
    with pytest.raises(UsageError, match="sharded already"):
        packed(tmp_path, root)
