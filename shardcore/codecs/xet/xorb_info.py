"""Info block of a xorb: reading, writing and validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import HashArray
from shardcore.codecs.xet.xorb_layout import (
    BOUNDARIES_HEADER,
    BUFFER,
    CHUNK_HASH,
    COUNT,
    HASHES_HEADER,
    HEADER_SIZE,
    IDENT,
    INFO_HEADER,
    INFO_LENGTH,
    MAX_STORED,
    MAX_UNPACKED,
    STORED_END,
    TRAILER,
    UNPACKED_END,
)
from shardcore.errors import FormatError, Unsupported
from shardcore.model.number_text import plural
from shardcore.model.record import Record
from shardcore.model.span import Span

FIXED = {
    0: INFO_HEADER.size + COUNT.size + BUFFER.size,
    1: INFO_HEADER.size + HASHES_HEADER.size + BOUNDARIES_HEADER.size + TRAILER.size,
}
"""Size of an info block without its lists, by version, in bytes."""

PER_CHUNK = {0: STORED_END.size + CHUNK_HASH.size, 1: CHUNK_HASH.size + STORED_END.size + UNPACKED_END.size}
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
    lists = {"chunk hashes": CHUNK_HASH, "stored ends": STORED_END, "unpacked ends": UNPACKED_END}
    fixed = {
        "header": INFO_HEADER,
        "count": COUNT,
        "hashes": HASHES_HEADER,
        "boundaries": BOUNDARIES_HEADER,
        "trailer": TRAILER,
        "buffer": BUFFER,
    }
    order = (
        ("header", "count", "stored ends", "chunk hashes", "buffer")
        if version == 0
        else ("header", "hashes", "chunk hashes", "boundaries", "stored ends", "unpacked ends", "trailer")
    )
    parts, at = [], 0
    for name in order:
        part = InfoPart(name, lists[name], at, count, True) if name in lists else InfoPart(name, fixed[name], at)
        parts.append(part)
        at = part.stop
    return tuple(parts)


@dataclass(frozen=True)
class XorbInfo:
    """Fields of the info block.

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
    """Parse the info block at offset `start`, the end of the chunk records; `data` ends before the length after it.

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
            _check_part(part, part.record.values(rows[0]), count, span, len(data))
            values |= part.record.values(rows[0])
    ends = lists["stored ends"].astype(np.int64)
    unpacked = lists["unpacked ends"].astype(np.int64) if version else None
    _check_ends(ends, start, place)
    if unpacked is not None and (np.diff(unpacked, prepend=0) > MAX_UNPACKED).any():
        raise FormatError(
            f"according to the unpacked ends, a chunk has more than {MAX_UNPACKED:,} uncompressed bytes", span=place
        )
    if unpacked is not None and (np.diff(unpacked, prepend=0) < 0).any():
        raise FormatError("the unpacked ends must ascend", span=place)
    return XorbInfo(version, header["cas_hash"], lists["chunk hashes"], ends, unpacked, values["_buffer"])


def _check_part(part: InfoPart, values: dict[str, Any], count: int, place: Span, length: int) -> None:
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
    if part.record is TRAILER:
        wanted = {"hashes_section_offset_from_end": length - INFO_HEADER.size}
        wanted["boundary_section_offset_from_end"] = TRAILER.size + BOUNDARIES_HEADER.size + 8 * count
        for name, distance in wanted.items():
            if values[name] != distance:
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
    count = info.count
    length = FIXED[info.version] + PER_CHUNK[info.version] * count
    fixed = {
        "header": INFO_HEADER.pack(version=info.version, cas_hash=info.cas_hash),
        "count": COUNT.pack(num_chunks=count),
        "hashes": HASHES_HEADER.pack(num_chunks=count),
        "boundaries": BOUNDARIES_HEADER.pack(num_chunks=count),
        "trailer": TRAILER.pack(
            num_chunks=count,
            hashes_section_offset_from_end=length - INFO_HEADER.size,
            boundary_section_offset_from_end=TRAILER.size + BOUNDARIES_HEADER.size + 8 * count,
            _buffer=info.nonce,
        ),
        "buffer": BUFFER.pack(_buffer=info.nonce),
    }
    unpacked = np.zeros(0, np.int64) if info.unpacked_ends is None else info.unpacked_ends
    lists = {
        "chunk hashes": info.hashes.tobytes(),
        "stored ends": info.ends.astype("<u4").tobytes(),
        "unpacked ends": unpacked.astype("<u4").tobytes(),
    }
    parts = info_parts(info.version, count)
    return b"".join((fixed | lists)[part.name] for part in parts) + INFO_LENGTH.pack(info_length=length)
