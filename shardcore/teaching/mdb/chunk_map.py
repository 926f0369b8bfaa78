"""Drawing of files above xorbs with a band per segment: how files are built and what they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import to_text
from shardcore.formats.mdb.layout import FILE, RECORD_SIZE, XORB
from shardcore.model.drawing import MOST_ITEMS, Band, Control, Drawing, Item, Ribbon, Ruler, Tone, chosen
from shardcore.model.number_text import plural
from shardcore.model.span import Span
from shardcore.teaching.mdb.scene import MdbScene, Sums

WHOLE = 12
"""Xorbs of up to this many chunks are drawn completely; of larger ones only the used chunks are drawn."""


@dataclass(frozen=True, slots=True)
class XorbPart:
    """Neighbouring chunks `[first, last)` of one xorb, drawn side by side from `at` on.

    `number` and `count` are -1 if the shard does not list the xorb; `size` is then estimated from the segments.
    `starts` has the start of each chunk relative to `at`, and the end of the last one.
    """

    xorb: bytes
    number: int
    count: int
    first: int
    last: int
    at: int
    size: int
    span: Span
    starts: NDArray[np.int64] | None = field(compare=False)

    @property
    def listed(self) -> bool:
        return self.number >= 0

    def place(self, chunk: int) -> float:
        if self.starts is not None:
            return self.at + int(self.starts[chunk - self.first])
        return self.at + self.size * (chunk - self.first) / (self.last - self.first)


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
            first, last, size = (
                int(row[name]) for name in ("chunk_index_start", "chunk_index_end", "unpacked_segment_bytes")
            )
            ranges.setdefault(row["cas_hash"].tobytes(), []).append((first, last, size))
    parts: list[XorbPart] = []
    at = 0
    for xorb, used in ranges.items():
        number = int(index.rows_of(XORB, np.frombuffer(xorb, np.uint8).reshape(1, -1))[0])
        number = number - index.first_row(XORB) if number >= 0 else -1
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
        return XorbPart(xorb, -1, -1, first, last, at, round(each * (last - first)), Span("", 0, 0), None)
    index = scene.index
    section, begin = index.xorbs, int(index.xorbs.bounds[number])
    sizes = index.chunks["unpacked_segment_bytes"][begin + first : begin + last].astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    header = section.byte_of(int(section.headers[number]))
    span = Span("", header, header + RECORD_SIZE)
    return XorbPart(xorb, number, int(section.counts[number]), first, last, at, int(starts[-1]), span, starts)


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
                at, end = part.place(first), part.place(last)
                same = users[(firsts < last) & (lasts > first)]
                pieces.append(
                    ChunkRun(part.number, first, last, at, end - at, _records(scene, part, first, last), same)
                )
    return pieces


def _records(scene: MdbScene, part: XorbPart, first: int, last: int) -> Span | None:
    if not part.listed:
        return None
    section = scene.index.xorbs
    header = int(section.headers[part.number])
    return Span("", section.byte_of(header + 1 + first), section.byte_of(header + 1 + last))


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


class ChunkMapSketch:
    name = "ribbons"
    title = "Chunk map"

    def __init__(self, scene: MdbScene) -> None:
        self._scene = scene

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
    start, stop = section.byte_of(int(section.headers[number])), section.byte_of(int(section.ends[number]))
    text = to_text(section.hashes[section.headers[number]].tobytes())
    doc = f"File {text}: {plural(index.file_sizes[number], 'byte')} in {plural(drawn.count, 'segment')}"
    doc += f", of which {len(drawn.segments)} are drawn." if len(drawn.segments) < drawn.count else "."
    if fault := index.file_fault(number):
        doc += f" It is damaged: {fault}."
    name = f"{text[:4]}…" if size else "empty file"
    tone = Tone.MISS if fault else Tone.KEY if here else Tone.METADATA
    return Item(name, (Span("", start, stop),), at, size, tone, doc, here=here)


def _segment_span(scene: MdbScene, segment: int) -> Span:
    start = scene.index.files.byte_of(int(scene.index.files.entries[segment]))
    return Span("", start, start + RECORD_SIZE)


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
    here = scene.place == (part.number, -1)
    return Item(text, (part.span,), part.at, part.size, Tone.INDEX, doc, here=here)


def _piece(scene: MdbScene, piece: ChunkRun) -> Item:
    users = piece.users
    one = piece.last == piece.first + 1
    chunks = _chunks_text(piece.first, piece.last)
    spans = ([piece.span] if piece.span else []) + [_segment_span(scene, number) for number in users[:MOST_SPANS]]
    if not len(users):
        doc = f"Chunk {chunks}: no file of this shard uses it."
        return Item(chunks, tuple(spans), piece.at, piece.size, Tone.EMPTY, doc)
    noun = "Chunk" if one else "Chunks"
    files = len(set(scene.files_of(users).tolist()))
    doc = (
        f"{noun} {chunks}: {plural(piece.size, 'byte')}, in {plural(len(users), 'segment')} of {plural(files, 'file')}"
    )
    shared = len(users) > 1
    doc += "; stored once." if shared and piece.span else "."
    text = f"{chunks} ×{len(users)}" if shared else chunks
    tone = Tone.ONE if shared else Tone.DATA if piece.span else Tone.FAINT
    here = piece.xorb == scene.place[0] and piece.first <= scene.place[1] < piece.last
    return Item(text, tuple(spans), piece.at, piece.size, tone, doc, here=here)


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
