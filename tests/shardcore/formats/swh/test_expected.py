"""Shards of the reference writers, alone and as a folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import FormatError, NotAShard
from shardcore.formats.swh import folder as swh_folder
from shardcore.model.finding import Severity
from shardcore.model.objects import State
from shardcore.operations.recover import salvage
from shardcore.shards.salvage import Condition
from shardcore.sources.local import LocalFolder
from shardcore.testing import CountingFolder
from shardcore.testing.checks import live_keys

DATA = Path(__file__).parents[3] / "data" / "swh"


@pytest.mark.parametrize("name", ["one", "small", "deleted", "legacy", "medium"])
def test_samples_are_those_of_the_reference(name: str) -> None:
    expected = json.loads((DATA / f"{name}.expected.json").read_text())
    objects = expected["objects"]
    if isinstance(objects, dict):
        objects = [dict(item, key=key) for key, item in objects.items()]
    live = [item for item in objects if not item["deleted"]]
    absent = [*(item["key"] for item in objects if item["deleted"]), *expected.get("absent", [])]
    with shardcore.open(DATA / f"{name}.shard") as shard:
        fields = {f"header.{name}": value for name, value in expected["header"].items()}
        assert shard.fields.items() >= (fields | {"hash_function.end": expected["hash_end"]}).items()
        assert len(shard.objects) == expected["slots"]
        for item in live[:300]:
            ref = shard.find(item["key"])
            assert (ref.extras["slot"], ref.extras["offset"], ref.size) == (item["slot"], item["offset"], item["size"])
            assert hashlib.sha256(shard.read(ref)).hexdigest() == item["sha256"]
        rows = shard.find_many([item["key"] for item in live] + absent)
        assert rows.tolist() == [item["slot"] for item in live] + [-1] * len(absent)
        assert {shard.trace(key).outcome for key in absent} <= {"absent"}
        shard.load_index()
        columns = shard.objects[:]
        rows = columns.row[columns.state == State.LIVE]
        listed = dict(zip(shard.objects.key_texts(rows), columns.size[rows].tolist(), strict=True))
        assert listed == {item["key"]: item["size"] for item in live}
        assert columns.start[shard.objects.order("offset")].tolist() == sorted(item["offset"] + 8 for item in live)
        assert columns.size[shard.objects.order("size")].tolist() == sorted(item["size"] for item in live)


def test_deletions_and_old_slots_are_no_errors() -> None:
    """The reference's own check fails on shards with deletions."""
    with shardcore.open(DATA / "deleted.shard") as shard:
        report = shard.verify("content")
        assert report.ok
        assert [f.code for f in report.findings] == ["swh.deleted"]
    with shardcore.open(DATA / "legacy.shard") as shard:
        assert [f.code for f in shard.verify("content").findings] == ["swh.legacy-unused"]


def test_the_signed_dialect_is_reported_and_recovered(tmp_path: Path) -> None:
    """Keys of the signed dialect are not found, verification says why, and all objects are recovered."""
    with shardcore.open(DATA / "dialect" / "signed_dialect.shard") as shard:
        keys = [key for key in shard.objects.keys if key is not None]
        for ask in (lambda: shard.find(keys[0]), lambda: shard.find_many(keys)):
            with pytest.raises(shardcore.FormatError, match="does not match the keys"):
                ask()
        assert all(len(shard.read(shard.objects.ref(row))) >= 0 for row in range(3))
    assert salvage(DATA / "dialect" / "signed_dialect.shard", tmp_path / "out").count(Condition.WHOLE) == len(keys)
    with shardcore.open(DATA / "dialect" / "signed_dialect.shard") as shard:
        report = shard.verify("index")
        assert not report.ok
        assert [f.code for f in report.findings if f.severity is shardcore.Severity.ERROR] == ["swh.signed-dialect"]


NAMES = ("deleted", "legacy", "medium", "one")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        shutil.copy(DATA / f"{name}.shard", tmp_path / (name if name == "one" else f"{name}.shard"))
    (tmp_path / "README").write_text("Not a shard, and longer than a header would be. " * 4)
    return tmp_path


def test_a_folder_is_known_by_the_magic_of_its_files(folder: Path) -> None:
    assert shardcore.detect(folder).format == "swh"
    with shardcore.open(folder) as shard:
        assert shard.why == "magic SWHShard in 3 of the first 4 files"
        assert [member.name for member in shard.members] == ["deleted.shard", "legacy.shard", "medium.shard", "one"]
        assert shard.fields == {"dataset.members": 4}
        shard.load_index()
        assert shard.declared_objects == len(shard.objects) == 13 + 13 + 2027 + 11


def test_recognising_looks_at_a_handful_of_files(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"{number:03}.shard").write_bytes((DATA / "one.shard").read_bytes())
    folder = CountingFolder(LocalFolder(tmp_path))
    assert swh_folder.detect_folder(folder) is not None
    assert len({name for name, _, _ in folder.ranges}) <= 5
    with shardcore.open(folder) as shard:
        assert len(shard.members) == 200
        assert len({name for name, _, _ in folder.ranges}) <= 5 + swh_folder.MOST_ASKED


def test_a_key_is_sought_in_every_shard_and_the_trace_says_why(folder: Path) -> None:
    with shardcore.open(DATA / "one.shard") as one:
        key = live_keys(one)[0]
        content = one.read(one.find(key))
    with shardcore.open(folder) as shard:
        ref = shard.find(key)
        assert (ref.shard, shard.read(ref)) == ("one", content)
        trace = shard.trace(key)
        assert (trace.outcome, trace.ref) == ("found", ref)
        asked = list(dict.fromkeys(span.source for step in trace.steps for span in step.spans))
        assert asked == ["deleted.shard", "legacy.shard", "medium.shard", "one"]
        with pytest.raises(shardcore.UsageError, match="64 hex digits"):
            shard.find("zz")


def test_a_key_in_several_shards(folder: Path) -> None:
    with shardcore.open(folder) as shard, shardcore.open(DATA / "deleted.shard") as deleted:
        for key in live_keys(deleted):
            assert shard.find(key).shard == "deleted.shard"
            assert [ref.shard for ref in shard.find_all(key)][:2] == ["deleted.shard", "legacy.shard"]


def test_a_damaged_shard_hides_only_what_is_in_it(folder: Path) -> None:
    with shardcore.open(DATA / "one.shard") as one:
        key = live_keys(one)[0]
    whole = (folder / "medium.shard").read_bytes()
    (folder / "medium.shard").write_bytes(whole[:-40])
    with shardcore.open(folder) as shard:
        assert (shard.find(key).shard, shard.find_many([key])[0]) == ("one", shard.find(key).row)
        with pytest.raises(FormatError) as caught:
            shard.find_many([key, "00" * 32])
        assert (caught.value.span.source, list(shard.unreadable)) == ("medium.shard", ["medium.shard"])
        assert [f.code for f in shard.verify().findings if f.severity is Severity.ERROR] == ["swh.unreadable"]


def test_an_info_keeps_a_folder_with_neuroglancer(tmp_path: Path) -> None:
    source = DATA.parent / "neuroglancer" / "volume"
    shutil.copytree(source, tmp_path / "volume")
    for scale in (tmp_path / "volume").iterdir():
        shutil.copy(DATA / "one.shard", (scale if scale.is_dir() else scale.parent) / "one.shard")
    assert shardcore.detect(tmp_path / "volume").format == "neuroglancer"
    assert shardcore.detect(tmp_path / "volume" / "4_4_40").format == "neuroglancer"


def test_neuroglancer_shards_without_info_are_no_data_set(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.shard").write_bytes(bytes(200))
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path)
    with pytest.raises(NotAShard, match="no file in this folder begins with SWHShard"):
        shardcore.open(tmp_path, format="swh")
