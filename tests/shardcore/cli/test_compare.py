"""compare."""

from __future__ import annotations

import csv
import json
import re
import sys
from io import StringIO
from pathlib import Path

import pytest

from shardcore.cli.program import run
from shardcore.teaching.comparison.comparison import COLUMNS, compared_formats


def test_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.txt").write_bytes(b"%d " % number * 40)
    sheet = tmp_path / "a.csv"
    assert run(["compare", str(folder), "--json", "--csv", str(sheet), "-O", "des.codec=lz4"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["format"] for one in told["formats"]] == list(compared_formats())
    assert told["objects"] == 4
    lines = list(csv.DictReader(StringIO(sheet.read_text())))
    assert tuple(lines[0]) == COLUMNS
    for line, one in zip(lines, told["formats"], strict=True):
        assert int(line["size"]) == one["size"]
    assert run(["compare", str(folder), "--csv", str(sheet)]) == 2
    assert "exists" in capsys.readouterr().err
    assert run(["compare", str(folder), "--csv", str(sheet), "--force"]) == 0
    assert run(["compare", str(folder), "--count", "2", "--size", "1K"]) == 0
    out = capsys.readouterr().out
    assert "2 objects, 2,048 bytes" in out
    assert all(f"\n{name} " in out for name in compared_formats())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["-O", "codec=zstd"], "-O takes FORMAT.NAME=VALUE"),
        (["-O", "tar.codec=zstd"], "unknown format 'tar'"),
        (["-O", "des.codec=rar"], "codec must be one of none, zstd, lz4"),
        (["-O", "des.colour=red"], "des takes"),
        (["-O", "neuroglancer.minishard_bits=99"], "minishard_bits must be one of 0, 1"),
        (["--count", "0"], "must be at least 1"),
        (["--size", "10X"], "must be a number of bytes, such as 4096, 64K or 1M"),
    ],
)
def test_mistakes(given: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *given]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


def test_help_lists_the_main_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "-O", "help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(compared_formats())
    assert any(line.startswith("bloscpack.chunk_size") for line in lines)


def test_the_table_fits_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["compare", "--count", "2"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) > 100
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert run(["compare", "--count", "2"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, re.sub("\x1b\\[[0-9;]*m", "", out).splitlines())) <= 100
    assert "bloscpack: " in out
