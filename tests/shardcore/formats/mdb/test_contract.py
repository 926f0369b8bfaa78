"""MDB shards under the contract of all formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import shardcore
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard
from shardcore.sources.base import Folder, Source
from shardcore.sources.memory import BytesSource
from shardcore.testing import DataSetContract, ShardContract

DATA = Path(__file__).parents[3] / "data" / "mdb"


ABSENT = (
    "fcd71d42a6d00e3468c946b0ff353728c6173d944afbfae4877c606fd5b8c255",
    "xorb:fcd71d42a6d00e3468c946b0ff353728c6173d944afbfae4877c606fd5b8c255",
    "chunk:0970425b7defb12b691e8e3b705620733deaaddd33a760e17a4e9ba333445533",
)


class TestMdb(ShardContract):
    samples = (
        *sorted((DATA / "cas").glob("shard*/*.mdb")),
        *(DATA / "derived" / f"{name}.mdb" for name in ("keyed_reply", "upload_form")),
    )
    absent = ABSENT
    alone = ("Table key",)
    open_ranges = 2
    find_ranges = 2

    def opened(self, where: Path | Source, **options: Any) -> Shard:
        alone = isinstance(where, Source) and where.folder is None
        return shardcore.open(where, xorbs=None if alone else DATA / "cas" / "xorbs", **options)

    def damaged(self, data: bytes, sample: Path) -> Source:
        return BytesSource(data, sample.name)


class TestMdbDataSet(DataSetContract):
    samples = (DATA / "cas" / "shard-cache", DATA / "cas")
    absent = ABSENT
    alone = ("Search every shard", "Table key")

    def opened(self, where: Path | Folder, **options: Any) -> DataSet:
        return super().opened(where, xorbs=DATA / "cas" / "xorbs", **options)
