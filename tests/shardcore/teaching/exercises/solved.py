"""Exercises, answered by the lookups of `shard.trace`, through the judge that a student has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shardcore.shards.shard import Shard
from shardcore.shards.trace import Trace
from shardcore.teaching.exercises.exercise import ABSENT, PRESENT, ExerciseName
from shardcore.teaching.exercises.sheet import ExerciseSheet, SheetQuestion, opened_sheet
from shardcore.teaching.lessons.lesson import Answer

_VALUE = re.compile(r"\{(?P<name>.+) in (?P<title>.+)\}")


def answer_of(question: SheetQuestion, trace: Trace, shard: Shard) -> str:
    """The answer, read out of the lookup, and of the content."""
    if question.question.kind is Answer.CHOICE:
        return PRESENT if trace.ref is not None else ABSENT
    asked = _VALUE.fullmatch(question.question.answer)
    if asked is None:
        assert trace.ref is not None
        return shard.read(trace.ref)[-8:].hex()
    (step,) = [one for one in trace.steps if one.title == asked["title"]]
    return str(step.values[asked["name"]])


def wrong_of(sheet: ExerciseSheet) -> Iterator[str]:
    """Each question that is not right when it is answered by the lookup, in words."""
    for question in sheet.questions:
        assert question.scene.trace is not None
        text = answer_of(question, question.scene.trace, question.scene.shard)
        verdict = question.judge(text)
        if not verdict.right:
            yield f"{sheet.lesson.name} {question.number}: {text}: {verdict.text}"


def solve(name: ExerciseName) -> tuple[int, list[str]]:
    """Number of questions of an exercise, and those that were not right."""
    with opened_sheet(name) as sheet:
        absent = sum(question.solution == ABSENT for question in sheet.questions)
        wrong = list(wrong_of(sheet))
        if not 1 <= absent <= 2:
            wrong.append(f"{sheet.lesson.name}: {absent} keys are absent")
        return len(sheet.questions), wrong


def keys_of(sheet: ExerciseSheet) -> list[str]:
    """The keys, in order."""
    return list(dict.fromkeys(question.scene.key for question in sheet.questions))
