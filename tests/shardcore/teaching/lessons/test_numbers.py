"""Numbers of two and more digits in lessons and missions are read from the sample, computed, or rules of the format.

`numbers.txt` beside this file lists the others under the name of their format, as `NUMBER = EXPRESSION`: values in
braces, read from the sample, or `*` for a rule of the specification, a name, or an example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

import shardcore
from shardcore.operations.offset_expression import calculate
from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.answers import number_of
from shardcore.teaching.lessons.lesson import Answer, Lesson, LessonStep
from shardcore.teaching.lessons.lesson_list import lessons, missions, sample_key
from shardcore.teaching.lessons.placeholders import LessonScene, NotHereError

NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-f]+|\d{1,3}(?:,\d{3})+|\d+)(?!\w)")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
TERM = r"\(*(?:0x[0-9a-f]+|\d[\d,]*)\)*"
EQUATION = re.compile(
    rf"(?<![·+\-^/…] )(?<![\w.(])({TERM}(?: (?:[+\-·^]|//|mod) {TERM})+) = (\d{{1,3}}(?:,\d{{3}})+|\d+)(?!\w| [·+\-])"
)
SAMPLES = resource_paths.resources() / "samples"


def written(text: str) -> str:
    """Return a text in one line, with `…` for its values."""
    out, depth = "", 0
    for letter in text:
        depth += letter == "{"
        out += letter if not depth else "…" if letter == "{" and depth == 1 else ""
        depth -= letter == "}"
    return " ".join(out.split())


def texts(step: LessonStep) -> Iterator[str]:
    yield from (step.title, step.text, *(condition.otherwise for condition in step.conditions))
    if (question := step.question) is not None:
        yield from (question.prompt, *question.hints, question.right)
        yield from (text for choice in question.choices for text in (choice.text, choice.why))
        for answer, sentence in question.wrong:
            yield f"{answer}: {sentence}" if question.kind is Answer.NUMBER else sentence


def numbers(text: str) -> Iterator[int]:
    """Yield the numbers of a text, but those of equations, which are computed, and of code."""
    for found in EQUATION.finditer(text):
        sums = re.sub(r"2 ?\^ ?(\d+)", lambda power: str(1 << int(power[1])), found[1])
        sums = sums.replace("//", "/").replace("·", "*").replace(" mod ", " % ")
        assert calculate(sums) == number_of(found[2]), found[0]
    for found in NUMBER.finditer(CODE.sub("", EQUATION.sub("", text))):
        if (value := number_of(found[0])) is not None and value >= 10:
            yield value


@cache
def listed() -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = {}
    format = ""
    for line in (Path(__file__).parent / "numbers.txt").read_text("utf-8").splitlines():
        number, sign, expression = line.partition(" = ")
        if sign:
            found[format][int(number)] = expression
        else:
            format = line
            found[format] = {}
    return found


@pytest.mark.parametrize("format", sorted(listed()))
def test_every_number_of_the_lessons_is_accounted_for(format: str) -> None:
    """No number is left that the list does not have, and the list has none that is wrong or left over."""
    known, there = listed()[format], set[int]()

    def check(lesson: Lesson) -> Iterator[str]:
        for step in lesson.steps:
            for text in map(written, texts(step)):
                there.update(numbers(text))
                yield from (f"{lesson.name}, {step.title}: {n} in {text}" for n in numbers(text) if n not in known)

    own = [lesson for lesson in (*lessons(), *missions()) if (lesson.format or "none") == format]
    assert not [words for lesson in own for words in check(lesson)]
    assert not set(known) - there
    for number, expression in known.items():
        assert expression == "*" or number in {value_of(expression, lesson) for lesson in own}, f"{number} {expression}"


def value_of(expression: str, lesson: Lesson) -> int | None:
    # Other lessons of the format may have other samples.
    with shardcore.open(SAMPLES / lesson.sample, partial=True) as shard, suppress(NotHereError):
        return number_of(LessonScene(shard, sample_key(lesson)).fill(expression))
    return None
