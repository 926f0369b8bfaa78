"""Files appear when they are complete, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import shardcore
from shardcore import system
from shardcore.errors import ShardError, SourceError, UsageError
from shardcore.writing import temporary
from shardcore.writing.output import Output
from shardcore.writing.temporary import TemporaryFile
from shardcore.writing.writer import pieces_of


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_with_its_digest(tmp_path: Path) -> None:
    output = Output(tmp_path / "out")
    file = output.open()
    file.write(b"....world")
    file.write_at(0, b"hey ")
    file.write(memoryview(b"!"))
    assert file.at == 10
    assert names(tmp_path) != ["out"]
    file.complete(3)
    (written,) = output.commit()
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_bytes() == b"hey world!"
    assert (written.path, written.objects, written.size) == (tmp_path / "out", 3, 10)
    assert written.sha256 == hashlib.sha256(b"hey world!").hexdigest()


@pytest.mark.parametrize("kind", ["file", "folder", "link", "broken link"])
def test_what_exists_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    """A link without target exists, too."""
    target = tmp_path / "out"
    if kind == "file":
        target.write_bytes(b"precious")
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to(tmp_path if kind == "link" else tmp_path / "nowhere")
    with pytest.raises(UsageError, match="exists"):
        Output(target)
    assert names(tmp_path) == ["out"]


def test_force_replaces_files_and_links_but_no_folders(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    for name in ("link", "file"):
        output = Output(tmp_path / name, force=True)
        output.open().write(b"new")
        output.commit()
        assert (tmp_path / name).read_bytes() == b"new"
    assert (tmp_path / "precious").read_bytes() == b"precious"
    with pytest.raises(UsageError):
        Output(tmp_path / "folder", force=True)


def no_links(*names: object, **options: object) -> None:
    raise PermissionError(1, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_came_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """With and without hard links."""
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    output = Output(tmp_path / "out")
    output.open().write(b"ours")
    (tmp_path / "out").write_bytes(b"theirs")
    with pytest.raises(UsageError, match="exists"):
        output.commit()
    output.discard()
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_bytes() == b"theirs"


def test_a_new_folder_appears_with_all_its_files(tmp_path: Path) -> None:
    output = Output(tmp_path / "set", folder=True)
    for name, count in (("_bigFiles/9f", 0), ("a/b/0.shard", 3), ("info", 0)):
        file = output.open(name)
        file.write(name.encode())
        file.complete(count)
        file.complete(9)
        assert not (tmp_path / "set").exists()
    written = output.commit()
    assert names(tmp_path) == ["set"]
    found = [(w.path.relative_to(tmp_path / "set").as_posix(), w.objects, w.path.read_bytes()) for w in written]
    assert found == [("_bigFiles/9f", 0, b"_bigFiles/9f"), ("a/b/0.shard", 3, b"a/b/0.shard"), ("info", 0, b"info")]


def test_files_join_a_folder_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set/info").write_bytes(b"old")
    with pytest.raises(UsageError, match="exists"):
        Output(tmp_path / "set", folder=True).open("info")
    output = Output(tmp_path / "set", folder=True, force=True)
    output.open("sub/0.shard").write(b"1")
    output.open("info").write(b"new")
    assert (tmp_path / "set/info").read_bytes() == b"old"
    output.commit()
    assert (tmp_path / "set/info").read_bytes() == b"new"
    assert names(tmp_path / "set") == ["info", "sub"]


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_given_up_leaves_nothing(tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "set").mkdir()
    output = Output(tmp_path / "set", folder=True)
    output.open("a/b/0.shard").write(b"1")
    output.discard()
    assert names(tmp_path) == (["set"] if there else [])
    assert not there or names(tmp_path / "set") == []


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../b", "", "a\\b"])
def test_names_stay_inside_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="not a relative name inside the folder"):
        Output(tmp_path / "set", folder=True).open(name)


def test_nothing_is_replaced_when_a_rename_is_impossible(tmp_path: Path) -> None:
    """Files that replace others do so together."""
    (tmp_path / "beside").write_bytes(b"old")
    output = Output(tmp_path / "out", force=True)
    output.open("beside").write(b"new")
    output.open().write(b"2")
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="out is a folder"):
        output.commit()
    output.discard()
    assert (tmp_path / "beside").read_bytes() == b"old"
    assert names(tmp_path) == ["beside", "out"]


def test_a_refused_folder_is_our_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output(tmp_path / "out")
    monkeypatch.setattr(os, "open", no_links)
    with pytest.raises(SourceError, match="not permitted"):
        output.open()
    monkeypatch.undo()
    output.open().write(b"x")
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(os, "rename", no_links)
    with pytest.raises(SourceError, match="not permitted"):
        output.commit()
    output.discard()
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["no/such/folder/out", "x" * 300, "a\0b"])
def test_impossible_targets_are_our_errors(tmp_path: Path, name: str) -> None:
    with pytest.raises(ShardError):
        Output(tmp_path / name).open()
    assert names(tmp_path) == []


def test_the_mode_is_that_of_any_new_file(tmp_path: Path) -> None:
    """The umask of the process is not changed."""
    code = f"""
import os, threading, shardcore
from shardcore.writing.output import Output
os.umask(0o027)
seen = set()
real = os.umask
os.umask = lambda mask: seen.add(mask) or real(mask)
output = Output({str(tmp_path / "out")!r})
output.open().write(b"x")
output.commit()
print(oct(os.stat({str(tmp_path / "out")!r}).st_mode & 0o777), sorted(seen))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0o640", "[]"]


def test_a_finished_writer_takes_nothing_more(tmp_path: Path) -> None:
    writer = shardcore.create(tmp_path / "out.shard", format="swh")
    writer.add(None, b"x")
    (written,) = writer.finish()
    assert written.path.exists()
    with pytest.raises(ShardError):
        writer.add(None, b"y")
    with pytest.raises(UsageError, match="finished"):
        writer.finish()
    with pytest.raises(UsageError, match="plans"):
        shardcore.create(None, format="swh").finish()


@pytest.mark.parametrize("options", [{"no_such_option": 1}, {"seed": -1}, {"seed": "x"}])
def test_a_writer_that_is_refused_leaves_nothing(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        shardcore.create(tmp_path / "out", format="swh", **options)
    assert names(tmp_path) == []
    with pytest.raises(UsageError, match="unknown format"):
        shardcore.create(tmp_path / "out", format="nope")


@pytest.mark.parametrize(
    "content",
    [b"\1\2\3\4", bytearray(b"\1\2\3\4"), memoryview(b"\1\2\3\4").cast("I"), memoryview(b"\1x\2x\3x\4x")[::2]],
)
def test_content_of_every_kind_is_its_bytes(tmp_path: Path, content: memoryview) -> None:
    output = Output(tmp_path / "out")
    file = output.open()
    for piece in pieces_of(content):
        file.write(piece)
    assert file.at == 4
    output.commit()
    assert (tmp_path / "out").read_bytes() == b"\1\2\3\4"


def test_a_link_planted_under_a_temporary_name_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the temporary file was guessed."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    monkeypatch.setattr("os.urandom", bytes)
    first = TemporaryFile(tmp_path / "out")
    planted = first.path
    first.discard()
    planted.symlink_to(victim)
    with pytest.raises(SourceError, match="cannot write"):
        TemporaryFile(tmp_path / "out")
    assert victim.read_bytes() == b"mine"
    assert names(tmp_path) == sorted([planted.name, "victim"])


@pytest.mark.parametrize("fails", [False, True])
def test_many_files_are_durable_before_any_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """No file is synchronised by itself where one call does it for all."""
    order: list[str] = []
    sync = system._sync_file_system
    fsync, rename = os.fsync, Path.rename

    def all_at_once(call: Callable[[int], int], folder: Path) -> bool:
        order.append("all")
        return not fails and sync(call, folder)

    def one(descriptor: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        order.append("rename")
        return rename(path, target)

    monkeypatch.setattr(system, "_sync_file_system", all_at_once)
    monkeypatch.setattr(os, "fsync", one)
    monkeypatch.setattr(Path, "rename", renamed)
    output = Output(tmp_path / "out", folder=True)
    for number in range(2 * temporary.FEW):
        file = output.open(f"{number:02}")
        file.write(b"%d" % number)
        file.complete()
    written = output.commit()
    digests = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(2 * temporary.FEW)]
    assert [one.sha256 for one in written] == digests
    before = order[: order.index("rename")]
    assert before.count("file") == (2 * temporary.FEW if fails or sys.platform != "linux" else 0)
    assert before[0] == "all" or sys.platform != "linux"
    assert len(names(tmp_path / "out")) == 2 * temporary.FEW


@pytest.mark.parametrize("size", [1000, temporary.LARGE])
@pytest.mark.parametrize("folder", [False, True])
def test_a_file_with_other_bytes_than_were_written_does_not_appear(tmp_path: Path, size: int, folder: bool) -> None:
    """Bytes before `prove` are not compared."""
    for damaged in (True, False):
        output = Output(tmp_path / "out", folder=folder)
        file = output.open("a" if folder else "")
        assert isinstance(file, TemporaryFile)
        file.write(b"head")
        file.prove()
        file.write(bytes(size))
        file.write_at(4 if damaged else 0, b"HEAD")
        if damaged:
            with pytest.raises(SourceError, match="the file differs from what was written"):
                output.commit()
            output.discard()
            assert not names(tmp_path)
        else:
            output.commit()
            path = tmp_path / "out" / "a" if folder else tmp_path / "out"
            assert path.read_bytes() == b"HEAD" + bytes(size)


def test_a_large_file_is_hashed_on_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytes(range(256)) * (temporary.LARGE // 256)
    output = Output(tmp_path / "out")
    file = output.open()
    file.write(data)
    file.complete()
    assert output.commit()[0].sha256 == hashlib.sha256(data).hexdigest()

    def failing(*given: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(temporary, "sync_file", failing)
    output = Output(tmp_path / "other")
    file = output.open()
    file.write(data)
    file.complete()
    with pytest.raises(SourceError, match=r"cannot write .*other: "):
        output.commit()
    output.discard()
    assert names(tmp_path) == ["out"]


def test_a_small_file_appears_complete_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written again when another run removed it as a left-over."""
    swept: list[str] = []
    lock = temporary.lock

    def sweeping(descriptor: int) -> bool:
        assert names(tmp_path) != ["out"], "it has its name before it is locked"
        if not swept:
            swept.extend(names(tmp_path))
            (tmp_path / swept[0]).unlink()
        return lock(descriptor)

    monkeypatch.setattr(temporary, "lock", sweeping)
    assert temporary.write_as(tmp_path / "out", [b"a", b"", b"b"]) == (tmp_path / "out", 2)
    assert (tmp_path / "out").read_bytes() == b"ab"
    monkeypatch.undo()
    others = iter([tmp_path / "out", tmp_path / "third"])
    with pytest.raises(UsageError, match="exists already"):
        temporary.write_as(tmp_path / "out", [b"x"], free=True)
    assert temporary.write_as(tmp_path / "out", [b"x"], other=lambda: next(others))[0] == tmp_path / "third"
    monkeypatch.setattr(os, "write", no_links)
    with pytest.raises(SourceError, match=r"cannot write .*full: "):
        temporary.write_as(tmp_path / "full", [b"x"])
    assert swept
    assert names(tmp_path) == ["out", "third"]
