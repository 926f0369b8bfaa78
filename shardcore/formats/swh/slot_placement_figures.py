"""Figures of slot placement: the mixed key, the buckets, the keys of one bucket, and the slots as a ring."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shardcore.formats.swh import chd
from shardcore.formats.swh.hash_section import HashParts
from shardcore.formats.swh.layout import HASH_HEAD, HASH_TAIL, SwhGeometry
from shardcore.model.drawing import Cells, Drawing, Item, Link, Ruler, Table, Tone, window
from shardcore.model.number_words import grouped_digits
from shardcore.model.span import Span

WHOLE_RING = 24
"""Maximum number of slots drawn as a whole ring; of a larger index only those around the key's slot are drawn."""

SLOTS_AROUND = 9
BUCKETS = 9
JUMPS = 8
"""Maximum number of jumps drawn one by one; of longer paths only `FIRST_JUMPS`."""

FIRST_JUMPS = 3
MANY = "…"
"""Prefix of the label for several jumps, which are drawn as one dashed arrow."""
ROUND_ROWS = ("start", "after w0, w1, w2", "after w3, w4, w5", "after w6, w7, 32")


@dataclass(frozen=True, slots=True)
class KeyMove:
    """One key of the bucket at the tried displacement.

    Attributes:
        key: Its 32 bytes.
        first: f, its first slot.
        step: h.
        slot: Its slot at the tried displacement.
        stored_slot: Its slot in the index; -1 if it is not stored.
        spans: Location of the key in the file.
        selected: It is the key of the drawing.
        verdict: Text that states if it fits.
        fits: The slot is free for it.
    """

    key: bytes
    first: int
    step: int
    slot: int
    stored_slot: int
    spans: tuple[Span, ...]
    selected: bool
    verdict: str
    fits: bool


@dataclass(frozen=True, slots=True)
class Held:
    """Key in a slot, or None; `moving` is True for keys of the bucket while another displacement is tried."""

    key: bytes | None
    moving: bool = False


@dataclass(frozen=True, slots=True)
class BucketKeys:
    moves: list[KeyMove]
    held: dict[int, Held]
    present: bool


def tag(key: bytes) -> str:
    return key.hex()[:4]


def _short(key: bytes) -> str:
    return key.hex()[:3]


def mixed_figure(key: bytes, placed: chd.Triple, parts: HashParts) -> Table:
    bucket, first, step = placed
    seed = parts.start + HASH_HEAD.offsets["seed"]
    tail = (Span("", parts.stop - HASH_TAIL.size, parts.stop),)
    box = "Bob Jenkins' hash: three rounds mix the key into three pseudo-random numbers, a, b and c."
    starts = f"b mod n, with n = {parts.slots} slots: the key begins at slot {first}."
    row = (
        Item(f"{tag(key)}…", tone=Tone.KEY, doc=f"The key: {key.hex()}.", name="key"),
        Item(
            "three rounds", (Span("", seed, seed + HASH_HEAD.sizes["seed"]),), tone=Tone.LOOKUP, doc=box, name="mixed"
        ),
        Item(f"bucket {bucket}", tail, doc=f"a mod B, with B = {parts.buckets} buckets: bucket {bucket}.", name="g"),
        Item(f"first slot {first}", tail, doc=starts, name="f"),
        Item(f"step {step}", tail, doc=f"c mod (n - 1) + 1: each jump goes {step} slots on.", name="h"),
    )
    headings = ("key", "mixing: a, b, c", "g = a mod B", "f = b mod n", "h = c mod (n-1) + 1")
    return Table("The key becomes three numbers", headings, (row,))


def rounds_figure(rounds: Sequence[chd.Round]) -> Table:
    states = [rounds[0].before, *(one.mixed for one in rounds)]
    rows = tuple(
        (Item(name), *(Item(f"{number:08x}", tone=Tone.FAINT if at == 0 else Tone.PLAIN) for number in state))
        for at, (name, state) in enumerate(zip(ROUND_ROWS, states, strict=True))
    )
    return Table("The mixing: each round adds to a, b, c and mixes them", ("", "a", "b", "c"), rows)


def buckets_figure(
    parts: HashParts, bucket: int, tried: int, stored: int, place: Span, known: Sequence[int] | None, *, fits: bool
) -> Cells:
    """Return the buckets around g, each with its displacement if known."""
    shown = window(parts.buckets, bucket, BUCKETS)
    items = []
    for number in shown:
        if number == bucket:
            tone = Tone.MISS if not fits else Tone.HIT if tried == stored else Tone.KEY
            doc = f"Bucket {bucket}: the stored displacement of all its keys is {stored}."
            spans = (place,) if place.size else ()
            items.append(Item(f"d = {tried}", spans, number, tone=tone, doc=doc, name="bucket", here=True))
        elif known is not None:
            doc = f"Bucket {number}: its displacement is {int(known[number])}."
            items.append(Item(str(int(known[number])), at=number, tone=Tone.FAINT, doc=doc))
    title = f"Buckets {shown.start} to {shown.stop - 1}: one displacement d each"
    return Cells(title, len(shown), tuple(items), first=shown.start)


def keys_figure(moves: Sequence[KeyMove], bucket: int, displacement: int, slots: int) -> Table:
    turns, probes = divmod(displacement, slots)
    rows = tuple(
        (
            Item(
                f"{tag(move.key)}…",
                move.spans,
                tone=Tone.KEY,
                doc=f"The key {move.key.hex()}.",
                here=move.selected,
            ),
            Item(
                f"({move.first} + {move.step} · {probes} + {turns}) mod {slots}", doc="f + h · p0 + p1, around the ring"
            ),
            Item(str(move.slot), tone=_tone_of((move,)), doc=f"Slot {move.slot}."),
            Item(move.verdict, tone=Tone.PLAIN if move.fits else Tone.MISS),
        )
        for move in moves
    )
    title = f"Keys of bucket {bucket}: p0 = d mod n = {probes} jumps, p1 = d // n = {turns} single slots"
    return Table(title, ("key", "(f + h · p0 + p1) mod n", "slot", "fits?"), rows)


def ring_figure(geometry: SwhGeometry, held: Sequence[Held], moves: Sequence[KeyMove], title: str) -> Cells:
    items = tuple(slot_item(geometry, slot, each, moves) for slot, each in enumerate(held))
    return Cells(title, geometry.slots, items, ring=True)


def slot_item(geometry: SwhGeometry, slot: int, held: Held, moves: Sequence[KeyMove]) -> Item:
    here = [move for move in moves if move.slot == slot]
    span = (geometry.slot_span(slot),)
    name, selected = f"slot {slot}", any(move.selected for move in here)
    if here:
        absent = not here[0].spans  # for a key that is not in the shard, show the key in the slot
        text = _short(held.key if absent and held.key is not None else here[0].key)
        doc = f"Slot {slot}: " + "; ".join(f"{tag(move.key)}… {move.verdict}" for move in here) + "."
        return Item(text, span, slot, tone=_tone_of(here), doc=doc, name=name, here=selected)
    if held.key is None or held.moving:
        doc = f"Slot {slot} is unused." if held.key is None else f"Slot {slot} is reserved for {tag(held.key)}…"
        return Item("", span, slot, tone=Tone.EMPTY, doc=doc, name=name)
    return Item(_short(held.key), span, slot, tone=Tone.FAINT, doc=f"Slot {slot} holds {held.key.hex()}.", name=name)


def _tone_of(moves: Sequence[KeyMove]) -> Tone:
    if not all(move.fits for move in moves):
        return Tone.MISS
    return Tone.HIT if any(move.selected for move in moves) else Tone.KEY


def path_of(first: int, step: int, displacement: int, slots: int) -> tuple[list[tuple[int, str]], bool]:
    """Return the slots that a key visits, each with the label of its jump, and False if jumps are left out."""
    turns, probes = divmod(displacement, slots)
    whole = probes <= JUMPS
    path = [(first, "")]
    for _ in range(probes if whole else FIRST_JUMPS):
        at = path[-1][0] + step
        path.append((at % slots, f"+{step}" if at < slots else f"+{step} - {slots}"))
    if not whole:
        left = probes - FIRST_JUMPS
        path.append(((first + step * probes) % slots, f"{MANY} {grouped_digits(left)} more jumps"))
    if turns:
        path.append(((path[-1][0] + turns) % slots, f"+{turns} (p1)"))
    return path, whole


def stop_name(number: int, text: str) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    if text.startswith(MANY):
        return "last"
    return f"{number}{endings.get(number, 'th')}" if number else "f"


def ring_links(path: Sequence[tuple[int, str]]) -> list[Link]:
    links = [Link("f", f"slot {path[0][0]}", "start", Tone.KEY, 1, stop_text(path, 0))]
    for number, ((before, _), (after, text)) in enumerate(itertools.pairwise(path), 1):
        if before != after:
            tone, stage = Tone.FAINT if text.startswith(MANY) else Tone.KEY, links[-1].stage + 1
            links.append(Link(f"slot {before}", f"slot {after}", text, tone, stage, stop_text(path, number)))
    return links


def stop_text(path: Sequence[tuple[int, str]], number: int) -> str:
    slot, text = path[number]
    before = path[number - 1][0] if number else -1
    return f"From slot {before} on: {text} is slot {slot}." if number else f"The key begins at slot {slot}: f."


def slot_drawing(geometry: SwhGeometry, hashed: tuple[int, int], displacement: int) -> Drawing:
    (first, step), slots = hashed, geometry.slots
    turns, probes = divmod(displacement, slots)
    path, _ = path_of(first, step, displacement, slots)
    ruler, links = long_ring_figure(geometry, path, ())
    stage, slot = max(link.stage for link in links), path[-1][0]
    row = (
        Item(str(first), name="f", doc="The first slot."),
        Item(f"+ {step} · {probes}", doc="p0 jumps of h."),
        Item(f"+ {turns}", doc="p1 single slots."),
        Item(f"mod {slots} = {slot}", tone=Tone.HIT, stage=stage, doc=f"The key belongs in slot {slot}."),
    )
    table = Table("The sum", ("f", "h · p0", "p1", "slot"), (row,))
    figure: Cells | Ruler = ruler
    if slots <= WHOLE_RING:
        # A slot that is visited twice is one cell.
        cells = {item.at: replace(item, size=1, here=False, tone=Tone.KEY) for item in reversed(ruler.items)}
        names = {item.name: cells[item.at].name for item in ruler.items} | {"f": "f"}
        figure = Cells(ruler.title, slots, tuple(cells.values()), ring=True)
        links = [replace(link, start=names[link.start], stop=names[link.stop]) for link in links]
    caption = "A key begins at f, jumps p0 times by h, then moves p1 single slots; slot 0 follows the last slot."
    return Drawing("Path to the slot", (table, figure), tuple(links), caption)


def long_ring_figure(
    geometry: SwhGeometry, path: Sequence[tuple[int, str]], moves: Sequence[KeyMove]
) -> tuple[Ruler, list[Link]]:
    items, links = [], [Link("f", "jump 0", "start", Tone.KEY, 1, stop_text(path, 0))]
    for number, (slot, text) in enumerate(path):
        last = number == len(path) - 1
        fits = next((move.fits for move in moves if move.selected), True)
        tone = (Tone.HIT if fits else Tone.MISS) if last else Tone.KEY
        word = f"slot {slot}" if last else stop_name(number, text)
        doc, spans, stage = stop_text(path, number), (geometry.slot_span(slot),), number + 1
        items.append(Item(word, spans, slot, 0, tone, doc, name=f"jump {number}", here=last, stage=stage))
        if number:
            arrow = Tone.FAINT if text.startswith(MANY) else Tone.KEY
            links.append(Link(f"jump {number - 1}", f"jump {number}", text, arrow, stage, doc))
    for move in moves:
        if not move.selected:
            tone = _tone_of((move,))
            doc = f"{tag(move.key)}…, of the same bucket, {move.verdict}: slot {move.slot}."
            items.append(Item(tag(move.key), (geometry.slot_span(move.slot),), move.slot, 0, tone, doc))
    title = f"All {grouped_digits(geometry.slots)} slots, a ring: after the last comes the first"
    return Ruler(title, 0, geometry.slots, tuple(items), "slots", ring=True), links


def around_figure(geometry: SwhGeometry, shown: range, held: Sequence[Held], moves: Sequence[KeyMove]) -> Cells:
    items = tuple(slot_item(geometry, slot, each, moves) for slot, each in zip(shown, held, strict=True))
    return Cells(f"Slots {shown.start} to {shown.stop - 1}", len(shown), items, first=shown.start)
