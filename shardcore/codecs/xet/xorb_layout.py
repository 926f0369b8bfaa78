"""Layout of a xorb, and rules on its chunk records.

Chunk records are consecutive from byte 0; then come the info block and its length. Uploads contain the chunk records
only. All numbers are little-endian.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import SIZE
from shardcore.model.number_words import plural
from shardcore.model.record import Differs, Field, FieldRole, Record

IDENT = b"XETBLOB"
IDENT_HASHES = b"XBLBHSH"
IDENT_BOUNDARIES = b"XBLBBND"

MAX_CHUNKS = 8192
"""Maximum chunks of a xorb, in writers."""

MAX_XORB_SIZE = 64 * 1024 * 1024
"""Maximum bytes of a xorb, in writers."""

MAX_UNPACKED = 131_072
"""Maximum uncompressed bytes of a chunk."""

MAX_STORED = 262_144
"""Maximum stored bytes of a chunk."""


CHUNKS = "chunks"
"""Name of a section."""

INFO_BLOCK = "info block"

SENTENCES = {
    CHUNKS: "The chunk records, one after the other: a header of 8 bytes and the stored chunk.",
    INFO_BLOCK: "Hash of the xorb, hashes and ends of its chunks; it is left out on upload.",
}
"""Sentence about each section."""


class Scheme(enum.IntEnum):
    """Compression scheme of a chunk. 99 means "auto" in settings and is not allowed in a file."""

    NONE = 0
    LZ4 = 1
    BG4_LZ4 = 2

    @property
    def label(self) -> str:
        """Name in settings and listings."""
        return _LABELS[self]


_LABELS = {Scheme.NONE: "none", Scheme.LZ4: "lz4", Scheme.BG4_LZ4: "bg4-lz4"}


def _version(doc: str, default: int = 0) -> Field:
    return Field("version", "u1", FieldRole.VERSION, doc, default)


_STORED_SIZE = Differs(
    "a chunk that compression would make larger is stored as it is, so at most 128 KiB follow",
    "readers take up to 256 KiB here, as stored bytes may be more than uncompressed ones",
)
_FRAME = Differs(
    "1 and 2 are standard LZ4 compression", "it is one LZ4 frame, with magic and end mark, not a bare LZ4 block"
)
_BLOCK = Differs(
    "a xorb is a series of chunks, and nothing else",
    "on disk this block and its length follow them; on upload they are left out",
)
_CHUNK_COUNT = Differs(
    "the number of chunks is not limited, only the bytes (64 MiB)",
    "writers put at most 8,192 chunks into a xorb",
)


CHUNK_HEADER = Record(
    "chunk header",
    source="xorb, chunk records",
    fields=(
        _version("Version of the record; 0."),
        Field(
            "compressed_size",
            ("u1", 3),
            FieldRole.SIZE,
            "Stored bytes that follow this header; 24 bits, little-endian.",
            differs=_STORED_SIZE,
        ),
        Field(
            "compression_type",
            "u1",
            FieldRole.CODEC,
            "0 none, 1 LZ4 frame, 2 LZ4 frame of the byte-grouped chunk.",
            differs=_FRAME,
        ),
        Field(
            "uncompressed_size",
            ("u1", 3),
            FieldRole.SIZE,
            "Uncompressed size of the chunk in bytes; 24 bits, little-endian.",
        ),
    ),
)

INFO_HEADER = Record(
    "info header",
    source="xorb, info block",
    fields=(
        Field(
            "ident",
            ("u1", 7),
            FieldRole.MAGIC,
            "XETBLOB: the chunk records end, the info block begins.",
            IDENT,
            differs=_BLOCK,
        ),
        _version("Version of the info block: 1, or 0 in old files.", 1),
        Field("cas_hash", ("u1", SIZE), FieldRole.KEY, "Hash of the xorb: the tree root over its chunks."),
    ),
)

HASHES_HEADER = Record(
    "hashes header",
    source="xorb, info block version 1",
    fields=(
        Field("ident_hash_section", ("u1", 7), FieldRole.MAGIC, "XBLBHSH: the chunk hashes follow.", IDENT_HASHES),
        Field("hashes_version", "u1", FieldRole.VERSION, "Version of the list; 0."),
        Field("num_chunks", "<u4", FieldRole.COUNT, "Number of chunks.", differs=_CHUNK_COUNT),
    ),
)

BOUNDARIES_HEADER = Record(
    "boundaries header",
    source="xorb, info block version 1",
    fields=(
        Field(
            "ident_boundary_section",
            ("u1", 7),
            FieldRole.MAGIC,
            "XBLBBND: the ends of the chunks follow.",
            IDENT_BOUNDARIES,
        ),
        Field("boundaries_version", "u1", FieldRole.VERSION, "Version of the list; 1.", 1),
        Field("num_chunks", "<u4", FieldRole.COUNT, "Number of chunks."),
    ),
)

COUNT = Record(
    "count",
    source="xorb, info block version 0",
    fields=(Field("num_chunks", "<u4", FieldRole.COUNT, "Number of chunks.", differs=_CHUNK_COUNT),),
)

CHUNK_HASH = Record(
    "chunk hash",
    source="xorb, info block",
    fields=(Field("chunk_hash", ("u1", SIZE), FieldRole.HASH, "Hash of the uncompressed chunk."),),
)

STORED_END = Record(
    "stored end",
    source="xorb, info block",
    fields=(
        Field(
            "chunk_boundary_offset",
            "<u4",
            FieldRole.OFFSET,
            "One past the last byte of the chunk's record in the file, headers counted.",
        ),
    ),
)

UNPACKED_END = Record(
    "unpacked end",
    source="xorb, info block version 1",
    fields=(
        Field(
            "unpacked_chunk_offset",
            "<u4",
            FieldRole.OFFSET,
            "One past the last byte of the chunk in the uncompressed xorb: all chunks decompressed and joined.",
        ),
    ),
)

TRAILER = Record(
    "info trailer",
    source="xorb, info block version 1",
    fields=(
        Field("num_chunks", "<u4", FieldRole.COUNT, "Number of chunks, the same for the third time."),
        Field(
            "hashes_section_offset_from_end",
            "<u4",
            FieldRole.OFFSET,
            "Bytes from the end of the info block back to XBLBHSH.",
        ),
        Field(
            "boundary_section_offset_from_end",
            "<u4",
            FieldRole.OFFSET,
            "Bytes from the end of the info block back to XBLBBND.",
        ),
        Field(
            "_buffer", ("u1", 16), FieldRole.UNUSED, "Not hashed; may begin with 4 random bytes drawn for an upload."
        ),
    ),
)

BUFFER = Record(
    "buffer",
    source="xorb, info block version 0",
    fields=(Field("_buffer", ("u1", 16), FieldRole.UNUSED, "Reserved."),),
)

INFO_LENGTH = Record(
    "info length",
    source="xorb, end",
    fields=(Field("info_length", "<u4", FieldRole.SIZE, "Bytes of the info block, without these four."),),
)


def read_u24(raw: bytes) -> int:
    return int.from_bytes(raw, "little")


def write_u24(value: int) -> bytes:
    return value.to_bytes(3, "little")


def u24_column(column: NDArray[np.uint8]) -> NDArray[np.int64]:
    wide = column.astype(np.int64)
    numbers: NDArray[np.int64] = wide[:, 0] | wide[:, 1] << 8 | wide[:, 2] << 16
    return numbers


HEADER_SIZE = CHUNK_HEADER.size


def chunk_fault(scheme: int, stored: int, unpacked: int) -> str:
    """Return why a chunk cannot have this scheme and these sizes; empty if it can."""
    if scheme not in tuple(Scheme):
        return f"unknown compression scheme {scheme}"
    if stored > MAX_STORED or unpacked > MAX_UNPACKED:
        return (
            f"{plural(unpacked, 'uncompressed byte')} and {stored:,} stored are declared; "
            f"a chunk has at most {MAX_UNPACKED:,} and {MAX_STORED:,}"
        )
    return ""


def header_fault(header: dict[str, Any], stored: int, size: int) -> str:
    """Return what is wrong with a chunk header; empty if nothing is. Sizes of -1 are not compared."""
    packed, unpacked = read_u24(header["compressed_size"]), read_u24(header["uncompressed_size"])
    if header["version"] != 0:
        return f"chunk record version {header['version']}; only 0 is known"
    if fault := chunk_fault(header["compression_type"], packed, unpacked):
        return fault
    if stored not in (-1, packed):
        return f"its header declares {plural(packed, 'stored byte')}; by its ends in the info block it has {stored:,}"
    if size not in (-1, unpacked):
        return f"its header declares {plural(unpacked, 'uncompressed byte')}; the info block declares {size:,}"
    return ""


def header_faults(
    rows: NDArray[Any], ends: NDArray[np.int64], unpacked_ends: NDArray[np.int64] | None
) -> NDArray[np.bool_]:
    """Return a mask of the headers that `header_fault` would report."""
    packed, unpacked = u24_column(rows["compressed_size"]), u24_column(rows["uncompressed_size"])
    wrong: NDArray[np.bool_] = (rows["version"] != 0) | (rows["compression_type"] > max(Scheme))
    wrong |= (unpacked > MAX_UNPACKED) | (packed > MAX_STORED) | (packed != np.diff(ends, prepend=0) - HEADER_SIZE)
    return wrong if unpacked_ends is None else wrong | (unpacked != np.diff(unpacked_ends, prepend=0))
