"""The told lookup: its steps, their bytes, their costs, and how it ends."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

import shardcore
from shardcore.formats.neuroglancer.sharding import IDENTITY, ShardingSpec
from shardcore.model.span import Span
from shardcore.shards.trace import Trace
from shardcore.sources.memory import BytesSource
from tests.shardcore.formats.neuroglancer.made import build

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"


def trace(path: str, key: str) -> Trace:
    """The lookup of a key in a sample."""
    with shardcore.open(DATA / path) as shard:
        return shard.trace(key)


def titles(told: Trace) -> list[str]:
    """The titles of the steps."""
    return [step.title for step in told.steps]


def test_the_worked_example_step_by_step() -> None:
    """Key 9 of the worked example: every number of the fact sheet appears in its step, with its bytes."""
    told = trace("tiny_worked_example/0.shard", "9")
    assert told.outcome == "found"
    values = [step.values for step in told.steps]
    spans = [step.spans for step in told.steps]
    assert (values[0]["hash"], values[0]["preshift_bits"]) == ("identity", 1)
    assert values[1] == {"key": "9", "shifted": "4"}
    assert (values[2]["hash"], values[2]["bits"][-3:]) == ("0x0000000000000004", "100")
    assert (values[2]["minishard_field"], values[2]["shard_field"]) == ([0, 1], [1, 2])
    assert values[3] == {"minishard": 0, "shard": 0, "file": "0.shard"}
    assert (spans[4], values[4]["start"], values[4]["stop"]) == ((Span("", 0, 16),), 39, 87)
    assert (spans[5], values[5]["keys"]) == ((Span("", 39, 87),), 2)
    assert (spans[6], values[6]["position"]) == ((Span("", 39, 55),), 1)
    assert (spans[7], values[7]) == ((Span("", 55, 71), Span("", 71, 87)), {"start": "35", "size": "4"})
    assert (spans[8], values[8]["size"]) == ((Span("", 35, 39),), 4)
    assert values[8]["sha256"] == hashlib.sha256(b"nine").hexdigest()
    assert len(told.steps) == 10


def test_steps_say_what_they_cost() -> None:
    """Only the minishard index and the value are read; the second lookup in the minishard reads the value alone."""
    with shardcore.open(DATA / "tiny_worked_example" / "0.shard") as shard:
        assert [(s.title, s.requests, s.bytes) for s in shard.trace("9").steps if s.requests] == [
            ("Minishard index", 1, 48),
            ("Value", 1, 4),
        ]
        assert [(s.title, s.requests, s.bytes) for s in shard.trace("1").steps if s.requests] == [("Value", 1, 3)]


def test_compressed_indices_are_told_in_decoded_offsets() -> None:
    """Rows of a gzip index are spans of what it decodes to; stored and decoded offsets do not mix."""
    told = trace("volume/4_4_40/2.shard", "51")
    index = told.steps[5].spans[0]
    name = f"@{index.start}-{index.stop}"
    assert told.steps[6].spans == (Span(name, 0, 32),)
    assert [span.source for span in told.steps[7].spans] == [name, name]
    assert told.steps[8].values["size"] == 512


def test_volumes_end_in_voxels() -> None:
    """The last step of a chunk is its cell and its box of voxels."""
    told = trace("volume/4_4_40/2.shard", "51")
    assert told.steps[-1].values["cell"] == [5, 3, 0]
    assert told.steps[-1].values["voxel_begin"] == [40, 24, 0]
    assert told.steps[-1].values["voxel_end"] == [48, 32, 8]


def test_meshes_end_in_fragments() -> None:
    """The last step of a mesh is its levels of detail and the bytes of its fragments."""
    with shardcore.open(DATA / "mesh" / "0.shard") as shard:
        key = shard.objects.keys[0]
        assert key is not None
        told = shard.trace(key)
        fragments = shard.read_part(shard.find(key), "fragments")
        span = told.steps[-1].spans[0]
        assert shard.bytes_of("").read(span.start, span.stop) == fragments
        assert told.steps[-1].values["fragments_size"] == len(fragments)


@pytest.mark.parametrize(
    ("path", "key", "last"),
    [
        ("tiny_worked_example/0.shard", "2", "Keys"),
        ("tiny_worked_example/1.shard", "14", "Shard index entry"),
        ("tiny_worked_example/0.shard", "12", "Split"),
    ],
)
def test_absence_is_proved(path: str, key: str, last: str) -> None:
    """An absent key ends at the step that proves it: another shard, an empty minishard, or ids without it."""
    told = trace(path, key)
    assert (told.outcome, told.ref) == ("absent", None)
    assert titles(told)[-1] == last
    assert key in told.error


def test_a_key_in_the_wrong_minishard_is_pointed_out() -> None:
    """Once all minishards are read, an absent key that another minishard lists says so: why people miss keys."""
    with shardcore.open(DATA / "hostile" / "wrong_minishard" / "0.shard") as shard:
        assert "minishard 1 lists it" not in shard.trace("2").error
        shard.load_index()
        told = shard.trace("2")
        assert told.outcome == "absent"
        assert "minishard 1 lists it" in told.error
        assert "minishard 1 lists it" in told.steps[-1].text


def test_damage_is_told() -> None:
    """A damaged minishard ends the trace where it is met, with its place."""
    told = trace("hostile/not_multiple_of_24/0.shard", "2")
    assert told.outcome == "damaged"
    assert titles(told)[-1] == "Damaged"
    assert told.steps[-1].spans == (Span("", 38, 78),)


def test_a_damaged_value_is_still_found(tmp_path: Path) -> None:
    """The lookup finds the place of a value that cannot be decoded, and says what is wrong with it."""
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    data = bytearray(build(spec, [(1, b"content" * 9)])["0.shard"])
    data[32] ^= 255
    with shardcore.open(BytesSource(bytes(data)), spec=spec.to_json()) as shard:
        told = shard.trace("1")
        assert told.outcome == "found"
        assert "error" in told.steps[-1].values


def test_codes_of_no_cell_are_told(tmp_path: Path) -> None:
    """A key of a volume that no cell has is found, and its last step says that it means nothing."""
    info = json.loads((DATA / "volume" / "info").read_text())
    info["scales"][1]["size"] = [8, 8, 5]
    shutil.copytree(DATA / "volume" / "8_8_80", tmp_path / "8_8_80")
    (tmp_path / "info").write_text(json.dumps(info))
    with shardcore.open(tmp_path / "8_8_80" / "0.shard") as shard:
        told = shard.trace("1")
        assert told.outcome == "found"
        assert "error" in told.steps[-1].values
        assert "neuroglancer.no-cell" in {finding.code for finding in shard.verify("index").findings}


def test_traces_are_plain_data() -> None:
    """What steps produce can be written as JSON, and no key is a JSON number."""
    for path, key in (("volume/4_4_40/2.shard", "51"), ("skeletons_murmur_gzip", "9007199254740993")):
        told = trace(path, key)
        assert told.outcome == "found"
        text = json.dumps([step.values for step in told.steps])
        assert f'"{key}"' in text
