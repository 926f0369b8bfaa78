"""Objects as files: safe names, nothing outside the folder, nothing overwritten."""

from __future__ import annotations

import hashlib
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shardcore
from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, SourceError, TimedOut, UsageError
from shardcore.model.objects import ObjectRef
from shardcore.operations.extraction import Conflict, ExtractOptions, Names, extract_objects, write_object
from shardcore.shards.shard import DEFAULT_LIMIT
from shardcore.testing import CountingSource
from tests.shardcore.fake_systems import macos, windows
from tests.shardcore.toy import LineShard

SAMPLES = Path(__file__).parents[4] / "resources" / "samples"
KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
FOLDERS = ExtractOptions(folders=True)

SHARD = b"one=hello\n../up=x\nbad=ab!\nONE=other\n\xff\xfe=raw\none=again\n"

DEVICES = ["con", "NUL", "aux.txt", "COM1", "lpt9.tar.gz", "com\u00b9", "CONIN$", "con .txt"]


def safe(name: str) -> bool:
    return (
        0 < len(name.encode()) <= 255 - 20
        and not set(name) & set('/\\:*?"<>|\0')
        and name.isprintable()
        and not name.startswith((".", "-", "~", " "))
        and not name.endswith((".", " "))
        and name.partition(".")[0].strip().lower() not in {"con", "nul", "aux", "prn", "com1", "lpt9", "conin$"}
    )


odd_keys = st.one_of(
    st.text(max_size=40),
    st.sampled_from([*DEVICES, "..", ".", "", "/", "../..", "a/b", "-rf", "~", "a~", ".hid", "x" * 65535, "é" * 3000]),
    st.text(alphabet="aAäÄ\u0308ßsS~./ ", max_size=6),
    st.text(alphabet=st.characters(codec=None), max_size=5),
)


@given(st.lists(odd_keys, max_size=40))
def test_every_key_has_a_safe_name_of_its_own(keys: list[str]) -> None:
    """Names differ on every file system, whatever letters it takes as equal."""
    names = Names(["manifest.json"])
    given = [names.give(key) for key in keys]
    assert all(map(safe, given)), given
    for form in ("NFC", "NFD", "NFKC"):
        folded = {unicodedata.normalize(form, name).casefold() for name in given} | {"manifest.json"}
        assert len(folded) == len(given) + 1


@pytest.mark.parametrize("key", [*DEVICES, "../../etc/passwd", "a/b", "", ".profile", "-x", "a\nb", "\u202etxt.exe"])
def test_names_of_other_keys_follow_from_the_key(key: str) -> None:
    """The name has a digest of the key, and does not depend on earlier names."""
    alone, late = Names(), Names()
    for other in ("x", "y/z", "con.txt"):
        late.give(other)
    name = alone.give(key)
    assert name == late.give(key)
    assert hashlib.sha256(key.encode()).hexdigest()[:8] in name


def test_extracting_leaves_files_and_a_manifest(tmp_path: Path) -> None:
    shard = LineShard(SHARD)
    refs = [shard.objects.ref(row) for row in range(6)]
    told: list[tuple[int, int]] = []
    out = tmp_path / "new" / "out"
    results = list(extract_objects(shard, refs, out, total=6, progress=lambda a, b: told.append((a, b))))
    assert [r.key for r in results] == ["one", "../up", "bad", "ONE", None, "one"]
    assert [bool(r.error) for r in results] == [False, False, True, False, False, False]
    contents = [b"hello", b"x", None, b"other", b"raw", b"again"]
    for result, content in zip(results, contents, strict=True):
        if content is None:
            assert (result.path, result.sha256) == ("", "")
            continue
        assert Path(result.path).parent == out
        assert Path(result.path).read_bytes() == content
        assert (result.size, result.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert Path(results[0].path).name == "one"
    assert Path(results[4].path).name == "fffe"
    assert told == [(n, 6) for n in range(1, 7)]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["format"] == "lines"
    by_name = {line["path"]: line for line in manifest["objects"] if line["path"]}
    assert {p.name for p in out.iterdir()} == {"manifest.json", *by_name}
    assert by_name["one"]["sha256"] == hashlib.sha256(b"hello").hexdigest()
    assert "damaged" in next(line for line in manifest["objects"] if not line["path"])["error"]


def test_an_object_that_cannot_be_named_does_not_end_the_rest(tmp_path: Path) -> None:
    shard = LineShard(b"one=hello\ntwo=x\n")

    def ref(row: int) -> ObjectRef:
        if row == 0:
            raise FormatError("row 0 is broken")
        return shard.objects.ref(row)

    results = list(extract_objects(shard, map(ref, [0, 1]), tmp_path))
    assert [(r.key, bool(r.error)) for r in results] == [(None, True), ("two", False)]


def test_limits_hold_for_each_object(tmp_path: Path) -> None:
    shard = LineShard(b"one=hello\ntwo=x\n")
    results = list(extract_objects(shard, map(shard.objects.ref, [0, 1]), tmp_path, ExtractOptions(limit=3)))
    assert ["limit" in r.error for r in results] == [True, False]
    with pytest.raises(LimitExceeded):
        write_object(shard, shard.find("one"), tmp_path / "x", limit=4)
    assert not (tmp_path / "x").exists()
    assert write_object(shard, shard.find("one"), tmp_path / "x", limit=5) == 5
    with pytest.raises(UsageError):
        write_object(shard, shard.find("one"), tmp_path / "x")


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file/below", tmp_path / "a\0b"):
        with pytest.raises(SourceError):
            list(extract_objects(LineShard(b""), iter(()), folder))


class PartShard(LineShard):
    """Lines whose contents have a second file, the content backwards, named as the key is."""

    def file_names(self, ref: ObjectRef) -> dict[str, str]:
        return {"": f"{ref.key}.index", "backwards": f"{ref.key}"}

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """The content from its end; that of `bad` cannot be had, and a limit holds."""
        data = self.read(ref)[::-1]
        if ref.key == "bad":
            raise FormatError("no way back")
        if len(data) > limit:
            raise LimitExceeded("too long")
        return data


def test_parts_with_names_are_files_beside_the_object(tmp_path: Path) -> None:
    shard = PartShard(b"one=abc\nbad=x\n../up=de\n")
    pieces: list[int] = []
    results = list(extract_objects(shard, map(shard.objects.ref, range(3)), tmp_path, each_piece=pieces.append))
    assert [(r.key, r.part, bool(r.error)) for r in results] == [
        ("one", "", False),
        ("one", "backwards", False),
        ("bad", "", False),
        ("bad", "backwards", True),
        ("../up", "", False),
        ("../up", "backwards", False),
    ]
    assert (tmp_path / "one.index").read_bytes() == b"abc"
    assert (tmp_path / "one").read_bytes() == b"cba"
    assert not (tmp_path / "bad").exists()
    assert sum(pieces) == sum(r.size for r in results)
    manifest = json.loads((tmp_path / "manifest.json").read_text())["objects"]
    named = {line["path"]: (line["key"], line.get("part")) for line in manifest if line["path"]}
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", *named}
    assert (named["one.index"], named["one"]) == (("one", None), ("one", "backwards"))
    assert Path(results[5].path).parent == tmp_path


class LostShard(LineShard):
    """Lines of which the later ones are on a server that is lost."""

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        if ref.row >= 150:
            raise TimedOut("no answer")
        return super()._stream(ref)


def test_several_objects_are_written_at_a_time(tmp_path: Path) -> None:
    lines = [b"%s%d=%s\n" % (b"a/b/" if n % 3 else b"", n, b"!" if n % 50 == 7 else b"%d" % n) for n in range(300)]
    for kind in (LineShard, LostShard):
        found = []
        for jobs in (1, 8):
            shard = kind(b"".join(lines))
            shard.jobs = jobs
            folder = tmp_path / f"{kind.__name__} {jobs}"
            results = list(extract_objects(shard, map(shard.objects.ref, range(300)), folder, FOLDERS))
            manifest = json.loads((folder / "manifest.json").read_text())["objects"]
            lines_of = [one.line() | {"path": one.path.removeprefix(str(folder))} for one in results]
            found.append((lines_of, manifest, [one.last for one in results]))
        assert found[0] == found[1]
        assert len(found[0][0]) == (300 if kind is LineShard else 151)


def test_keys_choose(tmp_path: Path) -> None:
    with shardcore.open(SAMPLES / "swh" / "small.shard") as shard:
        (file,) = shardcore.extract(shard, tmp_path / "out", [bytes.fromhex(KEY)]).files
        assert Path(file.path).read_bytes() == shard[KEY]
        with pytest.raises(KeyAbsent):
            shardcore.extract(shard, tmp_path / "none", [KEY, bytes(32)])
        with pytest.raises(UsageError, match="cannot be combined"):
            shardcore.extract(shard, tmp_path / "none", [KEY], match="*")
        assert shardcore.extract(shard, tmp_path / "none", match="nothing").files == ()
        with pytest.raises(UsageError, match="no objects of kind 'xorb'"):
            shardcore.extract(shard, tmp_path / "none", kind="xorb")
        assert not (tmp_path / "none").exists()
        assert shardcore.extract(shard, tmp_path / "empty", []).files == ()


def des_shard(path: Path, contents: dict[str, bytes]) -> Path:
    with shardcore.create(path, format="des") as writer:
        writer.add_many([*contents], [*contents.values()])
    return path


@pytest.mark.parametrize(("conflict", "system"), [("error", nullcontext), ("skip", macos), ("replace", windows)])
def test_small_objects_together_are_as_one_by_one(tmp_path: Path, conflict: str, system: Any) -> None:
    keys = ["a/b/1", "a/2", "../up", "A/2", "con.txt", "there", "x" * 300, "a b.txt", "manifest.json", "large"]
    source = des_shard(tmp_path / "x.des", {key: key.encode() * (30_000 if key == "large" else 1) for key in keys})
    options, found = ExtractOptions(folders=True, conflict=Conflict(conflict)), list[Any]()
    for together in (True, False):
        (out := tmp_path / "out").mkdir()
        (out / "there").write_text("there")
        with system(), shardcore.open(source) as shard:
            files = shardcore.extract(shard, out, options=options).files if together else ()
            found.append(list(files or extract_objects(shard, list(shard.objects), out, options)))
        found.append({path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()})
        out.rename(tmp_path / str(together))
    assert found[:2] == found[2:]


WORK: dict[str, tuple[float, float, Callable[[shardcore.Shard, Path], object]]] = {
    "read": (18, 1.01, lambda shard, _: [shard[f"object {row}"] for row in range(len(shard.objects))]),
    "convert": (5, 0.01, lambda shard, out: shardcore.convert(shard, "des", out)),
    "extract": (26, 0.01, shardcore.extract),
}
"""Maximum calls of Python functions and reads of the shard per object, by operation."""


@pytest.mark.parametrize("name", WORK)
def test_little_runs_for_each_object(tmp_path: Path, name: str) -> None:
    found, (calls, reads, work) = [], WORK[name]
    for count in (550, 1_050):
        path = des_shard(tmp_path / f"{count}.des", {f"object {row}": b"%d" % row for row in range(count)})
        source, events = CountingSource(path.read_bytes()), list[str]()
        with shardcore.open(source) as shard:
            sys.setprofile(lambda *given, events=events: events.append(given[1]))
            try:
                work(shard, tmp_path / f"{count}.out")
            finally:
                sys.setprofile(None)
        found.append((events.count("call"), len(source.ranges)))
    (few, once), (many, often) = found
    assert (many - few) / 500 <= calls
    assert (often - once) / 500 <= reads


def test_members_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    where = tmp_path / "set"
    where.mkdir()
    for path in (SAMPLES / "des" / "archive").glob("*.des"):
        (where / path.name).write_bytes(path.read_bytes())
    broken = sorted(where.glob("*.des"))[0]
    broken.write_bytes(broken.read_bytes()[:20])
    with shardcore.open(where) as shards:
        done = shardcore.extract(shards, tmp_path / "out")
    assert list(done.unreadable) == [broken.name]
    assert not done.ok
    assert done.files
