"""Bcolz columns and tables as data sets."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import ExternalMissing, FormatError, KeyAbsent, ShardError, SourceError, UsageError
from shardcore.model.finding import Severity
from shardcore.model.objects import State
from shardcore.testing.checks import check_columns
from tests.data.bloscpack.make_bcolz import prices, samples
from tests.shardcore.formats.bloscpack.bcolz_folders import COLUMN, TABLE
from tests.shardcore.formats.bloscpack.chunks import memcpy
from tests.shardcore.formats.bloscpack.files import File


def edit(path: Path, **values: Any) -> None:
    kept = json.loads(path.read_bytes()) | values
    path.write_text(json.dumps({name: value for name, value in kept.items() if value is not None}))


def errors(shard: shardcore.Shard) -> list[str]:
    return [finding.code for finding in shard.verify().findings if finding.severity is Severity.ERROR]


@pytest.fixture
def column(tmp_path: Path) -> Path:
    return Path(shutil.copytree(COLUMN, tmp_path / "samples"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TABLE, tmp_path / "prices"))


def test_a_column_has_type_and_shape() -> None:
    assert shardcore.detect(COLUMN).why == "bcolz column, meta/storage"
    with shardcore.open(COLUMN) as shard:
        assert (shard.column.layout.dtype, shard.column.layout.shape) == (np.dtype("float64"), (500, 3))
        assert shard.fields["column.shape"] == "[500, 3]"
        assert shard.views == ("all",)
        assert [member.name for member in shard.members] == [f"data/__{number}.blp" for number in range(13)]
        np.testing.assert_array_equal(shard.array("all"), samples())
        ref = shard.find("all")
        assert shard.read(ref) == samples().tobytes()
        assert (ref.size, ref.row, len(ref.spans)) == (12000, -1, 13)
        assert sum(len(shard.read(shard.objects.ref(row))) for row in range(13)) == 13 * 960


def test_chunks_are_found_by_number_and_by_byte() -> None:
    plain = samples().tobytes()
    with shardcore.open(COLUMN) as shard:
        ref = shard.find("5")
        assert (ref.key, ref.row, ref.shard) == ("5", 5, "data/__5.blp")
        assert shard.read(ref) == plain[5 * 960 : 6 * 960]
        assert shard.find_all("5") == (ref,)
        assert shard.find("@5000") == ref
        assert shard.find_many(["3", "@12000", "13", "all", "@0"]).tolist() == [3, -1, -1, -1, 0]
        with pytest.raises(UsageError):
            shard.find("five")


def test_other_files_beside_the_chunks_are_no_members(column: Path) -> None:
    for name in (".___0.blp", "__0.blp.bak", "__007.blp", "notes.txt"):
        (column / "data" / name).write_bytes(b"\x00\x05\x16\x07")
    (column / "data" / "__MACOSX").mkdir()
    with shardcore.open(column) as shard:
        assert (len(shard.members), shard.verify().findings) == (13, ())
    shutil.copy(column / "data/__0.blp", column / "data/__13.blp")
    with shardcore.open(column) as shard:  # chunks behind the end are rows, but no part of the content
        assert (len(shard.objects), shard.read(shard.find("all"))) == (14, samples().tobytes())
        assert [finding.code for finding in shard.verify().findings] == ["bloscpack.column-file-surplus"]


def test_damage_in_a_chunk_costs_that_chunk(column: Path) -> None:
    (column / "data/__4.blp").write_bytes((COLUMN / "data/__4.blp").read_bytes()[:100])
    (column / "data/__6.blp").write_bytes(b"\x00\x05\x16\x07" * 20)
    with shardcore.open(column) as shard:
        shard.load_index()
        assert shard.objects[:].state.tolist() == [State.DAMAGED if n in (4, 6) else State.LIVE for n in range(13)]
        assert shard.read(shard.find("5")) == samples().tobytes()[5 * 960 : 6 * 960]
        stream = shard.stream(shard.find("all"))
        assert b"".join(next(stream) for _ in range(4)) == samples().tobytes()[: 4 * 960]
        with pytest.raises(FormatError) as caught:
            next(stream)
        assert caught.value.span.source == "data/__4.blp"
        with pytest.raises(ShardError):
            shard.read(shard.objects.ref(6))
        assert "bloscpack.unreadable" in errors(shard)


def test_a_missing_chunk_is_named(column: Path) -> None:
    (column / "data/__4.blp").unlink()
    with shardcore.open(column) as shard:
        assert shard.read(shard.find("5")) == samples().tobytes()[5 * 960 : 6 * 960]
        assert (shard.find("5").row, shard.objects.keys[:5]) == (4, ["0", "1", "2", "3", "5"])
        for key in ("4", "@4000"):
            with pytest.raises(ExternalMissing, match=r"data/__4\.blp is missing; the column has 13 chunks"):
                shard.find(key)
        with pytest.raises(ExternalMissing):
            shard.read(shard.find("all"))
        assert errors(shard) == ["bloscpack.column-file-missing"]


def test_files_of_other_chunks_are_no_column(column: Path) -> None:
    """Bcolz reads only the first chunk of each file."""
    for sizes, words, code in (
        ([952], "chunk 4 has 952 .* bytes; .* 960", "bloscpack.column-chunk-size"),
        ([968], "chunk 4 has 968 .* bytes; .* 960", "bloscpack.column-chunk-size"),
        ([480, 480], "2 chunks; a file of a column has exactly one", "bloscpack.unreadable"),
    ):
        file = File([memcpy(bytes(size)) for size in sizes], sizes, version=1, offsets=False, checksum=0)
        (column / "data/__4.blp").write_bytes(file.write())
        with shardcore.open(column) as shard:
            with pytest.raises(FormatError, match=words):
                shard.read(shard.find("all"))
            assert errors(shard) == [code]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *(("sizes", {"shape": shape}) for shape in (None, [], [-1], "500", [2**62, 2**62])),
        *(("sizes", {"nbytes": size}) for size in (12001, None)),
        *(("storage", {"dtype": t}) for t in ("float6", [["a", "O"]], "S0", None, "__import__('os')")),
        *(("storage", {"chunklen": length}) for length in (0, "40", True)),
        *((name, text) for name in ("sizes", "storage") for text in (b"", b"[]", b"{", b"\xff", b"[" * 5000)),
    ],
)
def test_meta_files_that_make_no_sense(column: Path, name: str, values: Any) -> None:
    path = column / "meta" / name
    if isinstance(values, bytes):
        path.write_bytes(values)
        with pytest.raises(FormatError, match=f"meta/{name}"):
            shardcore.open(column)
        return
    edit(path, **values)
    with pytest.raises(FormatError) as caught:
        shardcore.open(column)
    assert caught.value.span == shardcore.Span(f"meta/{name}", 0, path.stat().st_size)
    assert run(["info", str(column)]) == 3


def test_a_shape_of_any_size_costs_nothing(column: Path) -> None:
    edit(column / "meta/sizes", shape=[2**52, 3], nbytes=3 * 2**55)
    with shardcore.open(column) as shard:
        assert shard.read(shard.find("5")) == samples().tobytes()[5 * 960 : 6 * 960]
        with pytest.raises(shardcore.LimitExceeded):
            shard.read(shard.find("all"))
        with pytest.raises(ExternalMissing):
            b"".join(shard.stream(shard.find("all")))
        assert len(shard.verify("structure").findings) == 1000


def test_a_column_without_items(column: Path) -> None:
    edit(column / "meta/sizes", shape=[0, 3], nbytes=0)
    shutil.rmtree(column / "data")
    (column / "data").mkdir()
    with shardcore.open(column) as shard:
        assert shard.read(shard.find("all")) == b""
        assert shard.array("all").shape == (0, 3)
        assert shard.trace("0").outcome == "absent"
        assert shard.verify().findings == ()


def test_record_types(column: Path) -> None:
    for dtype in ("[('x', '<f8'), ('y', '<i8'), ('z', '<f8')]", [["x", "<f8"], ["y", "<i8"], ["z", "<f8"]]):
        edit(column / "meta/storage", dtype=dtype)
        edit(column / "meta/sizes", shape=[500], nbytes=12000)
        with shardcore.open(column) as shard:
            assert shard.column.layout.dtype.names == ("x", "y", "z")
            np.testing.assert_array_equal(shard.array("all")["z"], samples()[:, 2])


def test_one_process_decompresses_for_all_files() -> None:
    others = set(multiprocessing.active_children())
    with shardcore.open(COLUMN, isolated=True) as shard:
        np.testing.assert_array_equal(shard.array("all"), samples())
        assert len(set(multiprocessing.active_children()) - others) == 1
        with pytest.raises(shardcore.LimitExceeded):
            shard.read_range(shard.find("all"), 0, 12000, limit=11999)
    assert set(multiprocessing.active_children()) <= others


def test_the_objects_of_a_table_are_its_columns() -> None:
    assert shardcore.detect(TABLE).why == "bcolz table, __rootdirs__"
    with shardcore.open(TABLE) as shard:
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
            np.testing.assert_array_equal(shard.array(name), array)
        with pytest.raises(KeyAbsent, match="there is no column 'volume'"):
            shard.find("volume")
        assert shard.trace("volume").outcome == "absent"
        assert shard.find_many(["symbol", "volume", "day"]).tolist() == [2, -1, 0]


def test_a_damaged_column_leaves_the_others(table: Path) -> None:
    shutil.rmtree(table / "close")
    edit(table / "symbol/meta/sizes", nbytes=1)
    with shardcore.open(table) as shard:
        assert shard.objects[:].state.tolist() == [State.LIVE, State.DAMAGED, State.DAMAGED]
        np.testing.assert_array_equal(shard.array("day"), prices()["day"])
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
    with shardcore.open(table) as shard:
        assert shard.objects[:].state.tolist() == [State.LIVE] * 3
        shard.load_index()
        assert shard.objects[:].state.tolist() == [State.LIVE, State.DAMAGED, State.LIVE]
        assert shard.objects.ref(1).error.startswith("close/data/__1.blp: ")
        assert shard.read_range(shard.find("close"), 0, 2048) == prices()["close"].tobytes()[:2048]
        with pytest.raises(FormatError):
            shard.read(shard.find("close"))


def test_columns_of_different_lengths_are_no_table(table: Path) -> None:
    edit(table / "day/meta/sizes", shape=[600], nbytes=2400)
    with shardcore.open(table) as shard:
        assert shard.array("day").shape == (600,)
        assert errors(shard)[-1] == "bloscpack.column-length"


@pytest.mark.parametrize("names", ["day", [1], [""], None, {"day": 1}])
def test_tables_without_names(table: Path, names: Any) -> None:
    edit(table / "__rootdirs__", names=names)
    with pytest.raises(FormatError, match="not a list of column names"):
        shardcore.open(table)


@pytest.mark.parametrize("name", ["..", "../prices/day", "/etc", "a\0b", "day/.."])
def test_names_that_leave_the_folder_are_not_followed(table: Path, name: str) -> None:
    edit(table / "__rootdirs__", names=[name])
    with shardcore.open(table) as shard:
        assert shard.members == ()
        assert shard.objects.ref(0).state is State.DAMAGED


def test_the_rows_of_a_table_are_a_content(table: Path) -> None:
    with shardcore.open(table) as shard:
        found = shardcore.content(shard, "all")
    expected = prices()
    assert (found.rows[0], len(found.rows)) == (tuple(expected), 701)
    assert found.rows[700] == tuple(str(column[699]) for column in expected.values())
    (table / "day" / "meta" / "storage").write_text("{")
    with shardcore.open(table, partial=True) as shard:
        found = shardcore.content(shard, "all")
    assert found.rows[0] == ("close", "symbol")
    assert "1 column cannot be read" in found.note


def test_columns_of_python_objects_are_returned_as_stored() -> None:
    """Their pickles are never loaded; only chunks have keys."""
    case = TABLE.parents[2] / "cases" / "02-bcolz-object-column"
    right = json.loads((case / "expected.json").read_text())["right"]
    with shardcore.open(case / "objtable") as table, shardcore.open(case / "objcol") as column:
        assert table.objects[:].state.tolist() == [State.LIVE] * 2
        assert (list(table.verify().findings), list(column.verify().findings)) == ([], [])
        pickles = [column.read(column.find(str(number))) for number in range(right["chunks of objcol"])]
        assert pickles[0].hex() == right["get objcol 0 (hex)"]
        assert all(text.encode() in data for text, data in zip(right["texts stored"], pickles, strict=True))
        whole = table.find("all_cols")
        assert table.read(whole) == column.read(column.find("all")) == b"".join(pickles)
        assert table.read_range(whole, 10, 40) == b"".join(pickles)[10:40]
        assert (table.arrays.array_layout(whole), list(table.arrays.first_rows(1))) == (None, ["score"])
        for act in (lambda: table.array("all_cols"), lambda: column.array("all")):
            with pytest.raises(shardcore.UsageError, match="not an array"):
                act()
        for key in ("@3", "[1]"):
            with pytest.raises(shardcore.KeyAbsent):
                column.find(key)


def test_pickles_of_another_size_are_an_error(tmp_path: Path) -> None:
    shutil.copytree(TABLE.parents[2] / "cases" / "02-bcolz-object-column" / "objcol", tmp_path / "column")
    edit(tmp_path / "column" / "meta" / "sizes", nbytes=60)
    with shardcore.open(tmp_path / "column") as column:
        assert [one.code for one in column.verify().findings] == ["bloscpack.column-size"]
        with pytest.raises(shardcore.FormatError):
            column.read(column.find("all"))
