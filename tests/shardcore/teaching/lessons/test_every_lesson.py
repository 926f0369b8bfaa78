"""Every step of every lesson is found on its sample, and its own solution answers its question."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

import shardcore
from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.answers import Given, judged, solution
from shardcore.teaching.lessons.html_page import lesson_stages
from shardcore.teaching.lessons.lesson import Answer, Lesson
from shardcore.teaching.lessons.lesson_list import lessons, sample_key
from shardcore.teaching.lessons.lesson_step import LessonStage, fresh_file, staged
from shardcore.testing import rounds

LESSONS = lessons()
LINES = (Path(__file__).parent / "answers.txt").read_text("utf-8").splitlines()
ANSWERS = dict(line.split(" = ") for line in LINES if not line.startswith("%"))
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


def check(stage: LessonStage, answer: str | None) -> None:
    """The solution of a question is right and is the listed one; wrong answers are explained."""
    assert stage.question is not None
    question, given = stage.question, solution(stage.question, stage.scene)
    assert judged(question, given, stage.scene).right
    if question.kind is Answer.CHOICE:
        wrong = [Given(str(n)) for n, choice in enumerate(question.choices) if not choice.right]
    else:
        wrong = [Given("-1"), Given("nothing", sketch="nothing")]
    for other in wrong:
        verdict = judged(question, other, stage.scene)
        assert not verdict.right
        assert len(verdict.text) > 10
    if answer is not None:
        found = f"{given.text} of {given.sketch}" if given.sketch else given.text
        if given.span is not None:
            found = f"{given.span.start}:{given.span.stop} {given.span.source}".strip()
        assert found == answer


@every_lesson
def test_every_step_is_on_its_sample_and_its_solution_is_right(lesson: Lesson, tmp_path: Path) -> None:
    """On the sample and on the fresh files: texts are filled, nodes and steps found."""
    unlisted = []
    with ExitStack() as stack:
        shard = stack.enter_context(shardcore.open(resource_paths.resources() / "samples" / lesson.sample))
        key, on_sample = sample_key(lesson), True
        for number, step in enumerate(lesson.steps):
            if step.fresh is not None:
                made, key = fresh_file(lesson, number, step.fresh, tmp_path, Random(number))
                shard, on_sample = stack.enter_context(shardcore.open(made)), False
            stage = staged(lesson, number, shard, key)
            assert not stage.missing, step.line
            assert "{" not in stage.text.replace("{{", ""), stage.text
            if stage.question is not None:
                answer = ANSWERS.get(f"{lesson.name} {number + 1}")
                check(stage, answer)
                if answer is None and on_sample and stage.question.kind is not Answer.CHOICE:
                    unlisted.append(number + 1)
    assert not unlisted


@every_lesson
def test_a_lesson_is_short_and_asks(lesson: Lesson) -> None:
    """8 to 15 steps (4 or 5 in the first lesson), with questions that explain; lines of code fit into the panel."""
    assert len(lesson.steps) in (range(4, 6) if lesson.name.startswith("00-") else range(8, 16))
    questions = [step.question for step in lesson.steps if step.question is not None]
    assert len(questions) >= len(lesson.steps) // 2
    assert lesson.about
    assert lesson.minutes <= (12 if "-1-" in lesson.name or "-2-" in lesson.name else 15), "40 for a format"
    for question in questions:
        if question.kind is not Answer.CHOICE:
            assert any(not answer for answer, _ in question.wrong), f"{question.prompt}: other wrong answers"
            assert question.hints, question.prompt
    for step in lesson.steps:
        assert all(len(line) <= 38 for block in step.text.split("```")[1::2] for line in block.splitlines()), step.title


@pytest.mark.parametrize("format", sorted({lesson.format for lesson in LESSONS}))
def test_questions_stand_on_pictures(format: str) -> None:
    """In the lessons of a format, 4 of 5 questions have a picture, and half of the answers are clicks."""
    counts = [lesson.counts for lesson in LESSONS if lesson.format == format]
    asked, drawn, clicks = (sum(one[name] for one in counts) for name in ("questions", "pictures", "clicks"))
    assert 5 * drawn >= 4 * asked
    assert 2 * clicks >= asked


def test_nobody_learns_where_the_right_choice_stands() -> None:
    """Over all lessons, no place among the choices is right in more than half of the questions."""
    places: list[int] = []
    for lesson in LESSONS:
        with shardcore.open(resource_paths.resources() / "samples" / lesson.sample) as shard:
            for number, step in enumerate(lesson.steps):
                if step.question is not None and step.question.kind is Answer.CHOICE and step.fresh is None:
                    question = staged(lesson, number, shard, sample_key(lesson)).question
                    places.append(next(place for place, choice in enumerate(question.choices) if choice.right))
    assert max(places.count(place) for place in set(places)) <= (len(places) + 1) // 2


@every_lesson
def test_fresh_files_suit_their_steps(lesson: Lesson) -> None:
    for seed in range(rounds(20, 3)):
        assert not [
            f"{seed}: {stage.step.title}: {stage.missing}" for stage in lesson_stages(lesson, seed) if stage.missing
        ]
