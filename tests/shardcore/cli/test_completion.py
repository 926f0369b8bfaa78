"""Completion of commands, options and their values in bash, zsh and fish."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shardcore.cli.program import run
from shardcore.shards.registry import FORMATS


def completed(line: str, shell: str, monkeypatch: pytest.MonkeyPatch, action: str = "get-args") -> int:
    """What the script of a shell requests for a line whose last word is completed; the exit code."""
    words = line.split(" ")
    monkeypatch.setenv("_SHARDCORE_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", action)
    return run([])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("shardcore ve", ["verify"]),
        ("shardcore --show", ["--show-completion"]),
        ("shardcore extract a b --conf", ["--conflict"]),
        ("shardcore ls --format ", list(FORMATS)),
        ("shardcore info x --format n", ["neuroglancer"]),
        ("shardcore convert x.des b", ["bloscpack"]),
        ("shardcore pack des out -O co", ["codec=none", "codec=zstd", "codec=lz4"]),
        ("shardcore locate ", ["des", "neuroglancer"]),
        ("shardcore verify x --depth i", ["index"]),
        ("shardcore chart x ", ["budget", "sizes", "load"]),
        ("shardcore extract a b --conflict re", ["rename", "replace"]),
        ("shardcore info small", []),
    ],
)
def test_words_are_completed(
    line: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands, options and values in each shell; file names are left to the shell."""
    assert completed(line, "bash", monkeypatch) == 0
    assert capsys.readouterr().out.split() == expected
    assert completed(line, "fish", monkeypatch) == 0
    assert [one.split("\t")[0] for one in capsys.readouterr().out.splitlines() if one] == expected
    assert completed(line, "fish", monkeypatch, "is-args") == int(not expected)
    assert completed(line, "zsh", monkeypatch) == 0
    out = capsys.readouterr().out
    assert all(f'"{one}"' in out for one in expected) if expected else out == "_files\n"


def test_completing_loads_next_to_nothing() -> None:
    """No NumPy, rich or pydantic is imported."""
    line = "shardcore pack des out.des --force -O "
    code = "import sys\nfrom shardcore.cli.program import run\nrun([])\nprint(*sys.modules, file=sys.stderr)"
    asked = {"_SHARDCORE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "6"}
    command, environment = [sys.executable, "-c", code], {**os.environ, **asked}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "codec=zstd" in done.stdout
    assert not {"numpy", "rich", "pydantic", "botocore"} & set(done.stderr.split())
