"""Boxes of voxels: assembled from chunks, missing chunks are 0, bad indices are refused."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run


@pytest.fixture
def volume(tmp_path: Path) -> tuple[Path, np.ndarray]:  # type: ignore[type-arg]
    array = np.random.default_rng(1).integers(0, 255, (13, 9, 7)).astype("u1")
    np.save(tmp_path / "a.npy", array)
    out = tmp_path / "volume"
    options = ["-O", f"volume={tmp_path / 'a.npy'}", "-O", "chunk_size=4,4,4"]
    assert run(["pack", "neuroglancer", f"{out}/", *options]) == 0
    return out, array


def test_boxes_are_assembled(volume: tuple[Path, np.ndarray]) -> None:  # type: ignore[type-arg]
    out, array = volume
    dice = random.Random(2)
    with shardcore.open(out) as found:
        np.testing.assert_array_equal(found[:, :, :][..., 0], array)
        np.testing.assert_array_equal(found[3, 2:, :5][..., 0], array[3:4, 2:, :5])
        assert found[0:0, :, :].shape == (0, 9, 7, 1)
        for _ in range(50):
            box = tuple(slice(*sorted(dice.randint(0, length) for _ in range(2))) for length in array.shape)
            np.testing.assert_array_equal(found[box][..., 0], array[box])


def test_bad_indices_are_refused(volume: tuple[Path, np.ndarray]) -> None:  # type: ignore[type-arg]
    out, _ = volume
    with shardcore.open(out) as found:
        for index in ((slice(0, 99), 0, 0), (slice(0, 4, 2), 0, 0), (0, 0), (-1, 0, 0)):
            with pytest.raises(shardcore.UsageError):
                found[index]
        with pytest.raises(shardcore.LimitExceeded):
            found.voxels((slice(None),) * 3, limit=100)


def test_missing_chunks_are_zero(volume: tuple[Path, np.ndarray]) -> None:  # type: ignore[type-arg]
    out, array = volume
    info = json.loads((out / "info").read_text())
    shards = sorted((out / info["scales"][0]["key"]).glob("*.shard"))
    with shardcore.open(out) as found:
        lost = {ref.key for ref in found.objects if ref.shard == shards[0].name}
        gone = [ref.extras for ref in found.objects if ref.key in lost]
    boxes = [tuple(map(slice, one["voxel_begin"], one["voxel_end"])) for one in gone]
    shards[0].unlink()
    with shardcore.open(out) as found:
        read = found[:, :, :][..., 0] if found.members else np.zeros_like(array)
    expected = array.copy()
    for box in boxes:
        expected[box] = 0
    np.testing.assert_array_equal(read, expected)
