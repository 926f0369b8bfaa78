"""Commands over data sets of many shards: rows come member by member, in order, and members do not stay open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardcore.cli import object_rows
from shardcore.cli.program import run
from shardcore.shards.dataset import DataSet
from tests.shardcore.formats.des.made import Stored, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(40):
        uids = [f"{number + 256 * n}" for n in range(2)]
        stored = [Stored(uid.encode(), uid.encode()) for uid in uids]
        path = write(tmp_path / "set", f"20261103_{number:02X}_0000.des", stored)
        if number == 10:
            path.write_bytes(path.read_bytes()[:-1])
    return tmp_path / "set"


def _lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("jobs", ["1", "5"])
def test_rows_come_member_by_member(
    folder: Path, jobs: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DataSet, "load_index", lambda *_: pytest.fail("the whole index was loaded"))
    wanted = [f"{number + 256 * n}" for number in range(40) if number != 10 for n in range(2)]
    base = ["ls", str(folder), "--jobs", jobs, "--json"]
    assert run(base) == 1
    lines = _lines(capsys)
    assert [line["key"] for line in lines] == wanted
    assert lines[-1]["shard"] == "20261103_27_0000.des"
    assert run([*base, "--digest", "sha256"]) == 1
    assert {len(str(line["sha256"])) for line in _lines(capsys)} == {64}
    assert run([*base, "--skip", "3", "--limit", "5"]) == 0  # the damaged one comes later
    assert [line["key"] for line in _lines(capsys)] == wanted[3:8]
    assert run([*base[:-1], "--kind", "nothing"]) == 2
    assert "no objects of kind 'nothing' (available: object, bigfile)" in capsys.readouterr().err
    asked = object_rows.RowsRequest
    monkeypatch.setattr("shardcore.shards.shard_tasks.RowsRequest", lambda *a, **k: asked(*a, **k, most=1))
    assert run([*base, "--skip", "3", "--limit", "30"]) == 1
    assert [line["key"] for line in _lines(capsys)] == wanted[3:33]
    assert run(base[:-1]) == 1
    told = capsys.readouterr()
    assert [line.split()[-1] for line in told.out.splitlines()] == wanted
    assert "20261103_0A_0000.des: " in told.err
