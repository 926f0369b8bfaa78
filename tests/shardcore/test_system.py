"""The same reads, files, edits and names on every operating system; see `fake_systems`."""

from __future__ import annotations

import os
import signal
import stat
import unicodedata
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path, PureWindowsPath
from shutil import copy
from types import SimpleNamespace
from typing import Any

import pytest

import shardcore
from shardcore import Remedy, SourceError, system
from shardcore.operations.extraction import Conflict, ExtractOptions, extract_objects
from shardcore.operations.notes import user_data_folder
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.sources.location import local_path
from shardcore.sources.remote.address import is_address
from shardcore.sources.remote.http import headers_for
from shardcore.testing import SourceContract
from shardcore.testing.kill_runs import bytes_of
from shardcore.writing import temporary_names
from shardcore.writing.output import LIST
from shardcore.writing.temporary import write_whole
from shardcore.writing.temporary_names import REPLACING
from tests.shardcore.fake_systems import SYSTEMS, windows

SAMPLES = Path(__file__).parent.parent.parent / "resources" / "samples"
KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
WRITERS = dict.fromkeys(("neuroglancer", "des"), "TestFolder") | {"swh": "TestSwhWriterContract"}
WRITERS |= {"bloscpack": "TestFolderContract", "mdb": "TestMdbStoreContract"}
PROMISES = (
    "test_what_was_written_is_read_back",
    "test_nothing_appears_before_the_end",
    "test_existing_files_are_not_replaced",
    "test_an_input_that_fails",
    "test_extracted_and_packed_again",
)

pytestmark = pytest.mark.skipif(not system.LINUX, reason="other systems are faked on Linux")
each_system = pytest.mark.parametrize("name", SYSTEMS)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208


class TestFileSource(SourceContract):
    @pytest.fixture(autouse=True, params=SYSTEMS)
    def _system(self, request: pytest.FixtureRequest) -> Iterator[None]:
        with SYSTEMS[request.param]():
            yield

    def opened(self, tmp_path: Path) -> FileSource:
        (tmp_path / "file").write_bytes(self.data)
        return FileSource(tmp_path / "file")

    def test_it_is_replaced_while_it_is_open(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            write_whole(tmp_path / "file", [b"new"], force=True)
            assert source.read(0, 10) == self.data[:10]
            with pytest.raises(SourceError):
                source.check_unchanged()
        assert (tmp_path / "file").read_bytes() == b"new"
        assert names(tmp_path) == ["file"]


@each_system
@pytest.mark.parametrize("format", WRITERS)
def test_every_writer_keeps_its_contract(name: str, format: str, tmp_path: Path) -> None:
    contract = getattr(import_module(f"tests.shardcore.formats.{format}.test_writer"), WRITERS[format])()
    target = contract.target(tmp_path)
    contract.written(target)
    here = bytes_of(target)
    with SYSTEMS[name]():
        for promise in PROMISES:
            (folder := tmp_path / promise).mkdir()
            getattr(contract, promise)(folder)
            assert not [one for one in folder.rglob("*") if one.name.endswith((".part", ".old"))]
        contract.written(contract.target(tmp_path, "there"))
    assert bytes_of(contract.target(tmp_path, "there")) == here


@each_system
def test_a_data_set_is_replaced(name: str, tmp_path: Path) -> None:
    def write(contents: list[bytes]) -> None:
        with shardcore.create(tmp_path / "set", format="bloscpack", folder=True, force=True) as writer:
            for number, data in enumerate(contents):
                writer.add(None, data, name=f"{number % 2}/{number}")

    with SYSTEMS[name]():
        write([b"old %d" % number for number in range(6)])
        (tmp_path / "set/notes.txt").write_text("ours", encoding="utf-8")
        temporary = next(path for path in (tmp_path / "set").rglob("*") if path.is_file() and path.suffix != ".txt")
        with FileSource(temporary) as reader:
            write([b"new %d" % number for number in range(4)])
            reader.read(0, reader.size)
        with shardcore.open(tmp_path / "set", format="bloscpack") as shard:
            refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
            found = sorted(shard.read(ref) for ref in refs if ref.kind not in shard.objects.inner_kinds)
    assert found == [b"new %d" % number for number in range(4)]
    assert (tmp_path / "set/notes.txt").read_text("utf-8") == "ours"
    assert names(tmp_path) == ["set"]
    assert not [path for path in (tmp_path / "set").rglob("*") if REPLACING in path.name or ".part" in path.name]


@each_system
def test_an_interrupted_replacement_is_finished(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where folders cannot be locked."""
    monkeypatch.setattr(temporary_names, "WAITED", 0.05)
    target = tmp_path / "set"
    with SYSTEMS[name]():
        with shardcore.create(target, format="bloscpack", folder=True) as writer:
            writer.add(None, b"old", name="a")
        (place := target / REPLACING / "files").mkdir(parents=True)
        (target / "a.blp").replace(place / "a.blp")
        (place.parent / LIST).write_text('{"files": ["a.blp"], "remove": []}', encoding="ascii")
        with pytest.raises(SourceError, match="interrupted") as caught:
            shardcore.open(target, format="bloscpack")
        assert caught.value.remedy is Remedy.FINISH
        with shardcore.create(target, format="bloscpack", folder=True, force=True) as writer:
            writer.add(None, b"new", name="a")
    assert names(target) == ["a.blp"]


@each_system
def test_edits_are_made_and_undone(name: str, tmp_path: Path) -> None:
    file = Path(copy(SAMPLES / "swh" / "small.shard", tmp_path))
    before = file.read_bytes()
    with SYSTEMS[name](), FileSource(file) as reader:
        assert shardcore.delete(file, [KEY], reason="request 7", audit=True).changed
        with shardcore.open(file) as shard:
            assert KEY not in shard
        with pytest.raises(SourceError):
            reader.check_unchanged()
        assert file.read_bytes() != before
        assert shardcore.undo(file).changed
    assert file.read_bytes() == before
    assert b'"delete"' in file.with_name("small.shard.audit.jsonl").read_bytes()
    assert names(tmp_path) == ["small.shard", "small.shard.audit.jsonl"]


@each_system
def test_links_are_not_followed(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"secret")
    (tmp_path / "link").symlink_to("file")
    with SYSTEMS[name]():
        with pytest.raises(SourceError, match="link"):
            FileSource(tmp_path / "link", follow_links=False)
        with pytest.raises(OSError, match="symbolic"):
            system.open_file(tmp_path / "link", os.O_RDONLY)
        with FileSource(tmp_path / "link") as source:
            assert source.read(0, 6) == b"secret"


def test_junctions_are_links(tmp_path: Path) -> None:
    """A junction of Windows has the status of a folder."""
    for tag, expected in ((0xA0000003, True), (0, False), (0x9000001A, False)):
        status: Any = SimpleNamespace(st_mode=stat.S_IFDIR, st_reparse_tag=tag)
        assert system.is_link_status(status) is expected
    entry: Any = SimpleNamespace(is_symlink=lambda: False, stat=lambda follow_symlinks: status)
    status = SimpleNamespace(st_mode=stat.S_IFDIR, st_reparse_tag=0xA0000003)
    with windows():
        assert system.is_link_entry(entry)


# --- names ---


def keys_in_pairs() -> dict[str, bytes]:
    """Keys that some file system takes for the same, or for something else than a file."""
    keys = ["a/X.txt", "A/x.TXT", "zażółć", unicodedata.normalize("NFD", "ZAŻÓŁĆ"), "straße", "STRASSE"]
    keys += ["manifest.JSON", "con", "NUL.txt", "COM1", "a:b", "dot.", "space "]
    keys += ["back\\slash", "C:\\x", "*?", "a/aux/b", "x" * 300]
    return {key: key.encode() * 3 for key in keys}


@each_system
@pytest.mark.parametrize("folders", [False, True])
def test_keys_become_files_of_their_own(name: str, folders: bool, tmp_path: Path) -> None:
    objects = keys_in_pairs()
    with shardcore.create(tmp_path / "keys.des", format="des") as writer:
        for key, data in objects.items():
            writer.add(key, data)
    with SYSTEMS[name](), shardcore.open(tmp_path / "keys.des") as shard:
        refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
        for conflict in (Conflict.ERROR, Conflict.SKIP, Conflict.REPLACE, Conflict.RENAME):
            options = ExtractOptions(folders=folders, conflict=conflict)
            done = list(extract_objects(shard, refs, tmp_path / "out", options))
            assert [one.error for one in done if one.error] == []
            for one in done:
                assert one.key is not None
                assert Path(one.path or one.skipped).read_bytes() == objects[one.key]
        paths = [Path(one.path) for one in done]
    assert len({unicodedata.normalize("NFD", str(path).casefold()) for path in paths}) == len(objects)


def test_names_from_files_are_files_on_windows(tmp_path: Path) -> None:
    """No device, drive or stream; elsewhere these are plain names."""
    odd = ("con", "a/NUL.shard", "c:", "info:stream", "dots..", "b /c")
    for name in odd:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    folder = LocalFolder(tmp_path)
    for name in odd:
        assert folder.has(name)
        with windows(), pytest.raises(SourceError, match="not a valid file name"):
            folder.open(name)
    with windows():
        (tmp_path / "plain.shard").write_bytes(b"x")
        assert folder.has("plain.shard")


def test_drives_are_paths_and_urls_have_them() -> None:
    for path in ("C:\\x\\a.shard", "c:/x", "C://x", "c:"):
        assert not is_address(path)
    assert is_address("s3://b/k")
    with windows():
        for url, path in (
            ("file:///C:/x%20y/a.shard", "C:\\x y\\a.shard"),
            ("file:///c|/x", "c:\\x"),
            ("file://localhost/C:/x", "C:\\x"),
            ("file://server/share/x", "\\\\server\\share\\x"),
        ):
            assert PureWindowsPath(str(local_path(url))) == PureWindowsPath(path)
    assert local_path("file:///C:/x%20y") == Path("/C:/x y")


def test_long_paths_have_a_prefix_on_windows() -> None:
    long = "/".join(["x" * 60] * 5)
    assert system.extended(long) == long
    with windows():
        assert system.extended("C:/short") == "C:/short"
        assert system.extended(f"C:/a/../{long}") == "\\\\?\\C:\\" + long.replace("/", "\\")
        assert system.extended(f"//server/share/{long}") == "\\\\?\\UNC\\server\\share\\" + long.replace("/", "\\")
        assert system.extended(found := str(system.extended(f"C:/{long}"))) == found


# --- the user, processes, the console ---


def test_folders_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/people/me")
    kinds: tuple[Any, ...] = ("data", "config", "state")
    usual = [f"/people/me/{folder}/shardscope" for folder in (".local/share", ".config", ".local/state")]
    assert [str(system.user_folder(kind)) for kind in kinds] == usual
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert str(user_data_folder()) == "/people/me/.local/share/shardscope/notes"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert user_data_folder() == tmp_path / "shardscope" / "notes"


def test_a_user_without_home_has_no_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert headers_for(("https", "example.org")) == {}
    with pytest.raises(OSError, match="Not a directory"):
        system.user_folder("state").mkdir(parents=True)


def test_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system.process_exists(os.getpid())
    assert not system.process_exists(2**22 + 1)
    assert system.process_exists(2**80)
    assert system.user_mark() == str(os.getuid())
    assert system.ending_signals() == (signal.SIGTERM,)
    with windows():
        monkeypatch.setattr(os, "kill", None)
        monkeypatch.setattr(signal, "SIGBREAK", 21, raising=False)
        monkeypatch.setenv("LOGNAME", "DOMAIN\\some one")
        assert system.process_exists(1)
        assert system.user_mark() == "DOMAIN_some_one"
        assert system.ending_signals() == (signal.SIGTERM, 21)
        system.allow_many_files(1 << 16)
        system.limit_memory(1)


def test_macos_allows_fewer_files_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    infinite, taken = resource.RLIM_INFINITY, list[int]()

    def limit(which: int, values: tuple[int, int]) -> None:
        if values[0] > 10240:
            raise ValueError("current limit exceeds maximum limit")
        taken.append(values[0])

    for soft, expected in ((256, [10240]), (20000, [])):
        monkeypatch.setattr(resource, "getrlimit", lambda which, soft=soft: (soft, infinite))
        monkeypatch.setattr(resource, "setrlimit", limit)
        taken.clear()
        system.allow_many_files(1 << 16)
        assert taken == expected


# --- the fakes themselves ---
