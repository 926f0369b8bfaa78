"""The steps of a lookup, each as a small drawing; none of them reads."""

from __future__ import annotations

from collections.abc import Sequence

from shardcore.errors import FormatError
from shardcore.formats.neuroglancer.bits_figures import (
    FILES,
    MOST_AXES,
    cell_figure,
    chosen_text,
    columns_shown,
    files_shown,
    hash_figure,
    index_table,
    key_figure,
    keys_rows,
    minishards_shown,
    morton_figure,
    places_rows,
)
from shardcore.formats.neuroglancer.layout import MINISHARD_INDEX, SHARD_INDEX_ENTRY
from shardcore.formats.neuroglancer.levels import pair_span
from shardcore.formats.neuroglancer.minishard import MinishardEntries
from shardcore.formats.neuroglancer.sharding import KeyLocation, ShardingSpec
from shardcore.formats.neuroglancer.spec_origin import Origin
from shardcore.formats.neuroglancer.volume import cell_of
from shardcore.model.drawing import Band, Bits, Cells, Drawing, Figure, Item, Link, Ribbon, Ruler, Tone, window
from shardcore.model.number_words import plural
from shardcore.model.span import Span

Rows = tuple[Span, Span, Span]


def spec_drawing(origin: Origin, place: KeyLocation) -> Drawing:
    """The specification on the bits of the key."""
    spec, spans = origin.spec, (origin.place,) if origin.place is not None else ()
    figures: list[Figure] = [key_figure(spec, place, spans), hash_figure(spec, place, spans)]
    if (grid := _grid_of(origin, place)) is not None:
        figures.insert(1, morton_figure(place.key, grid, spec))
    caption = "The specification says which bits of a key are dropped, and which of its hash choose minishard and file."
    return Drawing("What the specification says", tuple(figures), (), caption)


def dropped_drawing(spec: ShardingSpec, place: KeyLocation) -> Drawing:
    """The key, and what is left of it."""
    key = key_figure(ShardingSpec(spec.preshift_bits, "murmurhash3_x86_128", 0, 0), place)
    left = Item("what is left", size=max(64 - spec.preshift_bits, 1), tone=Tone.KEY, name="left")
    figures = (key, Bits(f"key >> {spec.preshift_bits} = {place.shifted}", 64, place.shifted, (left,)))
    low = "low bit" if spec.preshift_bits == 1 else f"low {spec.preshift_bits} bits"
    caption = f"Keys that differ in the {low} alone hash alike, so they lie together."
    if not spec.preshift_bits:
        caption = "No bit is dropped here: each key hashes by itself."
    return Drawing("Dropping low bits", figures, (), caption)


def hash_drawing(spec: ShardingSpec, place: KeyLocation) -> Drawing:
    """Return what is hashed, and the hash."""
    figures = (Bits(f"What is hashed: {place.shifted}", 64, place.shifted), hash_figure(spec, place))
    caption = (
        "Identity: the number is its own hash, so neighbouring keys go to neighbouring minishards."
        if spec.hash == "identity"
        else "MurmurHash3 mixes all bits: even neighbouring keys are spread evenly over minishards and files."
    )
    return Drawing("The hash", figures, (), caption)


def split_drawing(spec: ShardingSpec, place: KeyLocation) -> Drawing:
    """The fields of the hash, and the file and minishard they number."""
    files, minishards = files_shown(spec, place), minishards_shown(spec, place)
    stem, minishard = spec.shard_stem(place.shard), str(place.minishard)
    here = Item(stem, at=place.shard, tone=Tone.HIT, doc="The file of the key.", name="file", here=True)
    there = Item(minishard, at=place.minishard, tone=Tone.HIT, doc="Its minishard.", name="minishard", here=True)
    figures = (
        hash_figure(spec, place),
        Cells(
            f"{plural(spec.shards, 'possible file')}: {spec.shard_name(place.shard)}",
            len(files),
            (here,),
            first=files.start,
        ),
        Cells(f"{plural(spec.minishards, 'minishard')} in it", len(minishards), (there,), first=minishards.start),
    )
    links = [
        Link(start, stop, tone=Tone.KEY)
        for start, stop, bits in (
            ("shard in hash", "file", spec.shard_bits),
            ("minishard in hash", "minishard", spec.minishard_bits),
        )
        if bits
    ]
    caption = chosen_text(spec)
    return Drawing("Which file, which minishard", figures, tuple(links), caption)


def route_drawing(spec: ShardingSpec, place: KeyLocation, there: Sequence[int]) -> Drawing:
    """The files of a data set around the key's.

    Args:
        spec: How keys are sharded.
        place: Where the key belongs.
        there: The numbers of the files that are there, ascending.
    """
    shown = window(spec.shards, place.shard, FILES)
    present = {number for number in there if shown.start <= number < shown.stop}
    items = [
        Item(spec.shard_stem(number), at=number, tone=Tone.INDEX, doc=f"{spec.shard_name(number)} is there.")
        for number in sorted(present - {place.shard})
    ]
    here = place.shard in present
    name = spec.shard_name(place.shard)
    doc = f"{name} is there." if here else f"There is no {name}: writers leave out files without keys."
    text, tone = (spec.shard_stem(place.shard), Tone.HIT) if here else ("none", Tone.MISS)
    items.append(Item(text, at=place.shard, tone=tone, doc=doc, name="file", here=True))
    title = f"{plural(len(there), 'file')} of {plural(spec.shards, 'possible one')}"
    links = (Link("shard in hash", "file", tone=Tone.KEY),) if spec.shard_bits else ()
    caption = f"The shard bits of the hash say {place.shard}: the key lies in {name} or nowhere."
    if not spec.shard_bits:
        caption = f"There are no shard bits: all keys lie in {name}."
    figures = (hash_figure(spec, place), Cells(title, len(shown), tuple(items), first=shown.start))
    return Drawing("Which file", figures, links, caption, more=max(len(there) - len(present), 0))


def pair_drawing(minishard: int, base: int, start: int, stop: int, size: int) -> Drawing:
    """The entry of the shard index, and where it leads to."""
    entry = pair_span(minishard)
    at = entry.start + SHARD_INDEX_ENTRY.offsets["end_offset"]
    first, last = Span("", entry.start, at), Span("", at, entry.stop)
    empty = start == stop
    tone = Tone.MISS if empty else Tone.POINTER
    fields = Ruler(
        f"Entry {minishard} of the shard index: 16 bytes",
        entry.start,
        entry.stop,
        (
            Item(
                f"start {start - base}", (first,), first.start, first.size, tone, f"Byte {start} of the file.", "start"
            ),
            Item(f"end {stop - base}", (last,), last.start, last.size, tone, f"Byte {stop} of the file."),
        ),
        "bytes",
    )
    index = Item("shard index", (Span("", 0, base),), 0, base, Tone.INDEX, f"{base} bytes; offsets count from its end.")
    if empty:
        return Drawing("The shard index entry", (fields,), (), "Start and end are equal: the minishard is empty.")
    place = Item("minishard index", (Span("", start, stop),), start, stop - start, Tone.HIT, "", "index", here=True)
    whole = Ruler("The file", 0, size, (index, place), "bytes")
    caption = f"Offsets count from the end of the shard index, byte {base}: {base} + {start - base} = {start}."
    return Drawing("The shard index entry", (fields, whole), (Link("start", "index", tone=Tone.POINTER),), caption)


def rows_drawing(entries: MinishardEntries, rows: Rows) -> Drawing:
    """The three rows of a minishard index."""
    tones = (Tone.KEY, Tone.POINTER, Tone.SIZE)
    items = tuple(
        Item(field.name, (span,), span.start, span.size, tone, field.doc)
        for field, span, tone in zip(MINISHARD_INDEX.fields, rows, tones, strict=True)
        if span.size
    )
    start, stop = rows[0].start, rows[2].stop
    ruler = Ruler(
        f"Three rows of {plural(len(entries), 'number')}, 8 bytes each", start, max(stop, start + 1), items, "bytes"
    )
    caption = "Not one record for each key, but three rows: all keys, then all gaps, then all sizes."
    return Drawing("The minishard index", (ruler,), (), caption)


def keys_drawing(entries: MinishardEntries, rows: Rows, at: int, *, found: bool) -> Drawing:
    """The first row, summed up."""
    shown = columns_shown(entries, at)
    table = index_table(keys_rows(entries, rows, shown, at if found else None), shown, len(entries))
    caption = (
        f"Each key is the one before it plus a difference; entry {at} is the key."
        if found
        else "Each key is the one before it plus a difference; no sum is the key, so it is absent."
    )
    return Drawing("Summing up the keys", (table,), (), caption, more=max(len(entries) - len(shown), 0))


def value_place_drawing(entries: MinishardEntries, rows: Rows, base: int, at: int) -> Drawing:
    """The second and the third row, summed up."""
    shown = columns_shown(entries, at)
    table = index_table(places_rows(entries, rows, base, shown, at), shown, len(entries))
    caption = f"A value begins where the one before it ends, plus the gap; the first counts from byte {base}."
    return Drawing("Where the value lies", (table,), (), caption, more=max(len(entries) - len(shown), 0))


def value_drawing(span: Span, file_size: int, plain: int | None) -> Drawing:
    """The value in the file; of a compressed one, how it becomes larger.

    Args:
        span: Its stored bytes.
        file_size: Bytes of the file.
        plain: Bytes that it decompresses to; None where it is not compressed.
    """
    item = Item("value", (span,), span.start, span.size, Tone.HIT, plural(span.size, "stored byte") + ".", here=True)
    whole = Ruler("The file", 0, max(file_size, 1), (item,), "bytes")
    if plain is None or not span.size or not plain:
        return Drawing("The value", (whole,), (), "The value is stored as it is.")
    wide = max(plain, span.size)
    above = Ruler("Uncompressed bytes", 0, wide, (Item(plural(plain, "byte"), (), 0, plain, Tone.DATA),), "bytes")
    stored = Item(plural(span.size, "byte"), (span,), 0, span.size, Tone.HIT)
    below = Ruler("Stored bytes", 0, wide, (stored,), "bytes")
    band = Band(Item("gzip", (span,), 0, plain, Tone.DATA, "The value is one gzip member of its own."), (0, span.size))
    caption = "Each value is compressed alone, so that one can be read without the others."
    return Drawing("The value", (whole, Ribbon("gzip", above, below, (band,))), (), caption)


def cell_drawing(origin: Origin, key: int, cell: Sequence[int]) -> Drawing | None:
    """From the bits of a Morton code to a cell."""
    grid = origin.space.grid
    if grid is None:
        return None
    caption = "The bits of x, y and z take turns, so that cells near each other have keys near each other."
    figures = (morton_figure(key, grid), cell_figure(cell, grid))
    return Drawing("From the key to a place in space", figures, (), caption, more=max(len(grid) - MOST_AXES, 0))


def fragments_drawing(fragments: Span, manifest: Span, lods: int, count: int) -> Drawing:
    """The fragments of a mesh, in front of its manifest."""
    items = [
        Item(
            "manifest",
            (manifest,),
            manifest.start,
            manifest.size,
            Tone.HIT,
            "The value of the key.",
            "manifest",
            here=True,
        )
    ]
    if fragments.size:
        doc = f"{plural(count, 'fragment')} in {plural(lods, 'level')} of detail; no index lists them."
        items.append(Item("fragments", (fragments,), fragments.start, fragments.size, Tone.DATA, doc, "fragments"))
    ruler = Ruler(
        "Around the manifest", fragments.start, max(manifest.stop, fragments.start + 1), tuple(items), "bytes"
    )
    caption = "The key refers to the manifest alone; the sizes in it tell how far in front of it the fragments begin."
    return Drawing("A mesh", (ruler,), (), caption)


def _grid_of(origin: Origin, place: KeyLocation) -> Sequence[int] | None:
    try:
        return origin.space.grid if cell_of(origin.space, place.key) is not None else None
    except FormatError:
        return None
