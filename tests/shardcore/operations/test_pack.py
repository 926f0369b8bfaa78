"""Packing as programs ask for it: plans that read no content, progress, and work that is stopped in between."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore import Cancelled, ObjectRef, Shard
from shardcore.errors import SourceError, UsageError
from shardcore.operations.convert import convert
from shardcore.operations.extraction import extract_objects
from shardcore.operations.pack import pack
from shardcore.progress import stopped_by
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.writing.manifest import ManifestReader
from shardcore.writing.temporary import write_whole

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of files whose names are numbers."""
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
    """With `unread` no file is opened; the plan is exact where nothing depends on contents, and says so where not."""
    written = pack(format, tmp_path / "x", [folder], options=options)

    def refuse(*given: Any, **named: Any) -> Any:
        raise AssertionError("a content was opened")

    monkeypatch.setattr(Path, "open", refuse)
    done = pack(format, tmp_path / "y", [folder], options=options, plan=True, unread=True)
    assert done.plan is not None
    assert done.plan.exact is exact
    assert done.plan.content == 10_000
    if exact:
        assert done.plan.size == written.written[0].size
    assert not (tmp_path / "y").exists()


def test_a_conversion_planned_without_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes of the objects are enough; where contents make the keys, the plan is an estimate."""
    with shardcore.open(DATA / "swh/small.shard") as shard:
        size = convert(shard, "des", tmp_path / "x.des").written[0].size

        def refuse(self: Shard, ref: ObjectRef) -> Iterator[bytes]:
            raise AssertionError("a content was read")

        monkeypatch.setattr(type(shard), "stream", refuse)
        plan = convert(shard, "des", tmp_path / "y.des", plan=True, unread=True).plan
        assert plan is not None
        assert (plan.exact, plan.size) == (True, size)
        plan = convert(shard, "des", tmp_path / "y.des", keys="sha256", plan=True, unread=True).plan
        assert plan is not None
        assert not plan.exact


def test_progress_knows_the_total(folder: Path, tmp_path: Path) -> None:
    """Who knows how many objects there are sees how far it is; verifying is told apart."""
    writing: list[tuple[int, int]] = []
    verifying: list[tuple[int, int]] = []
    pack(
        "des",
        tmp_path / "x.des",
        [folder],
        total=5,
        progress=lambda done, total: writing.append((done, total)),
        verifying=lambda done, total: verifying.append((done, total)),
    )
    assert writing == [(number, 5) for number in range(5)]
    assert verifying


def test_stopped_within_one_content(tmp_path: Path) -> None:
    """Work that nobody wants any more ends between two pieces of a large content, and leaves nothing."""
    large = tmp_path / "large.bin"
    large.write_bytes(bytes(5 << 20))
    (tmp_path / "out").mkdir()
    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked > 3:
            raise Cancelled

    with stopped_by(check), pytest.raises(Cancelled):
        pack("des", tmp_path / "out" / "x.des", [large])
    assert list((tmp_path / "out").iterdir()) == []


def test_how_it_is_opened_again(folder: Path, tmp_path: Path) -> None:
    """What the file does not state itself is told with what was written."""
    done = pack("neuroglancer", tmp_path / "x.shard", [folder])
    assert set(done.opening) == {"spec"}
    with shardcore.open(tmp_path / "x.shard", **done.opening) as shard:
        assert len(shard.read(shard.find("4"))) == 4000


@pytest.mark.parametrize(
    ("text", "is_one", "count"),
    [
        ("", True, 0),
        ('{"path": "a", "key": "k"}\n{"path": "b"}\n', True, 2),
        ('{"text": "a line of something else"}\n', False, 0),
        ('{\n "format": "des",\n "objects": [\n  {"path": "a"},\n  {"key": "k", "state": "deleted"}\n ]\n}\n', True, 1),
        ('{\n "format": "des",\n "objects": [\n ]\n}\n', True, 0),
    ],
)
def test_the_files_of_a_manifest(tmp_path: Path, text: str, is_one: bool, count: int) -> None:
    """Its beginning tells whether a file is a manifest; the files that it names can be counted without its facts."""
    where = tmp_path / "m.jsonl"
    where.write_text(text)
    manifest = ManifestReader(where, (), "")
    assert manifest.is_one is is_one
    assert len(list(manifest.paths())) == count
    manifest.close()


def test_an_input_is_never_replaced(folder: Path, tmp_path: Path) -> None:
    """A file that is named, by a manifest too, and would be replaced by the shard made of it: refused, and whole."""
    file = folder / "3"
    whole = file.read_bytes()
    (tmp_path / "link").symlink_to(file)
    listed = tmp_path / "list.jsonl"
    listed.write_text('{"path": "files/3", "key": "a"}\n')
    for given in ({"inputs": [file]}, {"inputs": [folder / "2", tmp_path / "link"]}, {"manifest": listed}):
        with pytest.raises(shardcore.UsageError, match="is an input and would be replaced: give the new shard another"):
            pack("des", file, force=True, **given)
        assert file.read_bytes() == whole
    # The link is replaced; what it leads to is not.
    pack("des", tmp_path / "link", [file], force=True)
    assert file.read_bytes() == whole


def test_a_shard_in_the_folder_that_is_packed(folder: Path) -> None:
    """Neither its temporary file nor the shard that it replaces is an object of it: the same call gives equal bytes."""
    out = folder / "all.des"
    first = pack("des", out, [folder])
    content = out.read_bytes()
    (folder / ".other.des.0123456789ab-1.part").write_bytes(b"of a run that was killed")
    again = pack("des", out, [folder], force=True)
    assert first.written[0].objects == again.written[0].objects == 5
    assert out.read_bytes() == content
    assert again.notes == (f"left out: {out}, which the new shard replaces",)


def test_what_folders_hold_besides_files_is_counted(folder: Path, tmp_path: Path) -> None:
    """Links and pipes are left out, and it is said."""
    (folder / "link").symlink_to("1")
    (folder / "up").symlink_to("..")
    os.mkfifo(folder / "pipe")
    notes = pack("des", tmp_path / "x", [folder]).notes
    assert notes == (
        "left out: 2 links, which are not followed in folders",
        "left out: 1 pipe, socket or device",
    )


def test_only_files_and_links_are_replaced(folder: Path, tmp_path: Path) -> None:
    """What is no file keeps its name, forced or not: a device that became a file would be missed by all programs."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for force in (False, True):
        with pytest.raises(shardcore.UsageError, match="is a pipe, a socket or a device; give the name of a file"):
            pack("des", pipe, [folder], force=force)
    assert pipe.is_fifo()
    with pytest.raises(shardcore.UsageError, match="is a pipe"):
        write_whole(pipe, [b"x"], force=True)


def test_a_shard_is_not_converted_into_itself(tmp_path: Path) -> None:
    """Neither the file that is read, nor a file of the folder that is read, nor that folder is replaced."""
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


def test_a_file_of_a_manifest_that_is_missing(tmp_path: Path) -> None:
    """The error names the line that names it."""
    (tmp_path / "list.jsonl").write_text('\n{"path": "nothing", "key": "a"}\n')
    with pytest.raises(shardcore.SourceError, match=r"cannot read .*nothing \(.*list.jsonl, line 2\): No such file"):
        pack("des", tmp_path / "x", manifest=tmp_path / "list.jsonl")
    with pytest.raises(shardcore.UsageError, match="created_at is not a date or time in ISO 8601: 'yesterday'"):
        (tmp_path / "nothing").write_bytes(b"")
        (tmp_path / "list.jsonl").write_text('{"path": "nothing", "key": "a", "created_at": "yesterday"}\n')
        pack("des", tmp_path / "x", manifest=tmp_path / "list.jsonl", options={"keep_date": True})


def test_the_result_manifest_is_planned(tmp_path: Path) -> None:
    """The file that tells what became of the keys is part of the plan, by name and size."""
    with shardcore.open(DATA / "swh/small.shard") as shard:
        plan = convert(shard, "mdb", tmp_path / "x.mdb", plan=True).plan
        written = convert(shard, "mdb", tmp_path / "x.mdb").written
    assert plan is not None
    assert [(file.name, file.size) for file in plan.files] == [
        (str(file.path.relative_to(tmp_path)), file.size) for file in written
    ]
    assert plan.files[-1].name == "x.mdb.manifest.json"


def test_a_name_that_is_no_text(folder: Path, tmp_path: Path) -> None:
    """A name that cannot be a uid is told with its file, and what to do; a manifest gives it another key."""
    (folder / os.fsdecode(b"\xff")).write_bytes(b"x")
    with pytest.raises(shardcore.UsageError, match=r"has no UTF-8 form; .*manifest"):
        pack("des", tmp_path / "x", [folder])


def test_shards_in_the_folder_that_is_packed(folder: Path) -> None:
    """Where it is written into itself, the shards of the run before are no objects; if named, they are refused."""
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
    """Format and target for `format`, or for `format/`, which is written into a folder."""
    format = name.rstrip("/")
    return format, str(folder / "out") + ("/" if name.endswith("/") else "")


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("unread", [False, True])
def test_a_stated_size_is_compared(tmp_path: Path, name: str, unread: bool) -> None:
    """A file of another size than its manifest states is refused by name with both sizes; nothing appears."""
    (tmp_path / "7").write_bytes(b"seven bytes and more")
    manifest = tmp_path / "m.json"
    manifest.write_text(json.dumps({"path": "7", "size": 1234}) + "\n")
    format, out = _target(tmp_path, name)
    with pytest.raises(SourceError, match=r"7 .*has a size of 20; the manifest states 1,234"):
        pack(format, out, manifest=manifest, plan=unread, unread=unread)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["7", "m.json"]


@pytest.mark.parametrize("name", WRITTEN)
def test_a_stated_sha256_is_compared(tmp_path: Path, name: str) -> None:
    """A file with another sha256 than its manifest states is refused with both; the right one is accepted."""
    content = b"the same size"
    (tmp_path / "7").write_bytes(content)
    right, wrong = hashlib.sha256(content).hexdigest(), hashlib.sha256(b"THE SAME SIZE").hexdigest()
    manifest = tmp_path / "m.json"
    format, out = _target(tmp_path, name)
    manifest.write_text(json.dumps({"path": "7", "size": len(content), "sha256": wrong}))
    with pytest.raises(SourceError, match=rf"7 .*has the sha256 {right}; the manifest states {wrong}"):
        pack(format, out, manifest=manifest)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["7", "m.json"]
    manifest.write_text(json.dumps({"path": "7", "size": len(content), "sha256": right.upper()}))
    done = pack(format, out, manifest=manifest)
    assert done.report is not None
    assert done.report.ok


def test_a_manifest_of_another_format_is_enforced(tmp_path: Path) -> None:
    """Size and sha256 are of decoded contents: the manifest of a compressed shard holds for any format."""
    (tmp_path / "a").write_bytes(b"a" * 5000)
    (tmp_path / "b").write_bytes(b"b" * 5000)
    pack("des", tmp_path / "x.des", [tmp_path / "a", tmp_path / "b"], options={"codec": "zstd"})
    with shardcore.open(tmp_path / "x.des") as shard:
        refs = [shard.find(key) for key in ("a", "b")]
        assert [line.error for line in extract_objects(shard, refs, tmp_path / "x")] == ["", ""]
    manifest = tmp_path / "x/manifest.json"
    assert pack("mdb", tmp_path / "fine.mdb", manifest=manifest).written
    (tmp_path / "x/b").write_bytes(b"B" * 5000)
    with pytest.raises(SourceError, match="has the sha256"):
        pack("mdb", tmp_path / "no.mdb", manifest=manifest)
    assert not (tmp_path / "no.mdb").exists()


def test_parts_are_enforced(tmp_path: Path) -> None:
    """The fragments of a mesh have a line of their own in a manifest, and are compared with it."""
    manifest = tmp_path / "m.json"
    pair = DATA / "neuroglancer/mesh"
    with shardcore.open(pair) as shard:
        assert not any(line.error for line in extract_objects(shard, [shard.objects.ref(0)], tmp_path / "x"))
        spec = json.loads(shard.parameters)
    manifest = tmp_path / "x/manifest.json"
    [part] = [one for one in json.loads(manifest.read_text())["objects"] if one.get("part") == "fragments"]
    fragments = tmp_path / "x" / part["path"]
    fragments.write_bytes(fragments.read_bytes()[::-1])
    with pytest.raises(SourceError, match=f"has the sha256 .*the manifest states {part['sha256']}"):
        pack("neuroglancer", f"{tmp_path}/out/", manifest=manifest, options={"spec": spec})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("line", [{"size": "12 KB"}, {"size": -1}, {"size": True}, {"sha256": "abc"}, {"sha256": 12}])
def test_what_is_stated_makes_sense(tmp_path: Path, line: dict[str, Any]) -> None:
    """A size that is no number, and a sha256 that is none, are refused with the line."""
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "m").write_text(json.dumps({"path": "a"} | line))
    with pytest.raises(UsageError, match=r"line 1: (size|sha256) must be"):
        pack("swh", tmp_path / "x", manifest=tmp_path / "m")


@pytest.mark.parametrize("how", ["longer", "touched", "replaced", "removed"])
def test_a_file_that_changes_while_it_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """A file that is written to, replaced or removed while it is read is an error with its name; nothing appears."""
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


def test_an_array_that_changes_while_it_is_packed(tmp_path: Path) -> None:
    """The array of a volume is compared, too, when its last chunk was read."""
    array = tmp_path / "v.npy"
    np.save(array, np.zeros((8, 8, 8), np.uint8))

    def touch(done: int, total: int) -> None:
        os.utime(array, ns=(done + 1, done + 1))

    with pytest.raises(SourceError, match=r"v\.npy changed while it was packed"):
        pack("neuroglancer", f"{tmp_path}/out/", options={"volume": str(array), "chunk_size": "4,4,4"}, progress=touch)
    assert not (tmp_path / "out").exists()


def test_a_compressed_input_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is decompressed while it is packed is compared, too."""
    import gzip

    from shardcore.formats.neuroglancer import encoded_files

    path = tmp_path / "5.gz"
    path.write_bytes(gzip.compress(b"five"))
    read = encoded_files.decompress_stream

    def change(*given: Any, **named: Any) -> Iterator[bytes]:
        yield from read(*given, **named)
        os.utime(path, ns=(1, 1))

    monkeypatch.setattr(encoded_files, "decompress_stream", change)
    with pytest.raises(SourceError, match=r"5\.gz changed while it was packed"):
        pack("neuroglancer", f"{tmp_path}/out/", [path])


def test_all_duplicates_are_named_at_once(tmp_path: Path) -> None:
    """Each pair of objects with one key is named, ten of them; further ones are counted."""
    contents = {"a": b"1", "b": b"2", "c": b"1", "d": b"2", "e": b"1"}
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        pack("swh", tmp_path / "x", [tmp_path / name for name in contents])
    pairs = ("/a and", "/c (", "/b and", "/d (", "/c and", "/e (")
    assert "3 pairs of objects have the same key" in caught.value.message
    assert all(one in caught.value.message for one in pairs)
    with shardcore.create(None, format="des") as writer:
        for number in range(13):
            writer.add("one", b"", label=f"file {number}")
        with pytest.raises(
            UsageError, match=r"12 pairs of objects have the same uid: .*and file 10 .*and 2 more pairs$"
        ):
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
    """With `dedupe` the first of equal objects is kept; the others are counted, and reported under its key."""
    content = b"equal" * (100_000 if large else 1)
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "d").write_bytes(b"another")
    inputs = [tmp_path / name for name in ("a", "b", "c", "d")]
    done = pack("swh", tmp_path / "x", inputs, options={"dedupe": True}, report=tmp_path / "r.json")
    assert done.notes == ("left out: 2 objects with the content of another",)
    pack("swh", tmp_path / "y", [inputs[0], inputs[3]])
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()
    planned = pack("swh", tmp_path / "z", inputs, options={"dedupe": True}, plan=True)
    assert planned.plan is not None
    assert planned.plan.size == (tmp_path / "x").stat().st_size
    assert planned.notes == done.notes
    keys = [one["stored"] for one in json.loads((tmp_path / "r.json").read_text())["objects"]]
    digest = hashlib.sha256(content).hexdigest()
    assert keys == [digest, digest, digest, hashlib.sha256(b"another").hexdigest()]


def test_other_contents_under_one_key_are_not_deduplicated(tmp_path: Path) -> None:
    """Of objects with one given key and different contents none is dropped: they are refused."""
    for name, data in (("a", b"1"), ("b", b"2"), ("c", b"1")):
        (tmp_path / name).write_bytes(data)
    key = "ab" * 32
    manifest = tmp_path / "m"
    manifest.write_text("\n".join(json.dumps({"path": name, "key": key}) for name in ("a", "c")))
    assert pack("swh", tmp_path / "x", manifest=manifest, options={"dedupe": True}).written[0].objects == 1
    manifest.write_text("\n".join(json.dumps({"path": name, "key": key}) for name in ("a", "b")))
    with pytest.raises(UsageError, match="have the same key"):
        pack("swh", tmp_path / "y", manifest=manifest, options={"dedupe": True})


@pytest.mark.parametrize("unread", [False, True])
@pytest.mark.parametrize("format", ["swh", "des", "mdb", "xorb", "neuroglancer", "bloscpack"])
def test_unreadable_inputs_are_skipped(folder: Path, tmp_path: Path, format: str, unread: bool) -> None:
    """Files that are not there or whose names are no keys are left out and named; the others are written."""
    (folder / "0").write_bytes(b"not empty")
    lines = [{"path": f"files/{name}"} for name in ("1", "gone", "2")]
    if format == "neuroglancer":
        (folder / "no number").write_bytes(b"odd")
    if format == "des":
        lines.insert(1, {"path": "files/4", "key": "x" * 70_000})
    if format == "bloscpack":
        lines.insert(1, {"path": "files/4", "key": "../x"})
    (tmp_path / "m").write_text("\n".join(map(json.dumps, lines)))
    out = f"{tmp_path}/out/" if format == "bloscpack" else str(tmp_path / "out")
    inputs = [folder, tmp_path / "missing"]
    if format == "des":
        inputs = [folder / "0", tmp_path / "missing"]
    if format == "bloscpack":
        inputs = [folder / "3", tmp_path / "missing"]
    if format in ("swh", "neuroglancer"):
        inputs = [folder / "0", tmp_path / "missing", folder / "no number"][: 3 if format == "neuroglancer" else 2]
    with pytest.raises((SourceError, UsageError)):
        pack(format, out, inputs, manifest=tmp_path / "m", plan=unread, unread=unread)
    done = pack(
        format,
        out,
        inputs,
        manifest=tmp_path / "m",
        plan=unread,
        unread=unread,
        skip_unreadable=True,
        report=tmp_path / "r.json",
    )
    names = [Path(one.name).name for one in done.skipped]
    odd = {"des": ["4"], "bloscpack": ["4"], "neuroglancer": ["no number"]}.get(format, [])
    assert sorted(names) == sorted(["gone", "missing", *odd])
    assert all(one.why for one in done.skipped)
    if unread:
        assert not (tmp_path / "r.json").exists()
        return
    assert done.report is not None
    assert done.report.ok
    reported = json.loads((tmp_path / "r.json").read_text())["objects"]
    assert len([one for one in reported if "error" in one]) == len(done.skipped)
    assert len([one for one in reported if "error" not in one]) == (7 if format in ("mdb", "xorb") else 3)


def test_what_is_refused_is_not_skipped(tmp_path: Path) -> None:
    """A content that is not what its manifest states is an error, though unreadable inputs are skipped."""
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "m").write_text(json.dumps({"path": "a", "size": 2}))
    with pytest.raises(SourceError, match="the manifest states 2"):
        pack("swh", tmp_path / "x", manifest=tmp_path / "m", skip_unreadable=True)


@pytest.mark.parametrize("format", ["swh", "des", "mdb", "xorb", "neuroglancer", "bloscpack/"])
def test_the_key_of_every_input_is_reported(folder: Path, tmp_path: Path, format: str) -> None:
    """A report has a line for every object, with the path of its input and the key under which it is found."""
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
        pack(
            format,
            f"{tmp_path}/other/" if out.endswith("/") else tmp_path / "other",
            [folder / "1"],
            report=tmp_path / "r.json",
        )
    assert not (tmp_path / "other").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_bloscpack_in_sub_folders_is_recognised(tmp_path: Path) -> None:
    """A tree without files at its top, packed, opens without naming the format; other trees do not."""
    for name in ("one/a", "two/deep/b"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(name.encode())
    pack("bloscpack", f"{tmp_path}/out/", [tmp_path / "in"])
    with shardcore.open(tmp_path / "out") as shard:
        assert shard.format == "bloscpack"
        assert shard.objects.keys[:] == ["one/a", "two/deep/b"]
        assert shard.read(shard.find("two/deep/b")) == b"two/deep/b"
    (tmp_path / "out/two/readme").write_text("no Bloscpack file")
    with pytest.raises(shardcore.NotAShard):
        shardcore.open(tmp_path / "out")
    with pytest.raises(shardcore.NotAShard):
        shardcore.open(tmp_path / "in")


@pytest.mark.parametrize("name", ["one", "small", "medium"])
def test_extracted_and_packed_again_a_read_shard_has_its_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """`extract` notes the order of the objects and the seed: packed again, it is the reference's file."""
    from shardcore.cli.program import run

    original = DATA / f"swh/{name}.shard"
    assert run(["extract", str(original), str(tmp_path / "x")]) == 0
    assert run(["pack", "swh", str(tmp_path / "again"), "--manifest", str(tmp_path / "x/manifest.json")]) == 0
    assert (tmp_path / "again").read_bytes() == original.read_bytes()
    capsys.readouterr()


def test_names_that_a_format_cannot_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key that is no name of a file is exit code 2 with the option that helps; with it, the objects are converted."""
    from shardcore.cli.program import run

    for number, key in enumerate(("../x", "a/../b", "n" * 300, "back\\slash", "/abs")):
        with shardcore.create(tmp_path / f"{number}.des", format="des") as writer:
            writer.add(key, b"data")
        command = ["convert", str(tmp_path / f"{number}.des"), "bloscpack", f"{tmp_path}/{number}/"]
        assert run(command) == 2
        assert "--key sha256, number or name creates others" in capsys.readouterr().err
        assert run([*command, "--key", "number"]) == 0
        with shardcore.open(tmp_path / str(number)) as shard:
            assert shard.read(shard.find("0")) == b"data"
        (tmp_path / "a").write_bytes(b"a")
        (tmp_path / "m").write_text(json.dumps({"path": "a", "key": key}))
        capsys.readouterr()
        assert run(["pack", "bloscpack", f"{tmp_path}/p/", "--manifest", str(tmp_path / "m")]) == 2
        assert "--skip-unreadable" in capsys.readouterr().err
    assert run(["pack", "neuroglancer", f"{tmp_path}/p/", str(tmp_path / "m")]) == 2
    assert "--manifest gives other keys, --skip-unreadable leaves out" in capsys.readouterr().err
    assert not (tmp_path / "p").exists()


def test_what_was_skipped_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 1; inputs that were skipped are named on standard error, or as lines of JSON."""
    from shardcore.cli.program import run

    (tmp_path / "a").write_bytes(b"a")
    gone = [str(tmp_path / f"gone{number}") for number in range(30)]
    command = ["pack", "swh", str(tmp_path / "x"), str(tmp_path / "a"), *gone, "--skip-unreadable", "--force"]
    assert run(command) == 1
    told = capsys.readouterr()
    assert told.err.count("skipped: there is no file") == 20
    assert "skipped: 10 more inputs" in told.err
    assert run([*command, "--json", "--report", str(tmp_path / "r")]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["objects"] == 1
    assert [one["skipped"] for one in lines[1:]] == gone
    assert len(json.loads((tmp_path / "r").read_text())["objects"]) == 31
    assert run(["pack", "des", str(tmp_path / "y"), str(tmp_path / "a"), "--dedupe"]) == 2
    assert "--dedupe is not supported for des (supported: swh)" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["bloscpack", "mdb", "xorb"])
def test_jobs_do_not_change_the_bytes(tmp_path: Path, format: str) -> None:
    """With several threads the same files are written as with one, whatever ends first."""
    chance = np.random.default_rng(7)
    content = b"".join(chance.bytes(100_000) + bytes(200_000) + b"0123" * 50_000 for _ in range(12))
    (tmp_path / "a").write_bytes(content)
    digests = []
    for jobs in (1, 2, 5):
        (tmp_path / str(jobs)).mkdir()
        done = pack(format, tmp_path / str(jobs) / "out", [tmp_path / "a"], jobs=jobs)
        assert done.report is not None
        assert done.report.ok
        digests.append([(file.path.name, file.sha256) for file in done.written])
    assert digests[0] == digests[1] == digests[2]


def test_members_are_opened_once_to_be_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading back a folder of many files opens each of them once."""
    for number in range(20):
        (tmp_path / f"{number}.txt").write_bytes(b"%d" % number * 500)
    opened: list[str] = []
    real = LocalFolder.open

    def noting(folder: LocalFolder, name: str) -> FileSource:
        opened.append(name)
        return real(folder, name)

    monkeypatch.setattr(LocalFolder, "open", noting)
    inputs = sorted(tmp_path.glob("*.txt"))
    done = pack("bloscpack", f"{tmp_path}/out/", inputs)
    assert done.report is not None
    assert done.report.ok
    assert sorted(name for name in opened if name.endswith(".blp")) == sorted(f"{path.name}.blp" for path in inputs)


def test_a_small_file_is_compared_with_its_manifest(tmp_path: Path) -> None:
    """A file that is read at once is held to the sha256 and the size of its line, as a large one is."""
    (tmp_path / "a").write_bytes(b"abc")
    digest = hashlib.sha256(b"abc").hexdigest()
    (tmp_path / "m").write_text(json.dumps({"path": "a", "size": 3, "sha256": digest}))
    assert pack("swh", tmp_path / "fine", manifest=tmp_path / "m").written
    for line in ({"size": 4}, {"sha256": digest[::-1]}):
        (tmp_path / "m").write_text(json.dumps({"path": "a"} | line))
        with pytest.raises(SourceError, match="the manifest states"):
            pack("swh", tmp_path / "wrong", manifest=tmp_path / "m")


def test_the_chunks_of_every_input_are_reported(tmp_path: Path) -> None:
    """The report of a xorb has the first chunk of each input and how many there are; an empty input has none."""
    contents = {"large": random.Random(1).randbytes(300_000), "nothing": b"", "small": b"small"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    pack("xorb", tmp_path / "x", [tmp_path / name for name in contents], report=tmp_path / "report")
    reported = json.loads((tmp_path / "report").read_text())["objects"]
    assert [Path(one["path"]).name for one in reported] == list(contents)
    with shardcore.open(tmp_path / "x") as xorb:
        assert len(xorb.objects) == sum(one["rows"] for one in reported)
        for one, content in zip(reported, contents.values(), strict=True):
            assert b"".join(xorb[row] for row in range(one["row"], one["row"] + one["rows"])) == content


def test_nothing_is_replaced_where_all_inputs_are_skipped(tmp_path: Path) -> None:
    """An empty shard never takes the place of a full one because its inputs cannot be read."""
    (tmp_path / "a").write_bytes(b"content")
    pack("des", tmp_path / "x.des", [tmp_path / "a"])
    before = (tmp_path / "x.des").read_bytes()
    with pytest.raises(SourceError, match="none of 1 input can be packed: there is no file"):
        pack("des", tmp_path / "x.des", [tmp_path / "gone"], force=True, skip_unreadable=True)
    assert (tmp_path / "x.des").read_bytes() == before


def test_a_line_that_is_skipped_is_named_by_its_file(tmp_path: Path) -> None:
    """What is skipped has the path of its file; the error names the line of the manifest, too."""
    (tmp_path / "a").write_bytes(b"content")
    lines = ({"path": "a"}, {"path": "a", "key": "zz"}, {"path": "gone"})
    (tmp_path / "m").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = pack("swh", tmp_path / "x", manifest=tmp_path / "m", skip_unreadable=True)
    assert [one.name for one in done.skipped] == [str(tmp_path / "a"), str(tmp_path / "gone")]
    assert f"{tmp_path / 'a'} ({tmp_path / 'm'}, line 2): a key of a swh shard" in done.skipped[0].why
