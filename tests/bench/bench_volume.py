"""Slices of volumes of 64³ chunks of uint8 beside cloud-volume: sharded, and one file per chunk, raw and gzip."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shardcore
from tests.bench.figures import Figure, best_of
from tests.volumes import OFFSET, write_volume

EDGE = 512
RATIO = 1.2
REPEATS = 12
PLACE = OFFSET[2] + 30
FORMS = ("raw", "gzip", "files", "files gz")


def sample() -> NDArray[Any]:
    """Voxels that compress as those of a microscope do: waves with noise."""
    wave = np.linspace(0, 20, EDGE)
    plane = 120 + 60 * np.sin(wave[:, None] + np.cos(wave[None, :]))
    noise = np.random.default_rng(5).normal(0, 6, (EDGE, EDGE, 64))
    return (plane[..., None] + noise).clip(1, 255).astype("u1")


def ours(scale: Path) -> NDArray[Any]:
    """The slice, from opening on."""
    with shardcore.open(scale) as volume:
        return volume[:, :, PLACE]


def theirs(folder: Path) -> NDArray[Any]:
    """The slice by cloud-volume, from opening on, without a cache."""
    from cloudvolume import CloudVolume

    volume = CloudVolume(f"file://{folder}", progress=False, cache=False, lru_bytes=0)
    x, y, _ = OFFSET
    return np.asarray(volume[x : x + EDGE, y : y + EDGE, PLACE])


def run() -> Iterator[Figure]:
    """A slice of 512 × 512 takes at most 1.2 times as long as cloud-volume's."""
    array = sample()
    with tempfile.TemporaryDirectory() as temporary:
        for form in FORMS:
            folder = Path(temporary) / form.replace(" ", "-")
            scale = write_volume(folder, form, array, (64, 64, 64))
            for found in (ours(scale), theirs(folder)):
                np.testing.assert_array_equal(found.squeeze(), array[:, :, PLACE - OFFSET[2]])
            mine = reference = float("inf")
            for _ in range(REPEATS):
                # They take turns, so that both fare alike.
                mine = min(mine, best_of(1, lambda scale=scale: ours(scale)))  # type: ignore[misc]
                reference = min(reference, best_of(1, lambda folder=folder: theirs(folder)))  # type: ignore[misc]
            name = f"slice of {EDGE} × {EDGE}, 64³ chunks of uint8, {form}"
            yield Figure(name, mine * 1e3, RATIO * reference * 1e3, "ms", reference * 1e3)
