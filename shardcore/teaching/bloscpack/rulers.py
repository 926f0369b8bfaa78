"""The sketch `rulers`: from an element to its byte, chunk and block, uncompressed and stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardcore.errors import LimitExceeded
from shardcore.model.drawing import Control, Drawing, Figure, Link, Tone
from shardcore.model.number_text import grouped_digits, plural
from shardcore.shards.trace import FOUND
from shardcore.teaching.bloscpack.ruler_figures import (
    CHUNKS,
    WALKED,
    blocks_figure,
    chunks_figure,
    slots_figure,
    walk_figure,
    way_figure,
)
from shardcore.teaching.bloscpack.scene import ChunkScene, PlacedChunk


class RulersSketch:
    name = "rulers"
    title = "Rulers"

    def __init__(self, scene: ChunkScene) -> None:
        self._scene = scene

    @property
    def controls(self) -> tuple[Control, ...]:
        return self._scene.controls()

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        scene = self._scene
        number, block = scene.chosen(self.controls, values)
        file = scene.file
        if file.header.nchunks == 0 or (file.table.loaded and not len(file.table)):
            return Drawing("No chunks", (), (), "The file has no chunks.")
        chunks = scene.around(number, CHUNKS)
        chunk = next(one for one in chunks if one.number == number)
        within = scene.within if number == scene.chunk else None
        figures: list[Figure] = []
        rows = self._way(chunk) if within is not None else []
        if rows:
            figures.append(way_figure(rows))
        byte = None if within is None else chunk.plain + within
        figures.append(chunks_figure(file, chunks, number, byte))
        links, good = list[Link](), False
        if (slots := slots_figure(file, chunks, number)) is not None:
            figures.append(slots[0])
            good = slots[1]
            if good:
                links.append(Link(f"slot {number}", f"start {number}", tone=Tone.POINTER))
        if not good and number:
            ruler, arcs = walk_figure(file, scene.around(number, WALKED), number)
            figures.append(ruler)
            links += arcs
        more = len(file.table) - len(chunks) if self.controls else 0
        caption = self._caption(chunk, good=good, offsets=slots is not None)
        try:
            found = scene.mapped(number)
            stored = scene.stored(number)
        except LimitExceeded as error:
            caption += f" {error.message[:1].upper()}{error.message[1:]}."
        else:
            ribbon, left = blocks_figure(stored, found, min(block, max(len(found.starts) - 1, 0)), within)
            figures.append(ribbon)
            more += left
        title = f"Location of chunk {number}"
        if scene.trace is not None and within is not None:
            title = f"Location of {scene.trace.key}"
        return Drawing(title, tuple(figures), tuple(links), caption, max(more, 0))

    def _way(self, chunk: PlacedChunk) -> list[tuple[str, str, str, Tone]]:
        scene = self._scene
        arrived, within = scene.arrived, scene.within
        if arrived is None or within is None or scene.trace is None:
            return []
        number, inside = int(arrived.values["chunk"]), int(arrived.values["within"])
        rows = []
        if (element := scene.element) is not None:
            at, size = int(element.values["element"]), int(element.values["itemsize"])
            rows.append(("element", scene.trace.key, f"number {at}", Tone.KEY))
            byte = int(element.values["byte"])
            rows.append(("uncompressed byte", str(byte), f"{at} × {size}", Tone.ONE))
        else:
            byte = int(scene.trace.key.removeprefix("@"))
            rows.append(("uncompressed byte", str(byte), "requested", Tone.KEY))
        size = (byte - inside) // number if number else 0
        how = (f"// {size}", f"mod {size}") if size else ("first chunk", "unchanged")
        rows.append(("chunk", str(number), how[0], Tone.TWO))
        rows.append(("byte of it", str(inside), how[1], Tone.TWO))
        if chunk.header.nblocks:
            block, rest = divmod(within, chunk.header.blocksize)
            rows.append(("block", str(block), f"// {chunk.header.blocksize}", Tone.THREE))
            rows.append(("byte of it", str(rest), f"mod {chunk.header.blocksize}", Tone.THREE))
        return rows

    def _caption(self, chunk: PlacedChunk, *, good: bool, offsets: bool) -> str:
        scene = self._scene
        trace = scene.trace
        missing = ""
        if trace is not None and trace.outcome != FOUND and trace.error:
            missing = f"Not found: {trace.error}. "
        stored = chunk.stop - chunk.place
        size = plural(chunk.header.nbytes, "uncompressed byte")
        gain = f"{size} of chunk {chunk.number} take {grouped_digits(stored)} in the file"
        if chunk.header.nbytes < stored:
            gain += ", more because of header and checksum"
        place = "the offset gives its start" if good else "a reader walks from chunk to chunk"
        if not good and offsets:
            place = "its offset is not valid, so a reader walks from chunk to chunk"
        if not good and not chunk.number:
            place = "the first chunk begins right after the header and metadata"
        return f"{missing}{gain}. Stored chunks differ in length; {place}."
