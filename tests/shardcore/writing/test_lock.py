"""Editors that meet: each sees what the one before left, or is refused by name."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shardcore.errors import SourceError, UsageError
from shardcore.sources.local import FileSource
from shardcore.writing.in_place import FileChange, edit_of, locked
from shardcore.writing.undo import apply

HOLD = """
import sys
from shardcore.writing.in_place import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(bytes(1000))
    return path


def holder(path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLD, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


def release(process: subprocess.Popen[str]) -> None:
    process.stdin.close()


def is_locked(path: Path) -> bool:
    refused: list[bool] = []

    def take() -> None:
        try:
            with locked(path, wait=0):
                refused.append(False)
        except UsageError:
            refused.append(True)

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return refused == [True]


def test_a_second_editor_is_refused_by_name(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file)
    os.link(file, tmp_path / "name")
    with holder(file) as other:
        for name in ("file", "link", "name"):
            refused = pytest.raises(UsageError, match="is being edited by another process")
            with refused as raised, locked(tmp_path / name, wait=0.1):
                pass
            assert "(pid" not in raised.value.message or f"(pid {other.pid})" in raised.value.message
        release(other)
    with locked(file, wait=0):
        pass


def test_an_editor_that_is_killed_leaves_no_lock(file: Path) -> None:
    with holder(file) as other:
        other.kill()
        other.wait()
    with locked(file, wait=0):
        pass
    assert [one.name for one in file.parent.iterdir()] == ["file"]


def test_threads_exclude_each_other_and_one_may_lock_twice(file: Path) -> None:
    with locked(file), locked(file):
        assert is_locked(file)
    assert not is_locked(file)


def test_the_lock_is_that_of_the_file_at_the_path(file: Path) -> None:
    """The file was replaced while an editor waited."""
    with holder(file) as other:
        new = file.with_name("new")
        new.write_bytes(b"new")

        def replace() -> None:
            new.replace(file)
            release(other)

        timer = threading.Timer(0.2, replace)
        timer.start()
        with locked(file):
            timer.join()
            assert is_locked(file)


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"), locked(tmp_path / "nothing"):
        pass


def test_two_edits_within_a_tick_of_the_clock_differ(file: Path) -> None:
    """Readers detect a change that keeps the size."""
    with FileSource(file) as first:
        for number in range(5):
            with FileSource(file) as source:
                apply(edit_of(source, "edit", (FileChange(number, b"x"),)), journal=False)
                assert source.modified != file.stat().st_mtime_ns
        assert first.modified != file.stat().st_mtime_ns
