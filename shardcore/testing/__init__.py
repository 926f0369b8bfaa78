"""Contract tests (tests that every implementation must pass) for sources, formats and writers, and helpers for them.

Tests of a format derive from `ShardContract`, define their samples, and add tests that are specific to the format.
"""

from shardcore.testing.checks import (
    FULL,
    check_columns,
    check_explained,
    check_tiling,
    live_keys,
    places,
    rounds,
    sampled,
    walk,
)
from shardcore.testing.dataset_contract import DataSetContract
from shardcore.testing.drawing_contract import DrawingContract, PageContract, check_drawing, check_picture, filled
from shardcore.testing.shard_contract import ShardContract, exercise, mutated, mutations
from shardcore.testing.sources import (
    CountingFolder,
    CountingSource,
    FailingSource,
    MemoryFolder,
    PatternSource,
    SourceContract,
)
from shardcore.testing.writer_contract import WriterContract

__all__ = [
    "FULL",
    "CountingFolder",
    "CountingSource",
    "DataSetContract",
    "DrawingContract",
    "FailingSource",
    "MemoryFolder",
    "PageContract",
    "PatternSource",
    "ShardContract",
    "SourceContract",
    "WriterContract",
    "check_columns",
    "check_drawing",
    "check_explained",
    "check_picture",
    "check_tiling",
    "exercise",
    "filled",
    "live_keys",
    "mutated",
    "mutations",
    "places",
    "rounds",
    "sampled",
    "walk",
]
