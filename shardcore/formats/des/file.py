"""An open DES file: its source, index, sidecar and contents (des-architecture, Read path)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import decompress, decompress_shown, decompress_stream
from shardcore.errors import (
    BadChecksum,
    ExternalMissing,
    FormatError,
    Remedy,
    RemoteError,
    ShardError,
    SourceError,
    UsageError,
    raise_unless_absent,
)
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import CODECS, FOOTER, HEADER, bigfile_name, read_uid, sections_of
from shardcore.formats.des.sidecar import Sidecar, Tombstone, read_sidecar, sidecar_name
from shardcore.model.objects import ObjectRef
from shardcore.model.pointer_table import Links
from shardcore.model.section import Section
from shardcore.model.span import Span
from shardcore.model.text import plural, short
from shardcore.shards.cache import LruCache, Once
from shardcore.shards.shard import read_content_range
from shardcore.sources.base import Source, read_pieces

KEPT_DECODED = 1 << 25
"""Size of the cache of decompressed payloads, in bytes."""


class DataMap:
    """Ranges that cover the data section without overlap: (parts of) payloads with their rows, gaps with row -1."""

    def __init__(self, entries: Entries) -> None:
        start, stop = HEADER.size, entries.data_stop
        rows, c = entries.by_offset(), entries.columns
        first = np.clip(c.offset[rows].astype(np.int64), start, stop)
        last = np.maximum(np.minimum((c.offset[rows] + c.length[rows]).astype(np.int64), stop), first)
        ahead = np.append(first[1:], stop)[: len(rows)]
        reach = np.maximum.accumulate(last)
        # After a payload, an earlier and longer one may continue; a gap begins after both.
        keeper = np.maximum.accumulate(np.where(last == reach, np.arange(len(rows)), 0))
        end = np.minimum(last, ahead)
        resumed = np.maximum(np.minimum(reach, ahead), end)
        before = first[:1] if len(first) else np.array([stop])
        starts = np.concatenate([first, end, resumed, [start]])
        stops = np.concatenate([end, resumed, ahead, before])
        owners = np.concatenate([rows, rows[keeper], np.full(len(rows) + 1, -1)])
        solid = np.flatnonzero(stops > starts)
        order = solid[np.argsort(starts[solid], kind="stable")]
        self.starts, self.stops, self.rows = starts[order], stops[order], owners[order].astype(np.int64)
        crossed = np.flatnonzero(reach[:-1] > first[1:])
        self.overlaps = np.stack([rows[keeper[crossed]], rows[crossed + 1]], axis=1)

    @property
    def gaps(self) -> list[tuple[int, int]]:
        where = np.flatnonzero(self.rows < 0)
        return list(zip(self.starts[where].tolist(), self.stops[where].tolist(), strict=True))


class DesFile:
    has_sidecar = True
    """False if a listing of the folder shows that the shard has no sidecar, so that none is requested."""

    def __init__(
        self, source: Source, entries: Entries, header: dict[str, Any], footer: dict[str, Any], *, deleted: bool = False
    ) -> None:
        self.source = source
        self.entries = entries
        self.header, self.footer = header, footer
        self.deleted = deleted
        self.sidecar_name = sidecar_name(source.name)
        self._map: Once[DataMap] = Once()
        self._sidecar: Once[tuple[Sidecar | None, ShardError | None]] = Once()
        self._tombstoned: Once[NDArray[np.int64]] = Once()
        self._decoded: LruCache[int, bytes] = LruCache(KEPT_DECODED)

    def close(self) -> None:
        self.source.close()

    def links(self) -> Iterator[Links]:
        yield self.entries.links

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        return sections_of(self.entries.data_stop, self.source.size)

    @property
    def index(self) -> Span:
        return Span("", self.entries.data_stop, self.source.size - FOOTER.size)

    @property
    def data_map(self) -> DataMap:
        return self._map.get(lambda: DataMap(self.entries))

    @property
    def mapped(self) -> bool:
        return self._map.value is not None

    def uid(self, row: int) -> str | None:
        return read_uid(self.entries.uid(row))

    # --- the sidecar ----------------------------------------------------------------------------------------------

    @property
    def sidecar(self) -> Sidecar | None:
        """Sidecar, read on first access; None if it is missing or invalid."""
        return self._read_sidecar()[0]

    @property
    def sidecar_error(self) -> ShardError | None:
        return self._read_sidecar()[1]

    def _read_sidecar(self) -> tuple[Sidecar | None, ShardError | None]:
        return self._sidecar.get(lambda: read_sidecar(self.source)) if self.has_sidecar else (None, None)

    def tombstone(self, row: int) -> Tombstone | None:
        if self.sidecar is None or (uid := self.uid(row)) is None:
            return None
        return self.sidecar.tombstone(uid, self.entries.created_at(row))

    @property
    def tombstoned(self) -> NDArray[np.int64]:
        """Rows with a tombstone, ascending."""
        return self._tombstoned.get(self._find_tombstoned)

    def is_tombstoned(self, row: int) -> bool:
        at = int(np.searchsorted(rows := self.tombstoned, row))
        return at < len(rows) and int(rows[at]) == row

    @cached_property
    def nothing_deleted(self) -> bool:
        return self.sidecar_error is None and not len(self.tombstoned)

    def _find_tombstoned(self) -> NDArray[np.int64]:
        sidecar = self.sidecar
        if sidecar is None or not sidecar.tombstones:
            return np.zeros(0, np.int64)
        raw = [uid.encode("utf-8", "surrogatepass") for uid in sidecar.tombstones]
        rows = np.sort(np.concatenate(self.entries.rows_of(raw)))
        return np.array([row for row in rows.tolist() if self.tombstone(row)], np.int64)

    def check_allowed(self, row: int) -> None:
        """Raise UsageError if there is no such row, or if it is deleted and deleted objects are not included."""
        if not 0 <= row < len(self.entries):
            raise UsageError(f"there is no row {row} in this shard")
        if self.nothing_deleted or self.deleted:
            return
        error = self.sidecar_error
        if isinstance(error, RemoteError):
            raise error.with_traceback(None)
        if error is not None:
            text = f"it is unknown whether the object is deleted: {error.message}"
            kind = SourceError if isinstance(error, SourceError) else FormatError
            raise kind(text, remedy=Remedy.DELETED)
        if self.is_tombstoned(row):
            text = f"{short(self.uid(row))} was deleted ({self.tombstone(row)})"
            raise UsageError(text, remedy=Remedy.DELETED)

    # --- contents -------------------------------------------------------------------------------------------------

    def stream(self, row: int) -> Iterator[bytes]:
        """Yield the uncompressed content of an entry in pieces; errors as for `DesShard.stream`."""
        self.check_allowed(row)
        return self.pieces(row)

    def pieces(self, row: int, source: Source | None = None, limit: int | None = None) -> Iterator[bytes]:
        """Yield the uncompressed content of an entry, deleted or not.

        Without `limit`, the size must be the declared size for every codec; the reference does not check codec none.
        With `limit`, a compressed content or BigFile may have any size up to `limit`; a larger one is an error.
        """
        if self.entries.entry(row).big:
            return self._bigfile_pieces(row, limit)
        place, codec, size = self._checked_payload(row)
        stored = read_pieces(self.source if source is None else source, place.start, place.stop)
        if codec == "none":
            return stored
        if limit is not None:
            return decompress_stream(codec, stored, limit=limit, span=place)
        return decompress_stream(codec, stored, limit=size, expected=size, span=place)

    def read_plain(self, row: int, limit: int) -> bytes | None:
        """Return a content that is stored uncompressed in the shard; None for any other, and above `limit` bytes."""
        self.check_allowed(row)
        entry = self.entries.entry(row)
        if entry.big or entry.codec or entry.length > limit or self.entries.problem(row, entry):
            return None
        return self.source.read(entry.offset, entry.offset + entry.length)

    def decode(self, row: int, stored: bytes) -> bytes:
        """Return the content of a compressed object, decompressed from its stored bytes."""
        place, codec, size = self._checked_payload(row)
        return decompress(codec, stored, limit=size, expected=size, span=place)

    def _checked_payload(self, row: int) -> tuple[Span, str, int]:
        """Return payload, codec and declared uncompressed size of an object; raise FormatError if they are invalid."""
        entry = self.entries.readable(row)
        return Span("", entry.offset, entry.offset + entry.length), CODECS[entry.codec], entry.size

    def open_bigfile(self, row: int, limit: int | None = None) -> Source:
        """Open the file of a BigFile, without following links; its size must be as declared, or at most `limit`."""
        entries, folder = self.entries, self.source.folder
        fields = entries.readable(row)
        name, entry = bigfile_name(entries.hash_of(fields)), entries.span(row)
        if folder is None:
            raise ExternalMissing(f"the content is in {name}, but the folder of the shard is unknown", span=entry)
        try:
            source = folder.open(name)
        except SourceError as error:
            raise_unless_absent(error)
            missing = f"{name} not found in the folder of the shard: {error.message}"
            raise ExternalMissing(missing, span=entry) from error
        size, declared = source.size, fields.size if limit is None else limit
        if size != declared and (limit is None or size > limit):
            source.close()
            raise FormatError(f"{name} has {plural(size, 'byte')}, but the entry declares {declared:,}", span=entry)
        return source

    def _bigfile_pieces(self, row: int, limit: int | None) -> Iterator[bytes]:
        """Yield the content of a BigFile; its sha256 is compared only after the last piece (BadChecksum)."""
        import hashlib

        digest = hashlib.sha256()
        with self.open_bigfile(row, limit) as source:
            for piece in read_pieces(source, 0, source.size):
                digest.update(piece)
                yield piece
            if digest.hexdigest() != self.entries.hash_text(row).lower():
                name = bigfile_name(self.entries.hash(row))
                message = f"sha256 of {name}: computed {digest.hexdigest()}, unlike its name"
                raise BadChecksum(message, span=Span(name, 0, source.size))

    def read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes | None:
        """Return bytes `[start, stop)` of a content that is stored uncompressed; None if it is compressed."""
        self.check_allowed(ref.row)
        if self.entries.entry(ref.row).big:
            with self.open_bigfile(ref.row) as source:
                content = Span(ref.spans[0].source, 0, source.size)
                return read_content_range(source, ref, content, start, stop, limit)
        place, codec, _ = self._checked_payload(ref.row)
        return read_content_range(self.source, ref, place, start, stop, limit) if codec == "none" else None

    def decoded(self, row: int) -> bytes:
        """Return the uncompressed content of a compressed inline object, at most 32 MiB (LimitExceeded); cached."""
        self.check_allowed(row)
        kept = self._decoded.get(row)
        if kept is not None:
            return kept
        place, codec, size = self._checked_payload(row)
        data = decompress_shown(codec, self.source.read(place.start, place.stop), expected=size, span=place)
        return self._decoded.put(row, data, len(data)) if len(data) <= KEPT_DECODED else data
