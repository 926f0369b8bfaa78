"""A DES shard as a `Shard`: opening and access (des-architecture, Read path)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import BadMagic, FormatError, LimitExceeded, ShardError, Truncated, Unsupported
from shardcore.formats.des import layout
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.lookup import DesLookup
from shardcore.formats.des.objects import DesObjects
from shardcore.formats.des.routing import ShardName, uid_bytes
from shardcore.formats.des.sidecar import checksum_in
from shardcore.formats.des.tree import DesTree
from shardcore.model.computed_children import field_nodes
from shardcore.model.keys import Key
from shardcore.model.node import Node
from shardcore.model.objects import ObjectColumns, State
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.progress import Progress
from shardcore.shards.file_shard import FileShard
from shardcore.shards.open_context import Draft, OpenContext
from shardcore.sources.base import PIECE

if TYPE_CHECKING:
    from shardcore.model.objects import ObjectRef
    from shardcore.model.record import Record, Value
    from shardcore.sources.prefetched_source import PrefetchedSource

MAX_INDEX = 1 << 30
"""Largest index that is read, in bytes: 1 GiB, about ten million entries."""


class DesShard(FileShard):
    format = "des"
    listed = True
    no_loads = (
        "A DES shard has no slots; readers walk its index. To see the load of the shard numbers, open its folder."
    )
    file: DesFile

    def __init__(self, file: DesFile) -> None:
        objects = DesObjects(file)
        super().__init__(file, objects, DesTree(file), DesLookup(file, objects))
        self.version = file.entries.shape.name

    @property
    def fields(self) -> dict[str, Value]:
        count = {"index.entry_count": self.file.entries.declared}
        return super().fields | count | {f"footer.{name}": value for name, value in self.file.footer.items()}

    @property
    def declared_objects(self) -> int:
        return self.file.entries.declared

    @property
    def loaded(self) -> bool:
        return self.file.mapped

    def _load_index(self, progress: Progress) -> None:
        """Build the data map and the sort orders by offset and size; reads nothing but the sidecar."""
        progress(0, 1)
        _ = self.file.tombstoned
        self._objects.sort()
        _ = self.file.data_map
        progress(1, 1)

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        found = self.file.entries.rows_of(map(uid_bytes, keys))
        return np.array([rows[-1] if len(rows) else -1 for rows in found], np.int64)

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """Yield the uncompressed content in pieces; a BigFile is read from its external file.

        Raises:
            UsageError: The object is deleted, and the shard was not opened with `deleted=True`.
            ExternalMissing: The file of a BigFile does not exist.
            SourceError: The bytes cannot be read.
        """
        return self.file.stream(ref.row)

    def _read_key(self, key: Key, limit: int) -> bytes:
        row = self.file.entries.last_row_of(uid_bytes(self.key_text(key)))
        data = self.file.read_plain(row, min(limit, PIECE)) if row >= 0 else None
        return super()._read_key(key, limit) if data is None else data

    def _read_plain(self, ref: ObjectRef, limit: int) -> bytes | None:
        return self.file.read_plain(ref.row, limit)

    def _stored(self, columns: ObjectColumns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return columns.places((columns.state == State.LIVE) & (self.file.deleted or self.file.sidecar_error is None))

    def _decode_rows(
        self, columns: ObjectColumns, starts: NDArray[np.int64], stored: list[bytes]
    ) -> Iterable[bytes | ShardError]:
        return super()._decode_rows(columns, starts, stored) if columns.codec.any() else stored

    def _decode_row(self, row: int, start: int, stored: bytes) -> bytes:
        return self.file.decode(row, stored)

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        """Return a range of a content; if stored uncompressed, only this range is read, and nothing is verified."""
        data = self.file.read_range(ref, start, stop, limit)
        return super()._read_range(ref, start, stop, limit) if data is None else data

    def facts(self, ref: ObjectRef) -> dict[str, Any]:
        meta = ref.extras.get("meta", {})
        created_at = layout.created_at_of(meta) or self._date
        return {"meta": meta} | ({"created_at": created_at} if created_at else {}) | {"codec": ref.codec}

    def bare(self, columns: ObjectColumns) -> NDArray[np.bool_]:
        if self._date:
            return np.zeros(len(columns.row), np.bool_)
        plain = (columns.state == State.LIVE) & (columns.codec == 0)
        return np.asarray(plain & (self.file.entries.part(columns.row).meta_length == 0))

    @cached_property
    def _date(self) -> str:
        name = ShardName.parse(self.file.source.name)
        return f"{name.date[:4]}-{name.date[4:6]}-{name.date[6:]}" if name is not None else ""

    @cached_property
    def checksum(self) -> str:
        sidecar = self.file.sidecar
        stated = sidecar is not None and sidecar.index and all(map(checksum_in, sidecar.index.values()))
        return "sha256" if stated else ""

    @property
    def settings(self) -> dict[str, Any]:
        return {"sidecar": True} if self.checksum else {}


def open_shard(probe: PrefetchedSource, context: OpenContext) -> DesShard:
    """Open a shard: read the end of the file, the header, and the index, unless the bytes at the end contain it.

    Args:
        probe: The file.
        context: Options. With `partial`, an incomplete index is no error; its complete entries are used.

    Raises:
        FormatError: Header, footer or index is damaged, or the version is unsupported.
        LimitExceeded: The index is larger than 1 GiB.
        SourceError: The bytes cannot be read.
    """
    header, footer = _read_ends(probe, context.draft)
    start, stop = layout.index_start(probe.size, footer), probe.size - layout.FOOTER.size
    if stop - start > MAX_INDEX:
        text = f"the index has {plural(stop - start, 'byte')}; the limit is {MAX_INDEX:,}"
        raise LimitExceeded(text, span=Span("", start, stop))
    entries = Entries(probe.read(start, stop), int(header["version"]), start)
    shard = DesShard(DesFile(probe.base, entries, header, footer, deleted=bool(context.values.get("deleted"))))
    if entries.walk.error:
        shard.damage = FormatError(entries.walk.error, span=entries.lost_span)
        if not context.partial:
            raise shard.damage
    return shard


def _read_ends(probe: PrefetchedSource, draft: Draft) -> tuple[dict[str, Any], dict[str, Any]]:
    size, whole = probe.size, Span("", 0, probe.size)
    if size < layout.HEADER.size:
        raise Truncated(f"the file has {plural(size, 'byte')}, too few for a header", span=whole)
    if probe.head(len(layout.OTHER_FAMILY)) == layout.OTHER_FAMILY:
        text = "the file begins with DESHEAD1: another format of the same name, which is not supported"
        raise Unsupported(text, span=layout.HEADER.span(""))
    if size < layout.HEADER.size + layout.FOOTER.size:
        _drafted(draft, layout.HEADER, SectionRole.HEADER, 0, probe.head(layout.HEADER.size))
        raise Truncated(f"the file has {plural(size, 'byte')}, too few for header and footer", span=whole)
    at, tail = size - layout.FOOTER.size, probe.read_last(layout.FOOTER.size)
    header = _drafted(draft, layout.HEADER, SectionRole.HEADER, 0, probe.head(layout.HEADER.size))
    footer = _drafted(draft, layout.FOOTER, SectionRole.FOOTER, at, tail)
    draft.version = str(header["version"])
    layout.check_header(header)
    if footer["magic"] != layout.FOOTER_MAGIC:
        raise BadMagic("the file does not end with a DESI footer", span=layout.FOOTER.span("magic", at))
    return header, footer


def _drafted(draft: Draft, record: Record, role: SectionRole, at: int, data: bytes) -> dict[str, Any]:
    """Read a record and add it to the draft, so that it can be shown even if opening fails later."""
    values, place = record.read_one(data), record.span("", at)
    if draft.kept:
        section = Section(record.name, role, place.start, place.stop)
        draft.add(section, Node(record.name, place, children=field_nodes(record, values, at)), values)
    return values
