"""A student's damaged file becomes a mission, which is done when the bytes are mended."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import ShardError
from shardcore.sources.local import FileSource
from shardcore.sources.patched import Change, PatchedSource
from shardcore.teaching.exercises.mission import make_mission
from shardcore.teaching.hand_in import kind_of
from shardcore.teaching.lessons.answers import Given, judged, solution
from shardcore.teaching.lessons.lesson import Answer, Lesson, LessonError, parse
from shardcore.teaching.lessons.library import read_lesson
from shardcore.teaching.lessons.stage import staged
from shardcore.teaching.lessons.values import LessonScene

BYTE = 4000
"""Of an object, whose digest is its key."""


@pytest.fixture
def damaged(data: Path, tmp_path: Path) -> Path:
    """A copy with one bit turned over; its name is none that a lesson could have."""
    content = bytearray((data / "swh/small.shard").read_bytes())
    content[BYTE] ^= 4
    path = tmp_path / "my {file} *of* mine.shard"
    path.write_bytes(content)
    return path


def played(lesson: Lesson, path: Path) -> list[bool]:
    """Return if each question is right with its own solution; the last is asked of the damaged file."""
    found = []
    with shardcore.open(str(path), partial=True) as shard:
        for number in range(len(lesson.steps)):
            stage = staged(lesson, number, shard, "")
            assert not stage.missing
            assert stage.question is not None
            mended = stage.question.kind is Answer.MENDED
            given = Given() if mended else solution(stage.question, stage.scene)
            found.append(judged(stage.question, given, stage.scene).right)
    return found


def test_it_opens_like_any_lesson_and_wants_the_bytes(data: Path, damaged: Path, tmp_path: Path) -> None:
    """Folder and zip hold the copy and the lesson; its questions are right, and only mended bytes finish it."""
    place = make_mission(data / "swh/small.shard", damaged, tmp_path / "out")
    lesson = read_lesson(place)
    assert kind_of(lesson) == "mission"
    sample = Path(lesson.sample)
    assert sample.read_bytes() == damaged.read_bytes()
    assert played(lesson, sample) == [True, True, False]
    asked = lesson.steps[-1].question
    assert asked is not None
    for bit, is_right in ((1, False), (2, True)):
        change = Change.flip(BYTE, bit, damaged.read_bytes()[BYTE])
        with FileSource(sample) as file, shardcore.open(PatchedSource(file, [change])) as shard:
            verdict = judged(asked, Given(), LessonScene(shard))
            assert (verdict.right, verdict.text.startswith("Not yet")) == (is_right, not is_right)
    packed = make_mission(data / "swh/small.shard", damaged, tmp_path / "out.zip")
    with zipfile.ZipFile(packed) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            place.name: place.read_bytes(),
            sample.name: damaged.read_bytes(),
        }


@pytest.mark.parametrize("size", [40, 3000, 5000])
def test_a_file_that_was_cut(data: Path, tmp_path: Path, size: int) -> None:
    """Missing bytes cannot be typed in: the mission asks for their number, and leads to recovery."""
    cut = tmp_path / "cut.shard"
    cut.write_bytes((data / "swh/small.shard").read_bytes()[:size])
    lesson = read_lesson(make_mission(data / "swh/small.shard", cut, tmp_path / "out"))
    assert lesson.steps[-1].question is not None
    assert lesson.steps[-1].question.kind is Answer.NUMBER
    assert "Recover objects" in lesson.steps[-1].text


def test_what_is_no_mission(data: Path, damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Equal files, and originals that are no shards, are refused; nothing is replaced unasked."""
    original, text = data / "swh/small.shard", tmp_path / "a.txt"
    text.write_text("no shard")
    for one, other in ((original, original), (text, damaged), (tmp_path / "none", damaged)):
        with pytest.raises(ShardError):
            make_mission(one, other, tmp_path / "never.zip")
    assert not (tmp_path / "never.zip").exists()
    line = ["exercise", "--from-damage", str(original), str(damaged), str(tmp_path / "m.zip")]
    assert run(line) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "m.zip")
    assert run(line) == 2
    assert run([*line, "--force"]) == 0


def test_what_a_mission_may_demand() -> None:
    """A depth of verification, or a digest; anything else is an error with its line."""
    text = "# A\n\n## B\n\n- ask: C\n- answer mended: {}\n"
    for answer in ("content", "structure", f"sha256 {'0' * 64}"):
        assert parse(text.format(answer), "a").steps[0].question is not None
    for answer in ("all", "sha256 12", "{key}"):
        with pytest.raises(LessonError, match="line 5"):
            parse(text.format(answer), "a")
