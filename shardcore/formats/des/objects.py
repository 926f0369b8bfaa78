"""Objects of a shard: one row per entry (des-architecture, Shard format, INDEX)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import CODECS, bigfile_name, created_at_of, is_hash
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
        entries, c = self._entries, self._entries.columns
        big, lost = c.big[rows], entries.unreadable(rows)
        size, codec = _shown(c.size[rows]), np.minimum(c.codec[rows], len(CODECS))
        length = np.where(big, size, _shown(c.length[rows]))
        start = np.where(big | lost, -1, _shown(c.offset[rows]))
        states = np.where(big, State.EXTERNAL, State.LIVE).astype(np.uint8)
        states[np.isin(rows, self._file.tombstoned)] = State.TOMBSTONED
        states[lost | entries.bad_texts(rows)] = State.DAMAGED
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

    def refs(self, rows: NDArray[np.int64]) -> Iterator[ObjectRef]:
        entries, columns, keys = self._entries, self.columns(rows), self._entries.uids(rows)
        c, walk = entries.columns, entries.walk
        # Inline, intact, and without metadata: nothing to parse.
        simple = (columns.state == State.LIVE) & (c.meta_length[rows] == 0) & (self._file.sidecar is None)
        fields = (columns.start, columns.stop, columns.size, columns.stored_size, columns.codec, c.flags[rows])
        places = (walk.starts[rows] + entries.data_stop, walk.stops[rows] + entries.data_stop, c.compressed[rows])
        lists = (column.tolist() for column in (rows, *fields, *places, simple))
        for number, (key, row, start, stop, size, stored, codec, flags, first, last, compressed, plain) in enumerate(
            zip(keys, *lists, strict=True)
        ):
            record = Span("", first, last)
            if not plain:
                yield self._parsed_ref(columns.take([number]), key, record)
                continue
            extras = {"meta": {}, "flags": flags, "compressed_size": compressed, "uncompressed_size": size}
            spans, name = (Span("", start, stop), record), self.codecs[codec]
            yield ObjectRef(key, row, spans, size, stored, name, extras=extras, record=record)

    def _parsed_ref(self, columns: ObjectColumns, key: str | None, record: Span) -> ObjectRef:
        entries, row, size = self._entries, int(columns.row[0]), int(columns.size[0])
        error = entries.problem(row) or ("" if key is not None else "the uid is not UTF-8")
        try:
            meta = entries.meta(row)
        except FormatError as invalid:
            meta, error = {}, error or invalid.message
        content = self._content_span(row, record, int(columns.start[0]), int(columns.stop[0]), size)
        return ObjectRef(
            key,
            row,
            (content, record),
            size,
            int(columns.stored_size[0]),
            self.codecs[columns.codec[0]],
            State(int(columns.state[0])),
            self.kinds[columns.kind[0]],
            error=error,
            extras=self._extras(row, key, meta),
            record=record,
        )

    def _content_span(self, row: int, record: Span, start: int, stop: int, size: int) -> Span:
        if start >= 0:
            return Span("", start, stop)
        digest = self._entries.hash(row)
        if is_hash(digest) and size >= 0:
            return Span(bigfile_name(digest), 0, size)
        return Span("", record.start, record.start)

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
