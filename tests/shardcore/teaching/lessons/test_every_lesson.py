"""Every step of every lesson is found on its sample, and its own solution answers its question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

import shardcore
from shardcore.teaching import resources
from shardcore.teaching.lessons.answers import Given, judged, solution
from shardcore.teaching.lessons.fresh import make_fresh
from shardcore.teaching.lessons.lesson import Answer, Lesson, LessonStep, Show
from shardcore.teaching.lessons.library import lessons, sample_key
from shardcore.teaching.lessons.stage import LessonStage, fresh_key, staged

LESSONS = lessons()


def stages_of(lesson: Lesson, tmp_path: Path) -> Iterator[LessonStage]:
    """All steps of a lesson, on its sample and on the fresh files that it makes."""
    with ExitStack() as stack:
        sample = resources.resources() / "samples" / lesson.sample
        shard = stack.enter_context(shardcore.open(str(sample)))
        key = sample_key(lesson)
        for number, step in enumerate(lesson.steps):
            if step.fresh is not None:
                folder = tmp_path / str(number)
                folder.mkdir()
                made = make_fresh(step.fresh, lesson.format, folder, Random(number))
                shard = stack.enter_context(shardcore.open(str(made)))
                key = fresh_key(lesson, number, shard, Random(number))
            yield staged(lesson, number, shard, key)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_step_is_on_its_sample_and_its_solution_is_right(lesson: Lesson, tmp_path: Path) -> None:
    """Texts are filled, nodes and steps found; *Show me* is judged right, and something else is not."""
    for stage in stages_of(lesson, tmp_path):
        assert not stage.missing, f"{lesson.name}, line {stage.step.line}: {stage.missing}"
        assert "{" not in stage.text.replace("{{", ""), stage.text
        if stage.question is None:
            continue
        assert judged(stage.question, solution(stage.question, stage.scene), stage.scene).right
        if stage.question.kind is Answer.CHOICE:
            wrong = [Given(str(n)) for n, choice in enumerate(stage.question.choices) if not choice.right]
        else:
            wrong = [Given("-1"), Given("nothing", sketch="nothing")]
        for given in wrong:
            verdict = judged(stage.question, given, stage.scene)
            assert not verdict.right
            assert len(verdict.text) > 10, f"{lesson.name}, line {stage.step.line}: a wrong answer is not explained"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_is_short_and_asks(lesson: Lesson) -> None:
    """8 to 15 steps, most of them with a question; it says what one can do after it."""
    assert 8 <= len(lesson.steps) <= 15
    assert sum(step.question is not None for step in lesson.steps) >= len(lesson.steps) // 2
    assert lesson.about
    assert lesson.minutes <= (10 if "-1-" in lesson.name or "-2-" in lesson.name else 25)
    questions = [step.question for step in lesson.steps if step.question is not None]
    for question in questions:
        if question.kind is not Answer.CHOICE:
            assert any(not answer for answer, _ in question.wrong), f"{question.prompt}: other wrong answers"
            assert question.hints, question.prompt


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_tables_and_lines_of_code_fit_into_the_panel(lesson: Lesson) -> None:
    """Code is not wrapped: a longer line would be cut off at the width that the panel has at first."""
    for step in lesson.steps:
        code = step.text.split("```")[1::2]
        assert all(len(line) <= 38 for block in code for line in block.splitlines()), step.title


def drawings_of(step: LessonStep) -> list[str]:
    """The drawings that a step shows, before it is answered or after."""
    return [what for kind, what in (*step.shows, *step.reveals) if kind is Show.DRAWING]


@pytest.mark.parametrize(
    "lesson", [one for one in LESSONS if one.name.endswith("-2-find-a-key")], ids=lambda one: one.name
)
def test_keys_are_found_in_drawings(lesson: Lesson) -> None:
    """Two steps or more show a drawing, and one asks for a click in it."""
    assert sum(bool(drawings_of(step)) for step in lesson.steps) >= 2
    kinds = [step.question.kind for step in lesson.steps if step.question is not None]
    assert Answer.ITEM in kinds


def test_nobody_learns_where_the_right_choice_stands(tmp_path: Path) -> None:
    """Over all lessons, no place among the choices is right in more than half of the questions."""
    places: list[int] = []
    for lesson in LESSONS:
        with shardcore.open(str(resources.resources() / "samples" / lesson.sample)) as shard:
            for number, step in enumerate(lesson.steps):
                if step.question is not None and step.question.kind is Answer.CHOICE and step.fresh is None:
                    question = staged(lesson, number, shard, sample_key(lesson)).question
                    assert question is not None
                    places.append(next(place for place, choice in enumerate(question.choices) if choice.right))
    assert max(places.count(place) for place in set(places)) <= len(places) // 2


@pytest.mark.parametrize("name", ["mdb-2-find-a-key", "swh-2-find-a-key"])
def test_any_key_of_a_fresh_file_will_do(name: str, tmp_path: Path) -> None:
    """Whichever is picked, the last question can be asked: it is a key of what the lesson is about."""
    lesson = next(lesson for lesson in LESSONS if lesson.name == name)
    number = len(lesson.steps) - 1
    fresh = lesson.steps[number].fresh
    assert fresh is not None
    with shardcore.open(str(make_fresh(fresh, lesson.format, tmp_path, Random(1)))) as shard:
        keys = {fresh_key(lesson, number, shard, Random(seed)) for seed in range(20)}
        assert len(keys) > 5
        for key in keys:
            assert not staged(lesson, number, shard, key).missing
