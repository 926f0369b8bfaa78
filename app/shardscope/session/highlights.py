"""Highlights of a lookup step, and arrows from references to their targets. No Qt here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shardcore import Span, Step
from shardcore.operations.references import References

MAX_HIGHLIGHTS = 60
"""Maximum number of highlighted ranges; a step with more ranges shows the first ones."""

MOST_ARROWS = 40


@dataclass(frozen=True, slots=True)
class Highlight:
    """Highlighted bytes; `hollow` marks inputs of a computed step, which an earlier step has read."""

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
    references: References | None = None
    error: BaseException | None = None

    @property
    def arrows(self) -> tuple[Arrow, ...]:
        found = self.references.found if self.references is not None else ()
        return tuple(Arrow(reference.span, reference.target, reference.why) for reference in found[:MOST_ARROWS])


def highlights_of(step: Step) -> tuple[Highlight, ...]:
    spans = step.inputs if step.computed else step.spans
    return tuple(Highlight(number, span, step.computed) for number, span in enumerate(spans[:MAX_HIGHLIGHTS], 1))


def highlights_in(highlights: Sequence[Highlight], source: str) -> tuple[Highlight, ...]:
    return tuple(highlight for highlight in highlights if highlight.span.source == source)


def arrows_in(arrows: Sequence[Arrow], source: str) -> tuple[Arrow, ...]:
    return tuple(arrow for arrow in arrows if arrow.start.source == source == arrow.stop.source)
