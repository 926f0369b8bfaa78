"""Shards of the reference writers hold what their descriptions say."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.model.objects import State
from shardcore.operations.recover import salvage
from shardcore.shards.salvage import Condition

DATA = Path(__file__).parents[3] / "data" / "swh"
NAMES = ("one", "small", "deleted", "legacy", "medium")


@pytest.fixture(params=NAMES)
def described(request: pytest.FixtureRequest) -> tuple[Path, dict[str, Any]]:
    path = DATA / f"{request.param}.shard"
    return path, json.loads((DATA / f"{request.param}.expected.json").read_text())


def live_objects(expected: dict[str, Any]) -> list[dict[str, Any]]:
    return [o for o in objects_of(expected) if not o["deleted"]]


def objects_of(expected: dict[str, Any]) -> list[dict[str, Any]]:
    objects = expected["objects"]
    return [dict(o, key=key) for key, o in objects.items()] if isinstance(objects, dict) else objects


def absent_keys(expected: dict[str, Any]) -> list[str]:
    return list(expected.get("absent", []))


def test_header_fields_are_those_of_the_reference(described: tuple[Path, dict[str, Any]]) -> None:
    path, expected = described
    with shardcore.open(path) as shard:
        for name, value in expected["header"].items():
            assert shard.fields[f"header.{name}"] == value
        assert len(shard.objects) == expected["slots"]
        assert shard.fields["hash_function.end"] == expected["hash_end"]


def test_every_object_is_found_in_its_slot_with_its_content(described: tuple[Path, dict[str, Any]]) -> None:
    path, expected = described
    with shardcore.open(path) as shard:
        for item in live_objects(expected)[:300]:
            ref = shard.find(item["key"])
            assert (ref.extras["slot"], ref.extras["offset"]) == (item["slot"], item["offset"])
            assert ref.size == item["size"]
            assert hashlib.sha256(shard.read(ref)).hexdigest() == item["sha256"]


def test_all_keys_at_once_land_in_their_slots(described: tuple[Path, dict[str, Any]]) -> None:
    path, expected = described
    with shardcore.open(path) as shard:
        live = live_objects(expected)
        gone = [o["key"] for o in objects_of(expected) if o["deleted"]]
        rows = shard.find_many([o["key"] for o in live] + gone + absent_keys(expected))
        assert rows.tolist() == [o["slot"] for o in live] + [-1] * (len(gone) + len(absent_keys(expected)))


def test_the_list_holds_exactly_the_live_objects(described: tuple[Path, dict[str, Any]]) -> None:
    path, expected = described
    with shardcore.open(path) as shard:
        shard.load_index()
        columns = shard.objects[:]
        live = columns.row[columns.state == State.LIVE]
        listed = dict(zip(shard.objects.key_texts(live), columns.size[live].tolist(), strict=True))
        assert listed == {o["key"]: o["size"] for o in live_objects(expected)}
        by_offset = shard.objects.order("offset")
        assert by_offset is not None
        assert columns.start[by_offset].tolist() == sorted(o["offset"] + 8 for o in live_objects(expected))
        by_size = shard.objects.order("size")
        assert by_size is not None
        assert columns.size[by_size].tolist() == sorted(o["size"] for o in live_objects(expected))


def test_deleted_and_absent_keys_are_absent(described: tuple[Path, dict[str, Any]]) -> None:
    path, expected = described
    with shardcore.open(path) as shard:
        for item in objects_of(expected):
            if item["deleted"]:
                trace = shard.trace(item["key"])
                assert trace.outcome == "absent"
        for key in absent_keys(expected):
            trace = shard.trace(key)
            assert trace.outcome == "absent"


def test_worked_example_of_a_lookup() -> None:
    writer_input = [str(n).encode() for n in range(10)]
    with shardcore.create(None, format="swh", seed=6) as writer:
        for data in writer_input:
            writer.add(None, data)
        planned = writer.plan().files[0].objects
        slots = [planned.ref(row).extras["slot"] for row in range(len(planned))]
    assert slots == [7, 10, 5, 4, 6, 9, 0, 3, 8, 1]


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
        for key in keys[:3]:
            with pytest.raises(shardcore.FormatError, match="does not match the keys"):
                shard.find(key)
        with pytest.raises(shardcore.FormatError, match="does not match the keys"):
            shard.find_many(keys)
        assert all(len(shard.read(shard.objects.ref(row))) >= 0 for row in range(3))
    assert salvage(DATA / "dialect" / "signed_dialect.shard", tmp_path / "out").count(Condition.WHOLE) == len(keys)
    with shardcore.open(DATA / "dialect" / "signed_dialect.shard") as shard:
        report = shard.verify("index")
        assert not report.ok
        assert [f.code for f in report.findings if f.severity is shardcore.Severity.ERROR] == ["swh.signed-dialect"]
