"""How objects are taken out: files that exist, folders from keys, endings from contents, parts, the manifest."""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shardcore
from shardcore.model.objects import ObjectRef
from shardcore.operations.extraction import (
    ALL_PARTS,
    NO_PARTS,
    Conflict,
    Extracted,
    ExtractOptions,
    Names,
    extract_objects,
)
from shardcore.operations.extraction.names import HEAD, ending_of
from shardcore.operations.extraction.selection import all_rows, outer_kinds, taken_rows
from tests.shardcore.operations.extraction.test_extract import PartShard, safe
from tests.shardcore.operations.test_content_members import npy, zipped
from tests.shardcore.toy import LineShard

PLAIN = b"one=hello\ntwo.txt=x\n"

FILES = {
    "swh": "swh/small.shard",
    "xorb": "mdb/cas/xorbs/default.6832559ca1a258e44c08a9a7d938cd9f671f9040d3eef799c42db527f34b7c80",
    "neuroglancer": "neuroglancer/mesh",
    "des": "des/zstd.des",
    "bloscpack": "bloscpack/meta_0.blp",
}


def take(shard: Any, folder: Path, **options: Any) -> list[Extracted]:
    shard.load_index()
    chosen = ExtractOptions(**options)
    kinds = outer_kinds(shard.objects)
    rows = [row for piece in taken_rows(shard.objects, all_rows(shard.objects), chosen, kinds) for row in piece]
    return list(extract_objects(shard, map(shard.objects.ref, rows), folder, chosen))


def names(folder: Path) -> set[str]:
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    return {name for name in found if not name.startswith("manifest")}


@pytest.mark.parametrize(
    ("conflict", "content", "others", "told"),
    [
        (Conflict.ERROR, b"mine", set(), "error"),
        (Conflict.SKIP, b"mine", set(), "error"),
        (Conflict.RENAME, b"mine", {"one (3)"}, "path"),
        (Conflict.REPLACE, b"hello", set(), "path"),
    ],
)
def test_what_happens_to_files_that_exist(
    tmp_path: Path, conflict: Conflict, content: bytes, others: set[str], told: str
) -> None:
    (tmp_path / "one").write_bytes(b"mine")
    (tmp_path / "one (2)").write_bytes(b"mine, too")
    first, second = take(LineShard(PLAIN), tmp_path, conflict=conflict)
    assert (tmp_path / "one").read_bytes() == content
    assert (tmp_path / "two.txt").read_bytes() == b"x"
    assert names(tmp_path) == {"one", "one (2)", "two.txt"} | others
    assert getattr(first, told)
    assert bool(first.error) == (conflict in (Conflict.ERROR, Conflict.SKIP))
    assert not second.error


def test_name_and_size_decide_what_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"HELLO")
    (tmp_path / "two.txt").write_bytes(b"xx")
    first, second = take(LineShard(PLAIN), tmp_path, conflict=Conflict.SKIP)
    assert Path(first.skipped).read_bytes() == b"HELLO"
    assert "exists already, with 2 bytes instead of 1" in second.error
    assert (tmp_path / "two.txt").read_bytes() == b"xx"


@pytest.mark.parametrize("conflict", list(Conflict))
def test_folders_and_links_are_never_replaced_or_followed(tmp_path: Path, conflict: Conflict) -> None:
    out = tmp_path / "out"
    (out / "one" / "in").mkdir(parents=True)
    (tmp_path / "target").write_bytes(b"precious")
    (out / "two.txt").symlink_to(tmp_path / "target")
    take(LineShard(PLAIN), out, conflict=conflict)
    assert (out / "one" / "in").is_dir()
    assert (tmp_path / "target").read_bytes() == b"precious"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("conflict", list(Conflict))
def test_a_second_run_of_each_format(data: Path, tmp_path: Path, name: str, conflict: Conflict) -> None:
    with shardcore.open(data / FILES[name], partial=True) as shard:
        first = [result for result in take(shard, tmp_path) if result.path]
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        again = take(shard, tmp_path, conflict=conflict)
    wanted = {
        Conflict.ERROR: lambda result: "exists already" in result.error,
        Conflict.SKIP: lambda result: Path(result.skipped) in before,
        Conflict.RENAME: lambda result: " (2)" in result.path,
        Conflict.REPLACE: lambda result: Path(result.path) in before,
    }[conflict]
    assert sum(map(wanted, again)) == len(first)
    assert all(path.read_bytes() == content for path, content in before.items())
    assert (tmp_path / "manifest-2.json").exists()


def test_paths_stay_paths(tmp_path: Path) -> None:
    keys = ["a/b/c.txt", "a/d", "top", "../up", "/etc/passwd", "a//b", "a/./b", "a/..", "CON/x", "a\\b"]
    shard = LineShard("".join(f"{key}=1\n" for key in keys).encode())
    results = take(shard, tmp_path / "out", folders=True)
    paths = [Path(result.path).relative_to(tmp_path / "out") for result in results]
    assert [path.as_posix() for path in paths[:3]] == ["a/b/c.txt", "a/d", "top"]
    assert all(len(path.parts) == 1 for path in paths[3:8])
    assert paths[8].parts[0].startswith("_CON~")
    assert len(paths[9].parts) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert [line["path"] for line in manifest["objects"]] == [path.as_posix() for path in paths]


@pytest.mark.parametrize("keys", [("a", "a/b"), ("a/b", "a"), ("A/x", "a/x"), ("a/x", "A/y"), ("x/ß", "x/SS")])
def test_files_and_folders_of_one_name(tmp_path: Path, keys: tuple[str, ...]) -> None:
    """A file and a folder of one name, or names that differ in case only, are both extracted."""
    shard = LineShard("".join(f"{key}=1\n" for key in keys).encode())
    results = take(shard, tmp_path, folders=True)
    assert not any(result.error for result in results)
    assert len({name.casefold() for name in names(tmp_path)}) == len(keys)
    tops = [name.split("/")[0] for name in names(tmp_path)]
    assert len({top.casefold() for top in tops}) == len(set(tops))


paths = st.lists(st.text(alphabet="aAäß./~ \\\0con", max_size=12), max_size=30)


@given(paths)
def test_every_path_is_safe(keys: list[str]) -> None:
    giver = Names(["manifest.json"], folders=True)
    made = [giver.give(key) for key in keys]
    assert all(safe(part) for name in made for part in name.split("/"))
    folded = [name.casefold() for name in made]
    assert len(set(folded)) == len(folded)
    above = {name[:at] for name in folded for at, letter in enumerate(name) if letter == "/"}
    assert not above & set(folded)


def test_a_link_in_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (out / "a").symlink_to(tmp_path / "elsewhere")
    (out / "f").write_bytes(b"mine")
    shard = LineShard(b"a/b=1\nf/g=2\nc/d=3\n")
    for conflict in Conflict:
        results = take(shard, out, folders=True, conflict=conflict)
        assert ["not a folder" in result.error for result in results[:2]] == [True, True]
    assert not list((tmp_path / "elsewhere").iterdir())
    assert (out / "f").read_bytes() == b"mine"
    assert (out / "c/d").read_bytes() == b"3"


@pytest.mark.parametrize("swapped", ["out", "out/d"])
def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(tmp_path: Path, swapped: str) -> None:
    """The folder is replaced by a link after the first object."""
    if sys.platform != "linux":
        pytest.skip("no paths to folders that are held open")
    (tmp_path / "elsewhere/d").mkdir(parents=True)

    def swap(done: int, total: int) -> None:
        if done == 1:
            (tmp_path / swapped).rename(tmp_path / "moved")
            (tmp_path / swapped).symlink_to(tmp_path / "elsewhere")

    shard, options = LineShard(b"d/a=1\nd/b=2\nc=3\n"), ExtractOptions(folders=True, conflict=Conflict.RENAME)
    refs = map(shard.objects.ref, range(3))
    results = list(extract_objects(shard, refs, tmp_path / "out", options, progress=swap))
    assert not [path for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()]
    if swapped == "out":
        assert [result.path for result in results] == [str(tmp_path / "out" / name) for name in ("d/a", "d/b", "c")]
        assert sorted(path.name for path in (tmp_path / "moved").iterdir()) == ["c", "d", "manifest.json"]
    else:
        assert [bool(result.error) for result in results] == [False, True, False]
        assert str(tmp_path / "out/d") in results[1].error


def test_endings_from_contents(tmp_path: Path) -> None:
    shard = LineShard(b'page=%PDF-1.7\nnote=hello\nfacts={"a": 1}\nkept.dat=%PDF-\nv1.2=%PDF-\n')
    names_of = [Path(r.path).name for r in take(shard, tmp_path / "a", guess_extension=True)]
    assert names_of == ["page.pdf", "note.txt", "facts.json", "kept.dat", "v1.2.pdf"]
    take(shard, tmp_path / "b")
    assert names(tmp_path / "b") == {"page", "note", "facts", "kept.dat", "v1.2"}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ("", {"one.index", "one"}),
        (NO_PARTS, {"one.index"}),
        (ALL_PARTS, {"one.index", "one", "one.index.extra"}),
        ("backwards", {"one.index", "one"}),
        ("extra", {"one.index", "one.index.extra"}),
    ],
)
def test_parts(tmp_path: Path, parts: str, expected: set[str]) -> None:
    class TwoParts(PartShard):
        """A part with a file name, and one without."""

        def read_part(self, ref: ObjectRef, part: str, *, limit: int = 1000) -> bytes:
            return part.encode()

    shard = TwoParts(b"one=abc\n")
    ref = shard.find("one")
    ref = replace(ref, parts=("backwards", "extra"))
    list(extract_objects(shard, [ref], tmp_path, ExtractOptions(parts=parts)))
    assert names(tmp_path) == expected


def test_the_specification_is_in_the_manifest(data: Path, tmp_path: Path) -> None:
    """The specification or `info` with which the shard was read."""
    for name in ("bare_shard", "volume/4_4_40"):
        (path,) = sorted((data / "neuroglancer" / name).glob("0.shard"))
        with shardcore.open(path) as shard:
            stated = json.loads(shard.parameters)
            list(extract_objects(shard, [], tmp_path / name))
        spec = json.loads((tmp_path / name / "manifest.json").read_text())["spec"]
        if "scales" in spec:
            assert [scale["key"] for scale in spec["scales"]] == ["4_4_40"]
        assert (spec["scales"][0]["sharding"] if "scales" in spec else spec) == stated
        assert ("scales" in spec) == (name != "bare_shard")


@pytest.mark.parametrize(
    ("content", "ending"),
    [
        (b"", ""),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), ".png"),
        (b"\xff\xd8\xff\xe0" + bytes(20), ".jpg"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", ".webp"),
        (b"xxxx\x10\0\0\0WEBPVP8 ", ""),
        (gzip.compress(b"x", mtime=0), ".gz"),
        (zipped({"a": b"b"}), ".zip"),
        (b"%PDF-1.4\n", ".pdf"),
        (npy(np.arange(3)), ".npy"),
        (b"\x7fELF\2\1\1" + bytes(9), ".elf"),
        (bytes(257) + b"ustar\0" + bytes(250), ".tar"),
        (b"hello\n", ".txt"),
        ("grüße, 数据".encode(), ".txt"),
        (b"\x1b[1mbold\x1b[0m", ".txt"),
        (b"a\0b", ""),
        (b"\xff\xfe\x00", ""),
        (b'{"a": 1}', ".json"),
        (b"  [1, 2]\n", ".json"),
        (b"[]", ".json"),
        (b"[not json]", ".txt"),
        (b"{'a': 1}", ".txt"),
        (b"[" * 4000, ".txt"),
        (b"42", ".txt"),
        (bytes(100), ""),
    ],
)
def test_whole_contents(content: bytes, ending: str) -> None:
    assert ending_of(content, whole=True) == ending


def test_cut_contents() -> None:
    text = ("é" * HEAD).encode()[: HEAD - 1]
    assert ending_of(text, whole=False) == ".txt"
    assert ending_of(text, whole=True) == ""
    assert ending_of(json.dumps(list(range(10_000))).encode()[:HEAD], whole=False) == ".json"
