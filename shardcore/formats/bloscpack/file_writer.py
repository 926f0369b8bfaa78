"""Writing one Bloscpack file: header, metadata, offsets, then each chunk with its checksum."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import UsageError
from shardcore.formats.bloscpack.blosc1 import read_chunk_header, write_chunk_header
from shardcore.formats.bloscpack.checksums import CHECKSUMS, Checksum
from shardcore.formats.bloscpack.encode import CODECS, LARGEST, Recipe
from shardcore.formats.bloscpack.header import MAX_CHUNKS
from shardcore.formats.bloscpack.layout import (
    CHUNK_HEADER,
    CHUNK_SIZE,
    HEADER_V3,
    OFFSET,
    UNKNOWN,
    HeaderOption,
    section,
)
from shardcore.formats.bloscpack.metadata import CODECS as METADATA_CODECS
from shardcore.formats.bloscpack.metadata import write_metadata_section
from shardcore.model.number_text import grouped_digits
from shardcore.model.objects import ColumnObjects, ObjectColumns, ObjectRef
from shardcore.model.section import tile
from shardcore.model.span import Span
from shardcore.writing.plan import PlannedFile
from shardcore.writing.temporary import Draining

SPARE_FACTOR = 10
TYPESIZE = 8
SLOTS_AT_ONCE = 1 << 16

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packing:
    """Options of the writer.

    Attributes:
        codec: One of `encode.CODECS`.
        level: 0 to 9.
        shuffle: Shuffle bytes.
        typesize: Bytes of an element; None: itemsize of the array, else 8.
        chunk_size: Uncompressed bytes of every chunk but the last.
        checksum: The checksum after every chunk.
        offsets: Write offsets.
        spare: Spare offset slots; None: ten per chunk.
        metadata_codec: `none` or `zlib`.
        exact: Keep the chunk size exactly, with a typesize that divides it.
    """

    codec: str = "blosclz"
    level: int = 7
    shuffle: bool = True
    typesize: int | None = None
    chunk_size: int = CHUNK_SIZE
    checksum: Checksum = CHECKSUMS[1]
    offsets: bool = True
    spare: int | None = None
    metadata_codec: str = "zlib"
    exact: bool = False

    def __post_init__(self) -> None:
        if self.codec not in CODECS:
            raise UsageError(f"codec must be one of {', '.join(CODECS)}, not {self.codec}")
        if not 0 <= self.level <= 9:
            raise UsageError(f"level must be 0 to 9, not {self.level}")
        if self.typesize is not None and not 1 <= self.typesize <= 255:
            raise UsageError(f"typesize must be 1 to 255, not {self.typesize}")
        if not 1 <= self.chunk_size <= LARGEST:
            raise UsageError(f"chunk_size={self.chunk_size}; valid: 1 to {grouped_digits(LARGEST)} bytes")
        if self.spare is not None and self.spare and not self.offsets:
            raise UsageError("spare requires offsets=yes")

    def shape(self, size: int, itemsize: int | None) -> ChunkShape:
        """Return sizes and number of chunks for `size` uncompressed bytes; `itemsize` is None without an array."""
        known = itemsize if itemsize is not None and 1 <= itemsize <= 255 else TYPESIZE if itemsize is None else 1
        typesize = self.typesize or known
        if self.exact:
            typesize, wished = math.gcd(typesize, self.chunk_size), self.chunk_size
        else:
            wished = self.chunk_size - (self.chunk_size % typesize if self.chunk_size >= typesize else 0)
        chunk_size = min(wished, size)
        nchunks = -(-size // chunk_size) if size else 1
        spare = 0 if not self.offsets else SPARE_FACTOR * nchunks if self.spare is None else self.spare
        if nchunks + spare > MAX_CHUNKS:
            raise UsageError(f"spare={self.spare}; the limit is 2^63 - 1 slots")
        return ChunkShape(typesize, chunk_size, size - chunk_size * (nchunks - 1), nchunks, spare)

    def recipe(self, shape: ChunkShape) -> Recipe:
        return Recipe(self.codec, self.level, self.shuffle, shape.typesize)

    def metadata_section(self, value: Any) -> bytes:
        """Return the metadata section, its JSON without spaces, as the reference writes it; b"" for None."""
        if value is None:
            return b""
        text = json.dumps(value, separators=(",", ":")).encode("ascii")
        return write_metadata_section(text, codec=METADATA_CODECS.index(self.metadata_codec))


@dataclass(frozen=True, slots=True)
class ChunkShape:
    typesize: int
    chunk_size: int
    last_chunk: int
    nchunks: int
    spare: int

    @property
    def sizes(self) -> I64:
        sizes = np.full(self.nchunks, self.chunk_size, np.int64)
        sizes[-1] = self.last_chunk
        return sizes


class NewFile:
    def __init__(self, file: Draining, packing: Packing, shape: ChunkShape, metadata: bytes) -> None:
        self._file = file
        self._packing = packing
        self._shape = shape
        self._metadata = metadata
        self._headers = bytearray()

    @property
    def first(self) -> int:
        slots = self._shape.nchunks + self._shape.spare if self._packing.offsets else 0
        return self._table + slots * OFFSET.size

    @property
    def _table(self) -> int:
        return HEADER_V3.size + len(self._metadata)

    def write(self, chunks: Iterable[bytes]) -> None:
        """Write the file; the offsets are -1 until all chunks are written ("Description of the offsets entries")."""
        # The offset of chunk 0 is known; a file of one chunk needs no second write.
        self._begin(self.first)
        self._file.prove()
        digest = self._packing.checksum.compute
        for chunk in chunks:
            self._headers += chunk[: CHUNK_HEADER.size]
            self._file.write(chunk)
            self._file.write(digest(chunk))
        if self._packing.offsets and self._shape.nchunks > 1:
            for at in range(0, self._shape.nchunks, SLOTS_AT_ONCE):
                rows = np.zeros(min(SLOTS_AT_ONCE, self._shape.nchunks - at), OFFSET.dtype)
                rows["offset"] = self.places[at : at + len(rows)]
                self._file.write_at(self._table + at * OFFSET.size, OFFSET.write(rows))
        self._file.complete(self._shape.nchunks)

    def pretend(self) -> None:
        """Compute the sizes as if nothing were compressed, for a plan that does not read the content."""
        self._begin()
        sizes = self._shape.sizes
        for size in dict.fromkeys(sizes.tolist()):
            count = int((sizes == size).sum())
            header = write_chunk_header(self._packing.recipe(self._shape).copy_header(size))
            self._headers += header * count
        self._file.skip(int(sizes.sum()) + self._shape.nchunks * (CHUNK_HEADER.size + self._packing.checksum.size))
        self._file.complete(self._shape.nchunks)

    @property
    def places(self) -> I64:
        stored = self._rows["ctbytes"].astype(np.int64) + self._packing.checksum.size
        return self.first + np.cumsum(stored) - stored

    def planned(self, name: str) -> PlannedFile:
        size, places, rows = self._file.at, self.places, self._rows
        claims = [section("header", 0, HEADER_V3.size)]
        if self._metadata:
            claims.append(section("metadata", HEADER_V3.size, self._table))
        if self.first > self._table:
            claims.append(section("offsets", self._table, self.first))
        claims.append(section("chunks", self.first, size))
        stops, digest = places + rows["ctbytes"], self._packing.checksum.size

        def ref(row: int) -> ObjectRef:
            place, stop = int(places[row]), int(stops[row])
            header = read_chunk_header(bytes(self._headers), row * CHUNK_HEADER.size)
            spans = (Span("", place, stop), *([Span("", stop, stop + digest)] if digest else []))
            codec = "none" if header.memcpyed else header.codec_name
            extras = {"offset": place, "typesize": header.typesize, "filter": header.filter_name}
            return ObjectRef(
                str(row), row, spans, header.nbytes, stop - place, codec=codec, kind="chunk", extras=extras
            )

        columns = ObjectColumns.of(np.arange(len(rows)), places, stops, rows["nbytes"].astype(np.int64))
        objects = ColumnObjects(columns, lambda rows: [str(row) for row in rows.tolist()], ref)
        return PlannedFile(name, size, tile(claims, size)[0], objects)

    @property
    def _rows(self) -> NDArray[Any]:
        return CHUNK_HEADER.read(bytes(self._headers), count=len(self._headers) // CHUNK_HEADER.size)

    def _begin(self, offset: int = UNKNOWN) -> None:
        """Write the parts before the chunks; the first offset slot contains `offset`, the others -1."""
        shape, packing = self._shape, self._packing
        options = (HeaderOption.OFFSETS if packing.offsets else 0) | (HeaderOption.METADATA if self._metadata else 0)
        header = HEADER_V3.pack(
            options=int(options),
            checksum=packing.checksum.number,
            typesize=shape.typesize,
            chunk_size=shape.chunk_size,
            last_chunk=shape.last_chunk,
            nchunks=shape.nchunks,
            max_app_chunks=shape.spare,
        )
        left = (self.first - self._table) // OFFSET.size
        unused = UNKNOWN.to_bytes(OFFSET.size, "little", signed=True)
        one = offset.to_bytes(OFFSET.size, "little", signed=True) if left else b""
        head = header + self._metadata + one
        while left > 1:
            count = min(left - 1, SLOTS_AT_ONCE)
            self._file.write(head + unused * count)
            head = b""
            left -= count
        self._file.write(head)
