"""Hand-in of a student: a small JSON file with the answers to a lesson, exercise, exam or mission. No Qt here.

The checksum tells a file that was edited without care. It is no proof against forgery: the program computes it for all.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from shardcore.errors import FormatError, SourceError, reason_of
from shardcore.teaching.lessons.lesson import Lesson
from shardcore.writing.temporary import write_whole

MOST_BYTES = 256 << 10
MOST_ANSWERS = 400
MOST_LETTERS = 300
NOTE = "The checksum detects accidental edits. It does not prevent forgery."
EXAM = "exam"
SEEDED = ("exercise", EXAM)
"""Kinds whose file and questions are made again from the seed."""
KINDS = ("lesson", *SEEDED, "mission")
_MOST_NUMBER = 1 << 53


@dataclass(slots=True)
class HandedAnswer:
    """Outcome of one question.

    Attributes:
        question: Its number, from 1.
        given: The last answer, as it was typed.
        attempts: Answers until it was right, or until the last one.
        hints: Hints that were given.
        shown: Whether the solution was shown.
        right: Whether the last answer is right.
    """

    question: int
    given: str = ""
    attempts: int = 0
    hints: int = 0
    shown: bool = False
    right: bool = False


@dataclass(frozen=True, slots=True)
class HandIn:
    """Hand-in of one lesson, exercise, exam or mission.

    Attributes:
        name: Of the student.
        kind: `lesson`, `exercise`, `exam` or `mission`.
        title: Name.
        lesson: The name of the lesson.
        format: The name of the format; empty for none.
        seed: Of an exercise; None for others.
        keys: Keys of an exercise; 0 for others.
        questions: Number of questions.
        answers: One for each question that was tried.
        seconds: Duration.
        version: The version of the program.
        intact: Whether the checksum fits; of what was not read from a file, it does.
    """

    name: str
    kind: str
    title: str
    lesson: str
    format: str
    seed: int | None
    keys: int
    questions: int
    answers: tuple[HandedAnswer, ...]
    seconds: int
    version: str
    intact: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return it as it is written."""
        found: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "title": self.title,
            "lesson": self.lesson,
            "format": self.format,
            "seed": self.seed,
            "keys": self.keys,
            "questions": self.questions,
            "answers": [asdict(answer) for answer in self.answers],
            "attempts": sum(answer.attempts for answer in self.answers),
            "hints": sum(answer.hints for answer in self.answers),
            "shown": sum(answer.shown for answer in self.answers),
            "seconds": self.seconds,
            "version": self.version,
            "note": NOTE,
        }
        return found | {"checksum": _checksum(found)}


@dataclass(slots=True)
class Work:
    """Answers given in a lesson so far, with attempts, hints and solutions.

    Attributes:
        lesson: The lesson.
        answers: By the number of the question, from 1.
        started: When it began, by the clock of the machine.
    """

    lesson: Lesson
    answers: dict[int, HandedAnswer] = field(default_factory=dict)
    started: float = field(default_factory=monotonic)

    def tried(self, question: int, given: str, *, right: bool) -> None:
        """Note an answer; what comes after the right one does not count."""
        answer = self._answer(question)
        if not answer.right or self.lesson.exam:
            answer.given, answer.right, answer.attempts = given[:MOST_LETTERS], right, answer.attempts + 1

    def hinted(self, question: int) -> None:
        """Note a hint."""
        self._answer(question).hints += 1

    def showed(self, question: int) -> None:
        """Note that the solution was shown."""
        self._answer(question).shown = True

    @property
    def seconds(self) -> float:
        """Return how long it took so far."""
        return monotonic() - self.started

    def hand_in(self, name: str) -> HandIn:
        """Return what is handed in now."""
        from shardcore import __version__

        lesson = self.lesson
        return HandIn(
            name=name.strip()[:MOST_LETTERS],
            kind=kind_of(lesson),
            title=lesson.title,
            lesson=lesson.name,
            format=lesson.format,
            seed=lesson.seed,
            keys=int(lesson.name.rpartition("-")[2]) if lesson.seed is not None else 0,
            questions=sum(step.question is not None for step in lesson.steps),
            answers=tuple(self.answers[number] for number in sorted(self.answers)),
            seconds=round(self.seconds),
            version=__version__,
        )

    def _answer(self, question: int) -> HandedAnswer:
        return self.answers.setdefault(question, HandedAnswer(question))


def kind_of(lesson: Lesson) -> str:
    """Return what a lesson is: `lesson`, `exercise`, `exam` or `mission`."""
    if lesson.seed is not None:
        return EXAM if lesson.exam else "exercise"
    return "mission" if lesson.name.startswith("mission") else "lesson"


def write_hand_in(path: Path, handed: HandIn, *, force: bool = False) -> None:
    """Write what is handed in.

    Raises:
        ShardError: It cannot be written, or is there already.
    """
    text = json.dumps(handed.to_json(), indent=1, ensure_ascii=False) + "\n"
    write_whole(path, [text.encode("utf-8", "backslashreplace")], force=force)


def read_hand_in(path: Path) -> HandIn:
    """Read what was handed in: a file of a stranger. Fields that it does not know are ignored.

    Raises:
        ShardError: It cannot be read, or is nothing that is handed in.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SourceError(f"cannot read {path.name}: {reason_of(error)}") from error
    if len(data) > MOST_BYTES:
        raise FormatError(f"over {MOST_BYTES} bytes: nothing that is handed in is so long")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError("no JSON") from error
    if not isinstance(found, dict) or found.get("kind") not in KINDS:
        raise FormatError(f"no hand-in: the field kind is one of {', '.join(KINDS)}")
    stated = found.get("checksum")
    return HandIn(
        name=_text(found, "name"),
        kind=found["kind"],
        title=_text(found, "title"),
        lesson=_text(found, "lesson", ""),
        format=_text(found, "format", ""),
        seed=None if found.get("seed") is None else _number(found, "seed"),
        keys=_number(found, "keys", 0),
        questions=_number(found, "questions", 0),
        answers=_answers(found.get("answers")),
        seconds=_number(found, "seconds", 0),
        version=_text(found, "version", ""),
        intact=stated == _checksum({name: value for name, value in found.items() if name != "checksum"}),
    )


def _answers(found: object) -> tuple[HandedAnswer, ...]:
    if not isinstance(found, list) or len(found) > MOST_ANSWERS:
        raise FormatError(f"answers is a list of at most {MOST_ANSWERS}")
    answers: dict[int, HandedAnswer] = {}
    for one in found:
        if not isinstance(one, dict):
            raise FormatError("an answer is an object")
        answer = HandedAnswer(
            _number(one, "question"),
            _text(one, "given", ""),
            _number(one, "attempts", 0),
            _number(one, "hints", 0),
            one.get("shown") is True,
            one.get("right") is True,
        )
        if answers.setdefault(answer.question, answer) is not answer:
            raise FormatError(f"question {answer.question} is answered twice")
    return tuple(answers.values())


def _text(found: dict[str, Any], name: str, usual: str | None = None) -> str:
    value = found.get(name, usual)
    if not isinstance(value, str):
        raise FormatError(f"{name} is a text")
    return value[:MOST_LETTERS].encode("utf-8", "backslashreplace").decode()


def _number(found: dict[str, Any], name: str, usual: int | None = None) -> int:
    value = found.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST_NUMBER:
        raise FormatError(f"{name} is a number, not negative")
    return value


def _checksum(found: dict[str, Any]) -> str:
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


__all__ = ["EXAM", "NOTE", "SEEDED", "HandIn", "HandedAnswer", "Work", "kind_of", "read_hand_in", "write_hand_in"]
