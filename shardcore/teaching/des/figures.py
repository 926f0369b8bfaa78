"""Figures of the sketch `address`, of the walk over the entries, and of the tombstone of an entry."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise

from shardcore.dataclasses import dataclass, replace
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import INDEX_HEAD
from shardcore.formats.des.routing import Route, ShardName, uid_bytes
from shardcore.model.drawing import Bits, Cells, Item, Link, Ruler, Table, Tone
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural, visible

SKIPPED = 7
"""Maximum number of entries drawn before the last one; the entries before them are only counted."""
FACTS = 3
_FACT_LETTERS = 40


@dataclass(frozen=True, slots=True)
class EntryStrip:
    figure: Ruler
    links: tuple[Link, ...]
    more: int


def walk_strip(file: DesFile, row: int | None) -> EntryStrip:
    """Return the walk up to an entry; for row None, to the end of the index."""
    entries = file.entries
    count = len(entries)
    last = count - 1 if row is None else row
    first = max(last - SKIPPED, 0)
    shown = range(first, min(last + (1 if row is None else 2), count))
    start = entries.span(first).start if first else entries.data_stop
    stop = entries.span(shown[-1]).stop if shown else start + INDEX_HEAD.size
    items = []
    if first:
        doc = f"The walk also passed {plural(first, 'entry')} before these."
        items.append(Item(f"{grouped_digits(first)} before", (), start, 0, Tone.FAINT, doc, "walk -1"))
    else:
        head = Span("", start, start + INDEX_HEAD.size)
        doc = f"The number of entries: {grouped_digits(entries.declared)}. The first entry follows."
        items.append(Item("count", (head,), start, head.size, Tone.SIZE, doc, "walk -1"))
    items += [replace(_entry_item(file, n, here=n == row), stage=n - first + 1) for n in shown]
    ends = [f"walk {n}" for n in (-1, *(n for n in shown if n <= last))]
    if row is None:
        doc = f"{plural(count, 'entry was', 'entries were')} walked: none has this uid."
        items.append(Item("no entry", (), stop, 0, Tone.MISS, doc, "end", here=True, stage=len(shown) + 1))
        ends.append("end")
    counts = range(first, last + 2)
    links = [
        Link(a, b, grouped_digits(number) if number else "", Tone.KEY)
        for (a, b), number in zip(pairwise(ends), counts, strict=False)
    ]
    title = f"The walk to entry {last}" if row is not None else "All entries, walked"
    return EntryStrip(
        Ruler(title, start, max(stop, start + 1), tuple(items), "bytes"), tuple(links), count - len(shown)
    )


def _entry_item(file: DesFile, row: int, *, here: bool) -> Item:
    span = file.entries.span(row)
    uid = file.uid(row)
    text = shown_uid(uid) if uid is not None else file.entries.uid(row)[:8].hex()
    dead = row in file.tombstoned
    tone = Tone.DEAD if dead else Tone.HIT if here else Tone.KEY
    doc = f"Entry {row}: {plural(span.size, 'byte')}." + (" Deleted, according to the sidecar." if dead else "")
    return Item(text, (span,), span.start, span.size, tone, doc, f"walk {row}", here=here)


def tombstone_table(file: DesFile, row: int, place: Span | None = None) -> Table | None:
    """Return the tombstone of an entry, or None; `place` is its location in the sidecar, if known."""
    sidecar, tombstone = file.sidecar, file.tombstone(row)
    if sidecar is None or tombstone is None:
        return None
    spans = (place or sidecar.tombstone_span(file.source.folder, tombstone),)
    facts = list(tombstone.facts.items())[:FACTS]
    doc = f"The tombstone is in {visible(sidecar.name)}; the shard itself is not changed."
    row_items = (
        Item("deleted", spans, tone=Tone.DEAD, doc=doc, name="stamp", here=True),
        *(Item(visible(value[:_FACT_LETTERS]), spans, tone=Tone.METADATA, doc=doc) for _, value in facts),
    )
    headings = ("tombstone", *(visible(name[:_FACT_LETTERS]) for name, _ in facts))
    return Table(f"Tombstone in the sidecar {visible(sidecar.name)}", headings, (row_items,))


BOARD = 256
"""Maximum number of shard numbers drawn; of more, those around the uid's number are drawn."""
COLUMNS = 16
BOARD_ITEMS = 16
"""Maximum number of other shard numbers with files that are drawn."""

DATE, NUMBER, PART, ENDING = Tone.ONE, Tone.TWO, Tone.THREE, Tone.FAINT
ANY = "*"
"""Placeholder for an unknown part of a name."""

_SHOWN = 32
_SPARED = 8
"""Length, in letters, from which a shared prefix is left out."""
_WORD = 32
_LONG_WORD = 64
_DIGITS = "0123456789ABCDEF"


@dataclass(frozen=True, slots=True)
class Pieces:
    """Parts of a shard's file name, each with the bytes that determine it."""

    date: str
    hex: str
    part: str
    date_spans: tuple[Span, ...] = ()
    hex_spans: tuple[Span, ...] = ()

    def __str__(self) -> str:
        return f"{self.date}_{self.hex}_{self.part}.des"


def shown_uid(uid: str) -> str:
    text = visible(uid[:_SHOWN])
    return (text[:_SHOWN] + "…" if len(uid) > _SHOWN or len(text) > _SHOWN else text) or "(empty)"


def number_of(uid: str) -> tuple[int, int]:
    """Return the low 64 bits of the number that gives the route of a uid, and the number of bits to draw, 32 or 64."""
    if not uid.isdecimal():
        return zlib.crc32(uid_bytes(uid)), _WORD
    # Digits before the last 64 do not change the low 64 bits: 10^64 is a multiple of 2^64.
    number = int(uid[-_LONG_WORD:]) % (1 << _LONG_WORD)
    return number, _WORD if number >> _WORD == 0 else _LONG_WORD


def uid_figure(uid: str, route: Route, spans: tuple[Span, ...] = ()) -> Table:
    number, _ = number_of(uid)
    digits = route.rule == "digits"
    how = "decimal digits" if digits else f"CRC-32 of {plural(len(uid_bytes(uid)), 'byte')}"
    doc = (
        "A uid of decimal digits is used as a number; leading zeros do not matter."
        if digits
        else "CRC-32 gives a number for any text; similar texts get very different numbers."
    )
    rest = f"{_low(route.n_bits)} bits of the uid: {number} mod {1 << route.n_bits}."
    row = (
        Item(shown_uid(uid), spans, tone=Tone.KEY, doc="The uid, which determines the shard number."),
        Item(how, doc=doc),
        Item(str(number), doc=doc, name="number"),
        Item(str(route.number), tone=NUMBER, doc=f"The low {rest}"),
        Item(route.hex, tone=NUMBER, doc="As in file names: upper case, with leading zeros."),
    )
    headings = ("uid", "read as", "number", f"low {route.n_bits} bits", "in hex")
    return Table("The uid becomes a number", headings, (row,))


def bits_figure(uid: str, route: Route, *, grip: bool = False) -> Bits:
    """Return the bits of the number, with the shard number marked."""
    number, width = number_of(uid)
    doc = f"The low {_low(route.n_bits)} bits: {route.number}, printed {route.hex}."
    handle = "n_bits" if grip else ""
    low = Item(f"shard number {route.number}", (), 0, route.n_bits, NUMBER, doc, "low", here=True, handle=handle)
    what = "The number" if route.rule == "digits" else "The CRC-32"
    return Bits(f"{what}, and its low {route.n_bits} bits", width, number, (low,))


def _low(n_bits: int) -> str:
    return grouped_digits(n_bits)


def board_figure(route: Route, present: Mapping[int, int], *, known: bool) -> tuple[Cells, int]:
    """Return the grid of possible shard numbers, and the number of those with files that are not drawn."""
    count = 1 << route.n_bits
    first = route.number // BOARD * BOARD if count > BOARD else 0
    shown = range(first, min(first + BOARD, count))
    others = sorted((n for n in present if n in shown and n != route.number), key=lambda n: abs(n - route.number))
    width = max(1, route.n_bits // 4)
    items = [
        Item(str(present[n]), at=n, tone=Tone.INDEX, doc=f"Shard {n:0{width}X} has {plural(present[n], 'file')}.")
        for n in sorted(others[:BOARD_ITEMS])
    ]
    files = present.get(route.number, 0)
    there = f"{plural(files, 'file')} with this number" if files else ("No file has this number" if known else "")
    text = str(files) if files else ("none" if known else route.hex)
    doc = f"Shard {route.hex}: number {route.number}." + (f" {there}." if there else "")
    tone = Tone.MISS if known and not files else Tone.HIT
    items.append(Item(text, at=route.number, tone=tone, doc=doc, name="shard", here=True))
    names = tuple(f"{row * COLUMNS + first >> 4:X}" for row in range(-(-len(shown) // COLUMNS)))
    title = f"{grouped_digits(count)} shard numbers" + (", files of each" if known else "")
    if count > len(shown):
        title += f": {shown.start:0{width}X} to {shown.stop - 1:0{width}X}"
    rows, columns = names if len(names) > 1 else (), tuple(_DIGITS)
    figure = Cells(title, len(shown), tuple(items), COLUMNS, first, column_names=columns, row_names=rows)
    return figure, len(others) - min(len(others), BOARD_ITEMS)


def names_by_hex(names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        own = ShardName.parse(name.rpartition("/")[2])
        if own is not None:
            found.setdefault(own.hex, []).append(name)
    return found


def name_figure(pieces: Pieces, own: ShardName | None = None, *, sure: bool = True) -> Table:
    """Return the table of the parts of a file name, compared with the name of the open file."""
    rows: list[tuple[Item, ...]] = [
        (
            Item("the name", tone=Tone.FAINT),
            Item(pieces.date, pieces.date_spans, tone=DATE, doc="Date of created_at, in its own time zone."),
            Item(pieces.hex, pieces.hex_spans, tone=NUMBER, doc="The shard number, from the uid alone.", name="hex"),
            Item(pieces.part, tone=PART, doc="Part number: a new part is started when the last is full."),
        ),
        (
            Item("comes from", tone=Tone.FAINT),
            Item("created_at"),
            Item("low bits of the uid"),
            Item("next when full"),
        ),
    ]
    if own is not None:
        agrees = (pieces.date in (own.date, ANY), own.hex == pieces.hex, True)
        texts = (own.date, own.hex, f"{own.part:04}")
        tones = [Tone.HIT if good else Tone.MISS if sure else Tone.PLAIN for good in agrees]
        docs = ["Equal in the name of this file." if good else "Differs from the name of this file." for good in agrees]
        cells = (Item(text, tone=tone, doc=doc) for text, tone, doc in zip(texts, tones, docs, strict=True))
        rows.append((Item("this file", tone=Tone.FAINT), *cells))
    return Table(f"The file name {pieces}", ("", "date", "number", "part"), tuple(rows))


def differing(names: Sequence[str]) -> list[str]:
    """Return the names without the path and prefix that all of them share."""
    pairs = zip(min(names, default=""), max(names, default=""), strict=False)
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), 0)
    first = max(min(names, default="").rfind(sign, 0, same) for sign in "/_") + 1
    return [f"…{visible(name[first:])}" if first >= _SPARED else visible(name) for name in names]


def candidates_figure(names: Sequence[str], results: Sequence[tuple[str, Tone]], title: str) -> Table:
    """Return a table of the files that may contain the uid, with a text and a tone for each, in search order."""
    rows = tuple(
        (
            Item(part, tone=tone, doc=f"{visible(name)}: {what}.", name="asked" if tone is Tone.HIT else ""),
            Item(what),
        )
        for name, part, (what, tone) in zip(names, differing(names), results, strict=True)
    )
    return Table(title, ("file", "result"), rows)
