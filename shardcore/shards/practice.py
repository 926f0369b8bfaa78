"""Questions of a format in an exercise: values of its lookups in order, and mistakes that answers betray.

Meaning, reason and place of a value are those that its step states; a format adds what the lookup does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Slip(StrEnum):
    """Typical kind of mistake in placing a key by hand."""

    BYTE_ORDER = "byte order"
    OFF_BY_ONE = "off by one"
    NO_REMAINDER = "remainder forgotten"
    WRONG_BASE = "wrong base"
    SIZE_FOR_OFFSET = "size for offset"
    HEX_AS_DECIMAL = "hex as decimal"
    NEIGHBOUR = "neighbour"
    SWAPPED = "swapped"


Values = Mapping[str, Any]
"""Values of a lookup by name, and by `title: name`; of equal names the first one."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake that only one format knows.

    Attributes:
        slip: Its kind.
        answer: The answer it leads to, from the values of the lookup.
        text: The mistake, in half a sentence.
    """

    slip: Slip
    answer: Callable[[Values], object]
    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A value of a lookup that is asked.

    Attributes:
        step: The title of its step; `*` stands for any letters.
        value: Its name.
        detail: Whether it is asked of the first keys only: of the others, what follows from it.
        given: Facts that come with the question, with values in braces; empty for none.
        mistakes: Mistakes beside those that every value knows.
    """

    step: str
    value: str
    detail: bool = False
    given: str = ""
    mistakes: tuple[Mistake, ...] = ()


@dataclass(frozen=True, slots=True)
class Practice:
    """Questions of a format in an exercise.

    Attributes:
        before: Questions before the one whether the key is in the file.
        after: Questions about keys that are.
        objects: The least and the largest number of objects; of a format with one content, of pieces of 4096 bytes.
        options: Values of the writer's options to choose from. None of them may depend on a codec: its versions differ.
        variants: Options that go together, of which one is chosen, too.
        given: Facts that come with the exercise, with values in braces; empty for none.
        bits: Width of the numbers of the calculator that is at hand.
    """

    before: tuple[Ask, ...]
    after: tuple[Ask, ...]
    objects: tuple[int, int] = (8, 20)
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    variants: tuple[Mapping[str, str], ...] = ({},)
    given: str = ""
    bits: int = 64


__all__ = ["Ask", "Mistake", "Practice", "Slip", "Values"]
