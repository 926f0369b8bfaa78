"""The steps of a lookup, each as a small drawing; none of them reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardcore.formats.swh import chd
from shardcore.formats.swh.displacement import DisplacementLocation
from shardcore.formats.swh.displacement_figures import (
    directory_figure,
    ends_figure,
    links_between,
    low_figure,
    split_figure,
    unary_figure,
    value_figure,
)
from shardcore.formats.swh.hash_section import HashParts
from shardcore.formats.swh.layout import HASH_HEAD, HASH_TAIL, HEADER, OBJECT, SLOT, SwhGeometry, length_span
from shardcore.formats.swh.slot_placement_figures import (
    WHOLE_RING,
    long_ring_figure,
    path_of,
    ring_links,
    stop_name,
    tag,
)
from shardcore.model.drawing import Cells, Drawing, Item, Link, Ruler, Table, Tone, window
from shardcore.model.number_words import plural
from shardcore.model.objects import State
from shardcore.model.span import Span

_MOST_SHARDS = 16
"""Shards of a folder that are drawn."""

_GROUP = 4
"""Bytes of a key that stand in one column."""

_TARGETS = {"objects_position": "objects", "index_position": "index", "hash_position": "hash function"}


def header_drawing(header: dict[str, Any], hash_stop: int) -> Drawing:
    """The header's fields, and the parts of the file that they lead to."""
    rows = []
    for field in HEADER.fields:
        start = HEADER.offsets[field.name]
        value = "SWHShard" if field.name == "magic" else str(header[field.name])
        span = (Span("", start, start + HEADER.sizes[field.name]),)
        target = _TARGETS.get(field.name, "")
        rows.append(
            (
                Item(str(start), span, doc=field.doc),
                Item(field.name, span, doc=field.doc),
                Item(value, span, tone=Tone.HEADER, doc=field.doc, name=target and f"to {target}"),
            )
        )
    at = int(header["hash_position"])
    parts = (
        ("objects", int(header["objects_position"]), int(header["objects_size"]), Tone.DATA),
        ("index", int(header["index_position"]), int(header["index_size"]), Tone.INDEX),
        ("hash function", at, hash_stop - at, Tone.LOOKUP),
    )
    items = tuple(
        Item(name, (Span("", start, start + size),) if size else (), start, size, tone, name=name)
        for name, start, size, tone in parts
    )
    links = tuple(Link(f"to {name}", name) for name in _TARGETS.values())
    table = Table("88 bytes at the start of the file", ("byte", "field", "says"), tuple(rows))
    return Drawing(
        "The header says where everything lies",
        (table, Ruler("The file", 0, hash_stop, items, "bytes")),
        links,
        "The name at the start says what the file is; three offsets refer to objects, index and hash function.",
    )


def words_drawing(key: bytes) -> Drawing:
    """The key, four bytes at a time, as the numbers that the hash adds."""
    rows = []
    for number, word in enumerate(chd.key_words(key)):
        at = _GROUP * number
        stored = Item(key[at : at + _GROUP].hex(" "), tone=Tone.KEY, doc=f"Bytes {at} to {at + _GROUP - 1} of the key.")
        rows.append((Item(f"w{number}"), stored, Item(f"{word:08x}", doc="The last of the bytes counts most.")))
    caption = "Each four bytes of the key are one number, its last byte in front (little-endian)."
    table = Table("The 32 bytes of the key", ("word", "its bytes", "the number"), tuple(rows))
    return Drawing("The key as eight numbers", (table,), (), caption)


def seed_drawing(parts: HashParts) -> Drawing:
    """The state before the first round."""
    at = parts.start + HASH_HEAD.offsets["seed"]
    constant = Item(f"{chd.STATE_START:08x}", tone=Tone.FAINT, doc="The same constant in every file.")
    seed = Item(
        f"{parts.seed:08x}",
        (Span("", at, at + HASH_HEAD.sizes["seed"]),),
        tone=Tone.LOOKUP,
        doc=f"The seed, {parts.seed}.",
        here=True,
    )
    row = (Item("start"), constant, constant, seed)
    caption = "The writer chose the seed: where two keys of one bucket could not be told apart, it tried the next one."
    return Drawing(
        "What the hash starts from", (Table("The state of the hash", ("", "a", "b", "c"), (row,)),), (), caption
    )


def rounds_drawing(rounds: Sequence[chd.Round]) -> Drawing:
    """Three rounds: what is added, what comes out."""
    added = ("+ w0, w1, w2", "+ w3, w4, w5", "+ w6, w7, 32")
    rows = [_state_row("start", rounds[0].before, Tone.FAINT)]
    for name, one in zip(added, rounds, strict=True):
        rows.append(_state_row(name, one.added, Tone.PLAIN))
        rows.append(_state_row("mixed", one.mixed, Tone.KEY if one is rounds[-1] else Tone.FAINT))
    caption = "One changed bit of the key changes about half of all bits in the end, so keys are spread evenly."
    return Drawing(
        "Three rounds of mixing", (Table("The state of the hash", ("", "a", "b", "c"), tuple(rows)),), (), caption
    )


def _state_row(name: str, state: chd.Triple, tone: Tone) -> tuple[Item, ...]:
    return (Item(name), *(Item(f"{number:08x}", tone=tone) for number in state))


def placed_drawing(mixed: chd.Triple, placed: chd.Triple, parts: HashParts) -> Drawing:
    """From the three numbers to bucket, first slot and step."""
    at = parts.stop - HASH_TAIL.size
    slots, buckets = (
        (Span("", at + HASH_TAIL.offsets[name], at + HASH_TAIL.offsets[name] + 4),) for name in HASH_TAIL.sizes
    )
    a, b, c = mixed
    n, count = parts.slots, parts.buckets
    rows = (
        _placed_row(f"a = {a:08x}", f"{a} mod {count}", buckets, f"bucket g = {placed[0]}", "The group it belongs to."),
        _placed_row(f"b = {b:08x}", f"{b} mod {n}", slots, f"first slot f = {placed[1]}", "Where the key begins."),
        _placed_row(f"c = {c:08x}", f"{c} mod {n - 1} + 1", slots, f"step h = {placed[2]}", "How far a jump goes."),
    )
    caption = (
        f"B = {plural(count, 'bucket')} and n = {plural(n, 'slot')}: g = a mod B, f = b mod n, h = c mod (n - 1) + 1, "
        "which is never 0."
    )
    table = Table("What is taken of each", ("mixed", "remainder", "what it is"), rows)
    return Drawing("Three numbers from the hash", (table,), (), caption)


def _placed_row(mixed: str, taken: str, spans: tuple[Span, ...], gives: str, doc: str) -> tuple[Item, ...]:
    return (Item(mixed), Item(taken, spans, tone=Tone.LOOKUP, doc=doc), Item(gives, tone=Tone.KEY, doc=doc))


def place_drawing(parts: HashParts, bucket: int, place: DisplacementLocation) -> Drawing:
    """Return where the displacement of a bucket is kept, from the bits that were looked at."""
    found = (
        directory_figure(parts, bucket, place),
        unary_figure(parts, bucket, place),
        low_figure(parts, bucket, place),
        ends_figure(parts, bucket, place),
    )
    figures = tuple(figure for figure in found if figure is not None)
    caption = "Values have different lengths, so the file keeps where each ends; the next begins there."
    return Drawing(f"Where bucket {bucket}'s value lies", figures, links_between(figures), caption)


def displacement_drawing(
    parts: HashParts, bucket: int, place: DisplacementLocation, displacement: int, span: Span
) -> Drawing:
    """From the stored bits to d, p0 and p1."""
    figures = (
        value_figure(bucket, place, displacement, span),
        split_figure(parts, place, displacement, "d, and how it is split"),
    )
    caption = (
        "Values of k bits count from 2^k - 1 on, where those of fewer bits end: no number can be written in two ways."
    )
    return Drawing(f"The displacement of bucket {bucket}", figures, links_between(figures), caption)


def slot_drawing(geometry: SwhGeometry, first: int, step: int, displacement: int, slot: int) -> Drawing:
    """The jumps from the first slot to the key's."""
    path, _ = path_of(first, step, displacement, geometry.slots)
    start = Table(
        "Where the key begins",
        ("first slot f", "step h"),
        ((Item(str(first), name="f", tone=Tone.KEY), Item(str(step))),),
    )
    caption = (
        "After the last slot comes the first. How many there are is a prime: jumps of any step come by all of them."
    )
    title = f"The way to slot {slot}"
    if geometry.slots > WHOLE_RING:
        ruler, links = long_ring_figure(geometry, path, ())
        return Drawing(title, (start, ruler), tuple(links), caption, more=geometry.slots - len(path))
    stops = {at: stop_name(number, len(path)) for number, (at, _) in enumerate(path)}
    items = tuple(
        Item(
            text,
            (geometry.slot_span(at),),
            at,
            tone=Tone.HIT if at == slot else Tone.KEY,
            doc=f"Slot {at}.",
            name=f"slot {at}",
            here=at == slot,
        )
        for at, text in stops.items()
    )
    ring = Cells(f"{plural(geometry.slots, 'slot')}, a ring", geometry.slots, items, ring=True)
    return Drawing(title, (start, ring), tuple(ring_links(path)), caption)


def compared_drawing(geometry: SwhGeometry, slot: int, key: bytes, stored: bytes, state: State) -> Drawing:
    """The key looked for and the key in the slot, one under the other."""
    at = geometry.key_span(slot).start
    groups = range(0, chd.KEY_SIZE, _GROUP)
    asked, found = [], []
    for number, first in enumerate(groups):
        ours, theirs = key[first : first + _GROUP], stored[first : first + _GROUP]
        where = f"Bytes {first} to {first + _GROUP - 1}"
        tone, doc = (Tone.HIT, "equal") if ours == theirs else (Tone.MISS, "different")
        asked.append(Item(ours.hex(), at=number, tone=Tone.KEY, doc=f"{where} of the key that is looked for."))
        span = Span("", at + first, at + first + _GROUP)
        found.append(Item(theirs.hex(), (span,), number, tone=tone, doc=f"{where} of the key in the slot: {doc}."))
    count, names = len(groups), tuple(f"{first}-{first + _GROUP - 1}" for first in groups)
    figures = (
        Cells("Looked for, 32 bytes", count, tuple(asked), columns=count, numbered=False, column_names=names),
        Cells(f"The key in slot {slot}", count, tuple(found), columns=count, numbered=False),
    )
    caption = (
        "Equal in all 32 bytes: it is this key." if key == stored else "They differ, so the key is not in this shard."
    )
    if state is State.UNUSED:
        caption = "The slot is unused: zeros stand where a key would be, and its offset decides."
    caption += " This comparison is the only test there is: the hash function brings any key to some slot."
    return Drawing("Is it really this key?", figures, (), caption)


def offset_drawing(geometry: SwhGeometry, slot: int, offset: int, state: State) -> Drawing:
    """The slot, and where its offset leads to."""
    start, stop = geometry.objects_start, geometry.index_start
    key, place = geometry.key_span(slot), geometry.offset_span(slot)
    text = str(offset) if state is not State.UNUSED else ("2^64 - 1: no object" if offset else "0: no object")
    tone = {State.LIVE: Tone.POINTER, State.UNUSED: Tone.EMPTY}.get(state, Tone.MISS)
    fields = Ruler(
        f"Slot {slot}: {SLOT.size} bytes",
        key.start,
        place.stop,
        (
            Item("key", (key,), key.start, key.size, Tone.KEY, "The 32 bytes of the key."),
            Item(text, (place,), place.start, place.size, tone, "Where the object begins.", "offset", here=True),
        ),
        "bytes",
    )
    if state is not State.LIVE:
        return Drawing("No object", (fields,), (), "The offset says that there is no object to read.")
    mark = Item(
        f"byte {offset}", (length_span(offset),), offset, 0, Tone.HIT, "The object's length.", "object", here=True
    )
    part = Item(
        "objects", (Span("", start, stop),), start, stop - start, Tone.DATA, "All objects, as they were written."
    )
    objects = Ruler("The objects", start, stop, (part, mark), "bytes")
    caption = (
        "Slots are in the order of the hash, objects in the order in which they were written: the offset joins them."
    )
    return Drawing("Where the object is", (fields, objects), (Link("offset", "object", tone=Tone.POINTER),), caption)


def object_drawing(offset: int, size: int) -> Drawing:
    """The length, then the content."""
    start = offset + OBJECT.size
    items = [
        Item(
            plural(size, "byte"),
            (length_span(offset),),
            offset,
            OBJECT.size,
            Tone.SIZE,
            "Its length, in 8 bytes.",
            here=True,
        )
    ]
    if size:
        content = (Span("", start, start + size),)
        items.append(
            Item("content", content, start, size, Tone.HIT, "The object as it was given; nothing is compressed.")
        )
    ruler = Ruler(
        f"The object, {plural(OBJECT.size + size, 'byte')} of the file", offset, start + size, tuple(items), "bytes"
    )
    return Drawing("The object", (ruler,), (), "First how long it is, then the content as it was given.")


def asked_drawing(names: Sequence[str], key: bytes, ended: str = "", *, found: bool = False) -> Drawing:
    """The shards of a folder, asked one after the other.

    Args:
        names: All of them, in the order in which they are asked.
        key: What is looked for.
        ended: The one that was asked last; empty where none was asked yet.
        found: Whether it has the key.
    """
    last = names.index(ended) if ended in names else -1
    shown = window(len(names), max(last, 0), _MOST_SHARDS)
    rows = []
    for number in shown:
        answer, tone = ("", Tone.FAINT) if number > last else ("does not have it", Tone.PLAIN)
        if number == last and found:
            answer, tone = "has it", Tone.HIT
        name = Item(names[number], tone=Tone.INDEX if number <= last else Tone.FAINT, here=number == last)
        row = (Item(str(number + 1)), name, Item(answer, tone=tone))
        rows.append(row if last >= 0 else row[:2])
    headings = ("", "shard", "answer") if last >= 0 else ("", "shard")
    caption = f"Nothing in the key {tag(key)}… shows which shard has it, so each is searched until one has it."
    table = Table("Shards in the order in which they are searched", headings, tuple(rows))
    return Drawing("Which shard", (table,), (), caption, more=len(names) - len(shown))
