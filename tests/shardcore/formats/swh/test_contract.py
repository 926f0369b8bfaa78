"""The contract of every shard, on shards of the reference writers."""

from pathlib import Path
from typing import ClassVar

from shardcore.formats.swh import layout
from shardcore.testing import DataSetContract, PageContract, ShardContract

DATA = Path(__file__).parents[3] / "data" / "swh"


class TestSwhContract(ShardContract):
    samples: ClassVar = [DATA / f"{name}.shard" for name in ("one", "small", "deleted", "legacy", "medium")]
    absent: ClassVar = ["00" * 32, "ff" * 32, "0123456789abcdef" * 4]
    alone: ClassVar = ("The key as eight numbers",)
    open_ranges = 2
    find_ranges = 2


class TestSwhDataSet(DataSetContract):
    samples: ClassVar = [DATA]
    absent: ClassVar = TestSwhContract.absent
    alone: ClassVar = ("The key as eight numbers", "Which shard")


class TestSwhPage(PageContract):
    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "swh.md"
    records = (layout.HEADER, layout.OBJECT, layout.SLOT, layout.HASH_HEAD, layout.HASH_TAIL, layout.DIRECTORY_ENTRY)
    layouts: ClassVar = {record.name: record for record in records}
