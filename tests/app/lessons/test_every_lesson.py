"""Every step of every lesson is found on its sample, and its own solution answers its question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

import shardcore
from shardscope import assets
from shardscope.lessons.answers import Given, judged, solution
from shardscope.lessons.fresh import make_fresh
from shardscope.lessons.lesson import Answer, Lesson
from shardscope.lessons.library import lessons, sample_key
from shardscope.lessons.stage import Stage, pick_key, staged

LESSONS = lessons()


def stages_of(lesson: Lesson, tmp_path: Path) -> Iterator[Stage]:
    """All steps of a lesson, on its sample and on the fresh files that it makes."""
    with ExitStack() as stack:
        sample = assets.resources() / "samples" / lesson.sample
        shard = stack.enter_context(shardcore.open(str(sample)))
        key = sample_key(lesson)
        for number, step in enumerate(lesson.steps):
            if step.fresh is not None:
                folder = tmp_path / str(number)
                folder.mkdir()
                made = make_fresh(step.fresh, lesson.format, folder, Random(number))
                shard = stack.enter_context(shardcore.open(str(made)))
                key = pick_key(shard, Random(number))
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
        other = Given("1") if stage.question.kind is Answer.CHOICE else Given("-1")
        if stage.question.kind is not Answer.CHOICE or not stage.question.choices[1].right:
            verdict = judged(stage.question, other, stage.scene)
            assert not verdict.right
            assert verdict.text


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_is_short_and_asks(lesson: Lesson) -> None:
    """8 to 15 steps, most of them with a question; it says what one can do after it."""
    assert 8 <= len(lesson.steps) <= 15
    assert sum(step.question is not None for step in lesson.steps) >= len(lesson.steps) // 2
    assert lesson.about
    assert lesson.minutes <= 10
