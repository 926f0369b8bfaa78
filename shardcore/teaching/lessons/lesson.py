"""Parsing lessons, which are written in Markdown, into steps.

`docs/writing-lessons.md` describes the syntax.
"""

from __future__ import annotations

import math
import re
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Any

from shardcore.dataclasses import dataclass, replace
from shardcore.model.finding import Depth
from shardcore.shards.registry import FORMATS

MOST_STEPS = 40
MOST_OBJECTS = 1000
MOST_LETTERS = 100_000
MOST_ROW = 256
"""Maximum number of bytes per row that `- rows:` accepts."""
RECORD = "record"
"""Value of `- rows:` for one row per record, instead of a number of bytes per row."""
COMPARISON = "comparison"
"""Name of the panel that opens *Compare formats*."""

_FACT = re.compile(r"^(?P<name>[a-z ]+?):\s*(?P<value>.*)$")
_LINE = re.compile(r"^- (?P<word>[a-z]+)(?: (?P<which>\{.*?\}|\S+?|(?<=wrong ).+?))?:\s+(?P<rest>.*)$")
_CONDITION = re.compile(r"^(?P<left>.+?) (?P<sign>[>=]) (?P<right>[^>=]+|\{=.*\})$")
_KEYS = ("typical", "crowded", "absent")
_DEPTHS = tuple(depth.value for depth in Depth)
SHA256 = re.compile(r"sha256 ([0-9a-f]{64})")
_WORDS = "ask|answer|choice|hint|wrong|right|show|reveal|lookup|fresh|only|rows"
_PLACEHOLDERS = re.compile(r"\{[^{}]*\}")
_WORDS_PER_MINUTE = 150
_CLICK = 0.4
"""Estimated minutes to answer by a click; a typed answer or a repair is estimated at one minute."""
_ALMOST = re.compile(rf"^(?:- (?:{_WORDS.replace('right|', '')})\b|(?:-|[*+] ?)(?:{_WORDS})\b[^:]*:)")


class LessonError(Exception):
    """Syntax error in a lesson, with its line number, counted from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.message = message
        self.line = line


class Show(StrEnum):
    NODE = "node"
    BYTES = "bytes"
    STEP = "step"
    DRAWING = "drawing"
    PANEL = "panel"
    ROWS = "rows"


_PICTURES = (Show.DRAWING, Show.ROWS)


class Answer(StrEnum):
    NODE = "node"
    NUMBER = "number"
    TEXT = "text"
    ITEM = "item"
    MENDED = "mended"
    """The open file must be repaired. The answer is the depth of verification to pass, or `sha256` and hex digits."""
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class Choice:
    text: str
    right: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """Question of a step. `wrong` has pairs (wrong answer, reply); an empty answer stands for all other answers."""

    prompt: str
    kind: Answer
    answer: str = ""
    choices: tuple[Choice, ...] = ()
    hints: tuple[str, ...] = ()
    wrong: tuple[tuple[str, str], ...] = ()
    right: str = ""


@dataclass(frozen=True, slots=True)
class Fresh:
    """New file that a step requires: number of objects, options of the writer, and format; empty: the lesson's."""

    objects: int
    folder: bool = False
    options: tuple[tuple[str, str], ...] = ()
    format: str = ""


@dataclass(frozen=True, slots=True)
class StepCondition:
    """Condition `left sign right` under which a step is shown; otherwise the reason `otherwise` is shown instead."""

    left: str
    sign: str
    right: str
    otherwise: str
    line: str = ""


@dataclass(frozen=True, slots=True)
class LessonStep:
    """Step of a lesson; `places` has (text, line number) of each `- WORD: TEXT` line, for error messages."""

    title: str
    text: str
    lookup: str = ""
    shows: tuple[tuple[Show, str], ...] = ()
    reveals: tuple[tuple[Show, str], ...] = ()
    question: Question | None = None
    conditions: tuple[StepCondition, ...] = ()
    fresh: Fresh | None = None
    line: int = 0
    places: tuple[tuple[str, int], ...] = ()

    def line_of(self, text: str) -> int:
        return dict(self.places).get(text, self.line)


@dataclass(frozen=True, slots=True)
class Lesson:
    """Parsed lesson. `sample` is a path relative to the samples, or absolute; empty for the open file."""

    name: str
    title: str
    about: str
    format: str
    sample: str
    key: str
    minutes: int
    steps: tuple[LessonStep, ...]
    needs: tuple[str, ...] = ()
    offsets: str = ""
    path: Path | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of steps, questions, questions with a picture, answers by a click, and typed numbers; the minutes."""
        asked = [(step.shows, step.question.kind) for step in self.steps if step.question is not None]
        kinds = [kind for _, kind in asked]
        drawn = [any(one in _PICTURES or what == COMPARISON for one, what in shows) for shows, _ in asked]
        clicks = kinds.count(Answer.ITEM) + kinds.count(Answer.NODE)
        found = (len(self.steps), len(asked), sum(drawn), clicks, kinds.count(Answer.NUMBER), self.minutes)
        return dict(zip(("steps", "questions", "pictures", "clicks", "numbers", "minutes"), found, strict=True))


def parse(text: str, name: str) -> Lesson:
    """Parse the text of a lesson.

    Raises:
        LessonError: The text has a syntax error; the first one is reported.
    """
    if len(text) > MOST_LETTERS:
        raise LessonError(f"the text has more than {MOST_LETTERS:,} letters", 1)
    lines = text.splitlines()
    if not lines or not lines[0].startswith("# "):
        raise LessonError("a lesson must begin with `# ` and its title", 1)
    starts = [number for number, line in enumerate(lines) if line.startswith("## ")]
    if not starts:
        raise LessonError("no steps found: a step begins with `## ` and its title", len(lines))
    if len(starts) > MOST_STEPS:
        raise LessonError(f"there are more than {MOST_STEPS} steps", starts[MOST_STEPS] + 1)
    given = _facts(lines[1 : starts[0]])
    _check_facts(given, lines)
    facts: dict[str, Any] = _FACTS | given
    stops = [*starts[1:], len(lines)]
    steps = tuple(_step(lines[start:stop], start + 1) for start, stop in zip(starts, stops, strict=True))
    minutes, needs = int(facts.pop("minutes")) or _minutes(steps), facts.pop("needs").split(",")
    after = tuple(need.strip() for need in needs if need.strip())
    return Lesson(name, lines[0][2:].strip(), minutes=minutes, steps=steps, needs=after, **facts)


def _minutes(steps: tuple[LessonStep, ...]) -> int:
    """Estimate the minutes that a student takes to read each text once and to answer the questions."""
    questions = [step.question for step in steps if step.question is not None]
    texts = [text for step in steps for text in (step.title, step.text)]
    texts += [text for one in questions for text in (one.prompt, one.right, *(choice.text for choice in one.choices))]
    words = len(_PLACEHOLDERS.sub("0", _PLACEHOLDERS.sub("0", "\n".join(texts))).split())
    clicks = sum(one.kind in (Answer.ITEM, Answer.NODE, Answer.CHOICE) for one in questions)
    return math.ceil(words / _WORDS_PER_MINUTE + _CLICK * clicks + len(questions) - clicks)


_FACTS = dict.fromkeys(("about", "format", "sample", "needs", "offsets"), "") | {"key": "typical", "minutes": "0"}
_NOTATIONS = ("decimal", "hexadecimal")


def _facts(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        fact = _FACT.match(line)
        if fact is None or fact["name"] not in _FACTS:
            raise LessonError(f"expected `name: value` before the first step; names: {', '.join(_FACTS)}", number)
        found[fact["name"]] = fact["value"].strip()
    return found


def _check_facts(facts: dict[str, str], lines: list[str]) -> None:
    known = {
        "minutes": ("a number", str.isdecimal),
        "key": (f"one of {', '.join(_KEYS)}", _KEYS.__contains__),
        "offsets": (f"one of {', '.join(_NOTATIONS)}", _NOTATIONS.__contains__),
        "format": (f"one of {', '.join(FORMATS)}", ("", *FORMATS).__contains__),
    }
    for name, (what, fits) in known.items():
        if name in facts and not fits(facts[name]):
            raise LessonError(f"{name} must be {what}, not {facts[name]}", line_of_fact(lines, name))


def line_of_fact(lines: list[str], name: str) -> int:
    return next((number for number, line in enumerate(lines, 1) if line.startswith(f"{name}:")), 1)


def _step(lines: list[str], number: int) -> LessonStep:
    step = LessonStep(lines[0][3:].strip(), "", line=number)
    text: list[str] = []
    places: list[tuple[str, int]] = []
    asked = number
    question: Question | None = None
    for place, line in enumerate(lines[1:], number + 1):
        found = _LINE.match(line)
        if found is None:
            if _ALMOST.match(line):
                raise LessonError("expected `- WORD: TEXT`, with a space after `-` and after the colon", place)
            text.append(line)
            _check_braces(line, place)
            continue
        word, which, rest = found["word"], found["which"] or "", found["rest"].strip()
        _check_braces(line, place)
        places.append((rest, place))
        asked = place if word == "ask" else asked
        if not rest:
            raise LessonError(f"text is missing after `- {word}:`", place)
        if word in _QUESTION_WORDS:
            question = _question_with(question, word, which, rest, place)
        else:
            step = _step_with(step, word, which, rest, place)
    if question is not None:
        _check(question, asked)
    elif step.reveals:
        raise LessonError("`- reveal:` requires a question in the same step", number)
    return replace(step, text="\n".join(text).strip(), question=question, places=tuple(places))


def _check_braces(line: str, place: int) -> None:
    if line.count("{") != line.count("}"):
        raise LessonError("unbalanced braces in this line", place)


_QUESTION_WORDS = ("ask", "answer", "choice", "hint", "wrong", "right")


def _step_with(step: LessonStep, word: str, which: str, rest: str, place: int) -> LessonStep:
    if word in ("show", "reveal"):
        kind = which or Show.NODE
        kinds = [one for one in Show if one is not Show.ROWS]
        if kind not in kinds:
            raise LessonError(f"`{word}` must be one of {', '.join(kinds)}, not {kind}", place)
        what = (Show(kind), rest)
        if word == "reveal":
            return replace(step, reveals=(*step.reveals, what))
        return replace(step, shows=(*step.shows, what))
    if word == "lookup":
        return replace(step, lookup=rest)
    if word == "rows":
        if rest != RECORD and not (rest.isdecimal() and 0 < int(rest) <= MOST_ROW):
            raise LessonError(f"`- rows:` must be `{RECORD}` or a number of bytes, 1 to {MOST_ROW}", place)
        return replace(step, shows=(*step.shows, (Show.ROWS, rest)))
    if word == "only":
        return replace(step, conditions=(*step.conditions, _condition(rest, place)))
    if word == "fresh":
        return replace(step, fresh=_fresh(rest, place))
    known = ", ".join(("show", "reveal", "lookup", "only", "fresh", "rows", *_QUESTION_WORDS))
    raise LessonError(f"unknown line `- {word}:` (known: {known})", place)


def _condition(text: str, place: int) -> StepCondition:
    condition, bar, otherwise = text.partition(" | ")
    found = _CONDITION.match(condition)
    if found is None or not bar or not otherwise.strip():
        raise LessonError("expected `- only: NUMBER > NUMBER | REASON` or `- only: NUMBER = NUMBER | REASON`", place)
    return StepCondition(found["left"], found["sign"], found["right"], otherwise.strip().rstrip("."), text)


def _fresh(text: str, place: int) -> Fresh:
    try:
        count, *rest = shlex.split(text)
    except ValueError as error:
        raise LessonError(f"invalid option after `- fresh:`: {error}", place) from error
    if not count.isdecimal() or not 0 < int(count) <= MOST_OBJECTS:
        raise LessonError(f"expected a number of objects after `- fresh:`, 1 to {MOST_OBJECTS}", place)
    folder = rest[:1] == ["folder"]
    options = [option.partition("=") for option in rest[folder:]]
    if any(not equals for _, equals, _ in options):
        raise LessonError("expected writer options NAME=VALUE after the number of objects", place)
    values = {name: value for name, _, value in options}
    format = values.pop("format", "")
    return Fresh(int(count), folder, tuple(values.items()), format)


def _question_with(question: Question | None, word: str, which: str, rest: str, place: int) -> Question:
    if word == "ask":
        if question is not None:
            raise LessonError("a step can have only one question; begin a new step with `## ` and its title", place)
        return Question(rest, Answer.CHOICE)
    if question is None:
        raise LessonError(f"`- {word}:` must come after `- ask:`", place)
    if word == "answer":
        kinds = [kind for kind in Answer if kind is not Answer.CHOICE]
        if which not in kinds:
            raise LessonError(f"`- answer KIND:` requires one of {', '.join(kinds)}, not {which or 'none'}", place)
        return replace(question, kind=Answer(which), answer=rest)
    if word == "choice":
        if which not in ("right", "wrong"):
            raise LessonError("expected `- choice right: SENTENCE` or `- choice wrong: SENTENCE | REASON`", place)
        sentence, _, why = rest.partition(" | ")
        return replace(question, choices=(*question.choices, Choice(sentence.strip(), which == "right", why.strip())))
    if word == "hint":
        return replace(question, hints=(*question.hints, rest))
    if word == "wrong":
        return replace(question, wrong=(*question.wrong, (which, rest)))
    return replace(question, right=rest)


def _check(question: Question, place: int) -> None:
    if question.kind is Answer.MENDED and not (question.answer in _DEPTHS or SHA256.fullmatch(question.answer)):
        raise LessonError("`- answer mended:` must be structure, index, content, or sha256 with 64 hex digits", place)
    if question.kind is not Answer.CHOICE:
        if question.choices:
            raise LessonError("a question cannot have both an answer and choices", place)
        return
    if sum(choice.right for choice in question.choices) != 1 or len(question.choices) < 2:
        raise LessonError("a question requires an answer, or choices of which exactly one is right", place)
    if any(not choice.right and not choice.why for choice in question.choices):
        raise LessonError("a wrong choice requires a reason: `- choice wrong: SENTENCE | REASON`", place)
