"""Selection of bytes, node and object with its history, and the highlights of a lookup step. No Qt here."""

from __future__ import annotations

from collections.abc import Sequence

from shardcore import Node, ObjectRef, Shard, ShardError, Span, Step, Trace
from shardcore.dataclasses import dataclass, field, replace
from shardcore.model.node import named, nearest_row
from shardcore.model.span import SourceName
from shardcore.operations.cold_cost import ColdTrace
from shardcore.operations.references import References
from shardscope.session.display_text import error_text

MOST = 200

NEAR = 1024
"""Maximum distance in bytes at which a selection replaces the latest entry of the history instead of adding one."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected bytes, node and object.

    Attributes:
        span: The bytes; None if the file, or a row without bytes, is selected.
        path: Nodes from the root of the source to the smallest one that contains all bytes; empty until it is resolved.
        origin: View that made the selection, so that it recognises its own selection; None if it was no view.
    """

    span: Span | None = None
    row: int | None = None
    path: tuple[Node, ...] = ()
    ref: ObjectRef | None = None
    complete: bool = False
    error: str = ""
    origin: object = field(default=None, compare=False)

    @property
    def is_file(self) -> bool:
        return self.span is None and self.row is None


def resolve(shard: Shard, chosen: Selection) -> Selection:
    """Complete a selection with its nodes, row and object. Call it in a job, since it reads the file."""
    if chosen.row is not None and not (chosen.span and chosen.path):
        found = of_row(shard, chosen.row)
    else:
        found = of_span(shard, chosen.span or Span("", 0, 0), chosen.path)
    return replace(found, origin=chosen.origin)


def of_span(shard: Shard, span: Span, path: tuple[Node, ...] = ()) -> Selection:
    error = ""
    if not path:
        path, error = _path_to(shard, span)
    name = named(path, span)
    row = nearest_row(name)
    ref = _ref(shard, row)
    if row is None and (ref := _ref(shard, nearest_row(path))) is not None:
        # Content that spans several nodes has no node of its own: use the object of the outer node.
        outer = main_span(ref)
        row = ref.row if outer is not None and outer.holds(span) else None
        ref = ref if row is not None else None
    return Selection(span, row, name, ref, complete=True, error=error)


def of_row(shard: Shard, row: int) -> Selection:
    ref = shard.objects.ref(row)
    span = main_span(ref)
    if span is None:
        return Selection(None, row, (), ref, complete=True)
    # Empty content has the offset of the next structure: explain its header or entry instead.
    own = next((one for one in (span, *ref.spans, ref.record) if one is not None and one.size), None)
    path, error = _path_to(shard, own) if own is not None else ((), "")
    path = named(path, own or span)
    if not span.size:
        path = path[: next((at for at, node in enumerate(path, 1) if node.row == row), len(path))]
    return Selection(span, row, path, ref, complete=True, error=error)


def main_span(ref: ObjectRef) -> Span | None:
    """Return the bytes to show for an object: its content, preferably in its own shard; without content, its record."""
    near = (SourceName(), SourceName(ref.shard))
    inside = [span for span in ref.spans if SourceName.parse(span.source) in near]
    return next(iter(inside or ref.spans), ref.record)


def _path_to(shard: Shard, span: Span) -> tuple[tuple[Node, ...], str]:
    try:
        return shard.whole_path(span.start, span.source), ""
    except ShardError as error:
        return (), error_text(error)


def _ref(shard: Shard, row: int | None) -> ObjectRef | None:
    if row is None:
        return None
    try:
        return shard.objects.ref(row)
    except ShardError:
        return None


class History:
    def __init__(self) -> None:
        self._places: list[Selection] = []
        self._at = -1
        self._away = False

    def can_go(self, step: int) -> bool:
        return 0 <= self._at + step + self._returns(step) < len(self._places)

    def go(self, step: int) -> Selection:
        self._at += step + self._returns(step)
        self._away = False
        return self._places[self._at]

    def leave(self, chosen: Selection) -> None:
        """Record that a selection outside the history is made: the next step back returns to the current entry."""
        place = self._places[self._at] if self._at >= 0 else chosen
        self._away = chosen != place and chosen.span != place.span

    def _returns(self, step: int) -> int:
        return int(self._away and step < 0)

    def add(self, chosen: Selection) -> None:
        """Add a selection after the current entry, or replace this if it is close (`NEAR`). Drops later entries."""
        self._away = False
        del self._places[self._at + 1 :]
        if self._places and _near(self._places[-1], chosen):
            self._places[-1] = chosen
        else:
            self._places.append(chosen)
            del self._places[: -MOST or None]
        self._at = len(self._places) - 1

    def complete(self, chosen: Selection, found: Selection) -> None:
        if self._places and self._places[self._at] is chosen:
            self._places[self._at] = found


def _near(last: Selection, chosen: Selection) -> bool:
    if last.span is None or chosen.span is None:
        return last.row == chosen.row and last.span is chosen.span
    if last.row is not None and chosen.row is not None:
        return last.row == chosen.row
    return last.span.source == chosen.span.source and abs(last.span.start - chosen.span.start) <= NEAR


# --- highlights and arrows ---

MAX_HIGHLIGHTS = 60
"""Maximum number of highlighted ranges; a step with more ranges shows the first ones."""

MOST_ARROWS = 40


@dataclass(frozen=True, slots=True)
class Highlight:
    """Highlighted bytes; `hollow` is True for the inputs of a computed step, which an earlier step has read."""

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


@dataclass(frozen=True, slots=True)
class TraceWalk:
    """Lookup and its current step.

    Attributes:
        step: Index of the current step; -1 before the first.
        begins: If the requested key was not found: the only stored key that begins with it, or empty.
    """

    key: str = ""
    trace: Trace | None = None
    error: BaseException | None = None
    step: int = -1
    cold: ColdTrace | None = None
    cold_error: BaseException | None = None
    begins: str = ""

    @property
    def steps(self) -> int:
        return len(self.trace.steps) if self.trace is not None else 0

    @property
    def waits(self) -> bool:
        return bool(self.key) and self.trace is None and self.error is None

    @property
    def highlights(self) -> tuple[Highlight, ...]:
        return highlights_of(self.trace.steps[self.step]) if self.trace is not None and self.step >= 0 else ()

    @property
    def span(self) -> Span | None:
        spans = self.trace.steps[self.step].spans if self.trace is not None and self.step >= 0 else ()
        return next((span for span in spans if span.size), spans[0] if spans else None)
