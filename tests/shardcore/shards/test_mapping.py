"""A shard as Python programmers expect one: a mapping from keys to contents, an object as a file."""

from __future__ import annotations

import copy
import errno
import io
import os
import pickle
import shutil
import socket
import zipfile
from pathlib import Path

import pytest

import shardcore
from shardcore import SourceError, TimedOut, UsageError

SAMPLES = Path(__file__).parents[3] / "resources/samples"
FILES = (
    "swh/small.shard",
    "des/contents.des",
    "des/archive",
    "bloscpack/array.blp",
    "xorb/chunks.xorb",
    "mdb/cache",
)
SWH = SAMPLES / FILES[0]


@pytest.mark.parametrize("name", FILES)
def test_a_shard_is_a_mapping_from_keys_to_contents(name: str) -> None:
    with shardcore.open(SAMPLES / name) as shard:
        keys = list(shard)
        assert len(shard) == len(shard.keys()) == len(keys)
        assert [key for key, _ in shard.items()] == keys
        assert list(shard.values()) == [shard.read(ref) for ref in shard.objects[:] if ref.key in set(keys)]
        assert shard.keys() >= set(keys)
        assert shard.get(keys[-1]) == shard[keys[-1]]
        assert shard


def test_a_key_that_is_not_there_has_a_default() -> None:
    with shardcore.open(SWH) as shard:
        assert shard.get("00" * 32) is None
        assert shard.get("00" * 32, b"none") == b"none"
        for read in (shard.__getitem__, shard.open_object):
            with pytest.raises(KeyError):
                read("00" * 32)


def test_an_empty_shard_is_true(tmp_path: Path) -> None:
    with shardcore.create(tmp_path / "empty.shard", format="swh"):
        pass
    with shardcore.open(tmp_path / "empty.shard") as shard:
        assert len(shard) == 0
        assert shard


@pytest.mark.parametrize("name", FILES)
def test_contents_are_read_by_key(name: str) -> None:
    with shardcore.open(SAMPLES / name) as shard:
        key = max(shard, key=lambda key: len(shard[key]))
        data = shard[key]
        assert b"".join(shard.stream(key)) == data
        assert shard.read_range(key, 1, 5) == data[1:5]


@pytest.mark.parametrize("name", FILES)
def test_an_object_is_a_seekable_file(name: str) -> None:
    with shardcore.open(SAMPLES / name) as shard:
        key = max(shard, key=lambda key: len(shard[key]))
        data = shard[key]
        with shard.open_object(key) as file:
            assert file.read(3) == data[:3]
            assert file.seek(-2, os.SEEK_END) == len(data) - 2
            assert file.read() == data[-2:]
            assert file.read(10) == b""
            file.seek(0)
            assert file.readlines() == data.splitlines(keepends=True) or b"\r" in data
        assert file.closed
        with shard.open_object(shard.find(key)) as same:
            assert same.read() == data


def test_a_zip_file_is_opened_in_place(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "hello")
    with shardcore.create(tmp_path / "a.des", format="des") as writer:
        writer.add("a.zip", packed.getvalue())
    with shardcore.open(tmp_path / "a.des") as shard, zipfile.ZipFile(shard.open_object("a.zip")) as archive:
        assert archive.read("a.txt") == b"hello"


def test_programs_that_try_the_end_of_a_short_object_go_on() -> None:
    with shardcore.open(SWH) as shard:
        assert not zipfile.is_zipfile(shard.open_object(min(shard, key=lambda key: len(shard[key]))))


def test_an_error_of_an_object_that_is_packed_is_its_own(tmp_path: Path) -> None:
    class Lost(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise TimedOut("the server does not answer")

    with pytest.raises(TimedOut), shardcore.create(tmp_path / "new.shard", format="swh") as writer:
        writer.add(None, Lost())


def test_objects_are_hashable() -> None:
    with shardcore.open(SWH) as shard:
        refs = shard.objects[:]
        assert len({*refs, *shard.objects[:]}) == len(shard.objects)


def test_a_shard_shows_its_path_format_and_state() -> None:
    with shardcore.open(SWH) as shard:
        assert repr(shard) == f"<SwhShard {str(SWH)!r} format='swh' open>"
    assert repr(shard).endswith("closed>")
    with shardcore.open(SWH.read_bytes()[:600], partial=True) as shard:
        assert repr(shard).endswith("damaged>")


def test_a_pickled_shard_names_tickets() -> None:
    with shardcore.open(SWH) as shard:
        for make in (pickle.dumps, copy.copy):
            with pytest.raises(UsageError, match=r"tickets\(\)"):
                make(shard)


# --- what can be opened, and where a shard can be written ---


class Pathlike:
    def __fspath__(self) -> str:
        return str(SWH)


def test_anything_that_names_or_holds_bytes_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copy(SWH, tmp_path / "a.shard")
    with SWH.open("rb") as file:
        for where in (Pathlike(), "~/a.shard", Path("~/a.shard"), SWH.read_bytes(), file, io.BytesIO(SWH.read_bytes())):
            with shardcore.open(where) as shard:
                assert len(shard) == 12
        assert not file.closed
        with os.scandir(os.fsencode(tmp_path)) as entries, shardcore.open(next(entries)) as shard:  # type: ignore[arg-type]
            assert len(shard) == 12
        with (
            shardcore.create("~/new.shard", format="swh"),
            shardcore.create("~/set/", format="des", date="2026-01-05", n_bits=8) as writer,
        ):
            writer.add("a", b"hello")
        assert (tmp_path / "new.shard").is_file()
        assert (tmp_path / "set").is_dir()
        assert shardcore.detect(file).format == "swh"


def test_a_file_named_by_a_tilde_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(SWH, tmp_path / "~a")
    with shardcore.open("~a") as shard:
        assert len(shard) == 12


def test_other_things_are_refused() -> None:
    with SWH.open("rb") as file, pytest.raises(UsageError, match="binary mode"):
        shardcore.open(io.TextIOWrapper(io.BytesIO(file.read()), encoding="latin-1"))  # type: ignore[arg-type]
    here, there = socket.socketpair()
    with here, there, here.makefile("rb") as stream, pytest.raises(UsageError, match="not seekable"):
        shardcore.open(stream)
    with pytest.raises(UsageError, match="int cannot be opened"):
        shardcore.open(3)  # type: ignore[arg-type]
    closed = io.BytesIO(b"")
    closed.close()
    for call in (shardcore.open, shardcore.detect):
        with pytest.raises(SourceError, match="closed"):
            call(closed)


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as caught:
        shardcore.open(tmp_path / "nothing")
    assert isinstance(caught.value, SourceError)
    assert caught.value.errno == errno.ENOENT


def test_a_shard_is_written_into_a_file_object(tmp_path: Path) -> None:
    target = io.BytesIO()
    target.write(b"before")
    with shardcore.create(target, format="swh") as writer:
        writer.add(None, b"hello")
    assert target.getvalue().startswith(b"before")
    with shardcore.open(target.getvalue()[6:]) as shard:
        assert list(shard.values()) == [b"hello"]


def test_a_file_object_must_be_seekable_and_one_file_enough() -> None:
    here, there = socket.socketpair()
    with here, there, here.makefile("wb") as stream, pytest.raises(UsageError, match="not a seekable file object"):
        shardcore.create(stream, format="swh")
    closed = io.BytesIO()
    closed.close()
    with SWH.open("rb") as reading:
        for stream in (io.StringIO(), closed, reading, object()):
            with pytest.raises(UsageError, match="file object"):
                shardcore.create(stream, format="swh")  # type: ignore[arg-type]
    writer = shardcore.create(target := io.BytesIO(), format="mdb")
    writer.add(None, b"a file and its xorb")
    with pytest.raises(UsageError, match="several files"):
        writer.finish()
    assert not target.getvalue()
