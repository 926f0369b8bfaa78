"""Cloud-volume and tensorstore read what we write: all keys, volumes and meshes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shardcore.formats.neuroglancer.test_writer_several import annotations

import shardcore
from shardcore.formats.neuroglancer.suggest_spec import bits_for
from shardcore.operations.convert import convert
from shardcore.operations.pack import pack
from shardcore.testing import rounds
from tests.shardcore.formats.neuroglancer.made import random_spec

pytestmark = pytest.mark.interop("cloudvolume", "tensorstore")


def read_by_tensorstore(folder: Path, spec: dict[str, Any]) -> dict[int, bytes]:
    import tensorstore as ts

    base = {"driver": "file", "path": f"{folder}/"}
    store = ts.KvStore.open({"driver": "neuroglancer_uint64_sharded", "base": base, "metadata": spec}).result()
    return {int.from_bytes(key, "big"): store[key] for key in store.list().result()}


def read_by_cloud_volume(folder: Path, spec: dict[str, Any]) -> dict[int, bytes]:
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification, ShardReader

    reader = ShardReader(None, None, ShardingSpecification.from_dict(dict(spec)))
    found: dict[int, bytes] = {}
    for path in sorted(folder.glob("*.shard")):
        found |= reader.disassemble_shard(path.read_bytes())
    return found


@pytest.mark.parametrize("seed", range(rounds(30, 6)))
def test_every_key_is_read(tmp_path: Path, seed: int) -> None:
    """Keys over the whole range, in any order of adding, in both orders on disk, come back from both readers."""
    dice = random.Random(seed)
    spec = random_spec(dice)
    keys = list({dice.getrandbits(dice.choice([10, 33, 64])) for _ in range(dice.randint(1, 150))} | {2**64 - 1})
    values = {key: dice.randbytes(dice.choice([1, 7, 200])) * dice.randint(1, 5) for key in keys}
    order = ("by-minishard", "indices-last")[seed % 2]
    out = tmp_path / "out"
    with shardcore.create(out, format="neuroglancer", folder=True, spec=spec, order=order, kind="skeleton") as writer:
        if dice.random() < 0.5:
            writer.add_many([str(key) for key in values], list(values.values()))
        else:
            for key, data in values.items():
                writer.add(hex(key), data)
    assert read_by_tensorstore(out, spec) == values
    assert read_by_cloud_volume(out, spec) == values


@pytest.mark.parametrize("spec", [None, 1, 2])
def test_volumes_are_read(tmp_path: Path, spec: int | None) -> None:
    """A .npy becomes a volume that both readers give back, with suggested parameters or given ones."""
    import tensorstore as ts
    from cloudvolume import CloudVolume

    array = np.random.default_rng(spec).integers(0, 90, (70, 45, 33, 1 + (spec or 0) // 2)).astype("uint32")
    np.save(tmp_path / "a.npy", array)
    options: dict[str, Any] = {"volume": str(tmp_path / "a.npy"), "chunk_size": "16,16,8", "resolution": "4,4,40"}
    if spec is not None:
        found = random_spec(random.Random(spec)) | {"hash": "identity", "preshift_bits": spec, "shard_bits": spec}
        options |= {"spec": found, "order": "indices-last"}
    out = tmp_path / "out"
    pack("neuroglancer", f"{out}/", options=options)
    theirs = CloudVolume(f"file://{out}", progress=False, cache=False)
    assert np.array_equal(np.asarray(theirs[:]), array)
    store = ts.open({"driver": "neuroglancer_precomputed", "kvstore": {"driver": "file", "path": str(out)}}).result()
    assert np.array_equal(store.read().result(), array)


@pytest.mark.parametrize("compress", ["gzip", "br", None])
def test_unsharded_volumes_become_sharded(tmp_path: Path, compress: str | None) -> None:
    """What cloud-volume wrote one file per chunk, offset included, it reads sharded as well; tensorstore, too."""
    import tensorstore as ts
    from cloudvolume import CloudVolume

    array = np.random.default_rng(1).integers(0, 90, (40, 33, 20, 1)).astype("uint16")
    info = CloudVolume.create_new_info(
        num_channels=1,
        layer_type="image",
        data_type="uint16",
        encoding="raw",
        resolution=[8, 8, 40],
        voxel_offset=[-16, 32, 7],
        chunk_size=[16, 16, 16],
        volume_size=[40, 33, 20],
    )
    written = CloudVolume(f"file://{tmp_path / 'in'}", info=info, progress=False, compress=compress, bounded=True)
    written.commit_info()
    written[:] = array
    out = tmp_path / "out"
    done = pack("neuroglancer", f"{out}/", [tmp_path / "in"])
    (suggested,) = done.notes  # nothing was left out
    assert suggested.startswith("preshift_bits")
    theirs = CloudVolume(f"file://{out}", progress=False, cache=False)
    assert theirs.bounds == written.bounds
    assert np.array_equal(np.asarray(theirs[:]), array)
    store = ts.open({"driver": "neuroglancer_precomputed", "kvstore": {"driver": "file", "path": str(out)}}).result()
    assert np.array_equal(store.read().result(), array)


def test_all_scales_become_sharded(tmp_path: Path) -> None:
    """A root of two scales with skeletons, written by cloud-volume: it and tensorstore read all of the sharded one."""
    import tensorstore as ts
    from cloudvolume import CloudVolume, Skeleton

    dice = np.random.default_rng(2)
    arrays = [dice.integers(0, 90, shape).astype("uint32") for shape in ((40, 33, 20, 1), (20, 17, 20, 1))]
    info = CloudVolume.create_new_info(
        num_channels=1,
        layer_type="segmentation",
        data_type="uint32",
        encoding="compressed_segmentation",
        resolution=[8, 8, 40],
        voxel_offset=[16, 32, 8],
        chunk_size=[16, 16, 16],
        volume_size=[40, 33, 20],
        skeletons="bones",
    )
    where = f"file://{tmp_path / 'in'}"
    first = CloudVolume(where, info=info, progress=False, bounded=True)
    first.add_scale((2, 2, 1))
    first.commit_info()
    for mip, array in enumerate(arrays):
        CloudVolume(where, mip=mip, progress=False, bounded=True)[:] = array
    first.skeleton.meta.commit_info()
    bone = Skeleton(np.array([[1, 2, 3], [4, 5, 6]], "f4"), np.array([[0, 1]], "u4"), segid=7)
    first.skeleton.upload(bone)
    out = tmp_path / "out"
    done = pack("neuroglancer", f"{out}/", [tmp_path / "in"])
    assert done.report.ok
    assert all("preshift_bits" in note for note in done.notes)  # nothing was left out
    for mip, array in enumerate(arrays):
        theirs = CloudVolume(f"file://{out}", mip=mip, progress=False, cache=False)
        assert theirs.bounds == CloudVolume(where, mip=mip, progress=False).bounds
        assert np.array_equal(np.asarray(theirs[:]), array)
        spec = {"driver": "neuroglancer_precomputed", "kvstore": {"driver": "file", "path": str(out)}}
        assert np.array_equal(ts.open({**spec, "scale_index": mip}).result().read().result(), array)
    again = CloudVolume(f"file://{out}", progress=False, cache=False).skeleton.get(7)
    assert np.array_equal(again.vertices, bone.vertices)
    assert np.array_equal(again.edges, bone.edges)


def test_annotations_are_read(tmp_path: Path) -> None:
    """Each index of annotations, by id, by relation and by cell, is listed and read by tensorstore and cloud-volume."""
    root, held = annotations(tmp_path / "in")
    out = tmp_path / "out"
    pack("neuroglancer", f"{out}/", [root])
    info = json.loads((out / "info").read_text())
    codes = {"0_0": 0, "2_0": 4, "3_1": 7}
    for part in (info["by_id"], *info["relationships"], *info["spatial"]):
        objects = held.get(part["key"], {})
        expected = {codes[name] if "_" in name else int(name): data for name, data in objects.items()}
        assert (read_by_tensorstore(out / part["key"], part["sharding"]) if expected else {}) == expected
        assert read_by_cloud_volume(out / part["key"], part["sharding"]) == expected


SEGMENTS = (7, 2**40 + 1, 12)


def unsharded_meshes(folder: Path, **more: Any) -> None:
    import DracoPy
    from cloudvolume.datasource.precomputed.mesh.multilod import MultiLevelPrecomputedMeshManifest

    folder.mkdir(parents=True)
    info = {"@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 10, "lod_scale_multiplier": 1}
    (folder / "info").write_text(json.dumps(info | {"transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]} | more))
    for number, segment in enumerate(SEGMENTS):
        points = np.array([[0, 0, 0], [900, 0, 0], [0, 900, number], [0, 0, 1000]], np.float32)
        faces = np.array([[0, 1, 2], [0, 1, 3]][: 1 + number % 2], np.uint32)
        fragment = DracoPy.encode(
            points, faces, quantization_bits=10, quantization_range=1023, quantization_origin=[0] * 3
        )
        manifest = MultiLevelPrecomputedMeshManifest(
            segment_id=segment,
            chunk_shape=[64, 64, 64],
            grid_origin=[0, 0, 0],
            num_lods=1,
            lod_scales=[1.0],
            vertex_offsets=[[0, 0, 0]],
            num_fragments_per_lod=[1],
            fragment_positions=[[[0, 0, 0]]],
            fragment_offsets=[len(fragment)],
        ).to_binary()
        (folder / f"{segment}.index").write_bytes(manifest)
        (folder / str(segment)).write_bytes(fragment)


def meshes_in(root: Path) -> dict[int, Any]:
    from cloudvolume import CloudVolume

    volume = CloudVolume.create_new_info(1, "segmentation", "uint64", "raw", [1, 1, 1], [0, 0, 0], [64] * 3)
    CloudVolume(f"file://{root}", info=volume | {"mesh": "mesh"}, progress=False).commit_info()
    found: dict[int, Any] = CloudVolume(f"file://{root}", progress=False, cache=False).mesh.get(list(SEGMENTS))
    return found


def check_meshes(found: dict[int, Any], wanted: dict[int, Any]) -> None:
    for segment in SEGMENTS:
        assert len(found[segment].faces)
        assert np.array_equal(found[segment].vertices, wanted[segment].vertices)
        assert np.array_equal(found[segment].faces, wanted[segment].faces)


def test_meshes_are_read(tmp_path: Path) -> None:
    """Meshes of one file for each manifest and its fragments become sharded; cloud-volume draws them as before."""
    unsharded_meshes(tmp_path / "unsharded" / "mesh")
    (tmp_path / "sharded").mkdir()
    pack("neuroglancer", f"{tmp_path / 'sharded' / 'mesh'}/", [tmp_path / "unsharded" / "mesh"])
    check_meshes(meshes_in(tmp_path / "sharded"), meshes_in(tmp_path / "unsharded"))


def test_converted_meshes_keep_their_place(tmp_path: Path) -> None:
    transform = [8, 0, 0, 256_000, 0, 4, 0, -7, 0, 0, 40, 3]
    unsharded_meshes(tmp_path / "in", transform=transform, lod_scale_multiplier=2.5)
    roots = {name: tmp_path / name / "mesh" for name in ("source", "back", "direct", "resharded")}
    for root in roots.values():
        root.parent.mkdir()
    pack("neuroglancer", f"{roots['source']}/", [tmp_path / "in"])
    between = tmp_path / "x.des"
    spec = {"@type": "neuroglancer_uint64_sharded_v1", "hash": "identity", "preshift_bits": 0}
    spec |= {"minishard_bits": 2, "shard_bits": 1}
    with shardcore.open(roots["source"]) as shard:
        convert(shard, "des", between)
        convert(shard, "neuroglancer", f"{roots['direct']}/")
        convert(shard, "neuroglancer", f"{roots['resharded']}/", options={"spec": spec})
    with shardcore.open(between) as shard:
        convert(shard, "neuroglancer", f"{roots['back']}/", manifest=f"{between}.manifest.json")
    info = json.loads((roots["source"] / "info").read_text())
    wanted = meshes_in(tmp_path / "source")
    assert max(mesh.vertices.max() for mesh in wanted.values()) > 256_000
    values = read_by_tensorstore(roots["source"], info["sharding"])
    for name in ("back", "direct", "resharded"):
        stated = json.loads((roots[name] / "info").read_text())
        assert stated | {"sharding": info["sharding"]} == info
        assert (stated["sharding"] == info["sharding"]) is (name != "resharded")
        check_meshes(meshes_in(tmp_path / name), wanted)
        assert read_by_tensorstore(roots[name], stated["sharding"]) == values


def test_the_rule_for_ids_is_cloud_volumes() -> None:
    from cloudvolume.datasource.precomputed.sharding import compute_shard_params_for_hashed

    dice = random.Random(3)
    for count in [0, 1, 1365, 1366, 699_050, 699_051, *(dice.getrandbits(dice.randint(1, 40)) for _ in range(400))]:
        assert (*bits_for(count), 0) == compute_shard_params_for_hashed(count)
