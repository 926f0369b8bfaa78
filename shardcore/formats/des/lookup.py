"""Lookup of a uid: its steps, which `trace_steps.py` describes in sentences (des-architecture, Read path)."""

from __future__ import annotations

from collections.abc import Iterator

from shardcore.codecs.content_hash import sha256_of
from shardcore.dataclasses import dataclass
from shardcore.errors import ExternalMissing, FormatError, KeyAbsent
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import BIGFILES
from shardcore.formats.des.objects import DesObjects
from shardcore.formats.des.routing import Route, Uid
from shardcore.formats.des.sidecar import Tombstone
from shardcore.model.objects import ObjectRef, ObjectSlice, State
from shardcore.model.references import Reference, ReferenceCollector
from shardcore.model.span import SourceName, Span
from shardcore.shards.trace import Elsewhere
from shardcore.sources.base import Source

MAX_TRACED = 1 << 24
"""Largest content that a trace reads, in bytes: 16 MiB."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Step of a lookup: footer, header and number of entries, which were read when the shard was opened."""

    file: DesFile


@dataclass(frozen=True, slots=True)
class NoEntry:
    """Step of a lookup: no entry of the index has the uid."""

    file: DesFile
    uid: Uid


@dataclass(frozen=True, slots=True)
class Found:
    file: DesFile
    row: int
    count: int


@dataclass(frozen=True, slots=True)
class SidecarRead:
    file: DesFile
    ref: ObjectRef
    tombstone: Tombstone | None


@dataclass(frozen=True, slots=True)
class ContentSkipped:
    """Step of a lookup: the content is not read. The object is or may be deleted, or it is larger than `MAX_TRACED`."""

    ref: ObjectRef
    deleted: bool


@dataclass(frozen=True, slots=True)
class BigFileMissing:
    """Step of a lookup: the external file of a BigFile does not exist."""

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
    """Step of a lookup: the shards of a folder that may contain the uid; `route` is None if n_bits is unknown.

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
class Copy:
    """Retention copy; `name` is its path below the folder that has copies. Uid and `created_at` are parsed from it."""

    uid: str
    created_at: str
    name: str
    size: int

    @property
    def span(self) -> Span:
        return Span(str(SourceName(self.name)), 0, self.size)

    def ref(self) -> ObjectRef:
        return ObjectRef(
            self.uid,
            -1,
            (self.span,),
            self.size,
            self.size,
            state=State.EXTERNAL,
            kind="copy",
            extras={"created_at": self.created_at},
        )


@dataclass(frozen=True, slots=True)
class Copied:
    """Step of a lookup: the retention copies of the uid."""

    copies: tuple[Copy, ...]


Fact = Opened | NoEntry | Found | ObjectRef | SidecarRead | ContentSkipped | BigFileMissing | Elsewhere | PayloadRead


class DesLookup:
    def __init__(self, file: DesFile, objects: DesObjects) -> None:
        self._file = file
        self._objects = objects

    def parse(self, text: str) -> Uid:
        return Uid.parse(text)

    def walk(self, key: Uid, source: Source) -> Iterator[Fact]:
        """Yield the steps of the lookup of a uid. If several entries have it, the last is used, as in the reference.

        Raises:
            KeyAbsent: No entry has the uid.
            FormatError: The uid is not in the readable entries, but the index is damaged after them.
        """
        file, entries = self._file, self._file.entries
        rows = entries.rows_of([key.raw])[0]
        yield Opened(file)
        if not len(rows):
            yield NoEntry(file, key)
            if entries.walk.error:
                message = f"not found in the readable entries; the index is damaged: {entries.walk.error}"
                raise FormatError(message, span=entries.lost_span)
            raise KeyAbsent(key.text, span=file.index)
        row = int(rows[-1])
        yield Found(file, row, len(rows))
        # Reads the sidecar, which has the checksum and the tombstone.
        ref = self._objects.ref(row)
        yield ref
        yield SidecarRead(file, ref, file.tombstone(row))
        yield from self._content(ref, source)

    def _content(self, ref: ObjectRef, source: Source) -> Iterator[Fact]:
        file, row = self._file, ref.row
        if file.sidecar_error is not None or (not file.deleted and file.is_tombstoned(row)):
            yield ContentSkipped(ref, deleted=True)
            return
        if max(ref.size, ref.stored_size) > MAX_TRACED:
            yield ContentSkipped(ref, deleted=False)
            return
        try:
            digest, size = sha256_of(file.pieces(row, source))
        except ExternalMissing as error:
            yield BigFileMissing(ref, error)
            yield Elsewhere(ref, "entry")
            return
        yield PayloadRead(ref, bool(file.entries.entry(row).big), size, digest)

    def find_all(self, key: Uid) -> ObjectSlice:
        return ObjectSlice(self._objects, self._file.entries.rows_of([key.raw])[0])

    def gather_references(self, into: ReferenceCollector) -> None:
        """If `into` collects the references to a BigFile, add the entries that refer to it."""
        entries, span = self._file.entries, into.span
        name = SourceName.parse(span.source)
        if name.path.startswith(f"{BIGFILES}/") and not name.stretches:
            rows = entries.rows_of_hash(name.path.rpartition("/")[2].encode("utf-8", "replace"))
            target = Span(span.source, 0, span.stop)
            why = "This entry names the BigFile by its hash."
            into.add_rows(rows.tolist(), lambda row: Reference(entries.span(row), target, why))
