"""The nodes and colours of a shard: entries and payloads, computed from the columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import (
    BIGFILE_HEAD,
    BIGFILE_TAIL,
    BIGFILES,
    CODECS,
    HEADER,
    INDEX_HEAD,
    INLINE,
    PLACE_V1,
    PLACE_V1_SHORT,
    TEXT_DOCS,
    UID_HEAD,
)
from shardcore.formats.des.walk import ShapeV1Short, ShapeV2
from shardcore.nodes.children import Extents, field_nodes, grouped
from shardcore.nodes.node import Children, Node
from shardcore.nodes.runs import Runs
from shardcore.nodes.sections import Section, SectionRole
from shardcore.record import FieldRole, Record, Value
from shardcore.span import Span, decoded_name

_SHOWN = 200  # characters of a text in the tree

_ROLES = {"uid": FieldRole.KEY, "hash": FieldRole.HASH, "meta": FieldRole.TEXT}


def section_claims(index_start: int, index_stop: int, size: int) -> list[Section]:
    """The four sections of a shard; BigFiles add no bytes to any of them."""
    return [
        Section("header", SectionRole.HEADER, 0, HEADER.size, "Says what the file is, and the layout of its entries."),
        Section("data", SectionRole.DATA, HEADER.size, index_start, "The payloads, as they came, without padding."),
        Section(
            "index", SectionRole.INDEX, index_start, index_stop, "One entry for each object: uid, place, metadata."
        ),
        Section(
            "footer", SectionRole.FOOTER, index_stop, size, "Says where the index begins: a shard is read from here."
        ),
    ]


def codec_name(code: int) -> str:
    """`none`, `zstd`, `lz4`, or the number of a codec that is not known."""
    return CODECS[code] if code < len(CODECS) else f"{code}, not known"


class EntryNodes:
    """The nodes of the entries of an index.

    Args:
        entries: The entries.
        start: First byte of the index in the file.
    """

    def __init__(self, entries: Entries, start: int) -> None:
        self._entries = entries
        self._start = start
        self._parts = _parts_of(entries)

    def children(self) -> Children:
        """All entries, in groups when they are many."""
        starts = self._start + self._entries.walk.starts
        stops = self._start + self._entries.walk.stops
        return grouped(Extents(starts, stops, self._nodes, paint=self._paint))

    def _nodes(self, first: int, last: int) -> list[Node]:
        return [self.node(row) for row in range(first, last)]

    def node(self, row: int) -> Node:
        """One entry with its fields."""
        entries = self._entries
        at = self._start + int(entries.walk.starts[row])
        uid = entries.uid(row)
        error = entries.problem(row) or entries.bad_text(row)
        kids: list[Node] = []
        for part in self._parts(row):
            if isinstance(part, Record):
                kids += self._fields(part, row, at)
                at += part.size
            else:
                name, raw = part
                kids += [_text_node(name, raw, at)] if raw else []
                at += len(raw)
        span = Span("", self._start + int(entries.walk.starts[row]), self._start + int(entries.walk.stops[row]))
        return Node(
            f"[{row}]",
            span,
            text=_shown(uid),
            doc="One object.",
            children=tuple(kids),
            target=self._target(row),
            error=error,
        )

    def _fields(self, record: Record, row: int, at: int) -> tuple[Node, ...]:
        values = record.read_one(self._entries.index, at - self._start)
        texts = {"codec": f"{values['codec']} ({codec_name(values['codec'])})"} if "codec" in values else {}
        if "flags" in values:
            texts["flags"] = f"{values['flags']} ({'BigFile' if values['flags'] & 1 else 'inline'})"
        target = self._target(row)
        targets = {"offset": target} if target else {}
        return field_nodes(record, values, at, texts=texts, targets=targets)

    def _target(self, row: int) -> Span | None:
        c = self._entries.columns
        if self._entries.problem(row):
            return None
        if c.big[row]:
            return Span(f"{BIGFILES}/{self._entries.hash(row).decode()}", 0, int(c.size[row]))
        return Span("", int(c.offset[row]), int(c.offset[row]) + int(c.length[row]))

    def _paint(self, first: int, last: int) -> Runs:
        """The fields of the entries `[first, last)`, without a node."""
        c = self._entries.columns
        rows = slice(first, last)
        starts = self._entries.walk.starts[rows]
        lengths = {"uid": c.uid_length[rows], "hash": c.hash_length[rows], "meta": c.meta_length[rows]}
        big = c.big[rows]
        sizes, roles = _widths(self._parts_plan(big=False), lengths)
        if big.any():
            other, other_roles = _widths(self._parts_plan(big=True), lengths)
            # One layout for both: the columns that an entry has not are empty.
            sizes = [np.where(big, 0, s) if k else s for k, s in enumerate(sizes)]
            sizes += [np.where(big, s, 0) if k else np.zeros_like(s) for k, s in enumerate(other)]
            roles = [*roles, *other_roles]
        stops = self._start + starts[:, None] + np.cumsum(np.stack(sizes, axis=1), axis=1)
        begins = np.concatenate([self._start + starts[:, None], stops[:, :-1]], axis=1)
        every = np.broadcast_to(np.array(roles, np.uint8), stops.shape)
        parity = np.broadcast_to(np.arange(stops.shape[1]) & 1, stops.shape)
        return Runs.of(begins, stops, every, parity)

    def _parts_plan(self, *, big: bool) -> tuple[Record | str, ...]:
        return _plan(self._entries, big=big)


def _plan(entries: Entries, *, big: bool) -> tuple[Record | str, ...]:
    """Records and the names of texts between them, in the order of their bytes."""
    if not isinstance(entries.shape, ShapeV2):
        return UID_HEAD, "uid", PLACE_V1_SHORT if isinstance(entries.shape, ShapeV1Short) else PLACE_V1
    if big:
        return UID_HEAD, "uid", BIGFILE_HEAD, "hash", BIGFILE_TAIL, "meta"
    return UID_HEAD, "uid", INLINE, "meta"


def _parts_of(entries: Entries) -> Callable[[int], list[Record | tuple[str, bytes]]]:
    read = {"uid": entries.uid, "hash": entries.hash, "meta": entries.meta_bytes}

    def parts(row: int) -> list[Record | tuple[str, bytes]]:
        plan = _plan(entries, big=bool(entries.columns.big[row]))
        return [part if isinstance(part, Record) else (part, read[part](row)) for part in plan]

    return parts


def _widths(
    plan: tuple[Record | str, ...], lengths: dict[str, NDArray[np.int64]]
) -> tuple[list[NDArray[np.int64]], list[FieldRole]]:
    """Bytes of each field for many entries, and its role."""
    widths: list[NDArray[np.int64]] = []
    roles: list[FieldRole] = []
    for part in plan:
        if isinstance(part, Record):
            widths += [np.full(len(lengths["uid"]), part.sizes[field.name], np.int64) for field in part.fields]
            roles += [field.role for field in part.fields]
        else:
            widths.append(lengths[part])
            roles.append(_ROLES[part])
    return widths, roles


def _text_node(name: str, raw: bytes, at: int) -> Node:
    value: Value
    try:
        value = raw.decode()
    except UnicodeDecodeError:
        value = raw
    return Node(
        name, Span("", at, at + len(raw)), value=value, text=_shown(raw), role=_ROLES[name], doc=TEXT_DOCS[name]
    )


def _shown(raw: bytes) -> str:
    text = raw[: 4 * _SHOWN].decode("utf-8", "backslashreplace")
    printable = "".join(
        c if c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 256 else "\ufffd" for c in text[:_SHOWN]
    )
    return printable + ("…" if len(text) > _SHOWN or len(raw) > 4 * _SHOWN else "")


def entry_count_node(entries: Entries, start: int) -> Node:
    """The number at the head of the index."""
    values: dict[str, Any] = {"entry_count": entries.declared}
    return field_nodes(INDEX_HEAD, values, start)[0]


class DataMap:
    """Who owns the bytes of the data section: payloads in the order of their offsets, and the gaps between them.

    Where payloads overlap, the one that begins later owns the common bytes, and behind its end the one that reaches
    farthest goes on. (No writer makes overlaps or gaps.)

    Args:
        entries: The entries.
        start: First byte of the section.
        stop: One past its last byte.
        hidden: Entries whose payload is not offered for decoding: they were deleted.

    Attributes:
        starts: First byte of each part, int64, ascending.
        stops: One past its last byte; parts tile the section.
        rows: The entry that owns it, -1 for a gap.
        overlaps: Pairs of entries of which the first reaches into the second, int64, shape (n, 2).
    """

    def __init__(self, entries: Entries, start: int, stop: int, hidden: NDArray[np.int64]) -> None:
        self._entries = entries
        self._hidden = frozenset(hidden.tolist())
        rows = entries.by_offset()
        c = entries.columns
        first = np.clip(c.offset[rows].astype(np.int64), start, stop)
        last = np.maximum(np.minimum((c.offset[rows] + c.length[rows]).astype(np.int64), stop), first)
        ahead = np.append(first[1:], stop)[: len(rows)]
        reach = np.maximum.accumulate(last)
        # Behind the end of a payload an earlier, longer one may go on; then comes a gap.
        keeper = np.maximum.accumulate(np.where(last == reach, np.arange(len(rows)), 0))
        end = np.minimum(last, ahead)
        resumed = np.maximum(np.minimum(reach, ahead), end)
        pieces = [(first, end, rows), (end, resumed, rows[keeper]), (resumed, ahead, np.full(len(rows), -1))]
        before = first[:1] if len(first) else np.array([stop])
        pieces.append((np.array([start]), before, np.array([-1])))
        starts, stops, owners = (np.concatenate([piece[n] for piece in pieces]) for n in range(3))
        solid = np.flatnonzero(stops > starts)
        order = solid[np.argsort(starts[solid], kind="stable")]
        self.starts, self.stops, self.rows = starts[order], stops[order], owners[order].astype(np.int64)
        crossed = np.flatnonzero(reach[:-1] > first[1:])
        self.overlaps = (
            np.stack([rows[keeper[crossed]], rows[crossed + 1]], axis=1) if len(crossed) else np.zeros((0, 2), np.int64)
        )

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Ranges that no payload has, merged."""
        where = np.flatnonzero(self.rows < 0)
        return list(zip(self.starts[where].tolist(), self.stops[where].tolist(), strict=True))

    def children(self) -> Children:
        """All parts, in groups when they are many."""
        return grouped(Extents(self.starts, self.stops, self._nodes, paint=self._paint))

    def _nodes(self, first: int, last: int) -> list[Node]:
        return [self._node(number) for number in range(first, last)]

    def _node(self, number: int) -> Node:
        row = int(self.rows[number])
        start, stop = int(self.starts[number]), int(self.stops[number])
        if row < 0:
            return Node("gap", Span("", start, stop), role=FieldRole.UNUSED, doc="No entry points to these bytes.")
        c = self._entries.columns
        whole = int(c.offset[row]), int(c.offset[row]) + int(c.length[row])
        codec = codec_name(int(c.codec[row]))
        entry = self._entries.data_stop + int(self._entries.walk.starts[row])
        return Node(
            f"payload of [{row}]",
            Span("", start, stop),
            text=f"{_shown(self._entries.uid(row))}: {whole[1] - whole[0]} bytes, {codec}",
            role=FieldRole.DATA,
            doc="The stored content of one object."
            if whole == (start, stop)
            else "A part of the content of one object.",
            target=Span("", entry, self._entries.data_stop + int(self._entries.walk.stops[row])),
            decoded=decoded_name(*whole) if codec in CODECS[1:] and row not in self._hidden else "",
        )

    def _paint(self, first: int, last: int) -> Runs:
        roles = np.where(self.rows[first:last] < 0, FieldRole.UNUSED, FieldRole.DATA)
        return Runs.of(self.starts[first:last], self.stops[first:last], roles, np.arange(first, last) & 1)
