"""Wrong answers of typical kinds, computed from the right one and from the lookup. No Qt here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardcore.model.section import Section, SectionRole
from shardcore.shards.practice import Ask, Slip, Values
from shardcore.shards.trace import Step, Trace

_DIGITS = 20
_WIDTHS = (2, 4, 8)
_NO_BASE = (SectionRole.PADDING, SectionRole.TRAILING, SectionRole.UNKNOWN)
"""Sections that no offset counts from."""


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """An answer that a typical mistake leads to.

    Attributes:
        slip: The kind of mistake.
        answer: The answer, as it would be typed.
        text: The mistake, in a sentence without its full stop.
    """

    slip: Slip
    answer: str
    text: str


def values_of(trace: Trace) -> Values:
    """Return the values of a lookup by name, and by `title: name`."""
    found: dict[str, Any] = {}
    for step in trace.steps:
        for name, value in step.values.items():
            found.setdefault(name, value)
            found[f"{step.title}: {name}"] = value
    return found


def as_number(value: object) -> int | None:
    """Return a value that is asked as a number; None for others. Numbers of 64 bits are texts in some lookups."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    is_number = isinstance(value, str) and value.isdecimal() and len(value) <= _DIGITS and value[:1] != "0"
    return int(str(value)) if is_number else None


def wrong_answers(
    ask: Ask, step: Step, trace: Trace, sections: Sequence[Section], neighbours: Mapping[str, object]
) -> tuple[WrongAnswer, ...]:
    """Return the typical wrong answers to a value, without the right one; of equal ones the first.

    Args:
        ask: The question.
        step: Its step.
        trace: The lookup.
        sections: The sections of the file.
        neighbours: The same value of other keys, by key.
    """
    value = step.values[ask.value]
    right, number = _typed(value), as_number(value)
    found: dict[str, WrongAnswer] = {}
    for one in (*_of_format(ask, trace), *_of_value(ask, value, step, trace, sections), *_of_others(neighbours)):
        if one.answer and one.answer != right and (number is None or one.answer.isdecimal()):
            found.setdefault(one.answer, one)
    return tuple(found.values())


def content_mistakes(right: bytes, content: bytes, others: Mapping[str, bytes]) -> tuple[WrongAnswer, ...]:
    """Return the typical wrong answers to the last bytes of a content.

    Args:
        right: The last bytes.
        content: The whole content.
        others: The last bytes of other contents, by key.
    """
    count = len(right)
    first, early = content[:count], content[-count - 1 : -1]
    some = [
        WrongAnswer(Slip.BYTE_ORDER, right[::-1].hex(), "The bytes are in reverse: contents are read as they are"),
        WrongAnswer(Slip.OFF_BY_ONE, early.hex(), "That ends one byte too early: the end is offset plus size"),
        WrongAnswer(Slip.SIZE_FOR_OFFSET, first.hex(), "These are the first bytes: count on by the size"),
        *_of_others({key: last for key, last in others.items() if last}),
    ]
    found = {one.answer: one for one in reversed(some) if one.answer != right.hex() and one.answer}
    return tuple(reversed(found.values()))


def _typed(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _of_format(ask: Ask, trace: Trace) -> Iterator[WrongAnswer]:
    values = values_of(trace)
    for one in ask.mistakes:
        yield WrongAnswer(one.slip, _typed(one.answer(values)), one.text)


def _of_value(
    ask: Ask, value: object, step: Step, trace: Trace, sections: Sequence[Section]
) -> Iterator[WrongAnswer]:
    number = as_number(value)
    yield from _of_step(ask, step)
    if number is None:
        text = _typed(value)
        if len(text) % 2 == 0 and _is_hex(text):
            yield WrongAnswer(Slip.BYTE_ORDER, bytes.fromhex(text)[::-1].hex(), "The bytes are in the other order")
        return
    yield from _of_places(ask, number, step, trace, sections)
    for width in _WIDTHS:
        if 0 <= number < 1 << 8 * width:
            turned = int.from_bytes(number.to_bytes(width, "big"), "little")
            text = f"These are the {width} bytes in the other order: mind which byte of the number comes first"
            yield WrongAnswer(Slip.BYTE_ORDER, str(turned), text)
    for other, text in ((number + 1, "That is one too many"), (number - 1, "That is one too few")):
        yield WrongAnswer(Slip.OFF_BY_ONE, str(other), f"{text}: counts begin at 0, and ends are one past the last")
    if f"{number:x}".isdecimal():
        text = "These are the digits of the number in hex: type `0x` before them, or convert them"
        yield WrongAnswer(Slip.HEX_AS_DECIMAL, f"{number:x}", text)
    if number >= 0:
        yield WrongAnswer(Slip.HEX_AS_DECIMAL, str(int(str(number), 16)), "That takes a decimal number for hex")


def _is_hex(text: str) -> bool:
    return bool(text) and all(letter in "0123456789abcdef" for letter in text)


def _of_step(ask: Ask, step: Step) -> Iterator[WrongAnswer]:
    """Yield other values of the same step: fields that were swapped."""
    right = step.meanings.get(ask.value)
    for name, value in step.values.items():
        if name == ask.value or isinstance(value, (bool, dict, list)):
            continue
        other = step.meanings.get(name)
        slip = Slip.SWAPPED
        if right is not None and other is not None and {right.unit, other.unit} == {"byte", "bytes"}:
            slip = Slip.SIZE_FOR_OFFSET
        said = f": {other.text}" if other is not None else ""
        yield WrongAnswer(slip, _typed(value), f"That is `{name}`{said}")


def _of_places(
    ask: Ask, number: int, step: Step, trace: Trace, sections: Sequence[Section]
) -> Iterator[WrongAnswer]:
    """Yield sizes given for an offset, and offsets that count from elsewhere."""
    meaning = step.meanings.get(ask.value)
    if meaning is None or meaning.unit not in ("byte", "bytes"):
        return
    other_unit = "bytes" if meaning.unit == "byte" else "byte"
    for other in trace.steps:
        for name, value in other.values.items():
            told = other.meanings.get(name)
            if told is not None and told.unit == other_unit and as_number(value) is not None:
                yield WrongAnswer(Slip.SIZE_FOR_OFFSET, str(value), f"That is {_UNIT[other_unit]}: {told.text}")
    if meaning.unit == "byte" and not meaning.relative:
        for section in sections:
            if 0 < section.start <= number and section.role not in _NO_BASE:
                text = f"That counts from the beginning of *{section.name}*, not of the file"
                yield WrongAnswer(Slip.WRONG_BASE, str(number - section.start), text)
                text = f"The beginning of *{section.name}* is added, but the number counts from that of the file"
                yield WrongAnswer(Slip.WRONG_BASE, str(number + section.start), text)
    if meaning.unit == "byte":
        for width in (8, 16):
            text = f"That is {width} bytes too {{}}: count the headers again"
            yield WrongAnswer(Slip.WRONG_BASE, str(number + width), text.format("high"))
            yield WrongAnswer(Slip.WRONG_BASE, str(number - width), text.format("low"))


_UNIT = {"byte": "an offset", "bytes": "a size"}


def _of_others(neighbours: Mapping[str, object]) -> Iterator[WrongAnswer]:
    for key, value in neighbours.items():
        yield WrongAnswer(Slip.NEIGHBOUR, _typed(value), f"That belongs to another key, `{key[:16]}`")


__all__ = ["WrongAnswer", "as_number", "content_mistakes", "values_of", "wrong_answers"]
