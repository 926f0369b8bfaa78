"""An opened DES shard."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, LimitExceeded, ShardError, UsageError
from shardcore.finding import Depth, Report
from shardcore.formats.des import lookup, verify
from shardcore.formats.des.content import (
    inline_place,
    open_bigfile,
    read_chunks,
    stream_bigfile,
    stream_inline,
)
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import BIGFILES, FOOTER, HEADER, INDEX_HEAD, is_hash
from shardcore.formats.des.objects import DesObjects
from shardcore.formats.des.sidecar import SUFFIX, Sidecar, Tombstone, read_sidecar
from shardcore.formats.des.tree import DataMap, EntryNodes, entry_count_node, section_claims
from shardcore.nodes.children import field_nodes
from shardcore.nodes.node import Children, Node
from shardcore.nodes.sections import Section, SectionRole, tile
from shardcore.objects import ObjectRef
from shardcore.payload import decompress
from shardcore.progress import Progress, no_progress
from shardcore.record import FieldRole, Value
from shardcore.shard import DEFAULT_LIMIT, Shard
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource
from shardcore.span import Span, decoded_name
from shardcore.trace import Look

_KEPT = 1 << 26  # the last decoded payload is kept up to this size


class DesShard(Shard):
    """One opened shard.

    Args:
        source: The file.
        entries: Its index.
        header: Values of the header.
        footer: Values of the footer.
        deleted: Whether what a tombstone covers is served all the same.
    """

    format = "des"

    def __init__(
        self,
        source: Source,
        entries: Entries,
        header: dict[str, Any],
        footer: dict[str, Any],
        *,
        deleted: bool = False,
    ) -> None:
        self.source: Source = source
        self.entries = entries
        self.version = entries.shape.name
        self.deleted = deleted
        self.header, self.footer = header, footer
        self.index_stop = entries.data_stop + len(entries.index)
        claims = section_claims(entries.data_stop, self.index_stop, source.size)
        self.sections, _ = tile(claims, source.size)
        self._objects = DesObjects(self)
        self._map: DataMap | None = None
        self._last_decoded: BytesSource | None = None
        self._lock = threading.RLock()

    @property
    def objects(self) -> DesObjects:
        """One row for each entry."""
        return self._objects

    @property
    def fields(self) -> dict[str, Value]:
        """Header, entry count and footer."""
        named = {f"header.{name}": value for name, value in self.header.items()}
        named["index.entry_count"] = self.entries.declared
        return named | {f"footer.{name}": value for name, value in self.footer.items()}

    @property
    def declared_objects(self) -> int:
        """The entry count."""
        return self.entries.declared

    @property
    def loaded(self) -> bool:
        """Whether the payloads are in order."""
        return self._map is not None

    @property
    def data_map(self) -> DataMap:
        """Who owns the bytes of the data section; made by `load_index`."""
        with self._lock:
            if self._map is None:
                hidden = np.zeros(0, np.int64) if self.deleted else self.tombstoned
                self._map = DataMap(self.entries, HEADER.size, self.entries.data_stop, hidden)
                self._objects.sort()
            return self._map

    def load_index(self, progress: Progress = no_progress) -> None:
        """Brings payloads and objects into the orders of offset and size; nothing is read."""
        progress(0, 1)
        _ = self.data_map
        progress(1, 1)

    @property
    def lost_span(self) -> Span:
        """What of the index belongs to no whole entry."""
        return Span("", self.entries.data_stop + self.entries.walk.end, self.index_stop)

    def entry_span(self, row: int) -> Span:
        """The bytes of an entry."""
        at, walk = self.entries.data_stop, self.entries.walk
        return Span("", at + int(walk.starts[row]), at + int(walk.stops[row]))

    @cached_property
    def sidecar(self) -> Sidecar | None:
        """The sidecar, read when first needed; None when there is none, or it cannot be understood."""
        return self._sidecar_or_error[0]

    @property
    def sidecar_error(self) -> ShardError | None:
        """Why the sidecar cannot be used, though there is one, or may be."""
        return self._sidecar_or_error[1]

    @cached_property
    def _sidecar_or_error(self) -> tuple[Sidecar | None, ShardError | None]:
        folder = self.source.folder
        if folder is None or not self.sidecar_name:
            return None, None
        with self._lock:
            return read_sidecar(folder, self.sidecar_name)

    @property
    def sidecar_name(self) -> str:
        """How the sidecar is called; empty for a file without the suffix `.des`."""
        name = self.source.name
        return name.removesuffix(".des") + SUFFIX if name.endswith(".des") else ""

    @cached_property
    def tombstoned(self) -> NDArray[np.int64]:
        """The rows that the sidecar declares deleted."""
        if self.sidecar is None or not self.sidecar.tombstones:
            return np.zeros(0, np.int64)
        raw = [uid.encode("utf-8", "surrogatepass") for uid in self.sidecar.tombstones]
        rows = np.unique(np.concatenate(self.entries.rows_of(raw)))
        return np.array([row for row in rows.tolist() if self.tombstone(row)], np.int64)

    @property
    def tree(self) -> Node:
        """Header, data, index, footer; the parts of the data after `load_index`."""
        parts = section_claims(self.entries.data_stop, self.index_stop, self.source.size)
        header, data, index, footer = (Span("", s.start, s.stop) for s in parts)
        waiting = "" if self._map else "not yet looked at: load the index to see the payloads"
        nodes = (
            Node("header", header, children=field_nodes(HEADER, self.header, 0)),
            Node("data", data, text=waiting, children=self._payload_nodes if self._map else ()),
            Node("index", index, text=f"{len(self.entries)} entries", children=self._index_nodes),
            Node(
                "footer", footer, children=field_nodes(FOOTER, self.footer, footer.start, targets={"index_size": index})
            ),
        )
        return Node(self.source.name, Span("", 0, self.source.size), children=nodes)

    @cached_property
    def _payload_nodes(self) -> Children:
        return self.data_map.children()

    @cached_property
    def _index_nodes(self) -> tuple[Node, ...]:
        start = self.entries.data_stop
        kids = [entry_count_node(self.entries, start)]
        if len(self.entries):
            children = EntryNodes(self.entries, start).children()
            span = Span("", start + INDEX_HEAD.size, start + self.entries.walk.end)
            kids.append(Node("entries", span, text=f"{len(self.entries)}", children=children))
        lost, error = self.lost_span, self.entries.walk.error
        if error:
            kids.append(Node("lost", lost, role=FieldRole.UNKNOWN, error=error))
        elif lost.size:
            kids.append(
                Node("after the entries", lost, role=FieldRole.UNKNOWN, doc="The reference ignores these bytes.")
            )
        return tuple(kids)

    def lookup(self, key: str, look: Look) -> ObjectRef:
        """Finds a uid; of several entries with it the last."""
        return lookup.find(self, key, look)

    def find_all(self, key: str) -> tuple[ObjectRef, ...]:
        """All entries with this uid, in the order of the index."""
        return tuple(self.objects.ref(row) for row in lookup.rows_of(self, key).tolist())

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The rows of many uids; of several entries with one uid the last, -1 where there is none."""
        return lookup.find_many(self, keys)

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """The plain content; of a BigFile from beside the shard.

        Raises:
            UsageError: The object is deleted, and the shard was not opened with `deleted=True`.
            FormatError: The content is damaged.
            ExternalMissing: A BigFile is not there.
            SourceError: The bytes cannot be had.
        """
        self.check_allowed(ref.row)
        if self.entries.columns.big[ref.row]:
            return stream_bigfile(self.source.folder, self.entries, ref.row)
        return stream_inline(self.source, self.entries, ref.row)

    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """A range of the plain content; of a BigFile or a plain payload only these bytes are read (and not its digest).

        Raises:
            LimitExceeded: The range is longer than `limit` bytes.
            UsageError: The object is deleted, or the range is none.
            FormatError: The content is damaged.
            SourceError: The bytes cannot be had.
        """
        self.check_allowed(ref.row)
        if not 0 <= start <= stop:
            raise UsageError(f"not a half-open range: {start}..{stop}")
        if self.entries.columns.big[ref.row]:
            with open_bigfile(self.source.folder, self.entries, ref.row) as source:
                return _cut(source, 0, source.size, start, stop, limit)
        first, last, codec, _ = inline_place(self.entries, ref.row)
        if codec == "none":
            return _cut(self.source, first, last, start, stop, limit)
        return super().read_range(ref, start, stop, limit=limit)

    def check_allowed(self, row: int) -> None:
        """Refuses what was deleted.

        Raises:
            UsageError: The object is deleted, and the shard was not opened with `deleted=True`; or no row is.
            FormatError: The sidecar is damaged, so that nobody knows what was deleted.
        """
        if not 0 <= row < len(self.entries):
            raise UsageError(f"no row {row} here")
        if self.deleted:
            return
        if self.sidecar_error is not None:
            raise FormatError(f"what was deleted is not known: {self.sidecar_error.message}; open with deleted=True")
        if row in self.tombstoned:
            uid = self.objects.key_texts(np.array([row], np.int64))[0]
            raise UsageError(f"{uid!r} was deleted ({self.tombstone(row)}); open with deleted=True to read it")

    def tombstone(self, row: int) -> Tombstone | None:
        """The tombstone that covers an entry, if there is one."""
        uid = self.entries.uids(np.array([row], np.int64))[0]
        if self.sidecar is None or uid is None:
            return None
        return self.sidecar.tombstone(uid, self.entries.created_at(row))

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Checks ends and index; then entries, names and sidecar; then every content."""
        return verify.verify(self, Depth(depth), progress)

    def bytes_of(self, name: str) -> Source:
        """The file, what a payload decodes to (`@start-stop`), the sidecar, or a BigFile of this shard."""
        if name.startswith("@"):
            return self._decoded(name)
        folder = self.source.folder
        prefix, _, digest = name.partition("/")
        beside = name == self.sidecar_name or (prefix == BIGFILES and is_hash(digest.encode("utf-8", "replace")))
        if name and beside and folder is not None:
            return folder.open(name)
        return super().bytes_of(name)

    def _decoded(self, name: str) -> Source:
        last = self._last_decoded
        if last is not None and last.name == name:
            return last
        row = self._row_of(name)
        self.check_allowed(row)
        start, stop, codec, size = inline_place(self.entries, row)
        data = b"".join(read_chunks(self.source, start, stop))
        plain = decompress(codec, data, expected=size, span=Span("", start, stop))
        source = BytesSource(plain, name)
        if len(plain) <= _KEPT:
            self._last_decoded = source
        return source

    def _row_of(self, name: str) -> int:
        """The compressed entry whose payload is `@start-stop`."""
        first = name[1:].partition("-")[0]
        c = self.entries.columns
        if first.isascii() and first.isdecimal() and len(first) < 20:
            rows = np.flatnonzero((c.offset == np.uint64(first)) & (c.codec > 0))
            for row in rows.tolist():
                if decoded_name(int(first), int(first) + int(c.length[row])) == name:
                    return int(row)
        raise UsageError(f"no bytes are called {name!r} here")

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The sections of the file; other sources are content from end to end."""
        if name == "":
            return self.sections
        with self.bytes_of(name) as source:
            return (Section("content", SectionRole.DATA, 0, source.size, "The content of one object."),)

    def tree_of(self, name: str) -> Node:
        """The tree of the file; of other sources a node for their content."""
        if name == "":
            return self.tree
        with self.bytes_of(name) as source:
            span = Span(name, 0, source.size)
        role = FieldRole.TEXT if name == self.sidecar_name else FieldRole.DATA
        return Node(name, span, children=(Node("content", span, role=role, doc="The content of one object."),))


def _cut(source: Source, first: int, last: int, start: int, stop: int, limit: int) -> bytes:
    first, last = min(first + start, last), min(first + stop, last)
    if last - first > limit:
        raise LimitExceeded(f"a range of {last - first} bytes; the limit is {limit}")
    return source.read(first, last) if last > first else b""
