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
    """A shard and its description."""
    path = DATA / f"{request.param}.shard"
    return path, json.loads((DATA / f"{request.param}.expected.json").read_text())


def live_objects(expected: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of a description that were not deleted."""
    return [o for o in objects_of(expected) if not o["deleted"]]


def objects_of(expected: dict[str, Any]) -> list[dict[str, Any]]:
    """All objects of a description, with their keys."""
    objects = expected["objects"]
    return [dict(o, key=key) for key, o in objects.items()] if isinstance(objects, dict) else objects


def absent_keys(expected: dict[str, Any]) -> list[str]:
    """The keys that a description names as absent."""
    return list(expected.get("absent", []))


def test_header_fields_are_those_of_the_reference(described: tuple[Path, dict[str, Any]]) -> None:
    """Every integer of the header is read as the reference reads it."""
    path, expected = described
    with shardcore.open(path) as shard:
        for name, value in expected["header"].items():
            assert shard.fields[f"header.{name}"] == value
        assert len(shard.objects) == expected["slots"]
        assert shard.fields["hash_function.end"] == expected["hash_end"]


def test_every_object_is_found_in_its_slot_with_its_content(described: tuple[Path, dict[str, Any]]) -> None:
    """Each live key leads to its slot, its offset and its bytes."""
    path, expected = described
    with shardcore.open(path) as shard:
        for item in live_objects(expected)[:300]:
            ref = shard.find(item["key"])
            assert (ref.extras["slot"], ref.extras["offset"]) == (item["slot"], item["offset"])
            assert ref.size == item["size"]
            assert hashlib.sha256(shard.read(ref)).hexdigest() == item["sha256"]


def test_all_keys_at_once_land_in_their_slots(described: tuple[Path, dict[str, Any]]) -> None:
    """`find_many` gives the slot of every live key and -1 for deleted and absent ones."""
    path, expected = described
    with shardcore.open(path) as shard:
        live = live_objects(expected)
        gone = [o["key"] for o in objects_of(expected) if o["deleted"]]
        rows = shard.find_many([o["key"] for o in live] + gone + absent_keys(expected))
        assert rows.tolist() == [o["slot"] for o in live] + [-1] * (len(gone) + len(absent_keys(expected)))


def test_the_list_holds_exactly_the_live_objects(described: tuple[Path, dict[str, Any]]) -> None:
    """The live rows are the live objects, with sizes, in slot order; offset order is the order of writing."""
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


def test_deleted_and_absent_keys_end_at_the_step_that_proves_it(described: tuple[Path, dict[str, Any]]) -> None:
    """Deleted keys end where the offset says so, absent ones at the comparison of the key (or at an empty slot)."""
    path, expected = described
    with shardcore.open(path) as shard:
        for item in objects_of(expected):
            if item["deleted"]:
                trace = shard.trace(item["key"])
                assert trace.outcome == "absent"
                assert trace.steps[-1].title == "Location of the object"
        for key in absent_keys(expected):
            trace = shard.trace(key)
            assert trace.outcome == "absent"
            assert trace.steps[-1].title in ("Is it really this key?", "Location of the object")


def test_the_eleven_steps_of_a_lookup(described: tuple[Path, dict[str, Any]]) -> None:
    """A lookup that ends found tells eleven steps, in the order in which the format is taught."""
    path, expected = described
    with shardcore.open(path) as shard:
        shard.find(live_objects(expected)[0]["key"])
        trace = shard.trace(live_objects(expected)[-1]["key"])
        assert trace.outcome == "found"
        titles = [step.title for step in trace.steps]
        assert titles[:5] == [
            "Is this a shard?",
            "The key as eight numbers",
            "The seed",
            "Three rounds of mixing",
            "Bucket, first slot, step",
        ]
        assert titles[-5:] == [
            "The displacement",
            "The slot",
            "Is it really this key?",
            "Location of the object",
            "The object",
        ]
        assert len(titles) == 11


def test_steps_define_what_they_count_with(tmp_path: Path) -> None:
    """Each symbol of a step is named in it or in a step before, numbers are computed in it, and nouns agree."""
    path = tmp_path / "ten.shard"
    with shardcore.create(path, format="swh", seed=6) as writer:
        keys = [writer.add(None, str(n).encode()) for n in range(10)]
    with shardcore.open(path) as shard:
        first, other = ({step.title: step.text for step in shard.trace(keys[n]).steps} for n in (1, 5))
        values = {step.title: step.values for step in shard.trace(keys[5]).steps}
    assert "three 32-bit state numbers, a, b and c" in other["The seed"]
    assert "They end as a = e9475689, b = e19de21c, c = 628a4ffb." in other["Three rounds of mixing"]
    assert "first_slot f = b mod n = 10; step h = c mod (n - 1) + 1 = 2." in other["Bucket, first slot, step"]
    assert "that of bucket 0 begins at store bit 0" in first["Location of the displacement of bucket 0"]
    assert "bits -1" not in first["Location of the displacement of bucket 0"]
    assert "values 1 and 2 end at store bits 3 and 8" in other["Location of the displacement of bucket 2"]
    assert values["Location of the displacement of bucket 2"] == {"P_before": 2, "P": 6, "first_bit": 3, "len": 5}
    assert "as (2 - 1) · 2^1 + 1 = 3 and (6 - 2) · 2^1 + 0 = 8:" in other["Location of the displacement of bucket 2"]
    assert "d = 11 + 31 = 42; p1 = 42 // 11 = 3, p0 = 42 mod 11 = 9." in other["The displacement"]
    assert "(10 + 2 · 9 + 3) mod 11 = 9. Slot 9 of the index" in other["The slot"]
    assert "Its length is 1 byte;" in other["The object"]


def test_worked_example_of_a_lookup() -> None:
    """The numbers of the worked example: object `5` of ten, where displacements matter."""
    writer_input = [str(n).encode() for n in range(10)]
    with shardcore.create(None, format="swh", seed=6) as writer:
        for data in writer_input:
            writer.add(None, data)
        planned = writer.plan().files[0].objects
        slots = [planned.ref(row).extras["slot"] for row in range(len(planned))]
    assert slots == [7, 10, 5, 4, 6, 9, 0, 3, 8, 1]


def test_deletions_and_old_slots_are_no_errors() -> None:
    """Verification is right about shards with deletions, where the reference's own check fails."""
    with shardcore.open(DATA / "deleted.shard") as shard:
        report = shard.verify("content")
        assert report.ok
        assert [f.code for f in report.findings] == ["swh.deleted"]
    with shardcore.open(DATA / "legacy.shard") as shard:
        assert [f.code for f in shard.verify("content").findings] == ["swh.legacy-unused"]


def test_the_signed_dialect_is_reported_and_recovered(tmp_path: Path) -> None:
    """Keys of the signed dialect are not found, verification says why, and all objects are recovered."""
    with shardcore.open(DATA / "signed_dialect.shard") as shard:
        keys = [key for key in shard.objects.keys if key is not None]
        for key in keys[:3]:
            with pytest.raises(shardcore.FormatError, match="does not fit these keys"):
                shard.find(key)
        with pytest.raises(shardcore.FormatError, match="does not fit these keys"):
            shard.find_many(keys)
        assert all(len(shard.read(shard.objects.ref(row))) >= 0 for row in range(3))
    assert salvage(DATA / "signed_dialect.shard", tmp_path / "out").count(Condition.WHOLE) == len(keys)
    with shardcore.open(DATA / "signed_dialect.shard") as shard:
        report = shard.verify("index")
        assert not report.ok
        assert [f.code for f in report.findings if f.severity is shardcore.Severity.ERROR] == ["swh.signed-dialect"]
