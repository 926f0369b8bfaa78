"""Writing one Bloscpack file: header, metadata, offsets, then each chunk with its checksum.

Chunks are compressed with python-blosc, the Blosc 1 library of the reference implementation. It is configured to
release the interpreter lock. In this mode it uses neither its global state nor the `BLOSC_*` environment variables, and
threads can compress one chunk each. Equal input gives equal bytes.

Bit shuffle is not written: readers based on Blosc 2 decode it differently if the number of elements per block is
not a multiple of 8.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import UsageError
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, VERSION, ChunkHeader, blosc, write_chunk_header
from shardcore.formats.bloscpack.content import LARGE_CHUNK
from shardcore.formats.bloscpack.layout import (
    CHECKSUMS,
    CHUNK_HEADER,
    CHUNK_SIZE,
    HEADER_V3,
    MAX_CHUNKS,
    OFFSET,
    UNKNOWN,
    ChunkArea,
    Flag,
    HeaderOption,
    sections_of,
)
from shardcore.formats.bloscpack.metadata import CODECS as METADATA_CODECS
from shardcore.formats.bloscpack.metadata import write_metadata_section
from shardcore.formats.bloscpack.objects import chunk_ref
from shardcore.model.objects import ColumnObjects, ObjectColumns, ObjectRef
from shardcore.model.parallel import completed
from shardcore.model.text import grouped_digits
from shardcore.system import keep_freed_memory
from shardcore.writing.plan import PlannedFile
from shardcore.writing.temporary import Draining

_CODEC_NUMBERS = {"blosclz": 0, "lz4": 1, "lz4hc": 1, "zlib": 3, "zstd": 4}
CODECS = tuple(_CODEC_NUMBERS)
LARGEST = 2**31 - 1 - 32
"""Uncompressed size of the largest chunk that `blosc2` readers accept."""

AHEAD = 8
"""Maximum number of chunks that threads compress ahead of writing."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Compression settings of chunks.

    Attributes:
        codec: One of `CODECS`.
        level: 0 to 9.
        shuffle: True to group bytes by their position in the element (byte shuffle).
        typesize: Bytes per element; a chunk whose size is not a multiple of it is compressed with typesize 1.
        checked: Decompress every chunk, and store it uncompressed if that does not return its content.
    """

    codec: str
    level: int
    shuffle: bool
    typesize: int
    checked: bool = True

    def chunk(self, plain: bytes) -> bytes:
        if plain and self.level:
            library, typesize = blosc(), self.typesize_for(len(plain))
            chunk: bytes = library.compress(plain, typesize, self.level, int(self.shuffle), self.codec)
            if not self.checked or library.decompress(chunk, False) == plain:
                return chunk
        return write_chunk_header(self.copy_header(len(plain))) + plain

    def copy_header(self, size: int) -> ChunkHeader:
        flags = _CODEC_NUMBERS[self.codec] << 5 | int(Flag.MEMCPYED | Flag.NOT_SPLIT)
        flags |= int(Flag.BYTE_SHUFFLE) if self.shuffle else 0
        return ChunkHeader(VERSION, 1, flags, self.typesize_for(size), size, max(size, 1), HEADER_SIZE + size)

    def typesize_for(self, size: int) -> int:
        return 1 if size % self.typesize else self.typesize


def compressed(
    plains: Iterator[bytes], recipe: Recipe, chunk_size: int, workers: ThreadPoolExecutor | None = None
) -> Iterator[bytes]:
    """Yield the compressed chunk of each content, in order; `workers` compress up to `AHEAD` further chunks."""
    if chunk_size > LARGE_CHUNK or workers is None:
        yield from map(recipe.chunk, plains)
        return
    # One chunk is not worth a thread.
    yield from map(recipe.chunk, islice(plains, 1))
    keep_freed_memory()
    calls = ((recipe.chunk, (plain,)) for plain in plains)
    with closing(completed(workers, calls, AHEAD, AHEAD)) as done:
        yield from (future.result() for future in done)


SPARE_FACTOR = 10
TYPESIZE = 8
SLOTS_AT_ONCE = 1 << 16

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packing:
    """Options of the Bloscpack writer.

    Attributes:
        codec: One of `CODECS`.
        level: 0 to 9.
        shuffle: `byte` or `none`.
        typesize: Bytes of an element; None: itemsize of the array, else 8.
        chunk_size: Uncompressed bytes of every chunk but the last, rounded down to whole elements; None: 1 MiB.
        checksum: Name of the checksum after every chunk.
        offsets: Write the table of chunk offsets.
        spare: Spare offset slots; None: ten per chunk.
        metadata_codec: `none` or `zlib`.
        exact: Use `chunk_size` without rounding it, and reduce the typesize to a divisor of it.
    """

    codec: str = "blosclz"
    level: int = 7
    shuffle: str = "byte"
    typesize: int | None = None
    chunk_size: int | None = None
    checksum: str = "adler32"
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
        if self.chunk_size is not None and not 1 <= self.chunk_size <= LARGEST:
            raise UsageError(f"chunk_size={self.chunk_size}; valid: 1 to {grouped_digits(LARGEST)} bytes")
        if self.spare is not None and self.spare and not self.offsets:
            raise UsageError("spare requires offsets=yes")

    def shape(self, size: int, itemsize: int | None) -> ChunkShape:
        """Return the division of `size` uncompressed bytes into chunks; `itemsize` is None if they are not an array."""
        known = TYPESIZE if itemsize is None else itemsize if 1 <= itemsize <= 255 else 1
        typesize, chunk_size = self.typesize or known, self.chunk_size or CHUNK_SIZE
        if self.exact:
            typesize = math.gcd(typesize, chunk_size)
        elif chunk_size >= typesize:
            chunk_size -= chunk_size % typesize
        chunk_size = min(chunk_size, size)
        nchunks = -(-size // chunk_size) if size else 1
        spare = 0 if not self.offsets else SPARE_FACTOR * nchunks if self.spare is None else self.spare
        if nchunks + spare > MAX_CHUNKS:
            raise UsageError(f"spare={self.spare}; the limit is 2^63 - 1 slots")
        return ChunkShape(typesize, chunk_size, size - chunk_size * (nchunks - 1), nchunks, spare)

    def recipe(self, shape: ChunkShape) -> Recipe:
        return Recipe(self.codec, self.level, self.shuffle == "byte", shape.typesize)

    def metadata_section(self, value: Any) -> bytes:
        """Return the metadata section with a value, as JSON without spaces like the reference; b"" for None."""
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


class NewFile:
    def __init__(self, file: Draining, packing: Packing, shape: ChunkShape, metadata: Any) -> None:
        self.recipe = packing.recipe(shape)
        self._file = file
        self._packing = packing
        self._checksum = next(one for one in CHECKSUMS if one.name == packing.checksum)
        self._shape = shape
        self._metadata = packing.metadata_section(metadata)
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
        digest = self._checksum.compute
        for chunk in chunks:
            self._headers += chunk[: CHUNK_HEADER.size]
            self._file.write(chunk)
            self._file.write(digest(chunk))
        if self._packing.offsets and self._shape.nchunks > 1:
            self._file.write_at(self._table, self.places.astype(OFFSET.dtype["offset"]).tobytes())
        self._file.complete(self._shape.nchunks)

    def pretend(self) -> None:
        """Compute the sizes as if nothing were compressed, for a plan that does not read the content."""
        self._begin()
        shape = self._shape
        full, last = (write_chunk_header(self.recipe.copy_header(n)) for n in (shape.chunk_size, shape.last_chunk))
        self._headers += full * (shape.nchunks - 1) + last
        content = shape.chunk_size * (shape.nchunks - 1) + shape.last_chunk
        self._file.skip(content + shape.nchunks * (CHUNK_HEADER.size + self._checksum.size))
        self._file.complete(shape.nchunks)

    @property
    def places(self) -> I64:
        stored = self._rows["ctbytes"].astype(np.int64) + self._checksum.size
        return self.first + np.cumsum(stored) - stored

    def planned(self, name: str) -> PlannedFile:
        size, places, rows = self._file.at, self.places, self._rows
        sections = sections_of((0, HEADER_V3.size, self._table, self.first, size, size))
        area = ChunkArea(self.first, len(rows), self._checksum.size, size)
        columns = ObjectColumns.of(
            np.arange(len(rows)), places, places + rows["ctbytes"], rows["nbytes"].astype(np.int64)
        )

        def ref(row: int) -> ObjectRef:
            header = ChunkHeader(*rows[row].item())
            return chunk_ref(row, int(places[row]), header.ctbytes, area, header.nbytes, header)

        objects = ColumnObjects(columns, lambda rows: [str(row) for row in rows.tolist()], ref)
        return PlannedFile(name, size, sections, objects)

    @property
    def _rows(self) -> NDArray[Any]:
        return CHUNK_HEADER.read(bytes(self._headers), count=len(self._headers) // CHUNK_HEADER.size)

    def _begin(self, offset: int = UNKNOWN) -> None:
        """Write the parts before the chunks; the first offset slot contains `offset`, the others -1."""
        shape, packing = self._shape, self._packing
        options = (HeaderOption.OFFSETS if packing.offsets else 0) | (HeaderOption.METADATA if self._metadata else 0)
        header = HEADER_V3.pack(
            options=int(options),
            checksum=self._checksum.number,
            typesize=shape.typesize,
            chunk_size=shape.chunk_size,
            last_chunk=shape.last_chunk,
            nchunks=shape.nchunks,
            max_app_chunks=shape.spare,
        )
        self._file.write(header + self._metadata)
        if packing.offsets:
            self._file.write(OFFSET.pack(offset=offset))
            unused, left = OFFSET.pack(offset=UNKNOWN), shape.nchunks + shape.spare - 1
            for at in range(0, left, SLOTS_AT_ONCE):
                self._file.write(unused * min(SLOTS_AT_ONCE, left - at))
