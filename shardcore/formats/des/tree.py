"""Tree of a shard, its sidecar and its BigFiles: nodes and colours, computed when they are shown."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import UsageError
from shardcore.formats.des import layout
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.file import DesFile
from shardcore.model.computed_children import Extents, field_nodes, grouped
from shardcore.model.node import Children, Node, Runs
from shardcore.model.record import FieldRole, Record, Value
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import SourceName, Span, decoded_name
from shardcore.model.text import plural, short
from shardcore.shards.cache import Once
from shardcore.shards.shard import SourcePart
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource

_SHOWN = 200  # characters of a text in the tree
_VALUE_LIMIT = 2**16
"""Longest text, in bytes, that is the value of its node."""


class DesTree:
    def __init__(self, file: DesFile) -> None:
        self._file = file
        self._payloads: Once[Children] = Once()
        self._entries: Once[tuple[Node, ...]] = Once()

    def root(self) -> Node:
        file = self._file
        makers = {"header": self._header, "data": self._data, "index": self._index, "footer": self._footer}
        texts = {"index": plural(len(file.entries), "entry")}
        if not file.mapped:
            texts["data"] = "not read yet; load the index to see the payloads"
        kids = tuple(
            Node(one.name, Span("", one.start, one.stop), text=texts.get(one.name, ""), children=makers[one.name]())
            for one in file.sections
        )
        text = f"Data Easy Store shard, {plural(file.entries.declared, 'object')}"
        return Node(file.source.name, Span("", 0, file.source.size), text=text, children=kids)

    def _header(self) -> Sequence[Node]:
        return field_nodes(layout.HEADER, self._file.header, 0)

    def _data(self) -> Sequence[Node]:
        return self._payloads.get(lambda: grouped(Payloads(self._file))) if self._file.mapped else ()

    def _index(self) -> Sequence[Node]:
        return self._entries.get(self._index_nodes)

    def _index_nodes(self) -> tuple[Node, ...]:
        entries = self._file.entries
        start, lost, error = entries.data_stop, entries.lost_span, entries.walk.error
        kids = [*field_nodes(layout.INDEX_HEAD, {"entry_count": entries.declared}, start)]
        if len(entries):
            span = Span("", start + layout.INDEX_HEAD.size, lost.start)
            kids.append(Node("entries", span, text=f"{len(entries):,}", children=grouped(EntryNodes(entries))))
        if error:
            kids.append(Node("lost", lost, role=FieldRole.UNKNOWN, error=error))
        elif lost.size:
            doc = "Bytes of the index after the last entry; the reference ignores them."
            kids.append(Node("after the entries", lost, role=FieldRole.UNKNOWN, doc=doc))
        return tuple(kids)

    def _footer(self) -> Sequence[Node]:
        file, start = self._file, self._file.index.stop
        rest = file.footer["index_size"] - layout.INDEX_HEAD.size
        entries = plural(file.entries.declared, "entry")
        sums = {"index_size": f"{layout.INDEX_HEAD.size} of entry_count + {rest:,} of {entries}"} if rest >= 0 else {}
        return field_nodes(layout.FOOTER, file.footer, start, targets={"index_size": file.index}, sums=sums)

    def part(self, name: SourceName) -> SourcePart:
        """Return a decompressed payload (`@start-stop`), the sidecar, or a BigFile of this shard as a source."""
        file, folder = self._file, self._file.source.folder
        if len(name.stretches) == 1 and not name.path:
            rows = file.entries.rows_at(*name.stretches[0])
            if len(rows):
                row = int(rows[0])
                return content_part(BytesSource(file.decoded(row), str(name)), name, row=row)
        if not name.stretches and name.path and folder is not None:
            if name.path == file.sidecar_name:
                return content_part(folder.open_on_demand(name.path), name, FieldRole.TEXT)
            if (digest := digest_in(name.path)) is not None:
                rows = file.entries.rows_of_hash(digest)
                row_of_all = int(rows[0]) if len(rows) == 1 else None
                return content_part(folder.open_on_demand(name.path), name, row=row_of_all)
        raise UsageError(f"unknown source {short(str(name))}")


def digest_in(path: str) -> bytes | None:
    """Return the hash in the path of an external file; None for any other path."""
    prefix, _, digest = path.partition("/")
    raw = digest.encode("utf-8", "replace")
    return raw if prefix == layout.BIGFILES and layout.is_hash(raw) else None


def content_part(
    source: Source, name: SourceName, role: FieldRole = FieldRole.DATA, row: int | None = None
) -> SourcePart:
    """Return a source that is the whole content of one object, or a sidecar, with its root node."""
    span, doc = Span(str(name), 0, source.size), "The content of one object."
    if role is FieldRole.TEXT:
        doc = "The sidecar, JSON: the sha256 of each content, and tombstones."
    root = Node(span.source, span, children=(Node("content", span, role=role, doc=doc),), row=row)
    return SourcePart(source, (Section("content", SectionRole.DATA, 0, source.size, doc),), lambda: root)


class EntryNodes(Extents):
    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        start, walk = entries.data_stop, entries.walk
        super().__init__(start + walk.starts, start + walk.stops, self._nodes, paint=self._paint)

    def _nodes(self, first: int, last: int) -> list[Node]:
        return [self._node(row) for row in range(first, last)]

    def _node(self, row: int) -> Node:
        entries = self._entries
        kids: list[Node] = []
        for part, span in entries.parts(row):
            if isinstance(part, Record):
                kids += self._fields(part, row, span.start)
            elif span.size:
                raw = entries.index[span.start - entries.data_stop : span.stop - entries.data_stop]
                kids.append(_text_node(part, raw, span))
        return Node(
            f"[{row}]",
            entries.span(row),
            text=_printable(entries.uid(row)),
            doc="One object: its uid, the location of its content, its metadata.",
            children=tuple(kids),
            error=entries.problem(row) or entries.bad_text(row),
            row=row,
        )

    def _fields(self, record: Record, row: int, at: int) -> tuple[Node, ...]:
        entries = self._entries
        values = record.read_one(entries.index, at - entries.data_stop)
        texts, targets = {}, {}
        if (code := values.get("codec")) is not None:
            texts["codec"] = f"{code} ({layout.codec_name(code)})"
        if (flags := values.get("flags")) is not None:
            texts["flags"] = f"{flags} ({'BigFile' if flags & layout.BIGFILE_FLAG else 'inline'})"
        if "offset" in values and not entries.problem(row):
            targets["offset"] = entries.payload(row)
        return field_nodes(record, values, at, texts=texts, targets=targets)

    def _paint(self, first: int, last: int) -> Runs:
        """Return the colour runs of the fields of entries `[first, last)` without building nodes."""
        entries, c = self._entries, self._entries.part(slice(first, last))
        lengths = {"uid": c.uid_length, "hash": c.hash_length, "meta": c.meta_length}
        sizes: list[NDArray[np.int64]] = []
        roles: list[FieldRole] = []
        # One layout for inline objects and BigFiles: fields of the other kind have width 0.
        for big in (False, True) if c.big.any() else (False,):
            for part in entries.plan(big=big):
                fields = part.fields if isinstance(part, Record) else (part,)
                widths = part.sizes if isinstance(part, Record) else lengths
                sizes += [np.where(c.big == big, widths[field.name], 0) for field in fields]
                roles += [field.role for field in fields]
        starts = self.starts[first:last, None]
        stops = starts + np.cumsum(np.stack(sizes, axis=1), axis=1)
        begins = np.concatenate([starts, stops[:, :-1]], axis=1)
        every = np.broadcast_to(np.array(roles, np.uint8), stops.shape)
        parity = np.broadcast_to(np.arange(stops.shape[1]) & 1, stops.shape)
        return Runs.of(begins, stops, every, parity)


class Payloads(Extents):
    def __init__(self, file: DesFile) -> None:
        self._entries = file.entries
        self._rows = file.data_map.rows
        # Tombstoned payloads are not offered for decompression.
        self._hidden = frozenset(() if file.deleted else file.tombstoned.tolist())
        super().__init__(file.data_map.starts, file.data_map.stops, self._nodes, paint=self._paint)

    def _nodes(self, first: int, last: int) -> list[Node]:
        return [self._node(self.span_of(number), int(self._rows[number])) for number in range(first, last)]

    def _node(self, span: Span, row: int) -> Node:
        if row < 0:
            return Node("gap", span, role=FieldRole.UNUSED, doc="No entry refers to these bytes.")
        entries = self._entries
        whole, codec = entries.payload(row), layout.codec_name(entries.entry(row).codec)
        compressed = codec in layout.CODECS[1:]
        part = "The stored content" if whole == span else "A part of the content"
        return Node(
            _printable(entries.uid(row)) or f"[{row}]",
            span,
            text="" if codec == "none" else codec,
            role=FieldRole.DATA,
            doc=f"{part} of entry [{row}].",
            decoded=decoded_name(whole.start, whole.stop) if compressed and row not in self._hidden else "",
            row=row,
        )

    def _paint(self, first: int, last: int) -> Runs:
        roles = np.where(self._rows[first:last] < 0, FieldRole.UNUSED, FieldRole.DATA)
        return Runs.of(self.starts[first:last], self.stops[first:last], roles, np.arange(first, last) & 1)


def _text_node(part: layout.EntryText, raw: bytes, span: Span) -> Node:
    value: Value = raw
    # Longer texts are not kept, because thousands of nodes are cached.
    if len(raw) > _VALUE_LIMIT:
        value = None
    else:
        with contextlib.suppress(UnicodeDecodeError):
            value = raw.decode()
    return Node(part.name, span, value=value, text=_printable(raw), role=part.role, doc=part.doc)


def _printable(raw: bytes) -> str:
    text = raw[: 4 * _SHOWN].decode("utf-8", "backslashreplace")
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 256 else "\ufffd" for c in text[:_SHOWN])
    return shown + ("…" if len(text) > _SHOWN or len(raw) > 4 * _SHOWN else "")
