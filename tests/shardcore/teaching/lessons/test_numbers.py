"""Every number that is written in a lesson or mission is recomputed: from its sample, or from a rule of the format.

`numbers/FORMAT.txt` beside this file (`none` for lessons without a format) has a line per phrase,
`PHRASE => NUMBER; NUMBER`. In the phrase each `#` is a number of the text and `…` are values in braces; the numbers
are what they have to be: digits for a rule of the specification, values in braces that are read from the sample,
`<code>` for what Python computes, or `*` where the number is only a name (slot 5). Equations in the text are computed
as they stand.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

import shardcore
from shardcore.operations.offset_expression import calculate
from shardcore.shards.shard import Shard
from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.answers import number_of
from shardcore.teaching.lessons.lesson import Answer, Lesson, LessonStep
from shardcore.teaching.lessons.lesson_list import lessons, missions, sample_key
from shardcore.teaching.lessons.lesson_step import staged
from shardcore.teaching.lessons.placeholders import LessonScene
from shardcore.teaching.neuroglancer.key_bits import mixing_steps

RULES = Path(__file__).parent / "numbers"
NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-f]+|\d{1,3}(?:,\d{3})+|\d+)(?!\w)")
BYTES = re.compile(r"`([0-9a-f]{2}(?: [0-9a-f]{2})+)(?: …)?`")
NAME = re.compile(r"[\w:]+(?:-[\w:]+)+")
SHOWN = {
    "74 77 6f 66 6f 75 72 74 65 65 6e",
    *("4e 61 bc 00", "14 02", "32 61 62 63 03 00 10 21", "30 34 38 31 35 39 32 36 33 37", "30 34 38"),
    *("32 61 62 63 03 00", "61 62 63 61 62 63 61 62 63", "32 61 62 63 02 00", "05 00 00 80"),
    "01 02 03 04 05 06 07 08 11 12",
    *("CRC-32", "SHA-256", "UTF-8"),
    *("2026-01-05T23:30:00-05:00", "2026-11-03", "2026-01-05", "uid:2026-01-05T08:30:00Z"),
}
"""Bytes, dates and names of made-up examples, which no sample has."""
TERM = r"\(*(?:0x[0-9a-f]+|\d[\d,]*)\)*"
SUM = rf"{TERM}(?: (?:[+\-·^]|//|mod) {TERM})+"
EQUATION = re.compile(rf"(?<![·+\-^/…] )(?<![\w.(])({SUM}) = (\d{{1,3}}(?:,\d{{3}})+|\d+)(?!\w| [·+\-])")
DAMAGED = (resource_paths.resources() / "samples" / "des" / "damaged" / "20260105_2A_0000.des").read_bytes()
ARRAY = json.loads(
    zlib.decompress((resource_paths.resources() / "samples" / "bloscpack" / "array.blp").read_bytes()[64:129])
)
CODE: dict[str, Callable[[str], int]] = {
    "crc32": lambda text: zlib.crc32(text.encode()),
    "binary": lambda text: int(f"{int(text):b}"),
    "little": lambda text: int.from_bytes(bytes.fromhex(text), "little"),
    "record": lambda text: 8 + int.from_bytes(bytes.fromhex(text)[1:4], "little"),
    "find": lambda text: DAMAGED.find(bytes.fromhex(text)),
    "rest": lambda text: len(DAMAGED) - int(text),
    "count": lambda text: int.from_bytes(DAMAGED[int(text) : int(text) + 4], "little"),
    "comparisons": lambda text: int(text).bit_length(),
    "match": lambda text: (int(text, 16) & 15) + 4,
    "size": lambda text: len(bytes.fromhex(text)),
    "group": lambda text: len(range(int(text), 10, 4)),
    "digits": lambda text: int(text.encode().hex()),
    "ascii": lambda text: int(f"{ord(text):x}"),
    "hex": lambda text: int(f"{int(text):x}"),
    "log2": lambda text: int(text).bit_length() - 1,
    "ones": lambda text: bytes.fromhex(text).count(255),
    "digest": lambda name: hashlib.new(name).digest_size,
    "shape": lambda axis: int(ARRAY["shape"][int(axis)]),
    "letters": len,
    "h1": lambda text: mixing_steps(int(text))[-2][2],
    "h2": lambda text: mixing_steps(int(text))[-1][2],
}


def written(text: str) -> str:
    """A text with `…` for its values, in one line."""
    out, depth = "", 0
    for letter in text:
        depth += letter == "{"
        out += letter if not depth else "…" if letter == "{" and depth == 1 else ""
        depth -= letter == "}"
    return " ".join(out.split())


def texts(step: LessonStep) -> Iterator[str]:
    """Everything that people read of a step, and the answers that are written as numbers."""
    yield step.title
    yield step.text
    yield from (condition.otherwise for condition in step.conditions)
    if (question := step.question) is not None:
        yield question.prompt
        yield from question.hints
        for answer, sentence in question.wrong:
            typed = answer and question.kind is not Answer.ITEM
            yield f"wrong answer {answer}: {sentence}" if typed else sentence
        yield question.right
        if question.kind in (Answer.NUMBER, Answer.TEXT) and "{" not in question.answer:
            yield f"{step.title}: answer {question.answer}"
        for choice in question.choices:
            yield from (choice.text, choice.why)


@dataclass
class Rule:
    """A phrase, the numbers that it has to have, and whether a lesson has it."""

    phrase: str
    numbers: list[str]
    used: bool = False


def rules(format: str) -> list[Rule]:
    """The phrases of a format."""
    found = []
    for line in (RULES / f"{format}.txt").read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("%"):
            phrase, arrow, numbers = line.partition(" => ")
            found.append(Rule(phrase.strip(), [one.strip() for one in numbers.split(";")]))
            assert arrow, line
            assert phrase.count("#") == len(found[-1].numbers), line
    return found


def pattern(phrase: str) -> re.Pattern[str]:
    """A phrase as an expression: `#` are numbers, `~` is anything short."""
    parts = [re.escape(part) for part in phrase.split("#")]
    return re.compile(rf"({NUMBER.pattern})".join(parts).replace("\\~", ".{1,60}?"))


def equations(text: str) -> Iterator[tuple[int, int]]:
    """Places of equations; each is computed."""
    for found in EQUATION.finditer(text):
        signs = {"//": "/", "·": "*", " mod ": " % "}
        sums = re.sub(r"2 ?\^ ?(\d+)", lambda power: str(1 << int(power[1])), found[1])
        for sign, other in signs.items():
            sums = sums.replace(sign, other)
        assert calculate(sums) == number_of(found[2]), found[0]
        yield found.span()


def computed(expression: str, scene: LessonScene) -> int | None:
    """Value that a number has to have; None where it is a name."""
    if expression == "*":
        return None
    if (code := re.fullmatch(r"<(\w+) (.+)>", expression)) is not None:
        return CODE[code[1]](code[2])
    return number_of(scene.fill(expression))


@cache
def contents(sample: Path) -> bytes:
    """All bytes of a sample and of the files beside it."""
    folder = sample if sample.is_dir() else sample.parent
    return b"\0".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@dataclass
class _Text:
    """A sentence of a lesson, and the letters of it whose numbers are accounted for."""

    text: str
    covered: set[int] = field(default_factory=set)

    def shown(self, sample: bytes) -> Iterator[str]:
        """Cover bytes and names that the sample has; yield those that it does not have."""
        for found in BYTES.finditer(self.text):
            self.covered.update(range(*found.span()))
            if bytes.fromhex(found[1]) not in sample and found[1] not in SHOWN:
                yield f"{found[0]} is not in the sample"
        for found in NAME.finditer(self.text):
            if any(map(str.isdigit, found[0])):
                self.covered.update(range(*found.span()))
                if found[0].encode() not in sample and found[0] not in SHOWN:
                    yield f"{found[0]} is not in the sample"

    def ruled(self, rule: Rule, scene: LessonScene) -> Iterator[str]:
        """Cover the numbers of a phrase; yield those that are others."""
        for found in pattern(rule.phrase).finditer(self.text):
            rule.used = True
            for place, expression in enumerate(rule.numbers, 1):
                self.covered.update(range(*found.span(place)))
                value = computed(expression, scene)
                if value is not None and value != number_of(found[place]):
                    yield f"{found[0]!r} has {found[place]}, and it is {value}"

    def left(self) -> Iterator[str]:
        """Yield the numbers that nothing accounts for."""
        for found in NUMBER.finditer(self.text):
            if found.start() not in self.covered:
                yield f"{found[0]} in {self.text[max(0, found.start() - 50) : found.end() + 40]!r}"


def checked(lesson: Lesson, shard: Shard, known: list[Rule]) -> Iterator[str]:
    """Numbers of a lesson that are not accounted for, or wrong."""
    sample = resource_paths.resources() / "samples" / lesson.sample
    scene = LessonScene(shard, sample_key(lesson))
    for number, step in enumerate(lesson.steps):
        if not any(one.fresh for one in lesson.steps[: number + 1]):
            scene = staged(lesson, number, shard, sample_key(lesson)).scene
        for one in map(_Text, map(written, texts(step))):
            wrong = [*one.shown(contents(sample))]
            for span in equations(one.text):
                one.covered.update(range(*span))
            for rule in known:
                wrong += one.ruled(rule, scene)
            yield from (f"{lesson.name}, {step.title}: {words}" for words in (*wrong, *one.left()))


@pytest.mark.parametrize("format", sorted(path.stem for path in RULES.glob("*.txt")))
def test_every_number_of_the_lessons_is_recomputed(format: str) -> None:
    """No number is written that a sample or a rule does not give; and no rule is left over."""
    known, wrong = rules(format), list[str]()
    for lesson in (*lessons(), *missions()):
        if (lesson.format or "none") == format:
            with shardcore.open(str(resource_paths.resources() / "samples" / lesson.sample), partial=True) as shard:
                wrong += checked(lesson, shard, known)
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)
    assert not [rule.phrase for rule in known if not rule.used]
