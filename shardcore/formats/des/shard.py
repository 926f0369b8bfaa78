"""A DES shard as a `Shard`: detection and opening (des-architecture, Read path)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import BadMagic, FormatError, LimitExceeded, Truncated, Unsupported
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import (
    FOOTER,
    FOOTER_MAGIC,
    HEADER,
    MAGIC,
    OTHER_FAMILY,
    VERSIONS,
    index_start,
)
from shardcore.formats.des.lookup import DesLookup
from shardcore.formats.des.objects import DesObjects
from shardcore.formats.des.routing import ShardName, Uid
from shardcore.formats.des.sidecar import created_at_of
from shardcore.formats.des.sidecar_recovery import checksum_in
from shardcore.formats.des.tree import DesTree
from shardcore.model.computed_children import field_nodes
from shardcore.model.node import Node
from shardcore.model.number_text import plural
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.progress import Progress
from shardcore.shards.file_shard import FileShard
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import Draft, OpenContext

if TYPE_CHECKING:
    from shardcore.model.objects import ObjectRef
    from shardcore.model.record import Record, Value
    from shardcore.sources.prefetched_source import PrefetchedSource

MAX_INDEX = 1 << 30
"""Largest index read, 1 GiB: about ten million entries."""


def detect(probe: PrefetchedSource) -> Verdict | None:
    """Detect a shard by the magic of header and footer. DESHEAD1, another format with the same name, fails to open."""
    head = probe.head(len(OTHER_FAMILY))
    if head == OTHER_FAMILY:
        return Verdict(Certainty.MAGIC, "magic DESHEAD1: another format that is also called Data Easy Store")
    front = head.startswith(MAGIC)
    back = probe.read_last(FOOTER.size).startswith(FOOTER_MAGIC)
    if front and back:
        return Verdict(Certainty.MAGIC, "magic DES2 and footer DESI")
    if front or back:
        return Verdict(Certainty.PARTLY, "magic DES2, no footer" if front else "footer DESI, no magic DES2")
    return None


class DesShard(FileShard):
    format = "des"
    no_loads = (
        "A DES shard has no slots; readers walk its index. To see the load of the shard numbers, open its folder."
    )
    file: DesFile
    _lookup: DesLookup

    def __init__(self, file: DesFile) -> None:
        objects = DesObjects(file)
        super().__init__(file, objects, DesTree(file), DesLookup(file, objects))
        self.version = file.entries.shape.name

    @property
    def fields(self) -> dict[str, Value]:
        named = {f"header.{name}": value for name, value in self.file.header.items()}
        named["index.entry_count"] = self.file.entries.declared
        return named | {f"footer.{name}": value for name, value in self.file.footer.items()}

    @property
    def declared_objects(self) -> int:
        return self.file.entries.declared

    @property
    def loaded(self) -> bool:
        return self.file.mapped

    def _load_index(self, progress: Progress) -> None:
        """Build the data map and the orders by offset and size; reads at most the sidecar."""
        progress(0, 1)
        _ = self.file.tombstoned
        self._objects.sort()
        _ = self.file.data_map
        progress(1, 1)

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        return self.lookup_many([self.parse_key(key) for key in keys])

    def lookup_many(self, keys: Sequence[Uid]) -> NDArray[np.int64]:
        return self._lookup.find_many(keys)

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """Yield the uncompressed content in pieces; a BigFile is read from its external file.

        Raises:
            UsageError: The object is deleted, and the shard was not opened with `deleted=True`.
            FormatError: The content is damaged.
            ExternalMissing: The file of a BigFile does not exist.
            SourceError: The bytes cannot be read.
        """
        return self.file.stream(ref.row)

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        """Return a range of the content. Uncompressed payloads and BigFiles are read only in this range, unverified."""
        data = self.file.read_range(ref.row, start, stop, limit)
        return super()._read_range(ref, start, stop, limit) if data is None else data

    def facts(self, ref: ObjectRef) -> dict[str, Any]:
        meta = ref.extras.get("meta", {})
        created_at = created_at_of(meta) or self._date
        return {"meta": meta} | ({"created_at": created_at} if created_at else {}) | {"codec": ref.codec}

    @cached_property
    def _date(self) -> str:
        name = ShardName.parse(self.source.name) if self.source is not None else None
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
    """Open a shard; reads its end, its header, and its index if that was not within the end.

    Args:
        probe: The file.
        context: Options. With `partial`, an incomplete index is accepted, and its complete entries are returned.

    Raises:
        FormatError: Header, footer or index is damaged, or the version is unsupported.
        LimitExceeded: The index is larger than 1 GiB.
        SourceError: The bytes cannot be read.
    """
    header, footer, start = _read_ends(probe, context.draft)
    at = probe.size - FOOTER.size
    if at - start > MAX_INDEX:
        raise LimitExceeded(
            f"the index has {plural(at - start, 'byte')}; the limit is {MAX_INDEX:,}", span=Span("", start, at)
        )
    entries = Entries(probe.read(start, at), int(header["version"]), start)
    shard = DesShard(DesFile(probe.base, entries, header, footer, deleted=bool(context.values.get("deleted"))))
    if entries.walk.error:
        damage = FormatError(entries.walk.error, span=entries.lost_span)
        if not context.partial:
            raise damage
        shard.damage = damage
    return shard


def _read_ends(probe: PrefetchedSource, draft: Draft) -> tuple[dict[str, Any], dict[str, Any], int]:
    size = probe.size
    if size < HEADER.size:
        raise Truncated(f"the file has {plural(size, 'byte')}, too few for a header", span=Span("", 0, size))
    if probe.head(len(OTHER_FAMILY)) == OTHER_FAMILY:
        raise Unsupported(
            "begins with DESHEAD1: another format of the same name, which is not supported", span=Span("", 0, 8)
        )
    if size < HEADER.size + FOOTER.size:
        _draft(draft, HEADER, SectionRole.HEADER, 0, probe.head(HEADER.size))
        raise Truncated(f"the file has {plural(size, 'byte')}, too few for header and footer", span=Span("", 0, size))
    at = size - FOOTER.size
    tail = probe.read_last(FOOTER.size)
    header = _draft(draft, HEADER, SectionRole.HEADER, 0, probe.head(HEADER.size))
    footer = _draft(draft, FOOTER, SectionRole.FOOTER, at, tail)
    draft.version = str(header["version"])
    _check_header(header)
    if footer["magic"] != FOOTER_MAGIC:
        raise BadMagic("the file does not end with a DESI footer", span=_span(FOOTER, "magic", at))
    return header, footer, index_start(size, footer)


def _draft(draft: Draft, record: Record, role: SectionRole, at: int, data: bytes) -> dict[str, Any]:
    """Read a record and add it to the draft, so that it can be shown even if opening fails later."""
    values = record.read_one(data, place=Span("", at, at + len(data)))
    if draft.kept:
        section = Section(record.name, role, at, at + record.size)
        node = Node(record.name, Span("", at, at + record.size), children=field_nodes(record, values, at))
        draft.add(section, node, values)
    return values


def _span(record: Record, field: str, at: int = 0) -> Span:
    return Span("", at + record.offsets[field], at + record.offsets[field] + record.sizes[field])


def _check_header(header: dict[str, Any]) -> None:
    if header["magic"] != MAGIC:
        raise BadMagic("the file does not begin with DES2", span=_span(HEADER, "magic"))
    if header["version"] not in VERSIONS:
        text = f"version {header['version']} is not supported (supported: {', '.join(map(str, VERSIONS))})"
        raise Unsupported(text, span=_span(HEADER, "version"))
    if header["reserved"] != bytes(HEADER.sizes["reserved"]):
        raise FormatError("the reserved bytes of the header are not zero", span=_span(HEADER, "reserved"))
