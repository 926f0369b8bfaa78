"""Judging answers, and the reply to wrong ones. No Qt here; may read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from shardcore import Span
from shardscope.learning.lessons.lesson import Answer, Question
from shardscope.learning.lessons.values import LessonScene, NotHereError

_BASES = {"0x": 16, "0o": 8, "0b": 2}
_UNITS = {"": 1, "b": 1, "byte": 1, "bytes": 1} | {
    f"{letter}{i}b": (1024 if i else 1000) ** power for power, letter in enumerate("kmgtpe", 1) for i in ("", "i")
}
_NUMBER = re.compile(rf"(?P<number>[+-]?[0-9]+(\.[0-9]+)?(e[+]?[0-9]{{1,2}})?)(?P<unit>{'|'.join(_UNITS)})")


@dataclass(frozen=True, slots=True)
class Given:
    """An answer that the user gave.

    Attributes:
        text: What was typed, the number of the choice, from 0, or the name of the item.
        span: The bytes that were clicked, or None.
        sketch: The drawing whose item was clicked, or empty.
    """

    text: str = ""
    span: Span | None = None
    sketch: str = ""


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """Verdict on an answer.

    Attributes:
        right: Whether it is right.
        text: What is reported.
        shown: Whether *Show me* gave the answer.
    """

    right: bool
    text: str
    shown: bool = False


def judged(question: Question, given: Given, scene: LessonScene) -> AnswerVerdict:
    """Return whether an answer is right, and what is reported.

    Raises:
        NotHereError: The answer needs what this file has not.
    """
    if question.kind is Answer.CHOICE:
        choice = question.choices[int(given.text)]
        return _right(question, scene) if choice.right else AnswerVerdict(False, scene.prose(choice.why))
    if _fits(question.kind, scene.fill(question.answer), given, scene):
        return _right(question, scene)
    others = ""
    for answer, sentence in question.wrong:
        if not answer:
            others = sentence
        elif _fits(question.kind, scene.fill(answer), given, scene):
            return AnswerVerdict(False, scene.prose(sentence))
    return AnswerVerdict(False, scene.prose(others) or _usual(question.kind, given))


def solution(question: Question, scene: LessonScene) -> Given:
    """Return the answer itself: what *Show me* gives.

    Raises:
        NotHereError: It needs what this file has not.
    """
    if question.kind is Answer.CHOICE:
        return Given(str(next(number for number, choice in enumerate(question.choices) if choice.right)))
    answer = scene.fill(question.answer)
    if question.kind is Answer.NODE:
        return Given(span=scene.node(answer)[-1].span)
    if question.kind is Answer.ITEM:
        name, _, sketch = answer.partition(" of ")
        return Given(name.strip(), sketch=sketch.strip())
    return Given(answer)


def _right(question: Question, scene: LessonScene) -> AnswerVerdict:
    return AnswerVerdict(True, scene.prose(question.right) or "Right.")


def _fits(kind: Answer, answer: str, given: Given, scene: LessonScene) -> bool:
    if kind is Answer.NODE:
        place = scene.node(answer)[-1].span
        span = given.span
        return (
            span is not None
            and span.source == place.source
            and place.start <= span.start
            and max(span.stop, span.start + 1) <= place.stop
        )
    if kind is Answer.ITEM:
        name, _, sketch = answer.partition(" of ")
        return (given.text, given.sketch) == (name.strip(), sketch.strip())
    if kind is Answer.NUMBER:
        number = number_of(given.text)
        return number is not None and number == number_of(answer)
    return _letters(given.text) == _letters(answer)


def number_of(text: str) -> int | None:
    """Return a whole number as it is typed: `1,000`, `0x1f`, `0b110`, `40e9`, `40 GB`; None when it is none."""
    plain = text.strip().lower().replace(",", "").replace(" ", "").replace("_", "")
    if plain[:2] in _BASES:
        try:
            return int(plain, _BASES[plain[:2]])
        except ValueError:
            return None
    found = _NUMBER.fullmatch(plain)
    if found is None:
        return None
    value = Decimal(found["number"]) * _UNITS[found["unit"] or ""]
    return int(value) if value == value.to_integral_value() else None


def _letters(text: str) -> str:
    return " ".join(text.lower().split()).removeprefix("0x")


def _usual(kind: Answer, given: Given) -> str:
    if kind is Answer.NUMBER and number_of(given.text) is None:
        return "That is no number."
    if kind is Answer.NODE:
        return "These are other bytes."
    return "Not yet."


__all__ = ["AnswerVerdict", "Given", "NotHereError", "judged", "number_of", "solution"]
