"""Shards of the reference writers, and hostile shards with their findings."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, Truncated
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.model.objects import State
from shardcore.model.span import Span
from shardcore.operations.extraction import extract_objects

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
CASES: list[dict[str, Any]] = EXPECTED["cases"]


def folder_of(case: dict[str, Any]) -> Path:
    return DATA / case["path"] / case.get("scale", "")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def hostile(name: str) -> Path:
    return DATA / "hostile" / name / "0.shard"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_value(case: dict[str, Any]) -> None:
    with shardcore.open(folder_of(case) / ("0.shard" if case["opener"] == "shard only" else "")) as shard:
        assert len(shard.objects) == case["count"]
        assert sorted(map(int, filter(None, shard.objects.keys))) == sorted(int(e["key"]) for e in case["entries"])
        for entry in case["entries"]:
            ref = shard.find(entry["key"])
            data = shard.read(ref)
            assert (len(data), sha256(data)) == (entry["size"], entry["sha256"])
            assert shard.objects.ref(ref.row).size == entry["size"]
            if "fragments_size" in entry:
                assert ref.parts == ("fragments",)
                fragments = shard.read_part(ref, "fragments")
                assert (len(fragments), sha256(fragments)) == (entry["fragments_size"], entry["fragments_sha256"])
                assert ref.spans[1].size == entry["fragments_size"]
                assert ref.spans[1].stop == ref.spans[0].start
            if "cell" in entry:
                assert (ref.extras["cell"], ref.extras["shape"]) == (entry["cell"], entry["shape"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_files_one_by_one(case: dict[str, Any]) -> None:
    files = [path for path in sorted(folder_of(case).iterdir()) if path.suffix in (".shard", ".index", ".data")]
    seen: dict[str, set[str]] = {}
    for path in files:
        with shardcore.open(path) as shard:
            assert shard.spec == ShardingSpec.parse(case["spec"])
            seen[path.name] = {key for key in shard.objects.keys if key is not None}
            for entry in case["entries"]:
                if entry["key"] in seen[path.name]:
                    assert sha256(shard.read(shard.find(entry["key"]))) == entry["sha256"]
                else:
                    with pytest.raises(KeyAbsent):
                        shard.find(entry["key"])
    assert set().union(*seen.values()) == {entry["key"] for entry in case["entries"]}


def test_hostile_truncated_index() -> None:
    with pytest.raises(Truncated) as caught:
        shardcore.open(hostile("truncated_index"))
    assert caught.value.span is not None
    with shardcore.open(hostile("truncated_index"), partial=True) as shard:
        assert shard.damage is not None
        assert [s.name for s in shard.sections] == ["shard index"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("end_before_start", "neuroglancer.backward-range"),
        ("past_eof", "neuroglancer.range-outside"),
        ("not_multiple_of_24", "neuroglancer.minishard-index"),
        ("gzip_bad_length", "neuroglancer.minishard-index"),
        ("gzip_bomb_index", "neuroglancer.minishard-index"),
    ],
)
def test_hostile_minishards(name: str, code: str) -> None:
    tracemalloc.start()
    try:
        with shardcore.open(hostile(name)) as shard:
            ref = shard.objects.ref(0)
            assert (len(shard.objects), ref.key, ref.state) == (1, None, State.DAMAGED)
            assert "minishard 0" in ref.error
            with pytest.raises(FormatError):
                shard.find("2")
            assert shard.trace("2").outcome == "damaged"
            with pytest.raises(FormatError):
                shard.read(ref)
            with pytest.raises(KeyAbsent):
                shard.find("1")
            assert code in [finding.code for finding in shard.verify("index").findings if not shard.verify().ok]
        with shardcore.open(hostile(name), partial=True) as shard:
            damage = shard.damage and shard.damage.span
            assert (damage == Span("", 0, 16)) is code.endswith(("-range", "-outside"))
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_hostile_chunk_past_the_end() -> None:
    with shardcore.open(hostile("chunk_past_eof")) as shard:
        assert shard.read(shard.find("2")) == b"abc"
        with pytest.raises(FormatError, match="4,611,686,018,427,387,904 bytes at 0x23"):
            shard.find("4")
        assert [shard.objects.ref(row).state for row in (0, 1)] == [State.LIVE, State.DAMAGED]
        assert shard.objects[:].start.tolist() == [32, -1]
        assert [f.code for f in shard.verify("index").findings] == ["neuroglancer.value-outside"]


@pytest.mark.parametrize(
    ("name", "keys", "contents", "found", "code"),
    [
        # A sum of ids past 2**64 wraps as in other readers, and is reported.
        ("id_overflow", ["18446744073709551614", "4"], [b"abc", b"def"], [0, 1], "id-overflow"),
        ("duplicate_id", ["2", "2"], [b"abc", b"def"], [0, 0], "duplicate-id"),
        ("wrong_minishard", ["2", "4"], [b"abc", b"def"], [-1, -1], "wrong-minishard"),
    ],
)
def test_hostile_ids(name: str, keys: list[str], contents: list[bytes], found: list[int], code: str) -> None:
    with shardcore.open(hostile(name)) as shard:
        assert (list(shard.objects.keys), [shard.read(ref) for ref in shard.objects]) == (keys, contents)
        assert shard.find_many(keys).tolist() == found
        assert {f.code for f in shard.verify("index").findings} == {f"neuroglancer.{code}"}
        if name == "duplicate_id":
            assert shard.find("2").row == 0
            assert [shard.read(ref) for ref in shard.find_all("2")] == contents
    with shardcore.open(hostile("self_overlap")) as shard:
        assert len(shard.objects) == 4
        assert {f.code for f in shard.verify("structure").findings} == {"neuroglancer.shared-index"}


def test_meshes_are_extracted_under_their_unsharded_names(tmp_path: Path) -> None:
    expected = {entry["key"]: entry for case in CASES if case["name"] == "mesh" for entry in case["entries"]}
    for name, path in (("set", DATA / "mesh"), ("shard", DATA / "mesh" / "0.shard")):
        with shardcore.open(path) as shard:
            shard.load_index()
            refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
            results = list(extract_objects(shard, refs, tmp_path / name))
        assert not any(result.error for result in results)
        assert len(results) == 2 * len(refs)
        for ref in refs:
            entry = expected[str(ref.key)]
            manifest, fragments = tmp_path / name / f"{ref.key}.index", tmp_path / name / f"{ref.key}"
            assert sha256(manifest.read_bytes()) == entry["sha256"]
            assert sha256(fragments.read_bytes()) == entry["fragments_sha256"]
    with shardcore.open(DATA / "tiny_worked_example" / "0.shard") as shard:
        assert shard.file_names(shard.find("1")) == {"": "1"}
