"""Objects of a shard: one row per entry (des-architecture, Shard format, INDEX)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.formats.des.entries import EntryColumns, EntryFields
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import CODECS, bigfile_name, created_at_of, read_uid
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.model.span import Span
from shardcore.shards.cache import Once
from shardcore.shards.shard import AT_ONCE

OBJECT, BIGFILE = 0, 1
_NOT_SHOWN = 1 << 62  # larger sizes and offsets are invalid and become -1


class DesObjects(Objects):
    kinds = ("object", "bigfile")
    codecs = (*CODECS, "unknown")

    def __init__(self, file: DesFile) -> None:
        self._file = file
        self._entries = file.entries
        self._orders: Once[dict[str, NDArray[np.int64]]] = Once()

    def __len__(self) -> int:
        return len(self._entries)

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        # The fields of an entry take twice the memory of its columns.
        parts = [rows[first : first + AT_ONCE] for first in range(0, max(len(rows), 1), AT_ONCE)]
        found = [self._columns(some, self._entries.part(some)) for some in parts]
        return found[0] if len(found) == 1 else ObjectColumns.join(found)

    def _columns(self, rows: NDArray[np.int64], c: EntryColumns) -> ObjectColumns:
        big, lost = c.big, self._entries.unreadable(c)
        size, codec = _shown(c.size), np.minimum(c.codec, len(CODECS))
        length = np.where(big, size, _shown(c.length))
        start = np.where(big | lost, -1, _shown(c.offset))
        states = np.where(big, State.EXTERNAL, State.LIVE).astype(np.uint8)
        states[np.isin(rows, self._file.tombstoned)] = State.TOMBSTONED
        states[lost | self._entries.bad_texts(c)] = State.DAMAGED
        return ObjectColumns.of(
            rows,
            start,
            np.where(big | lost, -1, start + length),
            np.where(codec != 0, size, length),
            stored_size=length,
            codec=codec,
            state=states,
            kind=np.where(big, BIGFILE, OBJECT),
        )

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        return self._entries.uids(rows)

    def key_bytes(self, rows: NDArray[np.int64]) -> ByteStrings:
        return self._entries.uid_bytes(rows)

    def _ref(self, row: int) -> ObjectRef:
        entries, entry, record = self._entries, self._entries.entry(row), self._entries.span(row)
        uid, problem, meta = entries.uid(row), entries.problem(row, entry), {}
        key = read_uid(uid)
        error = problem or ("" if key is not None else "the uid is not UTF-8")
        damaged = bool(error)
        if entry.meta_length:
            last = entry.meta_start + entry.meta_length - 1
            damaged |= (entries.index[entry.meta_start], entries.index[last]) != (ord("{"), ord("}"))
            try:
                meta = entries.meta(row)
            except FormatError as invalid:
                error = error or invalid.message
        state = State.DAMAGED if damaged else State.EXTERNAL if entry.big else State.LIVE
        if not damaged and not self._file.nothing_deleted and self._file.is_tombstoned(row):
            state = State.TOMBSTONED
        length = _shown_one(entry.size if entry.big else entry.length)
        size = _shown_one(entry.size) if entry.codec else length
        content = Span("", record.start, record.start)
        if not entry.big and not problem:
            content = Span("", entry.offset, entry.offset + entry.length)
        elif entry.big and size >= 0 and not problem:
            content = Span(bigfile_name(entries.hash_of(entry)), 0, size)
        return ObjectRef(
            key,
            row,
            (content, record),
            size,
            length,
            self.codecs[min(entry.codec, len(CODECS))],
            state,
            self.kinds[BIGFILE if entry.big else OBJECT],
            error=error,
            extras=self._extras(uid, entry, key, meta),
            record=record,
        )

    def _extras(self, uid: bytes, entry: EntryFields[int], key: str | None, meta: dict[str, Any]) -> dict[str, Any]:
        extras: dict[str, Any] = {"meta": meta, "flags": entry.flags}
        if key is None:
            extras["key_hex"] = uid.hex()
        if entry.big:
            extras["hash"] = self._entries.hash_of(entry).decode("ascii", "backslashreplace")
        else:
            extras |= {"compressed_size": entry.compressed, "uncompressed_size": entry.size}
        sidecar = self._file.sidecar
        if sidecar is not None and key is not None:
            created_at = created_at_of(meta)
            tombstone = sidecar.tombstone(key, created_at)
            if tombstone is not None:
                extras["tombstone"] = dict(tombstone.facts)
            known = sidecar.entry(key, created_at) or {}
            extras |= {name: known[name] for name in ("checksum", "checksum_algo") if isinstance(known.get(name), str)}
        return extras

    @property
    def orders(self) -> tuple[str, ...]:
        return ("slot", *(self._orders.value or ()))

    def order(self, name: str) -> NDArray[np.int64] | None:
        known = self._orders.value or {}
        return known[name] if name in known else super().order(name)

    def sort(self) -> None:
        self._orders.get(self._sorted)

    def _sorted(self) -> dict[str, NDArray[np.int64]]:
        c, rows = self._entries.columns, self._entries.all_rows
        by_offset = np.lexsort((rows, c.offset, c.big)).astype(np.int64)
        return {"offset": by_offset, "size": np.argsort(self.columns(rows).size, kind="stable").astype(np.int64)}


def _shown(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return sizes and offsets as int64; values of 2^62 or more become -1."""
    numbers = values.astype(np.int64)
    numbers[values >= np.uint64(_NOT_SHOWN)] = -1
    return numbers


def _shown_one(value: int) -> int:
    return value if value < _NOT_SHOWN else -1
