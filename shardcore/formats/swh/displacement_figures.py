"""Figures from bits to displacement: select directory, unary bits, low bits, value store.

The lowest bit of a row is at its right, so that numbers can be read; a bit string runs from right to left.
"""

from __future__ import annotations

from dataclasses import dataclass

from shardcore.formats.swh import chd_code
from shardcore.formats.swh.displacement import DisplacementLocation
from shardcore.formats.swh.hash_section import HashParts
from shardcore.formats.swh.layout import DIRECTORY_ENTRY, HASH_TAIL
from shardcore.model.drawing import Bits, Cells, Drawing, Figure, Item, Link, Table, Tone, window
from shardcore.model.number_words import plural
from shardcore.model.span import Span

_ROW = 32
"""Bits per row."""

_MOST_BITS = 64


@dataclass(frozen=True, slots=True)
class Value:
    bucket: int
    start: int
    length: int
    displacement: int


def directory_figure(parts: HashParts, bucket: int, place: DisplacementLocation) -> Cells:
    number = bucket // chd_code.ONES_PER_ENTRY
    span = parts.part("select directory")
    start = span.start + DIRECTORY_ENTRY.size * number
    shown = window(span.size // DIRECTORY_ENTRY.size, number, 5)
    one = number * chd_code.ONES_PER_ENTRY
    doc = f"Entry {number} of the select directory: one-bit {one} is at bit {place.entry} of the unary bits."
    item = Item(
        f"bit {place.entry}",
        (Span("", start, start + DIRECTORY_ENTRY.size),),
        at=number,
        tone=Tone.POINTER,
        doc=doc,
        name="entry",
        here=True,
    )
    title = f"1 · Select directory: one-bit {one} is found without counting"
    return Cells(title, len(shown), (item,), first=shown.start)


def unary_figure(parts: HashParts, bucket: int, place: DisplacementLocation) -> Bits | None:
    """Return the unary bits around the one-bits of the bucket and the one before; None if they were not read."""
    before, own = place.positions
    first = max(before, 0) // 8
    found = next((piece for piece in place.unary if piece[0] <= own // 8 < piece[0] + len(piece[1])), None)
    if found is None:
        return None
    at, data = found
    first = max(min(first, own // 8 + 1 - _ROW // 8), at)
    last = min(max(first + _ROW // 8, own // 8 + 1), at + len(data), first + _MOST_BITS // 8)
    value = int.from_bytes(data[first - at : last - at], "little")
    items = [_one_bit(parts, bucket, own, 8 * first, Tone.HIT)]
    if before >= 8 * first:
        items.append(_one_bit(parts, bucket - 1, before, 8 * first, Tone.KEY))
    title = f"2 · Unary bits {8 * first} to {8 * last - 1}, from the right: a one-bit per bucket"
    return Bits(title, 8 * (last - first), value, tuple(items))


def _one_bit(parts: HashParts, bucket: int, position: int, base: int, tone: Tone) -> Item:
    return Item(
        str(bucket),
        (parts.where("unary bits", position // 8, position // 8 + 1),),
        at=position - base,
        tone=tone,
        doc=f"One-bit {bucket} is at bit {position}; each of the {position - bucket} zeros before it stands for "
        f"{1 << parts.low_width} bits of the value store.",
        name="one-bit" if tone is Tone.HIT else "one-bit before",
        here=tone is Tone.HIT,
    )


def low_figure(parts: HashParts, bucket: int, place: DisplacementLocation) -> Bits:
    r = parts.low_width
    items = [_low_item(parts, bucket, r if bucket else 0, place.lows[1], Tone.HIT)]
    value = place.lows[1]
    if bucket:
        items.append(_low_item(parts, bucket - 1, 0, place.lows[0], Tone.KEY))
        value = place.lows[0] | place.lows[1] << r
    title = f"3 · Low bits: {plural(r, 'bit')} per bucket"
    return Bits(title, r * len(items), value, tuple(items))


def _low_item(parts: HashParts, bucket: int, at: int, low: int, tone: Tone) -> Item:
    start, stop = chd_code.byte_range(bucket * parts.low_width, parts.low_width)
    return Item(
        str(bucket),
        (parts.where("low bits", start, stop),),
        at=at,
        size=parts.low_width,
        tone=tone,
        doc=f"The low bits of bucket {bucket} are {low}.",
        name="low" if tone is Tone.HIT else "low before",
        here=tone is Tone.HIT,
    )


def ends_figure(parts: HashParts, bucket: int, place: DisplacementLocation) -> Table:
    r = parts.low_width
    stop = place.start + place.length
    rows = [_end_row(bucket, place.positions[1], place.lows[1], r, stop)]
    if bucket:
        rows.insert(0, _end_row(bucket - 1, place.positions[0], place.lows[0], r, place.start, "before"))
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


def store_figure(
    parts: HashParts, bucket: int, place: DisplacementLocation, first: int, data: bytes, beside: list[Value]
) -> Figure:
    """Return the bits of the value store around the value."""
    stop = place.start + place.length
    spans = (value_span(parts, place),) if place.length else ()
    doc = f"The value of bucket {bucket}: {plural(place.length, 'bit')} from store bit {place.start} on."
    if not place.length:
        row = (Item(f"bucket {bucket}", here=True, doc=doc), Item("no bits: d = 0", name="value", tone=Tone.HIT))
        return Table("5 · Value store: this value takes no bits", ("whose", "its bits"), (row,))
    items = [
        Item(f"bucket {bucket}", spans, place.start - 8 * first, place.length, Tone.HIT, doc, name="value", here=True)
    ]
    for value in beside:
        start, last = chd_code.byte_range(value.start, value.length)
        span = parts.where("value store", start, last)
        doc = f"The value of bucket {value.bucket}: its displacement is {value.displacement}."
        items.append(Item(str(value.bucket), (span,), value.start - 8 * first, value.length, Tone.FAINT, doc))
    bits = f"bits {8 * first} to {8 * (first + len(data)) - 1}"
    title = f"5 · Value store, {bits}: the value is at {place.start} to {stop - 1}"
    return Bits(title, 8 * len(data), int.from_bytes(data, "little"), tuple(items))


def value_figure(bucket: int, place: DisplacementLocation, displacement: int, span: Span) -> Figure:
    doc = f"The value of bucket {bucket}: {plural(place.length, 'bit')} from store bit {place.start} on."
    if not place.length:
        row = (Item(f"bucket {bucket}", here=True, doc=doc), Item("no bits: d = 0", name="value", tone=Tone.HIT))
        return Table("Value store: this value takes no bits", ("whose", "its bits"), (row,))
    item = Item(f"bucket {bucket}", (span,), 0, place.length, Tone.HIT, doc, name="value", here=True)
    title = f"Value store, bits {place.start} to {place.start + place.length - 1}"
    return Bits(title, place.length, displacement - (1 << place.length) + 1, (item,))


def value_span(parts: HashParts, place: DisplacementLocation) -> Span:
    return parts.where("value store", *chd_code.byte_range(place.start, place.length))


def split_figure(parts: HashParts, place: DisplacementLocation, displacement: int, title: str) -> Table:
    stored = displacement - (1 << place.length) + 1
    turns, probes = divmod(displacement, parts.slots)
    tail = (Span("", parts.stop - HASH_TAIL.size, parts.stop),)
    n = parts.slots
    row = (
        Item(f"{stored} + 2^{place.length} - 1 = {displacement}", tone=Tone.HIT, here=True, name="d"),
        Item(f"{displacement} mod {n} = {probes}", tail, doc="Number of jumps by the key's step h.", name="p0"),
        Item(f"{displacement} // {n} = {turns}", tail, doc="Number of further slots, equal for all keys.", name="p1"),
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


def place_figures(parts: HashParts, bucket: int, place: DisplacementLocation) -> tuple[Figure, ...]:
    found = (
        directory_figure(parts, bucket, place),
        unary_figure(parts, bucket, place),
        low_figure(parts, bucket, place),
        ends_figure(parts, bucket, place),
    )
    return tuple(figure for figure in found if figure is not None)


def place_drawing(parts: HashParts, bucket: int, place: DisplacementLocation) -> Drawing:
    figures = place_figures(parts, bucket, place)
    caption = "Values have different lengths, so the file stores the end of each; the next value begins there."
    return Drawing(f"Location of the value of bucket {bucket}", figures, links_between(figures), caption)


def displacement_drawing(
    parts: HashParts, bucket: int, place: DisplacementLocation, displacement: int, span: Span
) -> Drawing:
    split = split_figure(parts, place, displacement, "d, p0 and p1")
    figures = (value_figure(bucket, place, displacement, span), split)
    caption = "Values of k bits start at 2^k - 1, after those of fewer bits, so each number has one encoding."
    return Drawing(f"The displacement of bucket {bucket}", figures, links_between(figures), caption)
