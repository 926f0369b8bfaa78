"""A bcolz table as a data set."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, ShardError, SourceError
from shardcore.model.objects import State
from shardcore.testing.checks import check_columns
from tests.data.bloscpack.make_bcolz import prices
from tests.shardcore.formats.bloscpack.bcolz_folders import TABLE, edit, errors, opened_column, opened_table


def test_the_objects_of_a_table_are_its_columns() -> None:
    assert shardcore.detect(TABLE).why == "bcolz table, __rootdirs__"
    with opened_table() as shard:
        assert shard.names == ("day", "close", "symbol")
        assert (shard.declared_objects, shard.views) == (3, ())
        assert shard.objects.keys[:] == ["day", "close", "symbol"]
        assert shard.objects[:].size.tolist() == [2800, 5600, 11200]
        assert (shard.fields["close.dtype"], shard.fields["symbol.dtype"]) == ("float64", "<U4")
        assert len(shard.members) == 9
        check_columns(shard)
        for name, array in prices().items():
            ref = shard.find(name)
            assert (ref.kind, ref.key, ref.size) == ("column", name, array.nbytes)
            assert shard.read(ref) == array.tobytes()
            assert shard.read_range(ref, 1000, 1100) == array.tobytes()[1000:1100]
            assert shard.trace(name).ref == ref
            np.testing.assert_array_equal(shard.read_array(name), array)
        with pytest.raises(KeyAbsent, match="there is no column 'volume'"):
            shard.find("volume")
        assert shard.trace("volume").outcome == "absent"
        assert shard.find_many(["symbol", "volume", "day"]).tolist() == [2, -1, 0]


def test_a_damaged_column_leaves_the_others(table: Path) -> None:
    shutil.rmtree(table / "close")
    edit(table / "symbol/meta/sizes", nbytes=1)
    with opened_table(table) as shard:
        assert shard.objects[:].state.tolist() == [State.LIVE, State.DAMAGED, State.DAMAGED]
        np.testing.assert_array_equal(shard.read_array("day"), prices()["day"])
        with pytest.raises(FormatError):
            shard.find("symbol")
        assert shard.trace("symbol").outcome == "damaged"
        with pytest.raises(SourceError):
            shard.find("close")
        for row in (1, 2):
            with pytest.raises(ShardError):
                shard.read(shard.objects.ref(row))
        assert errors(shard) == ["bloscpack.column", "bloscpack.column"]


def test_damaged_files_are_told_with_the_index(table: Path) -> None:
    (table / "close/data/__1.blp").write_bytes(b"blp")
    with opened_table(table) as shard:
        assert shard.objects[:].state.tolist() == [State.LIVE] * 3
        shard.load_index()
        assert shard.objects[:].state.tolist() == [State.LIVE, State.DAMAGED, State.LIVE]
        assert shard.objects.ref(1).error.startswith("close/data/__1.blp: ")
        assert shard.read_range(shard.find("close"), 0, 2048) == prices()["close"].tobytes()[:2048]
        with pytest.raises(FormatError):
            shard.read(shard.find("close"))


def test_columns_of_different_lengths_are_no_table(table: Path) -> None:
    edit(table / "day/meta/sizes", shape=[600], nbytes=2400)
    with opened_table(table) as shard:
        assert shard.read_array("day").shape == (600,)
        assert errors(shard)[-1] == "bloscpack.column-length"


@pytest.mark.parametrize("names", ["day", [1], [""], None, {"day": 1}])
def test_tables_without_names(table: Path, names: Any) -> None:
    edit(table / "__rootdirs__", names=names)
    with pytest.raises(FormatError, match="not a list of column names"):
        shardcore.open(table)


@pytest.mark.parametrize("name", ["..", "../prices/day", "/etc", "a\0b", "day/.."])
def test_names_that_leave_the_folder_are_not_followed(table: Path, name: str) -> None:
    edit(table / "__rootdirs__", names=[name])
    with opened_table(table) as shard:
        assert shard.members == ()
        assert shard.objects.ref(0).state is State.DAMAGED


def test_the_rows_of_a_table_are_a_content() -> None:
    with shardcore.open(TABLE) as shard:
        found = shardcore.content(shard, "all")
    assert isinstance(found, shardcore.TableContent)
    expected = prices()
    assert found.rows[0] == tuple(expected)
    assert len(found.rows) == 701
    assert found.rows[700] == tuple(str(column[699]) for column in expected.values())


def test_a_damaged_column_costs_itself(table: Path) -> None:
    (table / "day" / "meta" / "storage").write_text("{")
    with shardcore.open(table, partial=True) as shard:
        found = shardcore.content(shard, "all")
    assert isinstance(found, shardcore.TableContent)
    assert found.rows[0] == ("close", "symbol")
    assert "1 column cannot be read" in found.note


def test_columns_of_python_objects_are_returned_as_stored() -> None:
    """Their pickles are never loaded; only chunks have keys."""
    case = TABLE.parents[2] / "cases" / "02-bcolz-object-column"
    right = json.loads((case / "expected.json").read_text())["right"]
    with opened_table(case / "objtable") as table, opened_column(case / "objcol") as column:
        assert table.objects[:].state.tolist() == [State.LIVE] * 2
        assert (list(table.verify().findings), list(column.verify().findings)) == ([], [])
        pickles = [column.read(column.find(str(number))) for number in range(right["chunks of objcol"])]
        assert pickles[0].hex() == right["get objcol 0 (hex)"]
        assert all(text.encode() in data for text, data in zip(right["texts stored"], pickles, strict=True))
        whole = table.find("all_cols")
        assert table.read(whole) == column.read(column.find("all")) == b"".join(pickles)
        assert table.read_range(whole, 10, 40) == b"".join(pickles)[10:40]
        assert (table.array_layout(whole), list(table.first_rows(1))) == (None, ["score"])
        for act in (lambda: table.read_array("all_cols"), column.read_array):
            with pytest.raises(shardcore.Unsupported):
                act()
        for key in ("@3", "[1]"):
            with pytest.raises(shardcore.KeyAbsent):
                column.find(key)


def test_pickles_of_another_size_are_an_error(tmp_path: Path) -> None:
    shutil.copytree(TABLE.parents[2] / "cases" / "02-bcolz-object-column" / "objcol", tmp_path / "column")
    edit(tmp_path / "column" / "meta" / "sizes", nbytes=60)
    with opened_column(tmp_path / "column") as column:
        assert [one.code for one in column.verify().findings] == ["bloscpack.column-size"]
        with pytest.raises(shardcore.FormatError):
            column.read(column.find("all"))
