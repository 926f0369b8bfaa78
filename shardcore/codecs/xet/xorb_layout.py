"""Layout of a xorb: its records, its info block, and checks and compression of chunks.

Chunk records are consecutive from byte 0; then come the info block and its length. Uploads contain the chunk records
only. All numbers are little-endian. A chunk has at most 128 KiB, so it is decompressed at once, but never beyond its
declared length.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shardcore.codecs import extension
from shardcore.codecs.decompress import Codec, decompress
from shardcore.codecs.xet.hashes import SIZE, HashArray
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, Unsupported
from shardcore.model.record import Differs, Field, FieldRole, Record
from shardcore.model.span import Span
from shardcore.model.text import plural

IDENT = b"XETBLOB"
IDENT_HASHES = b"XBLBHSH"
IDENT_BOUNDARIES = b"XBLBBND"

MAX_CHUNKS = 8192
"""Maximum number of chunks that writers put into a xorb."""

MAX_XORB_SIZE = 64 * 1024 * 1024
"""Maximum size of a xorb in writers, in bytes."""

MAX_UNPACKED = 131_072
"""Maximum uncompressed size of a chunk, in bytes."""

MAX_STORED = 262_144
"""Maximum stored size of a chunk, in bytes."""


CHUNKS = "chunks"
"""Name of the section of chunk records."""

INFO_BLOCK = "info block"

SENTENCES = {
    CHUNKS: "The chunk records, one after the other: a header of 8 bytes and the stored chunk.",
    INFO_BLOCK: "Hash of the xorb, and hashes and ends of its chunks; not included in uploads.",
}
"""Description of each section."""


class Scheme(enum.IntEnum):
    """Compression scheme of a chunk; 99 means "auto" in settings and is not allowed in files."""

    NONE = 0
    LZ4 = 1
    BG4_LZ4 = 2

    @property
    def label(self) -> str:
        """Name of the scheme in settings and listings."""
        return self.name.lower().replace("_", "-")


def _version(doc: str, default: int = 0) -> Field:
    return Field("version", "u1", FieldRole.VERSION, doc, default)


_STORED_SIZE = Differs(
    "a chunk that compression would make larger is stored uncompressed, so at most 128 KiB follow",
    "readers accept up to 256 KiB, because the stored size may exceed the uncompressed size",
)
_FRAME = Differs(
    "1 and 2 are standard LZ4 compression", "the data is an LZ4 frame, with magic and end mark, not a bare LZ4 block"
)
_BLOCK = Differs(
    "a xorb is a series of chunks, and nothing else",
    "on disk, this block and its length follow the chunks; uploads do not include them",
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
            "Stored size in bytes, without this header; 24 bits, little-endian.",
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
            "XETBLOB: start of the info block, after the chunk records.",
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
            "End of the chunk's record in the file (exclusive), including headers.",
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
            "End of the chunk (exclusive) in the uncompressed xorb: all chunks decompressed and concatenated.",
        ),
    ),
)

TRAILER = Record(
    "info trailer",
    source="xorb, info block version 1",
    fields=(
        Field("num_chunks", "<u4", FieldRole.COUNT, "Number of chunks, stored a third time."),
        Field(
            "hashes_section_offset_from_end",
            "<u4",
            FieldRole.OFFSET,
            "Distance in bytes from XBLBHSH to the end of the info block.",
        ),
        Field(
            "boundary_section_offset_from_end",
            "<u4",
            FieldRole.OFFSET,
            "Distance in bytes from XBLBBND to the end of the info block.",
        ),
        Field(
            "_buffer", ("u1", 16), FieldRole.UNUSED, "Not hashed; may begin with 4 random bytes created for an upload."
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
    fields=(Field("info_length", "<u4", FieldRole.SIZE, "Size of the info block in bytes, without this field."),),
)


def read_u24(raw: bytes) -> int:
    return int.from_bytes(raw, "little")


def u24_column(column: NDArray[np.uint8]) -> NDArray[np.int64]:
    wide = column.astype(np.int64)
    numbers: NDArray[np.int64] = wide[:, 0] | wide[:, 1] << 8 | wide[:, 2] << 16
    return numbers


HEADER_SIZE = CHUNK_HEADER.size


def chunk_headers(schemes: ArrayLike, stored: ArrayLike, unpacked: ArrayLike) -> NDArray[Any]:
    headers = np.zeros(np.shape(schemes), CHUNK_HEADER.dtype)
    headers["compression_type"] = schemes
    for name, sizes in {"compressed_size": stored, "uncompressed_size": unpacked}.items():
        headers[name] = np.asarray(sizes, "<u4").view(np.uint8).reshape(-1, 4)[:, :3]
    return headers


def chunk_fault(scheme: int, stored: int, unpacked: int) -> str:
    """Return an error text if a chunk cannot have this scheme and these sizes, else ""."""
    if scheme not in _CODECS:
        return f"unknown compression scheme {scheme}"
    if stored > MAX_STORED or unpacked > MAX_UNPACKED:
        return (
            f"{plural(unpacked, 'uncompressed byte')} and {stored:,} stored are declared; "
            f"the limits are {MAX_UNPACKED:,} and {MAX_STORED:,}"
        )
    return ""


def header_fault(header: dict[str, Any], stored: int, size: int) -> str:
    """Return the error in a chunk header, or "". `stored` and `size` (uncompressed) are expected sizes; -1: unknown."""
    packed, unpacked = read_u24(header["compressed_size"]), read_u24(header["uncompressed_size"])
    if header["version"] != 0:
        return f"chunk record version {header['version']} is not supported (supported: 0)"
    if fault := chunk_fault(header["compression_type"], packed, unpacked):
        return fault
    if stored not in (-1, packed):
        return f"its header declares {plural(packed, 'stored byte')}; the ends in the info block give {stored:,}"
    if size not in (-1, unpacked):
        return f"its header declares {plural(unpacked, 'uncompressed byte')}; the info block declares {size:,}"
    return ""


def header_faults(
    rows: NDArray[Any], ends: NDArray[np.int64], unpacked_ends: NDArray[np.int64] | None
) -> NDArray[np.bool_]:
    """Return a mask of the chunk headers with an error, as in `header_fault`; all are checked at once."""
    packed, unpacked = u24_column(rows["compressed_size"]), u24_column(rows["uncompressed_size"])
    wrong: NDArray[np.bool_] = (rows["version"] != 0) | (rows["compression_type"] > max(Scheme))
    wrong |= (unpacked > MAX_UNPACKED) | (packed > MAX_STORED) | (packed != np.diff(ends, prepend=0) - HEADER_SIZE)
    return wrong if unpacked_ends is None else wrong | (unpacked != np.diff(unpacked_ends, prepend=0))


# --- info block ----------------------------------------------------------------------------------------------

_LISTS = (CHUNK_HASH, STORED_END, UNPACKED_END)
"""Records that occur once per chunk."""

_PARTS: dict[int, dict[str, Record]] = {
    0: {
        "header": INFO_HEADER,
        "count": COUNT,
        "stored ends": STORED_END,
        "chunk hashes": CHUNK_HASH,
        "buffer": BUFFER,
    },
    1: {
        "header": INFO_HEADER,
        "hashes": HASHES_HEADER,
        "chunk hashes": CHUNK_HASH,
        "boundaries": BOUNDARIES_HEADER,
        "stored ends": STORED_END,
        "unpacked ends": UNPACKED_END,
        "trailer": TRAILER,
    },
}
"""Parts of an info block, in order, by version."""

FIXED = {version: sum(one.size for one in parts.values() if one not in _LISTS) for version, parts in _PARTS.items()}
"""Size of an info block without its lists, by version, in bytes."""

PER_CHUNK = {version: sum(one.size for one in parts.values() if one in _LISTS) for version, parts in _PARTS.items()}
"""Size of the list entries per chunk, by version, in bytes."""


@dataclass(frozen=True)
class InfoPart:
    """Part of the info block: a record, or a list with one record per chunk; `start` is relative to the block."""

    name: str
    record: Record
    start: int
    count: int = 1
    is_list: bool = False

    @property
    def stop(self) -> int:
        return self.start + self.count * self.record.size


def info_parts(version: int, count: int) -> tuple[InfoPart, ...]:
    parts, at = [], 0
    for name, record in _PARTS[version].items():
        is_list = record in _LISTS
        parts.append(InfoPart(name, record, at, count if is_list else 1, is_list))
        at = parts[-1].stop
    return tuple(parts)


def _distances(count: int) -> dict[str, int]:
    """Return the trailer fields of an info block (version 1): distances of its lists from its end, in bytes."""
    boundaries = BOUNDARIES_HEADER.size + count * (STORED_END.size + UNPACKED_END.size) + TRAILER.size
    return {
        "hashes_section_offset_from_end": HASHES_HEADER.size + count * CHUNK_HASH.size + boundaries,
        "boundary_section_offset_from_end": boundaries,
    }


@dataclass(frozen=True)
class XorbInfo:
    """Contents of the info block of a xorb.

    Attributes:
        hashes: Chunk hashes, shape `(n, 32)`.
        ends: End of each chunk record in the file, int64.
        unpacked_ends: End of each chunk in the uncompressed xorb, int64; None in version 0.
    """

    version: int
    cas_hash: bytes
    hashes: HashArray
    ends: NDArray[np.int64]
    unpacked_ends: NDArray[np.int64] | None
    nonce: bytes = bytes(16)

    @property
    def count(self) -> int:
        return len(self.hashes)


def read_info(data: bytes, start: int) -> XorbInfo:
    """Parse the info block `data`, without the length after it; `start` is its offset, the end of the chunk records.

    Raises `FormatError` if the ident is missing, counts or distances are wrong, or ends do not ascend to `start`.
    """
    place = Span("", start, start + len(data))
    header = INFO_HEADER.read_one(data, place=place)
    version = header["version"]
    if header["ident"] != IDENT:
        raise FormatError("the info block does not begin with XETBLOB", span=Span("", start, start + len(IDENT)))
    if version not in FIXED:
        raise Unsupported(f"info block version {version} is not supported", span=Span("", start + 7, start + 8))
    count, rest = divmod(len(data) - FIXED[version], PER_CHUNK[version])
    if count < 0 or rest:
        raise FormatError(
            f"an info block of version {version} cannot have {plural(len(data), 'byte')}",
            span=place,
        )
    values: dict[str, Any] = {}
    lists: dict[str, NDArray[Any]] = {}
    for part in info_parts(version, count):
        rows = part.record.read(data, part.start, part.count, place=place)
        if part.is_list:
            lists[part.name] = rows[part.record.fields[0].name]
        else:
            span = Span("", start + part.start, start + part.stop)
            found = part.record.values(rows[0])
            _check_part(part, found, count, span)
            values |= found
    ends = lists["stored ends"].astype(np.int64)
    unpacked = lists["unpacked ends"].astype(np.int64) if version else None
    _check_ends(ends, start, place)
    if unpacked is not None and (np.diff(unpacked, prepend=0) > MAX_UNPACKED).any():
        raise FormatError(
            f"according to the unpacked ends, a chunk has more than {MAX_UNPACKED:,} uncompressed bytes", span=place
        )
    if unpacked is not None and (np.diff(unpacked, prepend=0) < 0).any():
        raise FormatError("the unpacked ends do not ascend", span=place)
    return XorbInfo(version, header["cas_hash"], lists["chunk hashes"], ends, unpacked, values["_buffer"])


def _check_part(part: InfoPart, values: dict[str, Any], count: int, place: Span) -> None:
    if values.get("num_chunks", count) != count:
        raise FormatError(
            f"{part.name}: num_chunks is {values['num_chunks']:,}, but the length of the info block gives {count:,}",
            span=place,
        )
    for field in part.record.fields:
        if field.name.startswith("ident_") and values[field.name] != field.default:
            raise FormatError(f"{part.name}: does not begin with {field.default!r}", span=place)
        if field.name in ("hashes_version", "boundaries_version") and values[field.name] != field.default:
            raise Unsupported(f"{part.name}: version {values[field.name]} is not supported", span=place)
    for name, distance in _distances(count).items():
        if values.get(name, distance) != distance:
            raise FormatError(f"{name} is {values[name]}; it must be {distance}", span=place)


def _check_ends(ends: NDArray[np.int64], start: int, place: Span) -> None:
    sizes = np.diff(ends, prepend=0) - HEADER_SIZE
    if (sizes < 0).any() or (sizes > MAX_STORED).any():
        raise FormatError(
            f"the stored ends are invalid: a chunk record has {HEADER_SIZE} to {HEADER_SIZE + MAX_STORED:,} bytes",
            span=place,
        )
    last = int(ends[-1]) if len(ends) else 0
    if last != start:
        raise FormatError(f"the last stored end is {last:#x}, but the info block begins at {start:#x}", span=place)


def write_info(info: XorbInfo) -> bytes:
    unpacked = np.zeros(0, np.int64) if info.unpacked_ends is None else info.unpacked_ends
    lists = {
        "chunk hashes": info.hashes.tobytes(),
        "stored ends": info.ends.astype("<u4").tobytes(),
        "unpacked ends": unpacked.astype("<u4").tobytes(),
    }
    values: dict[str, int | bytes] = {"version": info.version, "num_chunks": info.count, **_distances(info.count)}
    values |= {"cas_hash": info.cas_hash, "_buffer": info.nonce}

    def packed(part: InfoPart) -> bytes:
        names = (field.name for field in part.record.fields)
        return part.record.pack(**{name: values[name] for name in names if name in values})

    parts = info_parts(info.version, info.count)
    block = b"".join(lists[part.name] if part.is_list else packed(part) for part in parts)
    return block + INFO_LENGTH.pack(info_length=len(block))


# --- compression of chunks ----------------------------------------------------------------------------------

GROUPS = 4
"""Number of byte groups in BG4."""


_CODECS: dict[int, Codec] = {Scheme.NONE: "none", Scheme.LZ4: "lz4", Scheme.BG4_LZ4: "lz4"}


def read_chunk(scheme: int, stored: bytes, unpacked_length: int, *, span: Span | None = None) -> bytes:
    """Decompress a chunk; `stored` does not include the chunk header."""
    if fault := chunk_fault(scheme, len(stored), unpacked_length):
        raise (FormatError if scheme in _CODECS else Unsupported)(fault, span=span)
    data = decompress(_CODECS[scheme], stored, expected=unpacked_length, span=span)
    return read_groups(data) if scheme == Scheme.BG4_LZ4 else data


def write_chunk(scheme: int, data: bytes | memoryview) -> tuple[Scheme, bytes | memoryview]:
    """Compress a chunk; return the scheme used and the stored bytes.

    The chunk is stored uncompressed if the scheme does not make it smaller, or does not restore it exactly.
    """
    if len(data) > MAX_UNPACKED:
        raise FormatError(f"the chunk has {len(data):,} bytes; the limit is {MAX_UNPACKED:,}")
    if scheme not in _CODECS:
        raise Unsupported(f"unknown compression scheme {scheme}")
    if scheme != Scheme.NONE:
        import lz4.frame  # imported here, because it is slow and only needed for writing

        plain = write_groups(data) if scheme == Scheme.BG4_LZ4 else data
        # As in the reference client: independent blocks, no checksums, no content size.
        size = lz4.frame.BLOCKSIZE_MAX64KB if len(data) <= 65_536 else lz4.frame.BLOCKSIZE_MAX256KB
        stored: bytes = lz4.frame.compress(plain, block_size=size, block_linked=False, store_size=False)
        if len(stored) < len(data) and lz4.frame.decompress(stored) == plain:
            return Scheme(scheme), stored
    return Scheme.NONE, data


def read_groups(grouped: bytes) -> bytes:
    """Undo byte grouping: `00 04 08 01 05 09 02 06 03 07` becomes `00` to `09`."""
    packed = np.frombuffer(grouped, dtype=np.uint8)
    data = np.empty_like(packed)
    start = 0
    for first in range(GROUPS):
        places = data[first::GROUPS]
        places[:] = packed[start : start + len(places)]
        start += len(places)
    return data.tobytes()


def write_groups(data: bytes | memoryview) -> bytes:
    """Group bytes by their offset modulo 4: 0, then 1, 2 and 3."""
    if extension.native is None:
        plain = np.frombuffer(data, np.uint8)
        return np.concatenate([plain[first::GROUPS] for first in range(GROUPS)]).tobytes()
    grouped: bytes = extension.native.group(data)
    return grouped
