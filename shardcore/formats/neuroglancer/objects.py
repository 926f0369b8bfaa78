"""The objects of a shard: one row per index entry, then one per damaged minishard."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.gzip import DEFLATE_RATIO
from shardcore.formats.neuroglancer.file import CODECS, NeuroglancerFile
from shardcore.formats.neuroglancer.index import MinishardTable
from shardcore.formats.neuroglancer.layout import MinishardEntries, outside_text
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.model.span import Span

I64 = NDArray[np.int64]

FRAGMENTS = "fragments"
GZIP_TRAILER = 4
"""Number of bytes at the end of a gzip member that contain the size of its content modulo 2**32."""
LEAST_GZIP = 18
TRUSTED_GZIP = (1 << 32) // DEFLATE_RATIO
"""Stored size in bytes from which the content may exceed 2**32 bytes; the trailer is then not used."""


class NeuroglancerObjects(Objects):
    """Objects of a shard; the first access reads all minishard indices."""

    codecs = CODECS
    key_encoding = "number"

    def __init__(self, file: NeuroglancerFile) -> None:
        self._file = file
        self._codec = CODECS.index(file.codec)
        self.kinds = (file.space.kind.object_kind,)

    @property
    def counted(self) -> bool:
        return self._file.levels.known_table is not None

    def __len__(self) -> int:
        table = self._table()
        return len(table.entries) + len(table.damage)

    def _table(self) -> MinishardTable:
        return self._file.levels.table()

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        """Return the columns of rows; with `sizes`, the sizes of gzip values are read from their trailers."""
        entries = self._table().entries
        listed = rows < len(entries)
        inside = listed.copy()
        inside[listed] = entries.inside[rows[listed]]
        starts, stored = np.full((2, len(rows)), -1, np.int64)
        starts[inside], stored[inside] = entries.starts[rows[inside]], entries.sizes[rows[inside]]
        size = np.full(len(rows), -1, np.int64) if self._codec else stored
        if self._codec and sizes:
            size[inside] = self._gzip_sizes(starts[inside], stored[inside])
        return ObjectColumns.of(
            rows,
            starts,
            np.where(inside, starts + stored, -1),
            size,
            stored_size=stored,
            codec=np.where(listed, self._codec, 0),
            state=np.where(inside, State.LIVE, State.DAMAGED),
        )

    def key_texts(self, rows: I64) -> list[str | None]:
        ids = self._table().entries.ids
        if len(rows) and int(rows.max()) < len(ids):
            return list(map(str, ids[rows].tolist()))
        return [str(ids[row]) if row < len(ids) else None for row in rows.tolist()]

    def key_bytes(self, rows: I64) -> ByteStrings:
        ids = self._table().entries.ids
        listed = rows < len(ids)
        data = np.ascontiguousarray(ids[rows[listed]], "<u8").view(np.uint8)
        return ByteStrings(data, np.where(listed, 8, 0).astype(np.int64))

    def refs(self, rows: I64) -> Iterator[ObjectRef]:
        """Yield the objects in `rows`; the trailers of all gzip values are read in one request."""
        return self._refs(rows, self.columns(rows, sizes=True).size.tolist() if self._codec else [-1] * len(rows))

    def unsized_refs(self, rows: I64) -> Iterator[ObjectRef]:
        return self._refs(rows, [-1] * len(rows))

    def _refs(self, rows: I64, sizes: list[int]) -> Iterator[ObjectRef]:
        table = self._table()
        count = len(table.entries)
        for row, size in zip(rows.tolist(), sizes, strict=True):
            if row < count:
                yield self._entry(table.entries, row, row, size)
            else:
                yield self._lost(row, int(table.damage.numbers[row - count]), table)

    def of_entry(self, entries: MinishardEntries, at: int) -> ObjectRef:
        """Return the object that an index entry describes; its row is -1 before all indices are loaded."""
        table = self._file.levels.known_table
        row = -1 if table is None else table.rows_of(int(entries.minishards[at])).start + int(entries.slots[at])
        return self._entry(entries, at, row)

    def _entry(self, entries: MinishardEntries, at: int, row: int, size: int = -1) -> ObjectRef:
        file, key = self._file, int(entries.ids[at])
        start, stored, inside = int(entries.starts[at]), int(entries.sizes[at]), bool(entries.inside[at])
        place = {"minishard": int(entries.minishards[at]), "slot": int(entries.slots[at])}
        spans = [Span("", start, start + stored)] if inside else []
        if inside and row >= 0 and (meshes := file.known_meshes) is not None and meshes.fragments[row] >= 0:
            spans.append(Span("", int(meshes.fragments[row]), start))
        return ObjectRef(
            str(key),
            row,
            tuple(spans),
            size=(size if self._codec else stored) if inside else -1,
            stored_size=stored if inside else -1,
            codec=file.codec,
            state=State.LIVE if inside else State.DAMAGED,
            kind=self.kinds[0],
            parts=(FRAGMENTS,) if file.is_mesh else (),
            error="" if inside else outside_text(start, stored, file.source.size),
            extras=place | file.space.meaning_of(key),
        )

    def _lost(self, row: int, number: int, table: MinishardTable) -> ObjectRef:
        error = table.damage[number]
        inside = error.span is not None and error.span.start >= self._file.base
        size = error.span.size if error.span is not None and inside else -1
        return ObjectRef(
            None,
            row,
            (),
            state=State.DAMAGED,
            kind=self.kinds[0],
            error=error.message,
            extras={"minishard": number, "index_size": size},
        )

    @property
    def orders(self) -> tuple[str, ...]:
        return ("slot", "offset", "size", "key")

    def order(self, name: str) -> I64 | None:
        if name == "slot" or name not in self.orders:
            return super().order(name)
        entries = self._table().entries
        column = {"offset": entries.starts, "size": entries.sizes, "key": entries.ids}[name]
        order = np.argsort(column, kind="stable").astype(np.int64)
        return np.append(order, np.arange(len(entries), len(self), dtype=np.int64))

    def _gzip_sizes(self, starts: I64, stored: I64) -> I64:
        """Return the sizes in the gzip trailers; -1 if a value is too short for a size, or the size cannot be right."""
        sizes = np.full(len(starts), -1, np.int64)
        good = np.flatnonzero((stored >= LEAST_GZIP) & (stored < TRUSTED_GZIP))
        ends = (starts + stored)[good].tolist()
        trailers = self._file.source.read_many([(end - GZIP_TRAILER, end) for end in ends])
        found = np.frombuffer(b"".join(trailers), "<u4").astype(np.int64)
        # A damaged trailer may declare more than the stored bytes can expand to.
        sizes[good] = np.where(found <= stored[good] * DEFLATE_RATIO, found, -1)
        return sizes
