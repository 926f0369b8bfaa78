"""Drawings as data: figures with items. An item represents bytes of the file, or a computed value.

Items are in units of the format (bits, bytes, slot numbers). `shardcore.teaching.drawing` computes the layout, for the
window and for SVG; `as_text` writes the same drawing as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol

from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import UsageError
from shardcore.model.span import Span
from shardcore.model.text import Displayed, short

_SWITCHES = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


def chosen(controls: Sequence[Control], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every control, from `values` or its default. UsageError: a name or value is not available."""
    names = [control.name for control in controls]
    for name in values:
        if name not in names:
            raise UsageError(f"unknown control {short(name)}; available: {', '.join(names) or 'none'}")
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
        raise UsageError(f"{control.name} must be {values_of(control)}, not {short(value)}")
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
    """Return at most `most` of `count` cell numbers, with the cell `around` in the middle if possible."""
    first = max(min(around - most // 2, count - most), 0)
    return range(first, min(first + most, count))


Place = Callable[[Span], Span]


def moved(drawing: Drawing, place: Place) -> Drawing:
    def move(item: Item) -> Item:
        return replace(item, spans=tuple(place(span) for span in item.spans)) if item.spans else item

    return with_items(drawing, move)


def with_items(drawing: Drawing, change: Callable[[Item], Item]) -> Drawing:
    return replace(drawing, figures=tuple(_changed(figure, change) for figure in drawing.figures))


def before_stages(drawing: Drawing) -> Drawing:
    """Return a drawing as it is before its animation: no caption, and no arrows or texts of stages 1 and later."""

    def empty(item: Item) -> Item:
        return replace(item, text="", spans=(), tone=Tone.EMPTY, here=False, doc="", stage=0) if item.stage else item

    links = tuple(link for link in drawing.links if not drawing.stage_of(link))
    figures = tuple(_changed(figure, empty) for figure in drawing.figures)
    return replace(drawing, figures=figures, links=links, caption="")


@dataclass(frozen=True, slots=True)
class MovedSketch:
    """Drawing of a shard of a data set. `place` converts the spans to spans of the data set."""

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


def _changed(figure: Figure, change: Callable[[Item], Item]) -> Figure:
    if isinstance(figure, Table):
        return replace(figure, rows=tuple(tuple(map(change, row)) for row in figure.rows))
    if isinstance(figure, Ribbon):
        return replace(
            figure,
            above=replace(figure.above, items=tuple(map(change, figure.above.items))),
            below=replace(figure.below, items=tuple(map(change, figure.below.items))),
            bands=tuple(Band(change(band.item), band.below) for band in figure.bands),
        )
    return replace(figure, items=tuple(map(change, figure.items)))


MOST_ITEMS = 60
"""Maximum number of items in one drawing. `Drawing.more` is the number of items left out."""


class Tone(StrEnum):
    """Meaning of an item. Determines its colour, and a letter or hatch for displays without colour.

    `HIT`: result of the lookup. `MISS`: wrong or colliding. `EMPTY`: free. `DEAD`: deleted. `FAINT`: context only.
    `ONE` to `FOUR`: distinguish neighbours, such as the letters x, y, z of a Morton code.
    """

    PLAIN = "plain"
    KEY = "key"
    POINTER = "pointer"
    SIZE = "size"
    HEADER = "header"
    INDEX = "index"
    LOOKUP = "lookup"
    DATA = "data"
    METADATA = "metadata"
    FOOTER = "footer"
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
    """One item of a figure.

    Attributes:
        text: Short text inside the item.
        spans: Bytes that it represents; empty if computed. They are highlighted when the mouse is over the item.
        at: Start, in the unit of its figure: a bit (0 is the lowest), a number on a ruler, a cell number.
        size: Length in the same unit; an item of size 0 on a ruler is a mark.
        tone: Meaning, for the colour.
        doc: One sentence, shown as a tooltip.
        name: Name that arrows (`Link`) refer to, unique in a drawing; may be empty.
        here: Whether the current step of the lookup uses this item; it is drawn with a frame.
        handle: Name of the control that is set by dragging the upper end (`at + size`); may be empty.
        stage: Stage of the animation at which it appears; 0: from the start.
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
        """True if the item represents no bytes."""
        return not self.spans


@dataclass(frozen=True, slots=True)
class Bits:
    """A row of at most 64 bits, the highest on the left, with named bit fields above.

    `at` of a field is its lowest bit. `letters` replace digits, by bit number. If `value` is None, there are no digits.
    """

    title: str
    width: int
    value: int | None
    items: tuple[Item, ...] = ()
    letters: Mapping[int, tuple[str, Tone]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Ruler:
    """A number line `[start, stop)` with ranges and marks (`size` 0); overlapping ranges are drawn in rows.

    With `ring`, `start` follows `stop`: an arrow to the left leaves at the right and enters at the left, unless dashed.
    """

    title: str
    start: float
    stop: float
    items: tuple[Item, ...] = ()
    unit: str = ""
    ring: bool = False


@dataclass(frozen=True, slots=True)
class Cells:
    """Numbered cells in rows, such as buckets or slots; at most `MOST_CELLS`. Cells without an item are drawn empty.

    `columns` is the number per row (0: as many as fit), `first` the number of the first cell; for `ring` see `Ruler`.
    """

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
    """Rows of items; each row has one item per heading."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Item, ...], ...]

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for row in self.rows for item in row)


@dataclass(frozen=True, slots=True)
class Band:
    """Band between two rulers, from the range of `item` on the upper one to the range `below` on the lower one."""

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
    """An arrow between two named items. It appears at `stage`, but not before both items."""

    start: str
    stop: str
    text: str = ""
    tone: Tone = Tone.PLAIN
    stage: int = 0
    doc: str = ""


Figure = Bits | Ruler | Cells | Table | Ribbon


@dataclass(frozen=True, slots=True)
class Drawing(Displayed):
    """A drawing: figures from top to bottom, and arrows between their items.

    Attributes:
        links: Arrows between named items.
        caption: One or two sentences that explain the drawing.
        more: Number of items left out.
        what_if: Whether it shows a hypothetical state instead of the file.
        legend: Meaning of a tone in this drawing, if it differs from the general one.
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
            raise ValueError(f"links refer to items that are not drawn: {', '.join(sorted(lost))}")
        if any(not sentence for sentence in self.stages):
            raise ValueError("a stage of the animation has no sentence")

    @property
    def stages(self) -> tuple[str, ...]:
        """One sentence per stage of the animation, in order; empty if the drawing is not animated."""
        # Sentences come from the figure that begins the animation.
        walks: list[Figure] = sorted(self.figures, key=lambda figure: all(item.stage != 1 for item in figure.items))
        parts: list[Item | Link] = [link for link in self.links if link.stage]
        parts += [item for figure in walks for item in figure.items if item.stage]
        docs = {one.stage: one.doc for one in reversed(parts) if one.doc}
        return tuple(docs.get(stage, "") for stage in range(1, max((one.stage for one in parts), default=0) + 1))

    def stage_of(self, link: Link) -> int:
        """Return the stage at which an arrow appears: not before the items at its ends."""
        return max(link.stage, *(item.stage for item in self.items if item.name in (link.start, link.stop)))

    @property
    def items(self) -> tuple[Item, ...]:
        """Items of all figures, from top to bottom."""
        return tuple(item for figure in self.figures for item in figure.items)


class ControlKind(StrEnum):
    SLIDER = "slider"
    """A whole number between `low` and `high`."""
    SWITCH = "switch"
    """True or False."""
    CHOICE = "choice"
    """One of `choices`."""
    TEXT = "text"
    """A key or other text."""


@dataclass(frozen=True, slots=True)
class Control:
    """Control of a drawing.

    Attributes:
        name: Name in the `values` of `Sketch.draw`.
        label: Label beside the control.
        kind: Kind of control.
        value: Initial value, from the file or the lookup; *Reset* restores it.
        low: Minimum of a slider.
        high: Maximum of a slider.
        choices: Values of a choice.
        doc: One sentence.
        follows: `row` or `key` if the value follows the selected object, `node` if the selected node; or empty.
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
    """A drawing, with or without controls.

    Attributes:
        name: Short and stable, such as `parking`; used by lessons and tests.
        title: Label of its tab.
    """

    @property
    def name(self) -> str:
        """Short and stable name."""
        ...

    @property
    def title(self) -> str:
        """Label of its tab."""
        ...

    @property
    def controls(self) -> tuple[Control, ...]:
        """Controls. Those whose initial value is read from the file are included only after the first `draw`."""
        ...

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        """Return the drawing for these values of controls, by name; a control without a value has its default.

        May read the file, so the window calls it in a job. Takes less than 50 ms, so that it can follow a slider.

        Raises:
            UsageError: A value is invalid; the message lists the valid ones.
            ShardError: The bytes cannot be read.
        """
        ...


def sketch_named(sketches: Iterable[Sketch], name: str) -> Sketch | None:
    """Return the sketch with this name or label (see `sketch_label`); None if there is none."""
    return next((one for one in sketches if name in (one.name, sketch_label(one))), None)


def sketch_label(sketch: Sketch) -> str:
    """Return the title of a drawing as one word: `slot-placement`."""
    return sketch.title.lower().replace(" ", "-")


STEP = "step"
"""Name of the sketch that shows the current step of a lookup."""

SECTION = "section "
"""Prefix of the `Item.name` of a section on a ruler; in a table, sections have no name."""


@dataclass(frozen=True, slots=True)
class StaticSketch:
    name: str
    title: str
    drawing: Drawing
    controls: tuple[Control, ...] = ()

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        return self.drawing
