"""Arrays of shards as stores of zarr: metadata, chunks, listing, several scales, errors."""

from __future__ import annotations

import contextlib
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shardcore
from tests.volumes import OFFSET, SPEC, sample_array, scale_of, write_info, write_shards, write_volume

with contextlib.suppress(ImportError):
    import zarr
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

    from shardcore.zarr import ArrayStore, GroupStore

pytestmark = pytest.mark.interop("zarr")


@pytest.fixture
def array() -> NDArray[Any]:
    return sample_array((21, 13, 9))


@pytest.fixture
def volume(tmp_path: Path, array: NDArray[Any]) -> Iterator[Any]:
    write_volume(tmp_path / "v", "raw", array)
    with ArrayStore(tmp_path / "v") as store:
        yield store


@pytest.fixture
def pyramid(tmp_path: Path, array: NDArray[Any]) -> Path:
    scales = {"4_4_4": (array, 4), "8_8_8": (array[::2, ::2, ::2], 8)}
    said = [scale_of(voxels, (4, 4, 4), key, SPEC, nm) for key, (voxels, nm) in scales.items()]
    write_info(tmp_path / "p", "uint16", *said)
    for key, (voxels, _) in scales.items():
        write_shards(tmp_path / "p" / key, voxels, (4, 4, 4), SPEC)
    return tmp_path / "p"


def test_metadata_of_a_volume(volume: Any) -> None:
    opened = zarr.open_array(volume, mode="r")
    assert opened.shape == (21, 13, 9, 1)
    assert opened.chunks == (4, 4, 4, 1)
    assert opened.fill_value == 0
    said = json.loads(volume._get_bytes_sync("zarr.json", prototype=zarr.core.buffer.default_buffer_prototype()))
    assert said["dimension_names"] == ["x", "y", "z", "channel"]
    assert [one["name"] for one in said["codecs"]] == ["transpose", "bytes"]
    units = {"units": ["nm", "nm", "nm", ""], "type": "image"}
    assert said["attributes"] == {"encoding": "raw", "resolution": [4, 4, 4], "voxel_offset": list(OFFSET)} | units


def test_chunks_that_are_cut_or_missing(volume: Any, array: NDArray[Any]) -> None:
    """Both have their whole shape; missing elements are 0."""
    opened = zarr.open_array(volume, mode="r")
    np.testing.assert_array_equal(opened[..., 0], array)
    prototype = zarr.core.buffer.default_buffer_prototype()
    last = np.frombuffer(volume._get_bytes_sync("c/5/3/2/0", prototype=prototype), "<u2").reshape((4, 4, 4), order="F")
    np.testing.assert_array_equal(last[:1, :1, :1], array[20:, 12:, 8:])
    assert not last[1:].any()
    assert not last[:, 1:].any()
    assert not last[:, :, 1:].any()
    stored = set(volume._keys("c/"))
    assert "c/1/1/1/0" not in stored
    assert len(stored) == 6 * 4 * 3 - 1 == opened.nchunks_initialized
    for key in ("c/1/1/1/0", "c/6/0/0/0", "c/0/0/0", "c/0/0/0/1", "c/x", ".zarray"):
        assert not zarr.core.sync.sync(volume.exists(key)), key


def test_parts_of_a_value(volume: Any, array: NDArray[Any]) -> None:
    prototype = zarr.core.buffer.default_buffer_prototype()
    whole = array[:4, :4, :4].tobytes(order="F")
    wanted = [(RangeByteRequest(3, 9), whole[3:9]), (OffsetByteRequest(100), whole[100:])]
    wanted += [(SuffixByteRequest(5), whole[-5:]), (None, whole)]
    found = zarr.core.sync.sync(volume.get_partial_values(prototype, [("c/0/0/0/0", part) for part, _ in wanted]))
    assert [one.to_bytes() for one in found] == [data for _, data in wanted]


@pytest.mark.parametrize("form", ["gzip", "files", "files packed", "files labels", "labels", "png"])
def test_every_form_of_a_volume(tmp_path: Path, form: str) -> None:
    labels = form.endswith("labels")
    array = sample_array((9, 8, 5), "<u8" if labels else "u1")
    write_volume(tmp_path / "v", form, array, type="segmentation" if labels else "image")
    with ArrayStore(tmp_path / "v") as store:
        np.testing.assert_array_equal(zarr.open_array(store, mode="r")[..., 0], array)


@pytest.mark.parametrize(
    ("dtype", "order"), [("<f4", "C"), (">i2", "C"), ("<u8", "F"), ("bool", "C"), ("<c16", "C"), (">f8", "F")]
)
def test_types_and_orders(tmp_path: Path, dtype: str, order: Any) -> None:
    array = np.asarray(np.random.default_rng(1).integers(0, 2, (70, 9, 5)).astype(dtype), order=order)
    said = {"container": "numpy", "dtype": repr(array.dtype.str), "shape": array.shape, "order": order}
    options = {"chunk_size": 512, "metadata": json.dumps(said)}
    with shardcore.create(tmp_path / "a.blp", format="bloscpack", **options) as writer:
        writer.add(None, array.tobytes(order="A"))
    with ArrayStore(tmp_path / "a.blp") as store:
        opened = zarr.open_array(store, mode="r")
        assert opened.nchunks > 1
        np.testing.assert_array_equal(opened[:], array)


def test_scales_are_arrays_of_a_group(pyramid: Path, array: NDArray[Any]) -> None:
    with GroupStore(pyramid) as store:
        group = zarr.open_group(store, mode="r")
        np.testing.assert_array_equal(group["4_4_4"][..., 0], array)
        np.testing.assert_array_equal(group["8_8_8"][..., 0], array[::2, ::2, ::2])
        datasets = group.attrs["multiscales"][0]["datasets"]
        assert [one["path"] for one in datasets] == ["4_4_4", "8_8_8"]
        scale, move = datasets[1]["coordinateTransformations"]
        assert (scale, move["translation"]) == ({"type": "scale", "scale": [8, 8, 8, 1]}, [40, -24, 800, 0])
        assert {"4_4_4", "8_8_8", "x", "y", "z", "x_8_8_8"} <= set(group.array_keys())
        assert set(zarr.open_group(store, mode="r", use_consolidated=False).array_keys()) == set(group.array_keys())
    with ArrayStore(pyramid, "8_8_8") as store:
        assert zarr.open_array(store, mode="r").shape == (11, 7, 5, 1)
    with ArrayStore(pyramid, "3_3_3") as store, pytest.raises(shardcore.UsageError, match="available: 4_4_4, 8_8_8"):
        zarr.open_array(store, mode="r")


def test_stores_travel(volume: Any, array: NDArray[Any]) -> None:
    there = pickle.loads(pickle.dumps(zarr.open_array(volume, mode="r")))
    assert there.store == volume
    assert there.store is not volume
    np.testing.assert_array_equal(there[..., 0], array)
    there.store.close()


def test_a_login_is_not_shown() -> None:
    store = ArrayStore("https://me:topsecret@example.org/volume/?sig=topsecret")
    assert "example.org/volume" in repr(store)
    assert "topsecret" not in repr(store) + str(store)


def test_a_store_is_read_only(volume: Any) -> None:
    with pytest.raises(ValueError, match="read only"):
        zarr.core.sync.sync(volume.delete("zarr.json"))
    with pytest.raises(ValueError, match=r"read.?only"):
        zarr.open_array(volume)[0] = 1


def test_damage_is_an_error(tmp_path: Path) -> None:
    """A chunk that cannot be decoded is not filled with zeros."""
    scale = write_volume(tmp_path / "v", "files", sample_array())
    victim = next(iter(sorted(scale.iterdir())))
    victim.write_bytes(victim.read_bytes()[:-1])
    with ArrayStore(tmp_path / "v") as store, pytest.raises(shardcore.FormatError):
        zarr.open_array(store, mode="r")[:]


def test_sizes_are_only_declared(tmp_path: Path) -> None:
    """A chunk over 1 GiB is refused before it is allocated."""
    array = sample_array((5, 4, 3))
    scale = scale_of(array, (4, 4, 4), "4_4_4")
    write_info(tmp_path / "a", "uint16", scale | {"chunk_sizes": [[1 << 40, 1 << 20, 1 << 20]]})
    (tmp_path / "a/4_4_4").mkdir()
    with ArrayStore(tmp_path / "a") as store:
        assert zarr.open_array(store, mode="r").chunks == (5, 4, 3, 1)
    last = 10**12
    write_info(tmp_path / "b", "uint16", scale | {"size": [last + 1, 1001, 2000], "chunk_sizes": [[1000] * 3]})
    (tmp_path / "b/4_4_4").mkdir()
    # One voxel of this chunk along x and y is in the volume.
    (tmp_path / f"b/4_4_4/{last + 5}-{last + 6}_997-998_100-1100").write_bytes(bytes(2000))
    with GroupStore(tmp_path / "b") as store:
        group = zarr.open_group(store, mode="r")
        assert set(group.array_keys()) == {"4_4_4", "y", "z"}
        with pytest.raises(shardcore.LimitExceeded, match="a chunk has 2,000,000,000 bytes"):
            group["4_4_4"][-1, -1, 0, 0]
