"""Packing as programs ask for it: plans that read no content, progress, and work that is stopped in between."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import SourceError, UsageError
from shardcore.operations.convert import convert
from shardcore.operations.pack import pack
from shardcore.writing.temporary import write_whole

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    for number in range(5):
        (made / str(number)).write_bytes(bytes([number]) * 1000 * number)
    return made


@pytest.mark.parametrize(
    ("format", "options", "exact"),
    [("des", {}, True), ("des", {"codec": "zstd"}, False), ("xorb", {}, False), ("swh", {}, False)],
)
def test_a_plan_without_reading(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, options: dict[str, Any], exact: bool
) -> None:
    written = pack(format, tmp_path / "x", [folder], options=options)

    def refuse(*given: Any, **named: Any) -> Any:
        raise AssertionError("a content was opened")

    monkeypatch.setattr(Path, "open", refuse)
    done = pack(format, tmp_path / "y", [folder], options=options, plan=True, unread=True)
    assert done.plan.exact is exact
    assert done.plan.content == 10_000
    if exact:
        assert done.plan.size == written.written[0].size
    assert not (tmp_path / "y").exists()


def test_an_input_is_never_replaced(folder: Path, tmp_path: Path) -> None:
    file = folder / "3"
    whole = file.read_bytes()
    (tmp_path / "link").symlink_to(file)
    listed = tmp_path / "list.jsonl"
    listed.write_text('{"path": "files/3", "key": "a"}\n')
    for given in ({"inputs": [file]}, {"inputs": [folder / "2", tmp_path / "link"]}, {"manifest": listed}):
        with pytest.raises(shardcore.UsageError, match="is an input and would be replaced: give the new shard"):
            pack("des", file, force=True, **given)
        assert file.read_bytes() == whole
    # The link is replaced; what it leads to is not.
    pack("des", tmp_path / "link", [file], force=True)
    assert file.read_bytes() == whole


def test_a_shard_in_the_folder_that_is_packed(folder: Path) -> None:
    """Neither its temporary file nor the shard that it replaces becomes an object."""
    out = folder / "all.des"
    first = pack("des", out, [folder])
    content = out.read_bytes()
    (folder / ".other.des.0123456789ab-1.part").write_bytes(b"of a run that was killed")
    again = pack("des", out, [folder], force=True)
    assert first.written[0].objects == again.written[0].objects == 5
    assert out.read_bytes() == content
    assert again.notes == (f"left out: {out}: the new shard replaces it",)


def test_what_folders_hold_besides_files_is_counted(folder: Path, tmp_path: Path) -> None:
    (folder / "link").symlink_to("1")
    (folder / "up").symlink_to("..")
    os.mkfifo(folder / "pipe")
    notes = pack("des", tmp_path / "x", [folder]).notes
    assert notes == ("left out: 2 links (links in folders are not followed)", "left out: 1 pipe, socket or device")


def test_only_files_and_links_are_replaced(folder: Path, tmp_path: Path) -> None:
    """Replacing a device by a file would break other programs."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for force in (False, True):
        with pytest.raises(shardcore.UsageError, match="is a pipe, a socket or a device; give the name of a file"):
            pack("des", pipe, [folder], force=force)
    assert pipe.is_fifo()
    with pytest.raises(shardcore.UsageError, match="is a pipe"):
        write_whole(pipe, [b"x"], force=True)


def test_a_shard_is_not_converted_into_itself(tmp_path: Path) -> None:
    path = tmp_path / "x.shard"
    path.write_bytes((DATA / "swh/small.shard").read_bytes())
    with shardcore.open(path) as shard, pytest.raises(shardcore.UsageError, match="would be replaced"):
        convert(shard, "des", path, force=True)
    source = tmp_path / "set"
    pack("des", f"{source}/", [path], options={"date": "2026-01-01"})
    (member,) = source.glob("*.des")
    whole = member.read_bytes()
    with shardcore.open(source) as shard:
        for out in (member, source):
            with pytest.raises(shardcore.UsageError, match="would be replaced"):
                convert(shard, "des", out, force=True, options={"date": "2026-01-01"} if out == source else {})
    assert member.read_bytes() == whole


def test_shards_in_the_folder_that_is_packed(folder: Path) -> None:
    options = {"date": "2026-01-01"}
    first = pack("des", folder, [folder], options=options)
    again = pack("des", folder, [folder], options=options, force=True)
    assert [(one.path, one.sha256) for one in again.written] == [(one.path, one.sha256) for one in first.written]
    assert len(again.notes) == len(first.written)
    with pytest.raises(shardcore.UsageError, match="would be replaced"):
        pack("des", folder, [first.written[0].path], options=options, force=True)
    # With patterns that name a file of a sub-folder, too; and what is not a shard is packed.
    store = pack("mdb", f"{folder}/store/", [folder / "1", folder / "2"])
    shard = next(one.path for one in store.written if one.path.suffix == ".mdb")
    with pytest.raises(shardcore.UsageError, match="would be replaced"):
        pack("mdb", folder / "store", [shard], force=True)


WRITTEN = ("swh", "des", "mdb", "xorb", "neuroglancer", "bloscpack/")


def _target(folder: Path, name: str) -> tuple[str, str]:
    format = name.rstrip("/")
    return format, str(folder / "out") + ("/" if name.endswith("/") else "")


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("unread", [False, True])
def test_a_stated_size_and_sha256_are_compared(tmp_path: Path, name: str, unread: bool) -> None:
    content, manifest = b"the same size", tmp_path / "m.json"
    (tmp_path / "7").write_bytes(content)
    right, wrong = hashlib.sha256(content).hexdigest(), hashlib.sha256(b"THE SAME SIZE").hexdigest()
    format, out = _target(tmp_path, name)
    stated = [({"size": 1234}, "13 bytes; the manifest states 1,234")]
    stated += [] if unread else [({"size": 13, "sha256": wrong}, f"the sha256 {right}; the manifest states {wrong}")]
    for line, why in stated:
        manifest.write_text(json.dumps({"path": "7"} | line))
        with pytest.raises(SourceError, match=f"7 .*has {why}"):
            pack(format, out, manifest=manifest, plan=unread, unread=unread)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["7", "m.json"]
    manifest.write_text(json.dumps({"path": "7", "size": 13, "sha256": right.upper()}))
    assert pack(format, out, manifest=manifest).report.ok


@pytest.mark.parametrize("line", [{"size": "12 KB"}, {"size": -1}, {"size": True}, {"sha256": "abc"}, {"sha256": 12}])
def test_what_is_stated_makes_sense(tmp_path: Path, line: dict[str, Any]) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "m").write_text(json.dumps({"path": "a"} | line))
    with pytest.raises(UsageError, match=r"line 1: (size|sha256) must be"):
        pack("swh", tmp_path / "x", manifest=tmp_path / "m")


@pytest.mark.parametrize("how", ["longer", "touched", "replaced", "removed"])
def test_a_file_that_changes_while_it_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first line\n")
    os.utime(path, ns=(10**18, 10**18))
    from shardcore.formats.swh.writer import SwhWriter

    add = SwhWriter._add

    def change(writer: SwhWriter, *given: Any) -> str:
        key = add(writer, *given)
        if how == "longer":
            with path.open("ab") as stream:
                stream.write(b"second line\n")
        elif how == "touched":
            os.utime(path, ns=(10**18, 10**18 + 1))
        elif how == "replaced":
            (tmp_path / "other").write_bytes(b"other line\n")
            os.utime(tmp_path / "other", ns=(10**18, 10**18))
            (tmp_path / "other").replace(path)
        else:
            path.unlink()
        return key

    monkeypatch.setattr(SwhWriter, "_add", change)
    with pytest.raises(SourceError, match="log changed while it was packed"):
        pack("swh", tmp_path / "out", [path])
    assert not (tmp_path / "out").exists()


def test_all_duplicates_are_named_at_once(tmp_path: Path) -> None:
    for name, data in zip("abcde", (b"1", b"2", b"1", b"2", b"1"), strict=True):
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        pack("swh", tmp_path / "x", [tmp_path / name for name in "abcde"])
    pairs = ("/a and", "/c (", "/b and", "/d (", "/c and", "/e (")
    assert "3 pairs of objects have the same key" in caught.value.message
    assert all(one in caught.value.message for one in pairs)
    with shardcore.create(None, format="des") as writer:
        for number in range(13):
            writer.add("one", b"", label=f"file {number}")
        with pytest.raises(UsageError, match=r"12 pairs of objects have the same uid: .*file 10 .*and 2 more pairs$"):
            writer.plan()
    with shardcore.create(None, format="neuroglancer", folder=True) as writer:
        for number in range(4):
            writer.add(str(number % 2), b"", label=f"file {number}")
        with pytest.raises(UsageError, match=r"file 0 and file 2 \(0\); file 1 and file 3 \(1\)$"):
            writer.plan()
    lines = [json.dumps({"path": "a", "key": key}) for key in ("x", "y", "x", "y")]
    (tmp_path / "m").write_text("\n".join(lines))
    with pytest.raises(UsageError, match=r"2 pairs of objects have the same file name: .*line 1.*line 3.*line 4"):
        pack("bloscpack", f"{tmp_path}/out/", manifest=tmp_path / "m")
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("large", [False, True])
def test_deduplicated(tmp_path: Path, large: bool) -> None:
    content = b"equal" * (100_000 if large else 1)
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "d").write_bytes(b"another")
    inputs = [tmp_path / name for name in ("a", "b", "c", "d")]
    done = pack("swh", tmp_path / "x", inputs, options={"dedupe": True}, report=tmp_path / "r.json")
    assert done.notes == ("2 duplicate objects left out",)
    pack("swh", tmp_path / "y", [inputs[0], inputs[3]])
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()
    planned = pack("swh", tmp_path / "z", inputs, options={"dedupe": True}, plan=True)
    assert planned.plan.size == (tmp_path / "x").stat().st_size
    assert planned.notes == done.notes
    keys = [one["stored"] for one in json.loads((tmp_path / "r.json").read_text())["objects"]]
    digest = hashlib.sha256(content).hexdigest()
    assert keys == [digest, digest, digest, hashlib.sha256(b"another").hexdigest()]


ODD_KEYS = {"des": "x" * 70_000, "bloscpack": "../x", "neuroglancer": "no number"}


@pytest.mark.parametrize("unread", [False, True])
@pytest.mark.parametrize("name", WRITTEN)
def test_unreadable_inputs_are_skipped(folder: Path, tmp_path: Path, name: str, unread: bool) -> None:
    format, out = _target(tmp_path, name)
    lines = [{"path": f"files/{file}"} for file in ("1", "gone", "2")]
    if format in ODD_KEYS:
        lines.insert(1, {"path": "files/4", "key": ODD_KEYS[format]})
    (tmp_path / "m").write_text("\n".join(map(json.dumps, lines)))
    inputs = [folder / "3", tmp_path / "missing"]
    planned: dict[str, Any] = {"manifest": tmp_path / "m", "plan": unread, "unread": unread}
    with pytest.raises((SourceError, UsageError)):
        pack(format, out, inputs, **planned)
    done = pack(format, out, inputs, **planned, skip_unreadable=True, report=tmp_path / "r.json")
    names = sorted(Path(one.name).name for one in done.skipped)
    assert names == sorted(["gone", "missing", *(["4"] if format in ODD_KEYS else [])])
    assert all(one.why for one in done.skipped)
    assert (tmp_path / "r.json").exists() is not unread
    if not unread:
        assert done.report.ok
        reported = json.loads((tmp_path / "r.json").read_text())["objects"]
        assert sum("error" in one for one in reported) == len(done.skipped)
        assert sum("error" not in one for one in reported) == 3


@pytest.mark.parametrize("format", WRITTEN)
def test_the_key_of_every_input_is_reported(folder: Path, tmp_path: Path, format: str) -> None:
    format, out = _target(tmp_path, format)
    done = pack(format, out, [folder / str(number) for number in (1, 2)], report=tmp_path / "r.json")
    told = json.loads((tmp_path / "r.json").read_text())
    assert told["format"] == format
    assert [one["path"] for one in told["objects"]] == [str(folder / "1"), str(folder / "2")]
    with shardcore.open(out, format=format, **done.opening) as shard:
        for number, one in enumerate(told["objects"], start=1):
            if format == "xorb":
                assert one["row"] == number - 1
            else:
                assert shard.read(shard.find(one["stored"])) == bytes([number]) * 1000 * number
    with pytest.raises(UsageError, match=r"r\.json exists already"):
        pack(format, out.replace("out", "other"), [folder / "1"], report=tmp_path / "r.json")
    assert not (tmp_path / "other").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


@pytest.mark.parametrize("name", ["one", "small", "medium"])
def test_extracted_and_packed_again_a_read_shard_has_its_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """The manifest has the order of the objects and the seed."""
    original = DATA / f"swh/{name}.shard"
    assert run(["extract", str(original), str(tmp_path / "x")]) == 0
    assert run(["pack", "swh", str(tmp_path / "again"), "--manifest", str(tmp_path / "x/manifest.json")]) == 0
    assert (tmp_path / "again").read_bytes() == original.read_bytes()
    capsys.readouterr()


@pytest.mark.parametrize("format", ["bloscpack", "mdb", "xorb"])
def test_jobs_do_not_change_the_bytes(tmp_path: Path, format: str) -> None:
    chance = np.random.default_rng(7)
    content = b"".join(chance.bytes(100_000) + bytes(200_000) + b"0123" * 50_000 for _ in range(12))
    (tmp_path / "a").write_bytes(content)
    digests = []
    for jobs in (1, 2, 5):
        (tmp_path / str(jobs)).mkdir()
        done = pack(format, tmp_path / str(jobs) / "out", [tmp_path / "a"], jobs=jobs)
        assert done.report.ok
        digests.append([(file.path.name, file.sha256) for file in done.written])
    assert digests[0] == digests[1] == digests[2]


def test_nothing_is_replaced_where_all_inputs_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"content")
    pack("des", tmp_path / "x.des", [tmp_path / "a"])
    before = (tmp_path / "x.des").read_bytes()
    with pytest.raises(SourceError, match="none of 1 input can be packed: file not found"):
        pack("des", tmp_path / "x.des", [tmp_path / "gone"], force=True, skip_unreadable=True)
    assert (tmp_path / "x.des").read_bytes() == before
