"""The places of a drawing that the keyboard goes to: items and handles, and the way from one to the next. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shardcore.model.number_words import plural
from shardcore.teaching.drawing.picture import Grip, Picture, Rect

_ASIDE = 3.0
"""Factor of the distance of an item that is not straight in the direction."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A place where the keyboard can be.

    Attributes:
        item: The number of the item.
        rect: Where it is.
        grip: The handle, where it is one.
    """

    item: int
    rect: Rect
    grip: Grip | None = None


def stops_of(picture: Picture) -> tuple[Stop, ...]:
    """All stops, in the order of the page; a handle comes after its item."""
    found: list[Stop] = []
    seen: set[int] = set()
    for area in picture.areas:
        if area.item in seen:
            continue
        seen.add(area.item)
        found.append(Stop(area.item, area.bounds))
        found += [Stop(area.item, grip.rect, grip) for grip in picture.grips if grip.item == area.item]
    return tuple(found)


def towards(stops: Sequence[Stop], current: int, across: int, down: int) -> int:
    """The number of the nearest stop in a direction, of the same row first; the current one where there is none."""
    here = stops[current].rect
    x, y = here.middle
    found: list[tuple[bool, bool, float, int]] = []
    for number, stop in enumerate(stops):
        along = (stop.rect.middle[0] - x) * across + (stop.rect.middle[1] - y) * down
        aside = abs((stop.rect.middle[0] - x) * down) + abs((stop.rect.middle[1] - y) * across)
        if stop.grip is None and along > 1:
            other_row = bool(across) and not (stop.rect.y < here.bottom and here.y < stop.rect.bottom)
            found.append((other_row, aside > along, along + _ASIDE * aside, number))
    return min(found)[3] if found else current


def spoken(picture: Picture, stop: Stop) -> str:
    """Return what is said of a stop."""
    item = picture.items[stop.item]
    if stop.grip is not None:
        return f"handle of {item.text or item.doc}, at {stop.grip.end:g}: the arrow keys move it"
    size = sum(span.size for span in item.spans)
    spans = f"{plural(size, 'byte')} at {item.spans[0].start:,}" if item.spans else "computed, no bytes"
    return ", ".join(part.rstrip(".") for part in (item.text, item.doc, spans) if part)
