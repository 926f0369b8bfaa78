"""Drawing *Hash lookup*: from the first 16 digits of a hash to the table row, the record and the full hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import SIZE, to_text, truncated
from shardcore.dataclasses import replace
from shardcore.formats.mdb.layout import CHUNK, FILE, RECORD_SIZE, XORB, LookupTable, protect, section_name
from shardcore.model.drawing import Drawing, Figure, Item, Link, Ruler, Table, Tone, window
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.teaching import SceneSketch, item_of
from shardcore.teaching.mdb.scene import MdbScene

_ROWS = 7
"""Number of table rows drawn."""

_COMPARED = {Tone.HIT: "match", Tone.MISS: "differs"}
_WORD = 16  # digits per word of the hash


class HashLookupSketch(SceneSketch[MdbScene]):
    name = "entrance"
    title = "Hash lookup"

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        self.chosen(values)
        kind, raw = self._requested()
        if not raw:
            return Drawing(self.title, (), caption="This shard lists no files and no xorbs.")
        table = self._scene.file.layout.tables.get(kind)
        return self._by_table(table, raw) if table is not None else self._without(kind, raw)

    def _requested(self) -> tuple[str, bytes]:
        """Return kind and stored hash of the requested key, or of the first file or xorb."""
        scene, index = self._scene, self._scene.index
        key, secret = scene.key, scene.file.layout.key
        if key is not None and key.kind == CHUNK:
            # A hash copied from the shard is already protected by the HMAC key of the shard.
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
        hit = next((number for number in range(at, min(end, at + _ROWS)) if self._stored(table, number) == raw), at)
        begin = max(hit - _ROWS, 0)
        near = [table.record.values(row) for row in rows[begin : hit + _ROWS]]
        figures: list[Figure] = [_key_figure(raw, "key"), _rows_figure(table, begin, near, key, hit)]
        place = self._place(table, hit) if at < end else None
        left_out = max(table.count - _ROWS, 0)
        if place is None:
            caption = f"No entry has these 16 digits, so the {table.kind} is not in this shard."
            return Drawing("Hash lookup", tuple(figures), (), caption, more=left_out)
        section = scene.file.layout.section(table.kind)
        number = (place.start - section[0]) // RECORD_SIZE
        figures.append(_section_figure(table.kind, section, place, f"record {number}"))
        stored = index.data[place.start : place.start + len(raw)]
        figures.append(_compare_figure(raw, stored, place, "stored"))
        links = (Link("key", "row", tone=Tone.KEY), Link("row", "record", tone=Tone.POINTER), Link("record", "stored"))
        caption = "The first 16 digits give the entry, the entry gives the record, and its 64 digits are compared."
        return Drawing("Hash lookup", tuple(figures), links, caption, more=left_out, legend=_COMPARED)

    def _without(self, kind: str, raw: bytes) -> Drawing:
        index = self._scene.index
        row = int(index.rows_of(kind, np.frombuffer(raw, np.uint8).reshape(1, -1))[0])
        section = index.section(kind)
        records = section.entries if kind == CHUNK else section.headers
        whole, compared = Span("", section.start, section.stop_byte), []
        items = [item_of(plural(len(records), kind), whole, Tone.FAINT, "All records are compared.")]
        if row >= 0:
            hit = section.span(records[row - index.first_rows[kind]])
            number = (hit.start - whole.start) // RECORD_SIZE
            items.append(item_of(f"record {number}", hit, Tone.HIT, "This record has the hash.", here=True))
            compared.append(_compare_figure(raw, raw, hit))
        ruler = Ruler("The section, from its first record on", whole.start, whole.stop, tuple(items), "bytes")
        figures = (_key_figure(raw), *((ruler,) if whole.size else ()), *compared)
        caption = "Without a table every record is read, up to the end mark."
        return Drawing("Hash lookup without a table", figures, (), caption)

    def _place(self, table: LookupTable, number: int) -> Span | None:
        row = table.record.values(self._scene.index.table_rows(table.kind)[number])
        places = self._scene.file.layout.entry_places(table.kind, row["index"], row.get("chunk", -1))
        return places[1] if places is not None else None

    def _stored(self, table: LookupTable, number: int) -> bytes:
        place = self._place(table, number)
        return self._scene.index.data[place.start : place.start + 32] if place is not None else b""


def _key_figure(raw: bytes, name: str = "") -> Table:
    text = to_text(raw)
    head = Item(text[:_WORD], tone=Tone.KEY, doc="The first 16 digits: the table key.", name=name, here=True)
    rest = f"{text[_WORD : 2 * _WORD]}…"
    number = grouped_digits(truncated(raw))
    row = (head, Item(rest, tone=Tone.FAINT, doc=f"The other 48 digits: {text[_WORD:]}."), Item(number))
    headings = ("first 16 digits: the table key", "other 48 digits", "the key as a number")
    return Table("The requested hash", headings, (row,))


def _rows_figure(table: LookupTable, first: int, rows: Sequence[dict[str, Any]], key: int, at: int) -> Table:
    """Return the table rows around row `at`, at which `key` is or would be; `first` is the number of `rows[0]`."""
    shown = window(len(rows), at - first, _ROWS)
    chunks = table.kind == CHUNK
    lines = []
    for number in shown:
        row, span = rows[number], table.span(first + number, first + number + 1)
        hit = row["key"] == key
        tone = Tone.HIT if hit else Tone.PLAIN
        name = "row" if first + number == at and hit else ""
        sign = "=" if hit else "<" if row["key"] < key else ">"
        cells = [
            Item(str(first + number), (span,), tone=tone, doc=f"Entry {first + number}.", here=bool(name)),
            _cell(table, "key", f"{row['key']:016x}", span, "Its table key.", tone, name),
            Item(sign, tone=Tone.HIT if hit else Tone.FAINT, doc="Compared with the requested key."),
            _cell(table, "index", str(row["index"]), span, "The record it refers to."),
        ]
        if chunks:
            cells.append(_cell(table, "chunk", str(row["chunk"]), span, "The chunk."))
        lines.append(tuple(cells))
    headings = ("entry", "table key", "", "record", *(("chunk",) if chunks else ()))
    count = plural(table.count, "entry")
    which = f"{shown.start + first} to {shown.stop + first - 1} of " if len(shown) < table.count else ""
    title = f"The {table.kind} lookup table, sorted by key: {which}{count}"
    return Table(title, headings, tuple(lines))


def _cell(
    table: LookupTable, field: str, text: str, entry: Span, doc: str, tone: Tone = Tone.POINTER, name: str = ""
) -> Item:
    return Item(text, (table.record.span(field, entry.start),), tone=tone, doc=doc, name=name)


def bisection_figure(table: LookupTable, first: int, keys: NDArray[np.uint64], key: int) -> Ruler:
    """Return the steps of a binary search for `key` in the entries read; `first` is the number of `keys[0]`."""
    low, high, items = first, first + len(keys), list[Item]()
    while low < high:
        middle = (low + high) // 2
        stored = int(keys[middle - first])
        hit, word = stored == key, "below" if stored < key else "above"
        says = f"Entry {middle} has {stored:016x}"
        doc = f"{says}: found." if hit else f"{says}, {word} the key."
        stage, left = len(items) // 2 + 1, f"{low} to {high - 1}" if high - low > 1 else str(low)
        stretch = Item(left, (table.span(low, high),), low, high - low, Tone.INDEX, f"{doc} Entries left: {left}.")
        tone, half = Tone.HIT if hit else Tone.POINTER, "" if hit else "<" if stored < key else ">"
        mark = Item(half or "=", (table.span(middle, middle + 1),), middle, 1, tone, doc, here=hit)
        items += [replace(stretch, stage=stage), replace(mark, stage=stage)]
        low, high = (middle, middle) if hit else (middle + 1, high) if stored < key else (low, middle)
    title = f"Binary search: {plural(len(items) // 2, 'comparison')}"
    return Ruler(title, first, first + max(len(keys), 1), tuple(items), "entries")


def _compare_figure(raw: bytes, stored: bytes, place: Span, name: str = "") -> Table:
    wanted, found = to_text(raw), to_text(stored)
    rows = []
    for number in range(SIZE // 8):
        part = slice(number * _WORD, (number + 1) * _WORD)
        span = Span("", place.start + 8 * number, place.start + 8 * number + 8)
        alike = wanted[part] == found[part]
        tone, digits = Tone.HIT if alike else Tone.MISS, f"{part.start + 1} to {part.stop}"
        doc = f"Digits {digits} in the record: {'equal' if alike else 'different'}."
        ours = Item(wanted[part], tone=Tone.KEY, doc="The requested digits.")
        theirs = Item(found[part], (span,), tone=tone, doc=doc, name=name if not number else "")
        rows.append((Item(digits, tone=Tone.FAINT), ours, theirs))
    return Table("The whole hash, 16 digits at a time", ("digits", "requested", "in the record"), tuple(rows))


def _section_figure(kind: str, section: tuple[int, int], record: Span, text: str) -> Ruler:
    start, stop = section
    number = (record.start - start) // RECORD_SIZE
    doc = f"Record {number} of the section: byte {start:#x} + {number} · {RECORD_SIZE} = {record.start:#x}."
    whole = item_of(f"{(stop - start) // RECORD_SIZE:,} records", Span("", start, stop), Tone.FAINT, "")
    hit = item_of(text, record, Tone.HIT, doc, "record", here=True)
    title = f"The {section_name(kind)} section, records of {RECORD_SIZE} bytes"
    return Ruler(title, start, max(stop, start + 1), (whole, hit), "bytes")
