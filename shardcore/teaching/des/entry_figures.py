"""Figures of the walk over the entries, and of the tombstone of an entry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import INDEX_HEAD
from shardcore.model.drawing import Item, Link, Ruler, Table, Tone
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.safe_text import visible
from shardcore.model.span import Span
from shardcore.teaching.des.address_figures import shown_uid

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
    title = f"The entries, walked one after the other: entry {last}" if row is not None else "All entries, walked"
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
