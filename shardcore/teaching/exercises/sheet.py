"""The questions of an exercise over its open file, one after the other, and the verdict on each answer. No Qt here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import shardcore
from shardcore.model.text import visible
from shardcore.teaching.exercises.exercise import ExerciseName, make_file, written
from shardcore.teaching.lessons.answers import AnswerVerdict, Given, judged, solution
from shardcore.teaching.lessons.lesson import Answer, Lesson, Question
from shardcore.teaching.lessons.values import LessonScene


@dataclass(frozen=True, slots=True)
class SheetQuestion:
    """One question.

    Attributes:
        number: Its number, from 1.
        title: The title of its step: which key it is about.
        text: Facts that come with it, in Markdown.
        question: The question, with its values.
        scene: The file and the lookup that the answer is judged by.
    """

    number: int
    title: str
    text: str
    question: Question
    scene: LessonScene

    def judge(self, text: str) -> AnswerVerdict:
        """Return the verdict on an answer as it is typed; a choice by its words."""
        question = self.question
        if question.kind is not Answer.CHOICE:
            return judged(question, Given(text), self.scene)
        words = [choice.text for choice in question.choices]
        if text.strip().lower() not in words:
            return AnswerVerdict(False, f"The answer is {' or '.join(words)}.")
        return judged(question, Given(str(words.index(text.strip().lower()))), self.scene)

    @property
    def solution(self) -> str:
        """The right answer, as it would be typed."""
        return typed(self.question, solution(self.question, self.scene))


def typed(question: Question, given: Given) -> str:
    """Return an answer as a text; of a choice, its words, of clicked bytes their range."""
    if question.kind is Answer.CHOICE:
        return question.choices[int(given.text)].text
    if given.span is not None:
        return visible(f"{given.span.start}..{given.span.stop}")
    return given.text


@dataclass(frozen=True, slots=True)
class ExerciseSheet:
    """An exercise with its file open.

    Attributes:
        lesson: The exercise as a lesson.
        path: Its file.
        text: Text before the first question, in Markdown.
        questions: In order.
        bits: Width of the numbers of its calculator.
    """

    lesson: Lesson
    path: Path
    text: str
    questions: tuple[SheetQuestion, ...]
    bits: int = 64


@contextmanager
def opened_sheet(
    name: ExerciseName, folder: Path | None = None, *, exam: bool = False, minutes: int = 0
) -> Iterator[ExerciseSheet]:
    """Make an exercise, and open its file as long as the block runs.

    Args:
        name: Name of the exercise.
        folder: Folder of its file, which stays; None for a folder that goes at the end.
        exam: Whether it is an exam.
        minutes: Time limit of the exam in minutes; 0 without a clock.

    Raises:
        UsageError: There is no such exercise.
        ShardError: It cannot be made.
    """
    with TemporaryDirectory(prefix="shardcore-exercise-", ignore_cleanup_errors=True) as temporary:
        path = make_file(name, folder or Path(temporary))
        with shardcore.open(str(path), format=name.format) as shard:
            lesson, traces = written(name, shard, exam=exam, minutes=minutes)
            yield _sheet(lesson, path, {key: LessonScene(shard, key, trace) for key, trace in traces.items()})


def _sheet(lesson: Lesson, path: Path, scenes: Mapping[str, LessonScene]) -> ExerciseSheet:
    questions: list[SheetQuestion] = []
    text = ""
    for step in lesson.steps:
        scene = scenes[step.lookup]
        if step.question is None:
            text = scene.prose(step.text)
            continue
        asked = step.question
        filled = replace(asked, prompt=scene.prose(asked.prompt), hints=tuple(map(scene.prose, asked.hints)))
        questions.append(SheetQuestion(len(questions) + 1, step.title, scene.prose(step.text), filled, scene))
    bits = next((step.calculator.width for step in lesson.steps if step.calculator is not None), 64)
    return ExerciseSheet(lesson, path, text, tuple(questions), bits)


__all__ = ["ExerciseSheet", "SheetQuestion", "opened_sheet", "typed"]
