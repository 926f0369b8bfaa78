"""Mutations of a file that know its structure, as edits that can be written down, replayed and made smaller."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import shardcore
from shardcore import Node, Shard, ShardError
from shardcore.model.node import Children
from shardcore.testing import mutated

MOST_NODES = 400
"""Nodes of a sample that are places for mutations."""


@dataclass(frozen=True)
class Edit:
    """One change: the bytes `[start, stop)` become others."""

    start: int
    stop: int
    data: bytes


@dataclass(frozen=True)
class Place:
    """Bytes of a sample with a meaning: a field, a record, a section.

    Attributes:
        start: Their first.
        stop: The one after the last.
        leaf: Whether it is a field.
        big: Whether it is a number in big-endian order.
    """

    start: int
    stop: int
    leaf: bool
    big: bool

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.stop - self.start


def edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    """Return the bytes after the edits, one after the other."""
    for edit in edits:
        data = data[: edit.start] + edit.data + data[edit.stop :]
    return data


def places_of(path: Path) -> tuple[Place, ...]:
    """Return the places of a file as its records state them; none where it does not open."""
    try:
        with shardcore.open(path, partial=True) as shard:
            with suppress(ShardError):
                shard.load_index()
            return _places(shard)
    except ShardError:
        return ()


def _places(shard: Shard) -> tuple[Place, ...]:
    found: list[Place] = []
    waiting: list[Node] = [shard.tree]
    while waiting and len(found) < MOST_NODES:
        node = waiting.pop(0)
        with suppress(ShardError):
            kids = node.children
            some = kids[: min(len(kids), 40)] if isinstance(kids, Children) else list(kids)[:40]
            if not node.span.source and node.span.size:
                found.append(Place(node.span.start, node.span.stop, not some, "big" in node.type))
            waiting += some
    return tuple(found)


def mutation(data: bytes, places: Sequence[Place], other: bytes, dice: random.Random) -> tuple[Edit, ...]:
    """Return one to three edits: half of them of places, the others of any bytes.

    Args:
        data: The sample.
        places: Its places.
        other: Another sample of the same format, of which parts are taken.
        dice: Chooses.
    """
    edits: list[Edit] = []
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        now = edited(data, edits)
        there = [place for place in places if place.stop <= len(now)]
        if there and dice.random() < 0.75:
            leaves = [place for place in there if place.leaf] or there
            edits += dice.choice(_KINDS)(now, leaves if dice.random() < 0.7 else there, other, dice)
        else:
            edits.append(difference(now, mutated(now, dice)))
    return tuple(edits)


def difference(one: bytes, other: bytes) -> Edit:
    """Return the edit that makes the first bytes the others."""
    least = min(len(one), len(other))
    start = next((at for at in range(least) if one[at] != other[at]), least)
    back = next((at for at in range(least - start) if one[-1 - at] != other[-1 - at]), least - start)
    return Edit(start, len(one) - back, other[start : len(other) - back])


def _boundary(data: bytes, places: Sequence[Place], other: bytes, dice: random.Random) -> list[Edit]:
    """A field gets an extreme value, the size of the file, or one more or less than it has."""
    place = dice.choice(places)
    width = place.size if place.size in (1, 2, 4, 8) else min(8, place.size)
    order: Literal["big", "little"] = "big" if place.big else "little"
    now = int.from_bytes(data[place.start : place.start + width], order)
    values = (0, 1, (1 << 8 * width) - 1, 1 << 8 * width - 1, (1 << 8 * width - 1) - 1, now + 1, now - 1, 2 * now)
    value = dice.choice((*values, len(data), len(data) - 1, dice.choice(places).start, 1 << dice.randrange(8 * width)))
    return [Edit(place.start, place.start + width, (value & ((1 << 8 * width) - 1)).to_bytes(width, order))]


def _swap(data: bytes, places: Sequence[Place], other: bytes, dice: random.Random) -> list[Edit]:
    """Two fields or records of one size change places."""
    one = dice.choice(places)
    alike = [place for place in places if place.size == one.size and place.start != one.start]
    if not alike:
        return _boundary(data, places, other, dice)
    two = dice.choice(alike)
    first, second = data[one.start : one.stop], data[two.start : two.stop]
    return [Edit(one.start, one.stop, second), Edit(two.start, two.stop, first)]


def _splice(data: bytes, places: Sequence[Place], other: bytes, dice: random.Random) -> list[Edit]:
    """Bytes of another file, of the same offset or any, come in the place of these."""
    place = dice.choice(places)
    at = place.start if dice.random() < 0.5 else dice.randrange(max(len(other), 1))
    return [Edit(place.start, place.stop, other[at : at + place.size])]


def _cut(data: bytes, places: Sequence[Place], other: bytes, dice: random.Random) -> list[Edit]:
    """The file ends at a place, one byte before it or after it; or the place is cut out."""
    place = dice.choice(places)
    if dice.random() < 0.4:
        return [Edit(place.start, place.stop, b"")]
    end = max(min(dice.choice((place.start, place.stop)) + dice.choice((-1, 0, 1)), len(data)), 0)
    return [Edit(end, len(data), b"")]


def _extend(data: bytes, places: Sequence[Place], other: bytes, dice: random.Random) -> list[Edit]:
    """The file goes on, or a place comes twice."""
    place = dice.choice(places)
    piece = data[place.start : place.stop][:4096]
    more = dice.choice((bytes(dice.choice((1, 8, 512))), b"\xff" * 8, piece, other[:512], dice.randbytes(40)))
    at = dice.choice((len(data), place.start, place.stop))
    return [Edit(at, at, more)]


_KINDS = (_boundary, _boundary, _boundary, _swap, _splice, _cut, _extend)


def minimised(edits: tuple[Edit, ...], fails: Callable[[tuple[Edit, ...]], bool]) -> tuple[Edit, ...]:
    """Return fewer and shorter edits that still fail.

    Args:
        edits: Edits that fail.
        fails: Whether some do; false once the time is over.
    """
    for number in reversed(range(len(edits))):
        fewer = edits[:number] + edits[number + 1 :]
        if fewer and fails(fewer):
            edits = fewer
    for number, edit in enumerate(edits):
        smaller = edit
        while len(smaller.data) == smaller.stop - smaller.start > 1:
            half = len(smaller.data) // 2
            middle = smaller.start + half
            parts = (Edit(smaller.start, middle, smaller.data[:half]), Edit(middle, smaller.stop, smaller.data[half:]))
            found = next((part for part in parts if fails((*edits[:number], part, *edits[number + 1 :]))), None)
            if found is None:
                break
            smaller = found
        edits = (*edits[:number], smaller, *edits[number + 1 :])
    return edits
