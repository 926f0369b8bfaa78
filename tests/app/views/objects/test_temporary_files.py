"""Objects as temporary files: complete, private, and gone when nobody can want them any more."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shardcore
from shardcore import Cancelled, Shard
from shardscope.views.objects.temporary_files import DragFolders, TooLarge, prepare


@pytest.fixture
def shard(data: Path) -> Iterator[Shard]:
    """The small sample, loaded."""
    with shardcore.open(str(data / "swh/small.shard")) as opened:
        opened.load_index()
        yield opened


def test_files_are_the_objects(shard: Shard, tmp_path: Path) -> None:
    folders = DragFolders(tmp_path)
    prepared = prepare(shard, [12, 9, 0], folders, lambda done, total: None)
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in prepared.files]
    assert digests == [path.name for path in prepared.files] == [shard.objects.keys[12], shard.objects.keys[0]]
    assert (prepared.size, prepared.problems, prepared.there) == (1 + 1790, (), True)


def test_too_large_or_cancelled(shard: Shard, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise Cancelled

    folders = DragFolders(tmp_path)
    with pytest.raises(TooLarge):
        prepare(shard, [0, 12], folders, lambda done, total: None, limit=1790)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Cancelled):
        prepare(shard, [0], folders, stop)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert prepare(shard, [0, 12], folders, lambda done, total: None, limit=1791).size == 1791


def test_an_object_that_cannot_be_read(data: Path, tmp_path: Path) -> None:
    content = bytearray((data / "swh/small.shard").read_bytes())
    content[4977:4985] = (2**40).to_bytes(8, "big")  # the offset of the object in slot 12
    folders = DragFolders(tmp_path)
    with shardcore.open(bytes(content)) as shard:
        shard.load_index()
        prepared = prepare(shard, range(len(shard.objects)), folders, lambda done, total: None)
    assert len(prepared.files) == 11
    (problem,) = prepared.problems
    assert problem.startswith("ca978112")
    assert all(path.is_file() for path in prepared.files)


def test_private_and_removed_with_the_process(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys\n"
        "from shardscope.views.objects.temporary_files import DragFolders\n"
        "folders = DragFolders(pathlib.Path(sys.argv[1]))\n"
        "folder = folders.new()\n"
        "(folder / 'file').write_bytes(b'x')\n"
        "print(*(path.stat().st_mode & 0o077 for path in (folder, folder.parent)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "0 0\n"
    assert list(tmp_path.iterdir()) == []


def test_stale_folders(tmp_path: Path) -> None:
    """Folders of ended processes are removed; those of running ones, links and other names are not."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    stale = tmp_path / f"shardscope-drag-{ended.pid}-abc"
    (stale / "files-1").mkdir(parents=True)
    (stale / "files-1" / "object").write_bytes(b"x")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"shardscope-drag-{ended.pid}-link").symlink_to(elsewhere)
    (tmp_path / f"shardscope-drag-{os.getppid()}-abc").mkdir()
    (tmp_path / "shardscope-drag-mine").mkdir()
    own = DragFolders(tmp_path)
    kept = own.new()
    assert own.remove_stale() == [stale]
    assert not stale.exists()
    assert kept.is_dir()
    assert len(list(tmp_path.iterdir())) == 5


def test_deleted_objects_are_not_dragged(data: Path, tmp_path: Path) -> None:
    path = data / "des" / "sidecar" / "20261103_51_0000.des"
    for deleted, names in ((False, ["keep", "nometa"]), (True, ["gone", "keep", "nometa"])):
        with shardcore.open(path, deleted=deleted) as shard:
            folders = DragFolders(tmp_path)
            prepared = prepare(shard, [0, 1, 2], folders, lambda done, total: None, deleted=deleted)
            assert sorted(file.name for file in prepared.files) == names
            assert prepared.left_out == (0 if deleted else 1)
            assert prepared.problems == ()


def test_names_are_kept_and_several_objects_come_with_their_folders(tmp_path: Path) -> None:
    keys = ["src/sea/tides.py", "src/sea/tide.py", "SRC/other.py", "readme", "../up.txt", "/etc/passwd", "a//b", "CON"]
    with shardcore.create(tmp_path / "made.des", format="des") as writer:
        for key in keys:
            writer.add(key, key.encode())
    folders = DragFolders(tmp_path)
    with shardcore.open(tmp_path / "made.des") as shard:
        shard.load_index()
        (handed,) = prepare(shard, [0], folders, lambda *_: None).handed
        assert (handed.name, handed.read_text()) == ("tides.py", keys[0])
        found = prepare(shard, range(len(keys)), folders, lambda *_: None)
    names = [str(path.relative_to(found.folder)) for path in found.files]
    assert names[:2] == keys[:2]
    assert names[3] == "readme"
    assert names[2].startswith("SRC~"), "another folder where case does not count"
    assert all("/" not in name and ".." not in Path(name).parts for name in names[4:])
    assert [path.name for path in found.handed][:3] == ["src", names[2].partition("/")[0], "readme"]
    assert [path.read_text() for path in found.files] == keys
