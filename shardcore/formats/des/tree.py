"""Nodes and colours of a shard, its sidecar and its BigFiles, computed from the columns on request."""

from __future__ import annotations

import contextlib

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import UsageError
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import (
    BIGFILE_HEAD,
    BIGFILE_TAIL,
    BIGFILES,
    CODECS,
    FOOTER,
    HEADER,
    INDEX_HEAD,
    INLINE,
    PLACE_V1,
    PLACE_V1_SHORT,
    TEXT_DOCS,
    UID_HEAD,
    bigfile_name,
    codec_name,
    is_hash,
)
from shardcore.formats.des.walk_entries import ShapeV1Short, ShapeV2
from shardcore.model.computed_children import Extents, field_nodes, grouped, section_nodes
from shardcore.model.node import Children, Node
from shardcore.model.number_text import plural
from shardcore.model.record import FieldRole, Record, Value
from shardcore.model.role_runs import Runs
from shardcore.model.safe_text import short
from shardcore.model.section import Section, SectionRole
from shardcore.model.source_name import SourceName, decoded_name
from shardcore.model.span import Span
from shardcore.shards.cache import Once
from shardcore.shards.shard import SourcePart
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource

_SHOWN = 200  # characters of a text in the tree
_VALUE_LIMIT = 2**16
"""Longest text, in bytes, that is the value of its node."""

_ROLES = {"uid": FieldRole.KEY, "hash": FieldRole.HASH, "meta": FieldRole.TEXT}


class DesTree:
    def __init__(self, file: DesFile) -> None:
        self._file = file
        self._payloads: Once[Children] = Once()
        self._entries: Once[tuple[Node, ...]] = Once()

    def root(self) -> Node:
        file = self._file
        makers = {"header": self._header, "data": self._data, "index": self._index, "footer": self._footer}
        text = f"Data Easy Store shard, {plural(file.entries.declared, 'object')}"
        return Node(
            file.source.name, Span("", 0, file.source.size), text=text, children=section_nodes(file.sections, makers)
        )

    def _header(self, section: Section) -> Node:
        return Node(section.name, _span(section), children=field_nodes(HEADER, self._file.header, section.start))

    def _data(self, section: Section) -> Node:
        file = self._file
        if not file.mapped:
            waiting = "not read yet; load the index to see the payloads"
            return Node(section.name, _span(section), text=waiting)
        return Node(section.name, _span(section), children=self._payloads.get(lambda: PayloadNodes(file).children()))

    def _index(self, section: Section) -> Node:
        text = plural(len(self._file.entries), "entry")
        return Node(section.name, _span(section), text=text, children=self._entries.get(self._index_nodes))

    def _footer(self, section: Section) -> Node:
        file = self._file
        targets = {"index_size": Span("", file.entries.data_stop, file.index_stop)}
        rest = file.footer["index_size"] - INDEX_HEAD.size
        entries = plural(file.entries.declared, "entry")
        sums = {"index_size": f"{INDEX_HEAD.size} of entry_count + {rest:,} of {entries}"} if rest >= 0 else {}
        fields = field_nodes(FOOTER, file.footer, section.start, targets=targets, sums=sums)
        return Node(section.name, _span(section), children=fields)

    def _index_nodes(self) -> tuple[Node, ...]:
        entries = self._file.entries
        start = entries.data_stop
        kids = [field_nodes(INDEX_HEAD, {"entry_count": entries.declared}, start)[0]]
        if len(entries):
            span = Span("", start + INDEX_HEAD.size, start + entries.walk.end)
            kids.append(Node("entries", span, text=f"{len(entries):,}", children=EntryNodes(entries).children()))
        lost, error = entries.lost_span, entries.walk.error
        if error:
            kids.append(Node("lost", lost, role=FieldRole.UNKNOWN, error=error))
        elif lost.size:
            kids.append(
                Node(
                    "after the entries",
                    lost,
                    role=FieldRole.UNKNOWN,
                    doc="Bytes of the index after the last entry; the reference ignores them.",
                )
            )
        return tuple(kids)

    def part(self, name: SourceName) -> SourcePart:
        """Return a decompressed payload (`@start-stop`), the sidecar, or a BigFile of this shard as a source."""
        if len(name.stretches) == 1 and not name.path:
            rows = self._file.entries.rows_at(*name.stretches[0])
            if len(rows):
                row = int(rows[0])
                return content_part(BytesSource(self._file.decoded(row), str(name)), name, row=row)
        folder = self._file.source.folder
        if not name.stretches and name.path and folder is not None:
            prefix, _, digest = name.path.partition("/")
            if name.path == self._file.sidecar_name:
                return content_part(folder.open_on_demand(name.path), name, FieldRole.TEXT)
            if prefix == BIGFILES and is_hash(raw := digest.encode("utf-8", "replace")):
                rows = self._file.entries.rows_of_hash(raw)
                row_of_all = int(rows[0]) if len(rows) == 1 else None
                return content_part(folder.open_on_demand(name.path), name, row=row_of_all)
        raise UsageError(f"unknown source {short(str(name))}")


def _span(section: Section) -> Span:
    return Span("", section.start, section.stop)


def content_part(
    source: Source, name: SourceName, role: FieldRole = FieldRole.DATA, row: int | None = None
) -> SourcePart:
    """Return a source that contains one content, with its root node."""
    span, doc = Span(str(name), 0, source.size), "The content of one object."
    if role is FieldRole.TEXT:
        doc = "The sidecar, JSON: the sha256 of each content, and tombstones."
    root = Node(span.source, span, children=(Node("content", span, role=role, doc=doc),), row=row)
    return SourcePart(source, (Section("content", SectionRole.DATA, 0, source.size, doc),), lambda: root)


class EntryNodes:
    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._start = entries.data_stop

    def children(self) -> Children:
        starts = self._start + self._entries.walk.starts
        stops = self._start + self._entries.walk.stops
        return grouped(Extents(starts, stops, self._nodes, paint=self._paint))

    def _nodes(self, first: int, last: int) -> list[Node]:
        return [self.node(row) for row in range(first, last)]

    def node(self, row: int) -> Node:
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
        return Node(
            f"[{row}]",
            entries.span(row),
            text=_shown(uid),
            doc="One object: its uid, the location of its content, its metadata.",
            children=tuple(kids),
            error=error,
            row=row,
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
            return Span(bigfile_name(self._entries.hash(row)), 0, int(c.size[row]))
        return Span("", int(c.offset[row]), int(c.offset[row]) + int(c.length[row]))

    def _paint(self, first: int, last: int) -> Runs:
        """Return the colour runs of the fields of entries `[first, last)` without building nodes."""
        c = self._entries.columns
        rows = slice(first, last)
        starts = self._entries.walk.starts[rows]
        lengths = {"uid": c.uid_length[rows], "hash": c.hash_length[rows], "meta": c.meta_length[rows]}
        big = c.big[rows]
        sizes, roles = _widths(_plan(self._entries, big=False), lengths)
        if big.any():
            other, other_roles = _widths(_plan(self._entries, big=True), lengths)
            # One layout for inline objects and BigFiles: fields of the other kind have width 0.
            sizes = [np.where(big, 0, s) if k else s for k, s in enumerate(sizes)]
            sizes += [np.where(big, s, 0) if k else np.zeros_like(s) for k, s in enumerate(other)]
            roles = [*roles, *other_roles]
        stops = self._start + starts[:, None] + np.cumsum(np.stack(sizes, axis=1), axis=1)
        begins = np.concatenate([self._start + starts[:, None], stops[:, :-1]], axis=1)
        every = np.broadcast_to(np.array(roles, np.uint8), stops.shape)
        parity = np.broadcast_to(np.arange(stops.shape[1]) & 1, stops.shape)
        return Runs.of(begins, stops, every, parity)

    def _parts(self, row: int) -> list[Record | tuple[str, bytes]]:
        read = {"uid": self._entries.uid, "hash": self._entries.hash, "meta": self._entries.meta_bytes}
        plan = _plan(self._entries, big=bool(self._entries.columns.big[row]))
        return [part if isinstance(part, Record) else (part, read[part](row)) for part in plan]


class PayloadNodes:
    def __init__(self, file: DesFile) -> None:
        self._entries = file.entries
        self._map = file.data_map
        # Tombstoned payloads are not offered for decompression.
        self._hidden = frozenset(() if file.deleted else file.tombstoned.tolist())

    def children(self) -> Children:
        return grouped(Extents(self._map.starts, self._map.stops, self._nodes, paint=self._paint))

    def _nodes(self, first: int, last: int) -> list[Node]:
        return [self._node(number) for number in range(first, last)]

    def _node(self, number: int) -> Node:
        row = int(self._map.rows[number])
        start, stop = int(self._map.starts[number]), int(self._map.stops[number])
        if row < 0:
            return Node("gap", Span("", start, stop), role=FieldRole.UNUSED, doc="No entry refers to these bytes.")
        c = self._entries.columns
        whole = int(c.offset[row]), int(c.offset[row]) + int(c.length[row])
        codec = codec_name(int(c.codec[row]))
        part = "The stored content" if whole == (start, stop) else "A part of the content"
        return Node(
            _shown(self._entries.uid(row)) or f"[{row}]",
            Span("", start, stop),
            text="" if codec == "none" else codec,
            role=FieldRole.DATA,
            doc=f"{part} of entry [{row}].",
            decoded=decoded_name(*whole) if codec in CODECS[1:] and row not in self._hidden else "",
            row=row,
        )

    def _paint(self, first: int, last: int) -> Runs:
        roles = np.where(self._map.rows[first:last] < 0, FieldRole.UNUSED, FieldRole.DATA)
        return Runs.of(self._map.starts[first:last], self._map.stops[first:last], roles, np.arange(first, last) & 1)


def _plan(entries: Entries, *, big: bool) -> tuple[Record | str, ...]:
    """Return the records of an entry, and the names of the texts between them, in byte order."""
    if not isinstance(entries.shape, ShapeV2):
        return UID_HEAD, "uid", PLACE_V1_SHORT if isinstance(entries.shape, ShapeV1Short) else PLACE_V1
    if big:
        return UID_HEAD, "uid", BIGFILE_HEAD, "hash", BIGFILE_TAIL, "meta"
    return UID_HEAD, "uid", INLINE, "meta"


def _widths(
    plan: tuple[Record | str, ...], lengths: dict[str, NDArray[np.int64]]
) -> tuple[list[NDArray[np.int64]], list[FieldRole]]:
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
    value: Value = raw
    # Longer texts are not kept, because thousands of nodes are cached.
    if len(raw) > _VALUE_LIMIT:
        value = None
    else:
        with contextlib.suppress(UnicodeDecodeError):
            value = raw.decode()
    return Node(
        name, Span("", at, at + len(raw)), value=value, text=_shown(raw), role=_ROLES[name], doc=TEXT_DOCS[name]
    )


def _shown(raw: bytes) -> str:
    text = raw[: 4 * _SHOWN].decode("utf-8", "backslashreplace")
    printable = "".join(
        c if c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 256 else "\ufffd" for c in text[:_SHOWN]
    )
    return printable + ("…" if len(text) > _SHOWN or len(raw) > 4 * _SHOWN else "")
