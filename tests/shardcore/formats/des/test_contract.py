"""The contract of every shard, on files of the reference writer."""

from pathlib import Path
from typing import ClassVar

from shardcore.testing import DataSetContract, ShardContract

DATA = Path(__file__).parents[3] / "data" / "des"

NAMES = ("none", "zstd", "lz4", "meta", "unicode", "paths", "empty", "v1", "tiny")
NAMES += ("v2_gaps_reordered", "big/20261103_0A_0000", "sidecar/20261103_51_0000")


class TestDesContract(ShardContract):
    samples: ClassVar = [DATA / f"{name}.des" for name in NAMES]
    absent: ClassVar = ["not here", "not\0here", "\u017c", "x" * 70000]
    open_ranges = 2
    find_ranges = 0


class TestDesDataSetContract(DataSetContract):
    samples: ClassVar = [DATA / "big", DATA / "sidecar", DATA]
    absent: ClassVar = TestDesContract.absent
    alone: ClassVar = ("Route",)
