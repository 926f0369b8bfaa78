"""A text becomes a lesson, or an error with its line."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from shardcore.errors import UsageError
from shardcore.model.options import OptionPurpose, OptionType
from shardcore.shards.registry import all_formats
from shardcore.teaching.lessons.lesson import Answer, Fresh, LessonError, Show, parse
from shardcore.teaching.lessons.lesson_list import read_lesson
from shardcore.teaching.lessons.lesson_step import make_fresh
from shardcore.teaching.resource_paths import resources

TEXT = """# A title

about: what one can do then
format: swh
sample: swh.shard
minutes: 5

## First

Some *text* with {value of header/version}.

- lookup: {key}
- show: header/magic
- show step: The seed
- show drawing: parking displacement=0

## Second

- ask: How many?
- answer number: {value of header/objects_count}
- hint: Count them.
- hint: All of them.
- wrong {= 1 + {value of header/objects_count}}: One too many.
- wrong: No.
- right: Yes.

## Third

- fresh: 20 folder date=2026-11-03 n_bits=8
- ask: Which?
- choice wrong: this | because not
- choice right: that
"""


def test_minutes_are_estimated_from_words_and_answers() -> None:
    """150 words a minute; 0.4 minutes to choose an answer, one to type it. Stated minutes are kept."""
    text = TEXT.replace("minutes: 5\n", "")
    assert parse(text, "title").minutes == 2
    assert parse(text.replace("## Third", "word " * 300 + "\n\n## Third"), "title").minutes == 4
    assert parse(text.replace("- answer number", "- answer item"), "title").minutes == 1


def test_a_lesson_is_read_line_by_line() -> None:
    """Facts, texts, what is shown, questions with hints and answers, and the fresh file."""
    lesson = parse(TEXT, "title")
    assert (lesson.title, lesson.format, lesson.minutes, lesson.key) == ("A title", "swh", 5, "typical")
    first, second, third = lesson.steps
    assert first.text == "Some *text* with {value of header/version}."
    assert first.lookup == "{key}"
    shown = ((Show.NODE, "header/magic"), (Show.STEP, "The seed"), (Show.DRAWING, "parking displacement=0"))
    assert first.shows == shown
    assert second.question.kind is Answer.NUMBER
    assert second.question.hints == ("Count them.", "All of them.")
    assert second.question.wrong[0] == ("{= 1 + {value of header/objects_count}}", "One too many.")
    assert third.fresh == Fresh(20, folder=True, options=(("date", "2026-11-03"), ("n_bits", "8")))
    assert [choice.right for choice in third.question.choices] == [False, True]


@pytest.mark.parametrize(
    ("line", "instead", "message"),
    [
        ("# A title", "A title", "line 1: a lesson must begin"),
        ("minutes: 5", "minutes: five", "line 6: minutes must be a number"),
        ("format: swh", "format: shw", "line 4: format must be one of swh,"),
        ("minutes: 5", "key: usual", "line 6: key must be one of typical,"),
        ("- lookup: {key}", "- lookup: {key", "line 12: unbalanced braces"),
        ("- hint: All of them.", "-hint: All of them.", "line 22: expected `- WORD"),
        ("- answer number: {value", "* answer number: {value", "line 20: expected `- WORD"),
        ("- show: header/magic", "- only: {value of header/version} > 0", "line 13: expected `- only: NUMBER > NUMBER"),
        ("- ask: Which?", "- ask: Which?\n- ask: What?", "begin a new step with `## `"),
        ("format: swh", "fromat: swh", "line 4: expected `name: value`"),
        ("- show step: The seed", "- show stop: The seed", "line 14: `show` must be one of"),
        ("- lookup: {key}", "- look: {key}", "line 12: unknown line `- look:`"),
        ("- answer number: {value", "- answer figure: {value", "line 20: `- answer KIND:`"),
        ("- choice right: that", "- choice wrong: that | no", "of which exactly one is right"),
        ("| because not", "", "a wrong choice requires a reason"),
        ("- fresh: 20 folder", "- fresh: many", "expected a number of objects"),
        ("- hint: Count them.", "- hint: ", "text is missing"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(line: str, instead: str, message: str) -> None:
    """A teacher who mistypes finds the place."""
    with pytest.raises(LessonError) as caught:
        parse(TEXT.replace(line, instead, 1), "title")
    assert message in str(caught.value)


def test_a_sample_that_is_not_there_is_told_with_its_line(tmp_path: Path) -> None:
    """Neither beside the text nor among the samples: nobody waits for the first step to learn that."""
    (tmp_path / "mine.md").write_text(TEXT)
    with pytest.raises(LessonError, match=r"line 5: swh\.shard not found"):
        read_lesson(tmp_path / "mine.md")


@pytest.mark.parametrize(
    ("format", "option"),
    [
        ("mdb", "xorbs"),
        ("neuroglancer", "spec"),
        ("neuroglancer", "volume"),
        ("neuroglancer", "template"),
        ("bloscpack", "metadata"),
    ],
)
def test_a_fresh_file_names_no_place(format: str, option: str, tmp_path: Path) -> None:
    """A lesson from a stranger cannot make the program read or write outside of the folder of its fresh file."""
    outside, folder = tmp_path / "outside", tmp_path / "own"
    outside.mkdir()
    folder.mkdir()
    secret = outside / "secret.json"
    secret.write_text('{"secret": 1}')
    for named in (secret, outside, "s3://bucket/key", ""):
        fresh = Fresh(3, folder=format == "neuroglancer", options=((option, str(named)),), format=format)
        with pytest.raises(UsageError, match="lessons cannot use files or folders as options"):
            make_fresh(fresh, "swh", folder, Random(1))
    assert [path.name for path in outside.iterdir()] == ["secret.json"]
    assert not list(folder.iterdir())


def test_every_option_with_a_text_says_whether_it_names_a_file() -> None:
    """An option of a writer whose value is text is one of these values, or declares that it is a path."""
    values = {"skip", "date", "expiry", "key", "created", "chunk_size", "resolution"}
    options = [one for format in all_formats() for one in format.options_for(OptionPurpose.WRITE)]
    assert {one.name for one in options if one.type is OptionType.TEXT and not one.path} <= values


@pytest.mark.parametrize("sample", ["../other.shard", "{}/a.shard", "in/../../a.shard"])
def test_a_sample_lies_beside_the_lesson(sample: str, tmp_path: Path) -> None:
    """A lesson opens files below its own folder, and the samples of the program."""
    text = (resources() / "lessons" / "swh-1-meet-the-file.md").read_text("utf-8")
    inner = tmp_path / "inner"
    inner.mkdir()
    for place in (tmp_path / "other.shard", tmp_path / "a.shard"):
        place.write_bytes(b"x")
    lesson = inner / "own.md"
    lesson.write_text(re.sub(r"(?m)^(.*sample: ).*$", lambda one: one[1] + sample.format(tmp_path), text, count=1))
    with pytest.raises(LessonError, match=r"without `\.\.`"):
        read_lesson(lesson)
