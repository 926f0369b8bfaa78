"""Boxes of volumes are those that cloud-volume and tensorstore read: sharded and as one file per chunk."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shardcore
from shardcore.testing import rounds
from tests.volumes import OFFSET, SPEC, sample_array, write_volume

pytestmark = pytest.mark.interop("cloudvolume", "tensorstore")

BOXES = 12
"""Boxes per form and seed: 216 in all where nothing is left out."""


def by_cloud_volume(folder: Path) -> Any:
    from cloudvolume import CloudVolume

    return CloudVolume(f"file://{folder}", fill_missing=True, progress=False, cache=False)


def by_tensorstore(folder: Path) -> Any:
    import tensorstore as ts

    store = {"driver": "file", "path": f"{folder}/"}
    return ts.open({"driver": "neuroglancer_precomputed", "kvstore": store}, read=True).result()


def read(volume: Any, box: Any) -> NDArray[Any]:
    found = volume[box]
    return np.asarray(found.read().result() if hasattr(found, "read") else found)


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["raw", "gzip", "files", "files gz", "labels", "files labels"])
@pytest.mark.parametrize("seed", range(rounds(2, 1)))
def test_boxes_are_those_of_the_references(tmp_path: Path, form: str, seed: int) -> None:
    dice = random.Random(seed)
    labels = form.endswith("labels")
    array = sample_array((40, 33, 21), "<u8" if labels else dice.choice(["u1", "<u2", "<f4"]), seed)
    scale = write_volume(tmp_path / "v", form, array, (8, 8, 8), type="segmentation" if labels else "image")
    references = [by_cloud_volume(tmp_path / "v")]
    references += [by_tensorstore(tmp_path / "v")] if form != "files gz" else []
    with shardcore.open(scale) as volume:
        for _ in range(BOXES):
            ends = [sorted(dice.sample(range(length + 1), 2)) for length in array.shape]
            box = tuple(slice(a + first, b + first) for (a, b), first in zip(ends, OFFSET, strict=True))
            found = volume[box]
            np.testing.assert_array_equal(found[..., 0], array[tuple(slice(a, b) for a, b in ends)])
            for reference in references:
                np.testing.assert_array_equal(found, read(reference, box).reshape(found.shape))


@pytest.mark.parametrize(("dtype", "shape"), [(">u2", (40, 33, 21)), ("uint64", (20, 9, 5)), ("f4", (9, 8, 7, 2))])
def test_an_array_is_written_as_a_volume(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(3).integers(0, 999, shape).astype(dtype)
    done = shardcore.write_volume(tmp_path / "v", array, chunk=(16, 8, 8), resolution=(4, 4, 40))
    assert done.report.ok
    with shardcore.open(tmp_path / "v") as volume:
        assert (volume.shape, volume.chunk_grid().spacing) == ((*shape, 1)[:4], (4, 4, 40))
        for reference in (volume, by_cloud_volume(tmp_path / "v"), by_tensorstore(tmp_path / "v")):
            np.testing.assert_array_equal(read(reference, ...).reshape(shape), array)


@pytest.mark.parametrize(("dtype", "channels"), [("uint8", 1), ("uint8", 3), *(("uint16", one) for one in range(1, 5))])
def test_png_chunks_of_tensorstore_are_read_and_pass(tmp_path: Path, dtype: str, channels: int) -> None:
    import tensorstore as ts

    scale = {"size": [20, 9, 5], "encoding": "png", "chunk_size": [8, 8, 4], "resolution": [1, 1, 1]}
    store = {
        "driver": "neuroglancer_precomputed",
        "kvstore": {"driver": "file", "path": f"{tmp_path}/"},
        "create": True,
    }
    store["multiscale_metadata"] = {"data_type": dtype, "num_channels": channels, "type": "image"}
    made = ts.open(store | {"scale_metadata": scale | {"sharding": SPEC}}).result()
    array = np.random.default_rng(channels).integers(1, np.iinfo(dtype).max, (20, 9, 5, channels)).astype(dtype)
    array[:8] = np.linspace(1, 255, 9).astype(dtype)[:, None, None]
    made[...] = array
    with shardcore.open(tmp_path / "1_1_1") as volume:
        np.testing.assert_array_equal(volume[0:20, 0:9, 0:5], array)
        assert volume.verify().findings == ()
