"""Trace of a lookup: its steps, with the values and figures that each step displays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from importlib import import_module
from string import Formatter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, NotAShard, Remedy, ShardError
from shardcore.model.data_set_nodes import placed_span
from shardcore.model.objects import ObjectRef, State
from shardcore.model.span import SourceName, Span
from shardcore.model.text import Displayed, plural, sentence, visible
from shardcore.model.text import said as value_text
from shardcore.sources.wrapper_sources import MeteredSource

if TYPE_CHECKING:
    from shardcore.model.drawing import Drawing, Figure
    from shardcore.model.record import Record
    from shardcore.model.section import Section
    from shardcore.sources.base import Source


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of a record that a step reads; `relative`: offsets in it are not counted from the start of the file."""

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


COMPUTED = "computed (not stored)"
"""Text displayed for a step that reads no bytes."""

FOUND = "found"
ELSEWHERE = "{} found, content elsewhere"
"""Outcome if only a description was found, because the bytes of the object are in unavailable files."""
TOMBSTONED = "found, tombstoned"
"""Outcome if a sidecar declares the object deleted; its bytes still exist."""
ABSENT = "absent"
DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Meaning:
    """Meaning and unit of a value (`byte`: an offset; `relative`: it is not counted from the start of the file)."""

    text: str
    unit: str = ""
    relative: bool = False

    def with_unit(self, text: str, value: object) -> str:
        """Return the text of a value with its unit, singular or plural (`1 slot`, `2 slots`); an offset is in hex."""
        if self.unit == "byte":
            return f"{value:#x}" if isinstance(value, int) and value >= 0 else text
        one = f"{self.unit[:-3]}y" if self.unit.endswith("ies") else self.unit.removesuffix("s")
        return f"{text} {one if value == 1 else self.unit}".rstrip()


NO_MEANINGS: Mapping[str, Meaning] = MappingProxyType({})
NO_LOCATIONS: Mapping[str, Span] = MappingProxyType({})


_LONG_NAME = 40
_DAMAGED_WHY = "A reader that continued would return wrong bytes, so it stops and reports the offset."


@dataclass(frozen=True, slots=True)
class Step(Displayed):
    """One step of a lookup.

    Attributes:
        title: A few words.
        text: One sentence: the action and its result.
        spans: Bytes that the step reads, in the order in which they are numbered; none for a step that only computes.
        values: Results of the step, by name.
        requests: Number of byte ranges read; 0 if all bytes were cached.
        bytes: Bytes in those ranges.
        why: One sentence: the reason of the step.
        inputs: Bytes that earlier steps read, and from which this step computes.
        meanings: Meanings of the values by name, if the format explains them.
        shown: Additional figures of the drawing.
        at: Locations where values are stored, by name.
        fact: Name of the format, and the result of the lookup that the step describes; both for the drawing.
        draw: Creates the drawing; None until the lookup has ended.
    """

    title: str
    text: str
    spans: tuple[Span, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    requests: int = 0
    bytes: int = 0
    why: str = ""
    inputs: tuple[Span, ...] = ()
    meanings: Mapping[str, Meaning] = field(default_factory=lambda: NO_MEANINGS, compare=False)
    shown: tuple[Shown, ...] = field(default=(), compare=False, repr=False)
    at: Mapping[str, Span] = field(default_factory=lambda: NO_LOCATIONS, compare=False, repr=False)
    fact: tuple[str, Any] = field(default=("", None), compare=False, repr=False)
    draw: Callable[[], Drawing] | None = field(default=None, compare=False, repr=False)

    @property
    def computed(self) -> bool:
        """True if the step reads no bytes."""
        return not self.spans

    @property
    def drawing(self) -> Drawing | None:
        """Drawing of the step, created at first access; None until the lookup has ended."""
        return self.draw() if self.draw is not None else None

    def drawn(self, sections: Sequence[Section]) -> Step:
        """Return the step with its drawing.

        Args:
            sections: Sections of the file that the step reads; empty if it reads no single file.
        """
        if self.draw is not None:
            return self

        def draw() -> Drawing:
            from shardcore.teaching.step_drawing import drawing_of_step

            values = [one for name, value in self.values.items() for one in self._drawn_values(name, value)]
            content = StepContent(self.title, self.text, self.spans, self.inputs, values, self.shown)
            return drawing_of_step(*self.fact, content, sections)

        return replace(self, draw=cache(draw))

    def _drawn_values(self, name: str, value: Any) -> Iterator[StepValue]:
        meaning, span = self.meanings.get(name), self.at.get(name)
        if isinstance(value, dict) and value:
            for inner, each in value.items():
                yield StepValue(visible(f"{name}.{inner}"), value_text(each), span=span)
        elif meaning is None:
            yield StepValue(name, value_text(value), span=span)
        else:
            text = meaning.with_unit(value_text(value), value)
            offset = meaning.unit == "byte" and not meaning.relative and str(value).isdecimal()
            yield StepValue(name, text, meaning.text, span, int(value) if offset else None)


@dataclass(frozen=True, slots=True)
class Trace(Displayed):
    """Record of a complete lookup: its steps and its outcome.

    Attributes:
        key: The requested key, in the text form of the format.
        outcome: `found`, `absent` (the last step proves it) or `damaged`.
        steps: The steps, in order.
        ref: The object, if found.
        error: Reason of the failure, if not found.
        described: Kind of the description that was found if the content is unavailable, such as `recipe`; else empty.
        remedy: Remedy for the error, if there is one.
    """

    key: str
    outcome: str
    steps: tuple[Step, ...]
    ref: ObjectRef | None = None
    error: str = ""
    described: str = ""
    remedy: Remedy | None = None

    @property
    def ending(self) -> str:
        """The outcome as displayed; also distinguishes tombstoned objects, and recipes without their content."""
        if self.outcome != FOUND:
            return self.outcome
        if self.ref is not None and self.ref.state is State.TOMBSTONED:
            return TOMBSTONED
        return ELSEWHERE.format(self.described) if self.described else self.outcome

    @property
    def member(self) -> str:
        """The shard of a data set in which the lookup ended; empty for a single file."""
        if self.ref is not None:
            return self.ref.shard
        spans = [span for step in self.steps for span in step.spans]
        return next((path for span in reversed(spans) if (path := SourceName.parse(span.source).path)), "")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Lookup result: only a description of the object (`described`, such as a `recipe`) was found, not its content."""

    ref: ObjectRef
    described: str


class LookupRecorder:
    """Recorder of a running lookup: counts reads, and records steps if `recording`."""

    def __init__(self, *, recording: bool = False) -> None:
        self.recording = recording
        self.steps: list[Step] = []
        self._meters: dict[int, MeteredSource] = {}
        self._requests_before = 0
        self._bytes_before = 0
        self._recorded_damage: list[Exception] = []
        self.described = ""

    def meter(self, source: Source) -> MeteredSource:
        """Wrap a source, so that reads of it are counted as the cost of the step that is recorded next."""
        if isinstance(source, MeteredSource) and self._meters.get(id(source.base)) is source:
            return source
        return self._meters.setdefault(id(source), MeteredSource(source))

    def step(
        self,
        title: str,
        text: str,
        *spans: Span,
        why: str = "",
        inputs: Sequence[Span] = (),
        at: Mapping[str, Span] = NO_LOCATIONS,
        shown: Sequence[Shown] = (),
        draw: Callable[[], Drawing] | None = None,
        fact: tuple[str, Any] = ("", None),
        meanings: Mapping[str, Meaning] = NO_MEANINGS,
        **values: Any,
    ) -> None:
        """Record one step; its cost is the number of requests and bytes read since the previous step.

        `draw` replaces the default drawing; it must not read. See `Step`.
        """
        if not self.recording:
            return
        requests = sum(meter.requests for meter in self._meters.values())
        size = sum(meter.bytes for meter in self._meters.values())
        # Empty spans are neither highlighted nor numbered.
        spans = tuple(span for span in spans if span.size) or spans
        self.steps.append(
            Step(
                title,
                text,
                spans,
                values,
                requests - self._requests_before,
                size - self._bytes_before,
                why=why,
                inputs=tuple(inputs),
                meanings=meanings,
                shown=tuple(shown),
                at=at,
                fact=fact,
                draw=cache(draw) if draw is not None else None,
            )
        )
        self._requests_before, self._bytes_before = requests, size

    def follow(self, walk: Iterator[Any], format: str) -> ObjectRef:
        """Run a lookup, and return its object. If recording, add the steps for each result that `walk` yields.

        Results after the object, such as its content, are for traces: without recording, the object ends the lookup.
        """
        found = None
        for fact in walk:
            if self.recording:
                self.record(fact, format)
            found = fact if isinstance(fact, ObjectRef) else found
            if found is not None and not self.recording:
                break
        assert found is not None
        return found

    def record(self, fact: Any, format: str) -> None:
        """If recording, add the steps that describe one result of a lookup; the first one has the cost of the reads."""
        if not self.recording:
            return
        if isinstance(fact, Elsewhere):
            self.described = fact.described
        for row in rows_of(fact, format):
            sentence_of = Sentence(row, fact)
            self.step(
                sentence_of.format(row.title),
                sentence_of.format(row.text),
                *spans_of(get(fact, row.spans)),
                why=row.why,
                inputs=spans_of(get(fact, row.inputs)),
                at={value.name: span for value in row.values if value.at and (span := get(fact, value.at))},
                fact=(format, fact),
                meanings={value.name: Meaning(value.text, value.unit, value.relative) for value in row.values},
                **{value.name: get(fact, value.get) for value in row.values},
            )

    def draw(self, first: int, sections: Sequence[Section]) -> None:
        self.steps[first:] = [step.drawn(sections) for step in self.steps[first:]]

    def place(self, first: int, member: str, *, said: bool = False) -> None:
        """Convert the steps from index `first` on, recorded by a member, to steps of the data set.

        With `said`, the text of the first one begins with the name of the member; for a search in several members.
        """
        steps = [placed_step(step, member) for step in self.steps[first:]]
        if said and steps and not steps[0].text.startswith(member):
            brief = visible(member if len(member) <= _LONG_NAME else f"{member[:16]}…")
            steps[0] = replace(steps[0], text=f"In {brief}: {steps[0].text}")
        self.steps[first:] = steps

    def damaged(self, error: ShardError, text: str = "") -> None:
        """Record damage, or a file that is not a shard, as a step; the same error only once."""
        if self.recording and error not in self._recorded_damage:
            self._recorded_damage.append(error)
            title = "Not a shard" if isinstance(error, NotAShard) else "Damaged"
            self.step(title, text or sentence(error.message), *([error.span] if error.span else []), why=_DAMAGED_WHY)


def record_lookup(
    key: str,
    lookup: Callable[[LookupRecorder], ObjectRef],
    recorder: LookupRecorder | None = None,
    sections: Callable[[], Sequence[Section]] = tuple,
) -> Trace:
    """Run a lookup and return its trace. A SourceError is raised instead of recorded.

    `recorder` records the steps (default: a new one); `sections` returns the sections of the file for the drawings.
    """
    recorder = recorder or LookupRecorder(recording=True)
    try:
        ref = lookup(recorder)
    except KeyAbsent as error:
        recorder.draw(0, sections())
        return Trace(key, ABSENT, tuple(recorder.steps), error=error.placed)
    except (FormatError, NotAShard, LimitExceeded) as error:
        recorder.damaged(error)
        recorder.draw(0, sections())
        return Trace(key, DAMAGED, tuple(recorder.steps), error=error.placed, remedy=error.remedy)
    recorder.draw(0, sections())
    return Trace(key, FOUND, tuple(recorder.steps), ref=ref, described=recorder.described)


def placed_step(step: Step, member: str) -> Step:
    from shardcore.model.drawing import moved

    draw = step.draw
    return replace(
        step,
        spans=tuple(placed_span(span, member) for span in step.spans),
        inputs=tuple(placed_span(span, member) for span in step.inputs),
        draw=None if draw is None else cache(lambda: moved(draw(), lambda span: placed_span(span, member))),
    )


Get = str | Callable[[Any], Any]
"""Path of attributes from a lookup result to a value (`placed.slot`, `positions[0]`), or a function that returns it."""


@dataclass(frozen=True, slots=True)
class Value:
    """Template of a value of a step: its meaning, its unit (`byte`: an offset), and `at`, the location of its bytes."""

    name: str
    get: Get
    text: str
    unit: str = ""
    at: Get = ""
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Template of one step, which is filled from a result of a lookup (the fact).

    In `title` and `text`, `{name}` is one of `words`, a value, or a path from the fact; `{slots:slot}` is a number with
    its noun, such as `3 slots`.

    Attributes:
        spans: The bytes that the step reads: a span, or several.
        inputs: Bytes that earlier steps read, and from which this step computes.
        only: Returns whether the step is added for a fact; default: for all of the type.
    """

    title: str
    text: str
    why: str
    values: tuple[Value, ...] = ()
    spans: Get = ""
    inputs: Get = ""
    words: Mapping[str, Get] = field(default_factory=dict)
    only: Callable[[Any], bool] | None = None


Rows = Mapping[type, tuple[Row, ...]]
"""Templates of steps by type of lookup result (fact); each format declares them as `STEPS` in its `trace_steps`."""


def rows_of(fact: Any, format: str) -> Iterator[Row]:
    rows: Rows = import_module(f"shardcore.formats.{format}.trace_steps").STEPS
    return (row for row in rows.get(type(fact), ()) if row.only is None or row.only(fact))


def get(fact: Any, path: Get) -> Any:
    if callable(path):
        return path(fact)
    return reduce(_part, path.replace("[", ".[").split("."), fact) if path else ()


def _part(owner: Any, name: str) -> Any:
    return owner[int(name[1:-1])] if name.startswith("[") else getattr(owner, name)


def spans_of(found: Span | Iterable[Span]) -> Sequence[Span]:
    return (found,) if isinstance(found, Span) else tuple(found)


class Sentence(Formatter):
    """Formatter that fills the texts of a `Row` with values of a lookup result."""

    def __init__(self, row: Row, fact: Any) -> None:
        self._fact = fact
        self._words = {value.name: value.get for value in row.values} | dict(row.words)

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        return get(self._fact, self._words.get(field_name, field_name)), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        noun = isinstance(value, int) and len(format_spec) > 1 and format_spec.replace(" ", "").isalpha()
        return plural(value, format_spec) if noun else format(value, format_spec)
