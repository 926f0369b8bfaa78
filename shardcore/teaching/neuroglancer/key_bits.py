"""Drawing *Bits*: how the bits of a key select shard and minishard, and the files and indices that they select."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from shardcore.dataclasses import replace
from shardcore.errors import FormatError, UsageError
from shardcore.formats.neuroglancer.file import NeuroglancerFile
from shardcore.formats.neuroglancer.layout import ENTRY_SIZE, SHARD_INDEX_ENTRY, WORDS, pair_span
from shardcore.formats.neuroglancer.lookup import (
    KeyRouted,
    KeySearched,
    MeaningFound,
    MinishardLocated,
    MinishardRead,
    ShardMissing,
)
from shardcore.formats.neuroglancer.morton import CODE_BITS, bit_owners, decode, encode
from shardcore.formats.neuroglancer.origin import Origin
from shardcore.formats.neuroglancer.sharding import HASHES, IDENTITY, KeyLocation, Keys, ShardingSpec, mix
from shardcore.model.drawing import Bits, Cells, Drawing, Figure, Item, Link, Table, Tone, chosen, window
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.shards.cache import Once
from shardcore.shards.trace import Fields, Shown
from shardcore.teaching import choice, slider

MOST_AXES = 10
CURVE = 4
"""Cells per axis of the drawn part of the Morton curve."""
CELL_AXES, CODE_DIGITS = 5, 8
"""Maximum number of axes, and of bits of the key, in the drawing *Cell*."""
FILES = 8
MINISHARDS = 12
COLUMNS = ((10**15, 2), (10**10, 3), (0, 5))
"""(smallest key, number of index columns drawn for keys from it on); fewer for large keys, whose digits are wide."""

AXES = (("x", Tone.ONE), ("y", Tone.TWO), ("z", Tone.THREE), ("w", Tone.FOUR))


def key_figure(spec: ShardingSpec, place: KeyLocation, spans: tuple[Span, ...] = (), *, grips: bool = False) -> Bits:
    """Return the 64 bits of the key and the fields that they form; `grips` makes the field widths adjustable."""
    items = [_field("dropped", "preshift_bits", 0, spec.preshift_bits, Tone.FAINT, spans, grips=grips)]
    if spec.hash == IDENTITY:
        items += _hash_fields(spec, spec.preshift_bits, spans, "key", grips=grips)
    return Bits(f"Key {place.key}", CODE_BITS, place.key, tuple(item for item in items if _is_seen(item)))


def hash_figure(spec: ShardingSpec, place: KeyLocation, spans: tuple[Span, ...] = (), *, grips: bool = False) -> Bits:
    shifted = f"key >> {spec.preshift_bits}" if spec.preshift_bits else "the key"
    how = "identity, the number itself" if spec.hash == IDENTITY else "MurmurHash3 mixes all bits"
    items = _hash_fields(spec, 0, spans, "hash", grips=grips)
    return Bits(f"Hash of {shifted}: {how}", CODE_BITS, place.hashed, tuple(item for item in items if _is_seen(item)))


def mixing_steps(number: int) -> list[tuple[str, str, int]]:
    """Return the steps of `murmur_low64`: name, formula, value; 32-bit arithmetic."""
    low, high = number & 0xFFFFFFFF, number >> 32

    def rotated(word: int, bits: int) -> int:
        return (word << bits | word >> (32 - bits)) & 0xFFFFFFFF

    def mixed(word: int) -> int:
        return int(mix(np.array([word], np.uint32))[0])

    return [
        ("a", "lower half · 0x239b961b", a := low * 0x239B961B & 0xFFFFFFFF),
        ("h1", "(rotl(a, 15) · 0xab0e9789) xor 8", h1 := rotated(a, 15) * 0xAB0E9789 & 0xFFFFFFFF ^ 8),
        ("b", "upper half · 0xab0e9789", b := high * 0xAB0E9789 & 0xFFFFFFFF),
        ("h2", "(rotl(b, 16) · 0x38b34ae5) xor 8", h2 := rotated(b, 16) * 0x38B34AE5 & 0xFFFFFFFF ^ 8),
        ("s1", "h1 + h2 + 16", s1 := (h1 + h2 + 16) & 0xFFFFFFFF),
        ("s2", "h2 + s1", s2 := (h2 + s1) & 0xFFFFFFFF),
        ("s3", "8 + s1", s3 := (8 + s1) & 0xFFFFFFFF),
        ("m1", "mix(s1)", m1 := mixed(s1)),
        ("m2", "mix(s2)", m2 := mixed(s2)),
        ("m3", "mix(s3)", m3 := mixed(s3)),
        ("h1 at the end", "m1 + m2 + 2 · m3", end := (m1 + m2 + 2 * m3) & 0xFFFFFFFF),
        ("h2 at the end", "m2 + h1 at the end", (m2 + end) & 0xFFFFFFFF),
    ]


def mixing_figure(place: KeyLocation) -> Table:
    rows = tuple(
        (
            Item(name, tone=Tone.KEY),
            Item(formula),
            Item(f"{value:08x}", doc=f"{name} = {formula}.", name=name, stage=at),
        )
        for at, (name, formula, value) in enumerate(mixing_steps(place.shifted), 1)
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
    """Return, for each bit of a Morton code, name and tone of the axis that gives the bit."""
    return {bit: AXES[min(axis, len(AXES) - 1)] for bit, (axis, _) in enumerate(bit_owners(grid))}


def morton_figure(key: int, grid: Sequence[int], spec: ShardingSpec | None = None) -> Bits:
    letters = letters_of(grid)
    fields = [] if spec is None else list(key_figure(spec, spec.place(key)).items)
    items = tuple(
        replace(field, size=min(field.size, len(letters) - field.at), name="")
        for field in fields
        if field.at < len(letters)
    )
    title = "The key is a Morton code: each axis gives its next bit, while it has any"
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
        name = f"cell {left + x}, {top + y}"
        items.append(Item(str(code), at=y * columns + x, tone=tone, doc=doc, name=name, here=here, stage=stage))
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


def cell_drawing(key: int, grid: Sequence[int]) -> Drawing | None:
    """Return the drawing *Cell*: low bits of a Morton code, the axis of each, and the cell; None if not drawable."""
    if len(grid) > CELL_AXES:
        return None
    try:
        cell = decode(key, grid)
    except FormatError:
        return None
    curve = curve_figure(cell, grid)
    if curve is None:
        return None
    letters = letters_of(grid)
    count = min(len(letters), CODE_DIGITS)
    items = []
    for bit in range(count):
        at, (letter, tone) = count - 1 - bit, letters[bit]
        items.append(Item(str(key >> bit & 1), at=at, doc=f"Bit {bit} of the key.", name=f"bit {bit}"))
        doc = "From the lowest bit on, each axis gives its next bit; an axis that has none left is passed over."
        items.append(Item(letter, at=count + at, tone=tone, doc=doc, name=f"axis {bit}", stage=1))
    names = tuple(str(bit) for bit in reversed(range(count)))
    part = f"the lowest {count} bits" if count < len(letters) else "its bits"
    title = f"Key {key}: {part}, numbered from the right"
    rows = ("bit", "axis")
    bits = Cells(title, 2 * count, tuple(items), count, numbered=False, column_names=names, row_names=rows)
    axes = cell_figure(cell, grid)
    hidden = tuple((row[0], replace(row[1], stage=1), replace(row[2], stage=1), row[3]) for row in axes.rows)
    caption = f"Key {key} is the cell {', '.join(map(str, cell))}."
    return Drawing("Cell", (bits, replace(axes, rows=hidden), curve), caption=caption, more=len(letters) - count)


def files_figure(spec: ShardingSpec, place: KeyLocation, loads: Mapping[int, int]) -> Cells:
    """Return the shard files around that of the key; `loads` has the number of keys of the loaded files."""
    shown, items = window(spec.shards, place.shard, FILES), []
    for number in shown:
        here, load = number == place.shard, loads.get(number)
        if here or load is not None:
            text = spec.shard_stem(number) if load is None else plural(load, "key")
            tone, name = Tone.HIT if here else Tone.INDEX if load else Tone.EMPTY, "file here" if here else ""
            items.append(Item(text, at=number, tone=tone, doc=f"File {number}.", name=name, here=here))
    where = f"{spec.shard_name(place.shard)} of {plural(spec.shards, 'possible file')}"
    title = f"The shard bits are {place.shard}: {where}"
    if not spec.shard_bits:
        title = f"No shard bits: there is one file, {spec.shard_name(0)}"
    return Cells(title, len(shown), tuple(items), first=shown.start)


def minishards_figure(
    spec: ShardingSpec, place: KeyLocation, load_of: Callable[[int], tuple[int | None, str]], *, stored: bool
) -> Cells:
    """Return the minishards around that of the key; `load_of` returns a number of keys or None, and a damage text."""
    shown, items = window(spec.minishards, place.minishard, MINISHARDS), []
    for number in shown:
        here, (load, fault) = number == place.minishard, load_of(number)
        text = "" if load is None else grouped_digits(load)
        keys = "" if load is None else f": {plural(load, 'key')}"
        tone = Tone.HIT if here else (Tone.FAINT if load is None else Tone.INDEX if load else Tone.EMPTY)
        doc = f"Minishard {number}{keys}."
        if fault:
            text, tone, doc = "damaged", Tone.MISS, fault
        spans, name = (pair_span(number),) if stored else (), "minishard here" if here else ""
        items.append(Item(text, spans, number, tone=tone, doc=doc, name=name, here=here))
    title = f"{plural(spec.minishards, 'minishard')} in {spec.shard_name(place.shard)}: keys in each"
    return Cells(title, len(shown), tuple(items), first=shown.start)


def columns_shown(searched: KeySearched) -> range:
    """Return the numbers of the drawn entries: some before that of the key, one after it; fewer for long keys."""
    entries = searched.read.entries
    if not len(entries):
        return range(0)
    at = min(searched.at, len(entries) - 1)
    most = next(most for least, most in COLUMNS if int(entries.ids[at]) >= least)
    return window(len(entries), at - most // 2 + 1, most)


def keys_rows(searched: KeySearched, shown: range) -> list[list[Item]]:
    """Return two rows: the key differences stored in a minishard index, and their running sums, the keys."""
    ids, column = searched.read.entries.ids, searched.read.columns[0]
    first = [Item("chunk_ids", (column,), doc="First row of the index, as stored: each key minus the key before it.")]
    sums = [Item("key = sum", doc="Computed by readers: the key before it plus the difference.")]
    for stage, number in enumerate(shown, 1):
        key, before = int(ids[number]), int(ids[number - 1]) if number else 0
        difference = (key - before) % (1 << CODE_BITS)
        first.append(_stored_item(column, number, difference, Tone.KEY, "id"))
        doc = f"{before} + {difference} = {key}." if number else f"The first key, {key}."
        sums.append(_sum_item(searched, number, key, doc, "found", stage))
    return [first, sums]


def places_rows(searched: KeySearched, shown: range) -> list[list[Item]]:
    entries, base = searched.read.entries, searched.read.located.base
    _, offsets, lengths = searched.read.columns
    gaps = [Item("offsets", (offsets,), doc="Second row of the index, as stored: the gap before each value.")]
    starts = [Item("offset = sum", doc=f"The end of the value before it, plus the gap; it begins with {base}.")]
    sizes = [Item("sizes", (lengths,), doc="Third row of the index: stored sizes in bytes.")]
    for stage, number in enumerate(shown, 1):
        before = int(entries.starts[number - 1]) + int(entries.sizes[number - 1]) if number else base
        start, size = int(entries.starts[number]), int(entries.sizes[number])
        gap = (start - before) % (1 << CODE_BITS)
        gaps.append(_stored_item(offsets, number, gap, Tone.POINTER, "gap"))
        starts.append(_sum_item(searched, number, start, f"{before} + {gap} = {start}.", "start", stage))
        doc, here = f"{plural(size, 'byte')}: the value ends at byte {start + size:#x}.", _is_found(searched, number)
        sizes.append(Item(str(size), (_word(lengths, number),), tone=Tone.SIZE, doc=doc, here=here))
    return [gaps, starts, sizes]


def _stored_item(column: Span, number: int, difference: int, tone: Tone, name: str) -> Item:
    doc = f"Stored: {difference}."
    return Item(f"+{difference}", (_word(column, number),), tone=tone, doc=doc, name=f"{name} {number}")


def _sum_item(searched: KeySearched, number: int, value: int, doc: str, name: str, stage: int) -> Item:
    if not _is_found(searched, number):
        return Item(str(value), doc=doc, stage=stage)
    return Item(str(value), tone=Tone.HIT, doc=doc, name=name, here=True, stage=stage)


def index_figure(searched: KeySearched, *, keys: bool = True, places: bool = True) -> Table:
    """Return the columns of a minishard index around an entry, with the running sums of keys, of offsets, or both."""
    shown, count = columns_shown(searched), len(searched.read.entries)
    rows = [*(keys_rows(searched, shown) if keys else ()), *(places_rows(searched, shown) if places else ())]
    part = plural(count, "entry")
    if 0 < len(shown) < count:
        part = f"entries {shown.start} to {shown.stop - 1} of {count}"
    title = f"Minishard index: {part}, with running sums"
    return Table(title, ("entry", *map(str, shown)), tuple(map(tuple, rows)))


def _is_found(searched: KeySearched, number: int) -> bool:
    return len(searched.found) > 0 and number == searched.at


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
    """Return the drawing of the shard file of a key and its neighbours; `there`: existing file numbers, ascending."""
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


MOVED_KEYS = 100_000
"""Maximum number of keys whose routes are computed again when a number of bits changes."""

NEIGHBOURS = 8
_SOUGHT = 4096
_SLIDERS = {
    "preshift_bits": ("Dropped bits", 63, "low bits of the key that are dropped, so that neighbours stay together."),
    "minishard_bits": ("Minishard bits", 32, "bits of the hash that select the minishard in a file."),
    "shard_bits": ("Shard bits", 32, "bits of the hash that select the file."),
}


OpenFiles = tuple[Sequence[NeuroglancerFile], bool]
"""Open shards of a key space, and True if these are all of its shards."""


class BitsSketch:
    """Drawing of the bits of a key, or of the first key of the file.

    `file` opens the shard when drawing (None if the lookup reached no shard); `beside` returns the open shards of the
    data set.
    """

    name = "bits"
    title = "Bits"

    def __init__(
        self,
        origin: Origin,
        key: int | None,
        file: Callable[[], NeuroglancerFile | None],
        beside: Callable[[], OpenFiles] | None = None,
    ) -> None:
        self._origin = origin
        self._beside = beside
        self._given = key
        self._opened = file
        self._first: Once[int] = Once()
        sliders = (
            slider(name, label, value, max(value, high), f"{name}: {doc}")
            for name, (label, high, doc) in _SLIDERS.items()
            for value in [getattr(origin.spec, name)]
        )
        doc = "identity uses the key itself; MurmurHash3 spreads neighbouring keys over all minishards."
        self.controls = (*sliders, choice("hash", "Hash", origin.spec.hash, HASHES, doc))

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        spec = self._chosen(values)
        key = self._key()
        place = spec.place(key)
        what_if = spec != self._origin.spec
        figures: list[Figure] = [key_figure(spec, place, self._spec_spans(what_if), grips=True)]
        grid = self._origin.space.grid
        if grid is not None:
            figures.append(morton_figure(key, grid, spec))
        figures.append(hash_figure(spec, place, self._spec_spans(what_if), grips=True))
        more, caption = self._what_if(figures, spec, place) if what_if else self._stored_spec(figures, spec, place)
        names = {item.name for figure in figures for item in figure.items if item.size}
        wanted = (("shard in hash", "file here"), ("minishard in hash", "minishard here"), ("minishard here", "found"))
        links = tuple(Link(start, stop, tone=Tone.KEY) for start, stop in wanted if {start, stop} <= names)
        where = f"minishard {place.minishard} of {spec.shard_name(place.shard)}"
        title = f"Key {place.key} {'would belong' if what_if else 'belongs'} in {where}"
        return Drawing(title, tuple(figures), links, caption, more=more, what_if=what_if)

    # --- the real specification --------------------------------------------------------------------------------------

    def _stored_spec(self, figures: list[Figure], spec: ShardingSpec, place: KeyLocation) -> tuple[int, str]:
        """Add the figures for the real specification; return the number of omitted entries, and the caption."""
        file = self._file
        here = file is not None and file.number in (None, place.shard)
        tables = [(file.number, file.levels.known_table) for file in self._open_files()[0]]
        loads = {number: len(table.entries) for number, table in tables if number is not None and table is not None}
        figures.append(files_figure(spec, place, loads))
        rule = chosen_text(spec)
        if file is None or not here:
            return 0, f"{rule} The key belongs in {spec.shard_name(place.shard)}, so it is not in this file."
        fault = ""
        listed: KeySearched | None = None
        try:
            listed = self._minishard_of(place)
        except FormatError as error:
            fault = error.message
        mine = len(listed.read.entries) if listed is not None else 0, fault

        def load_of(number: int) -> tuple[int | None, str]:
            return mine if number == place.minishard else self._known_load(file, number)

        figures.append(minishards_figure(spec, place, load_of, stored=True))
        if listed is None or not len(listed.read.entries):
            end = f"The minishard is damaged: {fault}." if fault else "The minishard is empty: key not found."
            return 0, f"{rule} {end}"
        table = index_figure(listed)
        figures.append(table)
        end = (
            f"summed up from the left, entry {listed.at} is {place.key}"
            if len(listed.found)
            else f"no sum is {place.key}, so it is not found"
        )
        listing = f"The minishard stores its keys as differences: {end}."
        return len(listed.read.entries) - len(table.headings) + 1, f"{rule} {listing}"

    @staticmethod
    def _known_load(file: NeuroglancerFile, number: int) -> tuple[int | None, str]:
        """Return number of keys (None if unknown) and damage text of a minishard, without reading the file."""
        table = file.levels.known_table
        if table is not None:
            return (None, table.damage[number].message) if number in table.damage else (len(table.rows_of(number)), "")
        if file.levels.known_pairs is None:
            return None, ""
        try:
            start, stop = file.levels.pair(number, file.source)
        except FormatError as error:
            return None, error.message
        if start == stop or file.spec.minishard_index_encoding != "gzip":
            return (stop - start) // ENTRY_SIZE, ""
        return None, ""

    def _minishard_of(self, place: KeyLocation) -> KeySearched | None:
        file = self._file
        if file is None:
            return None
        start, stop = file.levels.pair(place.minishard, file.source)
        if start == stop:
            return None
        entries, size = file.levels.minishard(place.minishard, file.source, (start, stop))
        located = MinishardLocated(place, file.base, start, stop)
        read = MinishardRead(located, entries, size, file.spec.minishard_index_encoding)
        return KeySearched(read, np.flatnonzero(entries.ids == np.uint64(place.key)))

    # --- what if -----------------------------------------------------------------------------------------------------

    def _what_if(self, figures: list[Figure], spec: ShardingSpec, place: KeyLocation) -> tuple[int, str]:
        """Add the figures of the cached keys with a changed specification; return omitted keys (number) and caption."""
        moved, count, complete = self._cached_keys()
        minishards, shards = spec.place_many(moved)
        own = minishards[shards == np.uint64(place.shard)]
        files = window(spec.shards, place.shard, FILES)
        loads = {one: int(np.count_nonzero(shards == np.uint64(one))) for one in files}

        def load_of(number: int) -> tuple[int, str]:
            return int(np.count_nonzero(own == np.uint64(number))), ""

        figures += [files_figure(spec, place, loads), minishards_figure(spec, place, load_of, stored=False)]
        together = moved[(shards == np.uint64(place.shard)) & (minishards == np.uint64(place.minishard))]
        neighbours = np.sort(together)
        figures.append(_neighbours_figure(neighbours.tolist()[:NEIGHBOURS], place))
        above = np.uint64(min(spec.minishard_bits, 63))
        used, counts = np.unique(shards << above | minishards, return_counts=True)
        # Sorted by file, so each change of the file number starts a new file.
        files_used = int(np.count_nonzero(np.diff(used >> above))) + 1 if spec.shard_bits else 1
        bound = f" Only the first {MOVED_KEYS:,} of {plural(count, 'key')} are counted." if count > len(moved) else ""
        partly = "" if complete else " Only loaded keys are counted; load the index to count all."
        fullest = plural(counts.max(), "key") if len(counts) else "no key"
        if self._file is None:
            name = spec.shard_name(place.shard)
            return 0, f"With these numbers the key would belong in {name}, which does not exist in this data set."
        where = f"{plural(len(used), 'minishard')} of {plural(files_used, 'file')}"
        result = f"With these numbers {plural(len(moved), 'key')} would be in {where}, at most {fullest} in one."
        return max(len(neighbours) - NEIGHBOURS, 0), f"{result}{bound}{partly}"

    def _cached_keys(self) -> tuple[Keys, int, bool]:
        """Return loaded keys (at most `MOVED_KEYS`; else of one minishard), the number loaded, and if these are all."""
        opened, all_files = self._open_files()
        tables = [file.levels.known_table for file in opened]
        known = [table.entries.ids for table in tables if table is not None]
        if count := sum(map(len, known)):
            # Keys are joined only until there are `MOVED_KEYS`, because a data set may have thousands of open files.
            ends = accumulate(map(len, known), initial=0)
            first = [ids[: MOVED_KEYS - end] for ids, end in zip(known, ends, strict=False) if end < MOVED_KEYS]
            return np.concatenate(first), count, all_files and len(known) == len(tables)
        try:
            listed = self._minishard_of(self._origin.spec.place(self._key()))
        except FormatError:
            listed = None
        ids = listed.read.entries.ids if listed is not None else np.array([self._key()], np.uint64)
        return ids[:MOVED_KEYS], len(ids), False

    def _open_files(self) -> OpenFiles:
        if self._beside is not None:
            return self._beside()
        file = self._file
        return (file,) if file is not None else (), True

    # --- the key and the numbers -------------------------------------------------------------------------------------

    @property
    def _file(self) -> NeuroglancerFile | None:
        return self._opened()

    def _key(self) -> int:
        return self._given if self._given is not None else self._first.get(self._first_key)

    def _first_key(self) -> int:
        """Return the first readable key of the file, or 0."""
        file = self._file
        if file is None:
            return 0
        if (table := file.levels.known_table) is not None:
            return int(table.entries.ids[0]) if len(table.entries) else 0
        rows = file.levels.rows(0, min(file.spec.minishards, _SOUGHT))
        used = np.flatnonzero(rows["start_offset"] < rows["end_offset"])
        for number in used[:NEIGHBOURS].tolist():
            try:
                entries, _ = file.levels.minishard(number, file.source)
            except FormatError:
                continue
            if len(entries):
                return int(entries.ids[0])
        return 0

    def _chosen(self, values: Mapping[str, Any]) -> ShardingSpec:
        numbers = chosen(self.controls, values)
        if (bits := numbers["minishard_bits"] + numbers["shard_bits"]) > CODE_BITS:
            raise UsageError(f"minishard_bits + shard_bits is {bits}; valid: 0 to 64, because a hash has 64 bits")
        return replace(self._origin.spec, **numbers)

    def _spec_spans(self, what_if: bool) -> tuple[Span, ...]:
        return (self._origin.place,) if self._origin.place is not None and not what_if else ()


def _neighbours_figure(keys: list[int], place: KeyLocation) -> Table:
    rows = []
    for before, key in pairwise((0, *keys)):
        here = key == place.key
        rows.append((Item(f"+{key - before}"), Item(str(key), tone=Tone.HIT if here else Tone.PLAIN, here=here)))
    title = f"Keys that would share minishard {place.minishard} of file {grouped_digits(place.shard)}"
    return Table(title, ("difference from the key before", "key (running sum)"), tuple(rows))


# --- steps of a lookup ---


def step_figures(fact: Any, title: str) -> Drawing | tuple[Shown, ...]:
    if isinstance(fact, ShardMissing):
        return route_drawing(fact.origin.spec, fact.place, fact.there)
    if isinstance(fact, KeyRouted):
        return _route_figures(fact, title)
    if isinstance(fact, MinishardLocated):
        offsets = {"start_offset": fact.start - fact.base, "end_offset": fact.stop - fact.base}
        return (Fields(SHARD_INDEX_ENTRY, fact.entry.start, offsets, relative=True),)
    if isinstance(fact, KeySearched):
        return (index_figure(fact, keys=title == "Keys", places=title != "Keys"),)
    if isinstance(fact, MeaningFound) and fact.cell is not None and fact.space.grid is not None:
        grid, curve = fact.space.grid, curve_figure(fact.cell, fact.space.grid)
        figures = morton_figure(int(fact.ref.key or 0), grid), cell_figure(fact.cell, grid)
        return figures if curve is None else (*figures, curve)
    return ()


def _route_figures(fact: KeyRouted, title: str) -> tuple[Shown, ...]:
    spec, place = fact.spec, fact.place
    if title == "Specification":
        return (key_figure(spec, place, (fact.origin.place,) if fact.origin.place is not None else ()),)
    if title == "Drop low bits":
        return (key_figure(spec, place),)
    if title == "Hash" and spec.hash != IDENTITY:
        return (mixing_figure(place),)
    return (hash_figure(spec, place),)
