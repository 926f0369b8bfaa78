"""Searching for a key in many files: what is opened, what is passed over, what is reported, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy, copytree
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.sources.local import FileSource


def packed(path: Path, objects: dict[str, bytes], format: str = "des") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with shardcore.create(path, format=format) as writer:
        for key, data in objects.items():
            writer.add(key, data)
    return path


def found(key: str, *paths: Path, **options: Any) -> list[str]:
    hits = list(shardcore.find_in(key, paths, **options))
    return [("! " if hit.error else "") + Path(hit.path).name for hit in hits]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    begin = FileSource.__init__

    def noted(source: FileSource, path: str | Path, *, follow_links: bool = True) -> None:
        names.append(Path(path).name)
        begin(source, path, follow_links=follow_links)

    monkeypatch.setattr(FileSource, "__init__", noted)
    return names


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_hits_come_in_the_order_of_the_paths(tmp_path: Path, jobs: int) -> None:
    for name in ("b.des", "a.des", "sub/c.des", "aa/d.des"):
        packed(tmp_path / name, {"mine": name.encode(), "other": b"1"})
    packed(tmp_path / "none.des", {"other": b"1"})
    assert found("mine", tmp_path, jobs=jobs) == ["a.des", "b.des", "d.des", "c.des"]
    assert found("mine", tmp_path / "sub", tmp_path / "a.des", jobs=jobs) == ["c.des", "a.des"]


def test_a_hit_names_the_object(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.des", {"mine": b"12345"})
    (hit,) = shardcore.find_in("mine", [path])
    assert (hit.path, hit.format, hit.error) == (str(path), "des", None)
    assert hit.ref.size == 5
    with shardcore.open(path) as shard:
        assert shard.read(hit.ref) == b"12345"


def test_what_is_no_shard_is_passed_over_unless_it_is_named(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.des", {"mine": b"1"})
    text = tmp_path / "read.me"
    text.write_text("nothing to see")
    (tmp_path / "empty").touch()
    (tmp_path / "link.des").symlink_to(path)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert found("mine", tmp_path) == ["a.des"]
    assert found("mine", text, tmp_path / "link.des") == ["! read.me", "link.des"]
    assert found("mine", tmp_path / "gone") == ["! gone"]


def test_keys_of_another_form_pass_over_a_file(tmp_path: Path, data: Path) -> None:
    copy(data / "swh" / "small.shard", tmp_path / "small.shard")
    packed(tmp_path / "a.des", {"mine": b"1"})
    search = shardcore.find_in("mine", [tmp_path])
    assert [Path(hit.path).name for hit in search] == ["a.des"]
    assert (search.searched, search.failed) == (2, 0)


def test_a_damaged_file_is_reported_and_the_rest_is_searched(tmp_path: Path) -> None:
    for name in "abc":
        packed(tmp_path / f"{name}.des", {"mine": b"1"})
    whole = (tmp_path / "b.des").read_bytes()
    (tmp_path / "b.des").write_bytes(whole[:-7])
    search = shardcore.find_in("mine", [tmp_path], jobs=2)
    hits = list(search)
    assert [Path(hit.path).name for hit in hits] == ["a.des", "b.des", "c.des"]
    assert [hit.error is None for hit in hits] == [True, False, True]
    assert (search.searched, search.failed) == (2, 1)


def test_routing_opens_only_the_file_that_may_hold_the_key(tmp_path: Path, data: Path, opened: list[str]) -> None:
    """Of a Neuroglancer data set."""
    copytree(data / "neuroglancer" / "skeletons_murmur_gzip", tmp_path / "set")
    with shardcore.open(tmp_path / "set") as shard:
        keys = shard.objects.keys[:]
        names = {member.name for member in shard.members}
        first = shard.find(keys[0] or "")
    opened.clear()
    (hit,) = shardcore.find_in(str(keys[0]), [tmp_path], jobs=1)
    assert hit.path == str(tmp_path / "set")
    assert hit.ref.shard == first.shard
    assert set(opened) & names == {first.shard}


def test_the_command_prints_what_holds_the_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = packed(tmp_path / "a.des", {"mine": b"12345"})
    assert run(["find", "mine", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{path}  des  5\n"
    assert run(["find", "mine", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    with shardcore.open(path) as shard:
        span = shard.find("mine").spans[0]
    place = {"start": span.start, "stop": span.stop, "shard": ""}
    assert told == {"path": str(path), "format": "des", "key": "mine", "kind": told["kind"], "size": 5} | place
    assert run(["find", "absent", str(tmp_path)]) == 1
    assert capsys.readouterr() == ("", "")
