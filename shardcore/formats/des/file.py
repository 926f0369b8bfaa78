"""An open DES file: its source, index, sidecar and caches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import decompress_shown
from shardcore.errors import FormatError, Remedy, RemoteError, ShardError, SourceError, UsageError
from shardcore.formats.des.content import cut, inline_place, open_bigfile, stream_bigfile, stream_inline
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import HEADER, read_uid, section_claims
from shardcore.formats.des.sidecar import Sidecar, Tombstone, read_sidecar, sidecar_name
from shardcore.model.pointer_table import Links
from shardcore.model.safe_text import short
from shardcore.model.section import tile
from shardcore.model.span import Span
from shardcore.shards.cache import LruCache, Once
from shardcore.sources.base import Source


class DataMap:
    """Ranges that cover the data section: payloads by offset, and the gaps between them."""

    def __init__(self, entries: Entries, start: int, stop: int) -> None:
        rows = entries.by_offset()
        c = entries.columns
        first = np.clip(c.offset[rows].astype(np.int64), start, stop)
        last = np.maximum(np.minimum((c.offset[rows] + c.length[rows]).astype(np.int64), stop), first)
        ahead = np.append(first[1:], stop)[: len(rows)]
        reach = np.maximum.accumulate(last)
        # After a payload, an earlier and longer one may continue; a gap begins after both.
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
        where = np.flatnonzero(self.rows < 0)
        return list(zip(self.starts[where].tolist(), self.stops[where].tolist(), strict=True))


KEPT_DECODED = 1 << 25
"""Size of the cache of decompressed payloads, in bytes."""


class DesFile:
    has_sidecar = True

    def __init__(
        self, source: Source, entries: Entries, header: dict[str, Any], footer: dict[str, Any], *, deleted: bool = False
    ) -> None:
        self.source = source
        self.entries = entries
        self.header, self.footer = header, footer
        self.deleted = deleted
        self.index_stop = entries.data_stop + len(entries.index)
        self.sections, _ = tile(section_claims(entries.data_stop, self.index_stop, source.size), source.size)
        self._map: Once[DataMap] = Once()
        self._sidecar: Once[tuple[Sidecar | None, ShardError | None]] = Once()
        self._tombstoned: Once[NDArray[np.int64]] = Once()
        self._decoded: LruCache[int, bytes] = LruCache(KEPT_DECODED)

    def links(self) -> Iterator[Links]:
        yield self.entries.links

    @property
    def data_map(self) -> DataMap:
        return self._map.get(lambda: DataMap(self.entries, HEADER.size, self.entries.data_stop))

    @property
    def mapped(self) -> bool:
        return self._map.value is not None

    def by_offset(self) -> NDArray[np.int64]:
        c = self.entries.columns
        return np.lexsort((np.arange(len(self.entries)), c.offset, c.big)).astype(np.int64)

    @property
    def sidecar_name(self) -> str:
        return sidecar_name(self.source.name)

    @property
    def sidecar(self) -> Sidecar | None:
        """Sidecar, read on first access; None if it is missing or invalid."""
        return self._read_sidecar()[0]

    @property
    def sidecar_error(self) -> ShardError | None:
        return self._read_sidecar()[1]

    def _read_sidecar(self) -> tuple[Sidecar | None, ShardError | None]:
        if (found := self._sidecar.value) is not None:
            return found
        folder, name = self.source.folder, self.sidecar_name
        if folder is None or not name or not self.has_sidecar:
            return None, None
        return self._sidecar.get(lambda: read_sidecar(folder, name))

    @property
    def tombstoned(self) -> NDArray[np.int64]:
        return self._tombstoned.get(self._find_tombstoned)

    def _find_tombstoned(self) -> NDArray[np.int64]:
        sidecar = self.sidecar
        if sidecar is None or not sidecar.tombstones:
            return np.zeros(0, np.int64)
        raw = [uid.encode("utf-8", "surrogatepass") for uid in sidecar.tombstones]
        rows = np.unique(np.concatenate(self.entries.rows_of(raw)))
        return np.array([row for row in rows.tolist() if self.tombstone(row)], np.int64)

    def _is_tombstoned(self, row: int) -> bool:
        rows = self.tombstoned
        at = int(np.searchsorted(rows, row)) if len(rows) else 0
        return at < len(rows) and int(rows[at]) == row

    def tombstone(self, row: int) -> Tombstone | None:
        uid = self.uid(row)
        if self.sidecar is None or uid is None:
            return None
        return self.sidecar.tombstone(uid, self.entries.created_at(row))

    def uid(self, row: int) -> str | None:
        return read_uid(self.entries.uid(row))

    def check_allowed(self, row: int) -> None:
        """Raise UsageError if there is no such row, or if it is deleted and deleted objects are not included."""
        if not 0 <= row < len(self.entries):
            raise UsageError(f"there is no row {row} in this shard")
        if self.deleted:
            return
        error = self.sidecar_error
        if isinstance(error, RemoteError):
            raise error.with_traceback(None)
        if error is not None:
            text = f"deletions are unknown: {error.message}"
            kind = SourceError if isinstance(error, SourceError) else FormatError
            raise kind(text, remedy=Remedy.DELETED)
        if self._is_tombstoned(row):
            text = f"{short(self.uid(row))} was deleted ({self.tombstone(row)})"
            raise UsageError(text, remedy=Remedy.DELETED)

    def stream(self, row: int) -> Iterator[bytes]:
        """Yield the uncompressed content of an entry in pieces; errors as for `DesShard.stream`."""
        self.check_allowed(row)
        if self.entries.columns.big[row]:
            return stream_bigfile(self.source.folder, self.entries, row)
        return stream_inline(self.source, self.entries, row)

    def read_range(self, row: int, start: int, stop: int, limit: int) -> bytes | None:
        """Return bytes `[start, stop)` of a content that is stored uncompressed; None if it is compressed."""
        self.check_allowed(row)
        if self.entries.columns.big[row]:
            with open_bigfile(self.source.folder, self.entries, row) as source:
                return cut(source, 0, source.size, start, stop, limit)
        first, last, codec, _ = inline_place(self.entries, row)
        return cut(self.source, first, last, start, stop, limit) if codec == "none" else None

    def decoded(self, row: int) -> bytes:
        """Return the uncompressed content of a compressed inline object, at most 32 MiB (LimitExceeded); cached."""
        self.check_allowed(row)
        kept = self._decoded.get(row)
        if kept is not None:
            return kept
        start, stop, codec, size = inline_place(self.entries, row)
        data = self.source.read(start, stop)
        plain = decompress_shown(codec, data, expected=size, span=Span("", start, stop))
        return self._decoded.put(row, plain, len(plain)) if len(plain) <= KEPT_DECODED else plain

    def close(self) -> None:
        self.source.close()
