"""Highlights besides the selection: ranges of a step, and arrows to targets of references. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shardcore import Span, Step
from shardcore.operations.references import References

MOST_LIGHTS = 60
"""Bytes that are highlighted at once; a step over a hundred files highlights the first of them."""

MOST_ARROWS = 40
"""Arrows that are drawn at once."""


@dataclass(frozen=True, slots=True)
class Light:
    number: int
    span: Span
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    start: Span
    stop: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceQuery:
    span: Span
    leads: References | None = None
    error: BaseException | None = None

    @property
    def arrows(self) -> tuple[Arrow, ...]:
        found = self.leads.found if self.leads is not None else ()
        return tuple(Arrow(lead.span, lead.target, lead.why) for lead in found[:MOST_ARROWS])


def lights_of(step: Step) -> tuple[Light, ...]:
    spans = step.inputs if step.computed else step.spans
    return tuple(Light(number, span, step.computed) for number, span in enumerate(spans[:MOST_LIGHTS], 1))


def lights_in(lights: Sequence[Light], source: str) -> tuple[Light, ...]:
    return tuple(light for light in lights if light.span.source == source)


def arrows_in(arrows: Sequence[Arrow], source: str) -> tuple[Arrow, ...]:
    return tuple(arrow for arrow in arrows if arrow.start.source == source == arrow.stop.source)
