"""Boxes that zarr reads from a store are those that cloud-volume, tensorstore and bloscpack read."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from tests.interop.test_volumes import by_cloud_volume, by_tensorstore, read
from tests.volumes import OFFSET, sample_array, write_volume

BOXES = 200
FORMS = ("raw", "gzip", "files", "labels", "files labels")


def boxes(shape: tuple[int, ...], count: int, seed: int) -> list[tuple[slice, ...]]:
    dice = random.Random(seed)
    ends = [[sorted(dice.sample(range(length + 1), 2)) for length in shape] for _ in range(count)]
    return [tuple(slice(first, last) for first, last in one) for one in ends]


@pytest.mark.interop("zarr", "cloudvolume", "tensorstore")
@pytest.mark.parametrize("form", FORMS)
def test_boxes_of_volumes(tmp_path: Path, form: str) -> None:
    """Of each box zarr gives the voxels that both references give: 200 boxes over the forms."""
    import zarr

    from shardcore.zarr import ArrayStore

    labels = form.endswith("labels")
    array = sample_array((40, 33, 21), "<u8" if labels else "<u2")
    scale = write_volume(tmp_path / "v", form, array, (8, 8, 8), type="segmentation" if labels else "image")
    everything = tuple(slice(first, first + length) for first, length in zip(OFFSET, array.shape, strict=True))
    references = [read(one, everything) for one in (by_cloud_volume(tmp_path / "v"), by_tensorstore(tmp_path / "v"))]
    with ArrayStore(scale) as store:
        opened = zarr.open_array(store, mode="r")
        for box in boxes(array.shape, BOXES // len(FORMS), seed=5):
            found = opened[box]
            for reference in references:
                np.testing.assert_array_equal(found, reference[box].reshape(found.shape))


UNPACK = """
import collections, collections.abc, sys
collections.MutableMapping = collections.abc.MutableMapping
import bloscpack, numpy
numpy.save(sys.argv[2], bloscpack.unpack_ndarray_from_file(sys.argv[1]))
"""


@pytest.mark.thorough
@pytest.mark.interop("zarr", "bloscpack")
@pytest.mark.parametrize("order", ["C", "F"])
def test_boxes_of_bloscpack_arrays(tmp_path: Path, order: Any) -> None:
    """Of each of 200 boxes, half of them in either order, zarr gives the elements that bloscpack unpacks."""
    import zarr

    from shardcore.zarr import ArrayStore

    array = np.asarray(np.random.default_rng(2).normal(size=(90, 31, 7)), "<f8", order=order)
    said = {"container": "numpy", "dtype": repr(array.dtype.str), "shape": array.shape, "order": order}
    path, unpacked = tmp_path / "a.blp", tmp_path / "a.npy"
    with shardcore.create(path, format="bloscpack", chunk_size=4096, metadata=json.dumps(said)) as writer:
        writer.add(None, array.tobytes(order="A"))
    subprocess.run([sys.executable, "-W", "ignore", "-c", UNPACK, path, unpacked], check=True, capture_output=True)
    whole = np.load(unpacked)
    with ArrayStore(path) as store:
        opened = zarr.open_array(store, mode="r")
        for box in boxes(array.shape, BOXES // 2, seed=6):
            np.testing.assert_array_equal(opened[box], whole[box])
