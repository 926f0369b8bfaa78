"""Calls of the library whose types checkers know: read by a test, never run."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import shardcore


def calls(shard: shardcore.Shard, writer: shardcore.Writer, array: NDArray[np.uint8]) -> None:
    found = shardcore.content(shard, "tides.csv")
    if found.kind == "table":
        assert_type(found, shardcore.TableContent)
        found.to_pandas()
    else:
        found.to_pandas()  # error: not a table
    if isinstance(found, shardcore.TextContent) and found.kind == "json":
        assert_type(found, shardcore.JsonContent)
    assert_type(shard["key"], bytes)
    assert_type(shard[1:3], NDArray[Any])
    assert_type(shard[..., 0], NDArray[Any])
    writer.add(None, array)
    assert_type(shardcore.write_volume("v", array, chunk=(64, 64, 64), resolution=4.5), shardcore.Packed)
    shardcore.write_volume("v", [1, 2])  # error: no array
