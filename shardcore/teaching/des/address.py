"""The sketch `address`: the route of a uid to its file, and the search in that file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, NotAShard, UsageError
from shardcore.formats.des.file import DesFile
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
)
from shardcore.model.data_set_nodes import placed_span
from shardcore.model.drawing import Control, ControlKind, Drawing, Figure, Link, Table, Tone, chosen, moved
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural
from shardcore.shards.cache import Once
from shardcore.shards.trace import Trace
from shardcore.teaching.des.figures import (
    ANY,
    Pieces,
    bits_figure,
    board_figure,
    candidates_figure,
    name_figure,
    names_by_hex,
    shown_uid,
    tombstone_table,
    uid_figure,
    walk_strip,
)

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


class AddressSketch:
    """The address of a uid; in a data set, `names` are its files, and `member` is the one that is opened."""

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
        uid = self._uid if known else ""
        return (
            Control("uid", "Uid", ControlKind.TEXT, uid, doc=_UID_DOC, follows="key"),
            Control("n_bits", "Bits of the shard number", ControlKind.SLIDER, bits, MIN_BITS, MAX_BITS, doc=_BITS_DOC),
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
        """Number of bits; for a single file the number with which its uids match its name, or None."""
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
        figures, links, more = self._route_figures(uid, route, _uid_spans(found), self._pieces(route, found))
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
            return Pieces(ANY, route.hex, ANY, (), _uid_spans(found))
        created = found.file.entries.created_at(found.row)
        part = f"{name.part:04}" if name is not None else ANY
        try:
            date = shard_date(created)
        except UsageError:
            date = name.date if name is not None and self._folder else ANY
            return Pieces(date, route.hex, part, (), _uid_spans(found))
        return Pieces(date, route.hex, part, (found.file.entries.part_span(found.row, "meta"),), _uid_spans(found))

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


def _uid_spans(found: _UidEntry | None) -> tuple[Span, ...]:
    if found is None or found.row is None:
        return ()
    uid = found.file.entries.part_span(found.row, "uid")
    return (uid,) if uid.size else ()
