"""Drawings *Chunk map* (files above xorbs, a band per segment) and *Insert 10 bytes* (which chunks then change)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.chunker import MAX_CHUNK, MIN_CHUNK, WINDOW, rolling
from shardcore.codecs.xet.hashes import to_text
from shardcore.dataclasses import dataclass, field
from shardcore.errors import ExternalMissing
from shardcore.formats.mdb.content import read_range
from shardcore.formats.mdb.layout import FILE, XORB
from shardcore.formats.mdb.objects import MdbObjects
from shardcore.model.drawing import MOST_ITEMS, Band, Control, Drawing, Item, Ribbon, Ruler, Tone, chosen
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.teaching import SceneSketch, slider
from shardcore.teaching.mdb.scene import MdbScene, Sums

USUAL_CHUNK = 64 * 1024
"""Approximate average size of a chunk; also the size of fixed pieces."""

FINEST = 128
"""Largest divisor of the chunk sizes; with it, the minimum chunk size equals the window of the hash, 64 bytes."""

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
    """Return the rule with the largest chunks that gives at least `several` chunks; if none does, the finest rule."""
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
MOST_BYTES = 1 << 20
"""Maximum number of bytes read from the start of a file."""

SEVERAL = 6
"""Number of pieces to get from a file, if possible, so that the effect is visible."""

FEW = 3
"""Minimum number of pieces; with fewer, the caption says that the file is too small."""

SHOWN = 13
"""Number of pieces drawn per ruler."""

_CUTS_LEGEND = {Tone.DATA: "stored already", Tone.MISS: "new: must be stored"}
_PLACE = slider("place", "Insert at (% of file)", 30, 100, "Where to insert the 10 bytes.")


class CutsSketch(SceneSketch[MdbScene]):
    name = "cuts"
    title = "Insert 10 bytes"
    _held: tuple[int, Cut | str] | None = None

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
                "The bytes of this file are needed to cut it, but they are in a xorb that cannot be read: "
                f"{error.message}. Choose the folder of the xorbs."
            )


def cuts_drawing(cut: Cut, place: int) -> Drawing:
    """Return four rulers: fixed and content-defined cuts, before and after inserting at `place`."""
    rule, size = cut.rule, len(cut.data)
    after, moved = cut.with_inserted(place, NEW)
    figures: list[Ruler] = []
    totals, left_out = [], 0
    fixed = f"Fixed cuts, every {plural(rule.fixed, 'byte')}", rule.fixed_ends(size), rule.fixed_ends(len(after))
    for name, (what, before, then) in (("fixed", fixed), ("content", ("Cuts by content", cut.ends, moved))):
        old = {cut.data[a:b] for a, b in pairwise((0, *before))}
        new = [after[a:b] not in old for a, b in pairwise((0, *then))]
        there = [False] * len(before)
        for when, ends, misses in (("before", before, there), ("after", then, new)):
            items, start, stop, rest = _pieces(ends, misses, place, f"{name} {when}", int(when == "after"))
            if start <= place <= stop:
                text = "10 bytes inserted here" if when == "before" else "+10"
                items = (*items, Item(text, (), place, 0, doc=f"10 bytes are inserted at byte {place:,}."))
            figures.append(Ruler(f"{what}: {when}", start, max(stop, start + 1), items, "bytes"))
            left_out += rest
        new_bytes = sum(b - a for (a, b), miss in zip(pairwise((0, *then)), new, strict=True) if miss)
        totals.append((sum(new), len(new), new_bytes))
    caption = _cuts_caption(totals, rule, size)
    return Drawing("Insert 10 bytes", tuple(figures), (), caption, more=left_out, what_if=True, legend=_CUTS_LEGEND)


def _pieces(
    ends: Sequence[int], misses: Sequence[bool], place: int, name: str, stage: int
) -> tuple[tuple[Item, ...], int, int, int]:
    """Return the pieces around `place`, the byte range that they cover, and the number of pieces left out."""
    starts = [0, *ends[:-1]]
    at = next((n for n, end in enumerate(ends) if end > place), len(ends) - 1)
    first = max(min(at - SHOWN // 3, len(ends) - SHOWN), 0)
    items = []
    for n in range(first, min(first + SHOWN, len(ends))):
        size, miss = ends[n] - starts[n], misses[n]
        doc = f"Piece {n}, {plural(size, 'byte')}: " + ("new, must be stored." if miss else "stored already.")
        tone = Tone.MISS if miss else Tone.DATA
        items.append(Item(f"{size:,}", (), starts[n], size, tone, doc, f"{name} {n}", stage=stage))
    return tuple(items), starts[first], ends[first + len(items) - 1], len(ends) - len(items)


def _cuts_caption(totals: Sequence[tuple[int, int, int]], rule: Rule, size: int) -> str:
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


WHOLE = 12
"""Xorbs of up to this many chunks are drawn completely; of larger ones only the used chunks are drawn."""


@dataclass(frozen=True, slots=True)
class XorbPart:
    """Neighbouring chunks `[first, last)` of one xorb, drawn side by side from `at` on.

    `number` and `count` are -1 if the shard does not list the xorb; its sizes are then estimated from the segments.
    `starts` has the start of each chunk relative to `at`, and the end of the last one.
    """

    xorb: bytes
    number: int
    count: int
    first: int
    last: int
    at: int
    span: Span
    starts: list[float] = field(compare=False)

    @property
    def listed(self) -> bool:
        return self.number >= 0

    @property
    def size(self) -> int:
        return int(self.starts[-1])

    def place(self, chunk: int) -> float:
        return self.at + self.starts[chunk - self.first]


@dataclass(frozen=True, slots=True)
class ChunkRun:
    """Consecutive chunks `[first, last)` of a xorb, used by the same segments (`users`); `span` covers their records.

    If there are too many runs to draw, some are merged; a user may then use only some of the chunks.
    """

    xorb: int
    first: int
    last: int
    at: float
    size: float
    span: Span | None  # None for an unlisted xorb
    users: NDArray[np.int64]


def xorb_parts(scene: MdbScene, segments: Sequence[int]) -> list[XorbPart]:
    """Return the parts of xorbs that the segments use, in order of first use."""
    index = scene.index
    ranges: dict[bytes, list[tuple[int, int, int]]] = {}
    for number in segments:
        row = index.segments[number]
        if not index.segment_faults[number]:
            numbers = int(row["chunk_index_start"]), int(row["chunk_index_end"]), int(row["unpacked_segment_bytes"])
            ranges.setdefault(row["cas_hash"].tobytes(), []).append(numbers)
    parts: list[XorbPart] = []
    at = 0
    for xorb, used in ranges.items():
        number = int(index.rows_of(XORB, np.frombuffer(xorb, np.uint8).reshape(1, -1))[0])
        number = number - index.first_rows[XORB] if number >= 0 else -1
        for first, last in _joined(scene, number, used):
            part = _xorb_part(scene, xorb, number, (first, last), at, used)
            parts.append(part)
            at += part.size
    return parts


def _joined(scene: MdbScene, number: int, used: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    if number >= 0 and int(scene.index.xorbs.counts[number]) <= WHOLE:
        return [(0, int(scene.index.xorbs.counts[number]))]
    joined: list[tuple[int, int]] = []
    for first, last, _ in sorted(used):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def _xorb_part(
    scene: MdbScene, xorb: bytes, number: int, chunks: tuple[int, int], at: int, used: Sequence[tuple[int, int, int]]
) -> XorbPart:
    first, last = chunks
    if number < 0:
        inside = [one for one in used if first <= one[0] and one[1] <= last]
        each = sum(size for _, _, size in inside) / max(sum(b - a for a, b, _ in inside), 1)
        size, count = round(each * (last - first)), last - first
        return XorbPart(xorb, -1, -1, first, last, at, Span("", 0, 0), [size * n / count for n in range(count + 1)])
    index = scene.index
    section, begin = index.xorbs, int(index.xorbs.bounds[number])
    sizes = index.chunks["unpacked_segment_bytes"][begin + first : begin + last].astype(np.int64)
    starts = [0, *np.cumsum(sizes).tolist()]
    count, span = int(section.counts[number]), section.span(section.headers[number])
    return XorbPart(xorb, number, count, first, last, at, span, starts)


def chunk_runs(scene: MdbScene, parts: Sequence[XorbPart], most: int) -> list[ChunkRun]:
    """Return at most `most` runs: single chunks if there are few, otherwise the chunks between two segment ends."""
    single = sum(part.last - part.first for part in parts if part.listed) <= most
    pieces: list[ChunkRun] = []
    each = most // max(len(parts), 1)
    for part in parts:
        users = scene.users_of(part.xorb, part.first, part.last)
        firsts, lasts = (edges[users] for edges in scene.edges)
        if single and part.listed:
            edges = list(range(part.first, part.last + 1))
        else:
            inside = np.unique(np.concatenate([firsts, lasts]))
            inside = inside[(inside > part.first) & (inside < part.last)]
            edges = [part.first, *inside[: max(each - 1, 0)].tolist(), part.last]
        for first, last in pairwise(edges):
            if len(pieces) < most:
                at, end, records = part.place(first), part.place(last), None
                if part.listed:
                    section = scene.index.xorbs
                    records = section.span(section.headers[part.number] + 1 + first, last - first)
                same = users[(firsts < last) & (lasts > first)]
                pieces.append(ChunkRun(part.number, first, last, at, end - at, records, same))
    return pieces


MOST_FILES = 7
MOST_SEGMENTS = 17
"""Maximum number of segments drawn, of all files together."""

FIRST_SEGMENTS = 12
"""Maximum number of segments drawn of the chosen file."""

MOST_XORBS = 6
_TRIED = 64  # candidates examined per file drawn
_LARGER = 12  # files this many times larger would leave too little width for the chosen one


@dataclass(frozen=True, slots=True)
class DrawnFile:
    """A drawn file: numbers of its drawn segments in the shard, and the count of all its segments."""

    number: int
    segments: range
    count: int


def files_around(scene: MdbScene, number: int) -> list[DrawnFile]:
    """Return the files to draw with file `number`, in record order; files that share chunks or xorbs are preferred."""
    bounds, sizes = scene.index.files.bounds, scene.index.file_sizes
    first, last = bounds[number : number + 2].tolist()
    drawn = [DrawnFile(number, range(first, min(last, first + FIRST_SEGMENTS)), last - first)]
    room, size = MOST_SEGMENTS - len(drawn[0].segments), int(sizes[number])
    known = {number}
    xorbs = _xorbs(scene, drawn[0].segments)
    for other in _others(scene, drawn[0].segments):
        if len(drawn) == MOST_FILES or len(known) > _TRIED * MOST_FILES:
            break
        if other in known:
            continue
        known.add(other)
        first, last = bounds[other : other + 2].tolist()
        fits = last - first <= room and (not size or int(sizes[other]) <= _LARGER * size)
        if fits and len(both := xorbs | _xorbs(scene, range(first, last))) <= MOST_XORBS:
            drawn.append(DrawnFile(other, range(first, last), last - first))
            room, xorbs = room - (last - first), both
    return sorted(drawn, key=lambda one: one.number)


def _xorbs(scene: MdbScene, segments: range) -> set[bytes]:
    rows = scene.index.segments[segments.start : segments.stop]
    return {row.tobytes() for row in rows["cas_hash"]}


def _others(scene: MdbScene, segments: range) -> Iterator[int]:
    """Yield other files: those that share chunks, then those that share xorbs, then any; files may repeat."""
    near: list[NDArray[np.int64]] = []
    used = sorted(_xorbs(scene, segments))[:MOST_XORBS]
    firsts, lasts = scene.edges
    for number in segments:
        xorb = scene.index.segments[number]["cas_hash"].tobytes()
        if xorb in used:
            near.append(scene.users_of(xorb, int(firsts[number]), int(lasts[number])))
    for found in (*near, *(scene.users(xorb) for xorb in used)):
        yield from np.unique(scene.files_of(found[: _TRIED * MOST_FILES])).tolist()
    yield from range(min(scene.index.counts[0], _TRIED * MOST_FILES))


MOST_SPANS = 40
"""Maximum number of segments highlighted with a chunk."""

MOST_PIECES = 24

_LEGEND = {
    Tone.KEY: "the chosen file",
    Tone.ONE: "chunks that several segments use",
    Tone.EMPTY: "chunks that no file of this shard uses",
    Tone.MISS: "damaged",
}


class ChunkMapSketch(SceneSketch[MdbScene]):
    name = "ribbons"
    title = "Chunk map"

    @property
    def controls(self) -> tuple[Control, ...]:
        return self._scene.controls

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        number = chosen(self._scene.ready_controls(), values).get(FILE, self._scene.number)
        if not self._scene.index.counts[0]:
            return Drawing(self.title, (), caption="This shard lists no files, only xorbs and their chunks.")
        return chunk_map_drawing(self._scene, number)


def chunk_map_drawing(scene: MdbScene, number: int) -> Drawing:
    files = files_around(scene, number)
    parts = xorb_parts(scene, [segment for drawn in files for segment in drawn.segments])
    above, bands, at = [], [], 0
    for drawn in files:
        here = drawn.number == number
        begin = at
        for segment in drawn.segments:
            size = int(scene.index.segments["unpacked_segment_bytes"][segment])
            band = _band(scene, parts, segment, (at, size), here=here)
            bands += [band] if band is not None else []
            at += size
        above.append(_file(scene, drawn, begin, at - begin, here=here))
    pieces = chunk_runs(scene, parts, min(MOST_ITEMS - len(above) - len(bands) - len(parts), MOST_PIECES))
    below = [_xorb(scene, part) for part in parts] + [_piece(scene, piece) for piece in pieces]
    end = parts[-1].at + parts[-1].size if parts else 0
    figure = Ribbon(
        "Each band is a segment: bytes of a file, chunks of a xorb",
        Ruler("Files (uncompressed bytes)", 0, max(at, 1), tuple(above), "bytes"),
        Ruler("Xorbs (uncompressed bytes of their chunks)", 0, max(end, 1), tuple(below), "bytes"),
        # Bands of the chosen file are drawn last, on top.
        tuple(sorted(bands, key=lambda band: band.item.here)),
    )
    files_left, segments_left = scene.index.counts[0] - len(files), len(scene.index.segments) - len(bands)
    caption = "The requested key is not in this shard. " if scene.key is not None and scene.row < 0 else ""
    caption += _caption(scene.sums, any(not part.listed for part in parts))
    left_out = files_left + segments_left
    return Drawing("Files and their chunks", (figure,), (), caption, more=left_out, legend=_LEGEND)


def _file(scene: MdbScene, drawn: DrawnFile, at: int, size: int, *, here: bool) -> Item:
    index = scene.index
    section, number = index.files, drawn.number
    header = int(section.headers[number])
    span = section.span(header, int(section.ends[number]) - header)
    text = to_text(section.hashes[header].tobytes())
    doc = f"File {text}: {plural(index.file_sizes[number], 'byte')} in {plural(drawn.count, 'segment')}"
    doc += f", of which {len(drawn.segments)} are drawn." if len(drawn.segments) < drawn.count else "."
    if fault := index.file_fault(number):
        doc += f" It is damaged: {fault}."
    name = f"{text[:4]}…" if size else "empty file"
    tone = Tone.MISS if fault else Tone.KEY if here else Tone.METADATA
    return Item(name, (span,), at, size, tone, doc, f"file {number}", here=here)


def _segment_span(scene: MdbScene, segment: int) -> Span:
    return scene.index.files.span(scene.index.files.entries[segment])


def _band(
    scene: MdbScene, parts: Sequence[XorbPart], segment: int, above: tuple[int, int], *, here: bool
) -> Band | None:
    row = scene.index.segments[segment]
    first, last = int(row["chunk_index_start"]), int(row["chunk_index_end"])
    xorb = row["cas_hash"].tobytes()
    part = next((one for one in parts if one.xorb == xorb and one.first <= first and last <= one.last), None)
    if part is None or first >= last:
        return None
    chunks = f"chunk {first}" if last == first + 1 else f"chunks {first} to {last - 1}"
    doc = f"{plural(above[1], 'byte')} of the file are {chunks} of xorb {to_text(xorb)[:16]}…"
    tone = Tone.KEY if here else Tone.METADATA
    item = Item("", (_segment_span(scene, segment),), above[0], above[1], tone, doc, here=here)
    return Band(item, (part.place(first), part.place(last)))


def _xorb(scene: MdbScene, part: XorbPart) -> Item:
    name = to_text(part.xorb)
    whole = part.count == part.last - part.first
    chunks = _chunks_text(part.first, part.last)
    text = f"xorb {name[:4]}…" if whole else f"xorb {name[:4]}… {chunks}"
    if not part.listed:
        doc = f"Xorb {name}: another shard lists its chunks; their sizes are estimated from the segments."
        return Item(text, (), part.at, part.size, Tone.FAINT, doc)
    drawn = "" if whole else f"; only chunks {chunks} are drawn"
    doc = f"Xorb {name}: {plural(part.count, 'chunk')}{drawn}."
    return Item(text, (part.span,), part.at, part.size, Tone.INDEX, doc, here=scene.place == (part.number, -1))


def _piece(scene: MdbScene, piece: ChunkRun) -> Item:
    users = piece.users
    one = piece.last == piece.first + 1
    chunks = _chunks_text(piece.first, piece.last)
    name = f"chunk {chunks} in xorb {piece.xorb}" if piece.span else ""
    spans = ([piece.span] if piece.span else []) + [_segment_span(scene, number) for number in users[:MOST_SPANS]]
    if not len(users):
        doc = f"Chunk {chunks}: no file of this shard uses it."
        return Item(chunks, tuple(spans), piece.at, piece.size, Tone.EMPTY, doc, name)
    noun = "Chunk" if one else "Chunks"
    files = plural(len(set(scene.files_of(users).tolist())), "file")
    doc = f"{noun} {chunks}: {plural(piece.size, 'byte')}, in {plural(len(users), 'segment')} of {files}"
    shared = len(users) > 1
    doc += "; stored once." if shared and piece.span else "."
    text = f"{chunks} ×{len(users)}" if shared else chunks
    tone = Tone.ONE if shared else Tone.DATA if piece.span else Tone.FAINT
    here = piece.xorb == scene.place[0] and piece.first <= scene.place[1] < piece.last
    return Item(text, tuple(spans), piece.at, piece.size, tone, doc, name, here=here)


def _caption(sums: Sums, elsewhere: bool) -> str:
    text = (
        f"The files of this shard use {plural(sums.described, 'byte')} of the listed xorbs, which store "
        f"{sums.stored:,}: chunks that are used twice or more (×2, …) are stored once."
    )
    if sums.elsewhere:
        text += f" {plural(sums.elsewhere, 'byte')} more are in xorbs that another shard lists"
        text += ", drawn faintly." if elsewhere else "."
    return text


def _chunks_text(first: int, last: int) -> str:
    return f"{first}" if last <= first + 1 else f"{first}–{last - 1}"
