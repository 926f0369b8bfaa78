"""Objects of a Bloscpack file: one row per chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import replace
from shardcore.errors import FormatError
from shardcore.formats.bloscpack.blosc1 import (
    ChunkHeader,
    check_chunk_header,
    plausible,
    read_chunk_header,
    write_chunk_header,
)
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import CHUNK_HEADER, CODECS, UNKNOWN, ChunkArea, Flag, blosc_header_span
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.model.span import Span

I64 = NDArray[np.int64]

UNREAD = "unread"
"""Codec of a chunk whose header is not read yet."""


class BloscpackObjects(Objects):
    """Objects of a Bloscpack file: its chunks, and damaged ones that the header counts but the file lacks."""

    kinds = ("chunk",)
    key_encoding = "number"
    codecs = (UNREAD, "none", *CODECS, "codec 5", "codec 6", "codec 7")

    def __init__(self, file: BloscpackFile) -> None:
        self._file = file
        self._content = file.content
        self._table = file.table

    @property
    def counted(self) -> bool:
        return self._table.loaded or self._file.header.nchunks != UNKNOWN

    @property
    def sized(self) -> bool:
        """True if header and offsets contain size and location of every chunk, so that no chunk must be read."""
        if self._file.header.plain_size == UNKNOWN or not self._file.offsets.used:
            return False
        return bool((self._table.slot_places(np.arange(len(self._table))) != UNKNOWN).all())

    def __len__(self) -> int:
        if not self.counted:
            self._table.load()
        return len(self._table)

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        if not self.counted:
            self._table.load()
        if not self._table.loaded and not sizes:
            header, digest, starts = self._file.header, self._table.area.digest, self._table.slot_places(rows)
            following = self._table.slot_places(rows + 1)
            ends = np.where((starts >= 0) & (following > starts + digest), following - digest, -1)
            return ObjectColumns.of(
                rows, starts, ends, np.where(rows == header.nchunks - 1, header.last_chunk, header.chunk_size)
            )
        self._table.load()
        headers, places = self._table.headers[rows], self._table.places[rows]
        found = places != UNKNOWN
        codes = np.where(headers["flags"] & Flag.MEMCPYED != 0, 1, (headers["flags"] >> 5) + 2)
        return ObjectColumns.of(
            rows,
            places,
            self._table.area.stops(places, headers),
            np.where(found, headers["nbytes"].astype(np.int64), -1),
            codec=np.where(found, codes, 0),
            state=np.where(self.damaged(rows), State.DAMAGED, State.LIVE),
        )

    def key_texts(self, rows: I64) -> list[str | None]:
        return [str(row) for row in rows.tolist()]

    def key_bytes(self, rows: I64) -> ByteStrings:
        return ByteStrings.rows(np.ascontiguousarray(rows, "<i8"))

    def _ref(self, row: int) -> ObjectRef:
        return self.chunk(row, header=True)

    def refs(self, rows: I64) -> Iterator[ObjectRef]:
        """Yield the chunks of `rows`; for more than one row, the headers of all chunks are loaded first."""
        if len(rows) > 1:
            self._table.load()
        return map(self.ref, rows.tolist())

    def chunk(self, row: int, *, header: bool = False) -> ObjectRef:
        """Return a chunk as an object, even before the chunks are counted; `header` requests its codec and filter."""
        area = self._table.area
        try:
            place = self._table.place(row)
        except FormatError as error:
            return ObjectRef(str(row), row, (), codec=UNREAD, state=State.DAMAGED, kind="chunk", error=str(error))
        if not header and not self._table.loaded:
            following = self._table.slot_place(row + 1) - area.digest
            if following >= place + CHUNK_HEADER.size:
                return chunk_ref(row, place, following - place, area, self._file.header.plain_size_of(row))
        found = self._header(row, place)
        ref = chunk_ref(row, place, found.ctbytes, area, found.nbytes, found)
        cut = area.truncated(row, place, found.ctbytes)
        try:
            check_chunk_header(found, limit=2**32, place=blosc_header_span(place))
        except FormatError as error:
            # An unsupported codec is not damage.
            fine = cut is None and plausible(CHUNK_HEADER.read(write_chunk_header(found)), 2**32)[0]
            return replace(ref, state=State.LIVE if fine else State.DAMAGED, error=str(error))
        return ref if cut is None else replace(ref, state=State.DAMAGED, error=str(cut))

    def damaged(self, rows: I64) -> NDArray[np.bool_]:
        """Return a mask of the chunks with an invalid header or location; requires `load_index` before."""
        headers, places = self._table.headers[rows], self._table.places[rows]
        return ~(self._table.area.fits(places, headers) & plausible(headers, 2**32))

    @property
    def orders(self) -> tuple[str, ...]:
        """Names of the sort orders: `slot`, and after `load_index` also `offset` and `size`."""
        return ("slot", "offset", "size") if self._table.loaded else ("slot",)

    def order(self, name: str) -> I64 | None:
        if name == "slot" or name not in self.orders:
            return super().order(name)
        column = self._table.places if name == "offset" else self._table.headers["nbytes"]
        return np.argsort(column, kind="stable").astype(np.int64)

    def _header(self, row: int, place: int) -> ChunkHeader:
        """Return the header of a chunk; if it is not cached, reads the whole chunk, which is usually requested next."""
        if self._table.loaded:
            return self._table.header(row)
        walk = self._table.walk
        if row < len(walk.places) and walk.places[row] == place:
            at = row * CHUNK_HEADER.size
            return read_chunk_header(bytes(walk.headers[at : at + CHUNK_HEADER.size]))
        try:
            return self._content.stored(row).header
        except FormatError:
            return read_chunk_header(self._file.source.read(place, place + CHUNK_HEADER.size))


def chunk_ref(
    row: int, place: int, stored: int, area: ChunkArea, size: int, header: ChunkHeader | None = None
) -> ObjectRef:
    """Return the chunk of `stored` bytes at `place` as an object; without `header`, its codec is unknown."""
    stop = max(min(place + stored, area.size), place)
    spans = [Span("", place, stop)]
    if area.digest:
        spans.append(Span("", stop, min(stop + area.digest, area.size)))
    codec, extras = UNREAD, dict[str, Any](offset=place)
    if header is not None:
        codec = "none" if header.memcpyed else header.codec_name
        extras |= {"typesize": header.typesize, "filter": header.filter_name}
    return ObjectRef(str(row), row, tuple(spans), size, stop - place, codec=codec, kind="chunk", extras=extras)
