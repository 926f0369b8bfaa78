"""Drawings of the displacement of a bucket, from select directory, unary bits, low bits and value store.

The lowest bit of a row is at its right, so that numbers can be read; a bit string runs from right to left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardcore.errors import FormatError
from shardcore.formats.swh.hash_section import ONES_PER_ENTRY, HashLayout, byte_range
from shardcore.formats.swh.layout import DIRECTORY_ENTRY
from shardcore.formats.swh.lookup import DisplacementLocated, KeyPlaced
from shardcore.model.drawing import Bits, Cells, Control, Drawing, Figure, Item, Link, Table, Tone, window
from shardcore.model.number_text import plural
from shardcore.model.span import Span
from shardcore.teaching.swh.scene import KeyScene

_ROW = 32
"""Bits per row."""

_MOST_BITS = 64


@dataclass(frozen=True, slots=True)
class PackedValue:
    bucket: int
    start: int
    length: int
    displacement: int


def directory_figure(located: DisplacementLocated) -> Cells:
    hashing = located.hashed.hashing
    number = located.hashed.bucket // ONES_PER_ENTRY
    span = hashing.parts["select directory"]
    start = span.start + DIRECTORY_ENTRY.size * number
    shown = window(span.size // DIRECTORY_ENTRY.size, number, 5)
    one = number * ONES_PER_ENTRY
    doc = f"Entry {number} of the select directory: one-bit {one} is at bit {located.entry} of the unary bits."
    item = Item(
        f"bit {located.entry}",
        (DIRECTORY_ENTRY.span("", start),),
        at=number,
        tone=Tone.POINTER,
        doc=doc,
        name="entry",
        here=True,
    )
    title = f"1 · Select directory: one-bit {one} is found without counting"
    return Cells(title, len(shown), (item,), first=shown.start)


def unary_figure(located: DisplacementLocated) -> Bits | None:
    """Return the unary bits around the one-bits of the bucket and the previous bucket; None if they were not read."""
    before, own = located.positions
    first = max(before, 0) // 8
    found = next((piece for piece in located.unary if piece[0] <= own // 8 < piece[0] + len(piece[1])), None)
    if found is None:
        return None
    at, data = found
    first = max(min(first, own // 8 + 1 - _ROW // 8), at)
    last = min(max(first + _ROW // 8, own // 8 + 1), at + len(data), first + _MOST_BITS // 8)
    value = int.from_bytes(data[first - at : last - at], "little")
    hashing, bucket = located.hashed.hashing, located.hashed.bucket
    items = [_one_bit(hashing, bucket, own, 8 * first, Tone.HIT)]
    if before >= 8 * first:
        items.append(_one_bit(hashing, bucket - 1, before, 8 * first, Tone.KEY))
    title = f"2 · Unary bits {8 * first} to {8 * last - 1}, from the right: a one-bit per bucket"
    return Bits(title, 8 * (last - first), value, tuple(items))


def _one_bit(hashing: HashLayout, bucket: int, position: int, base: int, tone: Tone) -> Item:
    return Item(
        str(bucket),
        (hashing.where("unary bits", position // 8, position // 8 + 1),),
        at=position - base,
        tone=tone,
        doc=f"One-bit {bucket} is at bit {position}; each of the {position - bucket} zeros before it stands for "
        f"{1 << hashing.low_width} bits of the value store.",
        name="one-bit" if tone is Tone.HIT else "one-bit before",
        here=tone is Tone.HIT,
    )


def low_figure(located: DisplacementLocated) -> Bits:
    hashing, bucket = located.hashed.hashing, located.hashed.bucket
    r = hashing.low_width
    items = [_low_item(hashing, bucket, r if bucket else 0, located.lows[1], Tone.HIT)]
    value = located.lows[1]
    if bucket:
        items.append(_low_item(hashing, bucket - 1, 0, located.lows[0], Tone.KEY))
        value = located.lows[0] | located.lows[1] << r
    title = f"3 · Low bits: {plural(r, 'bit')} per bucket"
    return Bits(title, r * len(items), value, tuple(items))


def _low_item(hashing: HashLayout, bucket: int, at: int, low: int, tone: Tone) -> Item:
    start, stop = byte_range(bucket * hashing.low_width, hashing.low_width)
    return Item(
        str(bucket),
        (hashing.where("low bits", start, stop),),
        at=at,
        size=hashing.low_width,
        tone=tone,
        doc=f"The low bits of bucket {bucket} are {low}.",
        name="low" if tone is Tone.HIT else "low before",
        here=tone is Tone.HIT,
    )


def ends_figure(located: DisplacementLocated) -> Table:
    r, bucket = located.hashed.hashing.low_width, located.hashed.bucket
    stop = located.start + located.length
    rows = [_end_row(bucket, located.positions[1], located.lows[1], r, stop)]
    if bucket:
        rows.insert(0, _end_row(bucket - 1, located.positions[0], located.lows[0], r, located.start, "before"))
    headings = ("bucket", "its one-bit at", "zeros before (high)", "low", f"value ends: high × {1 << r} + low")
    return Table("4 · Ends of the values", headings, tuple(rows))


def _end_row(bucket: int, position: int, low: int, r: int, end: int, which: str = "") -> tuple[Item, ...]:
    high = position - bucket
    tone = Tone.KEY if which else Tone.HIT
    return (
        Item(str(bucket), here=not which),
        Item(f"bit {position}", name=f"one {which}".strip()),
        Item(f"{position} - {bucket} = {high}"),
        Item(str(low), name=f"part {which}".strip()),
        Item(f"{high} × {1 << r} + {low} = {end}", name=f"end {which}".strip(), tone=tone),
    )


def store_figure(located: DisplacementLocated, first: int, data: bytes, beside: list[PackedValue]) -> Figure:
    """Return the bits of the value store around the value."""
    bucket, stop = located.hashed.bucket, located.start + located.length
    spans = (value_span(located),) if located.length else ()
    doc = f"The value of bucket {bucket}: {plural(located.length, 'bit')} from store bit {located.start} on."
    if not located.length:
        row = (Item(f"bucket {bucket}", here=True, doc=doc), Item("no bits: d = 0", name="value", tone=Tone.HIT))
        return Table("5 · Value store: this value takes no bits", ("whose", "its bits"), (row,))
    items = [
        Item(
            f"bucket {bucket}", spans, located.start - 8 * first, located.length, Tone.HIT, doc, name="value", here=True
        )
    ]
    for value in beside:
        start, last = byte_range(value.start, value.length)
        span = located.hashed.hashing.where("value store", start, last)
        doc = f"The value of bucket {value.bucket}: its displacement is {value.displacement}."
        items.append(Item(str(value.bucket), (span,), value.start - 8 * first, value.length, Tone.FAINT, doc))
    bits = f"bits {8 * first} to {8 * (first + len(data)) - 1}"
    title = f"5 · Value store, {bits}: the value is at {located.start} to {stop - 1}"
    return Bits(title, 8 * len(data), int.from_bytes(data, "little"), tuple(items))


def value_figure(placed: KeyPlaced) -> Figure:
    located, bucket = placed.located, placed.hashed.bucket
    doc = f"The value of bucket {bucket}: {plural(located.length, 'bit')} from store bit {located.start} on."
    if not located.length:
        row = (Item(f"bucket {bucket}", here=True, doc=doc), Item("no bits: d = 0", name="value", tone=Tone.HIT))
        return Table("Value store: this value takes no bits", ("whose", "its bits"), (row,))
    item = Item(f"bucket {bucket}", (placed.stored,), 0, located.length, Tone.HIT, doc, name="value", here=True)
    title = f"Value store, bits {located.start} to {located.start + located.length - 1}"
    return Bits(title, located.length, placed.displacement - (1 << located.length) + 1, (item,))


def value_span(located: DisplacementLocated) -> Span:
    return located.hashed.hashing.where("value store", *byte_range(located.start, located.length))


def split_figure(placed: KeyPlaced, title: str) -> Table:
    displacement, length, n = placed.displacement, placed.located.length, placed.slots
    stored, tail = displacement - (1 << length) + 1, (placed.hashed.hashing.tail,)
    row = (
        Item(f"{stored} + 2^{length} - 1 = {displacement}", tone=Tone.HIT, here=True, name="d"),
        Item(f"{displacement} mod {n} = {placed.probes}", tail, doc="Number of jumps by the key's step h.", name="p0"),
        Item(
            f"{displacement} // {n} = {placed.turns}",
            tail,
            doc="Number of further slots, equal for all keys.",
            name="p1",
        ),
    )
    headings = ("displacement d = stored bits + 2^k - 1", "jumps p0 = d mod n", "single slots p1 = d // n")
    return Table(title, headings, (row,))


PLACE_LINKS = (
    ("one-bit before", "one before", Tone.KEY),
    ("one-bit", "one", Tone.HIT),
    ("low before", "part before", Tone.KEY),
    ("low", "part", Tone.HIT),
    ("end before", "value", Tone.KEY),
    ("end", "value", Tone.HIT),
    ("value", "d", Tone.HIT),
)
"""Links between items; each is drawn only if both of its items are drawn."""


def links_between(figures: tuple[Figure, ...]) -> tuple[Link, ...]:
    names = {item.name for figure in figures for item in figure.items}
    return tuple(Link(start, stop, tone=tone) for start, stop, tone in PLACE_LINKS if {start, stop} <= names)


def location_figures(located: DisplacementLocated) -> tuple[Figure, ...]:
    found = directory_figure(located), unary_figure(located), low_figure(located), ends_figure(located)
    return tuple(figure for figure in found if figure is not None)


def location_drawing(located: DisplacementLocated) -> Drawing:
    figures = location_figures(located)
    caption = "Values have different lengths, so the file stores the end of each; the next value begins there."
    return Drawing(f"Location of the value of bucket {located.hashed.bucket}", figures, links_between(figures), caption)


def displacement_drawing(placed: KeyPlaced) -> Drawing:
    figures = value_figure(placed), split_figure(placed, "d, p0 and p1")
    caption = "Values of k bits start at 2^k - 1, after those of fewer bits, so each number has one encoding."
    return Drawing(f"The displacement of bucket {placed.hashed.bucket}", figures, links_between(figures), caption)


_STORE_BYTES = 4
"""Bytes of the value store drawn, unless the value is longer."""

_BESIDE = 8
"""Maximum number of neighbouring values drawn."""


class DisplacementSketch:
    name = "displacement"
    title = "Displacement"
    controls: tuple[Control, ...] = ()

    def __init__(self, scene: KeyScene) -> None:
        self._scene = scene

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        placed = self._scene.placed
        if placed is None:
            return Drawing(self.title, (), caption="This shard has no objects.")
        hashing = placed.hashed.hashing
        figures = (
            *location_figures(placed.located),
            self._store(placed),
            split_figure(placed, "6 · From the bits to the jumps"),
        )
        caption = (
            f"Each of the {plural(hashing.buckets, 'displacement')} takes only as many bits as it needs, "
            f"{hashing.store_bits} in all, so its location must be computed. The file stores where each value "
            "ends, which is where the next begins: the high part as one-bits, the low part separately."
        )
        return Drawing(
            f"From bits to the displacement of bucket {placed.hashed.bucket}", figures, links_between(figures), caption
        )

    def _store(self, placed: KeyPlaced) -> Figure:
        located, store = placed.located, placed.hashed.hashing.parts["value store"]
        start, stop = byte_range(located.start, located.length)
        first = max(min(start - 1, store.size - _STORE_BYTES), 0)
        last = min(max(first + _STORE_BYTES, stop), store.size)
        file = self._scene.file
        (data,) = file.hash_reader(file.source)([(store.start + first, store.start + last)])
        return store_figure(located, first, data, self._beside(placed.hashed.bucket, first, last))

    def _beside(self, bucket: int, first: int, last: int) -> list[PackedValue]:
        """Return the neighbouring values in bytes `[first, last)` of the value store; empty for a large shard."""
        if not self._scene.few:
            return []
        try:
            _, decoded = self._scene.file.function()
        except FormatError:
            return []
        found = []
        for other in range(max(bucket - _BESIDE, 0), min(bucket + _BESIDE, len(decoded.ends))):
            end, length = int(decoded.ends[other]), int(decoded.lengths[other])
            if other != bucket and length and 8 * first <= end - length and end <= 8 * last:
                found.append(PackedValue(other, end - length, length, int(decoded.displacements[other])))
        return found[:_BESIDE]
