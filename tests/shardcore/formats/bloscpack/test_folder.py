"""bcolz folders: a column and a table as data sets."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import ExternalMissing, FormatError, KeyAbsent, NotAShard, ShardError, SourceError, UsageError
from shardcore.finding import Severity
from shardcore.formats.bloscpack.column import BloscpackColumn
from shardcore.formats.bloscpack.table import BloscpackTable
from shardcore.objects import State
from shardcore.progress import no_progress
from shardcore.sources.local import LocalFolder
from shardcore.testing.checks import check_columns, check_explained
from tests.data.bloscpack.make_bcolz import made, prices, samples
from tests.shardcore.formats.bloscpack.chunks import plain_copy
from tests.shardcore.formats.bloscpack.files import File

DATA = Path(__file__).parents[3] / "data" / "bloscpack" / "bcolz"
TABLE, COLUMN = DATA / "prices", DATA / "samples"


def opened_column(where: Path = COLUMN, **options: Any) -> BloscpackColumn:
    """A column."""
    shard = shardcore.open(where, **options)
    assert isinstance(shard, BloscpackColumn)
    return shard


def opened_table(where: Path = TABLE) -> BloscpackTable:
    """A table."""
    shard = shardcore.open(where)
    assert isinstance(shard, BloscpackTable)
    return shard


@pytest.fixture
def column(tmp_path: Path) -> Path:
    """A copy of the column, to be damaged."""
    return Path(shutil.copytree(COLUMN, tmp_path / "samples"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A copy of the table, to be damaged."""
    return Path(shutil.copytree(TABLE, tmp_path / "prices"))


def edit(path: Path, **values: Any) -> None:
    """Changes members of a JSON file; None takes one out."""
    kept = json.loads(path.read_bytes()) | values
    path.write_text(json.dumps({name: value for name, value in kept.items() if value is not None}))


def errors(shard: shardcore.Shard) -> list[str]:
    """The codes of the errors that verification finds."""
    return [finding.code for finding in shard.verify().findings if finding.severity is Severity.ERROR]


def test_samples_are_what_the_script_makes() -> None:
    """The samples come from the script beside them, byte by byte."""
    files = {path.relative_to(DATA).as_posix(): path.read_bytes() for path in DATA.rglob("*") if path.is_file()}
    assert files == made()


# --- a column -----------------------------------------------------------------------------------------------------


def test_a_column_has_type_and_shape() -> None:
    """The meta files say what the chunks are; the bytes behind the last item do not count."""
    assert shardcore.detect(COLUMN).why == "bcolz column, meta/storage"
    with opened_column() as shard:
        assert (shard.array.dtype, shard.array.shape) == (np.dtype("float64"), (500, 3))
        assert shard.fields["column.shape"] == "[500, 3]"
        assert shard.views == ("all",)
        assert [member.name for member in shard.members] == [f"data/__{number}.blp" for number in range(13)]
        np.testing.assert_array_equal(shard.read_array(), samples())
        ref = shard.find("all")
        assert shard.read(ref) == samples().tobytes()
        assert (ref.size, ref.row, len(ref.spans)) == (12000, -1, 13)
        assert sum(len(shard.read(shard.objects.ref(row))) for row in range(13)) == 13 * 960


def test_chunks_are_known_without_reading() -> None:
    """How many chunks there are is told by the names of the files; keys are the numbers in them."""
    with opened_column() as shard:
        assert shard.declared_objects == 13
        assert shard.listing is not None
        assert shard.listing.keys[:] == [str(number) for number in range(13)]
        assert shard.objects[:].size.tolist() == [960] * 12 + [-1]
        assert shard.objects[:].stored_size.tolist() == [-1] * 13
        shard.load_index()
        assert shard.objects[:].size.tolist() == [960] * 13
        check_columns(shard)


def test_chunks_are_found_by_number_and_by_byte() -> None:
    """`5` is the file `__5.blp`; `@x` is the chunk of byte x, and tells the way to it."""
    plain = samples().tobytes()
    with opened_column() as shard:
        ref = shard.find("5")
        assert (ref.key, ref.row, ref.shard) == ("5", 5, "data/__5.blp")
        assert shard.read(ref) == plain[5 * 960 : 6 * 960]
        assert shard.find_all("5") == (ref,)
        assert shard.find("@5000") == ref
        trace = shard.trace("@5000")
        assert (trace.outcome, trace.ref) == ("found", ref)
        assert [step.title for step in trace.steps[:3]] == ["The column", "Which chunk", "Which file"]
        assert next(step for step in trace.steps if step.title == "Decode").values["byte"] == plain[5000]
        assert shard.find_many(["3", "@12000", "13", "all", "@0"]).tolist() == [3, -1, -1, -1, 0]
        for absent in ("13", "@12000", "99999999999999999999"):
            with pytest.raises(KeyAbsent):
                shard.find(absent)
            assert shard.find_all(absent) == ()
            assert shard.trace(absent).outcome == "absent"
        with pytest.raises(UsageError):
            shard.find("five")


@pytest.mark.parametrize(("start", "stop"), [(0, 0), (0, 1), (959, 961), (960, 1920), (100, 5000), (11990, 99999)])
def test_ranges_of_a_column(start: int, stop: int) -> None:
    """A range is read from the chunks that hold it."""
    with opened_column() as shard:
        assert shard.read_range(shard.find("all"), start, stop) == samples().tobytes()[start:stop]
        with pytest.raises(shardcore.LimitExceeded):
            shard.read_range(shard.find("all"), 0, 12000, limit=11999)


def test_every_byte_of_a_column_explains_itself() -> None:
    """Chunk files and JSON files are sources with trees; chunks belong to the row of their file."""
    with opened_column() as shard:
        check_explained(shard, "data/__7.blp")
        assert [node.row for node in shard.explain(100, "data/__7.blp")][:3] == [None, None, 7]
        for name in ("meta/sizes", "meta/storage", "__attrs__"):
            path = shard.whole_path(1, name)
            assert [node.name for node in path[:3]] == [shard.uri, name, "JSON"]
        assert shard.part("meta/sizes").sections[0].size == (COLUMN / "meta/sizes").stat().st_size
        for wrong in ("meta", "meta/sizes@0-1", "data/__99.blp", ""):
            with pytest.raises(UsageError):
                shard.part(wrong)


def test_a_whole_column_verifies() -> None:
    """There is nothing wrong with it; a table neither."""
    for where, count in ((COLUMN, 13), (TABLE, 3)):
        with shardcore.open(where) as shard:
            report = shard.verify()
            assert (report.ok, report.findings, report.objects) == (True, (), count)


def test_other_files_beside_the_chunks_are_no_members(column: Path) -> None:
    """What an archiver leaves there, and what is not named as bcolz names chunks, is of no account."""
    for name in (".___0.blp", "__0.blp.bak", "__007.blp", "notes.txt"):
        (column / "data" / name).write_bytes(b"\x00\x05\x16\x07")
    (column / "data" / "__MACOSX").mkdir()
    with opened_column(column) as shard:
        assert len(shard.members) == 13
        assert shard.verify().findings == ()


def test_damage_in_a_chunk_costs_that_chunk(column: Path) -> None:
    """The other chunks are read; the whole ends where the damage is, and says in which file."""
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
    """Chunks behind the hole keep their numbers; the whole ends at the hole."""
    (column / "data/__4.blp").unlink()
    with opened_column(column) as shard:
        assert shard.read(shard.find("5")) == samples().tobytes()[5 * 960 : 6 * 960]
        assert shard.find("5").row == 4
        assert shard.objects.keys[:5] == ["0", "1", "2", "3", "5"]
        for key in ("4", "@4000"):
            with pytest.raises(ExternalMissing, match=r"data/__4\.blp is not there; the column has 13 chunks"):
                shard.find(key)
        with pytest.raises(ExternalMissing):
            shard.read(shard.find("all"))
        assert errors(shard) == ["bloscpack.column-file-missing"]


def test_chunks_of_another_size_are_no_column(column: Path) -> None:
    """A chunk that is shorter or longer than `chunklen` items would shift all that follow."""
    for size in (952, 968):
        (column / "data/__4.blp").write_bytes(
            File([plain_copy(bytes(size))], [size], version=1, offsets=False, checksum=0).write()
        )
        with opened_column(column) as shard:
            with pytest.raises(FormatError, match=f"chunk 4 holds {size} plain bytes; the column has 960 there"):
                shard.read(shard.find("all"))
            assert errors(shard) == ["bloscpack.column-chunk-size"]


def test_files_with_several_chunks_are_refused(column: Path) -> None:
    """Bcolz reads the first chunk of each file; a file with more would hide some."""
    two = File([plain_copy(bytes(480))] * 2, [480, 480], version=1, offsets=False, checksum=0).write()
    (column / "data/__4.blp").write_bytes(two)
    with opened_column(column) as shard:
        with pytest.raises(FormatError, match="2 chunks; the files of a column have one each"):
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
        ("storage", {"dtype": "O"}),
        ("storage", {"dtype": "S0"}),
        ("storage", {"dtype": None}),
        ("storage", {"dtype": "__import__('os')"}),
        ("storage", {"chunklen": 0}),
        ("storage", {"chunklen": "40"}),
        ("storage", {"chunklen": True}),
    ],
)
def test_meta_files_that_make_no_sense(column: Path, name: str, values: dict[str, Any]) -> None:
    """They are an error that names what is wrong, on the command line, too."""
    edit(column / "meta" / name, **values)
    with pytest.raises(FormatError) as caught:
        shardcore.open(column)
    assert caught.value.span == shardcore.Span(f"meta/{name}", 0, (column / "meta" / name).stat().st_size)
    assert run(["info", str(column)]) == 3


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff", b"[" * 5000])
@pytest.mark.parametrize("name", ["sizes", "storage"])
def test_meta_files_that_are_no_json(column: Path, name: str, text: bytes) -> None:
    """So is what is no JSON object."""
    (column / "meta" / name).write_bytes(text)
    with pytest.raises(FormatError, match=f"meta/{name} is no"):
        shardcore.open(column)


def test_a_shape_of_any_size_costs_nothing(column: Path) -> None:
    """What a shape claims is not counted up to."""
    edit(column / "meta/sizes", shape=[2**52, 3], nbytes=3 * 2**55)
    with opened_column(column) as shard:
        assert shard.read(shard.find("5")) == samples().tobytes()[5 * 960 : 6 * 960]
        with pytest.raises(shardcore.LimitExceeded):
            shard.read(shard.find("all"))
        with pytest.raises(ExternalMissing):
            b"".join(shard.stream(shard.find("all")))
        assert len(shard.verify("structure").findings) == 1000


def test_a_column_without_items(column: Path) -> None:
    """It has no chunks, and an array of its type."""
    edit(column / "meta/sizes", shape=[0, 3], nbytes=0)
    shutil.rmtree(column / "data")
    (column / "data").mkdir()
    with opened_column(column) as shard:
        assert shard.read(shard.find("all")) == b""
        assert shard.read_array().shape == (0, 3)
        assert shard.trace("0").outcome == "absent"
        assert shard.verify().findings == ()


def test_record_types(column: Path) -> None:
    """A type with fields stands there as a text or as lists."""
    for dtype in ("[('x', '<f8'), ('y', '<i8'), ('z', '<f8')]", [["x", "<f8"], ["y", "<i8"], ["z", "<f8"]]):
        edit(column / "meta/storage", dtype=dtype)
        edit(column / "meta/sizes", shape=[500], nbytes=12000)
        with opened_column(column) as shard:
            assert shard.array.dtype.names == ("x", "y", "z")
            np.testing.assert_array_equal(shard.read_array()["z"], samples()[:, 2])


def test_one_process_decompresses_for_all_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `isolated`, the files share a process, which ends with the data set."""
    made_workers: list[Any] = []

    class FakeWorker:
        """Decompresses here, and notes that it was closed."""

        def __init__(self) -> None:
            self.calls, self.closed = 0, False
            made_workers.append(self)

        def decompress(self, chunk: bytes, *, limit: int, place: Any = None) -> bytes:
            """As the real one."""
            from shardcore.formats.bloscpack.decode import decompress

            self.calls += 1
            return decompress(chunk, limit=limit, place=place)

        def close(self) -> None:
            """As the real one."""
            self.closed = True

    monkeypatch.setattr("shardcore.formats.bloscpack.dataset.Worker", FakeWorker)
    monkeypatch.setattr("shardcore.formats.bloscpack.file.Worker", FakeWorker)
    with opened_column(isolated=True) as shard:
        shard.read_array()
    assert [(worker.calls, worker.closed) for worker in made_workers] == [(13, True)]


# --- a table ------------------------------------------------------------------------------------------------------


def test_the_objects_of_a_table_are_its_columns() -> None:
    """In the order of `__rootdirs__`, with their sizes, known without opening a file."""
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


def test_chunks_of_a_table_belong_to_their_column() -> None:
    """Nodes of a file have the row of the column."""
    with opened_table() as shard:
        check_explained(shard, "symbol/data/__1.blp")
        assert [node.row for node in shard.explain(50, "symbol/data/__1.blp")][:3] == [2, None, 2]
        names = [node.name for node in shard.tree.children]
        assert names[:2] == ["__rootdirs__", "__attrs__"]
        assert names[-1] == "symbol/data/__2.blp"


def test_a_damaged_column_leaves_the_others(table: Path) -> None:
    """It is one damaged row, and a finding; the others are read."""
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
    """A column of which a file cannot be opened is a damaged row, once that is known."""
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
    """They are read, and the difference is an error."""
    edit(table / "day/meta/sizes", shape=[600], nbytes=2400)
    with opened_table(table) as shard:
        assert shard.read_array("day").shape == (600,)
        assert errors(shard)[-1] == "bloscpack.column-length"


@pytest.mark.parametrize("names", ["day", [1], [""], None, {"day": 1}])
def test_tables_without_names(table: Path, names: Any) -> None:
    """A list of names is wanted."""
    edit(table / "__rootdirs__", names=names)
    with pytest.raises(FormatError, match="no list of names"):
        shardcore.open(table)


@pytest.mark.parametrize("name", ["..", "../prices/day", "/etc", "a\0b", "day/.."])
def test_names_that_leave_the_folder_are_not_followed(table: Path, name: str) -> None:
    """A name is a plain one below the table."""
    edit(table / "__rootdirs__", names=[name])
    with opened_table(table) as shard:
        assert shard.members == ()
        assert shard.objects.ref(0).state is State.DAMAGED


# --- recognising and the command line -----------------------------------------------------------------------------


def test_other_folders_are_neither(tmp_path: Path) -> None:
    """A folder of Bloscpack files that no bcolz wrote is no data set."""
    (tmp_path / "a.blp").write_bytes((DATA.parent / "tiny.blp").read_bytes())
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path)
    with pytest.raises(NotAShard, match="neither a bcolz column"):
        shardcore.open(tmp_path, format="bloscpack")
    (tmp_path / "data").mkdir()
    (tmp_path / "meta").mkdir()
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path)


def test_a_closed_column_reads_nothing() -> None:
    """Files are opened while they are read, and none after closing."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    shard = opened_column()
    shard.load_index(no_progress)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    ref = shard.find("3")
    shard.close()
    with pytest.raises(SourceError):
        shard.read(ref)


def test_on_the_command_line(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """`info` tells type and shape, `get all` the bytes that `meta/sizes` counts, `ls` the columns of a table."""
    for where in (COLUMN, TABLE, TABLE / "close"):
        assert run(["info", str(where), "--json"]) == 0
        assert json.loads(capsysbinary.readouterr().out)["format"] == "bloscpack"
    assert run(["get", str(COLUMN), "all"]) == 0
    assert capsysbinary.readouterr().out == samples().tobytes()
    assert run(["get", str(TABLE), "close"]) == 0
    assert capsysbinary.readouterr().out == prices()["close"].tobytes()
    assert run(["ls", str(TABLE), "--json"]) == 0
    listed = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert [(one["key"], one["kind"], one["size"]) for one in listed] == [
        ("day", "column", 2800),
        ("close", "column", 5600),
        ("symbol", "column", 11200),
    ]
    assert run(["verify", str(TABLE)]) == 0


def test_columns_are_extracted_as_files(tmp_path: Path) -> None:
    """Taking a table out gives a file for each column."""
    assert run(["extract", str(TABLE), str(tmp_path / "out")]) == 0
    for name, array in prices().items():
        assert (tmp_path / "out" / name).read_bytes() == array.tobytes()
    assert LocalFolder(tmp_path / "out").list()
