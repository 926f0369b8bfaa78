"""Highlights of a lookup step, and arrows from references to their targets. No Qt here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shardcore import Span, Step
from shardcore.operations.references import References

MOST_LIGHTS = 60
"""Most ranges that are highlighted at once; of a step with more, the first ones."""

MOST_ARROWS = 40


@dataclass(frozen=True, slots=True)
class Light:
    """Highlighted bytes; `hollow` ones are inputs of a computed step, which an earlier step has read."""

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
