"""Compresses and decompresses gzip members in one call with libdeflate; zlib compresses tiny members and streams."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable

AT_ONCE = 1 << 24  # maximum uncompressed bytes of a member that libdeflate compresses or decompresses
DEFLATE_RATIO = 1032  # maximum compression ratio of deflate
HEAD = bytes.fromhex("1f8b08000000000000ff")  # without name, time and system
LEAST = 1 << 8  # bytes of content below which zlib, with a small window, is faster than libdeflate
_CHECKED_HEADER = 2  # flag of a header with its own checksum, which libdeflate skips
_LOOKAHEAD = 262  # bytes of the window to which deflate cannot refer
_trailer = struct.Struct("<II")


def gzip_member(data: bytes) -> bytes:
    """Compress up to `AT_ONCE` bytes into a gzip member. Equal bytes give equal members on every processor."""
    size = len(data)
    if size >= LEAST:
        import deflate

        return bytes(deflate.gzip_compress(data, 5))
    parts: list[bytes] = []
    gzip_stream((data,), parts.append, (size + _LOOKAHEAD).bit_length())
    return b"".join(parts)


def gzip_stream(
    pieces: Iterable[bytes | bytearray | memoryview], write: Callable[[bytes], None], window: int = 15
) -> int:
    """Compress content of any size into one member, with a window of `2**window` bytes; return the content size."""
    engine = zlib.compressobj(6, zlib.DEFLATED, -window, min(window - 6, 8))
    size, check = 0, 0
    write(HEAD)
    for piece in pieces:
        size += len(piece)
        check = zlib.crc32(piece, check)
        write(engine.compress(piece))
    write(engine.flush() + _trailer.pack(check, size & 0xFFFFFFFF))
    return size


def intact_content(member: bytes, limit: int) -> bytearray | None:
    """Decompress `member`; None if it may not be exactly one intact member, or has over `limit` or `AT_ONCE` bytes."""
    # Callers then use zlib: libdeflate neither reports what is wrong and where, nor returns the bytes before it.
    if len(member) <= len(HEAD) + _trailer.size or member[3] & _CHECKED_HEADER:
        return None
    trailer = member[-_trailer.size :]
    check, size = _trailer.unpack(trailer)
    # The declared size is allocated only if the stored bytes can expand to it.
    if not 0 < size <= min(limit, AT_ONCE, DEFLATE_RATIO * len(member)):
        return None
    import deflate

    try:
        content: bytearray = deflate.gzip_decompress(member, size)
    except deflate.DeflateError:
        return None
    # libdeflate ignores trailing bytes. There are none if the trailer of this content occurs only at the end.
    fits = len(content) == size and deflate.crc32(content) == check and member.rfind(trailer, len(HEAD), -1) < 0
    return content if fits else None
