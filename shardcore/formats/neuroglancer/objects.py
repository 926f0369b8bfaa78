"""The objects of a shard: one row per index entry, then one per damaged minishard."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, UsageError
from shardcore.formats.neuroglancer.chunks import box_of, cell_of
from shardcore.formats.neuroglancer.file import CODECS, NeuroglancerFile
from shardcore.formats.neuroglancer.index_levels import MinishardTable
from shardcore.formats.neuroglancer.info import KeySpace
from shardcore.formats.neuroglancer.layout import outside_text
from shardcore.formats.neuroglancer.minishard import MinishardEntries
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.model.span import Span

FRAGMENTS = "fragments"
GZIP_TRAILER = 4
"""Size of the trailer of a gzip member: the size of its content modulo 2**32."""
LEAST_GZIP = 18
TRUSTED_GZIP = (1 << 32) // 1032
"""Stored size from which the content may exceed 2**32 bytes, which the trailer cannot express."""


class NeuroglancerObjects(Objects):
    """Objects of a shard; the first access reads all minishard indices."""

    codecs = CODECS
    key_encoding = "number"

    def __init__(self, file: NeuroglancerFile) -> None:
        self._file = file
        self._codec = CODECS.index(file.codec)
        self.kinds = (file.origin.space.kind.object_kind,)

    @property
    def counted(self) -> bool:
        return self._file.levels.loaded

    def __len__(self) -> int:
        table = self._table()
        return len(table.entries) + len(table.damage)

    def _table(self) -> MinishardTable:
        return self._file.levels.table()

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        """Return the columns of rows; the sizes of gzip values are read from their trailers."""
        table = self._table()
        entries, count = table.entries, len(table.entries)
        listed = rows < count
        at = np.where(listed, rows, 0)
        inside = listed & (entries.inside[at] if count else False)
        starts = _masked(entries.starts, at, inside)
        stored = _masked(entries.sizes, at, inside)
        plain = stored.copy()
        if self._codec:
            plain[:] = -1
            if sizes:
                plain[inside] = self._gzip_sizes(starts[inside], stored[inside])
        return ObjectColumns.of(
            rows,
            starts,
            np.where(inside, starts + stored, -1),
            plain,
            stored_size=stored,
            codec=np.where(listed, self._codec, 0),
            state=np.where(inside, State.LIVE, State.DAMAGED),
        )

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        ids = self._table().entries.ids
        if len(rows) and int(rows.max()) < len(ids):
            return list(map(str, ids[rows].tolist()))
        return [str(ids[row]) if row < len(ids) else None for row in rows.tolist()]

    def key_bytes(self, rows: NDArray[np.int64]) -> ByteStrings:
        ids = self._table().entries.ids
        listed = rows < len(ids)
        data = np.ascontiguousarray(ids[rows[listed]], "<u8").view(np.uint8)
        return ByteStrings(data, np.where(listed, 8, 0).astype(np.int64))

    def ref(self, row: int) -> ObjectRef:
        if not 0 <= row < len(self):
            raise IndexError(row)
        return next(self.refs(np.array([row], np.int64)))

    def refs(self, rows: NDArray[np.int64]) -> Iterator[ObjectRef]:
        """Yield rows as objects; gzip trailers are read in one request for all rows."""
        return self._refs(rows, self.columns(rows, sizes=True).size.tolist() if self._codec else [-1] * len(rows))

    def unsized_refs(self, rows: NDArray[np.int64]) -> Iterator[ObjectRef]:
        return self._refs(rows, [-1] * len(rows))

    def _refs(self, rows: NDArray[np.int64], sizes: list[int]) -> Iterator[ObjectRef]:
        table = self._table()
        for row, size in zip(rows.tolist(), sizes, strict=True):
            if row < len(table.entries):
                yield self._made(table.entries, row, row, size)
            else:
                yield self._lost(row, int(table.damage.numbers[row - len(table.entries)]), table)

    def of_entry(self, entries: MinishardEntries, at: int) -> ObjectRef:
        """Return an index entry as an object; its row is -1 before all indices are loaded."""
        table = self._file.levels.known_table
        row = -1 if table is None else table.rows_of(int(entries.minishards[at])).start + int(entries.slots[at])
        return self._made(entries, at, row)

    def _made(self, entries: MinishardEntries, at: int, row: int, size: int = -1) -> ObjectRef:
        key, start, stored = int(entries.ids[at]), int(entries.starts[at]), int(entries.sizes[at])
        place = {"minishard": int(entries.minishards[at]), "slot": int(entries.slots[at])}
        inside = bool(entries.inside[at])
        spans: tuple[Span, ...] = (Span("", start, start + stored),) if inside else ()
        meshes = self._file.known_meshes
        if inside and row >= 0 and meshes is not None and meshes.fragments[row] >= 0:
            spans += (Span("", int(meshes.fragments[row]), start),)
        return ObjectRef(
            str(key),
            row,
            spans,
            size=(size if self._codec else stored) if inside else -1,
            stored_size=stored if inside else -1,
            codec=CODECS[self._codec],
            state=State.LIVE if inside else State.DAMAGED,
            kind=self.kinds[0],
            parts=(FRAGMENTS,) if self._file.is_mesh else (),
            error="" if inside else outside_text(start, stored, self._file.source.size),
            extras=place | meaning_of(self._file.origin.space, key),
        )

    @property
    def orders(self) -> tuple[str, ...]:
        return ("slot", "offset", "size", "key")

    def order(self, name: str) -> NDArray[np.int64] | None:
        if name == "slot":
            return None
        if name not in self.orders:
            raise UsageError(f"unknown order {name!r}; available: {', '.join(self.orders)}")
        table = self._table()
        entries = table.entries
        column = {"offset": entries.starts, "size": entries.sizes, "key": entries.ids}[name]
        order = np.argsort(column, kind="stable").astype(np.int64)
        return np.concatenate([order, np.arange(len(entries), len(self), dtype=np.int64)])

    def _lost(self, row: int, number: int, table: MinishardTable) -> ObjectRef:
        error = table.damage[number]
        spans = (error.span,) if error.span is not None and error.span.start >= self._file.base else ()
        size = spans[0].size if spans else -1
        return ObjectRef(
            None,
            row,
            (),
            state=State.DAMAGED,
            kind=self.kinds[0],
            error=error.message,
            extras={"minishard": number, "index_size": size},
        )

    def _gzip_sizes(self, starts: NDArray[np.int64], stored: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sizes in the gzip trailers; -1 if the value is too short, or long enough to exceed 2**32."""
        sizes = np.full(len(starts), -1, np.int64)
        good = np.flatnonzero((stored >= LEAST_GZIP) & (stored < TRUSTED_GZIP))
        ends = (starts + stored)[good].tolist()
        trailers = self._file.source.read_many([(end - GZIP_TRAILER, end) for end in ends])
        sizes[good] = np.frombuffer(b"".join(trailers), "<u4")
        return sizes


def mesh_files(ref: ObjectRef) -> dict[str, str]:
    """Return the file names of an unsharded mesh: `<id>.index` for the manifest and `<id>` for the fragments."""
    return {"": f"{ref.key}.index", FRAGMENTS: f"{ref.key}"}


def meaning_of(space: KeySpace, key: int) -> dict[str, object]:
    """Return cell, voxel box and layout of a key that is a Morton code; empty for ids."""
    try:
        cell = cell_of(space, key)
    except FormatError as error:
        return {"error": error.message}
    if cell is None:
        return {}
    scale = space.scale
    if scale is None:
        return {"cell": list(cell)}
    box = box_of(scale, cell)
    meaning: dict[str, object] = {
        "cell": list(cell),
        "voxel_begin": list(box.begin),
        "voxel_end": list(box.end),
        "shape": [*box.shape, scale.num_channels],
        "encoding": scale.encoding,
        "data_type": scale.data_type,
    }
    return meaning | ({"order": "F"} if scale.encoding == "raw" else {})


def _masked(column: NDArray[np.uint64], at: NDArray[np.int64], inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    picked = np.full(len(at), -1, np.int64)
    picked[inside] = column[at[inside]].astype(np.int64)
    return picked
