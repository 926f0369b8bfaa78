"""Drawing *Insert 10 bytes*: the pieces to store again with fixed and with content-defined chunk boundaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.chunker import MAX_CHUNK, MIN_CHUNK, WINDOW, rolling
from shardcore.errors import ExternalMissing
from shardcore.formats.mdb.content import read_range
from shardcore.formats.mdb.layout import FILE
from shardcore.formats.mdb.objects import MdbObjects
from shardcore.model.drawing import Control, ControlKind, Drawing, Item, Ruler, Tone, chosen
from shardcore.model.number_text import plural
from shardcore.teaching.mdb.scene import MdbScene

USUAL_CHUNK = 64 * 1024
"""Approximate average size of a chunk; also the size of fixed pieces."""

FINEST = 128
"""Largest divisor, with which the minimum chunk size equals the window of the hash, 64 bytes."""

_TOP_BITS = 16


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule of chunk boundaries; the chunk sizes of Xet are divided by `finer`, a power of two up to `FINEST`."""

    finer: int = 1

    @property
    def least(self) -> int:
        return MIN_CHUNK // self.finer

    @property
    def most(self) -> int:
        return MAX_CHUNK // self.finer

    @property
    def fixed(self) -> int:
        return USUAL_CHUNK // self.finer

    @property
    def bits(self) -> int:
        """Number of top bits of the rolling hash that must be 0 at a cut; 16 in Xet."""
        return _TOP_BITS - (self.finer.bit_length() - 1)

    def candidates(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        return np.flatnonzero(hashes < np.uint64(1 << (64 - self.bits))) + 1

    def ends(self, candidates: Sequence[int], size: int) -> list[int]:
        """Return the chunk ends chosen from `candidates` as in `shardcore.codecs.xet.chunker.cut_ends`."""
        found, start = [], 0
        for end in (*candidates, size):
            while end - start > self.most:
                start += self.most
                found.append(start)
            if end - start >= self.least or (end == size and end > start):
                start = end
                found.append(start)
        return found

    def fixed_ends(self, size: int) -> list[int]:
        return [*range(self.fixed, size, self.fixed), size] if size else []


def rule_for(hashes: NDArray[np.uint64], several: int) -> Rule:
    """Return the rule with the largest chunks that gives `several` chunks; if none does, the finest rule."""
    rule = Rule()
    while rule.finer < FINEST and len(rule.ends(rule.candidates(hashes).tolist(), len(hashes))) < several:
        rule = Rule(rule.finer * 2)
    return rule


class Cut:
    def __init__(self, data: bytes, several: int) -> None:
        self.data = data
        hashes = rolling(np.frombuffer(data, np.uint8))
        self.rule = rule_for(hashes, several)
        self._candidates = self.rule.candidates(hashes)

    def with_inserted(self, place: int, new: bytes) -> tuple[bytes, list[int]]:
        """Return the content with bytes inserted, and its chunk ends; only bytes near `place` are hashed again."""
        data = self.data[:place] + new + self.data[place:]
        begin, until = max(place - WINDOW, 0), min(place + len(new) + WINDOW, len(data))
        near = self.rule.candidates(rolling(np.frombuffer(data, np.uint8, until - begin, begin))) + begin
        near = near[near > place]
        before, after = self._candidates[self._candidates <= place], self._candidates + len(new)
        ends = np.concatenate([before, near, after[after > until]])
        return data, self.rule.ends(ends.tolist(), len(data))

    @property
    def ends(self) -> list[int]:
        return self.rule.ends(self._candidates.tolist(), len(self.data))


NEW = b"0123456789"
"""The inserted bytes."""

MOST_BYTES = 1 << 20
"""Bytes read from the start of a file."""

SEVERAL = 6
"""Number of pieces to aim for, so that the effect is visible."""

FEW = 3
"""With fewer pieces, the caption says that the file is too small."""

SHOWN = 13
"""Number of pieces drawn per ruler."""

_LEGEND = {Tone.DATA: "stored already", Tone.MISS: "new: must be stored"}
_PLACE = Control("place", "Insert at (% of file)", ControlKind.SLIDER, 30, 0, 100, doc="Where to insert the 10 bytes.")


class CutsSketch:
    name = "cuts"
    title = "Insert 10 bytes"

    def __init__(self, scene: MdbScene) -> None:
        self._scene = scene
        self._held: tuple[int, Cut | str] | None = None

    @property
    def controls(self) -> tuple[Control, ...]:
        return (*self._scene.controls, _PLACE)

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        wanted = chosen((*self._scene.ready_controls(), _PLACE), values)
        if not self._scene.index.counts[0]:
            return Drawing(self.title, (), caption="This shard lists no files, only xorbs and their chunks.")
        cut = self._cut(wanted.get(FILE, self._scene.number))
        if isinstance(cut, str):
            return Drawing(self.title, (), caption=cut)
        return cuts_drawing(cut, len(cut.data) * int(wanted["place"]) // 100)

    def _cut(self, number: int) -> Cut | str:
        if self._held is None or self._held[0] != number:
            self._held = number, self._read(number)
        return self._held[1]

    def _read(self, number: int) -> Cut | str:
        file = self._scene.file
        ref = MdbObjects(file).ref(number)
        if not ref.size:
            return "This file is empty and has no pieces."
        try:
            return Cut(b"".join(read_range(file, ref, 0, min(ref.size, MOST_BYTES))), SEVERAL)
        except ExternalMissing as error:
            return (
                "Its bytes are needed to cut a file, but they are in a xorb that cannot be read: "
                f"{error.message}. Choose the folder of the xorbs."
            )


def cuts_drawing(cut: Cut, place: int) -> Drawing:
    """Return four rulers: fixed and content-defined cuts, before and after inserting at `place`."""
    rule, size = cut.rule, len(cut.data)
    after, moved = cut.with_inserted(place, NEW)
    figures: list[Ruler] = []
    totals, left_out = [], 0
    ways = (
        (f"Fixed cuts, every {plural(rule.fixed, 'byte')}", rule.fixed_ends(size), rule.fixed_ends(len(after))),
        ("Cuts by content", cut.ends, moved),
    )
    for what, before, then in ways:
        old = {cut.data[a:b] for a, b in pairwise((0, *before))}
        new = [after[a:b] not in old for a, b in pairwise((0, *then))]
        there = [False] * len(before)
        for when, ends, misses in (("before", before, there), ("after", then, new)):
            items, start, stop, rest = _pieces(ends, misses, place)
            items += (_mark(place, when),) if start <= place <= stop else ()
            figures.append(Ruler(f"{what}: {when}", start, max(stop, start + 1), items, "bytes"))
            left_out += rest
        new_bytes = sum(b - a for (a, b), miss in zip(pairwise((0, *then)), new, strict=True) if miss)
        totals.append((sum(new), len(new), new_bytes))
    caption = _caption(totals, rule, size)
    return Drawing("Insert 10 bytes", tuple(figures), (), caption, more=left_out, what_if=True, legend=_LEGEND)


def _pieces(ends: Sequence[int], misses: Sequence[bool], place: int) -> tuple[tuple[Item, ...], int, int, int]:
    """Return the pieces around `place`, the byte range that they cover, and the number of pieces left out."""
    starts = [0, *ends[:-1]]
    at = next((n for n, end in enumerate(ends) if end > place), len(ends) - 1)
    first = max(min(at - SHOWN // 3, len(ends) - SHOWN), 0)
    items = []
    for n in range(first, min(first + SHOWN, len(ends))):
        size, miss = ends[n] - starts[n], misses[n]
        doc = f"Piece {n}, {plural(size, 'byte')}: " + ("new, must be stored." if miss else "stored already.")
        items.append(Item(f"{size:,}", (), starts[n], size, Tone.MISS if miss else Tone.DATA, doc))
    return tuple(items), starts[first], ends[first + len(items) - 1], len(ends) - len(items)


def _mark(place: int, when: str) -> Item:
    text = "10 bytes inserted here" if when == "before" else "+10"
    return Item(text, (), place, 0, Tone.PLAIN, f"10 bytes are inserted at byte {place:,}.")


def _caption(totals: Sequence[tuple[int, int, int]], rule: Rule, size: int) -> str:
    (fixed, of_fixed, fixed_bytes), (new, of_new, new_bytes) = totals
    part = f" Only the first {size:,} bytes of the file are used." if size == MOST_BYTES else ""
    if rule.finer == FINEST and of_new < FEW:
        return (
            f"{plural(size, 'byte')} are too few for content-defined cuts, even with chunks {rule.finer} times smaller "
            f"than in Xet. Choose a larger file.{part}"
        )
    costs = (
        f"With fixed cuts {_new(fixed, of_fixed)}, {plural(fixed_bytes, 'byte')} to store; with cuts by content "
        f"{_new(new, of_new)}, {plural(new_bytes, 'byte')}: after the insertion, the same bytes give the same cuts."
    )
    limits = f"A cut is where the top {rule.bits} bits of a hash of the last 64 bytes are 0"
    if rule.finer > 1:
        limits += f"; chunk sizes are {rule.finer} times smaller than in Xet, to get several chunks."
    else:
        limits += f", as in Xet: chunks of {MIN_CHUNK:,} to {MAX_CHUNK:,} bytes."
    return f"{costs} {limits}{part}"


def _new(count: int, of: int) -> str:
    return f"{count} of {plural(of, 'piece')} {'is' if count == 1 else 'are'} new"
