"""delete, truncate and undo."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run

SMALL = Path(__file__).parents[2] / "data" / "swh" / "small.shard"


class Terminal(io.StringIO):
    """Standard input of somebody who can be asked."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    return Path(shutil.copy(SMALL, tmp_path))


@pytest.fixture
def keys() -> list[str]:
    with shardcore.open(SMALL) as opened:
        return [key for key in opened.objects.keys[:] if key is not None]


def test_delete_and_undo(shard: Path, keys: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = shard.read_bytes()
    assert run(["delete", shard.as_uri(), keys[0], "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sha256"] == hashlib.sha256(shard.read_bytes()).hexdigest() != hashlib.sha256(before).hexdigest()
    assert (told["path"], told["size"]) == (shard.as_uri(), len(before))
    assert run(["trace", str(shard), keys[0]]) == 1
    assert run(["undo", str(shard), "--dry-run"]) == 0
    assert "delete 1 object" in capsys.readouterr().out
    assert run(["undo", shard.as_uri(), "--yes"]) == 0
    assert shard.read_bytes() == before
    assert run(["undo", str(shard), "--yes"]) == 2
    assert "nothing to undo" in capsys.readouterr().err


def test_edits_are_undone_one_by_one(shard: Path, keys: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = shard.read_bytes()
    assert run(["delete", str(shard), keys[0], "--yes"]) == 0
    assert run(["delete", str(shard), keys[1], "--dry-run"]) == 0
    assert "kept in small.shard.undo; 1 earlier edit can also be undone" in capsys.readouterr().out
    assert run(["delete", str(shard), keys[1], "--dry-run", "--no-undo", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["undo"]
    assert told == "no copy of the old bytes is kept, but small.shard.undo still has those of an earlier edit"
    assert run(["delete", str(shard), keys[1], "--yes"]) == 0
    assert run(["undo", str(shard), "--dry-run"]) == 0
    assert "1 earlier edit can be undone after it" in capsys.readouterr().out
    for left in (1, 0):
        assert run(["undo", str(shard), "--yes"]) == 0
        assert len(list(shard.parent.glob("*.undo*"))) == left
    assert shard.read_bytes() == before


def test_nobody_is_there_to_ask(
    shard: Path, keys: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = shard.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert run(["delete", str(shard), keys[0]]) == 2
    assert "not a terminal: pass --yes to confirm" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    assert run(["delete", str(shard), keys[0]]) == 2
    assert "the old bytes are kept in small.shard.undo" in capsys.readouterr().err
    assert shard.read_bytes() == before
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert run(["delete", str(shard), keys[0], "--no-undo"]) == 0
    assert "no copy of the old bytes is kept" in capsys.readouterr().err
    assert shard.read_bytes() != before
    assert [path.name for path in shard.parent.iterdir()] == ["small.shard"]


def test_a_dry_run_shows_old_and_new(shard: Path, keys: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = shard.read_bytes()
    assert run(["delete", str(shard), keys[0], "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    content, length, slot = told["changes"]
    assert (length["stop"], length["new"]) == (content["start"], "00" * 8)
    assert bytes.fromhex(slot["old"])[:32].hex() == keys[0]
    assert slot["new"] == "00" * 32 + "ff" * 8
    assert bytes.fromhex(content["old"]) == before[content["start"] : min(content["stop"], content["start"] + 64)]
    assert run(["delete", str(shard), keys[0], "--dry-run"]) == 0
    assert f"{slot['start']:#x}–{slot['stop'] - 1:#x}" in capsys.readouterr().out
    assert shard.read_bytes() == before


def test_formats_without_the_edit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny = shutil.copy(SMALL.parents[1] / "des" / "tiny.des", tmp_path)
    assert run(["delete", str(tiny), "a", "--yes"]) == 2
    assert "delete is not supported for des (supported: swh)" in capsys.readouterr().err
    assert run(["delete", str(shutil.copy(SMALL, tmp_path)), "ab" * 32, "--yes"]) == 1


def test_a_dry_run_of_tombstone_shows_the_lines_that_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = SMALL.parents[3] / "resources" / "samples" / "des"
    folder = Path(shutil.copytree(samples / "archive", tmp_path / "archive"))
    began = datetime.now(UTC)
    command = ["tombstone", str(folder), "2090", "--date", "2026-01-05T09:30:00+00:00"]
    assert run([*command, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "(a new file)" in told.splitlines()[0]
    (line,) = (line for line in told.splitlines() if '"deleted_at"' in line)
    assert line.startswith("  +")
    time = datetime.fromisoformat(line.split('"')[3])
    assert began <= time <= datetime.now(UTC)
    assert not (folder / "20260105_2A_0001.meta").exists()
    assert run([*command, "--yes"]) == 0
    capsys.readouterr()
    assert run([*command[:2], "2090", "--undo", *command[3:], "--dry-run", "--json"]) == 0
    (change,) = json.loads(capsys.readouterr().out)
    assert change["old"] == (folder / "20260105_2A_0001.meta").read_text()
