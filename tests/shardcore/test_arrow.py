"""Objects as tables of Arrow and pandas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.arrow import BATCH
from shardcore.cli.output import object_json
from shardcore.model.objects import Objects
from shardcore.operations.content import content_of
from tests.shardcore.model.test_objects import Numbers

SAMPLES = Path("resources/samples")

pytestmark = pytest.mark.interop("pandas", "pyarrow")

SHARDS = (
    "swh/small.shard", "swh/damaged.shard", "des/contents.des", "des/archive", "des/odd", "mdb/cache", "xorb/odd.xorb",
    "bloscpack/array.blp", "neuroglancer/volume", "neuroglancer/damaged", "neuroglancer/segmentation/mesh",
)  # fmt: skip


def test_rows_are_those_of_ls() -> None:
    for name in SHARDS:
        with shardcore.open(SAMPLES / name, partial=True) as shard:
            table = shard.objects.to_arrow().read_all()
            lines = [object_json(ref) for ref in shard.objects]
            assert table.num_rows == len(lines) > 0
            rows = [{column: line[column] for column in table.column_names} for line in lines]
            assert table.to_pylist() == rows, name
            assert {str(table.schema.field(column).type) for column in ("size", "start")} == {"int64"}


def test_frames_have_rows_and_types() -> None:
    with shardcore.open(SAMPLES / "swh" / "small.shard") as shard:
        frame = shard.objects[9:2:-2].to_pandas()
        assert frame.index.tolist() == [9, 7, 5, 3]
        assert frame.index.name == "row"
        assert frame["key"].tolist()[1:] == shard.objects.keys[7:2:-2]
        assert frame["key"].isna()[9]
        assert frame["size"].isna()[9]
        assert frame["state"][9] == "unused"
        assert (str(frame["size"].dtype), str(frame["state"].dtype)) == ("Int64", "category")
        assert len(shard.objects[:0].to_pandas()) == 0


def test_raw_keys() -> None:
    for name, kind in (
        ("swh/small.shard", "fixed_size_binary[32]"), ("neuroglancer/volume", "uint64"), ("des/contents.des", "string"),
    ):  # fmt: skip
        with shardcore.open(SAMPLES / name) as shard:
            table = shard.objects.to_arrow(raw_keys=True).read_all()
            assert str(table.schema.field("key").type) == kind
            keys = [None if key is None else shard.raw_key(key) for key in shard.objects.keys]
            assert table["key"].to_pylist() == keys
            frame = shard.objects.to_pandas(raw_keys=True)
            assert frame["key"].dropna().tolist() == [key for key in keys if key is not None]


@pytest.mark.interop("polars")
def test_other_programs_take_the_same_call() -> None:
    """Arrow's C stream of `to_arrow()`; pandas has `from_arrow` from version 3 on."""
    import pandas
    import polars
    import pyarrow

    with shardcore.open(SAMPLES / "des" / "contents.des") as shard:
        csv = shardcore.content(shard, "tides.csv")
        assert csv.kind == "table"
        types = {"hour": "int64", "height": "float64", "depth_over_sill": "float64"}
        assert csv.to_pandas().dtypes.astype(str).to_dict() == types
        for take in (pyarrow.table, polars.DataFrame, pandas.DataFrame.from_arrow):
            assert list(map(str, take(shard.objects.to_arrow())["key"])) == list(shard)
            assert (take(shard.objects[1:3].to_arrow()).shape, take(csv).shape) == ((2, 9), (48, 3))
        assert pyarrow.table(shard.objects)["key"].to_pylist() == list(shard)
        with pytest.raises(shardcore.LimitExceeded, match="only 100 bytes of 643"):
            shardcore.content(shard, "tides.csv", limit=100).to_arrow()
    with pytest.raises(shardcore.FormatError, match="the rows do not form a table"):
        content_of(b"a,b\n1\n", "x.csv").to_pandas()


def test_batches_are_read_one_by_one() -> None:
    """Rows are read when their batch is taken, and once."""
    read: list[int] = []

    class Counted(Numbers):
        def columns(self, rows: np.ndarray, *, sizes: bool = False) -> shardcore.ObjectColumns:
            read.append(len(rows))
            return super().columns(rows, sizes=sizes)

    objects: Objects = Counted(BATCH + 10)
    reader = objects.to_arrow()
    assert read == []
    assert len(reader.read_next_batch()) == BATCH
    assert read == [BATCH]
    assert len(reader.read_next_batch()) == 10
    assert read == [BATCH, 10]


def test_keys_that_are_no_unicode() -> None:
    """Arrow holds UTF-8, so a lone surrogate is escaped."""

    class Odd(Numbers):
        def key_texts(self, rows: np.ndarray) -> list[str | None]:
            return ["a\ud800", None]

    assert Odd(2).to_arrow().read_all()["key"].to_pylist() == ["a\\ud800", None]
