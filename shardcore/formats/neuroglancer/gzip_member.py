"""Reproducible gzip members: equal content always gives equal bytes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable

HEAD = bytes.fromhex("1f8b08000000000000ff")
"""Gzip header without name, time and system."""
LEVEL = 6
WHOLE = 1 << 20
"""Size in bytes up to which content is compressed at once, with a window of its size."""
_LOOKAHEAD = 262
"""Bytes of the window to which deflate cannot refer."""
_trailer = struct.Struct("<II").pack


def gzip_member(data: bytes) -> bytes:
    """Compress up to `WHOLE` bytes of content into a gzip member. A small window makes small values much faster."""
    size = len(data)
    window = min(max((size + _LOOKAHEAD).bit_length(), 9), 15)
    engine = zlib.compressobj(LEVEL, zlib.DEFLATED, -window, min(window - 6, 8))
    return b"".join((HEAD, engine.compress(data), engine.flush(), _trailer(zlib.crc32(data), size)))


def gzip_stream(pieces: Iterable[bytes | bytearray | memoryview], write: Callable[[bytes], None]) -> int:
    engine = zlib.compressobj(LEVEL, zlib.DEFLATED, -15, 8)
    size, check = 0, 0
    write(HEAD)
    for piece in pieces:
        size += len(piece)
        check = zlib.crc32(piece, check)
        write(engine.compress(piece))
    write(engine.flush() + _trailer(check, size & 0xFFFFFFFF))
    return size
