"""Items of drawings. A drawing is data: every item names the bytes it stands for, or is computed.

A format states *what* is drawn, in its own units (bits, bytes, slot numbers). Where it lies on a page is decided in
`placing`, once for the window and for SVG; `as_text` writes the same drawing in lines of text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol

from shardcore.errors import UsageError
from shardcore.model.displayed import Displayed
from shardcore.model.span import Span
from shardcore.model.text import short

_SWITCHES = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


def chosen(controls: Sequence[Control], values: Mapping[str, Any]) -> dict[str, Any]:
    names = [control.name for control in controls]
    for name in values:
        if name not in names:
            raise UsageError(f"nothing here is called {short(name)}; what can be set: {', '.join(names) or 'nothing'}")
    return {one.name: checked(one, values[one.name]) if one.name in values else one.value for one in controls}


def checked(control: Control, value: Any) -> Any:
    kind = control.kind
    if kind is ControlKind.SLIDER:
        fits = isinstance(value, int) and not isinstance(value, bool) and control.low <= value <= control.high
    elif kind is ControlKind.SWITCH:
        fits = isinstance(value, bool)
    elif kind is ControlKind.CHOICE:
        fits = value in control.choices
    else:
        fits = isinstance(value, str)
    if not fits:
        raise UsageError(f"{control.name} is {values_of(control)}, not {short(value)}")
    return value


def value_from(control: Control, text: str) -> Any:
    if control.kind is ControlKind.SWITCH and text.lower() in _SWITCHES:
        return _SWITCHES[text.lower()]
    if control.kind is ControlKind.SLIDER:
        try:
            return checked(control, int(text, 0))
        except ValueError:
            return checked(control, text)
    return checked(control, text)


def values_of(control: Control) -> str:
    if control.kind is ControlKind.SLIDER:
        return f"a whole number from {control.low} to {control.high}"
    if control.kind is ControlKind.SWITCH:
        return "yes or no"
    return f"one of {', '.join(control.choices)}" if control.kind is ControlKind.CHOICE else "a text"


def window(count: int, around: int, most: int) -> range:
    first = max(min(around - most // 2, count - most), 0)
    return range(first, min(first + most, count))


Place = Callable[[Span], Span]


def moved(drawing: Drawing, place: Place) -> Drawing:
    return replace(drawing, figures=tuple(_figure(figure, place) for figure in drawing.figures))


@dataclass(frozen=True, slots=True)
class MovedSketch:
    base: Sketch
    place: Place

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def title(self) -> str:
        return self.base.title

    @property
    def controls(self) -> tuple[Control, ...]:
        return self.base.controls

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        return moved(self.base.draw(values), self.place)


def moved_sketches(sketches: Sequence[Sketch], place: Place) -> tuple[Sketch, ...]:
    return tuple(MovedSketch(sketch, place) for sketch in sketches)


def _items(items: tuple[Item, ...], place: Place) -> tuple[Item, ...]:
    return tuple(_item(item, place) for item in items)


def _item(item: Item, place: Place) -> Item:
    return replace(item, spans=tuple(place(span) for span in item.spans)) if item.spans else item


def _figure(figure: Figure, place: Place) -> Figure:
    if isinstance(figure, Table):
        return replace(figure, rows=tuple(_items(row, place) for row in figure.rows))
    if isinstance(figure, Ribbon):
        return replace(
            figure,
            above=replace(figure.above, items=_items(figure.above.items, place)),
            below=replace(figure.below, items=_items(figure.below.items, place)),
            bands=tuple(Band(_item(band.item, place), band.below) for band in figure.bands),
        )
    return replace(figure, items=_items(figure.items, place))


MOST_ITEMS = 60
"""Items in one drawing; what is more is counted in `Drawing.more`."""


class Tone(StrEnum):
    PLAIN = "plain"
    KEY = "key"
    POINTER = "pointer"
    SIZE = "size"
    HEADER = "header"
    INDEX = "index"
    LOOKUP = "lookup"
    DATA = "data"
    METADATA = "metadata"
    HIT = "hit"
    MISS = "miss"
    EMPTY = "empty"
    DEAD = "dead"
    FAINT = "faint"
    ONE = "one"
    TWO = "two"
    THREE = "three"
    FOUR = "four"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing drawn.

    Attributes:
        text: The content in it; short.
        spans: The bytes it stands for; empty when it is computed. Pointing at it lights them.
        at: Start, in the unit of its figure: a bit (0 is the lowest), a place on a ruler, a cell's number.
        size: How far it reaches, in the same unit; 0 on a ruler is a mark at one place.
        tone: What it is.
        doc: One sentence, told when it is pointed at.
        name: What links call it; empty where none leads to it. Unique in a drawing.
        here: Whether the lookup is about this one: it is framed.
        handle: The control that its upper end (`at + size`) sets when it is dragged; empty when it cannot be.
        stage: The stage of the walk at which it appears; 0 is there from the start.
    """

    text: str = ""
    spans: tuple[Span, ...] = ()
    at: float = 0
    size: float = 1
    tone: Tone = Tone.PLAIN
    doc: str = ""
    name: str = ""
    here: bool = False
    handle: str = ""
    stage: int = 0

    @property
    def computed(self) -> bool:
        """Return whether no bytes stand for it."""
        return not self.spans


@dataclass(frozen=True, slots=True)
class Bits:
    title: str
    width: int
    value: int | None
    items: tuple[Item, ...] = ()
    letters: Mapping[int, tuple[str, Tone]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Ruler:
    title: str
    start: float
    stop: float
    items: tuple[Item, ...] = ()
    unit: str = ""
    ring: bool = False


@dataclass(frozen=True, slots=True)
class Cells:
    title: str
    count: int
    items: tuple[Item, ...] = ()
    columns: int = 0
    first: int = 0
    ring: bool = False
    numbered: bool = True
    column_names: tuple[str, ...] = ()
    row_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Item, ...], ...]

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for row in self.rows for item in row)


@dataclass(frozen=True, slots=True)
class Band:
    item: Item
    below: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Ribbon:
    title: str
    above: Ruler
    below: Ruler
    bands: tuple[Band, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        return (*self.above.items, *(band.item for band in self.bands), *self.below.items)


@dataclass(frozen=True, slots=True)
class Link:
    start: str
    stop: str
    text: str = ""
    tone: Tone = Tone.PLAIN
    stage: int = 0
    doc: str = ""


Figure = Bits | Ruler | Cells | Table | Ribbon


@dataclass(frozen=True, slots=True)
class Drawing(Displayed):
    """A drawing: parts from top to bottom, and arrows between their items.

    Attributes:
        title: What it shows.
        figures: The parts.
        links: The arrows.
        caption: One or two plain sentences: what to see in it.
        more: Number of items left out.
        what_if: Whether it shows what would be, not what the file states.
        legend: What tones mean in this drawing, where that is not what they usually mean.
    """

    title: str
    figures: tuple[Figure, ...]
    links: tuple[Link, ...] = ()
    caption: str = ""
    more: int = 0
    what_if: bool = False
    legend: Mapping[Tone, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if len(self.items) > MOST_ITEMS:
            raise ValueError(f"{len(self.items)} items in one drawing; at most {MOST_ITEMS}, the others are counted")
        names = [item.name for item in self.items if item.name]
        if len(set(names)) < len(names):
            raise ValueError("two items of a drawing have the same name")
        if (lost := {end for link in self.links for end in (link.start, link.stop)} - set(names)) != set():
            raise ValueError(f"links lead to items that are not drawn: {', '.join(sorted(lost))}")
        if any(not sentence for sentence in self.stages):
            raise ValueError("a stage of the walk has no sentence")

    @property
    def stages(self) -> tuple[str, ...]:
        """A sentence for each stage of the walk that it shows, in order; empty where nothing moves."""
        # Of a walk tells the figure that begins it, not what comes with its end.
        walks: list[Figure] = sorted(self.figures, key=lambda figure: all(item.stage != 1 for item in figure.items))
        parts: list[Item | Link] = [link for link in self.links if link.stage]
        parts += [item for figure in walks for item in figure.items if item.stage]
        told = {one.stage: one.doc for one in reversed(parts) if one.doc}
        return tuple(told.get(stage, "") for stage in range(1, max((one.stage for one in parts), default=0) + 1))

    def stage_of(self, link: Link) -> int:
        """Return the stage at which an arrow appears: not before its ends."""
        return max(link.stage, *(item.stage for item in self.items if item.name in (link.start, link.stop)))

    @property
    def items(self) -> tuple[Item, ...]:
        """All items of all parts."""
        return tuple(item for figure in self.figures for item in figure.items)


class ControlKind(StrEnum):
    SLIDER = "slider"
    """A whole number between `low` and `high`."""
    SWITCH = "switch"
    """True or False."""
    CHOICE = "choice"
    """One of `choices`."""
    TEXT = "text"
    """A text, such as a key."""


@dataclass(frozen=True, slots=True)
class Control:
    """Control of a drawing.

    Attributes:
        name: What `Sketch.draw` calls it.
        label: What is beside it.
        kind: How it is set.
        value: What the file or the lookup states: where it begins, and what *Reset* returns to.
        low: Least number of a slider.
        high: Greatest number of a slider.
        choices: The choices.
        doc: One sentence.
        follows: `row` or `key` where the control stands for an object: it takes that of the selected one.
    """

    name: str
    label: str
    kind: ControlKind
    value: Any
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()
    doc: str = ""
    follows: str = ""


class Sketch(Protocol):
    """A drawing that can be played with; or one that stays as it is, without controls.

    Attributes:
        name: Short and stable: `parking`. Lessons and tests call it so.
        title: The content on its tab.
        controls: What can be changed.
    """

    @property
    def name(self) -> str:
        """Short and stable."""
        ...

    @property
    def title(self) -> str:
        """Return the content on its tab."""
        ...

    @property
    def controls(self) -> tuple[Control, ...]:
        """Return what can be changed; a control whose value has to be read is there from the first drawing on."""
        ...

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        """Return the drawing for some values of the controls; what is not named is as the file states.

        It may read, so the window calls it in a job. It is quick enough to follow a slider: under 50 ms.

        Raises:
            UsageError: A value is none; its message shows which are.
            ShardError: What it needs cannot be read.
        """
        ...


def sketch_named(sketches: Iterable[Sketch], name: str) -> Sketch | None:
    return next((one for one in sketches if name in (one.name, sketch_label(one))), None)


def sketch_label(sketch: Sketch) -> str:
    return sketch.title.lower().replace(" ", "-")


STEP = "step"
"""Name of the sketch that is the drawing of the current step."""


@dataclass(frozen=True, slots=True)
class StaticSketch:
    name: str
    title: str
    drawing: Drawing
    controls: tuple[Control, ...] = ()

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        return self.drawing
