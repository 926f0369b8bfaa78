"""The layout of a Bloscpack file and the rules for its header and the locations of its parts ("Bloscpack Format").

    header | metadata section (option bit 1) | offsets (option bit 0) | chunk | checksum | chunk | checksum | ...

All numbers are little-endian. The three versions differ in the header, in the spare offsets and in the metadata.
Each chunk is a Blosc-1 buffer with its own 16-byte header; see `blosc1.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import BadChecksum, BadMagic, FormatError, Truncated, Unsupported
from shardcore.model.objects import State
from shardcore.model.pointer_table import PointerTable
from shardcore.model.record import Differs, Field, Record
from shardcore.model.record import FieldRole as Role
from shardcore.model.section import Part, Section, SectionRole, laid_out
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.model.usage import Use

MAGIC = b"blpk"
SUFFIX = ".blp"
MAX_CHUNK = 2**31 - 1 - 16
"""Largest uncompressed size of a chunk: a Blosc buffer has at most 2^31 - 1 bytes with its 16-byte header."""
CHUNK_SIZE = 1 << 20
"""Default uncompressed size of a chunk, in bytes."""
MAX_CHUNKS = 2**63 - 1
UNKNOWN = -1
"""Value of an unknown count, size or offset."""

SOURCE = "Bloscpack format, "
BLOSC_SOURCE = "Blosc chunk format, "


class HeaderOption(IntFlag):
    """Bits of the header field `options` that are defined; the other six bits must be 0."""

    OFFSETS = 0x01
    METADATA = 0x02


class Flag(IntFlag):
    """Low five bits of `flags` in a Blosc header; bits 5 to 7 are the codec."""

    BYTE_SHUFFLE = 0x01
    MEMCPYED = 0x02
    BIT_SHUFFLE = 0x04
    RESERVED = 0x08
    NOT_SPLIT = 0x10


CODECS = ("blosclz", "lz4", "snappy", "zlib", "zstd")
"""Names of the codecs by number, which is in bits 5 to 7 of `flags`. `lz4hc` has the number of `lz4`."""

_MAGIC_FIELD = Field("magic", ("u1", 4), Role.MAGIC, "The letters `blpk`.", MAGIC)
_SIZE_FIELDS = (
    Field(
        "options",
        "u1",
        Role.FLAGS,
        "Bit 0: offsets are present. Bit 1: a metadata section is present (version 3). The other bits must be 0.",
    ),
    Field(
        "checksum",
        "u1",
        Role.CODEC,
        "The checksum after every chunk: 0 none, 1 adler32, 2 crc32, 3 md5, 4 sha1, 5 sha224, 6 sha256, "
        "7 sha384, 8 sha512.",
        differs=Differs("adler32 costs 32 bytes per chunk", "it costs 32 bits; adler32 and crc32 are 4 bytes"),
    ),
    Field("typesize", "u1", Role.NUMBER, "Size of one element in bytes; informative, because each chunk has its own."),
    Field("chunk_size", "<i4", Role.SIZE, "Uncompressed size of every chunk but the last, in bytes; -1 if unknown."),
    Field("last_chunk", "<i4", Role.SIZE, "Uncompressed size of the last chunk, in bytes; -1 if unknown."),
    Field(
        "nchunks",
        "<i8",
        Role.COUNT,
        "Number of chunks; -1 if unknown: chunks continue to the end of the file.",
        differs=Differs(
            "-1 means that the number is not known, and chunks continue to the end of the file",
            "the reference returns no content of such a file",
        ),
    ),
)


def _header_record(version: int, section: str, *fields: Field) -> Record:
    number = Field("format_version", "u1", Role.VERSION, f"{version} in this layout.", version)
    return Record("header", source=SOURCE + section, fields=(_MAGIC_FIELD, number, *fields))


HEADER_V1 = _header_record(
    1,
    "version 1",
    Field("unused", ("u1", 3), Role.UNUSED, "Ignored; writers put zeros."),
    Field("nchunks", "<i8", Role.COUNT, "Number of chunks; -1 if unknown: chunks continue to the end of the file."),
)

HEADER_V2 = _header_record(
    2,
    "version 2",
    *_SIZE_FIELDS,
    Field("reserved", ("u1", 8), Role.UNUSED, "Zero; version 3 stores max_app_chunks here."),
)

HEADER_V3 = _header_record(
    3,
    "Bloscpack Header",
    *_SIZE_FIELDS,
    Field(
        "max_app_chunks",
        "<i8",
        Role.COUNT,
        "Spare offset slots, so that this many chunks can be appended in place.",
        differs=Differs(
            "the last 8 bytes of the header are reserved, as in version 2",
            "every release since 0.3.0 writes version 3 and stores the number of spare offsets here",
        ),
    ),
)

HEADERS = {1: HEADER_V1, 2: HEADER_V2, 3: HEADER_V3}

METADATA_HEADER = Record(
    "metadata header",
    source=SOURCE + "Metadata",
    fields=(
        Field(
            "magic_format",
            ("u1", 8),
            Role.MAGIC,
            "`JSON`, padded with zero bytes.",
            b"JSON",
            Differs("the name is padded with spaces", "files have zero bytes; accept both"),
        ),
        Field("meta_options", "u1", Role.FLAGS, "Always 0: no option is defined."),
        Field(
            "meta_checksum",
            "u1",
            Role.CODEC,
            "The checksum at the end of the section, numbered as in `checksum`; it covers the stored text.",
        ),
        Field("meta_codec", "u1", Role.CODEC, "Codec of the text: 0 none, 1 zlib."),
        Field(
            "meta_level",
            "u1",
            Role.NUMBER,
            "Requested compression level.",
            differs=Differs("it must be 0 if the codec is 0", "writers store 6 even then: ignore it"),
        ),
        Field("meta_size", "<u4", Role.SIZE, "Uncompressed bytes of the metadata text."),
        Field(
            "max_meta_size", "<u4", Role.SIZE, "Bytes reserved for the stored metadata, so that it can grow in place."
        ),
        Field(
            "meta_comp_size",
            "<u4",
            Role.SIZE,
            "Bytes of the stored metadata; zeros fill the rest of the reserved bytes.",
        ),
        Field("user_codec", ("u1", 8), Role.UNUSED, "Reserved for other codecs; zero."),
    ),
)

OFFSET = Record(
    "offset",
    source=SOURCE + "Offsets",
    fields=(
        Field(
            "offset",
            "<i8",
            Role.OFFSET,
            "Offset of the chunk (its Blosc header) in the file; -1 in spare slots, and if not filled in.",
            differs=Differs(
                "offsets are for accelerated seeking",
                "the reference uses them only to append, so wrong offsets may exist",
            ),
        ),
    ),
)

CHUNK_HEADER = Record(
    "Blosc header",
    source=BLOSC_SOURCE + "header",
    fields=(
        Field("version", "u1", Role.VERSION, "Version of the Blosc format: 2.", 2),
        Field("versionlz", "u1", Role.VERSION, "Version of the codec's format; 1 for every codec.", 1),
        Field(
            "flags",
            "u1",
            Role.FLAGS,
            "0x01 byte shuffle, 0x02 memcpyed, 0x04 bit shuffle, 0x08 always 0, 0x10 blocks not split; "
            "bits 5-7: codec 0 blosclz, 1 lz4 and lz4hc, 2 snappy, 3 zlib, 4 zstd.",
        ),
        Field("typesize", "u1", Role.NUMBER, "Size of the elements whose bytes are shuffled, 1 to 255 bytes."),
        Field("nbytes", "<u4", Role.SIZE, "Uncompressed size of the chunk in bytes."),
        Field("blocksize", "<u4", Role.SIZE, "Uncompressed bytes of each block but the last, which may have fewer."),
        Field("ctbytes", "<u4", Role.SIZE, "Stored bytes of the chunk, with this header and without the checksum."),
    ),
)

BLOCK_START = Record(
    "block start",
    source=BLOSC_SOURCE + "starts",
    fields=(Field("start", "<i4", Role.OFFSET, "Offset of the block from the start of the chunk."),),
)

STREAM_LENGTH = Record(
    "stream length",
    source=BLOSC_SOURCE + "blocks",
    fields=(
        Field(
            "length",
            "<i4",
            Role.SIZE,
            "Stored bytes of the stream that follow; equal to its uncompressed size if it is stored uncompressed.",
        ),
    ),
)

PARTS = (
    Part("header", SectionRole.HEADER, "Version and options of the file; sizes and number of its chunks."),
    Part("metadata", SectionRole.METADATA, "JSON text about the content, with reserved space and its own checksum."),
    Part(
        "offsets", SectionRole.INDEX, "Offset of each chunk; spare slots, -1, are for chunks that are appended later."
    ),
    Part("chunks", SectionRole.DATA, "The content: compressed chunks, each followed by its checksum.", always=True),
)
TRAILING = Part(
    "trailing", SectionRole.TRAILING, "Bytes after the last chunk; appending can leave some, and readers ignore them."
)
UNCLAIMED = Part("unknown", SectionRole.UNKNOWN, "These bytes do not belong to any chunk that was found.")


def sections_of(bounds: Sequence[int], rest: Part = TRAILING) -> tuple[Section, ...]:
    """Return the sections between `bounds`: 0, the ends of header, metadata, offsets and chunks, and the file size."""
    return tuple(laid_out((*PARTS, rest), bounds))


def section(name: str, start: int, stop: int) -> Section:
    part = next(part for part in PARTS if part.name == name)
    return Section(name, part.role, start, stop, part.doc)


def blosc_header_span(place: int) -> Span:
    return CHUNK_HEADER.span("", place)


@dataclass(frozen=True, slots=True)
class Checksum:
    """Kind of checksum, with its number in the header; adler32 and crc32 are stored as little-endian u32."""

    number: int
    name: str
    size: int
    compute: Callable[[bytes | memoryview], bytes]

    def check(self, data: bytes | memoryview, stored: bytes, place: Span, what: str) -> None:
        """Raise BadChecksum if `stored` is not the checksum of `data`; `what` names the data in the message."""
        computed = self.compute(data)
        if computed != stored:
            message = f"{what}: {self.name} checksum: computed {computed.hex()}, stored {stored.hex()}"
            raise BadChecksum(message, span=place)


def _hash(number: int, name: str, size: int) -> Checksum:
    # Not for security: md5 and sha1 must work even if a policy such as FIPS disables them.
    return Checksum(number, name, size, lambda data: hashlib.new(name, data, usedforsecurity=False).digest())


def _fast(number: int, name: str) -> Checksum:
    def compute(data: bytes | memoryview) -> bytes:
        import deflate  # many times as fast as zlib

        value: int = getattr(deflate, name)(data)
        return value.to_bytes(4, "little")

    return Checksum(number, name, 4, compute)


CHECKSUMS = (
    Checksum(0, "None", 0, lambda data: b""),
    _fast(1, "adler32"),
    _fast(2, "crc32"),
    _hash(3, "md5", 16),
    _hash(4, "sha1", 20),
    _hash(5, "sha224", 28),
    _hash(6, "sha256", 32),
    _hash(7, "sha384", 48),
    _hash(8, "sha512", 64),
)


def checksum(number: int, place: Span | None = None) -> Checksum:
    if not 0 <= number < len(CHECKSUMS):
        raise FormatError(f"checksum {number} is not supported (supported: 0 to {len(CHECKSUMS) - 1})", span=place)
    return CHECKSUMS[number]


def checksum_name(options: Mapping[str, Any]) -> str:
    """Return the name of the checksum that options of the writer select (default: adler32); "" for no checksum."""
    return str(options.get("checksum") or "adler32").removeprefix("None")


@dataclass(frozen=True, slots=True)
class Header:
    """Header of a file; a field of -1 is unknown ("Description of the header entries").

    Attributes:
        record: Layout of the header in this version.
        values: The fields as stored, by name.
        checksum: Kind of the checksum after every chunk.
        version: 1, 2 or 3.
        options: Bits of `HeaderOption`.
        typesize: Bytes of one element; 0 in version 1, which does not have it.
        chunk_size: Uncompressed bytes of every chunk but the last.
        last_chunk: Uncompressed bytes of the last chunk.
        nchunks: Number of chunks.
        max_app_chunks: Number of spare offset slots.
    """

    record: Record
    values: dict[str, Any]
    checksum: Checksum
    version: int
    nchunks: int
    options: int = 0
    typesize: int = 0
    chunk_size: int = UNKNOWN
    last_chunk: int = UNKNOWN
    max_app_chunks: int = 0

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

    def plain_size_of(self, chunk: int) -> int:
        return self.last_chunk if chunk == self.nchunks - 1 else self.chunk_size

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each invalid field with its error message."""
        allowed = HeaderOption.OFFSETS | (HeaderOption.METADATA if self.version == 3 else 0)
        if bits := self.options & ~int(allowed):
            yield "options", f"option bits {bits:#04x} are set, which are undefined in version {self.version}"
        for name, value in (("chunk_size", self.chunk_size), ("last_chunk", self.last_chunk)):
            if not UNKNOWN <= value <= MAX_CHUNK:
                yield name, f"{name} is {value}; valid: -1 (unknown) to {MAX_CHUNK}"
        if UNKNOWN not in (self.chunk_size, self.last_chunk) and self.last_chunk > self.chunk_size:
            yield "last_chunk", f"last_chunk is {self.last_chunk}, more than chunk_size, {self.chunk_size}"
        if self.nchunks < UNKNOWN:
            yield "nchunks", f"nchunks is {self.nchunks}; only -1, unknown, may be negative"
        spare = f"max_app_chunks is {self.max_app_chunks}"
        if self.max_app_chunks < 0:
            yield "max_app_chunks", f"{spare}; it cannot be negative"
        if self.nchunks == UNKNOWN and self.max_app_chunks:
            yield "max_app_chunks", f"{spare}; while nchunks is -1, unknown, it must be 0"
        if self.nchunks + self.max_app_chunks > MAX_CHUNKS:
            yield "max_app_chunks", "nchunks and max_app_chunks together exceed 2^63 - 1"

    def check_slots(self, table: int, size: int) -> None:
        """Raise Truncated if the offsets, from byte `table` on, do not fit in the file of `size` bytes."""
        stop = table + self.slots * OFFSET.size
        if stop > size:
            chunks, spare = plural(max(self.nchunks, 0), "chunk"), plural(self.max_app_chunks, "spare slot")
            message = f"{chunks} and {spare} need offsets up to byte {stop:#x}; the file ends at {size:#x}"
            raise Truncated(message, span=Span("", min(table, size), size))


def header_record(data: bytes) -> Record:
    """Return the layout of the header for the version in `data`, the first five bytes of the file or more."""
    if data[:4] != MAGIC[: len(data)] or not data:
        message = f"the file does not begin with `blpk` but with {data[:4].hex(' ') or 'nothing'}"
        raise BadMagic(message, span=Span("", 0, min(4, len(data))))
    if len(data) <= len(MAGIC):
        raise Truncated("the file ends before its version, byte 4", span=Span("", 0, len(data)))
    version = data[4]
    if version not in HEADERS:
        raise Unsupported(f"Bloscpack version {version} is not supported (supported: 1, 2, 3)", span=Span("", 4, 5))
    return HEADERS[version]


def read_header(data: bytes) -> Header:
    """Read and check the header in `data`, the first 32 bytes of the file or fewer.

    Raises:
        BadMagic: `data` does not begin with `blpk`.
        Unsupported: The version is none of 1, 2 and 3.
        Truncated: `data` ends within the header.
        FormatError: A field has an invalid value.
    """
    record = header_record(data)
    values = record.read_one(data, place=Span("", 0, len(data)))
    kind = checksum(values["checksum"], record.span("checksum")) if "checksum" in values else CHECKSUMS[0]
    names = ("nchunks", "options", "typesize", "chunk_size", "last_chunk", "max_app_chunks")
    numbers = {name: values[name] for name in names if name in values}
    header = Header(record, values, kind, values["format_version"], **numbers)
    for name, message in header.faults():
        raise FormatError(message, span=record.span(name))
    return header


@dataclass(frozen=True, slots=True)
class ChunkArea:
    """Part of a file that can contain chunks: from the offset of the first chunk to the file size.

    `nchunks` is the number of chunks, -1 if unknown; `digest` is the size of the checksum after each chunk, in bytes.
    """

    first: int
    nchunks: int
    digest: int
    size: int

    @property
    def most(self) -> int:
        """Maximum number of chunks that are listed: `nchunks`, at most one more than fit; as many as fit if unknown."""
        fit = max(self.size - self.first, 0) // (CHUNK_HEADER.size + self.digest)
        return fit if self.nchunks == UNKNOWN else min(self.nchunks, fit + 1)

    def allows(self, place: Any) -> Any:
        """Return True (a mask for an array) if a chunk header at `place` is after the offsets and within the file."""
        return (place >= self.first) & (place <= self.size - CHUNK_HEADER.size)

    def truncated(self, chunk: int, place: int, stored: int) -> Truncated | None:
        end = place + stored + self.digest
        if end <= self.size:
            return None
        message = f"chunk {chunk} ends at byte {end:#x}, the file at {self.size:#x}"
        return Truncated(message, span=Span("", place, self.size))

    def fits(self, places: NDArray[np.int64], headers: NDArray[Any]) -> NDArray[np.bool_]:
        ends = places + headers["ctbytes"].astype(np.int64) + self.digest
        fine: NDArray[np.bool_] = (places != UNKNOWN) & (ends <= self.size)
        return fine

    def stops(self, places: NDArray[np.int64], headers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the end of each chunk without its checksum, at most the file size; -1 for a chunk not found."""
        ends = np.minimum(places + headers["ctbytes"].astype(np.int64), self.size)
        return np.where(places == UNKNOWN, UNKNOWN, np.maximum(ends, places))


class OffsetTable(PointerTable):
    layout = OFFSET
    pointer = "offset"
    used = (Use.INDEX, "offsets of chunks", "8 bytes per chunk.")
    unused = (Use.SLACK, "spare offsets", "Offset slots, -1, for chunks that are appended later.")

    def __init__(
        self, start: int, rows: int, chunks: int, area: ChunkArea, read: Callable[[int, int], NDArray[Any]]
    ) -> None:
        super().__init__(start, rows, read)
        self.chunks = chunks
        self.area = area

    def _states(self, rows: NDArray[Any]) -> NDArray[np.uint8]:
        states = np.where(self.area.allows(rows["offset"]), State.LIVE, State.DAMAGED)
        return np.where(rows["offset"] == UNKNOWN, State.UNUSED, states).astype(np.uint8)

    def _target(self, number: int, row: Any) -> Span:
        return blosc_header_span(int(row["offset"]))

    def _fault(self, number: int, row: Any) -> str:
        return "invalid: not between the offsets and the end of the file"

    def _field_texts(self, number: int, row: Any, state: State) -> dict[str, str]:
        if state is not State.UNUSED:
            return {}
        return {"offset": "-1: a spare slot" if number >= self.area.nchunks else "-1: not filled in"}

    def _object_row(self, number: int, row: Any) -> int | None:
        return number if number < self.chunks else None
