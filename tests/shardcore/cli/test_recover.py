"""The command that extracts what is intact."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardcore.cli.program import EXIT_ABSENT, EXIT_FINE, EXIT_USAGE, run

SAMPLES = Path(__file__).parents[3] / "resources" / "samples"
DAMAGED = SAMPLES / "des" / "damaged" / "20260105_2A_0000.des"


def test_a_plan_reports_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recover", str(DAMAGED), "--plan"]) == EXIT_FINE
    out, error = capsys.readouterr()
    assert out.count("(no checksum)") == 5
    assert "des: 5 objects: 0 intact, 5 unverified, 0 damaged, 0 lost" in out
    assert "the file cannot be opened" in error
    assert run(["recover", str(SAMPLES / "xorb" / "damaged.xorb"), "--plan", "--json"]) == EXIT_ABSENT
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["condition"] for line in lines[:-1]] == ["whole"] * 4 + ["damaged", "whole"]
    assert (lines[-1]["format"], lines[-1]["whole"], lines[-1]["damaged"]) == ("xorb", 5, 1)


def test_files_are_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recover", str(SAMPLES / "swh" / "damaged.shard"), str(tmp_path / "out")]) == EXIT_FINE
    assert len(list((tmp_path / "out").iterdir())) == 13
    assert run(["recover", str(DAMAGED), str(tmp_path / "out")]) == EXIT_USAGE
    assert run(["recover", str(DAMAGED)]) == EXIT_USAGE
    assert run(["recover", str(DAMAGED), str(tmp_path / "des")]) == EXIT_FINE
    assert {path.name for path in (tmp_path / "des").iterdir()} == {"unchecked", "salvage.json"}
    assert "--plan" in capsys.readouterr().err


def test_objects_that_the_header_declares_are_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.shard"
    cut.write_bytes((SAMPLES / "swh" / "small.shard").read_bytes()[:3000])
    assert run(["recover", str(cut), "--plan"]) == EXIT_ABSENT
    assert "swh: 10 of 12 objects found: 0 intact, 10 unverified" in capsys.readouterr().out
    assert run(["recover", str(cut), "--plan", "--json"]) == EXIT_ABSENT
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (summary["declared"], summary["missing"]) == (12, 2)
    assert run(["recover", str(SAMPLES / "swh" / "odd.shard"), "--plan"]) == EXIT_FINE
    assert "objects found" not in capsys.readouterr().out
