"""Objects of shards as files of fsspec: paths, listing, reading, chained addresses, lifetime, refusals."""

from __future__ import annotations

import contextlib
import os
import pickle
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shardcore

with contextlib.suppress(ImportError):
    import fsspec

    from shardcore.fsspec import MOST_OPEN, ShardFileSystem, _OpenShard, key_of, path_of

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
    fsspec.register_implementation("shard", ShardFileSystem, clobber=True)
    yield
    ShardFileSystem.clear_instance_cache()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with shardcore.create(tmp_path / "x.des", format="des") as writer:
        for key, content in KEYS.items():
            writer.add(key, content)
    return tmp_path / "x.des"


@pytest.fixture
def files(archive: Path) -> Any:
    return fsspec.filesystem("shard", fo=str(archive))


def test_the_entry_point_names_it() -> None:
    from importlib import import_module

    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    value = tomllib.loads(text)["project"]["entry-points"]["fsspec.specs"]["shard"]
    module, name = value.split(":")
    assert getattr(import_module(module), name).protocol == "shard"


def test_paths_are_keys(files: Any) -> None:
    assert path_of("a/b/deep.txt") == "a/b/deep.txt"
    assert path_of("100%?.txt") == "100%25%3F.txt"
    assert path_of("/absolute") == "%2Fabsolute"
    assert files.find("") == sorted(map(path_of, KEYS))
    for key, content in KEYS.items():
        assert key_of(path_of(key)) == key
        assert files.cat_file(path_of(key)) == content
        assert files.info(path_of(key))["key"] == key


def test_folders(files: Any) -> None:
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
    """A missing object raises FileNotFoundError, also where the key has not the form of the format."""
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
    with pytest.raises(shardcore.SourceError):
        fsspec.filesystem("shard", fo=str(tmp_path / "gone")).exists("a")
    (tmp_path / "text").write_bytes(b"just a text")
    with pytest.raises(shardcore.NotAShard):
        fsspec.filesystem("shard", fo=str(tmp_path / "text")).exists("a")
    with pytest.raises(shardcore.UsageError, match="no shard given"):
        fsspec.filesystem("shard").ls("")


@pytest.mark.parametrize(("start", "end"), [(None, None), (3, 9), (-6, None), (None, -4), (-6, -2), (8, 3), (0, 999)])
def test_ranges(files: Any, start: int | None, end: int | None) -> None:
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
    assert files.cat("a", recursive=True) == {"a/b/deep.txt": b"deep", "a/second.txt": b"second"}
    assert files.cat("a*b*") == files.cat(["a%2Ab%5B1].txt"]) == {"a%2Ab%5B1].txt": b"stars"}
    assert files.cat("empty") == b""
    missing = files.cat(["nope", "empty"], on_error="return")
    assert isinstance(missing.pop("nope"), FileNotFoundError)
    assert missing == {"empty": b""} == files.cat(["nope", "empty"], on_error="omit")
    with pytest.raises(FileNotFoundError):
        files.cat(["nope", "empty"])


def test_files_seek(files: Any) -> None:
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
    monkeypatch.setattr(_OpenShard, "listed", lambda self: pytest.fail("the objects were listed"))
    assert files.cat_file("a/b/deep.txt") == b"deep"
    assert files.info("tides.csv")["size"] == len(TABLE)
    assert files.exists("tides.csv")
    assert files.isfile("tides.csv")
    with files.open("tides.csv") as file:
        assert file.read(3) == b"day"


def test_chained_addresses(archive: Path) -> None:
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
    def opened(**options: Any) -> Any:
        return fsspec.filesystem("shard", fo=str(archive), **options)

    assert opened(format="des", jobs=2).exists("tides.csv")
    with pytest.raises(shardcore.UsageError, match="option 'colour'"):
        opened(colour="blue").ls("")
    with pytest.raises(shardcore.UsageError, match="unknown option 'endpoint' in remote_options"):
        opened(remote_options={"endpoint": "http://127.0.0.1"}).ls("")
    url = "http://127.0.0.1:9"
    chosen = {"anon": True, "client_kwargs": {"endpoint_url": url, "region_name": "r"}}
    way = {"target_protocol": "s3", "target_options": chosen, "remote_options": {"retries": 0}}
    s3 = fsspec.filesystem("shard", fo="bucket/x.des", **way)
    assert s3._where() == "s3://bucket/x.des"
    assert s3._remote() == shardcore.RemoteOptions(anonymous=True, endpoint_url=url, region="r", retries=0)
    with pytest.raises(shardcore.UsageError, match="remote_options"):
        fsspec.filesystem("shard", fo="b/x", target_protocol="s3", target_options={"version_aware": True}).ls("")


def test_instances(files: Any, archive: Path) -> None:
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


def test_few_shards_stay_open(archive: Path) -> None:
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
    with pytest.raises(OSError, match=r"read only through fsspec; write them with shardcore\.create"):
        call(files)


@pytest.mark.interop("pandas")
def test_pandas(archive: Path) -> None:
    import pandas

    for frame in (
        pandas.read_csv(f"shard://tides.csv::file://{archive}"),
        pandas.read_csv("shard://tides.csv", storage_options={"fo": str(archive), "format": "des"}),
    ):
        assert frame.height.tolist() == [4.5, 4.75, 5.0]
