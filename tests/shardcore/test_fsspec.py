"""Objects of shards as files of fsspec: paths, listing, reading, chained addresses, lifetime, refusals."""

from __future__ import annotations

import os
import pickle
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shardcore

pytestmark = pytest.mark.interop("fsspec")

SAMPLES = Path(__file__).parents[2] / "resources/samples"
TABLE = b"day,height\n1,4.5\n2,4.75\n3,5.0\n"
KEYS = {
    "tides.csv": TABLE,
    "a/b/deep.txt": b"deep",
    "a/second.txt": b"second",
    "100%?.txt": b"percent",
    "a*b[1].txt": b"stars",
    "x::y": b"colons",
    "/absolute": b"slash first",
    "ends/": b"slash last",
    "..": b"dots",
    "@5": b"at",
    "ü ñ.txt": b"letters",
    "empty": b"",
}


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    """The protocol is that of this tree, and no shard stays open."""
    import fsspec

    from shardcore.fsspec import ShardFileSystem

    fsspec.register_implementation("shard", ShardFileSystem, clobber=True)
    yield
    ShardFileSystem.clear_instance_cache()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A des file with keys of many kinds."""
    with shardcore.create(tmp_path / "x.des", format="des") as writer:
        for key, content in KEYS.items():
            writer.add(key, content)
    return tmp_path / "x.des"


@pytest.fixture
def files(archive: Path) -> Any:
    """Its file system."""
    import fsspec

    return fsspec.filesystem("shard", fo=str(archive))


def test_the_entry_point_names_it() -> None:
    """Fsspec finds the protocol by the entry point, in its own form."""
    from importlib import import_module

    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    value = tomllib.loads(text)["project"]["entry-points"]["fsspec.specs"]["shard"]
    module, name = value.split(":")
    assert getattr(import_module(module), name).protocol == "shard"


def test_paths_are_keys(files: Any) -> None:
    """Every key has a path of its own, which leads back to it and which `find` lists; plain names are as they are."""
    from shardcore.fsspec import key_of, path_of

    assert path_of("a/b/deep.txt") == "a/b/deep.txt"
    assert path_of("100%?.txt") == "100%25%3F.txt"
    assert path_of("/absolute") == "%2Fabsolute"
    assert files.find("") == sorted(map(path_of, KEYS))
    for key, content in KEYS.items():
        assert key_of(path_of(key)) == key
        assert files.cat_file(path_of(key)) == content
        assert files.info(path_of(key))["key"] == key


def test_plain_paths_are_found_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that need no escapes have the path that the rules for all others give them."""
    from shardcore import fsspec as door

    keys = ["a", "a b/c.txt", "a/.hidden", "..", "a/..", "a//b", "a/", " a", "(1)/~x", "/".join("x" * 32), "x" * 2000]
    keys += ["/".join("x" * 33), "a:b", "ü", "-", "a/ /b", "@", "a@b", "..a", "a\n"]
    quick = [door.path_of(key) for key in keys]
    monkeypatch.setattr(door, "_PLAIN", door.re.compile("(?!)"))
    assert quick == [door.path_of(key) for key in keys]


def test_folders(files: Any) -> None:
    """Keys that are plain relative paths lie in folders, in `ls`, `info`, `walk` and `glob`."""
    assert {one["name"]: one["type"] for one in files.ls("a")} == {"a/b": "directory", "a/second.txt": "file"}
    assert files.ls("a/b", detail=False) == ["a/b/deep.txt"] == files.ls("a/b/deep.txt", detail=False)
    assert files.isdir("")
    assert files.isdir("a")
    assert files.isdir("shard://a/")
    assert not files.isdir("tides.csv")
    assert files.isfile("a/second.txt")
    assert not files.isfile("a")
    assert files.info("a")["type"] == "directory"
    assert files.glob("**/*.txt")[:2] == ["100%25%3F.txt", "a%2Ab%5B1].txt"]
    assert files.glob("a/*") == ["a/b", "a/second.txt"]
    assert files.glob("nothing*") == []
    assert [folder for folder, _, _ in files.walk("")] == ["", "a", "a/b"]
    assert files.du("a") == len(b"deep" + b"second")
    assert files.modified("a/second.txt").timestamp() == pytest.approx(Path(files.shard.source.path).stat().st_mtime)


def test_what_is_not_there(files: Any) -> None:
    """A missing object is a FileNotFoundError of Python, also where the key has not the form of the format."""
    import fsspec

    assert not files.exists("nope")
    assert files.exists("tides.csv")
    assert files.exists("a")
    hashed = fsspec.filesystem("shard", fo=str(SAMPLES / "swh/small.shard"))
    assert not hashed.exists("nope")
    assert not hashed.isdir("nope")
    assert not files.exists("%ff")
    for call in (files.info, files.open, files.cat_file, files.ls):
        with pytest.raises(FileNotFoundError, match="no such object"):
            call("nope")


def test_a_shard_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """`exists` says no only of objects: a file that is not there, or is no shard, raises what shardcore raises."""
    import fsspec

    with pytest.raises(shardcore.SourceError):
        fsspec.filesystem("shard", fo=str(tmp_path / "gone")).exists("a")
    (tmp_path / "text").write_bytes(b"just a text")
    with pytest.raises(shardcore.NotAShard):
        fsspec.filesystem("shard", fo=str(tmp_path / "text")).exists("a")
    with pytest.raises(shardcore.UsageError, match="no shard is named"):
        fsspec.filesystem("shard").ls("")


def test_errors_of_other_file_systems_are_source_errors() -> None:
    """File systems raise what their libraries raise; a shard behind one raises errors of shardcore only."""
    from shardcore.fsspec import FsspecSource

    class Broken:
        def unstrip_protocol(self, path: str) -> str:
            return f"broken://{path}"

        def info(self, path: str) -> dict[str, Any]:
            raise RuntimeError("the session is gone")

    with pytest.raises(shardcore.SourceError, match="the session is gone"):
        FsspecSource(Broken(), "x.shard")


@pytest.mark.parametrize(("start", "end"), [(None, None), (3, 9), (-6, None), (None, -4), (-6, -2), (8, 3), (0, 999)])
def test_ranges(files: Any, start: int | None, end: int | None) -> None:
    """`cat_file` and `cat_ranges` cut as slices do."""
    assert files.cat_file("tides.csv", start, end) == TABLE[start:end]
    paths = ["tides.csv", "a/second.txt", "tides.csv"]
    found = files.cat_ranges([*paths, "nope"], start, end)
    assert found[:3] == [TABLE[start:end], b"second"[start:end], TABLE[start:end]]
    assert isinstance(found[3], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        files.cat_ranges(["nope"], 0, 1, on_error="raise")
    with pytest.raises(ValueError, match="per path"):
        files.cat_ranges(paths, [0], [1])


def test_cat_of_several(files: Any) -> None:
    """Several contents come by their paths; a missing one is an error, an error among the results, or left out."""
    assert files.cat("a", recursive=True) == {"a/b/deep.txt": b"deep", "a/second.txt": b"second"}
    assert files.cat("a*b*") == files.cat(["a%2Ab%5B1].txt"]) == {"a%2Ab%5B1].txt": b"stars"}
    assert files.cat("empty") == b""
    missing = files.cat(["nope", "empty"], on_error="return")
    assert isinstance(missing.pop("nope"), FileNotFoundError)
    assert missing == {"empty": b""} == files.cat(["nope", "empty"], on_error="omit")
    with pytest.raises(FileNotFoundError):
        files.cat(["nope", "empty"])


def test_files_seek(files: Any) -> None:
    """A file reads what it is asked for, from where it is set; text mode and lines work."""
    with files.open("tides.csv") as file:
        assert (file.size, file.readline()) == (len(TABLE), b"day,height\n")
        assert (file.seek(-4, 2), file.read()) == (len(TABLE) - 4, b"5.0\n")
        assert file.seek(3) == 3
        assert file.read(4) == TABLE[3:7]
        assert file.tell() == 7
    with files.open("tides.csv", "r") as file:
        assert list(file) == TABLE.decode().splitlines(keepends=True)
    with files.open("empty") as file:
        assert file.read() == b""


def test_ranges_of_a_large_object(tmp_path: Path) -> None:
    """Of a content of many megabytes only the blocks around what is read are read, of a stored file no more."""
    import fsspec

    content = os.urandom(1 << 16) * 256
    with shardcore.create(tmp_path / "big.des", format="des") as writer:
        writer.add("big", content)
    files = fsspec.filesystem("shard", fo=str(tmp_path / "big.des"))
    with files.open("big", block_size=1 << 12) as file:
        reads: list[tuple[int, int]] = []
        read = file.source.read
        file.source.read = lambda start, stop: reads.append((start, stop)) or read(start, stop)
        file.seek(10_000_000)
        assert file.read(100) == content[10_000_000:10_000_100]
    assert 0 < sum(stop - start for start, stop in reads) < 10_000


def test_reading_lists_nothing(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening, `info` and `cat_file` of an object look it up, and list no objects."""
    from shardcore.fsspec import _OpenShard

    monkeypatch.setattr(_OpenShard, "listed", lambda self: pytest.fail("the objects were listed"))
    assert files.cat_file("a/b/deep.txt") == b"deep"
    assert files.info("tides.csv")["size"] == len(TABLE)
    assert files.exists("tides.csv")
    assert files.isfile("tides.csv")
    with files.open("tides.csv") as file:
        assert file.read(3) == b"day"


def test_chained_addresses(archive: Path) -> None:
    """`shard://KEY::ADDRESS` works with local files, other file systems of fsspec, and shards in shards."""
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe_file("/x.des", archive.read_bytes())
    with shardcore.create(archive.with_name("outer.des"), format="des") as writer:
        writer.add("x.des", archive.read_bytes())
    for where in (f"file://{archive}", f"local://{archive}", "memory://x.des"):
        with fsspec.open(f"shard://a/b/deep.txt::{where}") as file:
            assert file.read() == b"deep"
    with fsspec.open(f"shard://tides.csv::shard://x.des::file://{archive.with_name('outer.des')}", "rt") as file:
        assert file.readline() == "day,height\n"
    assert [file.path for file in fsspec.open_files(f"shard://a/*.txt::file://{archive}")] == ["a/second.txt"]
    memory.rm("/x.des")
    with pytest.raises(shardcore.SourceError, match=r"x\.des"):
        fsspec.filesystem("shard", fo="memory://x.des", skip_instance_cache=True).ls("")


def test_options(archive: Path) -> None:
    """Formats, options of formats and of connections are named in `storage_options`; wrong ones are refused."""
    import fsspec

    def opened(**options: Any) -> Any:
        return fsspec.filesystem("shard", fo=str(archive), **options)

    assert opened(format="des", jobs=2).exists("tides.csv")
    with pytest.raises(shardcore.UsageError, match="option 'colour'"):
        opened(colour="blue").ls("")
    with pytest.raises(shardcore.UsageError, match="unknown option 'endpoint' in remote_options"):
        opened(remote_options={"endpoint": "http://127.0.0.1"}).ls("")
    s3 = fsspec.filesystem(
        "shard",
        fo="bucket/x.des",
        target_protocol="s3",
        target_options={"anon": True, "client_kwargs": {"endpoint_url": "http://127.0.0.1:9", "region_name": "r"}},
        remote_options={"retries": 0},
    )
    assert s3._where() == "s3://bucket/x.des"
    assert s3._remote() == shardcore.RemoteOptions(
        anonymous=True, endpoint_url="http://127.0.0.1:9", region="r", retries=0
    )
    with pytest.raises(shardcore.UsageError, match="remote_options"):
        fsspec.filesystem("shard", fo="b/x", target_protocol="s3", target_options={"version_aware": True}).ls("")


def test_instances(files: Any, archive: Path) -> None:
    """Equal options are one file system; a pickled one is that again; it opens a file that was replaced again."""
    import fsspec

    assert fsspec.filesystem("shard", fo=str(archive)) is files is pickle.loads(pickle.dumps(files))
    with files.open("tides.csv") as file:
        file.read(3)
        again = pickle.loads(pickle.dumps(file))
        assert again.read(4) == TABLE[3:7]
        again.close()
    with shardcore.create(archive, format="des", force=True) as writer:
        writer.add("tides.csv", b"new")
    assert files.cat_file("tides.csv") == b"new"
    assert files.ls("", detail=False) == ["tides.csv"]


def test_relative_paths_travel(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is that of the process which names it: one in another folder reads the same shard."""
    import fsspec

    monkeypatch.chdir(archive.parent)
    named = fsspec.filesystem("shard", fo="x.des")
    positional = type(named)("x.des", target_protocol="file")
    packed = pickle.dumps((named, positional))
    type(named).clear_instance_cache()
    monkeypatch.chdir(SAMPLES)
    for again in pickle.loads(packed):
        assert again.cat_file("tides.csv") == TABLE


def test_few_shards_stay_open(archive: Path) -> None:
    """Of many file systems the shards that were used last stay open; an opened file keeps its own."""
    import fsspec

    from shardcore.fsspec import MOST_OPEN

    def count() -> int:
        return sum(os.path.realpath(one).endswith(".des") for one in Path("/proc/self/fd").iterdir())

    systems = []
    for number in range(MOST_OPEN + 4):
        copy = archive.with_name(f"{number}.des")
        copy.write_bytes(archive.read_bytes())
        systems.append(fsspec.filesystem("shard", fo=str(copy)))
    with systems[0].open("tides.csv", block_size=8) as file:
        assert all(one.exists("tides.csv") for one in systems[1:])
        assert count() == MOST_OPEN + 1
        assert file.read() == TABLE
        file.cache = None
    del file
    assert count() == MOST_OPEN
    systems[-1].invalidate_cache()
    assert count() == MOST_OPEN - 1
    assert systems[0].exists("tides.csv")


@pytest.mark.parametrize(
    "call",
    [
        lambda files: files.open("new", "wb"),
        lambda files: files.open("tides.csv", "ab"),
        lambda files: files.pipe_file("new", b""),
        lambda files: files.pipe("new", b""),
        lambda files: files.rm("tides.csv"),
        lambda files: files.mv("tides.csv", "b"),
        lambda files: files.copy("tides.csv", "b"),
        lambda files: files.mkdir("b"),
        lambda files: files.touch("b"),
    ],
)
def test_writing_is_refused(files: Any, call: Any) -> None:
    """Every way of writing says in one sentence that shards are read only here."""
    with pytest.raises(OSError, match=r"read only through fsspec; write them with shardcore\.create"):
        call(files)


@pytest.mark.interop("pandas")
def test_pandas(archive: Path) -> None:
    """Pandas reads a table in a shard by its address, or with the shard in `storage_options`."""
    import pandas

    for frame in (
        pandas.read_csv(f"shard://tides.csv::file://{archive}"),
        pandas.read_csv("shard://tides.csv", storage_options={"fo": str(archive), "format": "des"}),
    ):
        assert frame.height.tolist() == [4.5, 4.75, 5.0]


@pytest.mark.thorough
@pytest.mark.interop("pyarrow", "pandas")
def test_pyarrow(tmp_path: Path) -> None:
    """Pyarrow lists a shard and reads Parquet files in it, also all of a folder as one data set."""
    import fsspec
    import pyarrow
    import pyarrow.dataset
    import pyarrow.fs
    import pyarrow.parquet

    table = pyarrow.table({"n": list(range(1000)), "name": [f"row {n}" for n in range(1000)]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    with shardcore.create(tmp_path / "t.des", format="des") as writer:
        for name in ("tables/1.parquet", "tables/2.parquet"):
            writer.add(name, (tmp_path / "t.parquet").read_bytes())
    files = fsspec.filesystem("shard", fo=str(tmp_path / "t.des"))
    arrow = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(files))
    assert pyarrow.parquet.read_table("tables/1.parquet", filesystem=arrow).equals(table)
    assert pyarrow.dataset.dataset("tables", filesystem=arrow, format="parquet").count_rows() == 2000
    listed = arrow.get_file_info(pyarrow.fs.FileSelector("", recursive=True))
    assert sorted(one.path for one in listed if one.is_file) == ["tables/1.parquet", "tables/2.parquet"]


@pytest.mark.interop("dask.bytes", "pandas")
def test_dask(archive: Path) -> None:
    """Dask reads blocks and tables of objects, in tasks that carry the file system."""
    import dask
    import dask.bag
    from dask.bytes import read_bytes

    address = f"shard://tides.csv::file://{archive}"
    with dask.config.set(scheduler="synchronous"):
        _, (blocks,) = read_bytes(address, blocksize=12, delimiter=b"\n")
        assert len(blocks) > 1
        assert b"".join(dask.compute(*blocks)) == TABLE
        assert dask.bag.read_text(address).count().compute() == 4
        from dask.dataframe import read_csv

        assert read_csv(address).height.sum().compute() == 14.25
