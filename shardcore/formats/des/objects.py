"""Objects of a shard: one row per entry (des-architecture, Shard format, INDEX)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import CODECS, bigfile_name, is_hash
from shardcore.formats.des.sidecar import created_at_of
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.model.span import Span
from shardcore.shards.cache import Once

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
        c = self._entries.columns
        big = c.big[rows]
        lost = self._entries.unreadable(rows)
        here = ~big & ~lost
        length = _numbers(np.where(big, c.size[rows], c.length[rows]))
        start = np.where(here, _numbers(c.offset[rows]), -1)
        codec = np.minimum(c.codec[rows], len(CODECS))
        return ObjectColumns.of(
            rows,
            start,
            np.where(here, start + length, -1),
            np.where(big | (codec != 0), _numbers(c.size[rows]), length),
            stored_size=length,
            codec=codec,
            state=self._states(rows, big, lost),
            kind=np.where(big, BIGFILE, OBJECT),
        )

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        return self._entries.uids(rows)

    def key_bytes(self, rows: NDArray[np.int64]) -> ByteStrings:
        return self._entries.uid_bytes(rows)

    def ref(self, row: int) -> ObjectRef:
        """Return the object of a row; its `extras` contain the metadata, and in hex a uid that is not UTF-8."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        return next(self.refs(np.array([row], np.int64)))

    def refs(self, rows: NDArray[np.int64]) -> Iterator[ObjectRef]:
        columns, keys = self.columns(rows), self._entries.uids(rows)
        faulty = self._entries.unreadable(rows)
        for number, (row, key) in enumerate(zip(rows.tolist(), keys, strict=True)):
            meta, error = self._meta(row)
            problem = self._entries.problem(row) if faulty[number] else ""
            yield ObjectRef(
                key,
                row,
                self._spans(row, int(columns.start[number]), int(columns.stop[number]), int(columns.size[number])),
                int(columns.size[number]),
                int(columns.stored_size[number]),
                self.codecs[columns.codec[number]],
                State(int(columns.state[number])),
                self.kinds[columns.kind[number]],
                error=problem or ("" if key is not None else "the uid is not UTF-8") or error,
                extras=self._extras(row, key, meta),
                record=self._entries.span(row),
            )

    @property
    def orders(self) -> tuple[str, ...]:
        return ("slot", *(self._orders.value or ()))

    def order(self, name: str) -> NDArray[np.int64] | None:
        known = self._orders.value or {}
        return known[name] if name in known else super().order(name)

    def sort(self) -> None:
        self._orders.get(self._sorted)

    def _sorted(self) -> dict[str, NDArray[np.int64]]:
        rows = np.arange(len(self), dtype=np.int64)
        size = np.argsort(self.columns(rows).size, kind="stable")
        return {"offset": self._file.by_offset(), "size": size.astype(np.int64)}

    def _states(self, rows: NDArray[np.int64], big: NDArray[np.bool_], lost: NDArray[np.bool_]) -> NDArray[np.uint8]:
        states = np.where(big, State.EXTERNAL, State.LIVE).astype(np.uint8)
        states[np.isin(rows, self._file.tombstoned)] = State.TOMBSTONED
        states[lost | self._entries.bad_texts(rows)] = State.DAMAGED
        return states

    def _spans(self, row: int, start: int, stop: int, size: int) -> tuple[Span, ...]:
        entry = self._entries.span(row)
        if start >= 0:
            return Span("", start, stop), entry
        digest = self._entries.hash(row)
        if is_hash(digest) and size >= 0:
            return Span(bigfile_name(digest), 0, size), entry
        return Span("", entry.start, entry.start), entry

    def _meta(self, row: int) -> tuple[dict[str, Any], str]:
        try:
            return self._entries.meta(row), ""
        except FormatError as error:
            return {}, error.message

    def _extras(self, row: int, key: str | None, meta: dict[str, Any]) -> dict[str, Any]:
        c = self._entries.columns
        extras: dict[str, Any] = {"meta": meta, "flags": int(c.flags[row])}
        if key is None:
            extras["key_hex"] = self._entries.uid(row).hex()
        if c.big[row]:
            extras["hash"] = self._entries.hash(row).decode("ascii", "backslashreplace")
        else:
            extras |= {"compressed_size": int(c.compressed[row]), "uncompressed_size": int(c.size[row])}
        sidecar = self._file.sidecar
        if sidecar is not None and key is not None:
            created_at = created_at_of(meta)
            tombstone = sidecar.tombstone(key, created_at)
            if tombstone is not None:
                extras["tombstone"] = dict(tombstone.facts)
            entry = sidecar.entry(key, created_at) or {}
            extras |= {name: entry[name] for name in ("checksum", "checksum_algo") if isinstance(entry.get(name), str)}
        return extras


def _numbers(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return sizes and offsets as int64; values of 2^62 or more become -1."""
    numbers = values.astype(np.int64)
    numbers[values >= np.uint64(_NOT_SHOWN)] = -1
    return numbers
