"""Replacing the files of a data set: killed at any moment, what opens is all old or all new, or says what to do."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import FormatError, Remedy, SourceError, UsageError
from shardcore.operations.pack import pack
from shardcore.testing import kill_runs as killed
from shardcore.testing.kill_runs import bytes_of
from shardcore.writing import output as module
from shardcore.writing.output import FILES, LIST, Output
from shardcore.writing.temporary_names import REPLACING
from tests.hostile.neuroglancer import SHARDING

OLD, NEW = b"old content that has to go", b"new"


class Replacing:
    """A folder of shards is replaced by another one.

    Attributes:
        format: The name of the format.
        old: Keys and contents of the old data set.
        new: Those of the new one.
    """

    format: ClassVar[str] = "bloscpack"
    old: ClassVar[dict[str, bytes]] = {f"{number % 3}/{number}": OLD + bytes([number]) for number in range(6)}
    new: ClassVar[dict[str, bytes]] = {f"{number % 4}/{number}": NEW + bytes([number]) for number in range(2, 8)}

    def prepared(self, target: Path) -> None:
        copy = target.parent / "copy"
        if not copy.exists():
            self.write(copy, self.old)
            (copy / "notes.txt").write_text("ours")
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(copy, target)

    def replace(self, target: Path) -> None:
        self.write(target, self.new)

    def write(self, target: Path, contents: dict[str, bytes]) -> None:
        with shardcore.create(target, format=self.format, folder=True, force=True) as writer:
            for key, data in contents.items():
                writer.add(None, data, name=key)

    def contents(self, target: Path) -> list[bytes]:
        with shardcore.open(target, format=self.format) as shard:
            refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
            return sorted(shard.read(ref) for ref in refs if ref.kind not in shard.objects.inner_kinds)

    def judged(self, target: Path) -> str:
        """What a killed run left: `old`, `new`, `told`; after the next run the new data set is there alone."""
        try:
            found = self.contents(target)
            state = {"old": "old", "new": "new"}.get(self.named(found), "mixture")
        except SourceError as error:
            state = "told" if error.remedy is Remedy.FINISH else f"error:{error}".replace(" ", "-")
        if state == "told" and os.getpid() % 2:
            # Nothing of what was packed is needed to finish.
            pack(self.format, f"{target}/", force=True)
        else:
            self.replace(target)
        files = bytes_of(target)
        if self.named(self.contents(target)) != "new" or files.pop("notes.txt", b"") != b"ours":
            return f"{state}-not-finished"
        copy = target.parent / "new"
        if not copy.exists():
            self.prepared(copy)
            self.replace(copy)
        wanted = bytes_of(copy)
        del wanted["notes.txt"]
        return state if files == wanted else f"{state}-left-over:{sorted(set(files) ^ set(wanted))}".replace(" ", "")

    def named(self, found: list[bytes]) -> str:
        wanted = {"old": sorted(self.old.values()), "new": sorted(self.new.values())}
        return next((name for name, contents in wanted.items() if contents == found), "mixture")


class ReplacingDes(Replacing):
    """A folder of DES shards, with sidecars and BigFiles."""

    format = "des"

    def write(self, target: Path, contents: dict[str, bytes]) -> None:
        options = {"n_bits": 4, "date": "2026-01-02", "sidecar": True, "max_bytes": 20}
        with shardcore.create(target, format="des", folder=True, force=True, **options) as writer:
            for key, data in contents.items():
                writer.add(key, data)


class ReplacingMdb(Replacing):
    """A Xet store."""

    format = "mdb"

    def contents(self, target: Path) -> list[bytes]:
        with shardcore.open(target / "xet/shard-cache", xorbs=str(target / "xet/xorbs/xorbs")) as shard:
            refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
            return sorted(shard.read(ref) for ref in refs if ref.kind not in shard.objects.inner_kinds)

    def judged(self, target: Path) -> str:
        """As for the others; the old xorbs stay, as shards elsewhere may refer to them."""
        told = super().judged(target)
        return told.partition("-left-over")[0] if ".xorb" in told and ".mdb" not in told else told


class ReplacingNeuroglancer(Replacing):
    """A volume with its info."""

    format = "neuroglancer"
    old: ClassVar[dict[str, bytes]] = {str(number): OLD + bytes([number]) for number in range(6)}
    new: ClassVar[dict[str, bytes]] = {str(number): NEW + bytes([number]) for number in range(2, 8)}

    def write(self, target: Path, contents: dict[str, bytes]) -> None:
        options = {"spec": SHARDING | {"shard_bits": 2 if contents is self.old else 1}, "kind": "skeleton"}
        with shardcore.create(target, format="neuroglancer", folder=True, force=True, **options) as writer:
            for key, data in contents.items():
                writer.add(key, data)


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("cls", [Replacing, ReplacingDes, ReplacingMdb, ReplacingNeuroglancer])
def test_killed_while_a_folder_is_replaced(tmp_path: Path, cls: type[Replacing]) -> None:
    """The folder is the old or the new data set, or opening reports the interruption; the next run finishes."""
    outcomes = killed.at_moments(cls, "replace", tmp_path / "k/out", 40)
    assert set(outcomes) <= {"old", "new", "told"}, set(outcomes)
    assert "old" in outcomes
    assert "told" in outcomes


def interrupted(folder: Path) -> Path:
    (folder / "out").mkdir()
    (folder / "out/old.blp").write_bytes(b"old")
    prepared = folder / "out" / REPLACING
    (prepared / FILES).mkdir(parents=True)
    (prepared / FILES / "new.blp").write_bytes(b"new")
    (prepared / LIST).write_text(json.dumps({"files": ["new.blp"], "remove": ["old.blp"]}))
    return folder / "out"


def test_an_interrupted_replacement_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder := tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (folder / name).write_bytes(name.encode())
    out = interrupted(tmp_path)
    (out / "old.blp").unlink()
    shutil.rmtree(out / REPLACING / FILES)
    pack("bloscpack", f"{out}{REPLACING}/", [folder])
    shutil.move(f"{out}{REPLACING}", out / REPLACING / FILES)
    (out / REPLACING / LIST).write_text(json.dumps({"files": ["a.blp", "b.blp"], "remove": []}))
    for command in (["ls", str(out)], ["verify", str(out)], ["info", str(out)]):
        assert run(command) == 4
        assert "was interrupted" in (told := capsys.readouterr().err)
        assert "shardcore pack FORMAT OUT --force completes it" in told
    assert run(["pack", "bloscpack", f"{out}/", str(folder)]) == 2
    assert "--force completes it" in capsys.readouterr().err
    assert run(["pack", "bloscpack", f"{out}/", "--force"]) == 0
    assert "completed the interrupted replacement" in capsys.readouterr().err
    assert sorted(path.name for path in out.iterdir()) == ["a.blp", "b.blp"]
    assert run(["ls", str(out)]) == 0
    assert run(["pack", "bloscpack", f"{out}/", "--force"]) == 2
    capsys.readouterr()


def test_finished_again_from_any_state(tmp_path: Path) -> None:
    out = interrupted(tmp_path)
    (out / REPLACING / FILES / "new.blp").rename(out / "new.blp")
    output = Output(out, folder=True, force=True)
    assert [path.name for path in output.removed] == ["old.blp"]
    assert [path.name for path in out.iterdir()] == ["new.blp"]
    (out / REPLACING).mkdir()
    Output(out, folder=True, force=True)
    assert [path.name for path in out.iterdir()] == ["new.blp"]


@pytest.mark.parametrize(
    "text",
    [
        '{"files": ["../x"], "remove": []}',
        '{"files": [], "remove": ["../victim"]}',
        '{"files": [], "remove": ["/etc/victim"]}',
        '{"files": [], "remove": ["link/victim"]}',
        '{"files": ["link/new"], "remove": []}',
        '{"files": ["fake"], "remove": []}',
        *('{"files": 5, "remove": []}', '{"files": [5], "remove": []}', "[]", "", "{" * 5000),
    ],
)
def test_a_planted_list_is_refused(tmp_path: Path, text: str) -> None:
    out = interrupted(tmp_path)
    (tmp_path / "victim").write_bytes(b"victim")
    (tmp_path / "else").mkdir()
    (tmp_path / "else/victim").write_bytes(b"victim")
    (out / "link").symlink_to(tmp_path / "else")
    (out / REPLACING / FILES / "link").symlink_to(tmp_path / "else")
    (tmp_path / "else/new").write_bytes(b"victim")
    (out / REPLACING / FILES / "fake").symlink_to(tmp_path / "victim")
    (out / REPLACING / LIST).write_text(text)
    victims = [tmp_path / name for name in ("victim", "else/victim", "else/new")]
    with pytest.raises((SourceError, FormatError)):
        Output(out, folder=True, force=True)
    assert all(path.read_bytes() == b"victim" for path in victims)
    assert (out / "old.blp").exists()


def test_a_mounted_or_linked_sub_folder_stops_it_before_the_first_file(tmp_path: Path) -> None:
    """All old files stay in place."""
    (tmp_path / "out").mkdir()
    (tmp_path / "else").mkdir()
    (tmp_path / "out/sub").symlink_to(tmp_path / "else")
    (tmp_path / "out/old.blp").write_bytes(b"old")
    output = Output(tmp_path / "out", folder=True, force=True, replaces=("*.blp",))
    output.open("a.blp").write(b"a")
    output.open("sub/b.blp").write(b"b")
    with pytest.raises(SourceError, match="is not a folder"):
        output.commit()
    output.discard()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["old.blp", "sub"]
    assert list((tmp_path / "else").iterdir()) == []


def test_a_file_of_another_run_is_not_replaced_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    output = Output(tmp_path / "out", folder=True)
    for name in ("a.blp", "b.blp"):
        output.open(name).write(b"mine")
    begin = module.begin_replacement

    def late(prepared: Path, place: Path, files: list[str], remove: list[str]) -> None:
        (tmp_path / "out/b.blp").write_bytes(b"theirs")
        begin(prepared, place, files, remove)

    monkeypatch.setattr(module, "begin_replacement", late)
    with pytest.raises(UsageError, match=r"b\.blp exists already"):
        output.commit()
    output.discard()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.blp"]
    assert (tmp_path / "out/b.blp").read_bytes() == b"theirs"
