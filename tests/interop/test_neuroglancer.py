"""Files freshly written by cloud-volume and tensorstore are read right; places and codes agree with theirs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.formats.neuroglancer.chunks import chunk_array
from shardcore.formats.neuroglancer.infer import infer
from shardcore.formats.neuroglancer.info import parse_info
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.sources.memory import BytesSource
from shardcore.testing import check_explained, rounds
from tests.shardcore.formats.neuroglancer.made import random_spec

pytestmark = pytest.mark.interop("cloudvolume", "tensorstore")


def random_values(dice: random.Random) -> dict[int, bytes]:
    keys = {dice.getrandbits(dice.choice([10, 33, 64])) for _ in range(dice.randint(1, 150))} | {2**64 - 1}
    return {key: dice.randbytes(dice.choice([1, 7, 200])) * dice.randint(1, 5) for key in sorted(keys)}


def write_info(folder: Path, spec: dict[str, Any]) -> None:
    (folder / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": spec}))


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


@pytest.mark.parametrize("writer", [by_cloud_volume, by_tensorstore], ids=["cloud-volume", "tensorstore"])
@pytest.mark.parametrize("seed", range(rounds(4, 1)))
def test_fresh_bare_shards_are_inferred(tmp_path: Path, writer: Any, seed: int) -> None:
    dice = random.Random(1000 + seed)
    spec, values = random_spec(dice), random_values(dice)
    writer(tmp_path, spec, values)
    names = sorted(path.name for path in tmp_path.glob("*.shard"))
    truth = ShardingSpec.parse(spec)
    for name in names:
        with shardcore.open(tmp_path / name) as shard:
            few = len(shard.objects) < 4
        best = infer(BytesSource((tmp_path / name).read_bytes()), name, [n for n in names if n != name]).best
        if few:
            continue  # with three keys or fewer several guesses are equally good
        assert best.minishard_bits == truth.minishard_bits
        assert best.index_encoding == truth.minishard_index_encoding
        assert best.data_encoding == truth.data_encoding
        fits = {(fit.hash, fit.preshift_bits): fit.shard_bits for fit in best.fits}
        assert truth.shard_bits in fits[truth.hash, truth.preshift_bits]


@pytest.mark.parametrize("seed", range(rounds(6, 3)))
def test_places_agree_with_cloud_volume(seed: int) -> None:
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification

    dice = random.Random(seed)
    members = random_spec(dice)
    ours, theirs = ShardingSpec.parse(members), ShardingSpecification.from_dict(dict(members))
    keys = [0, 2**64 - 1, *(dice.getrandbits(64) for _ in range(300))]
    minishards, shards = ours.place_many(np.array(keys, np.uint64))
    for key, minishard, shard in zip(keys, minishards.tolist(), shards.tolist(), strict=True):
        place = theirs.compute_shard_location(np.uint64(key))
        assert (ours.shard_stem(shard), minishard) == (place.shard_number, int(place.minishard_number))


@pytest.mark.parametrize("seed", range(4))
def test_codes_agree_with_cloud_volume(seed: int) -> None:
    from cloudvolume.datasource.precomputed.common import compressed_morton_code

    dice = random.Random(seed)
    for _ in range(300):
        grid = [dice.randint(1, 1 << dice.randint(1, 20)) for _ in range(3)]
        cell = [dice.randrange(length) for length in grid]
        assert encode(cell, grid) == int(compressed_morton_code(cell, grid))


@pytest.mark.parametrize("seed", range(4))
def test_volumes_of_tensorstore(tmp_path: Path, seed: int) -> None:
    """Each chunk of a random sharded volume is the array that lies there; fill values have no chunk."""
    import tensorstore as ts

    dice = random.Random(seed)
    size = [dice.randint(5, 40) for _ in range(3)]
    kind = dice.choice(["uint8", "uint16", "float32", "uint64"])
    spec = random_spec(dice) | {"preshift_bits": dice.choice([0, 3])}
    store = ts.open(
        {
            "driver": "neuroglancer_precomputed",
            "kvstore": {"driver": "file", "path": str(tmp_path)},
            "multiscale_metadata": {"type": "image", "data_type": kind, "num_channels": dice.choice([1, 2])},
            "scale_metadata": {
                "size": size,
                "encoding": "raw",
                "chunk_size": [dice.randint(3, 9) for _ in range(3)],
                "voxel_offset": [dice.randint(-20, 20) for _ in range(3)],
                "resolution": [4, 4, 40],
                "sharding": spec,
            },
            "create": True,
        }
    ).result()
    noise = np.random.default_rng(seed).integers(0, 200, store.shape).astype(kind)
    with ts.Transaction() as transaction:
        store.with_transaction(transaction)[...] = noise
    (space,) = parse_info((tmp_path / "info").read_bytes()).spaces
    assert space.scale is not None
    seen = np.zeros(noise.shape, np.bool_)
    with shardcore.open(tmp_path) as found:
        found.load_index()
        for row in range(len(found.objects)):
            ref = found.objects.ref(row)
            array = chunk_array(space, int(ref.key or 0), found.read(ref))
            origin = space.scale.voxel_offset
            place = tuple(
                slice(begin - first, end - first)
                for begin, end, first in zip(ref.extras["voxel_begin"], ref.extras["voxel_end"], origin, strict=True)
            )
            assert np.array_equal(array, noise[place])
            seen[place] = True
        assert not noise[~seen].any()
        assert {one.code for one in found.verify().findings} <= {"neuroglancer.content"}
        for _ in range(50):
            ends = [sorted(dice.randint(0, length) for _ in range(2)) for length in size]
            box = tuple(slice(first + a, first + b) for (a, b), first in zip(ends, origin, strict=True))
            assert np.array_equal(found[box], store[box].read().result())


@pytest.mark.parametrize(
    ("encoding", "kind", "channels"),
    [
        ("jpeg", "uint8", 1),
        ("jpeg", "uint8", 3),
        ("png", "uint8", 1),
        ("png", "uint8", 3),
        ("png", "uint8", 4),
        ("png", "uint16", 1),
        ("compressed_segmentation", "uint32", 1),
        ("compressed_segmentation", "uint64", 1),
        ("compressed_segmentation", "uint64", 2),
    ],
)
def test_encoded_volumes_of_tensorstore(tmp_path: Path, encoding: str, kind: str, channels: int) -> None:
    """Voxels of encoded chunks are those that tensorstore reads, and the chunk's array is that of `content`."""
    import tensorstore as ts

    scale: dict[str, Any] = {
        "size": [37, 30, 21],
        "encoding": encoding,
        "chunk_size": [16, 16, 16],
        "voxel_offset": [3, -4, 5],
        "resolution": [4, 4, 40],
        "sharding": random_spec(random.Random(1)),
    }
    if encoding == "compressed_segmentation":
        scale["compressed_segmentation_block_size"] = [8, 4, 8]
    store = ts.open(
        {
            "driver": "neuroglancer_precomputed",
            "kvstore": {"driver": "file", "path": str(tmp_path)},
            "multiscale_metadata": {"type": "image", "data_type": kind, "num_channels": channels},
            "scale_metadata": scale,
            "create": True,
        }
    ).result()
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
    from cloudvolume.datasource.precomputed.mesh.multilod import MultiLevelPrecomputedMeshManifest
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification

    dice = random.Random(seed)
    spec = random_spec(dice) | {"data_encoding": "raw", "shard_bits": 0, "hash": "murmurhash3_x86_128"}
    fragments: dict[int, bytes] = {}
    manifests: dict[int, bytes] = {}
    for segment in dice.sample(range(1, 2**60), 40):
        counts = [dice.randint(1, 9) for _ in range(dice.randint(1, 3))]
        sizes = [[dice.randint(0, 300) for _ in range(count)] for count in counts]
        manifests[segment] = MultiLevelPrecomputedMeshManifest(
            segment_id=segment,
            chunk_shape=[64, 64, 64],
            grid_origin=[0, 0, 0],
            num_lods=len(counts),
            lod_scales=[1.0] * len(counts),
            vertex_offsets=[[0, 0, 0]] * len(counts),
            num_fragments_per_lod=counts,
            fragment_positions=[[[n, 2 * n, 3 * n] for n in range(count)] for count in counts],
            fragment_offsets=[size for level in sizes for size in level],
        ).to_binary()
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
