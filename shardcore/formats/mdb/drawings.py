"""The drawings of single steps: a key, the rows of a table, a whole hash, a section, a xorb, a file put together."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from shardcore.codecs.xet.hashes import SIZE, to_text, truncated
from shardcore.formats.mdb.geometry import CHUNK, FILE, FILE_INFO, XORB_INFO, LookupTable
from shardcore.formats.mdb.layout import RECORD_SIZE
from shardcore.formats.mdb.objects import FileBlock
from shardcore.formats.mdb.xorbs import SPAN_PREFIX, Xorb
from shardcore.model.drawing import Drawing, Item, Link, Ruler, Table, Tone, window
from shardcore.model.number_words import grouped_digits, plural
from shardcore.model.span import Span

ROWS = 7
"""Rows of a table that are drawn: those around the one in question."""

COMPARED = {Tone.HIT: "what the lookup arrives at", Tone.MISS: "differs"}
_WORD = 16  # digits of the text form that are one word of the hash
_CHUNKS = 14
_SEGMENTS = 24
_SHARDS = 12
_PARTS = (Tone.ONE, Tone.TWO, Tone.THREE, Tone.FOUR)
_SHORT = 20  # letters of a name that are shown whole


def hmac_drawing(plain: bytes, stored: bytes, key: Span) -> Drawing:
    """The plain hash, the key, and the hash under it."""
    row = (
        Item(to_text(plain)[:_WORD] + "…", tone=Tone.KEY, doc=f"The plain hash: {to_text(plain)}."),
        Item("key", (key,), tone=Tone.HEADER, doc="The key that the footer has."),
        Item(to_text(stored)[:_WORD] + "…", tone=Tone.HIT, doc=f"What is stored: {to_text(stored)}.", here=True),
    )
    table = Table(
        "Hash and key give the hash that is stored", ("hash of the chunk", "key of the footer", "stored"), (row,)
    )
    caption = "There is no way back: the shard alone does not reveal the hashes of its chunks."
    return Drawing("The hash under the key", (table,), (), caption)


def key_figure(raw: bytes, name: str = "") -> Table:
    """A hash, the part of it that is the table key apart."""
    text = to_text(raw)
    head = Item(text[:_WORD], tone=Tone.KEY, doc="The first 16 digits: the table key.", name=name, here=True)
    rest = f"{text[_WORD : 2 * _WORD]}…"
    number = grouped_digits(truncated(raw))
    row = (head, Item(rest, tone=Tone.FAINT, doc=f"The other 48 digits: {text[_WORD:]}."), Item(number))
    return Table(
        "The hash looked for", ("first 16 digits: the table key", "the other 48", "the key as a number"), (row,)
    )


def key_drawing(raw: bytes) -> Drawing:
    """The part of a hash that tables have."""
    caption = (
        "Hashes are as good as random, so a quarter of one tells nearly all apart: a table of keys of 8 bytes is a "
        "short index of records of 48."
    )
    return Drawing("The table key", (key_figure(raw),), (), caption)


def rows_figure(table: LookupTable, first: int, rows: Sequence[dict[str, Any]], key: int, at: int) -> Table:
    """Rows of a lookup table around a place.

    Args:
        table: The table.
        first: The number of the first row that is known.
        rows: What these rows hold.
        key: The table key looked for.
        at: The row where it stands, or would stand.
    """
    shown = window(len(rows), at - first, ROWS)
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
            Item(f"{row['key']:016x}", (_part(table, span, "key"),), tone=tone, doc="Its table key.", name=name),
            Item(sign, tone=Tone.HIT if hit else Tone.FAINT, doc="Compared with the key looked for."),
            Item(str(row["index"]), (_part(table, span, "index"),), tone=Tone.POINTER, doc="The record it refers to."),
        ]
        if chunks:
            cells.append(Item(str(row["chunk"]), (_part(table, span, "chunk"),), tone=Tone.POINTER, doc="The chunk."))
        lines.append(tuple(cells))
    headings = ("entry", "table key", "", "record", *(("chunk",) if chunks else ()))
    count = plural(table.count, "entry")
    which = f"{shown.start + first} to {shown.stop + first - 1} of " if len(shown) < table.count else ""
    title = f"The {table.kind} lookup table, sorted by key: {which}{count}"
    return Table(title, headings, tuple(lines))


def _part(table: LookupTable, row: Span, name: str) -> Span:
    start = row.start + table.record.offsets[name]
    return Span("", start, start + table.record.sizes[name])


def rows_drawing(table: LookupTable, first: int, rows: Sequence[dict[str, Any]], raw: bytes, at: int) -> Drawing:
    """The key among the rows of its table."""
    key = truncated(raw)
    found = any(row["key"] == key for row in rows)
    links = (Link("key", "row", tone=Tone.KEY),) if found and at - first in window(len(rows), at - first, ROWS) else ()
    caption = (
        "The keys are sorted, so a search halves the table, or guesses the place from the key; the record it leads to "
        "has the whole hash."
        if found
        else "The keys are sorted, so it is enough to look where the key would stand: it does not stand there."
    )
    figures = (key_figure(raw, "key"), rows_figure(table, first, rows, key, at))
    return Drawing("The search", figures, links, caption, more=max(table.count - ROWS, 0))


def compare_figure(raw: bytes, stored: bytes, place: Span, name: str = "") -> Table:
    """Two whole hashes, word by word.

    Args:
        raw: The one looked for.
        stored: The one that the record has.
        place: The record; the hash is what it begins with.
        name: How arrows call the first word of the stored one.
    """
    wanted, found = to_text(raw), to_text(stored)
    rows = []
    for number in range(SIZE // 8):
        part = slice(number * _WORD, (number + 1) * _WORD)
        span = Span("", place.start + 8 * number, place.start + 8 * number + 8)
        alike = wanted[part] == found[part]
        doc = f"Digits {part.start + 1} to {part.stop} in the record: {'the same' if alike else 'others'}."
        tone = Tone.HIT if alike else Tone.MISS
        row = (
            Item(f"{part.start + 1} to {part.stop}", tone=Tone.FAINT),
            Item(wanted[part], tone=Tone.KEY, doc="What is looked for."),
            Item(found[part], (span,), tone=tone, doc=doc, name=name if not number else ""),
        )
        rows.append(row)
    return Table("The whole hash, 16 digits at a time", ("digits", "looked for", "in the record"), tuple(rows))


def section_figure(kind: str, section: tuple[int, int], record: Span, text: str) -> Ruler:
    """The section in which a record lies, and the record in it."""
    start, stop = section
    number = (record.start - start) // RECORD_SIZE
    doc = f"Record {number} of the section: byte {start:,} + {number} · {RECORD_SIZE} = {record.start:,}."
    whole = Item(
        f"{(stop - start) // RECORD_SIZE:,} records", (Span("", start, stop),), start, stop - start, Tone.FAINT
    )
    hit = Item(text, (record,), record.start, record.size, Tone.HIT, doc, "record", here=True)
    title = f"The {FILE_INFO if kind == FILE else XORB_INFO} section, records of {RECORD_SIZE} bytes"
    return Ruler(title, start, max(stop, start + 1), (whole, hit), "bytes")


def compare_drawing(kind: str, section: tuple[int, int], raw: bytes, stored: bytes, place: Span) -> Drawing:
    """The record that an entry leads to, and its hash beside the one looked for."""
    number = (place.start - section[0]) // RECORD_SIZE
    figures = (section_figure(kind, section, place, f"record {number}"), compare_figure(raw, stored, place, "stored"))
    same = raw == stored
    caption = (
        "The table has the first 8 bytes only. The record has all 32, and only when all agree is it the right one."
        if same
        else "The first 8 bytes agree and the others do not: another object, and the next entry is tried."
    )
    return Drawing(
        "The whole hash decides", figures, (Link("record", "stored", tone=Tone.POINTER),), caption, legend=COMPARED
    )


def walk_drawing(kind: str, section: Span, hits: Sequence[Span], count: int) -> Drawing:
    """A section that is walked, with the records that have the hash."""
    whole = Item(plural(count, kind), (section,), section.start, section.size, Tone.FAINT, "All records are compared.")
    shown = [
        Item(
            f"record {(hit.start - section.start) // RECORD_SIZE}",
            (hit,),
            hit.start,
            hit.size,
            Tone.HIT,
            "This record has the hash.",
            here=True,
        )
        for hit in hits[:_CHUNKS]
    ]
    ruler = Ruler("The section, from its first record on", section.start, section.stop, (whole, *shown), "bytes")
    caption = "Without a table each record is read, from the first to the end mark."
    return Drawing("The walk", (ruler,), (), caption, more=len(hits) - len(shown))


def xorb_drawing(xorb: Xorb, name: str, first: int, last: int, place: Span) -> Drawing:
    """The records of some chunks in their xorb.

    Args:
        xorb: The xorb.
        name: Its hash.
        first: The first chunk.
        last: One past the last.
        place: The record that names them.
    """
    count = xorb.chunk_count
    shown = window(count, first + min(last - first, _CHUNKS) // 2, _CHUNKS)
    items = []
    for number in shown:
        stored, wanted = xorb.record_span(number), first <= number < last
        span = Span(SPAN_PREFIX + name, stored.start, stored.stop)
        doc = f"Chunk {number}: {plural(int(xorb.chunk_sizes[number]), 'byte')}, stored in {stored.size:,}."
        tone = Tone.HIT if wanted else Tone.DATA
        items.append(Item(str(number), (span,), stored.start, stored.size, tone, doc, f"chunk {number}", here=wanted))
    start, stop = int(items[0].at), int(items[-1].at + items[-1].size)
    ruler = Ruler(
        f"Xorb {name[:_WORD]}…: its chunks, as they are stored", start, max(stop, start + 1), tuple(items), "bytes"
    )
    table = _said(name, first, last, place)
    link = Link("chunks", f"chunk {max(first, shown.start)}", tone=Tone.POINTER)
    caption = "The shard names chunks by number; where their bytes begin and end only the xorb knows."
    return Drawing("The chunks in their xorb", (table, ruler), (link,), caption, more=count - len(shown))


def _said(name: str, first: int, last: int, place: Span) -> Table:
    row = (
        Item("record", (place,), tone=Tone.INDEX, doc="The record of the shard that names these chunks."),
        Item(name[:_WORD] + "…", (place,), tone=Tone.KEY, doc=f"Xorb {name}."),
        Item(chunks_text(first, last), (place,), tone=Tone.POINTER, doc="Their numbers in the xorb.", name="chunks"),
    )
    return Table("What the shard says", ("", "xorb", "chunks"), (row,))


def elsewhere_drawing(name: str, first: int, last: int, place: Span) -> Drawing:
    """A record that names chunks of a xorb which is not within reach."""
    missing = Item("not within reach", tone=Tone.EMPTY, doc=f"Xorb {name} is in none of the folders.", name="xorb")
    figures = (_said(name, first, last, place), Table(f"Xorb {name[:_WORD]}…", ("its chunks",), ((missing,),)))
    caption = "The recipe is here, and the content is elsewhere: with the folder of the xorbs the lookup goes on."
    return Drawing("The xorb is elsewhere", figures, (Link("chunks", "xorb", tone=Tone.POINTER),), caption)


def chunks_text(first: int, last: int) -> str:
    """The numbers of some chunks, half-open, in a few letters."""
    return f"{first}" if last <= first + 1 else f"{first}–{last - 1}"


def rebuilt_drawing(block: FileBlock) -> Drawing:
    """A file as the row of its segments, coloured by xorb."""
    items, at, tones = [], 0, dict[str, Tone]()
    for number, segment in enumerate(block.segment_list[:_SEGMENTS]):
        tone = tones.setdefault(segment["xorb"], _PARTS[len(tones) % len(_PARTS)])
        chunks = plural(segment["end"] - segment["start"], "chunk")
        doc = f"Segment {number}: {chunks} of xorb {segment['xorb'][:_WORD]}…, from chunk {segment['start']} on."
        text = f"{segment['xorb'][:4]}… {chunks_text(segment['start'], segment['end'])}"
        items.append(Item(text, (block.entry_span(number),), at, segment["bytes"], tone, doc))
        at += segment["bytes"]
    ruler = Ruler("The file: segment after segment", 0, max(at, 1), tuple(items), "bytes")
    row = [Item(block.key[:_WORD] + "…", (Span("", block.start, block.start + SIZE),), tone=Tone.KEY, doc=block.key)]
    headings = ["hash of the file"]
    if block.sha256 is not None:
        row.append(Item(to_text(block.sha256)[:_WORD] + "…", (block.metadata_span,), tone=Tone.METADATA))
        headings.append("SHA-256")
    table = Table("What the bytes are held against", tuple(headings), (tuple(row),))
    caption = (
        "The bytes of all segments, one after the other, are the file; each hash that is stored is computed again."
    )
    return Drawing("The file, put together", (ruler, table), (), caption, more=len(block.segments) - len(items))


def shards_drawing(
    names: Sequence[str], key: str, ended: str = "", damaged: Container[str] = (), *, found: bool | None = None
) -> Drawing:
    """The shards of a folder, asked one after the other.

    Args:
        names: All of them, in the order in which they are asked.
        key: What is looked for.
        ended: The one in which the lookup ended.
        damaged: Those that could not answer.
        found: Whether it has the key; None where none was asked yet.
    """
    last = -1 if found is None else names.index(ended) if found and ended in names else len(names) - 1
    shown = window(len(names), max(last, 0), _SHARDS)
    rows = []
    for number in shown:
        asked, hit = number <= last, bool(found) and number == last
        name = names[number] if len(names[number]) <= _SHORT else f"{names[number][:_WORD]}…"
        answer = "lists it" if hit else "does not list it" if asked else "not searched"
        tone = Tone.HIT if hit else Tone.FAINT
        if asked and names[number] in damaged:
            answer, tone = "damaged", Tone.MISS
        row = (
            Item(str(number + 1)),
            Item(name, tone=Tone.INDEX if asked else Tone.FAINT, doc=f"The shard {names[number]}.", here=hit),
            Item(answer, tone=tone),
        )
        rows.append(row if found is not None else row[:2])
    headings = ("", "shard", "answer") if found is not None else ("", "shard")
    caption = (
        f"Nothing in {key[:_WORD]}… shows which shard lists it: each is searched in turn, and its table answers with a "
        "few bytes."
    )
    table = Table("Shards in the order in which they are searched", headings, tuple(rows))
    return Drawing("Which shard", (table,), (), caption, more=len(names) - len(shown), legend={Tone.MISS: "damaged"})
