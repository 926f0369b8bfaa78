"""The records of a Bloscpack file and the rules for the locations of its parts ("Bloscpack Format").

    header | metadata section (option bit 1) | offsets (option bit 0) | chunk | checksum | chunk | checksum | ...

All numbers are little-endian. The three versions differ in the header, in the spare offsets and in the metadata.
Each chunk is a Blosc-1 buffer with its own 16-byte header; see `blosc1.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import Truncated
from shardcore.model.byte_shares import Use
from shardcore.model.objects import State
from shardcore.model.pointer_table import PointerTable
from shardcore.model.record import Differs, Field, Record
from shardcore.model.record import FieldRole as Role
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span

MAGIC = b"blpk"
VERSIONS = (1, 2, 3)
MAX_CHUNK = 2**31 - 1 - 16
"""Largest uncompressed size of a chunk: a Blosc buffer has at most 2^31 - 1 bytes with its 16-byte header."""
CHUNK_SIZE = 1 << 20
"""Default uncompressed size of a chunk."""
UNKNOWN = -1
"""Value of an unknown count, size or offset."""

SOURCE = "Bloscpack format, "
BLOSC_SOURCE = "Blosc chunk format, "


class HeaderOption(IntFlag):
    """Bits of `options`; the other six must be 0."""

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
"""Codecs by number, bits 5 to 7 of `flags`. `lz4hc` shares the number of `lz4`."""

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
        "Number of chunks; -1 if unknown: all up to the end of the file.",
        differs=Differs(
            "-1 means that the number is not known, and chunks continue to the end of the file",
            "the reference returns no content of such a file",
        ),
    ),
)

HEADER_V1 = Record(
    "header",
    source=SOURCE + "version 1",
    fields=(
        _MAGIC_FIELD,
        Field("format_version", "u1", Role.VERSION, "1 in this layout.", 1),
        Field("unused", ("u1", 3), Role.UNUSED, "Ignored; writers put zeros."),
        Field("nchunks", "<i8", Role.COUNT, "Number of chunks; -1 if unknown: all up to the end of the file."),
    ),
)

HEADER_V2 = Record(
    "header",
    source=SOURCE + "version 2",
    fields=(
        _MAGIC_FIELD,
        Field("format_version", "u1", Role.VERSION, "2 in this layout.", 2),
        *_SIZE_FIELDS,
        Field("reserved", ("u1", 8), Role.UNUSED, "Zero; version 3 stores max_app_chunks here."),
    ),
)

HEADER_V3 = Record(
    "header",
    source=SOURCE + "Bloscpack Header",
    fields=(
        _MAGIC_FIELD,
        Field("format_version", "u1", Role.VERSION, "3 in this layout.", 3),
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

SENTENCES = {
    "header": "Version and options of the file; sizes and number of its chunks.",
    "metadata": "JSON text about the content, with reserved space and its own checksum.",
    "offsets": "Offset of each chunk; spare slots, -1, are for chunks that are appended later.",
    "chunks": "The content: compressed chunks, each followed by its checksum.",
    "trailing": "Bytes after the last chunk; appending can leave some, and readers ignore them.",
    "unknown": "These bytes do not belong to any chunk that was found.",
}
_ROLES = {
    "header": SectionRole.HEADER,
    "metadata": SectionRole.METADATA,
    "offsets": SectionRole.INDEX,
    "chunks": SectionRole.DATA,
    "trailing": SectionRole.TRAILING,
    "unknown": SectionRole.UNKNOWN,
}


def section(name: str, start: int, stop: int) -> Section:
    return Section(name, _ROLES[name], start, stop, SENTENCES[name])


def blosc_header_span(place: int) -> Span:
    return Span("", place, place + CHUNK_HEADER.size)


@dataclass(frozen=True, slots=True)
class ChunkArea:
    """Part of a file that can contain chunks; `nchunks` is -1 if unknown, `digest` the size of a checksum in bytes."""

    first: int
    nchunks: int
    digest: int
    size: int

    @property
    def most(self) -> int:
        """Number of rows: `nchunks`, limited to chunks that fit in the file, plus one if the header counts more."""
        fit = max(self.size - self.first, 0) // (CHUNK_HEADER.size + self.digest)
        return fit if self.nchunks == UNKNOWN else min(self.nchunks, fit + 1)

    def allows(self, place: int) -> bool:
        """Return True if a chunk header fits at `place`, after the offsets and before the end of the file."""
        return self.first <= place <= self.size - CHUNK_HEADER.size

    def allowed(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        return (places >= self.first) & (places <= self.size - CHUNK_HEADER.size)

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
        """Return the end of each chunk without its checksum, at most the end of the file; -1 if it is not found."""
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
        states = np.where(self.area.allowed(rows["offset"]), State.LIVE, State.DAMAGED)
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
