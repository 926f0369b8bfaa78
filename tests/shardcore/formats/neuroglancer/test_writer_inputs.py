"""What is packed: files named by keys, a data set that is not sharded, an array."""

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
from shardcore.formats.neuroglancer.chunks import chunk_array
from shardcore.formats.neuroglancer.folder import NeuroglancerDataSet
from shardcore.operations.extraction import extract_objects
from shardcore.operations.pack import Packed, pack

MESH_INFO = {
    "@type": "neuroglancer_multilod_draco",
    "vertex_quantization_bits": 10,
    "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
    "lod_scale_multiplier": 1,
}
SKELETON_INFO = {"@type": "neuroglancer_skeletons", "vertex_attributes": [], "note": "kept"}
OFFSET, SIZE, CHUNK = (-5, 3, 0), (20, 9, 11), (8, 8, 8)


def volume_info(*keys: str) -> dict[str, Any]:
    scale = {"size": SIZE, "voxel_offset": OFFSET, "chunk_sizes": [CHUNK], "resolution": [4, 4, 40], "encoding": "raw"}
    return {
        "@type": "neuroglancer_multiscale_volume",
        "type": "image",
        "data_type": "uint16",
        "num_channels": 1,
        "mesh": "mesh",
        "scales": [{"key": key, **scale} for key in keys],
    }


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
    assert done.report is not None
    assert done.report.findings == ()
    return tmp_path / "out", done


def manifest(*sizes: int) -> bytes:
    count = len(sizes)
    head = np.array([1, 1, 1, 0, 0, 0], "<f4").tobytes() + np.array([1], "<u4").tobytes()
    level = np.array([1, 0, 0, 0], "<f4").tobytes() + np.array([count], "<u4").tobytes()
    return head + level + np.array([*range(count)] * 3, "<u4").tobytes() + np.array(sizes, "<u4").tobytes()


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
        assert isinstance(found, NeuroglancerDataSet)
        again = np.zeros(SIZE, "<u2")
        for key in found.objects.keys[:]:
            ref = found.find(str(key))
            begin = [at - offset for at, offset in zip(ref.extras["voxel_begin"], OFFSET, strict=True)]
            part = chunk_array(found.origin.space, int(str(key)), found.read(ref))[..., 0]
            again[tuple(slice(at, at + length) for at, length in zip(begin, part.shape, strict=True))] = part
        assert (again == array).all()


def test_meshes_become_sharded(tmp_path: Path) -> None:
    fragments = b"draco" * 6
    root = written(
        tmp_path / "in",
        {"info": MESH_INFO, "7.index": manifest(10, 20), "7": fragments, "12.index": manifest(), "0_0.spatial": b"{}"},
    )
    out, done = packed(tmp_path, root)
    assert [note for note in done.notes if "0_0.spatial" in note]
    info = json.loads((out / "info").read_text())
    assert info.pop("sharding")["data_encoding"] == "raw"
    assert info == MESH_INFO
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
    done = pack("neuroglancer", tmp_path / "one.shard", [root], options={"spec": SPEC})
    with shardcore.open(tmp_path / "one.shard", spec=SPEC) as shard:
        assert [shard.read(shard.find(key)) for key in ("7", "12", "16")] == [b"seven", b"twelve", b"sixteen"]
    meshes = written(tmp_path / "meshes", {"5.index": manifest(4), "5": b"four"})
    done = pack("neuroglancer", tmp_path / "mesh.bin", [meshes])
    assert done.report is not None
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
        assert isinstance(found, NeuroglancerDataSet)
        again = np.zeros((*shape, 1)[:4], dtype)
        for key in found.objects.keys[:]:
            ref = found.find(str(key))
            box = zip(ref.extras["voxel_begin"], ref.extras["voxel_end"], strict=True)
            place = tuple(slice(begin, end) for begin, end in box)
            again[place] = chunk_array(found.origin.space, int(str(key)), found.read(ref))
        assert (again.reshape(shape) == array).all()


def test_what_is_no_volume_is_refused(tmp_path: Path) -> None:
    for name, array in (
        ("flat", np.zeros((3, 3))),
        ("wide", np.zeros((2, 2, 2), "f8")),
        ("good", np.zeros((2, 2, 2), "u1")),
    ):
        np.save(tmp_path / f"{name}.npy", array)
    (tmp_path / "text.npy").write_text("no array")
    good = str(tmp_path / "good.npy")
    for options, why in (
        ({"volume": str(tmp_path / "flat.npy")}, "shape"),
        ({"volume": str(tmp_path / "wide.npy")}, "float64"),
        ({"volume": str(tmp_path / "text.npy")}, "not a .npy"),
        ({"volume": str(tmp_path / "none.npy")}, "cannot read"),
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


def test_shards_of_a_scale_that_are_replaced_go(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((4, 4, 4), "u1"))
    options = {"volume": str(tmp_path / "a.npy")}
    packed(tmp_path, **options)
    for name in ("out/1_1_1/1.shard", "out/1_1_1/notes.txt"):
        (tmp_path / name).write_bytes(b"")
    done = pack("neuroglancer", f"{tmp_path / 'out'}/", options=options, force=True)
    assert done.removed == (tmp_path / "out" / "1_1_1" / "1.shard",)
    assert sorted(path.name for path in (tmp_path / "out" / "1_1_1").iterdir()) == ["0.shard", "notes.txt"]


FIXTURES = Path(__file__).parents[3] / "data" / "neuroglancer"
UNSHARDED = ("unsharded", "mesh_files", "cell_files")


SHARDED = [path for path in FIXTURES.iterdir() if (path / "info").is_file() and path.name not in UNSHARDED]
NAMES = sorted(path.name for path in SHARDED)


@pytest.mark.parametrize("name", NAMES)
def test_fixtures_extracted_and_packed_again(tmp_path: Path, name: str) -> None:
    order = ("by-minishard", "indices-last")[NAMES.index(name) % 2]
    folders = [path.parent for path in FIXTURES.glob(f"{name}/**/*.shard")] or [FIXTURES / name]
    for number, folder in enumerate(dict.fromkeys(folders)):
        where = tmp_path / str(number)
        where.mkdir()
        with shardcore.open(folder) as found:
            assert isinstance(found, NeuroglancerDataSet)
            before = told(found)
            refs = [found.find(key) for key in before]
            assert not any(line.error for line in extract_objects(found, refs, where / "files"))
            space, info = found.origin.space, json.loads((FIXTURES / name / "info").read_text())
        if space.scale is not None:
            info["scales"] = [scale for scale in info["scales"] if scale["key"] == space.folder]
        options = {"spec": info, "order": order}
        done = pack("neuroglancer", f"{where / 'out'}/", manifest=where / "files" / "manifest.json", options=options)
        assert done.report is not None
        assert done.report.ok
        with shardcore.open(where / "out") as found:
            assert told(found) == before


def told(found: shardcore.Shard) -> dict[str, tuple[bytes, ...]]:
    found.load_index()
    refs = [found.find(str(key)) for key in sorted(filter(None, found.objects.keys[:]))]
    return {str(ref.key): (found.read(ref), *(found.read_part(ref, part) for part in ref.parts)) for ref in refs}


@pytest.mark.parametrize("plant", ["file", "scale", "above", "outside", "absolute", "mesh"])
def test_no_link_and_no_name_leads_out_of_the_folder(tmp_path: Path, plant: str) -> None:
    chunks = {name: array_bytes(part) for part, name in boxes()}
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


def array_bytes(part: tuple[slice, ...]) -> bytes:
    return np.zeros(SIZE, "<u2")[part].tobytes(order="F")


def test_an_info_that_is_a_link_or_a_pipe(tmp_path: Path) -> None:
    real = written(tmp_path / "real", {"info": MESH_INFO})
    for name, plant in (("pipe", os.mkfifo), ("link", lambda path: path.symlink_to(real / "info"))):
        root = written(
            tmp_path / name, {"7": b"x", "7.index": manifest(1), "below/7": b"x", "below/7.index": manifest(1)}
        )
        plant(root / "info")
        with pytest.raises(SourceError, match=r"not a regular file|refused to follow the link"):
            pack("neuroglancer", f"{tmp_path / 'out'}/", [root])
        done = pack("neuroglancer", f"{tmp_path / name}-out/", [root / "below"], options={"spec": SPEC})
        assert done.report is not None
        out = tmp_path / f"{name}-replaced"
        out.mkdir()
        plant(out / "info")
        with suppress(ShardError):
            pack("neuroglancer", f"{out}/", [root / "below"], options={"spec": SPEC}, force=True)
        assert json.loads((real / "info").read_text()) == MESH_INFO


SPEC = (
    '{"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, "hash": "identity", "minishard_bits": 0, '
    '"shard_bits": 0, "minishard_index_encoding": "raw", "data_encoding": "raw"}'
)
