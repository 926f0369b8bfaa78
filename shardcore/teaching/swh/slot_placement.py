"""The drawing *Slot placement*: how the displacement of a bucket gives each of its keys a slot."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

from shardcore.dataclasses import dataclass, replace
from shardcore.formats.swh import chd
from shardcore.formats.swh.hash_section import Decoded
from shardcore.formats.swh.layout import HASH_HEAD, SLOT, ShardLayout
from shardcore.formats.swh.lookup import Hashed, KeyPlaced
from shardcore.model.drawing import Cells, Control, Drawing, Figure, Item, Link, Ruler, Table, Tone, window
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.teaching import SceneSketch, slider, switch
from shardcore.teaching.swh.displacement import HASHED_KEYS, KeyScene, StoredKey, value_span

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
    """Path of one key of the bucket for a displacement: from slot `first`, in jumps of `step`, to `slot`.

    `stored_slot` is its slot in the index, -1 if it is not stored; `selected` is True for the key of the drawing.
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
class BucketKeys:
    """Paths of the keys of a bucket, the selected key first, and the keys in the slots; keys in `away` leave theirs."""

    moves: list[KeyMove]
    there: Mapping[int, bytes]
    away: Set[bytes] = frozenset()

    @property
    def present(self) -> bool:
        return self.moves[0].stored_slot >= 0


def tag(key: bytes) -> str:
    return key.hex()[:4]


def _short(key: bytes) -> str:
    return key.hex()[:3]


def mixed_figure(hashed: Hashed) -> Table:
    key, hashing, bucket = hashed.key, hashed.hashing, hashed.bucket
    tail = (hashing.tail,)
    box = "Bob Jenkins' hash: three rounds mix the key into three pseudo-random numbers, a, b and c."
    starts = f"b mod n, with n = {hashing.slots} slots: the key begins at slot {hashed.first}."
    row = (
        Item(f"{tag(key)}…", tone=Tone.KEY, doc=f"The key: {key.hex()}.", name="key"),
        Item("three rounds", (HASH_HEAD.span("seed", hashing.start),), tone=Tone.LOOKUP, doc=box, name="mixed"),
        Item(f"bucket {bucket}", tail, doc=f"a mod B, with B = {hashing.buckets} buckets: bucket {bucket}.", name="g"),
        Item(f"first slot {hashed.first}", tail, doc=starts, name="f"),
        Item(f"step {hashed.step}", tail, doc=f"c mod (n - 1) + 1: each jump goes {hashed.step} slots on.", name="h"),
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


def buckets_figure(placed: KeyPlaced, tried: int, known: Decoded | None, *, fits: bool) -> Cells:
    """Return the buckets around that of the key, each with its displacement if known."""
    hashed, stored, place = placed.hashed, placed.displacement, value_span(placed.located)
    bucket, shown = hashed.bucket, window(hashed.hashing.buckets, hashed.bucket, BUCKETS)
    items = []
    for number in shown:
        if number == bucket:
            tone = Tone.MISS if not fits else Tone.HIT if tried == stored else Tone.KEY
            doc = f"Bucket {bucket}: the stored displacement of all its keys is {stored}."
            spans = (place,) if place.size else ()
            items.append(Item(f"d = {tried}", spans, number, tone=tone, doc=doc, name="bucket", here=True))
        elif known is not None:
            doc = f"Bucket {number}: its displacement is {known.displacements[number]}."
            items.append(Item(str(known.displacements[number]), at=number, tone=Tone.FAINT, doc=doc))
    title = f"Buckets {shown.start} to {shown.stop - 1}: one displacement d each"
    return Cells(title, len(shown), tuple(items), first=shown.start)


def keys_figure(moves: Sequence[KeyMove], bucket: int, displacement: int, slots: int) -> Table:
    turns, probes = divmod(displacement, slots)
    rows = []
    for move in moves:
        key, total = f"{tag(move.key)}…", f"({move.first} + {move.step} · {probes} + {turns}) mod {slots}"
        row = (
            Item(key, move.spans, tone=Tone.KEY, doc=f"The key {move.key.hex()}.", here=move.selected),
            Item(total, doc="f + h · p0 + p1, around the ring"),
            Item(str(move.slot), tone=_tone_of((move,)), doc=f"Slot {move.slot}."),
            Item(move.verdict, tone=Tone.PLAIN if move.fits else Tone.MISS),
        )
        rows.append(row)
    title = f"Keys of bucket {bucket}: p0 = d mod n = {probes} jumps, p1 = d // n = {turns} single slots"
    return Table(title, ("key", "(f + h · p0 + p1) mod n", "slot", "fits?"), tuple(rows))


def slots_figure(layout: ShardLayout, group: BucketKeys, shown: range, *, ring: bool = False) -> Cells:
    items = tuple(slot_item(layout, slot, group) for slot in shown)
    title = f"Slots {shown.start} to {shown.stop - 1}"
    if ring:
        title = f"{layout.slots} slots, a ring: after slot {layout.slots - 1} comes slot 0"
    return Cells(title, len(shown), items, first=shown.start, ring=ring)


def slot_item(layout: ShardLayout, slot: int, group: BucketKeys) -> Item:
    here = [move for move in group.moves if move.slot == slot]
    span, name, key = (layout.slot_span(slot),), f"slot {slot}", group.there.get(slot)
    if here:
        absent = here[0].stored_slot < 0  # for a key that is not in the shard, show the key in the slot
        text = _short(key if absent and key is not None else here[0].key)
        doc = f"Slot {slot}: " + "; ".join(f"{tag(move.key)}… {move.verdict}" for move in here) + "."
        selected = any(move.selected for move in here)
        return Item(text, span, slot, tone=_tone_of(here), doc=doc, name=name, here=selected)
    if key is None or key in group.away:
        doc = f"Slot {slot} is unused." if key is None else f"Slot {slot} is reserved for {tag(key)}…"
        return Item("", span, slot, tone=Tone.EMPTY, doc=doc, name=name)
    return Item(_short(key), span, slot, tone=Tone.FAINT, doc=f"Slot {slot} holds {key.hex()}.", name=name)


def _tone_of(moves: Sequence[KeyMove]) -> Tone:
    if not all(move.fits for move in moves):
        return Tone.MISS
    return Tone.HIT if any(move.selected for move in moves) else Tone.KEY


def path_of(first: int, step: int, displacement: int, slots: int) -> list[tuple[int, str]]:
    """Return the slots that a key visits, each with the label of its jump; of many jumps, the first and the last."""
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
    return path


def stop_name(number: int, text: str) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    if text.startswith(MANY):
        return "last"
    return f"{number}{endings.get(number, 'th')}" if number else "f"


def path_links(path: Sequence[tuple[int, str]], names: Sequence[str]) -> list[Link]:
    """Return the arrows of a path; `names` are the items of its stops. Two stops on one item have no arrow."""
    links = [Link("f", names[0], "start", Tone.KEY, 1, stop_text(path, 0))]
    for number, (before, after) in enumerate(itertools.pairwise(names), 1):
        if before != after:
            tone = Tone.FAINT if path[number][1].startswith(MANY) else Tone.KEY
            stage = links[-1].stage + 1
            links.append(Link(before, after, path[number][1], tone, stage, stop_text(path, number)))
    return links


def stop_text(path: Sequence[tuple[int, str]], number: int) -> str:
    slot, text = path[number]
    before = path[number - 1][0] if number else -1
    return f"From slot {before} on: {text} is slot {slot}." if number else f"The key begins at slot {slot}: f."


def slot_drawing(placed: KeyPlaced) -> Drawing:
    first, step, slots = placed.hashed.first, placed.hashed.step, placed.slots
    path = path_of(first, step, placed.displacement, slots)
    index_start = placed.hashed.hashing.start - SLOT.size * slots
    ruler, links = long_ring_figure(index_start, slots, path, ())
    stage, slot = max(link.stage for link in links), path[-1][0]
    row = (
        Item(str(first), name="f", doc="The first slot."),
        Item(f"+ {step} · {placed.probes}", doc="p0 jumps of h."),
        Item(f"+ {placed.turns}", doc="p1 single slots."),
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
    index_start: int, slots: int, path: Sequence[tuple[int, str]], moves: Sequence[KeyMove]
) -> tuple[Ruler, list[Link]]:
    items = []
    for number, (slot, text) in enumerate(path):
        last = number == len(path) - 1
        fits = next((move.fits for move in moves if move.selected), True)
        tone = (Tone.HIT if fits else Tone.MISS) if last else Tone.KEY
        word = f"slot {slot}" if last else stop_name(number, text)
        doc, spans = stop_text(path, number), (_slot_span(index_start, slot),)
        items.append(Item(word, spans, slot, 0, tone, doc, name=f"jump {number}", here=last, stage=number + 1))
    for move in moves:
        if not move.selected:
            tone = _tone_of((move,))
            doc = f"{tag(move.key)}…, of the same bucket, {move.verdict}: slot {move.slot}."
            items.append(Item(tag(move.key), (_slot_span(index_start, move.slot),), move.slot, 0, tone, doc))
    title = f"All {grouped_digits(slots)} slots, a ring: after the last comes the first"
    links = path_links(path, [f"jump {number}" for number in range(len(path))])
    return Ruler(title, 0, slots, tuple(items), "slots", ring=True), links


def _slot_span(index_start: int, slot: int) -> Span:
    return SLOT.span("", index_start + SLOT.size * slot)


# --- the drawing ------------------------------------------------------------------------------------------------


def title_of(placed: KeyPlaced, tried: int, group: BucketKeys) -> str:
    key, slot = f"key {tag(placed.hashed.key)}…", group.moves[0].slot
    if tried != placed.displacement:
        return f"With d = {tried} the {key} would be in slot {slot}"
    lives = group.present and group.moves[0].fits
    return f"Why the {key} is in slot {slot}" if lives else f"The {key} belongs in slot {slot}, but is not stored there"


def caption_of(layout: ShardLayout, placed: KeyPlaced, tried: int, group: BucketKeys, *, few: bool) -> str:
    limit = f" The other keys of the bucket are drawn only for shards of up to {HASHED_KEYS:,} objects."
    own = [move for move in group.moves if move.stored_slot >= 0]
    bucket = placed.hashed.bucket
    if tried != placed.displacement:
        return _tried_caption(placed.displacement, tried, own) + ("" if few else limit)
    if lost := sum(move.slot != move.stored_slot for move in own):
        lie, them = ("is", "it") if lost == 1 else ("are", "them")
        return (
            f"{lost} of the {plural(len(own), 'key')} of bucket {bucket} {lie} in other slots than d = {tried} "
            f"gives, so no lookup finds {them}: the hash function or the index is damaged."
        )
    if not group.present:
        return _absent_caption(group)
    if few:
        together = (
            f"The {plural(len(own), 'key')} of bucket {bucket} share the displacement d = {tried}, and with it "
            "each gets its own slot."
        )
    else:
        together = f"The displacement d = {tried} of bucket {bucket} moves each of its keys to its own slot."
    return (
        f"{together} A perfect hash gives every key its own slot; {plural(layout.slots, 'slot')} for "
        f"{plural(layout.declared, 'key')}, because without spare slots the last buckets would hardly fit."
        f"{'' if few else limit}"
    )


def _tried_caption(stored: int, tried: int, own: Sequence[KeyMove]) -> str:
    if own and all(move.slot == move.stored_slot for move in own):
        return f"With d = {tried} each key is in its slot: the stored displacement {stored} is damaged."
    losers, keys = sum(not move.fits for move in own), plural(len(own), "key")
    result = f"{losers} of {keys} would get slots in use" if losers else f"all {keys} would also get free slots"
    why = "The writer tries 0, 1, 2, … until all keys of a bucket fit at once"
    return f"With d = {tried}, {result}. {why}, and keeps that number: {stored}."


def _absent_caption(group: BucketKeys) -> str:
    slot = group.moves[0].slot
    if slot not in group.there:
        return f"This key has slot {slot}, which is unused. Every key maps to some slot, stored or not."
    return (
        f"This key is not in the shard, but it maps to slot {slot}, as every key maps to some slot. Only the "
        "comparison with the stored key shows that it is absent."
    )


KEYS_DRAWN = 5
"""Maximum number of keys of a bucket drawn with their sums."""

KEYS_DRAWN_UNFOLDED = 2
"""Maximum number of keys drawn with their sums if the rounds of the hash are drawn too: items are limited."""

_SLID = 1 << 24
"""Largest displacement for which a slider is offered; writers use smaller ones."""


def _slots_around(layout: ShardLayout, slot: int) -> range:
    return window(layout.slots, slot, WHOLE_RING if layout.slots <= WHOLE_RING else SLOTS_AROUND)


class SlotPlacementSketch(SceneSketch[KeyScene]):
    name = "parking"
    title = "Slot placement"

    @property
    def controls(self) -> tuple[Control, ...]:
        mixing = switch("mixing", "Show mixing rounds", False, "Shows the state of the hash after each round.")
        stored = self._scene.displacement
        if stored is None or stored > _SLID:
            return (mixing,)
        doc = "Moves all keys of the bucket; red: the slot is already used. Reset returns to the stored value."
        return slider("displacement", "Displacement d", stored, max(2 * stored, 15), doc), mixing

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        placed = self._scene.placed
        settings = self.chosen(values)
        if placed is None:
            return self._no_objects()
        tried, unfolded = settings.get("displacement", placed.displacement), settings["mixing"]
        hashed, layout = placed.hashed, self._scene.file.layout
        whole = layout.slots <= WHOLE_RING
        group = self._bucket(placed, tried)
        moves = group.moves[: KEYS_DRAWN if whole or not unfolded else KEYS_DRAWN_UNFOLDED]
        fits = all(move.fits for move in group.moves if move.stored_slot >= 0)
        figures: list[Figure] = [mixed_figure(hashed)]
        if unfolded:
            figures.append(rounds_figure(hashed.rounds))
        figures.append(buckets_figure(placed, tried, self._scene.function, fits=fits))
        links = [Link("g", "bucket", tone=Tone.KEY)]
        path = path_of(hashed.first, hashed.step, tried, layout.slots)
        if whole:
            links += path_links(path, [f"slot {slot}" for slot, _ in path])
        else:
            ruler, arrows = long_ring_figure(layout.index_start, layout.slots, path, moves)
            figures.append(ruler)
            links += [*arrows, Link(f"jump {len(path) - 1}", f"slot {group.moves[0].slot}", tone=Tone.KEY)]
        shown = _slots_around(layout, path[-1][0])
        figures.append(slots_figure(layout, group, shown, ring=whole))
        figures.append(keys_figure(moves, hashed.bucket, tried, layout.slots))
        return Drawing(
            title_of(placed, tried, group),
            tuple(figures),
            tuple(links),
            caption_of(layout, placed, tried, group, few=self._scene.few),
            more=layout.slots - len(shown),
            what_if=tried != placed.displacement,
            legend=MappingProxyType({Tone.KEY: "a key of the bucket"}),
        )

    def _bucket(self, placed: KeyPlaced, tried: int) -> BucketKeys:
        """Return the paths of the bucket's keys for displacement `tried`; in a large shard, only of the drawn key."""
        hashed, file, known = placed.hashed, self._scene.file, self._scene.all_keys
        layout = file.layout
        goal = chd.slot_one(hashed.first, hashed.step, tried, layout.slots)
        here = _slots_around(layout, goal)
        if known is not None:
            there, bucket = {one.slot: one.key for one in known}, [one for one in known if one.bucket == hashed.bucket]
        else:
            there = dict(file.live_keys(here.start, file.slots(here.start, here.stop)))
            own = goal if there.get(goal) == hashed.key else placed.slot
            stored = there.get(goal) == hashed.key or file.slots(own, own + 1)["key"][0].tobytes() == hashed.key
            bucket = [StoredKey(hashed.key, hashed.bucket, hashed.first, hashed.step, own)] if stored else []
        keys = {one.key for one in bucket}
        targets = [chd.slot_one(one.first, one.step, tried, layout.slots) for one in bucket]
        moves = []
        for one, slot in zip(bucket, targets, strict=True):
            holder = None if there.get(slot) in keys else there.get(slot)
            rivals = [other.key for other, target in zip(bucket, targets, strict=True) if target == slot]
            if holder is None and len(rivals) > 1:
                holder = next((rival for rival in rivals if rival != one.key), one.key)
            lost = tried == placed.displacement and slot != one.slot
            taken = "fits" if holder is None else f"slot taken by {tag(holder)}…"
            verdict, fits = f"lost: in slot {one.slot}" if lost else taken, holder is None and not lost
            span, selected = (layout.slot_span(one.slot, "key"),), one.key == hashed.key
            moves.append(KeyMove(one.key, one.first, one.step, slot, one.slot, span, selected, verdict, fits))
        away = keys if known is not None and tried != placed.displacement else set[bytes]()
        if not any(move.selected for move in moves):
            verdict = f"no: it holds {tag(there[goal])}…" if goal in there else "no: it is unused"
            moves.append(KeyMove(hashed.key, hashed.first, hashed.step, goal, -1, (), True, verdict, False))
        return BucketKeys(sorted(moves, key=lambda move: not move.selected), there, away)

    def _no_objects(self) -> Drawing:
        layout = self._scene.file.layout
        shown = range(min(layout.slots, WHOLE_RING))
        figure = slots_figure(layout, BucketKeys([], {}), shown)
        caption = "This shard has no objects. Any key still maps to a slot, but every slot is unused."
        return Drawing("Slots without objects", (figure,), (), caption, more=layout.slots - len(shown))
