"""The header of a Bloscpack file: 16 bytes in version 1, 32 in versions 2 and 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shardcore.errors import BadMagic, FormatError, Truncated, Unsupported
from shardcore.formats.bloscpack.checksums import CHECKSUMS, Checksum, checksum
from shardcore.formats.bloscpack.layout import HEADERS, MAGIC, MAX_CHUNK, OFFSET, UNKNOWN, VERSIONS, HeaderOption
from shardcore.model.number_text import plural
from shardcore.model.record import Record
from shardcore.model.span import Span

MAX_CHUNKS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Header:
    """Header fields; -1 is an unknown value ("Description of the header entries").

    Attributes:
        record: Layout of this version.
        values: The fields as stored, by name.
        version: 1, 2 or 3.
        options: Bits of `HeaderOption`.
        checksum: The checksum after every chunk.
        typesize: Bytes of one element; 0 in version 1, which does not have it.
        chunk_size: Uncompressed bytes of every chunk but the last.
        last_chunk: Uncompressed bytes of the last chunk.
        nchunks: Number of chunks.
        max_app_chunks: Number of spare offset slots.
    """

    record: Record
    values: dict[str, Any]
    version: int
    options: int
    checksum: Checksum
    typesize: int
    chunk_size: int
    last_chunk: int
    nchunks: int
    max_app_chunks: int

    @property
    def size(self) -> int:
        return self.record.size

    @property
    def has_offsets(self) -> bool:
        return bool(self.options & HeaderOption.OFFSETS)

    @property
    def has_metadata(self) -> bool:
        return bool(self.options & HeaderOption.METADATA)

    @property
    def slots(self) -> int:
        return max(self.nchunks, 0) + self.max_app_chunks if self.has_offsets else 0

    @property
    def plain_size(self) -> int:
        """Uncompressed bytes of the content; -1 if unknown."""
        if self.nchunks == 0:
            return 0
        if UNKNOWN in (self.nchunks, self.last_chunk):
            return UNKNOWN
        if self.chunk_size == UNKNOWN:
            return self.last_chunk if self.nchunks == 1 else UNKNOWN
        return self.chunk_size * (self.nchunks - 1) + self.last_chunk

    def field_span(self, name: str) -> Span:
        return _place(self.record, name)

    def plain_size_of(self, chunk: int) -> int:
        return self.last_chunk if chunk == self.nchunks - 1 else self.chunk_size


def header_size(data: bytes) -> int:
    """Return the size of the header from its first five bytes or more."""
    if data[:4] != MAGIC[: len(data)] or not data:
        raise BadMagic(
            f"the file does not begin with `blpk` but with {data[:4].hex(' ') or 'nothing'}",
            span=Span("", 0, min(4, len(data))),
        )
    if len(data) <= len(MAGIC):
        raise Truncated("the file ends before its version, byte 4", span=Span("", 0, len(data)))
    version = data[4]
    if version not in VERSIONS:
        raise Unsupported(f"Bloscpack version {version} is not supported (supported: 1, 2, 3)", span=Span("", 4, 5))
    return HEADERS[version].size


def read_header(data: bytes) -> Header:
    """Read and check the header in `data`, the first 32 bytes of the file or fewer.

    Raises:
        BadMagic: It does not begin with `blpk`.
        Unsupported: The version is none of 1, 2 and 3.
        Truncated: The bytes end before the header.
        FormatError: A field is impossible.
    """
    header_size(data)
    record = HEADERS[data[4]]
    values = record.read_one(data, place=Span("", 0, len(data)))
    header = Header(
        record,
        values,
        values["format_version"],
        values.get("options", 0),
        checksum(values["checksum"], _place(record, "checksum")) if "checksum" in values else CHECKSUMS[0],
        values.get("typesize", 0),
        values.get("chunk_size", UNKNOWN),
        values.get("last_chunk", UNKNOWN),
        values["nchunks"],
        values.get("max_app_chunks", 0),
    )
    _check(header)
    return header


def write_header(header: Header) -> bytes:
    return header.record.pack(**header.values)


def check_slots(header: Header, table: int, size: int) -> None:
    """Check that the offsets fit in the file, before anything is read or allocated for them."""
    stop = table + header.slots * OFFSET.size
    if stop > size:
        raise Truncated(
            f"{plural(max(header.nchunks, 0), 'chunk')} and {plural(header.max_app_chunks, 'spare slot')} need offsets "
            f"up to byte {stop:#x}; the file ends at {size:#x}",
            span=Span("", min(table, size), size),
        )


def _check(header: Header) -> None:
    allowed = int(HeaderOption.OFFSETS | HeaderOption.METADATA) if header.version == 3 else int(HeaderOption.OFFSETS)
    if header.options & ~allowed:
        _refuse(
            header,
            "options",
            f"option bits {header.options & ~allowed:#04x} are set, which are undefined in version {header.version}",
        )
    for name, value in (("chunk_size", header.chunk_size), ("last_chunk", header.last_chunk)):
        if not UNKNOWN <= value <= MAX_CHUNK:
            _refuse(header, name, f"{name} is {value}; -1 to {MAX_CHUNK} are possible")
    if UNKNOWN not in (header.chunk_size, header.last_chunk) and header.last_chunk > header.chunk_size:
        _refuse(header, "last_chunk", f"last_chunk is {header.last_chunk}, more than chunk_size, {header.chunk_size}")
    if header.nchunks < UNKNOWN:
        _refuse(header, "nchunks", f"nchunks is {header.nchunks}; only -1, unknown, may be negative")
    if header.max_app_chunks < 0:
        _refuse(header, "max_app_chunks", f"max_app_chunks is {header.max_app_chunks}; it cannot be negative")
    if header.nchunks == UNKNOWN and header.max_app_chunks:
        message = f"max_app_chunks is {header.max_app_chunks}; while nchunks is -1, unknown, it must be 0"
        _refuse(header, "max_app_chunks", message)
    if header.nchunks + header.max_app_chunks > MAX_CHUNKS:
        _refuse(header, "max_app_chunks", "nchunks and max_app_chunks together exceed 2^63 - 1")


def _refuse(header: Header, name: str, message: str) -> None:
    raise FormatError(message, span=_place(header.record, name))


def _place(record: Record, name: str) -> Span:
    start = record.offsets[name]
    return Span("", start, start + record.sizes[name])
