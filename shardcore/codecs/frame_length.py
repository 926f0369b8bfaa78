"""Finding the end of compressed frames from their block headers, without decompressing.

gzip stores no lengths, so a member is decompressed to its end, and the output is discarded.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from shardcore.model.budget import charge_expanded

GZIP_MAGIC = b"\x1f\x8b\x08"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LZ4_MAGIC = b"\x04\x22\x4d\x18"

Read = Callable[[int, int], bytes]
"""Function that returns the bytes `[start, stop)`."""

_ZSTD_BLOCK = 1 << 17
_LZ4_SIZES = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
_FEED = 1 << 18
MOST_BLOCKS = 1 << 20
"""Maximum number of blocks per frame, because a hostile frame may have any number of empty blocks."""


def zstd_end(read: Read, start: int, stop: int, most: int = MOST_BLOCKS) -> int | None:
    """Return the end of the zstd frame at `start`; None if it is invalid, exceeds `stop`, or has over `most` blocks."""
    head = read(start, min(start + 18, stop))
    if len(head) < 6 or head[:4] != ZSTD_MAGIC:
        return None
    descriptor = head[4]
    if descriptor & 0x08:
        return None  # a reserved bit
    single = bool(descriptor & 0x20)
    content = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    at = start + 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3] + content
    while at + 3 <= stop and most > 0:
        most -= 1
        block = int.from_bytes(read(at, at + 3), "little")
        kind, size = block >> 1 & 3, block >> 3
        if kind == 3 or size > _ZSTD_BLOCK:
            return None
        at += 3 + (1 if kind == 1 else size)
        if block & 1:
            at += 4 if descriptor & 4 else 0
            return at if at <= stop else None
    return None


def lz4_end(read: Read, start: int, stop: int, most: int = MOST_BLOCKS) -> int | None:
    """Return the end of the LZ4 frame at `start`; None as in `zstd_end`."""
    head = read(start, min(start + 7, stop))
    if len(head) < 7 or head[:4] != LZ4_MAGIC:
        return None
    flags, largest = head[4], _LZ4_SIZES.get(head[5] >> 4 & 7)
    if flags >> 6 != 1 or flags & 2 or largest is None or head[5] & 0x8F:
        return None
    at = start + 6 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0) + 1
    while at + 4 <= stop and most > 0:
        most -= 1
        size = int.from_bytes(read(at, at + 4), "little")
        at += 4
        if not size:
            at += 4 if flags & 4 else 0
            return at if at <= stop else None
        size &= 0x7FFFFFFF
        if size > largest:
            return None
        at += size + (4 if flags & 16 else 0)
    return None


def gzip_end(read: Read, start: int, stop: int, limit: int) -> tuple[int, int] | None:
    """Return the end of the gzip member at `start` and its uncompressed size; None if damaged or above `limit`."""
    engine = zlib.decompressobj(31)
    plain, at, feed = 0, start, 1 << 9  # a small first read, because most candidates are not members
    while at < stop:
        chunk = read(at, min(at + feed, stop))
        at, feed = at + len(chunk), min(feed * 8, _FEED)
        data = chunk
        while data:
            try:
                size = len(engine.decompress(data, 1 << 20))
            except zlib.error:
                return None
            charge_expanded(size)
            plain += size
            if plain > limit:
                return None
            if engine.eof:
                return at - len(engine.unused_data), plain
            data = engine.unconsumed_tail
    return None
