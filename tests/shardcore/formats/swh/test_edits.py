"""Deleting objects of Read Shards in place, and cutting off what follows them."""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.cli.program import run as program
from shardcore.errors import KeyAbsent, UsageError
from shardcore.formats.swh.shard import SwhShard
from shardcore.formats.swh.writer import delete, truncate
from shardcore.model.objects import State
from shardcore.operations.pack import pack
from shardcore.testing import kill_runs as killed
from shardcore.writing import undo_chain as chain
from shardcore.writing.undo import apply, edit_in_place, interrupted, undo

DATA = Path(__file__).parents[3] / "data" / "swh"


def opened(path: Path) -> SwhShard:
    shard = shardcore.open(path)
    assert isinstance(shard, SwhShard)
    return shard


def live_keys(shard: SwhShard) -> list[str]:
    return [key for key in shard.objects.keys[:] if key is not None]


@pytest.mark.parametrize("name", ["small", "one", "legacy"])
def test_deleted_objects_are_gone(tmp_path: Path, name: str) -> None:
    path = Path(shutil.copy(DATA / f"{name}.shard", tmp_path))
    before = path.read_bytes()
    with opened(path) as shard:
        keys = live_keys(shard)
        gone = keys[: max(1, len(keys) // 3)]
        refs = [shard.find(key) for key in gone]
        apply(delete(shard, gone))
    after = path.read_bytes()
    assert len(after) == len(before)
    for ref in refs:
        content = ref.spans[0]
        assert not any(after[content.start - 8 : content.stop])
    with opened(path) as shard:
        for key in keys[:: max(1, len(keys) // 100)]:
            assert shard.trace(key).outcome == ("absent" if key in gone else "found")
        assert ((shard.find_many(keys) < 0) == ([True] * len(gone) + [False] * (len(keys) - len(gone)))).all()
        assert shard.verify("content").ok
        shard.load_index()
        assert int((shard.objects[:].state == State.LIVE).sum()) == len(keys) - len(gone)
    undo(path)
    assert path.read_bytes() == before


def test_all_keys_are_checked_first(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATA / "small.shard", tmp_path))
    with opened(path) as shard:
        key = live_keys(shard)[0]
        with pytest.raises(KeyAbsent):
            delete(shard, [key, "00" * 32])
        with pytest.raises(UsageError, match="twice"):
            delete(shard, [key, key.upper()])
        with pytest.raises(UsageError, match="no keys"):
            delete(shard, [])


def test_truncate_cuts_what_follows(tmp_path: Path) -> None:
    path = Path(shutil.copy(DATA / "small.shard", tmp_path))
    sound = path.read_bytes()
    with opened(path) as shard:
        stop = next((s.start for s in shard.sections if s.name == "trailing"), len(sound))
    path.write_bytes(sound[:stop] + bytes(5000) + b"rest")
    with opened(path) as shard:
        apply(truncate(shard))
    assert path.read_bytes() == sound[:stop]
    with opened(path) as shard:
        edit = truncate(shard)
        assert (edit.changes, edit.new_size) == ((), stop)
    undo(path)
    assert path.read_bytes() == sound[:stop] + bytes(5000) + b"rest"


class Killed:
    def prepared(self, target: Path) -> None:
        shutil.copy(DATA / "small.shard", target)
        target.with_name(target.name + ".undo").unlink(missing_ok=True)

    def run(self, target: Path) -> None:
        with opened(target) as shard:
            apply(delete(shard, live_keys(shard)[::2]))

    def judged(self, target: Path) -> str:
        with opened(target) as shard:
            readable = all(shard.trace(key).outcome != "damaged" for key in live_keys(shard))
        if target.with_name(target.name + ".undo").exists():
            undo(target)
        same = target.read_bytes() == (DATA / "small.shard").read_bytes()
        return "fine" if readable and same else "wrong"


SECRET = b"to be gone "
SIZE = 3 << 20


def with_secret(path: Path) -> str:
    folder = path.parent / "contents"
    folder.mkdir()
    secret = SECRET * (SIZE // len(SECRET))
    for number, content in enumerate((b"first" * 100, secret, b"last" * 100)):
        (folder / str(number)).write_bytes(content)
    pack("swh", path, [folder], force=True)
    shutil.rmtree(folder)
    return hashlib.sha256(secret).hexdigest()


class KilledTakedown:
    options: ClassVar[list[str]] = ["--no-undo"]

    def prepared(self, target: Path) -> None:
        chain.forget(target)
        target.unlink(missing_ok=True)
        self.key = with_secret(target)

    def run(self, target: Path) -> None:
        with opened(target) as shard:
            edit_in_place(target, "delete", lambda keys: delete(shard, keys), [self.key], keep=not self.options)

    def judged(self, target: Path) -> str:
        told = interrupted(target)
        with contextlib.redirect_stdout(io.StringIO()):
            code = program(["delete", str(target), self.key, *self.options, "--yes"])
        with opened(target) as shard:
            sound = shard.verify("content").ok and shard.trace(self.key).outcome == "absent"
        left = [one.name for one in target.parent.iterdir() if SECRET * 2 in one.read_bytes()]
        if self.options:
            fine = sound and not left and not interrupted(target)
        else:
            fine = sound and left == [target.name + ".undo"]
        if code not in (0, 1) or (told and code):
            return f"code-{code}"
        return ("finished" if told else "gone") if fine else f"wrong-{sound}-{left}"


class KilledDelete(KilledTakedown):
    options: ClassVar[list[str]] = []


@pytest.mark.thorough
@pytest.mark.parametrize("case", [KilledTakedown, KilledDelete])
def test_a_takedown_that_is_killed_is_finished_by_the_next_run(tmp_path: Path, case: type[KilledTakedown]) -> None:
    outcomes = set(killed.at_moments(case, "run", tmp_path / "x.shard", 60))
    assert outcomes <= {"gone", "finished"}
    assert "finished" in outcomes


@pytest.mark.thorough
def test_a_deletion_that_is_killed(tmp_path: Path) -> None:
    assert set(killed.at_moments(Killed, "run", tmp_path / "x.shard", 20)) == {"fine"}


def test_a_content_behind_a_length_of_zero_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "x.shard"
    key = with_secret(path)
    with opened(path) as shard:
        start = shard.find(key).spans[0].start
    with path.open("r+b") as file:
        file.seek(start - 8)
        file.write(bytes(8))
    with opened(path) as shard:
        assert "swh.gap" in {one.code for one in shard.verify("content").findings}
    assert program(["delete", str(path), key, "--no-undo", "--yes"]) == 0
    assert SECRET not in path.read_bytes()
    with opened(path) as shard:
        assert shard.verify("content").ok


def test_what_is_left_of_deleted_objects_is_found(tmp_path: Path) -> None:
    """Bytes between live objects that are not zero are reported where objects were deleted."""
    path = tmp_path / "x.shard"
    key = with_secret(path)
    with opened(path) as shard:
        content = shard.find(key).spans[0]
        apply(delete(shard, [key]), journal=False)
    with path.open("r+b") as file:
        file.seek(content.start + 1000)
        file.write(SECRET)
    with opened(path) as shard:
        assert "swh.gap-not-zero" in {one.code for one in shard.verify("content").findings}
