"""`shardcore chart`: what a file is made of, in numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import shardcore
from shardcore.cli import program

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def chart(*words: str) -> tuple[int, str]:
        code = program.run(["chart", *words])
        told = capsys.readouterr()
        return code, told.out + told.err

    return chart


def test_every_chart_is_printed_and_written(run: Run, data: Path) -> None:
    path = str(data / "swh" / "small.shard")
    code, text = run(path)
    assert code == 0
    assert "contents (data)" in text
    shares = json.loads(run(path, "--json")[1])
    assert sum(share["bytes"] for share in shares) == Path(path).stat().st_size
    assert json.loads(run(path, "sizes", "--json")[1])["x"] == "size (bytes)"
    found = json.loads(run(path, "load", "--of", "buckets", "--json")[1])
    assert len(found["edges"]) == len(found["values"]) + 1 == len(found["ideal"]) + 1
    turned = json.loads(run(path, "load", "--of", "buckets", "--spread", "--json")[1])
    assert sum(turned["values"]) == len(found["values"])


@pytest.mark.parametrize("name", ["des", "neuroglancer/unsharded", "cases/06-size-of-a-folder/lens"])
def test_the_budget_of_a_folder_is_its_size(run: Run, data: Path, name: str) -> None:
    code, text = run(str(data / name), "budget", "--json")
    assert code == 0
    with shardcore.open(data / name) as shard:
        assert sum(share["bytes"] for share in json.loads(text)) == shard.size


def test_what_cannot_be_counted_is_told(run: Run, data: Path) -> None:
    path = str(data / "swh" / "small.shard")
    assert run(path, "load", "--of", "x") == (2, "shardcore: unknown load 'x' (available: slots, buckets)\n")
    assert run(path, "sizes", "--of", "x")[0] == 2
    assert "not spread by a hash function" in run(path, "load", "--spread")[1]
    code, text = run(str(data / "des" / "none.des"), "load")
    assert code == 2
    assert "readers walk its index" in text


def test_a_damaged_file_of_a_folder_is_left_out(run: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "a.shard").write_bytes((data / "swh" / "small.shard").read_bytes())
    code, alone = run(str(tmp_path))
    assert code == 0
    (tmp_path / "b.shard").write_bytes((data / "swh" / "medium.shard").read_bytes()[:700])
    code, text = run(str(tmp_path))
    assert code == 1
    assert text.startswith(alone.rstrip())
    assert "shardcore: b.shard: the hash function is at 0x56f61" in text
