"""Lessons on any file: what does not fit is left out with a reason, and no question expects a wrong answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import shardcore
from shardcore import ShardError
from shardcore.shards.registry import FORMATS
from shardcore.teaching import assets
from shardcore.teaching.lessons.answers import Given, judged, number_of, solution
from shardcore.teaching.lessons.lesson import Answer, Lesson, parse
from shardcore.teaching.lessons.library import lessons_of
from shardcore.teaching.lessons.stage import LessonStage, past_sample, staged
from shardcore.testing import sampled

DATA = Path(__file__).parents[3] / "data"
MOST_FILES = 36
"""Files of each format whose questions are judged."""
MEMBERS = {".des", ".shard", ".mdb"}

Rule = Callable[[list[int]], int]

BY_HAND: list[tuple[str, Rule]] = [
    (r"begins at byte N, and its stored size is N\.", lambda told: told[1] + 8 + told[2]),
    (r"begins at byte N, has N compressed bytes and a checksum of N\.", lambda told: sum(told[1:4])),
    (r"its length is N\.", lambda told: told[1] + 8 + told[2]),
    (r"`objects_count`, .*, is N\. How many slots were never used", lambda told: told[0] - told[1]),
    (r"slot N begin\? Slot N begins at byte N\.", lambda told: told[2] + 40 * told[0]),
    (r"f = N, h = N, p0 = N, p1 = N, n = N", lambda told: (told[0] + told[1] * told[2] + told[3]) % told[4]),
    (r"The file has N bytes, the index N\.", lambda told: told[0] - told[1] - 12),
    (r"The rows have N bytes together, and each number N", lambda told: told[0] // 3 // told[1]),
    (r"It begins with the numbers N and N\.", sum),
    (r"The row begins with N and N; value N has N bytes, and the shard index N\.", lambda told: sum(told) - 1),
    (r"`minishard_bits` is N\. How many bytes has the shard index", lambda told: 16 << told[0]),
    (r"`preshift_bits` is N\. Which number is left of N", lambda told: told[1] >> told[0]),
    (r"Record N begins at byte N and ends at N", lambda told: told[2] - told[1]),
    (r"The selected reconstruction has N bytes", lambda told: told[0] // 48),
]
"""Questions that state all their numbers, and the rule that the lesson teaches; numbers in the order of the prompt."""


def files(format: str) -> Iterator[Path]:
    """The files and data sets in the test data of a format, hostile ones as well, and its samples."""
    yield from (sample.path for sample in assets.samples() if sample.format == format)
    for path in sorted((DATA / format).rglob("*")):
        if path.is_dir():
            shard = any(one.suffix in MEMBERS or one.name == "info" for one in path.iterdir())
        else:
            shard = path.suffix not in {".md", ".py", ".json"}
        if shard:
            yield path


def walked(path: Path) -> Iterator[tuple[Lesson, LessonStage]]:
    """Each step of the lessons of a file, before the fresh one."""
    with shardcore.open(str(path), partial=True) as shard:
        for lesson in lessons_of(shard.format):
            for number, step in enumerate(lesson.steps):
                if step.fresh is not None:
                    break
                yield lesson, staged(lesson, number, shard, "", own=True)


def by_hand(prompt: str) -> int | None:
    """The answer to a question from its own numbers; None where it does not state them all."""
    prompt = re.sub(r" \\?\(0x[0-9a-f]+\\?\)", "", prompt)  # an offset in its other notation
    plain = re.sub(r"(?<![\w.])(\d[\d,]*\d|\d)(?!\w)", "N", prompt)
    told = [int(found.replace(",", "")) for found in re.findall(r"(?<!\w)(\d[\d,]*\d|\d)(?!\w)", prompt)]
    rule = next((rule for pattern, rule in BY_HAND if re.search(pattern, plain)), None)
    return rule(told) if rule is not None else None


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("format", FORMATS)
def test_no_question_expects_a_wrong_answer_on_any_file(format: str) -> None:
    """Its own solution is right, numbers are places and counts, and agree with the rule that the lesson states."""
    asked: dict[str, int] = {}
    checked = 0
    for path in sampled(list(files(format)), MOST_FILES, full=False):
        try:
            for lesson, stage in walked(path):
                where = f"{path}: {lesson.name}, {stage.step.title}"
                if stage.missing:
                    assert len(stage.missing) > 10, where
                    assert stage.step.sample_only or stage.line >= stage.step.line, where
                    continue
                question = stage.question
                if question is None:
                    continue
                asked[lesson.name] = asked.get(lesson.name, 0) + 1
                given = solution(question, stage.scene)
                assert judged(question, given, stage.scene).right, where
                for wrong, _ in question.wrong:
                    # A mistake that happens to give the right answer is right.
                    if wrong and question.kind is Answer.NUMBER:
                        judged(question, Given(stage.scene.fill(wrong)), stage.scene)
                if question.kind is not Answer.NUMBER:
                    continue
                number = number_of(given.text)
                assert number is not None, where
                assert number >= 0, where
                expected = by_hand(question.prompt.replace("\\", ""))
                if expected is not None:
                    assert number == expected, f"{where}: {question.prompt}"
                    checked += 1
        except ShardError:
            continue  # nothing of it can be opened or read: no lesson either
    assert set(asked) >= {lesson.name for lesson in lessons_of(format)}
    assert checked > 10 or format == "mdb"


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_most_of_a_lesson_is_left_on_files_of_the_user() -> None:
    """Of a file without element keys, of another data set: more steps ask than are left out."""
    for path in (
        DATA / "bloscpack" / "codec_lz4_1.blp",
        DATA / "neuroglancer" / "preshift_sparse",
        DATA / "swh" / "signed_dialect.shard",
    ):
        stages = [stage for lesson, stage in walked(path) if lesson.name.endswith("-2-find-a-key")]
        assert sum(stage.question is not None for stage in stages) > len(stages) // 2, path


def test_steps_about_the_sample_are_passed_over() -> None:
    """Forward to the next step that fits, and back to the one before; where there is none, the other way."""
    step = "## {0}\n\n- only: sample\n\n"
    text = "# T\n\n" + step.format("a") + "## b\n\nx\n\n" + step.format("c") + "## d\n\nx\n\n" + step.format("e")
    lesson = parse(text, "small")
    assert past_sample(lesson, 0, forward=True) == (1, ("a",))
    assert past_sample(lesson, 2, forward=True) == (3, ("c",))
    assert past_sample(lesson, 2, forward=False) == (1, ())
    assert past_sample(lesson, 0, forward=False) == (1, ("a",))
    assert past_sample(lesson, 4, forward=True) == (3, ())
