from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.errors import ShardError
from shardcore.model.finding import Severity
from shardcore.model.objects import State

DATA = Path(__file__).parents[3] / "data" / "bloscpack"
EXPECTED = json.loads((DATA / "expected.json").read_text())
CASES = {case["name"]: case for case in EXPECTED["cases"]}
HOSTILE = {case["path"]: case for case in EXPECTED["hostile"]}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_chunks_and_whole_are_as_expected(case: dict[str, Any]) -> None:
    with shardcore.open(DATA / case["path"]) as shard:
        assert len(shard.objects) == case["count"] == len(case["entries"])
        for entry in case["entries"]:
            ref = shard.find(entry["key"])
            assert (ref.size, ref.stored_size, ref.spans[0].start) == (entry["size"], entry["stored"], entry["offset"])
            assert sha256(shard.read(ref)) == entry["sha256"]
        whole = shard.find("all")
        data = shard.read(whole)
        assert (len(data), sha256(data)) == (case["size"], case["sha256"])
        assert b"".join(shard.stream(whole)) == data
        wished = dict(case["header"])
        meta = wished.pop("meta", None)
        if "checksum" in wished:
            assert shard.file.header.checksum.name == wished.pop("checksum")
        if case["version"] == 2:
            assert wished.pop("max_app_chunks") == shard.file.header.max_app_chunks == 0
        assert {name: shard.fields[f"header.{name}"] for name in wished} == wished
        assert (shard.metadata, shard.version) == (case["metadata"], str(case["version"]))
        section = shard.file.metadata
        assert (section is None) == (meta is None)
        if meta is not None:
            assert (section.checksum.name, section.codec) == (meta["checksum"], meta["codec"].lower())
            names = {"meta_size": "size", "max_meta_size": "max", "meta_comp_size": "stored", "meta_level": "level"}
            assert {name: section.values[name] for name in names} == {a: meta[b] for a, b in names.items()}
        trailing = [section.size for section in shard.sections if section.name == "trailing"]
        assert trailing == ([case["trailing"]] if case["trailing"] else [])
        notes = [finding.code for finding in shard.verify().findings if finding.severity is Severity.NOTE]
        assert ("bloscpack.trailing" in notes) == bool(case["trailing"])


@pytest.mark.parametrize("case", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files(case: dict[str, Any]) -> None:
    try:
        shard = shardcore.open(DATA / case["path"])
    except ShardError:
        assert case["must"].startswith("error")
        return
    with shard:
        report = shard.verify()
        assert not report.ok
        for row in range(len(shard.objects)):
            try:
                shard.read(shard.objects.ref(row))
            except ShardError:
                continue


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("flipped", {0}),
        ("truncated", {3}),
        ("ctbytes_huge", {0}),
        ("ctbytes_small", {0}),
        ("nbytes_huge", {0}),
        ("blocksize_zero", {0}),
        ("typesize_zero", {0}),
        ("nchunks_more", {4}),
        ("offset_past", set()),
        ("offset_header", set()),
    ],
)
def test_the_rest_of_a_damaged_file_stays_readable(name: str, broken: set[int]) -> None:
    with shardcore.open(DATA / f"hostile/{name}.blp") as shard, shardcore.open(DATA / "hostile/flipped.blp") as good:
        count = 5 if name == "nchunks_more" else 4
        assert len(shard.objects) == count
        for row in range(count):
            if row in broken:
                with pytest.raises(ShardError):
                    shard.read(shard.objects.ref(row))
            elif row:
                assert shard.read(shard.find(str(row))) == good.read(good.find(str(row)))
            else:
                assert shard.read(shard.find("0"))
        report = shard.verify()
        wrong = {int(f.key) for f in report.findings if f.severity is Severity.ERROR and f.key is not None}
        if name == "nchunks_more":
            broken = {3, 4}  # the header takes the short last chunk for one in the middle
        assert wrong == (broken or {1})
        shard.load_index()
        for row in set() if name in ("flipped", "nbytes_huge", "nchunks_more") else broken:
            assert (shard.objects.ref(row).state, bool(shard.objects.ref(row).error)) == (State.DAMAGED, True)
