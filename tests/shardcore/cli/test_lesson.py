"""lesson."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardcore.cli.program import run
from shardcore.teaching.lessons import packs as module
from shardcore.teaching.lessons.library import lessons, missions

TEXT = "# Mine\nneeds: swh-1-meet-the-file\nsample: swh/small.shard\n\n## Step\n\n{size of file} bytes\n"


def test_from_install_to_remove(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack is installed, listed with what it needs, exported and removed; with --json as data."""
    monkeypatch.setattr(module, "user_data_folder", lambda: tmp_path / "data" / "notes")
    course = tmp_path / "course"
    course.mkdir()
    (course / "mine.md").write_text(TEXT)
    assert run(["lesson", "install", str(course)]) == 0
    assert f"course: Mine, 1 lesson, from {course}" in capsys.readouterr().out
    assert run(["lesson", "install", str(course)]) == 2
    assert run(["lesson", "install", str(course), "--force"]) == 0
    capsys.readouterr()
    assert run(["lesson", "list"]) == 0
    out = capsys.readouterr().out
    assert "\n  course.mine: Mine, 10 min (after: swh-1-meet-the-file)\n" in out
    assert all(f"{one.name}: {one.title}" in out for one in (*lessons(), *missions()))
    assert run(["lesson", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["lessons"]] == [one.name for one in (*lessons(), *missions())]
    (pack,) = told["packs"]
    assert (pack["title"], pack["lessons"][0]["needs"]) == ("Mine", ["swh-1-meet-the-file"])
    for target in (tmp_path / "a.html", tmp_path / "pages"):
        assert run(["lesson", "export", "course.mine", f"{target}{'' if target.suffix else '/'}"]) == 0
    assert (tmp_path / "a.html").read_text() == (tmp_path / "pages" / "mine.html").read_text()
    assert run(["lesson", "export", str(course / "mine.md"), str(tmp_path / "a.html")]) == 2
    assert run(["lesson", "export", str(course / "mine.md"), "-"]) == 0
    assert "5,064 bytes" in capsys.readouterr().out
    assert run(["lesson", "remove", "course"]) == 0
    assert run(["lesson", "remove", "course"]) == 2


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["walk"], "the action must be one of list, install, remove, export"),
        (["install"], "usage: shardcore lesson install FOLDER|ZIP"),
        (["list", "--notes"], "--notes is only used with lesson export"),
        (["export", "gone", "-"], "unknown lesson 'gone'"),
        (["export", "gone.md", "-"], "cannot read gone.md"),
        (["export", "swh-1-meet-the-file", "-", "--solutions", "--without-answers"], "exclude each other"),
    ],
)
def test_mistakes(given: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is one line that says what is wrong."""
    assert run(["lesson", *given]) in (2, 4)
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1
