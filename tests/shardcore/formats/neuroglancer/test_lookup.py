"""The told lookup: its steps, their bytes, their costs, and how it ends."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import shardcore
from shardcore.formats.neuroglancer.sharding import IDENTITY, ShardingSpec
from shardcore.model.span import Span
from shardcore.shards.trace import Trace
from shardcore.sources.memory import BytesSource
from tests.shardcore.formats.neuroglancer.made import build

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"


def trace(path: str, key: str) -> Trace:
    with shardcore.open(DATA / path) as shard:
        return shard.trace(key)


def test_the_worked_example_step_by_step() -> None:
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


def test_a_damaged_value_is_still_found(tmp_path: Path) -> None:
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    data = bytearray(build(spec, [(1, b"content" * 9)])["0.shard"])
    data[32] ^= 255
    with shardcore.open(BytesSource(bytes(data)), spec=spec.to_json()) as shard:
        told = shard.trace("1")
        assert told.outcome == "found"
        assert "error" in told.steps[-1].values


def test_codes_of_no_cell_are_told(tmp_path: Path) -> None:
    info = json.loads((DATA / "volume" / "info").read_text())
    info["scales"][1]["size"] = [8, 8, 5]
    shutil.copytree(DATA / "volume" / "8_8_80", tmp_path / "8_8_80")
    (tmp_path / "info").write_text(json.dumps(info))
    with shardcore.open(tmp_path / "8_8_80" / "0.shard") as shard:
        told = shard.trace("1")
        assert told.outcome == "found"
        assert "error" in told.steps[-1].values
        assert "neuroglancer.no-cell" in {finding.code for finding in shard.verify("index").findings}
