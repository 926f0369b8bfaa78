"""Appending to Bloscpack files."""

from __future__ import annotations

import contextlib
import errno
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import blosc  # noqa: F401
import blosc2  # noqa: F401 - loaded before the forks that are killed: the moments fall into the appending then
import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import ShardError, SourceError, UsageError
from shardcore.formats.bloscpack.append import append
from shardcore.formats.bloscpack.shard import BloscpackShard
from shardcore.testing import kill_runs as killed
from shardcore.writing.undo import apply, interrupted, undo
from shardcore.writing.undo_chain import forget, journal_of

SAMPLES = Path(__file__).parents[3] / "data" / "bloscpack"
WALK = np.cumsum(np.random.default_rng(1).integers(0, 3, 3000)).astype("<i8").tobytes()


def packed(path: Path, plain: bytes, **options: Any) -> Path:
    with shardcore.create(path, format="bloscpack", **options) as writer:
        writer.add(None, plain)
    return path


def appended(path: Path, more: bytes, name: str = "more.bin") -> str:
    (path.parent / name).write_bytes(more)
    before = path.read_bytes()
    with shardcore.open(path) as shard:
        edit = append(shard, path.parent / name)
        told = edit.to_json()
        apply(edit)
    after = path.read_bytes()
    assert len(after) == told["new_size"]
    undo(path)
    assert path.read_bytes() == before
    path.write_bytes(after)
    return edit.what


def whole(path: Path) -> tuple[bytes, BloscpackShard]:
    with shardcore.open(path) as shard:
        assert isinstance(shard, BloscpackShard)
        assert shard.verify().findings == ()
        return shard.read(shard.find("all")), shard


@pytest.mark.parametrize("sizes", [(9000, 10), (8000, 8000), (9000, 7000), (9000, 7001), (16000, 1)])
@pytest.mark.parametrize("checksum", ["None", "sha256"])
def test_spare_slots_take_what_is_appended(sizes: tuple[int, int], checksum: str, tmp_path: Path) -> None:
    first, more = sizes
    path = packed(tmp_path / "a.blp", WALK[:first], chunk_size=4000, checksum=checksum, codec="zstd")
    with shardcore.open(path) as before:
        slots = before.fields
    said = appended(path, WALK[first : first + more])
    assert "in place" in said
    plain, shard = whole(path)
    assert plain == WALK[: first + more]
    header = shard.file.header
    assert (header.chunk_size, header.nchunks) == (4000, -(-(first + more) // 4000))
    assert header.nchunks + header.max_app_chunks == slots["header.nchunks"] + slots["header.max_app_chunks"]


def test_without_spare_slots_the_file_is_rewritten(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.blp", WALK[:9000], chunk_size=4000, spare=1, metadata={"a": 1})
    assert "by rewriting all chunks, because there are too few spare offset slots" in appended(path, WALK[9000:20000])
    plain, shard = whole(path)
    assert plain == WALK[:20000]
    assert (shard.file.header.nchunks, shard.file.header.max_app_chunks, shard.metadata) == (5, 50, {"a": 1})


def test_without_offsets_chunks_follow(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.blp", WALK[:9000], chunk_size=4000, offsets=False)
    assert "in place" in appended(path, WALK[9000:20000])
    assert whole(path)[0] == WALK[:20000]


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_single_chunk_may_grow(size: int, tmp_path: Path) -> None:
    """A short content lowered chunk_size: appending raises it again."""
    path = packed(tmp_path / "a.blp", WALK[:size])
    appended(path, WALK[size:])
    plain, shard = whole(path)
    assert plain == WALK
    assert (shard.file.header.nchunks, shard.file.header.chunk_size) == (1, len(WALK))


def test_trailing_bytes_go(tmp_path: Path) -> None:
    """The reference's append may leave bytes after the last chunk."""
    path = Path(shutil.copy(SAMPLES / "append_shrink.blp", tmp_path / "a.blp"))
    with shardcore.open(path) as before:
        plain = before.read(before.find("all"))
    appended(path, b"more")
    assert whole(path)[0] == plain + b"more"


def test_arrays_grow_along_their_first_axis(tmp_path: Path) -> None:
    array = np.arange(600, dtype="<i4").reshape(30, 20)
    np.save(tmp_path / "in.npy", array[:10])
    np.save(tmp_path / "more.npy", array[10:])
    with shardcore.create(tmp_path / "a.blp", format="bloscpack") as writer:
        writer.add(None, (tmp_path / "in.npy").read_bytes(), name="in.npy")
    appended(tmp_path / "a.blp", (tmp_path / "more.npy").read_bytes(), "more.npy")
    np.testing.assert_array_equal(whole(tmp_path / "a.blp")[1].whole_layout.shape, (30, 20))  # type: ignore[union-attr]
    with shardcore.open(tmp_path / "a.blp") as shard:
        assert isinstance(shard, BloscpackShard)
        np.testing.assert_array_equal(shard.read_array(), array)
        (tmp_path / "x.bin").write_bytes(b"abc")
        with pytest.raises(UsageError, match="not a multiple of one item"):
            append(shard, tmp_path / "x.bin")
        np.save(tmp_path / "x.npy", array.astype("<i8"))
        with pytest.raises(UsageError, match="differs in type or shape"):
            append(shard, tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("name", "message"), [("v1", "version 1"), ("v2_offsets", "version 2"), ("stream", "are not in the header")]
)
def test_files_that_cannot_grow_are_refused(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "more").write_bytes(b"more")
    with shardcore.open(SAMPLES / f"{name}.blp") as shard, pytest.raises(UsageError, match=message):
        append(shard, tmp_path / "more")


def test_nothing_is_not_appended(tmp_path: Path) -> None:
    (tmp_path / "none").write_bytes(b"")
    with shardcore.open(SAMPLES / "tiny.blp") as shard, pytest.raises(UsageError, match="nothing to append"):
        append(shard, tmp_path / "none")
    with shardcore.open(SAMPLES / "files") as shard, pytest.raises(UsageError, match="not a folder"):
        append(shard, tmp_path / "none")


def test_several_inputs_are_one_edit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = packed(tmp_path / "a.blp", WALK[:9000], chunk_size=4000)
    before = path.read_bytes()
    names = []
    for number, size in enumerate((1, 5000, 300)):
        names.append(str(tmp_path / f"more{number}"))
        Path(names[-1]).write_bytes(bytes([number]) * size)
    assert run(["append", str(path), *names, "--yes"]) == 0
    assert whole(path)[0] == WALK[:9000] + b"\0" + b"\1" * 5000 + b"\2" * 300
    assert run(["undo", str(path), "--yes"]) == 0
    assert path.read_bytes() == before
    assert run(["append", str(path), names[0], str(tmp_path / "none"), "--yes"]) == 4
    assert run(["append", str(path), *names, "--dry-run"]) == 0
    assert "kept in a.blp.undo" in capsys.readouterr().out
    assert path.read_bytes() == before


class Killed:
    options: ClassVar[dict[str, Any]] = {"chunk_size": 4000}

    def prepared(self, target: Path) -> None:
        forget(target)
        target.unlink(missing_ok=True)
        packed(target, WALK[:9000], **self.options)
        target.with_name("more").write_bytes(WALK[9000:])
        shutil.copy(target, target.with_name("before"))

    def run(self, target: Path) -> None:
        with shardcore.open(target) as shard:
            apply(append(shard, target.with_name("more")))

    def judged(self, target: Path) -> str:
        before, answer = target.with_name("before").read_bytes(), "old"
        if interrupted(target):
            with contextlib.suppress(ShardError), shardcore.open(target) as shard:
                if "bloscpack.interrupted-edit" not in {one.code for one in shard.verify("structure").findings}:
                    return "not-found-by-verify"
        if journal_of(target).exists():
            undo(target)
            answer = "undone"
        return answer if target.read_bytes() == before else "wrong"


class KilledRewriting(Killed):
    options: ClassVar[dict[str, Any]] = {"chunk_size": 4000, "spare": 0}


@pytest.mark.thorough
@pytest.mark.parametrize("case", [Killed, KilledRewriting])
def test_an_append_that_is_killed(tmp_path: Path, case: type[Killed]) -> None:
    outcomes = killed.at_moments(case, "run", tmp_path / "x.blp", 20)
    assert set(outcomes) == {"old", "undone"}


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "more").write_bytes(b"more")
    shardcore.pack("bloscpack", tmp_path / "x.blp", [tmp_path / "more"])

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(SourceError, match=re.escape(f"cannot write a temporary file in {tmp_path}: No space left")):
        shardcore.append(tmp_path / "x.blp", [tmp_path / "more"])
