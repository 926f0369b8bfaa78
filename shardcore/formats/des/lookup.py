"""From a uid to its entry and content (des-architecture, Read path); the sentences are in `trace_steps.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.content_hash import sha256_of
from shardcore.errors import ExternalMissing, FormatError, KeyAbsent, UsageError
from shardcore.formats.des.content import open_bigfile, stream_bigfile, stream_inline
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import BIGFILES
from shardcore.formats.des.objects import DesObjects
from shardcore.formats.des.retention import Copy
from shardcore.formats.des.routing import DEFAULT_BITS, Route, Uid, shard_date
from shardcore.formats.des.zones_file import MAX_TEXT, Zones
from shardcore.model.objects import ObjectRef, ObjectSlice
from shardcore.model.references import Reference, ReferenceCollector
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.shards.trace import Elsewhere
from shardcore.sources.base import Source
from shardcore.sources.local import read_side_file

MAX_TRACED = 1 << 24
"""Largest content that a trace reads, 16 MiB."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Footer, header and count, which were read while opening."""

    file: DesFile


@dataclass(frozen=True, slots=True)
class NoEntry:
    """The index, if no entry has the uid."""

    file: DesFile
    uid: Uid

    @property
    def index(self) -> Span:
        return Span("", self.file.entries.data_stop, self.file.index_stop)


@dataclass(frozen=True, slots=True)
class Found:
    file: DesFile
    row: int
    count: int


@dataclass(frozen=True, slots=True)
class SidecarRead:
    file: DesFile
    ref: ObjectRef


@dataclass(frozen=True, slots=True)
class ContentSkipped:
    """A content that a trace does not read: of an object that is or may be deleted, or a large one."""

    ref: ObjectRef
    deleted: bool


@dataclass(frozen=True, slots=True)
class BigFileMissing:
    """A BigFile whose external file does not exist."""

    ref: ObjectRef
    error: ExternalMissing


@dataclass(frozen=True, slots=True)
class PayloadRead:
    ref: ObjectRef
    bigfile: bool
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Routed:
    """The shards of a folder that may contain a uid; `route` is None if n_bits is unknown.

    `origin` describes the source of n_bits; `zone` is None without zones, and "" if no zone has the shard number.
    """

    uid: Uid
    route: Route | None
    candidates: list[str]
    origin: str = ""
    zone: str | None = None
    date: str = ""
    files: int | None = None


@dataclass(frozen=True, slots=True)
class Copied:
    """The retention copies of a uid."""

    copies: tuple[Copy, ...]


Fact = Opened | NoEntry | Found | ObjectRef | SidecarRead | ContentSkipped | BigFileMissing | Elsewhere | PayloadRead


class DesLookup:
    def __init__(self, file: DesFile, objects: DesObjects) -> None:
        self._file = file
        self._objects = objects

    def parse(self, text: str) -> Uid:
        return Uid.parse(text)

    def walk(self, key: Uid, source: Source) -> Iterator[Fact]:
        """Look up a uid and yield each result in order. Of several entries, the last is used, as in the reference.

        Raises:
            KeyAbsent: No entry has the uid.
            FormatError: The index is damaged where the entry may be.
        """
        file, entries = self._file, self._file.entries
        rows = self._rows(key)
        yield Opened(file)
        if not len(rows):
            missed = NoEntry(file, key)
            yield missed
            if entries.walk.error:
                message = f"not found in the readable entries; the index is damaged: {entries.walk.error}"
                raise FormatError(message, span=entries.lost_span)
            raise KeyAbsent(key.text, span=missed.index)
        row = int(rows[-1])
        yield Found(file, row, len(rows))
        # Reads the sidecar, which has the checksum and the tombstone.
        ref = self._objects.ref(row)
        yield ref
        yield SidecarRead(file, ref)
        yield from self._content(ref, source)

    def find_all(self, key: Uid) -> ObjectSlice:
        return ObjectSlice(self._objects, self._rows(key))

    def find_many(self, keys: Sequence[Uid]) -> NDArray[np.int64]:
        found = self._file.entries.rows_of([key.raw for key in keys])
        return np.array([rows[-1] if len(rows) else -1 for rows in found], np.int64)

    def gather_references(self, into: ReferenceCollector) -> None:
        """Add the entries that name a BigFile."""
        entries, span = self._file.entries, into.span
        name = SourceName.parse(span.source)
        if name.path.startswith(f"{BIGFILES}/") and not name.stretches:
            rows = entries.rows_of_hash(name.path.rpartition("/")[2].encode("utf-8", "replace"))
            target = Span(span.source, 0, span.stop)
            why = "This entry names the BigFile by its hash."
            into.add_rows(rows.tolist(), lambda row: Reference(entries.span(row), target, why))

    def _rows(self, key: Uid) -> NDArray[np.int64]:
        return self._file.entries.rows_of([key.raw])[0]

    def _content(self, ref: ObjectRef, source: Source) -> Iterator[Fact]:
        file, entries = self._file, self._file.entries
        if file.sidecar_error is not None or (not file.deleted and ref.row in file.tombstoned):
            yield ContentSkipped(ref, deleted=True)
            return
        if max(ref.size, ref.stored_size) > MAX_TRACED:
            yield ContentSkipped(ref, deleted=False)
            return
        big = bool(entries.columns.big[ref.row])
        if big:
            try:
                open_bigfile(file.source.folder, entries, ref.row).close()
            except ExternalMissing as error:
                yield BigFileMissing(ref, error)
                yield Elsewhere(ref, "entry")
                return
        pieces = (
            stream_bigfile(file.source.folder, entries, ref.row) if big else stream_inline(source, entries, ref.row)
        )
        digest, size = sha256_of(pieces)
        yield PayloadRead(ref, big, size, digest)


def locate(key: str, *, date: str = "", n_bits: int | None = None, zones: Any = None) -> dict[str, Any]:
    """Compute the shard of a uid by the routing rule; no shard is opened.

    Args:
        key: The uid.
        date: `created_at` in ISO 8601; required. Only the date is used, in its own time zone.
        n_bits: Bits of the shard number; default: those of the zones file, else 8.
        zones: A zones file: its text, or its path.

    Returns:
        `uid`, `date`, `n_bits`, `rule`, `number`, `hex` and `names` (a pattern with `*` for the part); with zones also
        `zone` and `uri` (None if no zone has the number).

    Raises:
        UsageError: The date is invalid, or `n_bits` is not 4 to 16, or differs from the zones file.
        FormatError: The zones file is invalid.
        SourceError: The zones file cannot be read.
    """
    if not date:
        raise UsageError("no date: a uid is also routed by its date; pass -O date=CREATED_AT")
    day = shard_date(str(date))
    found = read_zones(zones) if zones is not None else None
    if found is not None and n_bits not in (None, found.n_bits):
        raise UsageError(f"n_bits is {n_bits}, but the zones file declares {found.n_bits}")
    route = Uid.parse(key).route(found.n_bits if found else DEFAULT_BITS if n_bits is None else n_bits)
    place: dict[str, Any] = {
        "uid": key,
        "date": day,
        "n_bits": route.n_bits,
        "rule": route.rule,
        "number": route.number,
        "hex": route.hex,
        "names": f"{day}_{route.hex}_*.des",
    }
    if found is not None:
        zone = found.zone_of(route.number)
        place |= {"zone": zone.name if zone else None, "uri": zone.uri if zone else None}
    return place


def read_zones(zones: Any) -> Zones:
    text = str(zones)
    if isinstance(zones, str) and ("{" in text or "\n" in text):
        return Zones.parse(text)
    return Zones.parse(read_side_file(text, MAX_TEXT + 1, named=True))
