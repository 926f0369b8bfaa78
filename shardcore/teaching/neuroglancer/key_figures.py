"""Figures of the bits of a key: dropped, minishard and shard bits, and the files and indices they select."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shardcore.formats.neuroglancer.layout import WORDS
from shardcore.formats.neuroglancer.lookup import KeySearched
from shardcore.formats.neuroglancer.morton import CODE_BITS, bit_owners, encode
from shardcore.formats.neuroglancer.sharding import IDENTITY, KeyLocation, ShardingSpec, mix
from shardcore.model.drawing import Bits, Cells, Drawing, Item, Link, Table, Tone, window
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.span import Span

MOST_AXES = 10
CURVE = 4
"""Cells per axis of the drawn part of the Morton curve."""
FILES = 8
MINISHARDS = 12
COLUMNS = ((10**15, 2), (10**10, 3), (0, 5))
"""Number of index columns drawn per smallest key: (key, columns), because long keys are wide."""

AXES = (("x", Tone.ONE), ("y", Tone.TWO), ("z", Tone.THREE), ("w", Tone.FOUR))


def key_figure(spec: ShardingSpec, place: KeyLocation, spans: tuple[Span, ...] = (), *, grips: bool = False) -> Bits:
    """Return the 64 bits of the key by purpose; `grips` makes the field widths adjustable."""
    items = [_field("dropped", "preshift_bits", 0, spec.preshift_bits, Tone.FAINT, spans, grips=grips)]
    if spec.hash == IDENTITY:
        items += _hash_fields(spec, spec.preshift_bits, spans, "key", grips=grips)
    return Bits(f"Key {place.key}", CODE_BITS, place.key, tuple(item for item in items if _is_seen(item)))


def hash_figure(spec: ShardingSpec, place: KeyLocation, spans: tuple[Span, ...] = (), *, grips: bool = False) -> Bits:
    shifted = f"key >> {spec.preshift_bits}" if spec.preshift_bits else "the key"
    title = (
        f"Hash of {shifted}: {'identity, the number itself' if spec.hash == IDENTITY else 'MurmurHash3 mixes all bits'}"
    )
    items = _hash_fields(spec, 0, spans, "hash", grips=grips)
    return Bits(title, CODE_BITS, place.hashed, tuple(item for item in items if _is_seen(item)))


def mixing_steps(number: int) -> list[tuple[str, str, int]]:
    """Return the steps of `murmur_low64`: name, formula, value; 32-bit arithmetic."""
    low, high, length = number & 0xFFFFFFFF, number >> 32, 8

    def rotated(word: int, bits: int) -> int:
        return (word << bits | word >> (32 - bits)) & 0xFFFFFFFF

    def mixed(word: int) -> int:
        return int(mix(np.array([word], np.uint32))[0])

    a = low * 0x239B961B & 0xFFFFFFFF
    b = high * 0xAB0E9789 & 0xFFFFFFFF
    h1 = rotated(a, 15) * 0xAB0E9789 & 0xFFFFFFFF ^ length
    h2 = rotated(b, 16) * 0x38B34AE5 & 0xFFFFFFFF ^ length
    sum1 = (h1 + h2 + 2 * length) & 0xFFFFFFFF
    sum2, sum3 = (h2 + sum1) & 0xFFFFFFFF, (length + sum1) & 0xFFFFFFFF
    m1, m2, m3 = map(mixed, (sum1, sum2, sum3))
    end = (m1 + m2 + 2 * m3) & 0xFFFFFFFF
    return [
        ("a", "lower half · 0x239b961b", a),
        ("h1", "(rotl(a, 15) · 0xab0e9789) xor 8", h1),
        ("b", "upper half · 0xab0e9789", b),
        ("h2", "(rotl(b, 16) · 0x38b34ae5) xor 8", h2),
        ("s1", "h1 + h2 + 16", sum1),
        ("s2", "h2 + s1", sum2),
        ("s3", "8 + s1", sum3),
        ("m1", "mix(s1)", m1),
        ("m2", "mix(s2)", m2),
        ("m3", "mix(s3)", m3),
        ("h1 at the end", "m1 + m2 + 2 · m3", end),
        ("h2 at the end", "m2 + h1 at the end", (m2 + end) & 0xFFFFFFFF),
    ]


def mixing_figure(place: KeyLocation) -> Table:
    rows = tuple(
        (Item(name, tone=Tone.KEY), Item(formula), Item(f"{value:08x}", name=name))
        for name, formula, value in mixing_steps(place.shifted)
    )
    return Table("Mixing, 32 bits at a time: the hash is the final h2 and h1", ("number", "is", "in hex"), rows)


def _is_seen(item: Item) -> bool:
    return item.size > 0 or (item.handle != "" and item.at < CODE_BITS)


def _hash_fields(spec: ShardingSpec, at: int, spans: tuple[Span, ...], row: str, *, grips: bool) -> list[Item]:
    minishard, shard = spec.minishard_bits, spec.shard_bits
    return [
        _field("minishard", "minishard_bits", at, minishard, Tone.INDEX, spans, row, grips=grips),
        _field("shard", "shard_bits", at + minishard, shard, Tone.POINTER, spans, row, grips=grips),
    ]


def _field(
    text: str, member: str, at: int, size: int, tone: Tone, spans: tuple[Span, ...], row: str = "", *, grips: bool
) -> Item:
    size = max(min(size, CODE_BITS - at), 0)
    docs = {
        "dropped": "Keys that differ only in these bits are in the same minishard.",
        "minishard": "These bits are the number of the minishard in its file.",
        "shard": "These bits are the number of the shard file.",
    }
    doc = f"{member} is {size}. {docs[text]}"
    return Item(text, spans, at, size, tone, doc, f"{text} in {row}" if row else "", handle=member if grips else "")


def letters_of(grid: Sequence[int]) -> Mapping[int, tuple[str, Tone]]:
    """Return name and tone of the axis per bit of a Morton code."""
    return {bit: AXES[min(axis, len(AXES) - 1)] for bit, (axis, _) in enumerate(bit_owners(grid))}


def morton_figure(key: int, grid: Sequence[int], spec: ShardingSpec | None = None) -> Bits:
    letters = letters_of(grid)
    fields = [] if spec is None else list(key_figure(spec, spec.place(key)).items)
    items = tuple(
        replace(field, size=min(field.size, len(letters) - field.at), name="")
        for field in fields
        if field.at < len(letters)
    )
    axes = ", ".join(name for name, _ in AXES[: len(grid)])
    title = f"The key is a Morton code: bits of {axes} in turn"
    return Bits(title, max(len(letters), 1), key, items, letters)


def curve_figure(cell: Sequence[int], grid: Sequence[int]) -> Cells | None:
    """Return the Morton curve around a cell in the plane of the first two axes; None if the plane is one row."""
    if len(grid) < 2 or min(grid[:2]) < 2:
        return None
    left, top = (at // CURVE * CURVE for at in cell[:2])
    columns, rows = (min(CURVE, length - begin) for length, begin in zip(grid, (left, top), strict=False))
    places = {encode((left + x, top + y, *cell[2:]), grid): (x, y) for y in range(rows) for x in range(columns)}
    items = []
    for rank, (code, (x, y)) in enumerate(sorted(places.items())):
        here, stage = (left + x, top + y) == tuple(cell[:2]), rank // 4 + 1
        doc = f"Code {code} is cell {left + x}, {top + y}: one Z of four cells, then the next Z."
        tone = Tone.HIT if here else (Tone.ONE, Tone.TWO, Tone.THREE, Tone.FOUR)[rank // 4 % 4]
        items.append(Item(str(code), at=y * columns + x, tone=tone, doc=doc, here=here, stage=stage))
    across, down = tuple(str(left + x) for x in range(columns)), tuple(f"y = {top + y}" for y in range(rows))
    title = "The curve in the plane of x (to the right) and y: a Z of four cells, then the next Z"
    count = columns * rows
    return Cells(title, count, tuple(items), columns, numbered=False, column_names=across, row_names=down)


def cell_figure(cell: Sequence[int], grid: Sequence[int]) -> Table:
    owners = bit_owners(grid)
    rows = []
    for axis, (at, length) in enumerate(zip(cell[:MOST_AXES], grid, strict=False)):
        name, tone = AXES[min(axis, len(AXES) - 1)]
        width = sum(1 for owner, _ in owners if owner == axis)
        bits = f"{at:0{width}b}" if width else "no bits"
        rows.append((Item(name, tone=tone), Item(bits), Item(str(at)), Item(f"0 to {length - 1}")))
    return Table("The bits of each axis, collected", ("axis", "bits", "cell", "range"), tuple(rows))


def files_figure(spec: ShardingSpec, place: KeyLocation, items: Sequence[Item], shown: range) -> Cells:
    title = (
        f"The shard bits are {place.shard}: {spec.shard_name(place.shard)} of {plural(spec.shards, 'possible file')}"
    )
    if not spec.shard_bits:
        title = f"No shard bits: there is one file, {spec.shard_name(0)}"
    return Cells(title, len(shown), tuple(items), first=shown.start)


def minishards_figure(spec: ShardingSpec, place: KeyLocation, items: Sequence[Item], shown: range) -> Cells:
    title = f"{plural(spec.minishards, 'minishard')} in {spec.shard_name(place.shard)}: keys in each"
    return Cells(title, len(shown), tuple(items), first=shown.start)


def file_item(number: int, load: int | None, *, here: bool) -> Item:
    text = "" if load is None else plural(load, "key")
    tone = Tone.HIT if here else (Tone.EMPTY if load == 0 else Tone.INDEX)
    return Item(text, (), number, tone=tone, doc=f"File {number}.", name="file here" if here else "", here=here)


def minishard_item(number: int, load: int | None, *, here: bool, span: Span | None = None, fault: str = "") -> Item:
    """Return one minishard; `load` is its number of keys, None if unknown."""
    text = "" if load is None else grouped_digits(load)
    keys = "" if load is None else f": {plural(load, 'key')}"
    tone = Tone.HIT if here else (Tone.FAINT if load is None else Tone.INDEX if load else Tone.EMPTY)
    spans, name = () if span is None else (span,), "minishard here" if here else ""
    if fault:
        return Item("damaged", spans, number, tone=Tone.MISS, doc=fault, name=name, here=here)
    return Item(text, spans, number, tone=tone, doc=f"Minishard {number}{keys}.", name=name, here=here)


def columns_shown(searched: KeySearched) -> range:
    """Return the numbers of the drawn entries: some before that of the key, one after it; fewer for long keys."""
    entries = searched.read.entries
    if not len(entries):
        return range(0)
    at = min(searched.at, len(entries) - 1)
    most = next(most for least, most in COLUMNS if int(entries.ids[at]) >= least)
    return window(len(entries), at - most // 2 + 1, most)


def keys_rows(searched: KeySearched, shown: range) -> list[tuple[Item, ...]]:
    """Return the stored id deltas of a minishard index, and their running sums."""
    ids, column = searched.read.entries.ids, searched.read.columns[0]
    first = [Item("chunk_ids", (column,), doc="First row of the index, as stored: each key minus the key before it.")]
    sums = [Item("key = sum", doc="Computed by readers: the key before it plus the difference.")]
    for stage, number in enumerate(shown, 1):
        before = int(ids[number - 1]) if number else 0
        key = int(ids[number])
        difference = (key - before) % (1 << CODE_BITS)
        first.append(Item(f"+{difference}", (_word(column, number),), tone=Tone.KEY, doc=f"Stored: {difference}."))
        doc = f"{before} + {difference} = {key}" if number else f"The first key, {key}"
        found = len(searched.found) > 0 and number == searched.at
        tone = Tone.HIT if found else Tone.PLAIN
        name = "found" if found else ""
        sums.append(Item(str(key), tone=tone, doc=f"{doc}.", name=name, here=found, stage=stage))
    return [tuple(first), tuple(sums)]


def places_rows(searched: KeySearched, shown: range) -> list[tuple[Item, ...]]:
    entries, base = searched.read.entries, searched.read.located.base
    _, offsets, lengths = searched.read.columns
    gaps = [Item("offsets", (offsets,), doc="Second row of the index, as stored: the gap before each value.")]
    starts = [Item("offset = sum", doc=f"The end of the value before it, plus the gap; it begins with {base}.")]
    sizes = [Item("sizes", (lengths,), doc="Third row of the index: stored sizes in bytes.")]
    for stage, number in enumerate(shown, 1):
        before = int(entries.starts[number - 1]) + int(entries.sizes[number - 1]) if number else base
        start, size = int(entries.starts[number]), int(entries.sizes[number])
        gap = (start - before) % (1 << CODE_BITS)
        found = len(searched.found) > 0 and number == searched.at
        gaps.append(Item(f"+{gap}", (_word(offsets, number),), tone=Tone.POINTER, doc=f"Stored: {gap}."))
        sum_text = f"{before} + {gap} = {start}."
        tone, name = Tone.HIT if found else Tone.PLAIN, "start" if found else ""
        starts.append(Item(str(start), tone=tone, doc=sum_text, name=name, here=found, stage=stage))
        doc = f"{plural(size, 'byte')}: the value ends at byte {start + size:#x}."
        sizes.append(Item(str(size), (_word(lengths, number),), tone=Tone.SIZE, doc=doc, here=found))
    return [tuple(gaps), tuple(starts), tuple(sizes)]


def index_figure(searched: KeySearched, *, keys: bool = True, places: bool = True) -> Table:
    """Return the columns of a minishard index around an entry, with the running sums of keys, of offsets, or both."""
    shown, count = columns_shown(searched), len(searched.read.entries)
    rows = [*(keys_rows(searched, shown) if keys else ()), *(places_rows(searched, shown) if places else ())]
    part = plural(count, "entry")
    if 0 < len(shown) < count:
        part = f"entries {shown.start} to {shown.stop - 1} of {count}"
    title = f"Minishard index: {part}, with running sums"
    return Table(title, ("entry", *map(str, shown)), tuple(rows))


def _word(row: Span, number: int) -> Span:
    return Span(row.source, row.start + WORDS.itemsize * number, row.start + WORDS.itemsize * (number + 1))


def chosen_text(spec: ShardingSpec) -> str:
    low = "the low bit is" if spec.minishard_bits == 1 else f"the low {spec.minishard_bits} bits are"
    after = "the next bit" if spec.shard_bits == 1 else f"the next {spec.shard_bits} bits"
    minishard = f"{low} the number of the minishard" if spec.minishard_bits else "there is only one minishard"
    shard = f"{after} that of the file" if spec.shard_bits else "there is only one file"
    bits = "bit is" if spec.preshift_bits == 1 else f"{spec.preshift_bits} bits are"
    first = f"The low {bits} dropped, so that neighbouring keys stay together. " if spec.preshift_bits else ""
    return f"{first}Of the hash, {minishard}; {shard}."


def route_drawing(spec: ShardingSpec, place: KeyLocation, there: Sequence[int]) -> Drawing:
    """Return the drawing of the shard files around that of a key; `there` are the existing file numbers, ascending."""
    shown = window(spec.shards, place.shard, FILES)
    present = {number for number in there if shown.start <= number < shown.stop}
    items = [
        Item(spec.shard_stem(number), at=number, tone=Tone.INDEX, doc=f"{spec.shard_name(number)} exists.")
        for number in sorted(present - {place.shard})
    ]
    here = place.shard in present
    name = spec.shard_name(place.shard)
    doc = f"{name} exists." if here else f"{name} does not exist: writers omit files without keys."
    text, tone = (spec.shard_stem(place.shard), Tone.HIT) if here else ("none", Tone.MISS)
    items.append(Item(text, at=place.shard, tone=tone, doc=doc, name="file", here=True))
    title = f"{plural(len(there), 'file')} of {plural(spec.shards, 'possible one')}"
    links = (Link("shard in hash", "file", tone=Tone.KEY),) if spec.shard_bits else ()
    caption = f"The shard bits of the hash are {place.shard}: if the key exists, it is in {name}."
    if not spec.shard_bits:
        caption = f"There are no shard bits: all keys are in {name}."
    figures = (hash_figure(spec, place), Cells(title, len(shown), tuple(items), first=shown.start))
    return Drawing("Which file", figures, links, caption, more=max(len(there) - len(present), 0))
