"""A bcolz column as a data set."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import ExternalMissing, FormatError, KeyAbsent, ShardError, UsageError
from shardcore.model.objects import State
from tests.data.bloscpack.make_bcolz import samples
from tests.shardcore.formats.bloscpack.bcolz_folders import COLUMN, edit, errors, opened_column
from tests.shardcore.formats.bloscpack.chunks import memcpy
from tests.shardcore.formats.bloscpack.files import File


def test_a_column_has_type_and_shape() -> None:
    assert shardcore.detect(COLUMN).why == "bcolz column, meta/storage"
    with opened_column() as shard:
        assert (shard.whole_layout.dtype, shard.whole_layout.shape) == (np.dtype("float64"), (500, 3))
        assert shard.fields["column.shape"] == "[500, 3]"
        assert shard.views == ("all",)
        assert [member.name for member in shard.members] == [f"data/__{number}.blp" for number in range(13)]
        np.testing.assert_array_equal(shard.read_array(), samples())
        ref = shard.find("all")
        assert shard.read(ref) == samples().tobytes()
        assert (ref.size, ref.row, len(ref.spans)) == (12000, -1, 13)
        assert sum(len(shard.read(shard.objects.ref(row))) for row in range(13)) == 13 * 960


def test_chunks_are_found_by_number_and_by_byte() -> None:
    plain = samples().tobytes()
    with opened_column() as shard:
        ref = shard.find("5")
        assert (ref.key, ref.row, ref.shard) == ("5", 5, "data/__5.blp")
        assert shard.read(ref) == plain[5 * 960 : 6 * 960]
        assert shard.find_all("5") == (ref,)
        assert shard.find("@5000") == ref
        assert shard.find_many(["3", "@12000", "13", "all", "@0"]).tolist() == [3, -1, -1, -1, 0]
        for absent in ("13", "@12000", "99999999999999999999"):
            with pytest.raises(KeyAbsent):
                shard.find(absent)
            assert shard.find_all(absent) == ()
            assert shard.trace(absent).outcome == "absent"
        with pytest.raises(UsageError):
            shard.find("five")


def test_other_files_beside_the_chunks_are_no_members(column: Path) -> None:
    for name in (".___0.blp", "__0.blp.bak", "__007.blp", "notes.txt"):
        (column / "data" / name).write_bytes(b"\x00\x05\x16\x07")
    (column / "data" / "__MACOSX").mkdir()
    with opened_column(column) as shard:
        assert len(shard.members) == 13
        assert shard.verify().findings == ()


def test_damage_in_a_chunk_costs_that_chunk(column: Path) -> None:
    (column / "data/__4.blp").write_bytes((COLUMN / "data/__4.blp").read_bytes()[:100])
    (column / "data/__6.blp").write_bytes(b"\x00\x05\x16\x07" * 20)
    with opened_column(column) as shard:
        shard.load_index()
        assert shard.objects[:].state.tolist() == [State.DAMAGED if n in (4, 6) else State.LIVE for n in range(13)]
        assert shard.read(shard.find("5")) == samples().tobytes()[5 * 960 : 6 * 960]
        stream = shard.stream(shard.find("all"))
        assert b"".join(next(stream) for _ in range(4)) == samples().tobytes()[: 4 * 960]
        with pytest.raises(FormatError) as caught:
            next(stream)
        assert caught.value.span is not None
        assert caught.value.span.source == "data/__4.blp"
        with pytest.raises(ShardError):
            shard.read(shard.objects.ref(6))
        assert "bloscpack.unreadable" in errors(shard)


def test_a_missing_chunk_is_named(column: Path) -> None:
    (column / "data/__4.blp").unlink()
    with opened_column(column) as shard:
        assert shard.read(shard.find("5")) == samples().tobytes()[5 * 960 : 6 * 960]
        assert shard.find("5").row == 4
        assert shard.objects.keys[:5] == ["0", "1", "2", "3", "5"]
        for key in ("4", "@4000"):
            with pytest.raises(ExternalMissing, match=r"data/__4\.blp is missing; the column has 13 chunks"):
                shard.find(key)
        with pytest.raises(ExternalMissing):
            shard.read(shard.find("all"))
        assert errors(shard) == ["bloscpack.column-file-missing"]


def test_chunks_of_another_size_are_no_column(column: Path) -> None:
    for size in (952, 968):
        (column / "data/__4.blp").write_bytes(
            File([memcpy(bytes(size))], [size], version=1, offsets=False, checksum=0).write()
        )
        with opened_column(column) as shard:
            with pytest.raises(FormatError, match=f"chunk 4 has {size} .* bytes; .* requires 960"):
                shard.read(shard.find("all"))
            assert errors(shard) == ["bloscpack.column-chunk-size"]


def test_files_with_several_chunks_are_refused(column: Path) -> None:
    """Bcolz reads only the first chunk of each file."""
    two = File([memcpy(bytes(480))] * 2, [480, 480], version=1, offsets=False, checksum=0).write()
    (column / "data/__4.blp").write_bytes(two)
    with opened_column(column) as shard:
        with pytest.raises(FormatError, match="2 chunks; a file of a column has exactly one"):
            shard.read(shard.find("4"))
        assert errors(shard) == ["bloscpack.unreadable"]


def test_files_behind_the_end_are_noted(column: Path) -> None:
    """They are rows, but no part of the content."""
    shutil.copy(column / "data/__0.blp", column / "data/__13.blp")
    with opened_column(column) as shard:
        assert len(shard.objects) == 14
        assert shard.read(shard.find("all")) == samples().tobytes()
        assert [finding.code for finding in shard.verify().findings] == ["bloscpack.column-file-surplus"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sizes", {"shape": None}),
        ("sizes", {"shape": []}),
        ("sizes", {"shape": [-1]}),
        ("sizes", {"shape": "500"}),
        ("sizes", {"shape": [2**62, 2**62]}),
        ("sizes", {"nbytes": 12001}),
        ("sizes", {"nbytes": None}),
        ("storage", {"dtype": "float6"}),
        ("storage", {"dtype": [["a", "O"]]}),
        ("storage", {"dtype": "S0"}),
        ("storage", {"dtype": None}),
        ("storage", {"dtype": "__import__('os')"}),
        ("storage", {"chunklen": 0}),
        ("storage", {"chunklen": "40"}),
        ("storage", {"chunklen": True}),
    ],
)
def test_meta_files_that_make_no_sense(column: Path, name: str, values: dict[str, Any]) -> None:
    edit(column / "meta" / name, **values)
    with pytest.raises(FormatError) as caught:
        shardcore.open(column)
    assert caught.value.span == shardcore.Span(f"meta/{name}", 0, (column / "meta" / name).stat().st_size)
    assert run(["info", str(column)]) == 3


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff", b"[" * 5000])
@pytest.mark.parametrize("name", ["sizes", "storage"])
def test_meta_files_that_are_no_json(column: Path, name: str, text: bytes) -> None:
    (column / "meta" / name).write_bytes(text)
    reasons = " is not JSON| is not UTF-8|: nested deeper than| is not a JSON object"
    with pytest.raises(FormatError, match=f"meta/{name}({reasons})"):
        shardcore.open(column)


def test_a_shape_of_any_size_costs_nothing(column: Path) -> None:
    edit(column / "meta/sizes", shape=[2**52, 3], nbytes=3 * 2**55)
    with opened_column(column) as shard:
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
    with opened_column(column) as shard:
        assert shard.read(shard.find("all")) == b""
        assert shard.read_array().shape == (0, 3)
        assert shard.trace("0").outcome == "absent"
        assert shard.verify().findings == ()


def test_record_types(column: Path) -> None:
    for dtype in ("[('x', '<f8'), ('y', '<i8'), ('z', '<f8')]", [["x", "<f8"], ["y", "<i8"], ["z", "<f8"]]):
        edit(column / "meta/storage", dtype=dtype)
        edit(column / "meta/sizes", shape=[500], nbytes=12000)
        with opened_column(column) as shard:
            assert shard.whole_layout.dtype.names == ("x", "y", "z")
            np.testing.assert_array_equal(shard.read_array()["z"], samples()[:, 2])


def test_one_process_decompresses_for_all_files() -> None:
    with opened_column(isolated=True) as shard:
        np.testing.assert_array_equal(shard.read_array(), samples())
        assert len(multiprocessing.active_children()) == 1
        with pytest.raises(shardcore.LimitExceeded):
            shard.read_range(shard.find("all"), 0, 12000, limit=11999)
    assert multiprocessing.active_children() == []


def test_files_of_a_column_are_sources() -> None:
    with opened_column() as shard:
        assert shard.objects.known(0, 13).size.tolist() == [960] * 12 + [-1]
        for name in ("meta/sizes", "meta/storage", "__attrs__"):
            assert [node.name for node in shard.whole_path(1, name)[:3]] == [shard.uri, name, "JSON"]
        for wrong in ("meta", "meta/sizes@0-1", "data/__99.blp", ""):
            with pytest.raises(UsageError):
                shard.part(wrong)
