"""A lesson as it is written: Markdown, parsed into steps. No Qt here.

`docs/writing-lessons.md` describes the syntax for authors.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from shardcore.shards.registry import FORMATS
from shardcore.teaching.lessons.mended import is_demand

MOST_STEPS = 40
MOST_OBJECTS = 1000
MOST_LETTERS = 100_000

_FACT = re.compile(r"^(?P<name>[a-z ]+?):\s*(?P<value>.*)$")
_LINE = re.compile(r"^- (?P<word>[a-z]+)(?: (?P<which>\{.*?\}|\S+?|(?<=wrong ).+?))?:\s+(?P<rest>.*)$")
_CONDITION = re.compile(r"^(?P<left>.+?) (?P<sign>[>=]) (?P<right>[^>=]+|\{=.*\})$")
_KEYS = ("typical", "crowded", "absent")
_WORDS = "ask|answer|choice|hint|wrong|right|show|reveal|lookup|fresh|only"
_ALMOST = re.compile(rf"^(?:- (?:{_WORDS.replace('right|', '')})\b|(?:-|[*+] ?)(?:{_WORDS})\b[^:]*:)")


class LessonError(Exception):
    """Syntax error of a lesson, with the number of its line, from 1."""

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


class Answer(StrEnum):
    NODE = "node"
    NUMBER = "number"
    TEXT = "text"
    ITEM = "item"
    MENDED = "mended"
    """The open bytes are repaired: a depth of verification without errors, or `sha256` and its digits."""
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class Choice:
    text: str
    right: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """Question of a step. `wrong` are pairs of an answer and the reply to it; an empty answer stands for all others."""

    prompt: str
    kind: Answer
    answer: str = ""
    choices: tuple[Choice, ...] = ()
    hints: tuple[str, ...] = ()
    wrong: tuple[tuple[str, str], ...] = ()
    right: str = ""


@dataclass(frozen=True, slots=True)
class Fresh:
    """Request for a fresh file: number of objects, and options of the writer."""

    objects: int
    folder: bool = False
    options: tuple[tuple[str, str], ...] = ()
    format: str = ""


@dataclass(frozen=True, slots=True)
class StepCondition:
    """Condition `left sign right` under which a step is shown; `otherwise` is the reason shown instead."""

    left: str
    sign: str
    right: str
    otherwise: str
    line: str = ""


@dataclass(frozen=True, slots=True)
class LessonStep:
    """One step; `places` are texts of its lines with their line numbers, for error messages."""

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
    """Parsed lesson. `sample` is a path below the samples, or absolute; empty for the open file."""

    name: str
    title: str
    about: str
    format: str
    sample: str
    key: str
    minutes: int
    steps: tuple[LessonStep, ...]
    needs: tuple[str, ...] = ()
    path: Path | None = None


def parse(text: str, name: str) -> Lesson:
    """Parse the text of a lesson.

    Raises:
        LessonError: With the line of the first error.
    """
    if len(text) > MOST_LETTERS:
        raise LessonError(f"the text has over {MOST_LETTERS} letters", 1)
    lines = text.splitlines()
    if not lines or not lines[0].startswith("# "):
        raise LessonError("a lesson begins with `# ` and its title", 1)
    starts = [number for number, line in enumerate(lines) if line.startswith("## ")]
    if not starts:
        raise LessonError("no steps found: each begins with `## ` and its title", len(lines))
    if len(starts) > MOST_STEPS:
        raise LessonError(f"there are over {MOST_STEPS} steps", starts[MOST_STEPS] + 1)
    facts = _facts(lines[1 : starts[0]])
    _check_facts(facts, lines)
    stops = [*starts[1:], len(lines)]
    steps = tuple(_step(lines[start:stop], start + 1) for start, stop in zip(starts, stops, strict=True))
    return Lesson(
        name,
        lines[0][2:].strip(),
        facts.get("about", ""),
        facts.get("format", ""),
        facts.get("sample", ""),
        facts.get("key", "typical"),
        int(facts.get("minutes", "10")),
        steps,
        needs=tuple(need.strip() for need in facts.get("needs", "").split(",") if need.strip()),
    )


_FACTS = ("about", "format", "sample", "key", "minutes", "needs")


def _facts(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        fact = _FACT.match(line)
        if fact is None or fact["name"] not in _FACTS:
            raise LessonError(f"before the first step stand lines `name: value` with {', '.join(_FACTS)}", number)
        found[fact["name"]] = fact["value"].strip()
    return found


def _check_facts(facts: dict[str, str], lines: list[str]) -> None:
    known = {
        "minutes": ("a number", str.isdecimal),
        "key": (f"one of {', '.join(_KEYS)}", _KEYS.__contains__),
        "format": (f"one of {', '.join(FORMATS)}", ("", *FORMATS).__contains__),
    }
    for name, (what, fits) in known.items():
        if name in facts and not fits(facts[name]):
            raise LessonError(f"{name} is {what}, not {facts[name]}", line_of_fact(lines, name))


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
                raise LessonError("such a line is `- WORD: …`, with a blank after `-` and text after the colon", place)
            text.append(line)
            _check_braces(line, place)
            continue
        word, which, rest = found["word"], found["which"] or "", found["rest"].strip()
        _check_braces(line, place)
        places.append((rest, place))
        asked = place if word == "ask" else asked
        if not rest:
            raise LessonError(f"after `- {word}:` something is missing", place)
        if word in _QUESTION_WORDS:
            question = _asked(question, word, which, rest, place)
        else:
            step = _done(step, word, which, rest, place)
    if question is not None:
        _check(question, asked)
    elif step.reveals:
        raise LessonError("`- reveal:` shows something after the right answer, and this step asks nothing", number)
    return replace(step, text="\n".join(text).strip(), question=question, places=tuple(places))


def _check_braces(line: str, place: int) -> None:
    if line.count("{") != line.count("}"):
        raise LessonError("a brace is opened and not closed in this line, or the other way round", place)


_QUESTION_WORDS = ("ask", "answer", "choice", "hint", "wrong", "right")


def _done(step: LessonStep, word: str, which: str, rest: str, place: int) -> LessonStep:
    if word in ("show", "reveal"):
        kind = which or Show.NODE
        if kind not in tuple(Show):
            raise LessonError(f"`{word}` is one of {', '.join(Show)}; not {kind}", place)
        what = (Show(kind), rest)
        if word == "reveal":
            return replace(step, reveals=(*step.reveals, what))
        return replace(step, shows=(*step.shows, what))
    if word == "lookup":
        return replace(step, lookup=rest)
    if word == "only":
        return replace(step, conditions=(*step.conditions, _condition(rest, place)))
    if word == "fresh":
        return replace(step, fresh=_fresh(rest, place))
    known = ", ".join(("show", "reveal", "lookup", "only", "fresh", *_QUESTION_WORDS))
    raise LessonError(f"`- {word}:` is not known; there are {known}", place)


def _condition(text: str, place: int) -> StepCondition:
    condition, bar, otherwise = text.partition(" | ")
    found = _CONDITION.match(condition)
    if found is None or not bar or not otherwise.strip():
        raise LessonError("`- only: NUMBER > NUMBER | WHY NOT`, with `>` or `=`", place)
    return StepCondition(found["left"], found["sign"], found["right"], otherwise.strip().rstrip("."), text)


def _fresh(text: str, place: int) -> Fresh:
    try:
        count, *rest = shlex.split(text)
    except ValueError as error:
        raise LessonError(f"after `- fresh:` {error}", place) from error
    if not count.isdecimal() or not 0 < int(count) <= MOST_OBJECTS:
        raise LessonError(f"after `- fresh:` stands a number of objects, 1 to {MOST_OBJECTS}", place)
    folder = rest[:1] == ["folder"]
    options = [option.partition("=") for option in rest[folder:]]
    if any(not equals for _, equals, _ in options):
        raise LessonError("after the number of objects stand options of the writer, NAME=VALUE", place)
    values = {name: value for name, _, value in options}
    format = values.pop("format", "")
    return Fresh(int(count), folder, tuple(values.items()), format)


def _asked(question: Question | None, word: str, which: str, rest: str, place: int) -> Question:
    if word == "ask":
        if question is not None:
            raise LessonError("a step asks one question; the next step begins with `## ` and its title", place)
        return Question(rest, Answer.CHOICE)
    if question is None:
        raise LessonError(f"`- {word}:` comes after `- ask:`", place)
    if word == "answer":
        kinds = [kind for kind in Answer if kind is not Answer.CHOICE]
        if which not in kinds:
            raise LessonError(f"`- answer KIND:` with one of {', '.join(kinds)}; not {which or 'none'}", place)
        return replace(question, kind=Answer(which), answer=rest)
    if word == "choice":
        if which not in ("right", "wrong"):
            raise LessonError("`- choice right: SENTENCE` or `- choice wrong: SENTENCE | WHY`", place)
        sentence, _, why = rest.partition(" | ")
        return replace(question, choices=(*question.choices, Choice(sentence.strip(), which == "right", why.strip())))
    if word == "hint":
        return replace(question, hints=(*question.hints, rest))
    if word == "wrong":
        return replace(question, wrong=(*question.wrong, (which, rest)))
    return replace(question, right=rest)


def _check(question: Question, place: int) -> None:
    if question.kind is Answer.MENDED and not is_demand(question.answer):
        raise LessonError("`- answer mended:` is one of structure, index, content; or sha256 and 64 hex digits", place)
    if question.kind is not Answer.CHOICE:
        if question.choices:
            raise LessonError("a question has either an answer or choices", place)
        return
    if sum(choice.right for choice in question.choices) != 1 or len(question.choices) < 2:
        raise LessonError("a question has an answer, or choices of which one is right", place)
    if any(not choice.right and not choice.why for choice in question.choices):
        raise LessonError("a wrong choice gives a reason: `- choice wrong: SENTENCE | WHY`", place)
