"""Drawings whose spans are named otherwise: those of a member, in the words of its data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shardcore.model.drawing import Band, Control, Drawing, Figure, Item, Ribbon, Sketch, Table
from shardcore.model.span import Span

Place = Callable[[Span], Span]


def moved(drawing: Drawing, place: Place) -> Drawing:
    """The same drawing, every span of it renamed."""
    return replace(drawing, figures=tuple(_figure(figure, place) for figure in drawing.figures))


@dataclass(frozen=True, slots=True)
class MovedSketch:
    """A sketch of a member, told in the words of its data set.

    Attributes:
        base: The sketch of the member.
        place: Renames a span.
    """

    base: Sketch
    place: Place

    @property
    def name(self) -> str:
        """As the member's."""
        return self.base.name

    @property
    def title(self) -> str:
        """As the member's."""
        return self.base.title

    @property
    def controls(self) -> tuple[Control, ...]:
        """As the member's."""
        return self.base.controls

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        """The member's drawing, renamed."""
        return moved(self.base.draw(values), self.place)


def moved_sketches(sketches: Sequence[Sketch], place: Place) -> tuple[Sketch, ...]:
    """Sketches of a member, in the words of its data set."""
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
