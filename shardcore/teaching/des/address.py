"""Drawing *Address*: the route from a uid to the number of its file, and the walk over the entries of the file."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import FormatError, NotAShard, UsageError
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import INDEX_HEAD
from shardcore.formats.des.routing import (
    DEFAULT_BITS,
    MAX_BITS,
    MIN_BITS,
    Route,
    ShardName,
    Uid,
    infer_n_bits,
    routed_to,
    shard_date,
    uid_bytes,
)
from shardcore.model.data_set_nodes import placed_span
from shardcore.model.drawing import Bits, Cells, Control, Drawing, Figure, Item, Link, Ruler, Table, Tone, chosen, moved
from shardcore.model.span import SourceName, Span
from shardcore.model.text import grouped_digits, plural, visible
from shardcore.shards.cache import Once
from shardcore.shards.trace import Trace
from shardcore.teaching import slider, text_line

CANDIDATES = 4
"""Maximum number of candidate files drawn."""
JUDGED = 1000
"""Maximum number of uids of a single file that are used to infer the number of bits."""

_MAY_CONTAIN = ("may contain it", Tone.INDEX)
_UID_DOC = "Any uid, to see which files may contain it. Reset returns to the uid of the lookup."
_BITS_DOC = "n_bits: number of low bits in the shard number. It is not stored; it is inferred from names and uids."


@dataclass(frozen=True, slots=True)
class _UidEntry:
    file: DesFile
    row: int | None
    count: int = 0

    @property
    def spans(self) -> tuple[Span, ...]:
        uid = self.file.entries.part_span(self.row, "uid") if self.row is not None else None
        return (uid,) if uid is not None and uid.size else ()


class AddressSketch:
    """Drawing *Address* of a uid. In a data set, `names` returns the names of the files; `member` is the opened one."""

    name = "address"
    title = "Address"

    def __init__(
        self,
        file: Callable[[], DesFile | None],
        trace: Trace | None,
        *,
        member: str = "",
        names: Callable[[], Sequence[str]] | None = None,
        ready: Callable[[], bool] = lambda: True,
        n_bits: int | None = None,
    ) -> None:
        self._open = file
        self._trace = trace
        self._member = member
        self._names = names
        self._ready = ready
        self._entry: Once[_UidEntry] = Once()
        self._bits: Once[int | None] = Once()
        self._found_names: Once[Mapping[str, Sequence[str]]] = Once()
        if names is not None:
            self._bits.put(n_bits)

    @property
    def controls(self) -> tuple[Control, ...]:
        bits, known = self._n_bits or DEFAULT_BITS, self._trace is not None or self._ready()
        return (
            text_line("uid", "Uid", self._uid if known else "", _UID_DOC, "key"),
            slider("n_bits", "Bits of the shard number", bits, MAX_BITS, _BITS_DOC, low=MIN_BITS),
        )

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        controls = self.controls
        now = chosen(controls, values)
        usual = all(now[one.name] == one.value for one in controls)
        uid = Uid.parse(self._uid if now["uid"] == controls[0].value else now["uid"])
        route = uid.route(now["n_bits"])
        return self._as_it_is(uid, route) if usual else self._what_if(uid, route)

    # --- lookup, file, data set --------------------------------------------------------------------------------------

    @property
    def _folder(self) -> bool:
        return self._names is not None

    @property
    def _by_hex(self) -> Mapping[str, Sequence[str]]:
        if self._names is None:
            return names_by_hex([file.source.name] if (file := self._open()) is not None else [])
        names = self._names()
        return self._found_names.get(lambda: names_by_hex(names)) if names else {}

    @property
    def _n_bits(self) -> int | None:
        """Number of bits of the shard number, or None; for a single file, the number with which uids match its name."""
        return self._bits.get(self._inferred)

    def _inferred(self) -> int | None:
        file, name = self._open(), self._own_name()
        if file is None or name is None:
            return None
        judged = list(_some_uids(file))
        # A name can match several n_bits; the default is preferred.
        usual = judged and routed_to(judged, name.hex, DEFAULT_BITS)
        return DEFAULT_BITS if usual else infer_n_bits({name.hex: judged})

    @property
    def _uid(self) -> str:
        if self._trace is not None:
            return self._trace.key
        file = self._open()
        return next(_some_uids(file), "") if file is not None else ""

    def _own_name(self) -> ShardName | None:
        file = self._open()
        return ShardName.parse(file.source.name) if file is not None else None

    # --- drawing of the files ------------------------------------------------------------------------------------

    def _as_it_is(self, uid: Uid, route: Route) -> Drawing:
        found, trouble = self._found(uid)
        row = found.row if found is not None else None
        figures, links, more = self._route_figures(uid, route, found.spans if found else (), self._pieces(route, found))
        if self._folder and (names := self._candidates(route)):
            table = self._asked(names, present=row is not None, trouble=trouble)
            figures.append(table)
            more += len(names) - len(table.rows)
        if found is not None:
            walk, arcs, left = walk_strip(found.file, row)
            figures.append(walk)
            links += arcs
            more += left
            dead = tombstone_table(found.file, row) if row is not None else None
            if dead is not None:
                figures.append(dead)
                links.append(Link("stamp", f"walk {row}", tone=Tone.DEAD))
        if {"hex", "asked"} <= {item.name for figure in figures for item in figure.items}:
            links.append(Link("hex", "asked", tone=Tone.KEY))
        caption = self._caption(route, found, trouble)
        drawing = Drawing(f"The address of {shown_uid(uid.text)}", tuple(figures), tuple(links), caption, more)
        return moved(drawing, lambda span: placed_span(span, self._member)) if self._member else drawing

    def _found(self, uid: Uid) -> tuple[_UidEntry | None, str]:
        try:
            file = self._open()
        except (FormatError, NotAShard) as error:
            return None, error.message
        if file is None:
            return None, ""
        return self._entry.get(lambda: _entry_of(file, uid)), ""

    def _pieces(self, route: Route, found: _UidEntry | None) -> Pieces:
        name = ShardName.parse(found.file.source.name) if found is not None else None
        if found is None or found.row is None:
            return Pieces(ANY, route.hex, ANY)
        part = f"{name.part:04}" if name is not None else ANY
        try:
            date = shard_date(found.file.entries.created_at(found.row))
            spans: tuple[Span, ...] = (found.file.entries.part_span(found.row, "meta"),)
        except UsageError:
            date, spans = name.date if name is not None and self._folder else ANY, ()
        return Pieces(date, route.hex, part, spans, found.spans)

    def _route_figures(
        self, uid: Uid, route: Route, spans: tuple[Span, ...], pieces: Pieces
    ) -> tuple[list[Figure], list[Link], int]:
        there = {int(hex_, 16): len(names) for hex_, names in self._by_hex.items()}
        board, more = board_figure(route, there, known=self._folder and len(there) > 0)
        own = None if self._folder else self._own_name()
        sure = self._n_bits is not None or own is not None
        figures: list[Figure] = [
            uid_figure(uid.text, route, spans),
            bits_figure(uid.text, route, grip=True),
            board,
            name_figure(pieces, own, sure=sure),
        ]
        return figures, [Link("low", "shard", tone=Tone.KEY), Link("shard", "hex", tone=Tone.KEY)], more

    def _asked(self, names: Sequence[str], *, present: bool, trouble: str) -> Table:
        at = names.index(self._member) if self._member in names else len(names)
        first = max(min(at - CANDIDATES + 1, len(names) - CANDIDATES), 0)
        here = (trouble or ("found here" if present else "not in it"), Tone.HIT if present else Tone.MISS)
        before, after = _MAY_CONTAIN, _MAY_CONTAIN
        if self._trace is not None:
            before, after = ("not in it", Tone.FAINT), ("not searched", Tone.INDEX)
        results = [before if number < at else here if number == at else after for number in range(len(names))]
        shown = slice(first, first + CANDIDATES)
        title = f"{plural(len(names), 'file')} may contain it, in search order"
        return candidates_figure(names[shown], results[shown], title)

    def _candidates(self, route: Route) -> Sequence[str]:
        steps = self._trace.steps if self._trace is not None else ()
        listed = (list(step.values["candidates"]) for step in steps if "candidates" in step.values)
        return next(listed, None) or self._by_hex.get(route.hex, ())

    def _caption(self, route: Route, found: _UidEntry | None, trouble: str) -> str:
        if trouble:
            return f"The uid refers to {self._member}, which cannot be read: {trouble}."
        if not self._folder:
            return self._agreement(route, found)
        if self._n_bits is None:
            return f"n_bits is unknown, so any file may contain the uid. The drawing uses {route.n_bits} bits."
        routing = "The shard number follows from the uid, so readers need neither a server nor a list of uids."
        if self._trace is not None and self._trace.ref is not None and self._trace.ref.kind == "copy":
            return f"{routing} No shard has the uid, but a retention copy exists."
        if found is None:
            return f"{routing} No file has that number, so the uid is not found."
        if found.row is None:
            return f"{routing} Only a walk over all entries of each file shows that the uid is missing."
        if found.file.sidecar_error is not None:
            return f"{routing} The sidecar cannot be read, so the entry may be deleted."
        if found.file.tombstone(found.row) is not None:
            return f"{routing} The entry is still in the shard: the tombstone in the sidecar marks it as deleted."
        return f"{routing} Entries differ in length, so a reader walks from one to the next."

    def _agreement(self, route: Route, found: _UidEntry | None) -> str:
        own = self._own_name()
        there = found is not None and found.row is not None
        has = "" if there else " No entry has this uid: the walk to the end of the index proves it."
        if found is not None and found.count > 1:
            has = f" {plural(found.count, 'entry has', 'entries have')} this uid, and the last one counts."
        if own is None:
            return (
                f"The name of this file has no shard number, because no packer chose it. With {route.n_bits} bits, "
                f"this uid belongs in a file named {ANY}_{route.hex}_{ANY}.des.{has}"
            )
        if self._n_bits is None:
            return (
                f"The name does not agree with the uids in it, whatever the number of bits: a reader that computes "
                f"the name searches other files. {route.n_bits} bits are drawn.{has}"
            )
        if own.hex != route.hex:
            return f"The name does not match: {own.hex}; the uid has {route.hex}. Readers open another file.{has}"
        return f"The name matches: {own.hex} is the shard number of the uid, so every reader opens this file.{has}"

    # --- other values ---------------------------------------------------------------------------------------------

    def _what_if(self, uid: Uid, route: Route) -> Drawing:
        """Draw the files for another uid or number of bits; entries are not searched."""
        pieces = Pieces(ANY, route.hex, ANY)
        figures, links, more = self._route_figures(uid, route, (), pieces)
        names = self._by_hex.get(route.hex, ())
        if self._folder and names:
            shown = names[:CANDIDATES]
            results = [_MAY_CONTAIN] * len(shown)
            figures.append(candidates_figure(shown, results, f"{plural(len(names), 'file')} may contain it"))
            more += len(names) - len(shown)
        who = f"{shown_uid(uid.text)}, with {route.n_bits} bits,"
        if self._folder:
            there = f"{plural(len(names), 'file has', 'files have')}" if names else "no file in this folder has"
            caption = f"{who} belongs in {pieces}: {there} such a name. Only the entries show if it is stored."
        else:
            own = self._own_name()
            same = own is not None and own.hex == route.hex
            would = "would" if same else "would not"
            caption = f"{who} {would} be searched in this file: its file name is {pieces}."
        title = f"Files for {shown_uid(uid.text)}"
        return Drawing(title, tuple(figures), tuple(links), caption, more, what_if=True)


def last_walked(trace: Trace) -> str:
    if trace.ref is not None and trace.ref.shard:
        return trace.ref.shard
    spans = (span for step in reversed(trace.steps) if step.title != "Retention" for span in step.spans)
    return next((path for span in spans if (path := SourceName.parse(span.source).path)), "")


def _some_uids(file: DesFile) -> Iterator[str]:
    return (uid for row in range(min(len(file.entries), JUDGED)) if (uid := file.uid(row)) is not None)


def _entry_of(file: DesFile, uid: Uid) -> _UidEntry:
    rows = file.entries.rows_of([uid.raw])[0]
    return _UidEntry(file, int(rows[-1]) if len(rows) else None, len(rows))


# --- figures ---

SKIPPED = 7
"""Maximum number of entries drawn before the last one; the entries before them are only counted."""
FACTS = 3
_FACT_LETTERS = 40


def walk_strip(file: DesFile, row: int | None) -> tuple[Ruler, tuple[Link, ...], int]:
    """Return the walk up to entry `row` (None: over all entries), its arrows, and the number of entries left out."""
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
    links = [
        Link(a, b, grouped_digits(number) if number else "", Tone.KEY)
        for (a, b), number in zip(pairwise(ends), range(first, last + 2), strict=False)
    ]
    title = f"The walk to entry {last}" if row is not None else "All entries, walked"
    return Ruler(title, start, max(stop, start + 1), tuple(items), "bytes"), tuple(links), count - len(shown)


def _entry_item(file: DesFile, row: int, *, here: bool) -> Item:
    span = file.entries.span(row)
    uid = file.uid(row)
    text = shown_uid(uid) if uid is not None else file.entries.uid(row)[:8].hex()
    dead = row in file.tombstoned
    tone = Tone.DEAD if dead else Tone.HIT if here else Tone.KEY
    doc = f"Entry {row}: {plural(span.size, 'byte')}." + (" Deleted, according to the sidecar." if dead else "")
    return Item(text, (span,), span.start, span.size, tone, doc, f"walk {row}", here=here)


def tombstone_table(file: DesFile, row: int) -> Table | None:
    sidecar, tombstone = file.sidecar, file.tombstone(row)
    if sidecar is None or tombstone is None:
        return None
    spans = (sidecar.tombstone_span(file.source.folder, tombstone),)
    facts = list(tombstone.facts.items())[:FACTS]
    doc = f"The tombstone is in {visible(sidecar.name)}; the shard itself is not changed."
    row_items = (
        Item("deleted", spans, tone=Tone.DEAD, doc=doc, name="stamp", here=True),
        *(Item(visible(value[:_FACT_LETTERS]), spans, tone=Tone.METADATA, doc=doc) for _, value in facts),
    )
    headings = ("tombstone", *(visible(name[:_FACT_LETTERS]) for name, _ in facts))
    return Table(f"Tombstone in the sidecar {visible(sidecar.name)}", headings, (row_items,))


BOARD = 256
"""Maximum number of shard numbers drawn; if there are more, those around the number of the uid are drawn."""
COLUMNS = 16
BOARD_ITEMS = 16
"""Maximum number of other shard numbers with files that are drawn."""

DATE, NUMBER, PART = Tone.ONE, Tone.TWO, Tone.THREE
ANY = "*"
"""Placeholder for an unknown part of a name."""

_SHOWN = 32
_SPARED = 8
"""Minimum length, in letters, of a prefix that all names share and that is therefore left out."""
_WORD = 32
_LONG_WORD = 64
_DIGITS = "0123456789ABCDEF"


@dataclass(frozen=True, slots=True)
class Pieces:
    """Parts of a shard's file name; `date_spans` and `hex_spans` are the bytes that determine date and number."""

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
    rest = f"{route.n_bits} bits of the uid: {number} mod {1 << route.n_bits}."
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
    number, width = number_of(uid)
    doc = f"The low {route.n_bits} bits: {route.number}, printed {route.hex}."
    handle = "n_bits" if grip else ""
    low = Item(f"shard number {route.number}", (), 0, route.n_bits, NUMBER, doc, "low", here=True, handle=handle)
    what = "The number" if route.rule == "digits" else "The CRC-32"
    return Bits(f"{what}, and its low {route.n_bits} bits", width, number, (low,))


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
    rows = []
    for name, part, (what, tone) in zip(names, differing(names), results, strict=True):
        asked = "asked" if tone is Tone.HIT else ""
        rows.append((Item(part, tone=tone, doc=f"{visible(name)}: {what}.", name=asked), Item(what)))
    return Table(title, ("file", "result"), tuple(rows))
