"""What an output leaves and removes: left-overs of runs that were killed, shards that are replaced, equal contents."""

from __future__ import annotations

from pathlib import Path

from shardcore.writing.output import Output


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_left_overs_are_removed_next_time(tmp_path: Path) -> None:
    run = "0123456789ab"
    gone = [f".out.{run}.part", f".out.{run}-5.part"]
    for name in [*gone, ".out.part", f".other.{run}.part", "out.part"]:
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / ".out.abcdefabcdef-1.part").mkdir()
    (tmp_path / ".out.abcdefabcdef-1.part/shard").write_bytes(b"x")
    alive = Output(tmp_path / "out")
    alive.open().write(b"x")
    (held,) = set(names(tmp_path)) - {".out.part", f".other.{run}.part", "out.part"}
    Output(tmp_path / "out")
    assert held in names(tmp_path)
    alive.discard()
    Output(tmp_path / "out")
    assert names(tmp_path) == [f".other.{run}.part", ".out.part", "out.part"]


def test_force_into_a_folder_replaces_the_data_set(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for name in ("old.shard", "kept.shard", "info", "notes.txt"):
        (tmp_path / "set" / name).write_bytes(b"old")
    output = Output(tmp_path / "set", folder=True, force=True, replaces=("*.shard",))
    for name, last in (("info", True), ("kept.shard", False), ("new.shard", False)):
        output.open(name, last=last).write(b"new")
    assert [file.path.name for file in output.commit()] == ["kept.shard", "new.shard", "info"]
    assert names(tmp_path / "set") == ["info", "kept.shard", "new.shard", "notes.txt"]
    assert [path.name for path in output.removed] == ["old.shard"]
    assert (tmp_path / "set/notes.txt").read_bytes() == b"old"


def test_files_named_by_their_content(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    (tmp_path / "big/aa").write_bytes(b"there")
    output = Output(tmp_path / "out")
    written = []
    for name, content in (("aa", b"there"), ("bb", b"new"), ("bb", b"new")):
        file = output.spool("big/content")
        file.write(content)
        written.append(output.settle(file, f"big/{name}"))
    output.open().write(b"x")
    assert written == [False, True, False]
    assert [file.path.name for file in output.commit()] == ["bb", "out"]
    assert names(tmp_path / "big") == ["aa", "bb"]
