"""draw, and trace --draw."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.model.drawing import StaticSketch
from shardcore.shards.trace import Trace
from tests.shardcore.cli.test_inspect import KEY
from tests.shardcore.teaching.drawing.gallery import tape
from tests.shardcore.teaching.drawing.played import Played


@pytest.fixture
def small(data: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A shard with made-up sketches: one of the file, one of a lookup; steps of its lookups are drawn."""
    place = str(data / "swh/small.shard")
    with shardcore.open(place) as shard:
        kind = type(shard)
        told = shard.trace(KEY)
    steps = (replace(told.steps[0], draw=tape), *told.steps[1:])

    def sketches(_: shardcore.Shard, trace: Trace | None = None) -> tuple[Any, ...]:
        return (Played(), *((StaticSketch("lookup", "The lookup", tape()),) if trace is not None else ()))

    monkeypatch.setattr(kind, "sketches", sketches)
    monkeypatch.setattr(kind, "trace", lambda *_: replace(told, steps=steps))
    return place


def test_list(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["draw", small]) == 0
    assert "bits-of-a-key\n    --set n_bits=8  Low bits: a whole number from 1 to 16\n" in capsys.readouterr().out
    assert run(["draw", small, KEY]) == 0
    assert "lookup" in capsys.readouterr().out


def test_forms(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["draw", small, "--name", "played", "--set", "n_bits=3"]) == 0
    out = capsys.readouterr().out
    assert "Bits of a key  [what if]" in out
    assert "bits 0–2" in out
    target = tmp_path / "out.svg"
    assert run(["draw", small, KEY, "--name", "lookup", "--svg", str(target), "--width", "560", "--dark"]) == 0
    assert capsys.readouterr().out == ""
    assert ElementTree.parse(target).getroot().get("width") == "560"
    assert run(["draw", small, "--name", "played", "--svg", "-"]) == 0
    assert capsys.readouterr().out.startswith("<svg ")


def test_mistakes(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, told, code in (
        (
            ["--name", "lookup"],
            "unknown drawing 'lookup'; drawings of this file: bits-of-a-key; drawings of a lookup",
            2,
        ),
        (["--svg", "x.svg"], "--set and --svg require --name (available: bits-of-a-key", 2),
        (["--name", "played", "--set", "n_bits"], "--set takes CONTROL=VALUE", 2),
        (["--name", "played", "--set", "n_bits=99"], "n_bits must be a whole number from 1 to 16, not 99", 2),
        (
            ["--name", "played", "--set", "seed=1"],
            "bits-of-a-key has no control 'seed'; it has: n_bits, shuffled, order, uid",
            2,
        ),
        (["--name", "played", "--set", "order=damaged"], "the index ends too early", 3),
        (["--name", "played", "--svg", str(tmp_path)], "cannot write", 4),
    ):
        assert run(["draw", small, *options]) == code
        assert told in capsys.readouterr().err


def test_trace_draws_on_request(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", small, KEY]) == 0
    assert "The address of a uid" not in capsys.readouterr().out
    assert run(["trace", small, KEY, "--draw"]) == 0
    out = capsys.readouterr().out
    assert out.index(" 1. ") < out.index("    The address of a uid") < out.index(" 2. ")
    assert max(map(len, out[out.index("    The address") :].partition(" 2. ")[0].splitlines())) <= 100
    assert run(["trace", small, KEY, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"][0]["drawing"]["title"] == "The address of a uid"
