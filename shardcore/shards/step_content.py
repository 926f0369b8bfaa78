"""Content of a step that is drawn: values, records that are read, byte strings that are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from shardcore.model.drawing import Figure
    from shardcore.model.record import Record
    from shardcore.model.span import Span


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of a record that a step reads.

    Attributes:
        record: The layout.
        start: First byte of the record.
        values: Values by name, as numbers, bytes or texts; fields without one are left out.
        relative: Whether offsets count from elsewhere than the first byte of the file.
    """

    record: Record
    start: int
    values: Mapping[str, Any]
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """Two byte strings that a step compares.

    Attributes:
        title: Title of the second one: `The key in slot 7`.
        wanted: The bytes that are looked for, or computed.
        stored: The bytes that are stored.
        span: Location of the stored bytes.
        origin: Title of the first one.
        words: Whether they are shown as little-endian numbers of 8 bytes, as hashes of Xet are.
    """

    title: str
    wanted: bytes
    stored: bytes
    span: Span | None = None
    origin: str = "Looked for"
    words: bool = False


Shown: TypeAlias = "Fields | Compared | Figure"
"""Additional figure of a step."""


@dataclass(frozen=True, slots=True)
class StepValue:
    """A value of a step, as it is drawn.

    Attributes:
        name: Its name.
        text: The value with its unit.
        meaning: Its meaning; empty where the format does not explain it.
        span: Location where it is stored, or None.
        target: The byte that it refers to, or None.
    """

    name: str
    text: str
    meaning: str = ""
    span: Span | None = None
    target: int | None = None


@dataclass(frozen=True, slots=True)
class StepContent:
    """Content of a step, as it is drawn.

    Attributes:
        title: A few words.
        caption: One sentence.
        spans: The bytes looked at.
        inputs: Bytes of earlier steps.
        values: The values.
        shown: Additional figures.
    """

    title: str
    caption: str
    spans: Sequence[Span]
    inputs: Sequence[Span]
    values: Sequence[StepValue]
    shown: Sequence[Shown]

    @property
    def stored(self) -> dict[Span, str]:
        """Locations of values, with their names."""
        return {value.span: value.name.partition(".")[0] for value in self.values if value.span is not None}
