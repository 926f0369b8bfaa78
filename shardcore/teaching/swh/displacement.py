"""Drawing *Displacement* of a Read Shard: finding the displacement of a key's bucket in the hash function section.

`KeyScene` has the key of all drawings. The lowest bit of a row is at its right, so that numbers can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import FormatError
from shardcore.formats.swh import chd
from shardcore.formats.swh.file import SwhFile, key_bytes
from shardcore.formats.swh.hash_section import ONES_PER_ENTRY, Decoded, byte_range
from shardcore.formats.swh.layout import DIRECTORY_ENTRY
from shardcore.formats.swh.lookup import DisplacementLocated, Hashed, KeyPlaced, place_key
from shardcore.model.drawing import Bits, Cells, Drawing, Figure, Item, Link, Table, Tone, window
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.trace import Trace
from shardcore.teaching import SceneSketch, last_fact

I64 = NDArray[np.int64]

HASHED_KEYS = 5000
"""Maximum number of objects in a shard whose keys are all hashed, to draw the keys of a bucket."""

_FEW_SLOTS, _SOUGHT = 64, 4096
"""Number of slots searched for a first key: at first, and in total if the first ones have no key."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    key: bytes
    bucket: int
    first: int
    step: int
    slot: int


class KeyScene:
    """Key that the drawings show: that of the lookup, or of the first object. The file is read at the first drawing."""

    def __init__(self, open_file: Callable[[], SwhFile], trace: Trace | None) -> None:
        self._open_file = open_file
        self._trace = trace

    @property
    def file(self) -> SwhFile:
        return self._open_file()

    @property
    def few(self) -> bool:
        """True if the shard is so small that all its keys are hashed for the drawings."""
        layout = self.file.layout
        return layout.declared <= HASHED_KEYS and layout.slots <= 2 * HASHED_KEYS

    @property
    def displacement(self) -> int | None:
        """Displacement of the key's bucket; None if it has not been read yet."""
        placed = self.__dict__.get("placed") or last_fact(self._trace, KeyPlaced)
        return placed.displacement if placed is not None else None

    @cached_property
    def placed(self) -> KeyPlaced | None:
        """The key with its slot; None for a shard without objects."""
        if (placed := last_fact(self._trace, KeyPlaced)) is not None:
            return placed
        key = self._first_key() if self._trace is None else key_bytes(self._trace.key)
        file = self.file
        return None if key is None else place_key(file.hash_reader(file.source), file.hashing(), key)

    @cached_property
    def all_keys(self) -> list[StoredKey] | None:
        if not self.few:
            return None
        file, hashing = self.file, self.file.hashing()
        live = file.live_keys(0, file.slots(0, file.layout.slots))
        keys = np.frombuffer(b"".join(key for _, key in live), np.uint8).reshape(-1, chd.KEY_SIZE)
        hashes = zip(*chd.place(*chd.jenkins(keys, hashing.seed), hashing.buckets, hashing.slots), strict=True)
        found = zip(live, hashes, strict=True)
        return [
            StoredKey(key, int(bucket), int(first), int(step), slot) for (slot, key), (bucket, first, step) in found
        ]

    @property
    def function(self) -> Decoded | None:
        """Decoded values of all buckets; None if the shard has too many keys or the hash function is damaged."""
        try:
            return self.file.function()[1] if self.few else None
        except FormatError:
            return None

    def _first_key(self) -> bytes | None:
        """Return the key of the first object written, or of the first live slot before the index is loaded, or None."""
        file = self.file
        if (order := file.order) is not None:
            slot = int(order.slots[0]) if len(order) else 0
            return bytes(file.slots(slot, slot + 1)["key"][0].tobytes()) if len(order) else None
        for first, last in ((0, _FEW_SLOTS), (_FEW_SLOTS, _SOUGHT)):
            rows = file.slots(first, max(min(file.layout.slots, last), first))
            if live := file.live_keys(first, rows):
                return live[0][1]
        return None


_ROW = 32
"""Bits per row."""

_MOST_BITS = 64


@dataclass(frozen=True, slots=True)
class ValueEnd:
    """End of a bucket's value in the value store (`stop`), computed from the bucket's one-bit and low bits.

    The bucket is that of the key (`own` is True), or the one before it, whose value ends where the key's value begins.
    """

    bucket: int
    position: int
    low: int
    stop: int
    own: bool

    @property
    def tone(self) -> Tone:
        return Tone.HIT if self.own else Tone.KEY

    def name(self, what: str) -> str:
        return what if self.own else f"{what} before"


def value_ends(located: DisplacementLocated) -> list[ValueEnd]:
    """Return the end of the value of the key's bucket, then that of the bucket before it; bucket 0 has none before."""
    bucket, stop = located.hashed.bucket, located.start + located.length
    before = ValueEnd(bucket - 1, located.positions[0], located.lows[0], located.start, False)
    own = ValueEnd(bucket, located.positions[1], located.lows[1], stop, True)
    return [own, before] if bucket else [own]


def directory_figure(located: DisplacementLocated) -> Cells:
    hashing = located.hashed.hashing
    number = located.hashed.bucket // ONES_PER_ENTRY
    span = hashing.parts["select directory"]
    start = span.start + DIRECTORY_ENTRY.size * number
    shown = window(span.size // DIRECTORY_ENTRY.size, number, 5)
    one = number * ONES_PER_ENTRY
    doc = f"Entry {number} of the select directory: one-bit {one} is at bit {located.entry} of the unary bits."
    place = (DIRECTORY_ENTRY.span("", start),)
    item = Item(f"bit {located.entry}", place, number, 1, Tone.POINTER, doc, "entry", here=True)
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
    hashing, items = located.hashed.hashing, []
    for one in value_ends(located):
        if (at := one.position - 8 * first) >= 0:
            place = (hashing.where("unary bits", one.position // 8, one.position // 8 + 1),)
            zeros = f"each of the {one.position - one.bucket} zeros before it stands for {1 << hashing.low_width} bits"
            doc = f"One-bit {one.bucket} is at bit {one.position}; {zeros} of the value store."
            items.append(Item(str(one.bucket), place, at, 1, one.tone, doc, one.name("one-bit"), one.own))
    title = f"2 · Unary bits {8 * first} to {8 * last - 1}, from the right: a one-bit per bucket"
    return Bits(title, 8 * (last - first), value, tuple(items))


def low_figure(located: DisplacementLocated) -> Bits:
    hashing, r = located.hashed.hashing, located.hashed.hashing.low_width
    items, value, ends = [], 0, value_ends(located)
    for one in ends:
        at = r if one.own and len(ends) > 1 else 0
        place = (hashing.where("low bits", *byte_range(one.bucket * r, r)),)
        doc = f"The low bits of bucket {one.bucket} are {one.low}."
        items.append(Item(str(one.bucket), place, at, r, one.tone, doc, one.name("low"), one.own))
        value |= one.low << at
    title = f"3 · Low bits: {plural(r, 'bit')} per bucket"
    return Bits(title, r * len(items), value, tuple(items))


def ends_figure(located: DisplacementLocated) -> Table:
    high = 1 << located.hashed.hashing.low_width
    rows = tuple(
        (
            Item(str(one.bucket), here=one.own),
            Item(f"bit {one.position}", name=one.name("one")),
            Item(f"{one.position} - {one.bucket} = {one.position - one.bucket}"),
            Item(str(one.low), name=one.name("part")),
            Item(f"{one.position - one.bucket} × {high} + {one.low} = {one.stop}", name=one.name("end"), tone=one.tone),
        )
        for one in reversed(value_ends(located))
    )
    headings = ("bucket", "its one-bit at", "zeros before (high)", "low", f"value ends: high × {high} + low")
    return Table("4 · Ends of the values", headings, rows)


def _value_item(located: DisplacementLocated, at: int, spans: tuple[Span, ...]) -> Item:
    bucket, length = located.hashed.bucket, located.length
    doc = f"The value of bucket {bucket}: {plural(length, 'bit')} from store bit {located.start} on."
    return Item(f"bucket {bucket}", spans, at, length, Tone.HIT, doc, "value", here=True)


def _no_bits(located: DisplacementLocated, title: str) -> Table:
    whose = replace(_value_item(located, 0, ()), size=1, tone=Tone.PLAIN, name="")
    row = (whose, Item("no bits: d = 0", name="value", tone=Tone.HIT))
    return Table(f"{title}: this value takes no bits", ("whose", "its bits"), (row,))


def value_figure(placed: KeyPlaced) -> Figure:
    located = placed.located
    if not located.length:
        return _no_bits(located, "Value store")
    title = f"Value store, bits {located.start} to {located.start + located.length - 1}"
    value = placed.displacement - (1 << located.length) + 1
    return Bits(title, located.length, value, (_value_item(located, 0, (placed.stored,)),))


def value_span(located: DisplacementLocated) -> Span:
    return located.hashed.hashing.where("value store", *byte_range(located.start, located.length))


def split_figure(placed: KeyPlaced, title: str) -> Table:
    displacement, length, n = placed.displacement, placed.located.length, placed.slots
    stored, tail = displacement - (1 << length) + 1, (placed.hashed.hashing.tail,)
    jumps, singles = "Number of jumps by the key's step h.", "Number of further slots, equal for all keys."
    row = (
        Item(f"{stored} + 2^{length} - 1 = {displacement}", tone=Tone.HIT, here=True, name="d"),
        Item(f"{displacement} mod {n} = {placed.probes}", tail, doc=jumps, name="p0"),
        Item(f"{displacement} // {n} = {placed.turns}", tail, doc=singles, name="p1"),
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
"""Arrows: names of the items at start and end, and the tone; each is drawn only if both items are drawn."""


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


class DisplacementSketch(SceneSketch[KeyScene]):
    name = "displacement"
    title = "Displacement"

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
        title = f"From bits to the displacement of bucket {placed.hashed.bucket}"
        return Drawing(title, figures, links_between(figures), caption)

    def _store(self, placed: KeyPlaced) -> Figure:
        located, store = placed.located, placed.hashed.hashing.parts["value store"]
        if not located.length:
            return _no_bits(located, "5 · Value store")
        start, stop = byte_range(located.start, located.length)
        first = max(min(start - 1, store.size - _STORE_BYTES), 0)
        last = min(max(first + _STORE_BYTES, stop), store.size)
        file = self._scene.file
        (data,) = file.hash_reader(file.source)([(store.start + first, store.start + last)])
        items = [_value_item(located, located.start - 8 * first, (value_span(located),))]
        items += self._beside(placed.hashed, first, last)
        bits = f"bits {8 * first} to {8 * (first + len(data)) - 1}"
        title = f"5 · Value store, {bits}: the value is at {located.start} to {located.start + located.length - 1}"
        return Bits(title, 8 * len(data), int.from_bytes(data, "little"), tuple(items))

    def _beside(self, hashed: Hashed, first: int, last: int) -> list[Item]:
        """Return the neighbouring values in bytes `[first, last)` of the value store; none for a large shard."""
        if (decoded := self._scene.function) is None:
            return []
        found = []
        for other in range(max(hashed.bucket - _BESIDE, 0), min(hashed.bucket + _BESIDE, len(decoded.ends))):
            end, length = int(decoded.ends[other]), int(decoded.lengths[other])
            start = end - length
            if other != hashed.bucket and length and 8 * first <= start and end <= 8 * last:
                span = hashed.hashing.where("value store", *byte_range(start, length))
                doc = f"The value of bucket {other}: its displacement is {decoded.displacements[other]}."
                found.append(Item(str(other), (span,), start - 8 * first, length, Tone.FAINT, doc))
        return found[:_BESIDE]
