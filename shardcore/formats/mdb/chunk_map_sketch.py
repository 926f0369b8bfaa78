"""Files above, xorbs below, a band for each segment: how files are put together, and what they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shardcore.codecs.xet.hashes import to_text
from shardcore.formats.mdb.chunk_map_rows import Piece, Shelf, pieces_of, shelves_of
from shardcore.formats.mdb.drawings import chunks_text
from shardcore.formats.mdb.drawn_files import Drawn, files_around
from shardcore.formats.mdb.geometry import FILE
from shardcore.formats.mdb.layout import RECORD_SIZE
from shardcore.formats.mdb.sketch_scene import Scene, Sums
from shardcore.model.drawing import MOST_ITEMS, Band, Control, Drawing, Item, Ribbon, Ruler, Tone
from shardcore.model.drawing_controls import chosen
from shardcore.model.number_words import plural
from shardcore.model.span import Span

MOST_SPANS = 40
"""Segments that light with a chunk; of a chunk with more, the first ones."""

MOST_PIECES = 24

_LEGEND = {
    Tone.KEY: "the file looked at",
    Tone.ONE: "chunks that several segments use",
    Tone.EMPTY: "chunks that no file of this shard uses",
    Tone.MISS: "damaged",
}


class RibbonsSketch:
    """The files of a shard over the xorbs that they are made of.

    Args:
        scene: The shard, and which file.
    """

    name = "ribbons"
    title = "Chunk map"

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @property
    def controls(self) -> tuple[Control, ...]:
        """Which file the drawing is about."""
        return self._scene.controls

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        """The drawing; see `Sketch.draw`."""
        number = chosen(self._scene.ready_controls(), values).get(FILE, self._scene.number)
        if not self._scene.index.counts[0]:
            return Drawing(self.title, (), caption="This shard lists no file: only chunks, and the xorbs they lie in.")
        return ribbons_drawing(self._scene, number)


def ribbons_drawing(scene: Scene, number: int) -> Drawing:
    """A file and those that share with it, over their xorbs.

    Args:
        scene: The shard.
        number: The file in question.
    """
    files = files_around(scene, number)
    shelves = shelves_of(scene, [segment for drawn in files for segment in drawn.segments])
    above, bands, at = [], [], 0
    for drawn in files:
        here = drawn.number == number
        begin = at
        for segment in drawn.segments:
            size = int(scene.index.segments["unpacked_segment_bytes"][segment])
            band = _band(scene, shelves, segment, (at, size), here=here)
            bands += [band] if band is not None else []
            at += size
        above.append(_file(scene, drawn, begin, at - begin, here=here))
    pieces = pieces_of(scene, shelves, min(MOST_ITEMS - len(above) - len(bands) - len(shelves), MOST_PIECES))
    below = [_xorb(scene, shelf) for shelf in shelves] + [_piece(scene, piece) for piece in pieces]
    end = shelves[-1].at + shelves[-1].size if shelves else 0
    figure = Ribbon(
        "Each band is a segment: bytes of a file, chunks of a xorb",
        Ruler("Files, their uncompressed bytes", 0, max(at, 1), tuple(above), "bytes"),
        Ruler("Xorbs, the uncompressed bytes of their chunks", 0, max(end, 1), tuple(below), "bytes"),
        # What is looked at lies over the others.
        tuple(sorted(bands, key=lambda band: band.item.here)),
    )
    files_left, segments_left = scene.index.counts[0] - len(files), len(scene.index.segments) - len(bands)
    caption = "Nothing in this shard has the key looked for. " if scene.key is not None and scene.row < 0 else ""
    caption += _caption(scene.sums, any(not shelf.listed for shelf in shelves))
    left_out = files_left + segments_left
    return Drawing("What files are made of", (figure,), (), caption, more=left_out, legend=_LEGEND)


def _file(scene: Scene, drawn: Drawn, at: int, size: int, *, here: bool) -> Item:
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


def _segment_span(scene: Scene, segment: int) -> Span:
    start = scene.index.files.byte_of(int(scene.index.files.entries[segment]))
    return Span("", start, start + RECORD_SIZE)


def _band(scene: Scene, shelves: Sequence[Shelf], segment: int, above: tuple[int, int], *, here: bool) -> Band | None:
    row = scene.index.segments[segment]
    first, last = int(row["chunk_index_start"]), int(row["chunk_index_end"])
    xorb = row["cas_hash"].tobytes()
    shelf = next((one for one in shelves if one.xorb == xorb and one.first <= first and last <= one.last), None)
    if shelf is None or first >= last:
        return None
    chunks = f"chunk {first}" if last == first + 1 else f"chunks {first} to {last - 1}"
    doc = f"{plural(above[1], 'byte')} of the file are {chunks} of xorb {to_text(xorb)[:16]}…"
    tone = Tone.KEY if here else Tone.METADATA
    item = Item("", (_segment_span(scene, segment),), above[0], above[1], tone, doc, here=here)
    return Band(item, (shelf.place(first), shelf.place(last)))


def _xorb(scene: Scene, shelf: Shelf) -> Item:
    name = to_text(shelf.xorb)
    whole = shelf.count == shelf.last - shelf.first
    chunks = chunks_text(shelf.first, shelf.last)
    text = f"xorb {name[:4]}…" if whole else f"xorb {name[:4]}… {chunks}"
    if not shelf.listed:
        doc = f"Xorb {name}: another shard lists its chunks, so what is known of them is what the segments say."
        return Item(text, (), shelf.at, shelf.size, Tone.FAINT, doc)
    part = "" if whole else f"; only chunks {chunks} are drawn"
    doc = f"Xorb {name}: {plural(shelf.count, 'chunk')}{part}."
    here = scene.place == (shelf.number, -1)
    return Item(text, (shelf.span,), shelf.at, shelf.size, Tone.INDEX, doc, here=here)


def _piece(scene: Scene, piece: Piece) -> Item:
    """Some chunks with what uses them: pointing at it lights all of that."""
    users = piece.users
    one = piece.last == piece.first + 1
    chunks = chunks_text(piece.first, piece.last)
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
    return Item(text, tuple(spans), piece.at, piece.size, tone, doc, here=_asked(scene, piece))


def _asked(scene: Scene, piece: Piece) -> bool:
    """Whether the chunk that is looked for is among some."""
    xorb, chunk = scene.place
    return piece.xorb == xorb and piece.first <= chunk < piece.last


def _caption(sums: Sums, elsewhere: bool) -> str:
    """What is gained over the whole shard."""
    told = (
        f"The files of this shard describe {plural(sums.described, 'byte')} of the xorbs that it lists, which store "
        f"{sums.stored:,}: what is used several times (×2 and more) is stored once."
    )
    if sums.elsewhere:
        told += f" {plural(sums.elsewhere, 'byte')} more lie in xorbs that another shard lists"
        told += ", drawn faintly." if elsewhere else "."
    return told
