"""cloud-volume and tensorstore: data sets, volumes, meshes and skeletons in both directions."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore import content
from shardcore.formats.neuroglancer.space_values import bits_for
from shardcore.operations.content.geometry import mesh_level
from shardcore.operations.convert import convert
from shardcore.operations.pack import pack
from shardcore.testing import check_explained, rounds
from tests.samples.__main__ import RESOURCES
from tests.samples.neuroglancer import IDENTITY, SEGMENTS
from tests.shardcore.formats.neuroglancer.made import random_spec
from tests.shardcore.formats.neuroglancer.test_writer_inputs import annotations

pytestmark = pytest.mark.interop("cloudvolume", "tensorstore")


def random_values(dice: random.Random) -> dict[int, bytes]:
    keys = {dice.getrandbits(dice.choice([10, 33, 64])) for _ in range(dice.randint(1, 150))} | {2**64 - 1}
    return {key: dice.randbytes(dice.choice([1, 7, 200])) * dice.randint(1, 5) for key in sorted(keys)}


def write_info(folder: Path, spec: dict[str, Any]) -> None:
    (folder / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": spec}))


def tensorstore_volume(folder: Path, kind: str, channels: int, **scale: Any) -> Any:
    import tensorstore as ts

    metadata = {"type": "image", "data_type": kind, "num_channels": channels}
    scale |= {"resolution": [4, 4, 40]}
    store = {"driver": "neuroglancer_precomputed", "kvstore": {"driver": "file", "path": str(folder)}, "create": True}
    return ts.open(store | {"multiscale_metadata": metadata, "scale_metadata": scale}).result()


def manifest_of(segment: int, sizes: list[list[int]]) -> bytes:
    """A manifest of cloud-volume for fragments of these sizes, level by level."""
    from cloudvolume.datasource.precomputed.mesh.multilod import MultiLevelPrecomputedMeshManifest

    made = MultiLevelPrecomputedMeshManifest(
        segment_id=segment, chunk_shape=[64, 64, 64], grid_origin=[0, 0, 0], num_lods=len(sizes),
        lod_scales=[1.0] * len(sizes), vertex_offsets=[[0, 0, 0]] * len(sizes),
        num_fragments_per_lod=list(map(len, sizes)),
        fragment_positions=[[[n, 2 * n, 3 * n] for n in range(len(level))] for level in sizes],
        fragment_offsets=[size for level in sizes for size in level],
    )  # fmt: skip
    return bytes(made.to_binary())


def by_cloud_volume(folder: Path, spec: dict[str, Any], values: dict[int, bytes]) -> None:
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification

    for name, data in ShardingSpecification.from_dict(dict(spec)).synthesize_shards(values).items():
        (folder / name).write_bytes(data)
    write_info(folder, spec)


def by_tensorstore(folder: Path, spec: dict[str, Any], values: dict[int, bytes]) -> None:
    import tensorstore as ts

    base = {"driver": "file", "path": f"{folder}/"}
    store = ts.KvStore.open({"driver": "neuroglancer_uint64_sharded", "base": base, "metadata": spec}).result()
    with ts.Transaction() as transaction:
        inside = store.with_transaction(transaction)
        for key, data in values.items():
            inside[key.to_bytes(8, "big")] = data
    write_info(folder, spec)


@pytest.mark.parametrize("writer", [by_cloud_volume, by_tensorstore], ids=["cloud-volume", "tensorstore"])
@pytest.mark.parametrize("seed", range(rounds(6, 2)))
def test_fresh_data_sets_are_read_right(tmp_path: Path, writer: Any, seed: int) -> None:
    dice = random.Random(seed)
    spec, values = random_spec(dice), random_values(dice)
    writer(tmp_path, spec, values)
    with shardcore.open(tmp_path) as found:
        for key, data in values.items():
            assert found.read(found.find(str(key))) == data
        found.load_index()
        assert sorted(int(key or 0) for key in found.objects.keys) == list(values)
        assert (found.find_many([str(key) for key in values]) >= 0).all()
        assert found.find_many([str(key ^ 512) for key in values if key ^ 512 not in values]).max(initial=-1) == -1
        assert {one.code for one in found.verify().findings} <= {"neuroglancer.content"}


@pytest.mark.parametrize("seed", range(4))
def test_volumes_of_tensorstore(tmp_path: Path, seed: int) -> None:
    """Boxes of a random sharded volume are those of tensorstore; fill values have no chunk."""
    import tensorstore as ts

    dice = random.Random(seed)
    size = [dice.randint(5, 40) for _ in range(3)]
    origin = [dice.randint(-20, 20) for _ in range(3)]
    kind = dice.choice(["uint8", "uint16", "float32", "uint64"])
    scale = {"size": size, "encoding": "raw", "voxel_offset": origin}
    scale |= {"chunk_size": [dice.randint(3, 9) for _ in range(3)]}
    scale |= {"sharding": random_spec(dice) | {"preshift_bits": dice.choice([0, 3])}}
    store = tensorstore_volume(tmp_path, kind, dice.choice([1, 2]), **scale)
    noise = np.random.default_rng(seed).integers(0, 200, store.shape).astype(kind)
    with ts.Transaction() as transaction:
        store.with_transaction(transaction)[...] = noise
    with shardcore.open(tmp_path) as found:
        assert np.array_equal(found[:, :, :], noise)
        assert {one.code for one in found.verify().findings} <= {"neuroglancer.content"}
        for _ in range(50):
            ends = [sorted(dice.randint(0, length) for _ in range(2)) for length in size]
            box = tuple(slice(first + a, first + b) for (a, b), first in zip(ends, origin, strict=True))
            assert np.array_equal(found[box], store[box].read().result())


@pytest.mark.parametrize(
    ("encoding", "kind", "channels"),
    [
        *(("jpeg", "uint8", channels) for channels in (1, 3)),
        *(("png", "uint8", channels) for channels in (1, 3, 4)),
        ("png", "uint16", 1),
        ("compressed_segmentation", "uint32", 1),
        *(("compressed_segmentation", "uint64", channels) for channels in (1, 2)),
    ],
)
def test_encoded_volumes_of_tensorstore(tmp_path: Path, encoding: str, kind: str, channels: int) -> None:
    """Voxels of encoded chunks are those that tensorstore reads, and the chunk's array is that of `content`."""
    import tensorstore as ts

    scale: dict[str, Any] = {"size": [37, 30, 21], "chunk_size": [16, 16, 16], "voxel_offset": [3, -4, 5]}
    scale |= {"encoding": encoding, "sharding": random_spec(random.Random(1))}
    if encoding == "compressed_segmentation":
        scale["compressed_segmentation_block_size"] = [8, 4, 8]
    store = tensorstore_volume(tmp_path, kind, channels, **scale)
    x, y, z, c = np.indices(store.shape)
    labels = (1 + x // 5 * 7 + y // 9 * 31 + z // 6 * 101 + c * 3).astype(kind)
    with ts.Transaction() as transaction:
        store.with_transaction(transaction)[...] = labels
    expected = store.read().result()
    for isolated in (False, True):
        with shardcore.open(tmp_path, isolated=isolated) as found:
            voxels = found[3:40, -4:26, 5:26]
            assert np.array_equal(voxels, expected)
            ref = found.objects.ref(0)
            one = shardcore.content(found, ref)
            assert one.complete
            assert (one.encoding, one.layout.resolution) == (encoding, (4, 4, 40, 1))
            assert np.array_equal(one.array, found.array(ref))


@pytest.mark.parametrize("seed", range(4))
def test_meshes_of_cloud_volume(tmp_path: Path, seed: int) -> None:
    """Manifests and their unlisted fragments come back for every segment, with and without the info."""
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification

    dice = random.Random(seed)
    spec = random_spec(dice) | {"data_encoding": "raw", "shard_bits": 0, "hash": "murmurhash3_x86_128"}
    fragments: dict[int, bytes] = {}
    manifests: dict[int, bytes] = {}
    for segment in dice.sample(range(1, 2**60), 40):
        counts = [dice.randint(1, 9) for _ in range(dice.randint(1, 3))]
        sizes = [[dice.randint(0, 300) for _ in range(count)] for count in counts]
        manifests[segment] = manifest_of(segment, sizes)
        fragments[segment] = dice.randbytes(sum(map(sum, sizes)))
    labels = {segment: fragments[segment] + manifests[segment] for segment in manifests}
    offsets = {segment: len(manifest) for segment, manifest in manifests.items()}
    data = ShardingSpecification.from_dict(dict(spec)).synthesize_shard(labels, data_offset=offsets)
    (tmp_path / "0.shard").write_bytes(data)
    info = {"@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 10, "lod_scale_multiplier": 1}
    for text in (json.dumps(info | {"sharding": spec}), None):
        if text is not None:
            (tmp_path / "info").write_text(text)
        else:
            (tmp_path / "info").unlink()
        with shardcore.open(tmp_path / "0.shard") as shard:
            shard.load_index()
            for segment, manifest in manifests.items():
                ref = shard.find(str(segment))
                assert shard.read(ref) == manifest
                assert shard.read_part(ref, "fragments") == fragments[segment]
            errors = {one.code for one in shard.verify().findings if one.severity is shardcore.Severity.ERROR}
            assert errors <= {"neuroglancer.content"}
            check_explained(shard)


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
    assert read_by_tensorstore(out, spec) == read_by_cloud_volume(out, spec) == values


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


def test_all_scales_become_sharded(tmp_path: Path) -> None:
    """A root of two scales with skeletons, written by cloud-volume: it and tensorstore read all of the sharded one."""
    import tensorstore as ts
    from cloudvolume import CloudVolume, Skeleton

    dice = np.random.default_rng(2)
    arrays = [dice.integers(0, 90, shape).astype("uint32") for shape in ((40, 33, 20, 1), (20, 17, 20, 1))]
    places = {"resolution": [8, 8, 40], "voxel_offset": [16, 32, 8], "volume_size": [40, 33, 20]}
    kind = (1, "segmentation", "uint32", "compressed_segmentation")
    info = CloudVolume.create_new_info(*kind, **places, chunk_size=[16, 16, 16], skeletons="bones")
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


MESHES = (7, 2**40 + 1, 12)


def unsharded_meshes(folder: Path, **more: Any) -> None:
    import DracoPy

    folder.mkdir(parents=True)
    info = {"@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 10, "lod_scale_multiplier": 1}
    (folder / "info").write_text(json.dumps(info | {"transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]} | more))
    for number, segment in enumerate(MESHES):
        points = np.array([[0, 0, 0], [900, 0, 0], [0, 900, number], [0, 0, 1000]], np.float32)
        faces = np.array([[0, 1, 2], [0, 1, 3]][: 1 + number % 2], np.uint32)
        quantised = {"quantization_bits": 10, "quantization_range": 1023, "quantization_origin": [0] * 3}
        fragment = DracoPy.encode(points, faces, **quantised)
        (folder / f"{segment}.index").write_bytes(manifest_of(segment, [[len(fragment)]]))
        (folder / str(segment)).write_bytes(fragment)


def meshes_in(root: Path) -> dict[int, Any]:
    from cloudvolume import CloudVolume

    volume = CloudVolume.create_new_info(1, "segmentation", "uint64", "raw", [1, 1, 1], [0, 0, 0], [64] * 3)
    CloudVolume(f"file://{root}", info=volume | {"mesh": "mesh"}, progress=False).commit_info()
    found: dict[int, Any] = CloudVolume(f"file://{root}", progress=False, cache=False).mesh.get(list(MESHES))
    return found


def check_meshes(found: dict[int, Any], wanted: dict[int, Any]) -> None:
    for segment in MESHES:
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
