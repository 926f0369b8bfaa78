"""lesson."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardcore.cli.program import run
from shardcore.teaching.lessons.lesson_list import lessons, missions

TEXT = "# Mine\nneeds: swh-1-meet-the-file\nsample: swh/small.shard\n\n## Step\n\n{size of file} bytes\n"


def test_lessons_are_listed_and_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.md").write_text(TEXT)
    mine = str(tmp_path / "mine.md")
    assert run(["lesson", "list"]) == 0
    out = capsys.readouterr().out
    assert all(f"{one.name}: {one.title}" in out for one in (*lessons(), *missions()))
    assert run(["lesson", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["lessons"]] == [one.name for one in (*lessons(), *missions())]
    assert told["total"]["clicks"] == sum(one["clicks"] for one in told["lessons"])
    for target in (tmp_path / "a.html", tmp_path / "pages"):
        assert run(["lesson", "export", mine, f"{target}{'' if target.suffix else '/'}"]) == 0
    assert (tmp_path / "a.html").read_text() == (tmp_path / "pages" / "mine.html").read_text()
    assert run(["lesson", "export", mine, str(tmp_path / "a.html")]) == 2
    assert run(["lesson", "export", mine, "-"]) == 0
    assert "5,064 bytes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["walk"], "the action must be one of list, export"),
        (["export"], "usage: shardcore lesson export NAME|FILE OUT.html|FOLDER"),
        (["list", "--force"], "--force is only used with lesson export"),
        (["export", "gone", "-"], "unknown lesson 'gone'"),
        (["export", "gone.md", "-"], "cannot read gone.md"),
    ],
)
def test_mistakes(given: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lesson", *given]) in (2, 4)
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1
