"""Data sets as collections of Dask: bags of shards, arrays of voxels."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from shardcore.errors import UsageError
from shardcore.sources.remote.options import RemoteOptions

SAMPLES = Path(__file__).parents[2] / "resources" / "samples"
SCALE = SAMPLES / "neuroglancer" / "segmentation" / "16_16_16"

with contextlib.suppress(ImportError):
    import dask

    import shardcore.dask

pytestmark = pytest.mark.interop("dask.array", "dask.bag")


def test_a_bag_has_each_shard_once() -> None:
    with shardcore.open(SAMPLES / "des" / "archive") as shards, dask.config.set(scheduler="synchronous"):
        tickets = shardcore.dask.to_bag(shards, batch=3)
        assert tickets.npartitions == 3
        assert [ticket.name for ticket in tickets.compute()] == [member.name for member in shards.members]
        counts = shardcore.dask.to_bag(shards, lambda shard: len(shard.objects)).compute()
        assert sum(counts) == len(shards.objects)


@pytest.mark.parametrize("where", [SCALE, SAMPLES / "bloscpack" / "array.blp"], ids=lambda path: path.name)
def test_an_array_has_the_same_elements(where: Path) -> None:
    with shardcore.open(where) as shard, dask.config.set(scheduler="synchronous"):
        grid = shard.chunk_grid()
        expected = grid.read()
        for chunks in (None, [max(length // 2, 1) for length in grid.shape]):
            array = shardcore.dask.array(shard, chunks=chunks)
            assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(array.compute(), expected)
        part = tuple(slice(1, length // 2) for length in grid.shape)
        np.testing.assert_array_equal(array[part].compute(), expected[part])


def test_what_is_no_array_is_refused() -> None:
    with shardcore.open(SAMPLES / "swh" / "small.shard") as shard, pytest.raises(UsageError, match="form one array"):
        shardcore.dask.array(shard)
    keys = RemoteOptions(access_key="AKIA0", secret_key="secret")
    with shardcore.open(SCALE, remote=keys) as shard, pytest.raises(UsageError, match="not sent to workers"):
        shardcore.dask.array(shard)
