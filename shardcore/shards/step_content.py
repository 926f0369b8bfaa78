"""Data for the drawing of a lookup step: values, records that are read, byte strings that are compared."""

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
    """Fields of a record that a step reads; `relative` if offsets are not counted from the beginning of the file."""

    record: Record
    start: int
    values: Mapping[str, Any]
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """Two byte strings that a step compares; `words` displays little-endian 8-byte words, as for hashes of Xet."""

    title: str
    wanted: bytes
    stored: bytes
    span: Span | None = None
    origin: str = "Requested"
    words: bool = False


Shown: TypeAlias = "Fields | Compared | Figure"


@dataclass(frozen=True, slots=True)
class StepValue:
    """Value in the drawing of a lookup step: `span` is where it is stored, `target` the offset that it refers to."""

    name: str
    text: str
    meaning: str = ""
    span: Span | None = None
    target: int | None = None


@dataclass(frozen=True, slots=True)
class StepContent:
    """Data for the drawing of a lookup step; `inputs` are bytes that earlier steps have read."""

    title: str
    caption: str
    spans: Sequence[Span]
    inputs: Sequence[Span]
    values: Sequence[StepValue]
    shown: Sequence[Shown]

    @property
    def stored(self) -> dict[Span, str]:
        return {value.span: value.name.partition(".")[0] for value in self.values if value.span is not None}
