"""Checks answers to the questions of lessons, and returns replies to wrong answers."""

from __future__ import annotations

import re
from decimal import Decimal

from shardcore.codecs.content_hash import sha256_of
from shardcore.dataclasses import dataclass
from shardcore.errors import ShardError
from shardcore.model.drawing import SECTION
from shardcore.model.finding import Severity
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.shard import Shard
from shardcore.sources.base import read_pieces
from shardcore.teaching.lessons.lesson import SHA256, Answer, Question
from shardcore.teaching.lessons.placeholders import LessonScene, NotHereError

_BASES = {"0x": 16, "0o": 8, "0b": 2}
_UNITS = {"": 1, "b": 1, "byte": 1, "bytes": 1} | {
    f"{letter}{i}b": (1024 if i else 1000) ** power for power, letter in enumerate("kmgtpe", 1) for i in ("", "i")
}
_SIZES = r"(?i)\b(?:bytes?|size|large|long|space)\b"
_GROUPS = r"(?<=\d)[, '\u2019\u00a0\u202f](?=\d{3}(?!\d))"
_FACTOR = r"(?a)(?P<number>\d+(?:\.\d+)?(?:e\+?\d{1,2})?)(?:(?:\*\*|\^)(?P<power>\d{1,2}))?"
_OPERATOR = r"\s*([*^·×])\s*"
_MOST_DIGITS = 40
_MOST_BYTES = 256 << 20
_NUMBER = rf"(?P<number>[^a-z]*?(?:e\+?\d{{1,2}}[^a-z]*)?)\s*(?P<unit>{'|'.join(filter(None, _UNITS))})?"


@dataclass(frozen=True, slots=True)
class Given:
    """Answer of a user: a text (or the number of a choice), selected bytes, or an item of a drawing."""

    text: str = ""
    span: Span | None = None
    sketch: str = ""


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """Result of checking an answer; `shown` is True if *Show me* gave the answer."""

    right: bool
    text: str
    shown: bool = False


def judged(question: Question, given: Given, scene: LessonScene) -> AnswerVerdict:
    """Check an answer; may read the file. Wrong answers with a reply are compared in order, before the general one."""
    if question.kind is Answer.CHOICE:
        choice = question.choices[int(given.text)]
        return _right(question, scene) if choice.right else AnswerVerdict(False, scene.prose(choice.why))
    if question.kind is Answer.MENDED:
        missing = _missing(question.answer, scene.shard)
        return AnswerVerdict(False, missing) if missing else _right(question, scene)
    if _fits(question, scene.fill(question.answer), given, scene):
        return _right(question, scene)
    others = ""
    for answer, sentence in question.wrong:
        if not answer:
            others = sentence
        elif _fits(question, scene.fill(answer), given, scene):
            return AnswerVerdict(False, scene.prose(sentence))
    return AnswerVerdict(False, scene.prose(others) or _usual(question, given))


def solution(question: Question, scene: LessonScene) -> Given:
    """Return the right answer.

    Raises:
        NotHereError: The answer is a repaired file, which cannot be shown.
    """
    if question.kind is Answer.CHOICE:
        return Given(str(next(number for number, choice in enumerate(question.choices) if choice.right)))
    if question.kind is Answer.MENDED:
        raise NotHereError("the answer is a repaired file; repair it in the sandbox")
    answer = scene.fill(question.answer)
    if question.kind is Answer.NODE:
        return Given(span=scene.span(answer))
    if question.kind is Answer.ITEM:
        name, _, sketch = answer.partition(" of ")
        return Given(name.strip(), sketch=sketch.strip())
    return Given(answer)


def _missing(answer: str, shard: Shard) -> str:
    """Return a text about the remaining damage; empty if the file is repaired."""
    digest = SHA256.fullmatch(answer)
    try:
        if digest is not None:
            return "" if _sha256(shard) == digest[1] else "Not repaired yet: the bytes differ from the intact file."
        if shard.damage is not None:
            return f"Not yet: {shard.damage.message}."
        errors = [one for one in shard.verify(answer).findings if one.severity is Severity.ERROR]
    except ShardError as error:
        return f"Not yet: {error.message}."
    if not errors:
        return ""
    return f"Not yet: *verify {answer}* still reports {plural(len(errors), 'error')}."


def _sha256(shard: Shard) -> str:
    source = shard.source
    if source is None or source.size > _MOST_BYTES:
        return ""
    return sha256_of(read_pieces(source, 0, source.size))[0]


def _right(question: Question, scene: LessonScene) -> AnswerVerdict:
    return AnswerVerdict(True, scene.prose(question.right) or "Right.")


def _fits(question: Question, answer: str, given: Given, scene: LessonScene) -> bool:
    kind = question.kind
    if kind is Answer.NODE:
        place = scene.span(answer)
        span = given.span
        return (
            span is not None
            and span.source == place.source
            and place.start <= span.start
            and max(span.stop, span.start + 1) <= place.stop
        )
    if kind is Answer.ITEM:
        name, _, sketch = answer.partition(" of ")
        # Items of a table row differ after `#`. A section has an item in the table and one in the strip.
        own = given.text.partition("#")[0].removeprefix(SECTION)
        return (own, given.sketch) == (name.strip().removeprefix(SECTION), sketch.strip())
    if kind is Answer.NUMBER and (right := number_of(answer)) is not None:
        return number_of(given.text, question.prompt) == right
    return _letters(given.text) == _letters(answer)


def number_of(text: str, prompt: str = "") -> int | None:
    """Parse a number such as 1,000, 0x28, 40 GB or 10**9; None if it is not an integer.

    A unit is accepted only if the prompt requests a size. Words of the prompt are ignored, as in *slot 4*.
    """
    plain = " ".join(text.lower().split())
    words = re.findall(r"[a-z]{3,}", prompt.lower())
    plain = re.sub(rf"^(?:{'|'.join(words)})\s+|(?<=\d)\s*(?:{'|'.join(words)})$", "", plain) if words else plain
    if plain[:2] in _BASES:
        try:
            return int(plain[2:].replace(" ", ""), _BASES[plain[:2]])
        except ValueError:
            return None
    found = re.fullmatch(_NUMBER, plain)
    if found is None or (found["unit"] and prompt and re.search(_SIZES, prompt) is None):
        return None
    value = _product(re.sub(_GROUPS, "", re.sub(_OPERATOR, r"\1", found["number"])).replace("_", ""))
    if value is None:
        return None
    value *= _UNITS[found["unit"] or ""]
    return int(value) if value == value.to_integral_value() else None


def _product(text: str) -> Decimal | None:
    sign = text[:1] if text[:1] in ("+", "-") else ""
    value = Decimal(1)
    for part in re.split(r"(?<!\*)\*(?!\*)|[·×]", text.removeprefix(sign)):
        factor = re.fullmatch(_FACTOR, part)
        if factor is None or len(part) > _MOST_DIGITS:
            return None
        value *= Decimal(factor["number"]) ** int(factor["power"] or 1)
        if value.adjusted() > _MOST_DIGITS:
            return None
    return -value if sign == "-" else value


def _letters(text: str) -> str:
    return " ".join(text.lower().split()).removeprefix("0x")


def _usual(question: Question, given: Given) -> str:
    if question.kind is Answer.NUMBER and number_of(given.text, question.prompt) is None:
        return "That is not a number."
    if question.kind is Answer.NODE:
        return "These are different bytes."
    return "Not yet."
