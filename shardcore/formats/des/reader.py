"""Opens DES shards: recognises them, reads the two ends and the index (des-architecture, Read path)."""

from __future__ import annotations

from typing import Any

from shardcore.errors import BadMagic, FormatError, LimitExceeded, Truncated, Unsupported
from shardcore.format import Certainty, Draft, OpenContext, Verdict
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import (
    FOOTER,
    FOOTER_MAGIC,
    HEADER,
    MAGIC,
    OTHER_FAMILY,
    VERSIONS,
    index_start,
)
from shardcore.formats.des.shard import DesShard
from shardcore.nodes.children import field_nodes
from shardcore.nodes.node import Node
from shardcore.nodes.sections import Section, SectionRole
from shardcore.record import Record
from shardcore.sources.opening import PrefetchedSource
from shardcore.span import Span

MAX_INDEX = 1 << 30
"""Largest index read, 1 GiB: some ten million entries."""


def detect(probe: PrefetchedSource) -> Verdict | None:
    """DES by the magic numbers of both ends; the other family of that name is known, too, and refused when opened."""
    head = probe.head(len(OTHER_FAMILY))
    if head == OTHER_FAMILY:
        return Verdict(Certainty.MAGIC, "magic DESHEAD1, the other family of that name")
    front = head.startswith(MAGIC)
    back = probe.read_last(FOOTER.size).startswith(FOOTER_MAGIC)
    if front and back:
        return Verdict(Certainty.MAGIC, "magic DES2 and footer DESI")
    if front or back:
        return Verdict(Certainty.PARTLY, "magic DES2 without its footer" if front else "footer DESI without magic DES2")
    return None


def open_shard(probe: PrefetchedSource, context: OpenContext) -> DesShard:
    """Opens a shard: the end, the beginning, and the index when it is not in the end that was fetched.

    An index that ends too early is an error, unless a partial shard is wanted: that has the entries before the damage.

    Raises:
        FormatError: Ends or index are damaged, or of a version or family that is not read.
        LimitExceeded: The index is larger than 1 GiB.
        SourceError: The bytes cannot be had.
    """
    size = probe.size
    if size < HEADER.size:
        raise Truncated(f"{size} bytes are too few for a header", span=Span("", 0, size))
    if probe.head(len(OTHER_FAMILY)) == OTHER_FAMILY:
        raise Unsupported("a file of the DESHEAD1 family: another format of the same name", span=Span("", 0, 8))
    if size < HEADER.size + FOOTER.size:
        _draft(context.draft, HEADER, SectionRole.HEADER, 0, probe.head(HEADER.size))
        raise Truncated(f"{size} bytes are too few for header and footer", span=Span("", 0, size))
    at = size - FOOTER.size
    tail = probe.read_last(FOOTER.size)
    header = _draft(context.draft, HEADER, SectionRole.HEADER, 0, probe.head(HEADER.size))
    footer = _draft(context.draft, FOOTER, SectionRole.FOOTER, at, tail)
    context.draft.version = str(header["version"])
    _check_header(header)
    if footer["magic"] != FOOTER_MAGIC:
        raise BadMagic("the file does not end with a DESI footer", span=_span(FOOTER, "magic", at))
    start = index_start(size, footer)
    if at - start > MAX_INDEX:
        raise LimitExceeded(f"an index of {at - start} bytes; the limit is {MAX_INDEX}", span=Span("", start, at))
    entries = Entries(probe.read(start, at), int(header["version"]), start)
    shard = DesShard(probe.base, entries, header, footer, deleted=context.options.deleted)
    if entries.walk.error:
        damage = FormatError(entries.walk.error, span=shard.lost_span)
        if not context.partial:
            raise damage
        shard.damage = damage
    return shard


def _draft(draft: Draft, record: Record, role: SectionRole, at: int, data: bytes) -> dict[str, Any]:
    """Notes one of the ends, so that it can be shown whatever comes."""
    values = record.read_one(data, place=Span("", at, at + len(data)))
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
        known = " and ".join(map(str, VERSIONS))
        raise Unsupported(f"version {header['version']}; {known} are known", span=_span(HEADER, "version"))
    if header["reserved"] != bytes(HEADER.sizes["reserved"]):
        raise FormatError("the reserved bytes of the header are not zero", span=_span(HEADER, "reserved"))
