"""Packing files named by keys, arrays, and data sets with one file per object."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import shardcore
from shardcore.errors import ShardError, SourceError, UsageError
from shardcore.formats.neuroglancer.sharding import IDENTITY, ShardingSpec
from shardcore.operations.extraction import extract_objects
from shardcore.operations.pack import Packed, pack
from tests.shardcore.formats.neuroglancer.made import manifest
from tests.volumes import Slabs

MESH_INFO = {
    "@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 10,
    "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], "lod_scale_multiplier": 1,
}  # fmt: skip
OFFSET, SIZE, CHUNK = (-5, 3, 0), (20, 9, 11), (8, 8, 8)
SPEC = json.dumps(ShardingSpec(0, IDENTITY, 0, 0).to_json())
FIXTURES = Path(__file__).parents[3] / "data" / "neuroglancer"
UNSHARDED = ("unsharded", "mesh_files", "cell_files")
NAMES = sorted(path.parent.name for path in FIXTURES.glob("*/info") if path.parent.name not in UNSHARDED)
SKELETON_INFO = {"@type": "neuroglancer_skeletons", "vertex_attributes": [], "note": "kept"}


def volume_info(*keys: str) -> dict[str, Any]:
    scale = {"size": SIZE, "voxel_offset": OFFSET, "chunk_sizes": [CHUNK], "resolution": [4, 4, 40], "encoding": "raw"}
    return {
        "@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "uint16", "num_channels": 1,
        "mesh": "mesh", "scales": [{"key": key, **scale} for key in keys],
    }  # fmt: skip


def boxes() -> Iterator[tuple[tuple[slice, ...], str]]:
    for corner in np.ndindex(3, 2, 2):
        begin = [at * step for at, step in zip(corner, CHUNK, strict=True)]
        end = [min(at + step, size) for at, step, size in zip(begin, CHUNK, SIZE, strict=True)]
        axes = list(zip(begin, end, OFFSET, strict=True))
        yield tuple(slice(b, e) for b, e, _ in axes), "_".join(f"{b + at}-{e + at}" for b, e, at in axes)


def written(folder: Path, files: dict[str, bytes | dict[str, Any]]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(json.dumps(data).encode() if isinstance(data, dict) else data)
    return folder


def packed(tmp_path: Path, *inputs: Path, **options: Any) -> tuple[Path, Packed]:
    done = pack("neuroglancer", f"{tmp_path / 'out'}/", inputs, options=options)
    assert done.report.findings == ()
    return tmp_path / "out", done


def compressed(data: bytes, ending: str) -> bytes:
    if ending == ".br":
        return bytes(pytest.importorskip("brotli").compress(data))
    return {"": bytes, ".gz": gzip.compress, ".zstd": zstandard.compress}[ending](data)


@pytest.mark.parametrize("given", ["root", "scale"])
def test_a_scale_becomes_sharded(tmp_path: Path, given: str) -> None:
    array = np.arange(np.prod(SIZE), dtype="<u2").reshape(SIZE)
    files: dict[str, bytes | dict[str, Any]] = {"info": volume_info("4_4_40", "not_there"), "mesh/info": MESH_INFO}
    for number, (part, name) in enumerate(boxes()):
        ending = ("", ".gz", ".zstd")[number % 3]
        files[f"4_4_40/{name}{ending}"] = compressed(array[part].tobytes(order="F"), ending)
    root = written(tmp_path / "in", files | {"4_4_40/notes.txt": b"not a chunk"})
    out, done = packed(tmp_path, root if given == "root" else root / "4_4_40")
    told = {"root": "scale not_there is left out", "scale": "not not_there|mesh is not packed with a single scale"}[
        given
    ]
    for words in (*told.split("|"), "notes.txt"):
        assert any(words in note for note in done.notes)
    info = json.loads((out / "info").read_text())
    assert info["scales"][0].pop("sharding")["hash"] == "identity"
    assert info == json.loads(json.dumps(volume_info("4_4_40")))
    with shardcore.open(out / "4_4_40") as found:
        assert (found[-5:15, 3:12, 0:11][..., 0] == array).all()


def test_meshes_become_sharded(tmp_path: Path) -> None:
    fragments = b"draco" * 6
    root = written(
        tmp_path / "in",
        {"info": MESH_INFO, "7.index": manifest(10, 20), "7": fragments, "12.index": manifest(), "0_0.spatial": b"{}"},
    )
    out, done = packed(tmp_path, root)
    assert [note for note in done.notes if "0_0.spatial" in note]
    info = json.loads((out / "info").read_text())
    assert (info.pop("sharding")["data_encoding"], info) == ("raw", MESH_INFO)
    with shardcore.open(out) as found:
        ref = found.find("7")
        assert (found.read(ref), found.read_part(ref, "fragments")) == (manifest(10, 20), fragments)
        assert found.read(found.find("12")) == manifest()


def test_skeletons_become_sharded(tmp_path: Path) -> None:
    endings = ("", ".gz", ".zstd", ".br")
    files = {f"{key}{ending}": compressed(b"skeleton %d" % key, ending) for key, ending in enumerate(endings)}
    out, done = packed(tmp_path, written(tmp_path / "in", {"info": SKELETON_INFO, **files}))
    (suggested,) = done.notes  # nothing was left out
    assert suggested.startswith("preshift_bits")
    assert json.loads((out / "info").read_text())["note"] == "kept"
    with shardcore.open(out) as found:
        assert [found.read(found.find(str(key))) for key in range(4)] == [b"skeleton %d" % key for key in range(4)]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"info": volume_info("a", "a"), "a/x": b""}, "names the folder a twice"),
        ({"info": volume_info("a")}, "no folders"),
        ({"info": volume_info("a"), "a/0-8_0-8_0-8": b""}, "0-8_0-8_0-8 is not a chunk of scale a"),
        ({"info": volume_info("a"), "a/-5-3_3-11_0-9": b""}, "is not a chunk"),
        ({"info": {"@type": "neuroglancer_legacy_mesh"}, "5:0": b""}, "legacy form"),
        ({"info": MESH_INFO, "5:0": b""}, "5:0: a mesh in the legacy form"),
        ({"info": MESH_INFO, "5": b""}, "5 has no manifest: 5.index"),
        ({"info": MESH_INFO, "5.index": manifest(3)}, "3 bytes of fragments, but the fragments have 0"),
        ({"info": MESH_INFO, "5.index": manifest(), "5.index.gz": b""}, "two versions of the same file"),
        ({"info": {**MESH_INFO, "sharding": {}}}, "sharded already"),
        ({"info": {"@type": "neuroglancer_annotations_v1"}}, "no folders of its indices"),
        ({"info": {"@type": "neuroglancer_other"}}, "volumes, multi-resolution meshes, skeletons and annotations"),
        ({"info": SKELETON_INFO, "5": b"", "5.gz": gzip.compress(b"")}, "in/5 and .*in/5.gz have the same key"),
        ({"info": SKELETON_INFO, "5.zstd": b"no"}, "cannot read .*5.zstd"),
        ({"info": SKELETON_INFO, "5.gz": gzip.compress(b"five")[:-3]}, "cannot read .*5.gz"),
        ({"five.bin": b""}, "five.bin: the file name must be the key"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_name(tmp_path: Path, files: dict[str, Any], why: str) -> None:
    with pytest.raises(ShardError, match=why):
        packed(tmp_path, written(tmp_path / "in", files))
    assert not (tmp_path / "out").exists()


def test_files_are_named_by_their_keys(tmp_path: Path) -> None:
    root = written(tmp_path / "in", {"a/0x10.bin": b"sixteen", "7.txt.gz": gzip.compress(b"seven"), "12": b"twelve"})
    out, _ = packed(tmp_path, root, info="no", kind="skeleton")
    assert [path.name for path in out.iterdir()] == ["0.shard"]
    pack("neuroglancer", tmp_path / "one.shard", [root], options={"spec": SPEC})
    with shardcore.open(tmp_path / "one.shard", spec=SPEC) as shard:
        assert [shard.read(shard.find(key)) for key in ("7", "12", "16")] == [b"seven", b"twelve", b"sixteen"]
    meshes = written(tmp_path / "meshes", {"5.index": manifest(4), "5": b"four"})
    done = pack("neuroglancer", tmp_path / "mesh.bin", [meshes])
    assert done.report.findings == ()
    assert not (tmp_path / "info").exists()
    pack("neuroglancer", f"{tmp_path / 'shards'}/", [meshes], options={"kind": "mesh"})
    assert json.loads((tmp_path / "shards" / "info").read_text())["@type"] == "neuroglancer_multilod_draco"
    with shardcore.open(tmp_path / "shards") as found:
        assert found.read_part(found.find("5"), "fragments") == b"four"


@pytest.mark.parametrize(
    ("dtype", "shape", "kind"),
    [("uint8", (70, 9, 33), "image"), (">u4", (5, 4, 3), "segmentation"), ("float32", (20, 20, 4, 2), "image")],
)
def test_an_array_becomes_a_volume(tmp_path: Path, dtype: str, shape: tuple[int, ...], kind: str) -> None:
    array = np.random.default_rng(7).integers(0, 200, shape).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    options = {"volume": str(tmp_path / "a.npy"), "chunk_size": "16,8,32", "resolution": "4,4,40.5"}
    out, _ = packed(tmp_path, **options)
    info = json.loads((out / "info").read_text())
    assert (info["type"], info["data_type"]) == (kind, np.dtype(dtype).name)
    assert info["scales"][0]["resolution"] == [4, 4, 40.5]
    with shardcore.open(out) as found:
        assert (found[:, :, :].reshape(shape) == array).all()


def test_what_is_no_volume_is_refused(tmp_path: Path) -> None:
    for name, shape, kind in (("flat", (3, 3), "u1"), ("wide", (2, 2, 2), "f8"), ("good", (2, 2, 2), "u1")):
        np.save(tmp_path / f"{name}.npy", np.zeros(shape, kind))
    (tmp_path / "text.npy").write_text("no array")
    good = str(tmp_path / "good.npy")
    for options, why in (
        ({"volume": str(tmp_path / "flat.npy")}, "shape"),
        ({"volume": str(tmp_path / "wide.npy")}, "float64"),
        ({"volume": str(tmp_path / "text.npy")}, "not a .npy"),
        ({"volume": str(tmp_path / "none.npy")}, "cannot read"),
        ({"volume": np.zeros((2, 2), "u1")}, r"the array has the shape \(2, 2\)"),
        ({"volume": [[[1]]]}, "the array is list"),
        ({"volume": good, "chunk_size": "64,64"}, "chunk_size=64,64: three numbers"),
        ({"volume": good, "chunk_size": "0,64,64"}, "greater than 0"),
        ({"volume": good, "kind": "mesh"}, "must be image or segmentation"),
        ({"kind": "image"}, "volume=FILE.npy"),
        ({"resolution": "4,4,40"}, "require"),
    ):
        with pytest.raises(ShardError, match=why):
            shardcore.create(None, format="neuroglancer", **options)
    with pytest.raises(UsageError, match="cannot be combined"):
        pack("neuroglancer", f"{tmp_path / 'out'}/", [tmp_path], options={"volume": good})
    with shardcore.create(None, format="neuroglancer", volume=good) as writer:
        writer.add("9", b"", label="in/9")
        with pytest.raises(UsageError, match="in/9: Morton code 9 is outside the grid"):
            writer.plan()


def test_an_array_is_read_chunk_by_chunk(tmp_path: Path) -> None:
    voxels, steps = Slabs(np.arange(20 * 9 * 5, dtype="<u4").reshape(20, 9, 5)), list[tuple[int, int]]()
    more: Any = {"chunk": 8, "resolution": np.float32(4.5), "verify": shardcore.Depth.INDEX}
    done = shardcore.write_volume(tmp_path / "v", voxels, progress=lambda *step: steps.append(step), **more)
    assert done.written[0].path.parent.name == "4.5_4.5_4.5"
    assert (len(voxels.read), max(voxels.read), sum(voxels.read)) == (6, 8 * 8 * 5, 900)
    assert steps[:6] == [(n, 6) for n in range(6)]
    for target, why in ((tmp_path / "v", "exists"), ("s3://b/v", "s3://b/v/ is an address")):
        with pytest.raises(UsageError, match=why):
            shardcore.write_volume(target, voxels, **more)
    written, voxels.array = voxels.array, np.full((20, 9, 5), "no number")
    with pytest.raises(shardcore.SourceError, match=r"the array at 0..8 × 0..8 × 0..5: "):
        shardcore.write_volume(tmp_path / "v", voxels, force=True, **more)
    with shardcore.open(tmp_path / "v") as found:
        np.testing.assert_array_equal(found[..., 0], written)
        assert found.chunk_grid().labels


def test_shards_of_a_scale_that_are_replaced_go(tmp_path: Path) -> None:
    out, _ = packed(tmp_path, volume(tmp_path / "in"))
    np.save(tmp_path / "a.npy", np.zeros((4, 4, 4), "u1"))
    options = {"volume": str(tmp_path / "a.npy")}
    done = pack("neuroglancer", f"{out}/", options=options, force=True)
    assert {path.parent.name for path in done.removed} == {"full", "half"}
    for name in ("1.shard", "notes.txt"):
        (out / "1_1_1" / name).write_bytes(b"")
    done = pack("neuroglancer", f"{out}/", options=options, force=True)
    assert done.removed == (out / "1_1_1" / "1.shard",)
    assert sorted(path.name for path in (out / "1_1_1").iterdir()) == ["0.shard", "notes.txt"]


FIXTURES = Path(__file__).parents[3] / "data" / "neuroglancer"
UNSHARDED = ("unsharded", "mesh_files", "cell_files")


SHARDED = [path for path in FIXTURES.iterdir() if (path / "info").is_file() and path.name not in UNSHARDED]
NAMES = sorted(path.name for path in SHARDED)


@pytest.mark.parametrize("name", NAMES)
def test_fixtures_extracted_and_packed_again(tmp_path: Path, name: str) -> None:
    def contents(found: shardcore.Shard) -> dict[str, tuple[bytes, ...]]:
        found.load_index()
        refs = [found.find(str(key)) for key in sorted(filter(None, found.objects.keys[:]))]
        return {str(ref.key): (found.read(ref), *(found.read_part(ref, part) for part in ref.parts)) for ref in refs}

    order = ("by-minishard", "indices-last")[NAMES.index(name) % 2]
    for number, folder in enumerate(sorted({path.parent for path in FIXTURES.glob(f"{name}/**/*.shard")})):
        where = tmp_path / str(number)
        where.mkdir()
        with shardcore.open(folder) as found:
            before = contents(found)
            refs = [found.find(key) for key in before]
            assert not any(line.error for line in extract_objects(found, refs, where / "files"))
            info = json.loads((FIXTURES / name / "info").read_text())
        if "scales" in info:
            info["scales"] = [scale for scale in info["scales"] if scale["key"] == folder.name]
        options = {"spec": info, "order": order}
        done = pack("neuroglancer", f"{where / 'out'}/", manifest=where / "files" / "manifest.json", options=options)
        assert done.report.ok
        with shardcore.open(where / "out") as found:
            assert contents(found) == before


@pytest.mark.parametrize("plant", ["file", "scale", "above", "outside", "absolute", "mesh"])
def test_no_link_and_no_name_leads_out_of_the_folder(tmp_path: Path, plant: str) -> None:
    chunks = {name: np.zeros(SIZE, "<u2")[part].tobytes(order="F") for part, name in boxes()}
    secret = written(tmp_path / "secret", {**{f"s/{name}": b"secret" * 99 for name in chunks}, "mesh/info": MESH_INFO})
    written(secret, {"mesh/7": b"secret", "mesh/7.index": manifest(6)})
    info = volume_info("s")
    root = written(tmp_path / "in", {f"s/{name}": data for name, data in chunks.items()})
    first = next(iter(chunks))
    if plant == "file":
        (root / "s" / first).unlink()
        (root / "s" / first).symlink_to(secret / "s" / first)
    elif plant == "mesh":
        (root / "mesh").symlink_to(secret / "mesh")
    else:
        keys = {"scale": "linked", "above": "over/s", "outside": "../secret/s", "absolute": str(secret / "s")}
        (root / "linked").symlink_to(secret / "s")
        (root / "over").symlink_to(secret)
        info["scales"].append({**info["scales"][0], "key": keys[plant]})
    written(root, {"info": info})
    out, done = packed(tmp_path, root)
    assert [note for note in done.notes if "link" in note]
    assert not [path for path in out.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]


def test_an_info_that_is_a_link_or_a_pipe(tmp_path: Path) -> None:
    real = written(tmp_path / "real", {"info": MESH_INFO})
    for name, plant in (("pipe", os.mkfifo), ("link", lambda path: path.symlink_to(real / "info"))):
        files = {"7": b"x", "7.index": manifest(1)}
        root = written(tmp_path / name, files | {f"below/{name}": data for name, data in files.items()})
        plant(root / "info")
        with pytest.raises(SourceError, match=r"not a regular file|refused to follow the link"):
            pack("neuroglancer", f"{tmp_path / 'out'}/", [root])
        pack("neuroglancer", f"{tmp_path / name}-out/", [root / "below"], options={"spec": SPEC})
        out = tmp_path / f"{name}-replaced"
        out.mkdir()
        plant(out / "info")
        with suppress(ShardError):
            pack("neuroglancer", f"{out}/", [root / "below"], options={"spec": SPEC}, force=True)
        assert json.loads((real / "info").read_text()) == MESH_INFO


FULL, HALF = (20, 9, 11), (10, 5, 6)
RAW = ShardingSpec(1, IDENTITY, 1, 2).to_json()


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
    infos = {file.path.relative_to(out).as_posix() for file in done.written if file.path.name == "info"}
    assert infos == {"info", "mesh/info", "bones/info", "names/info"}


def test_the_plan_of_several_is_what_is_written(tmp_path: Path) -> None:
    root, out = volume(tmp_path / "in"), f"{tmp_path / 'out'}/"
    plan = pack("neuroglancer", out, [root], options={"spec": RAW}, plan=True).plan
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


def annotations(folder: Path) -> tuple[Path, dict[str, dict[str, bytes]]]:
    info = {
        "@type": "neuroglancer_annotations_v1", "annotation_type": "POINT", "properties": [],
        "dimensions": {"x": [4e-9, "m"], "y": [4e-9, "m"]}, "lower_bound": [0, 0], "upper_bound": [40, 20],
        "by_id": {"key": "by_id"},
        "relationships": [{"id": "segment", "key": "rel"}, {"id": "none", "key": "rel_none"}],
        "spatial": [
            {"key": "spatial0", "grid_shape": [1, 1], "chunk_size": [40, 20], "limit": 10},
            {"key": "spatial1", "grid_shape": [4, 2], "chunk_size": [10, 10], "limit": 10},
        ],
    }  # fmt: skip
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
