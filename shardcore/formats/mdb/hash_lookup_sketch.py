"""The short entrance: the first 16 digits of a hash, the rows of the table around them, the record, the whole hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shardcore.codecs.xet.hashes import truncated
from shardcore.formats.mdb import drawings
from shardcore.formats.mdb.geometry import CHUNK, FILE, XORB, LookupTable
from shardcore.formats.mdb.hashes import protect
from shardcore.formats.mdb.layout import RECORD_SIZE
from shardcore.formats.mdb.sketch_scene import MdbScene
from shardcore.model.drawing import Control, Drawing, Figure, Link, Tone, chosen
from shardcore.model.span import Span


class HashLookupSketch:
    """Drawing of a lookup by the first 16 digits of a hash.

    Args:
        scene: The shard, and what is looked for.

    Attributes:
        controls: None.
    """

    name = "entrance"
    title = "Hash lookup"
    controls: tuple[Control, ...] = ()

    def __init__(self, scene: MdbScene) -> None:
        self._scene = scene

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        """The drawing; see `Sketch.draw`."""
        chosen(self.controls, values)
        kind, raw = self._sought()
        if not raw:
            return Drawing(self.title, (), caption="This shard lists nothing that could be looked for.")
        table = self._scene.file.geometry.tables.get(kind)
        return self._by_table(table, raw) if table is not None else self._without(kind, raw)

    def _sought(self) -> tuple[str, bytes]:
        """Kind and stored hash of what is looked for: of the key, or of the first object that there is."""
        scene, index = self._scene, self._scene.index
        key, secret = scene.key, scene.file.geometry.key
        if key is not None and key.kind == CHUNK:
            # A hash that was copied out of the shard is under the key already.
            stored = scene.row < 0 or index.rows_of(CHUNK, np.frombuffer(key.raw, np.uint8).reshape(1, -1))[0] < 0
            return CHUNK, protect(secret, key.raw) if stored else key.raw
        if key is not None:
            return key.kind, key.raw
        files, xorbs, _ = index.counts
        kind = FILE if files else XORB
        section, number = index.section(kind), scene.number if files else 0
        return kind, section.hashes[section.headers[number]].tobytes() if files or xorbs else b""

    def _by_table(self, table: LookupTable, raw: bytes) -> Drawing:
        scene, index, key = self._scene, self._scene.index, truncated(raw)
        rows = index.table_rows(table.kind)
        at = int(np.searchsorted(rows["key"], np.uint64(key), "left"))
        end = int(np.searchsorted(rows["key"], np.uint64(key), "right"))
        hit = next(
            (number for number in range(at, min(end, at + drawings.ROWS)) if self._stored(table, number) == raw), at
        )
        begin = max(hit - drawings.ROWS, 0)
        near = [table.record.values(row) for row in rows[begin : hit + drawings.ROWS]]
        figures: list[Figure] = [drawings.key_figure(raw, "key"), drawings.rows_figure(table, begin, near, key, hit)]
        place = self._place(table, hit) if at < end else None
        left_out = max(table.count - drawings.ROWS, 0)
        if place is None:
            caption = (
                f"No entry has these 16 digits, so the {table.kind} is not in this shard: 8 bytes of each hash are "
                "enough to know that."
            )
            return Drawing("Hash lookup", tuple(figures), (), caption, more=left_out)
        section, number = scene.file.geometry.section(table.kind), self._number(table.kind, place)
        figures.append(drawings.section_figure(table.kind, section, place, f"record {number}"))
        stored = index.data[place.start : place.start + len(raw)]
        figures.append(drawings.compare_figure(raw, stored, place, "stored"))
        links = (Link("key", "row", tone=Tone.KEY), Link("row", "record", tone=Tone.POINTER), Link("record", "stored"))
        caption = (
            "Sixteen digits find the entry, the entry names the record, the record has all 64 digits: only they decide."
        )
        legend = drawings.COMPARED
        return Drawing("Hash lookup", tuple(figures), links, caption, more=left_out, legend=legend)

    def _without(self, kind: str, raw: bytes) -> Drawing:
        """Draw the lookup in a shard without a table of the kind: every record is compared."""
        index = self._scene.index
        row = int(index.rows_of(kind, np.frombuffer(raw, np.uint8).reshape(1, -1))[0])
        section = index.section(kind)
        hits: list[Span] = []
        if row >= 0:
            inside = row - index.first_row(kind)
            record = int((section.entries if kind == CHUNK else section.headers)[inside])
            hits = [Span("", section.byte_of(record), section.byte_of(record + 1))]
        whole = Span("", section.start, section.stop_byte)
        count = len(section.entries if kind == CHUNK else section.headers)
        drawing = drawings.walk_drawing(kind, whole, hits, count)
        compared = [drawings.compare_figure(raw, raw, hit) for hit in hits]
        figures = (drawings.key_figure(raw), *(drawing.figures if whole.size else ()), *compared)
        return Drawing("Hash lookup without a table", figures, (), drawing.caption, more=drawing.more)

    def _number(self, kind: str, place: Span) -> int:
        return (place.start - self._scene.file.geometry.section(kind)[0]) // RECORD_SIZE

    def _place(self, table: LookupTable, number: int) -> Span | None:
        """The record with the hash that an entry leads to; None where it lies in no section."""
        row = table.record.values(self._scene.index.table_rows(table.kind)[number])
        places = self._scene.file.geometry.entry_places(table.kind, row["index"], row.get("chunk", -1))
        return places[1] if places is not None else None

    def _stored(self, table: LookupTable, number: int) -> bytes:
        place = self._place(table, number)
        return self._scene.index.data[place.start : place.start + 32] if place is not None else b""
