"""Highlights besides the selection: ranges of a step, and arrows to targets of references. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shardcore import Span, Step
from shardcore.operations.references import Leads

MOST_LIGHTS = 60
"""Bytes that are highlighted at once; a step over a hundred files highlights the first of them."""

MOST_ARROWS = 40
"""Arrows that are drawn at once."""


@dataclass(frozen=True, slots=True)
class Light:
    """Some bytes that are highlighted.

    Attributes:
        number: Its number in the step, from 1.
        span: The bytes.
        hollow: Whether they are only what a step computes with, and looked at before.
    """

    number: int
    span: Span
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """From bytes that lead somewhere to where they lead.

    Attributes:
        start: The bytes that lead.
        stop: Where they lead.
        text: What leads.
    """

    start: Span
    stop: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceQuery:
    """References to some bytes.

    Attributes:
        span: The bytes.
        leads: The answer; None while it is looked for, and when there is none.
        error: Reason why there is none, or None.
    """

    span: Span
    leads: Leads | None = None
    error: BaseException | None = None

    @property
    def arrows(self) -> tuple[Arrow, ...]:
        """The answer as arrows."""
        found = self.leads.found if self.leads is not None else ()
        return tuple(Arrow(lead.span, lead.target, lead.why) for lead in found[:MOST_ARROWS])


def lights_of(step: Step) -> tuple[Light, ...]:
    """Return what a step lights: what it looks at, or, hollow, what it computes with."""
    spans = step.inputs if step.computed else step.spans
    return tuple(Light(number, span, step.computed) for number, span in enumerate(spans[:MOST_LIGHTS], 1))


def lights_in(lights: Sequence[Light], source: str) -> tuple[Light, ...]:
    """Return those in one source."""
    return tuple(light for light in lights if light.span.source == source)


def arrows_in(arrows: Sequence[Arrow], source: str) -> tuple[Arrow, ...]:
    """Return those that begin and end in one source."""
    return tuple(arrow for arrow in arrows if arrow.start.source == source == arrow.stop.source)
