"""Files, bytes and folders as sources."""

from __future__ import annotations

import errno
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.errors import OutOfResources, ShardError, SourceChanged, SourceError
from shardcore.model.objects import State
from shardcore.shards import opening
from shardcore.sources import local
from shardcore.sources.base import Entry, Source, check_name
from shardcore.sources.local import FileSource, LocalFolder, OnDemandSource, open_side_file, read_side_file
from shardcore.sources.memory import BytesFolder, BytesSource
from shardcore.testing import SourceContract

DATA = Path(__file__).parents[2] / "data"
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


class TestFileSource(SourceContract):
    def opened(self, tmp_path: Path) -> Source:
        (tmp_path / "file").write_bytes(self.data)
        return FileSource(tmp_path / "file")

    def test_a_closed_file_says_so(self, tmp_path: Path) -> None:
        source = self.opened(tmp_path)
        source.close()
        source.close()
        with pytest.raises(SourceError, match="closed"):
            source.read(0, 1)

    def test_a_shorter_file_is_an_error(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            os.truncate(tmp_path / "file", 100)
            assert source.read(0, 100) == self.data[:100]
            with pytest.raises(SourceChanged, match="shrank") as caught:
                source.read(50, 200)
            assert caught.value.span is not None
            with pytest.raises(SourceChanged):
                source.check_unchanged()

    def test_a_replaced_file_is_noticed(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            (tmp_path / "new").write_bytes(self.data)
            (tmp_path / "new").replace(tmp_path / "file")
            assert source.read(0, 10) == self.data[:10]
            with pytest.raises(SourceChanged):
                source.check_unchanged()
            with FileSource(tmp_path / "file") as other:
                assert other.identity != source.identity

    def test_a_vanished_file_is_noticed(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            (tmp_path / "file").unlink()
            with pytest.raises(SourceError, match="deleted"):
                source.check_unchanged()

    def test_a_relative_path_holds_after_a_change_of_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The file is compared with the one at the path where it was opened."""
        monkeypatch.chdir(tmp_path)
        Path("file").write_bytes(self.data)
        with FileSource("file") as source:
            monkeypatch.chdir("/")
            source.check_unchanged()

    def test_closing_does_not_hurt_readers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The last reader releases the descriptor, so that its number is not used again meanwhile."""
        source = self.opened(tmp_path)
        inside, closed = threading.Event(), threading.Event()
        pread, descriptors = os.pread, []

        def slow(descriptor: int, count: int, at: int) -> bytes:
            descriptors.append(descriptor)
            inside.set()
            assert closed.wait(10)
            return pread(descriptor, count, at)

        monkeypatch.setattr(os, "pread", slow)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(source.read, 0, 10)
            assert inside.wait(10)
            source.close()
            closed.set()
            assert answer.result() == self.data[:10]
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(descriptors[0])


class TestBytesSource(SourceContract):
    def opened(self, tmp_path: Path) -> Source:
        return BytesSource(self.data)

    def test_other_bytes_are_something_else(self) -> None:
        """Caches are keyed by the identity."""
        assert BytesSource(b"abc").identity != BytesSource(b"abd").identity
        assert BytesSource(b"abc").identity == BytesSource(b"abc").identity


@pytest.mark.parametrize("path", ["", "no such file", "x" * 5000, "a\0b", "\ud800", "/dev/null"])
def test_odd_paths_are_our_errors(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ShardError):
        opening.open(path)
    with pytest.raises(ShardError):
        FileSource(path)


def test_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(SourceError, match=r"regular file|directory"):
            FileSource(path)


@pytest.mark.parametrize("writable", [False, True])
def test_side_files_are_opened_without_links_and_without_waiting(tmp_path: Path, writable: bool) -> None:
    (tmp_path / "real").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "link", tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(SourceError, match=re.escape(str(path))):
            open_side_file(path, writable=writable)
    with open_side_file(tmp_path / "real", writable=writable) as file:
        assert file.read() == b"abc"
    with pytest.raises(SourceError, match="No such file") as raised:
        open_side_file(tmp_path / "nothing", writable=writable)
    assert isinstance(raised.value.__cause__, FileNotFoundError)


def test_your_own_descriptors_may_be_pipes() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"abc")
    os.close(writer)
    try:
        assert read_side_file(f"/dev/fd/{reader}", named=True) == b"abc"
        with pytest.raises(SourceError):
            read_side_file(f"/dev/fd/{reader}")
    finally:
        os.close(reader)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc here")
def test_files_without_a_size_are_refused() -> None:
    with pytest.raises(SourceError):
        FileSource("/proc/self/maps")


@pytest.mark.skipif(ROOT, reason="the superuser may read everything")
def test_files_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "f").touch(mode=0)
    (tmp_path / "d").mkdir()
    (tmp_path / "d/f").touch()
    (tmp_path / "d").chmod(0)
    for path in ("f", "d/f"):
        with pytest.raises(SourceError, match="denied"):
            opening.open(tmp_path / path)
    (tmp_path / "d").chmod(0o700)


def test_file_addresses_are_decoded(tmp_path: Path) -> None:
    (tmp_path / "a b").write_bytes(b"x")
    source = opening.source_of((tmp_path / "a b").as_uri())
    with source:
        assert source.read(0, 1) == b"x"


@pytest.mark.parametrize("name", ["", "/etc/passwd", "..", "a/../b", "./a", "a//b", "a/", "a\0", "a\\b", "../a"])
def test_names_that_leave_the_folder_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="refused"):
        check_name(name)
    folder = LocalFolder(tmp_path)
    assert not folder.has(name)
    with pytest.raises(SourceError):
        folder.open(name)


def test_links_below_a_folder_are_not_followed(tmp_path: Path) -> None:
    """Neither links nor linked folders."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/file").write_bytes(b"x")
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards/link").symlink_to(tmp_path / "secret/file")
    (tmp_path / "shards/sub").symlink_to(tmp_path / "secret")
    folder = LocalFolder(tmp_path / "shards")
    assert folder.list() == []
    for name in ("link", "sub/file"):
        with pytest.raises(SourceError, match="link"):
            folder.open(name)


def test_listing_is_sorted_and_says_sizes(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"12345")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x").write_bytes(b"1")
    folder = LocalFolder(tmp_path)
    assert folder.list() == [Entry("a", -1, True), Entry("b", 5, False)]
    assert folder.list("a") == [Entry("a/x", 1, False)]
    with folder.open("a/x") as source:
        assert (source.name, source.read(0, 1)) == ("x", b"1")
        assert source.folder.has("x")
    parent = folder.parent()
    assert parent.folder(tmp_path.name).has("b")
    assert LocalFolder("/").parent() is None


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOMEM])
@pytest.mark.parametrize(
    ("where", "part"),
    [
        ("des/sidecar/20261103_51_0000.des", ".meta"),
        ("des/sidecar", ".meta"),
        ("des/big/20261103_0A_0000.des", "_bigFiles"),
        ("des/big", ".des"),
        ("swh", ".shard"),
        ("mdb/cas/shard-cache", ".mdb"),
        ("mdb/cas/shard-cache", "xorbs/"),
        ("bloscpack/files", ".blp"),
        ("bloscpack/bcolz/prices", "storage"),
        ("bloscpack/bcolz/prices", ".blp"),
        ("neuroglancer/volume/4_4_40", ".shard"),
        ("neuroglancer/mesh", ".shard"),
    ],
)
def test_a_system_that_refuses_is_no_damage(
    where: str, part: str, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Too many open files, or no memory: the next attempt reads the file."""
    path = DATA / where
    with shardcore.open(path) as shard:
        shard.load_index()
        key = next(ref.key for ref in shard.objects[:] if ref.state in (State.LIVE, State.EXTERNAL) and ref.key)
    refused = False

    def open_file(name: str | Path, *args: Any, **named: Any) -> int:
        if refused and part in str(name):
            raise OSError(code, os.strerror(code))
        return real(name, *args, **named)

    real = local.open_file
    monkeypatch.setattr(local, "open_file", open_file)
    for act in (lambda shard: shard.verify(), lambda shard: shard.read(shard.find(key))):
        refused = True
        with ExitStack() as stack:
            opened = []
            with pytest.raises(OutOfResources) as caught:
                opened.append(stack.enter_context(shardcore.open(path)))
                act(opened[0])
            assert caught.value.remedy is None
            refused = False
            act(opened[0] if opened else stack.enter_context(shardcore.open(path)))


def test_files_in_memory() -> None:
    root = BytesFolder({"d/b": b"22", "a": b"1", "d/e/c": b"333"})
    assert [(one.name, one.size, one.is_folder) for one in root.list()] == [("a", 1, False), ("d", -1, True)]
    assert [(one.name, one.size) for one in root.list("d")] == [("d/b", 2), ("d/e", -1)]
    inner = root.folder("d").folder("e")
    assert (inner.name, [one.name for one in inner.list()]) == ("e", ["c"])
    assert inner.open("c").read(1, 3) == b"33"
    assert root.open("d/b").uri == "memory/d/b"
    assert not root.has("x")
    for name in ("../a", "d", "/a"):
        with pytest.raises(SourceError):
            root.open(name)
    assert root.parent() is None


class TestOnDemandSource(SourceContract):
    def opened(self, tmp_path: Path) -> Source:
        (tmp_path / "file").write_bytes(self.data)
        return OnDemandSource(LocalFolder(tmp_path), "file")

    def test_a_replaced_file_is_noticed(self, tmp_path: Path) -> None:
        source = self.opened(tmp_path)
        assert source.read(0, 2) == b"\0\1"
        other = tmp_path / "other"
        other.write_bytes(bytes(len(self.data)))
        other.replace(tmp_path / "file")
        for use in (lambda: source.read(0, 2), source.check_unchanged, lambda: source.read_many([(0, 1)])):
            with pytest.raises(SourceChanged):
                use()
        (tmp_path / "file").unlink()
        with pytest.raises(SourceError):
            source.read(0, 2)

    def test_closed_is_closed(self, tmp_path: Path) -> None:
        source = self.opened(tmp_path)
        source.close()
        with pytest.raises(SourceError, match="closed"):
            source.read(0, 1)

    def test_many_sources_hold_no_files(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(self.data)
        import resource

        allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(allowed, 256), most))
        try:
            sources = [OnDemandSource(LocalFolder(tmp_path), "file") for _ in range(300)]
            assert {source.read(5, 6) for source in sources} == {b"\5"}
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
