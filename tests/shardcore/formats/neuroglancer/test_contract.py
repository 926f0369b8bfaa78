"""What every opened shard promises, for shards of all kinds and both writers."""

from __future__ import annotations

from pathlib import Path

from shardcore.testing import ShardContract

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"


class TestNeuroglancerShards(ShardContract):
    """The contract, over the samples of the reference writers."""

    samples = sorted(
        path
        for pattern in ("*/0.shard", "*/1.shard", "volume/*/*.shard", "legacy_pair/0.index")
        for path in DATA.glob(pattern)
        if "hostile" not in path.parts
    )
    absent = ("18446744073709551613", "4611686018427387905")
    open_ranges = 1
    find_ranges = 1
