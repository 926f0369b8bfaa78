"""Decompression with limits on output size and memory.

Output is produced and counted in pieces, and declared sizes are never allocated: those in zstd and LZ4 headers and gzip
trailers may be wrong. A payload is exactly one frame, member or stream; trailing bytes are an error. The end of a frame
is found from its block headers, without decompressing; gzip stores no lengths.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from io import SEEK_END, BytesIO
from itertools import chain, repeat
from typing import IO, Any, Literal, cast, get_args

from shardcore.codecs.gzip import HEAD, LEAST, intact_content
from shardcore.errors import BadChecksum, BadMagic, FormatError, LimitExceeded, ShardError, Truncated, Unsupported
from shardcore.model.budget import charge_expanded
from shardcore.model.span import Span
from shardcore.model.text import plural

Codec = Literal["none", "zstd", "lz4", "gzip", "zlib"]
"""Codecs: `lz4` is an LZ4 frame, `gzip` a single member, `zlib` an RFC 1950 stream."""

CODECS: tuple[Codec, ...] = get_args(Codec)

DEFAULT_LIMIT = 1 << 30
"""Default maximum size of a decoded object, in bytes: 1 GiB."""

SHOWN_LIMIT = 1 << 25
"""Maximum decompressed size of content that is displayed as a separate source, in bytes: 32 MiB."""

MAX_WINDOW = 1 << 27
"""Largest zstd window: 128 MiB, allocated by the decoder per frame."""

SMALL = 1 << 15
"""Maximum size of payloads that are decompressed in bulk, in bytes."""

Data = bytes | bytearray | memoryview

_FEED = 1 << 18  # input passed to a decompressor per call; decompressors copy unused input
_FIRST_PIECE = 1 << 16  # the first output buffer is small, because most objects are
_GATHERED = 1 << 22  # bytes of chunks that are joined, to decompress them at once
_WBITS = {"gzip": 31, "zlib": 15}
_PIECE = 1 << 20

GZIP_MAGIC = b"\x1f\x8b\x08"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
LZ4_MAGIC = b"\x04\x22\x4d\x18"


def decompress(
    codec: Codec | str,
    data: Data,
    *,
    limit: int = DEFAULT_LIMIT,
    expected: int | None = None,
    span: Span | None = None,
) -> bytes:
    """Decompress a payload of exactly one frame, member or stream; to at most `limit` bytes, or exactly `expected`.

    Raises:
        LimitExceeded: The result is larger than `limit`, or declared to be.
        Truncated: The payload ends early.
        FormatError: The payload is corrupt or has trailing bytes, or the result does not have `expected` bytes.
    """
    content = intact_content(bytes(data), limit) if codec == "gzip" else None
    if content is not None and expected in (None, len(content)):
        charge_expanded(len(content))
        return bytes(content)
    pieces = decompress_stream(codec, _slices(data), limit=limit, expected=expected, span=span)
    # Joining a list of pieces would need twice the memory; a single piece is not copied.
    whole = BytesIO(next(pieces, b""))
    whole.seek(0, SEEK_END)
    whole.writelines(pieces)
    return whole.getvalue()


def decompress_shown(codec: Codec | str, data: Data, *, expected: int | None = None, span: Span | None = None) -> bytes:
    """Decompress bytes for display as a separate source in memory; raise LimitExceeded above `SHOWN_LIMIT`."""
    try:
        return decompress(codec, data, limit=SHOWN_LIMIT, expected=expected, span=span)
    except LimitExceeded as error:
        more = f"decompresses to more than {SHOWN_LIMIT >> 20} MiB, too large to be shown; extract the object instead"
        raise LimitExceeded(more, span=span) from error


def decompress_many(
    codec: Codec | str, payloads: Sequence[bytes], place: Callable[[int], Span]
) -> list[bytes | ShardError]:
    """Decompress payloads; return the content of each, or its error. Small gzip members are decompressed in bulk."""
    # Short payloads need no limit: deflate expands at most `DEFLATE_RATIO` times.
    bulk = codec == "gzip" and sum(map(len, payloads)) <= min(2 * SMALL, LEAST * len(payloads))
    plain = _gzip_members(payloads) if bulk else None
    if plain:
        return plain
    found: list[bytes | ShardError] = []
    for number, data in enumerate(payloads):
        try:
            found.append(decompress(codec, data, span=place(number)))
        except (FormatError, LimitExceeded) as error:
            found.append(error)
    return found


def _gzip_members(payloads: Sequence[bytes]) -> list[bytes | ShardError] | None:
    """Decompress gzip members; return None if a payload may not be exactly one complete member."""
    try:
        contents = list(map(zlib.decompress, payloads, repeat(_WBITS["gzip"])))
    except zlib.error:
        return None
    sizes = list(map(len, contents))
    # A member ends with its size. If these 4 bytes occur only at the end, there are no trailing bytes.
    words = struct.unpack("4s" * len(sizes), struct.pack(f"<{len(sizes)}I", *sizes))
    if max(map(bytes.find, payloads, words, repeat(len(HEAD)), repeat(-1)), default=-1) >= 0:
        return None
    charge_expanded(sum(sizes))
    return cast(list[bytes | ShardError], contents)


def decompress_stream(
    codec: Codec | str,
    chunks: Iterable[Data],
    *,
    limit: int = DEFAULT_LIMIT,
    expected: int | None = None,
    span: Span | None = None,
) -> Iterator[bytes]:
    """Decompress one payload that arrives in chunks; yield pieces of at most 1 MiB.

    Completeness and checksum are checked after the last piece, so pieces yielded before an error are unverified.
    Arguments and errors are those of `decompress`.
    """
    if (expand := _ENGINES.get(codec)) is None:
        raise Unsupported(f"codec {codec!r} is not supported", span=span)
    if codec == "gzip":
        expand = partial(_expand_gzip, limit=limit if expected is None else expected)
    return _bounded(codec, expand(bytes(chunk) for chunk in chunks if len(chunk)), limit, expected, span)


def _bounded(
    codec: str, pieces: Iterator[bytes], limit: int, expected: int | None, span: Span | None
) -> Iterator[bytes]:
    """Count the output, stop at the limits, and add the span to errors."""
    if expected is not None and expected > limit:
        raise LimitExceeded(f"the declared size, {plural(expected, 'byte')}, exceeds the limit of {limit:,}", span=span)
    total = 0
    while True:
        try:
            piece = next(pieces, None)
        except _Corrupt as failure:
            raise failure.kind(f"{codec}: {failure}", span=span) from failure.__cause__
        if piece is None:
            break
        total += len(piece)
        if codec != "none":
            charge_expanded(len(piece))
        if expected is not None and total > expected:
            raise FormatError(f"{codec}: decompresses to more than the declared {plural(expected, 'byte')}", span=span)
        if total > limit:
            raise LimitExceeded(f"{codec}: decompresses to more than the limit of {plural(limit, 'byte')}", span=span)
        yield piece
    if expected is not None and total != expected:
        verb = "has" if codec == "none" else "decompresses to"
        raise FormatError(f"{codec}: {verb} {plural(total, 'byte')}; {expected:,} declared", span=span)


class _Corrupt(Exception):
    """Error of a decoder, without a span; `kind` is the class of the public error raised for it."""

    def __init__(self, message: str, kind: type[ShardError] = FormatError) -> None:
        super().__init__(message)
        self.kind = kind


def _call(engine: Callable[..., bytes], *arguments: object, raised: type[Exception] = zlib.error) -> bytes:
    try:
        return engine(*arguments)
    except (raised, RuntimeError, EOFError) as error:
        text = str(error) or type(error).__name__
        if "heck" in text and ("data check" in text or "hecksum" in text):
            raise _Corrupt(text, BadChecksum) from error
        if "too much memory" in text:
            raise _Corrupt(f"the window is larger than {plural(MAX_WINDOW, 'byte')}", Unsupported) from error
        raise _Corrupt(text) from error


def _slices(data: Data) -> Iterator[Data]:
    view = memoryview(data).cast("B") if len(data) > _FEED else data
    for start in range(0, len(data), _FEED):
        yield view[start : start + _FEED]


_TRAILING = "trailing bytes after the compressed data"
_ENDS_EARLY = "the compressed data is truncated"


def _expand_deflate(chunks: Iterator[bytes], wbits: int) -> Iterator[bytes]:
    """Decompress zlib (`wbits` 15), gzip (31) or raw deflate (-15); zlib checks the trailer."""
    # The decompressor allocates only the memory that it fills.
    return _expanded(zlib.decompressobj(wbits), chunks, repeat(_PIECE))


def _expand_gzip(chunks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    head, size = [], 0
    for chunk in chunks:
        head.append(chunk)
        size += len(chunk)
        if size > _GATHERED:
            break
    else:
        whole = intact_content(b"".join(head), limit)
        if whole is not None:
            view = memoryview(whole)
            yield from (bytes(view[at : at + _PIECE]) for at in range(0, len(view), _PIECE))
            return
    yield from _ENGINES["gzip"](chain(head, chunks))


def _expand_lz4(chunks: Iterator[bytes]) -> Iterator[bytes]:
    import lz4.frame  # imported here and below, because opening a file decompresses nothing

    sizes = chain((_FIRST_PIECE,), repeat(_PIECE))
    return _expanded(lz4.frame.LZ4FrameDecompressor(), _checked_magic(chunks, LZ4_MAGIC), sizes)


def _expanded(engine: Any, chunks: Iterator[bytes], sizes: Iterator[int]) -> Iterator[bytes]:
    """Decompress with a zlib or LZ4 decompressor; `sizes` are the maximum sizes of its outputs, one per call."""
    for chunk in chunks:
        if engine.eof:
            raise _Corrupt(_TRAILING)
        data = chunk
        while not engine.eof:
            room = next(sizes)
            piece = _call(engine.decompress, data, room)
            if piece:
                yield piece
            data = getattr(engine, "unconsumed_tail", b"")
            # All input may be consumed with output pending.
            if not data and getattr(engine, "needs_input", True) and len(piece) < room:
                break
    if not engine.eof:
        raise _Corrupt(_ENDS_EARLY, Truncated)
    if engine.unused_data:
        raise _Corrupt(_TRAILING)


def _checked_magic(chunks: Iterator[bytes], magic: bytes) -> Iterator[bytes]:
    """Yield the chunks, after checking the magic; skippable and legacy frames are rejected."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(magic):
            if not head.startswith(magic):
                raise _Corrupt(f"does not begin with {magic.hex(' ')}", BadMagic)
            yield head
            yield from chunks
            return
    raise _Corrupt(_ENDS_EARLY, Truncated)


def _expand_zstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    import zstandard

    frame = _ZstdFrame(chunks)
    engine = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(cast(IO[bytes], frame))
    sizes = chain((_FIRST_PIECE,), repeat(_PIECE))
    total = 0
    while piece := _call(engine.read, next(sizes), raised=zstandard.ZstdError):
        total += len(piece)
        yield piece
    frame.finish(total)


class _ZstdFrame:
    """File object that reads exactly one zstd frame.

    The library reports no error if its input ends early. So block headers are parsed here (RFC 8878, 3.1.1), to detect
    a truncated frame and trailing bytes.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""
        self._head = bytearray()  # bytes collected of the current frame or block header
        self._content_size: int | None = None
        self._skip = 0  # remaining bytes of the current part
        self._headers = self._parse()
        self._wanted = next(self._headers)  # size of the current header
        self._done = False

    def read(self, size: int) -> bytes:
        if self._done:
            return b""
        chunk = self._rest or next(self._chunks, b"")
        chunk, self._rest = chunk[:size], chunk[size:]
        inside = self._walk(chunk)
        if inside < len(chunk):
            self._rest = chunk[inside:] + self._rest
        return chunk[:inside]

    def finish(self, total: int) -> None:
        """Check that the frame is complete, has its declared size, and that no bytes follow.

        The library does not check the size if the last block is empty.
        """
        while not self._done and self.read(_FEED):
            pass
        if not self._done:
            raise _Corrupt(_ENDS_EARLY, Truncated)
        if self._rest or next(self._chunks, b""):
            raise _Corrupt(_TRAILING)
        if self._content_size not in (None, total):
            raise _Corrupt(f"the frame declares {plural(self._content_size, 'byte')} of content, but has {total:,}")

    def _walk(self, chunk: bytes) -> int:
        at = 0
        while at < len(chunk) and not self._done:
            if self._skip:
                step = min(self._skip, len(chunk) - at)
                self._skip -= step
            else:
                step = min(self._wanted - len(self._head), len(chunk) - at)
                self._head += chunk[at : at + step]
                if len(self._head) == self._wanted:
                    head, self._head = bytes(self._head), bytearray()
                    self._wanted = self._headers.send(head)
            at += step
            self._done = not self._wanted and not self._skip
        return at

    def _parse(self) -> Generator[int, bytes, None]:
        """Yield the size of each header; its bytes are then passed to `send`. Yield 0 after the last header."""
        head = yield 5  # magic and descriptor
        if not head.startswith(ZSTD_MAGIC):
            raise _Corrupt(f"does not begin with {ZSTD_MAGIC.hex(' ')}", BadMagic)
        descriptor, sizes = head[4], rest_of_header(head[4])
        head, width, last = (yield sum(sizes)), sizes[-1], False
        if width:
            self._content_size = int.from_bytes(head[-width:], "little") + (256 if width == 2 else 0)
        while not last:
            last, _, _, self._skip = _zstd_block((yield 3), descriptor)
        yield 0


def _zstd_block(head: bytes, descriptor: int) -> tuple[bool, int, int, int]:
    """Return (is last, type, size, number of bytes to the next header or the frame end) from a zstd block header."""
    word = int.from_bytes(head, "little")
    last, kind, size = bool(word & 1), word >> 1 & 3, word >> 3
    stored = 1 if kind == 1 else size  # an RLE block stores one byte
    return last, kind, size, stored + (descriptor & 4 if last else 0)  # bit 2 is set for a checksum of 4 bytes


def rest_of_header(descriptor: int) -> tuple[int, int, int]:
    """Return the sizes of the fields window, dictionary ID and content size of a zstd frame, in bytes."""
    single = descriptor >> 5 & 1
    return 1 - single, (0, 1, 2, 4)[descriptor & 3], (single, 2, 4, 8)[descriptor >> 6]


_ENGINES: dict[str, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    "none": iter,
    "zstd": _expand_zstd,
    "lz4": _expand_lz4,
    "gzip": partial(_expand_deflate, wbits=_WBITS["gzip"]),
    "zlib": partial(_expand_deflate, wbits=_WBITS["zlib"]),
    "deflate": partial(_expand_deflate, wbits=-15),  # raw deflate, without header and checksum, as in zip archives
}


# --- ends of frames ----------------------------------------------------------------------------------------

Read = Callable[[int, int], bytes]
"""Function that returns the bytes `[start, stop)`."""

_ZSTD_BLOCK = 1 << 17
_LZ4_SIZES = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
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
    at = start + 5 + sum(rest_of_header(descriptor))
    while at + 3 <= stop and most > 0:
        most -= 1
        last, kind, size, follows = _zstd_block(read(at, at + 3), descriptor)
        if kind == 3 or size > _ZSTD_BLOCK:
            return None
        at += 3 + follows
        if last:
            return at if at <= stop else None
    return None


def lz4_end(read: Read, start: int, stop: int, most: int = MOST_BLOCKS) -> int | None:
    """Return the end of the LZ4 frame at `start`; None if it is invalid, exceeds `stop`, or has over `most` blocks."""
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
    with suppress(FormatError):
        # A small first read, because most candidates are not members.
        return deflate_end(read, start, stop, limit, _WBITS["gzip"], 1 << 9)
    return None


def deflate_end(read: Read, start: int, stop: int, limit: int, wbits: int = -15, feed: int = _FEED) -> tuple[int, int]:
    """Return the end of deflate data at `start` and its uncompressed size; `feed` is the size of the first read.

    Raises `FormatError` if the data is damaged, has more than `limit` bytes, or exceeds `stop`.
    """
    engine, plain, at = zlib.decompressobj(wbits), 0, start

    def chunks() -> Iterator[bytes]:
        nonlocal at, feed
        while at < stop and not engine.eof:
            chunk = read(at, min(at + feed, stop))
            at, feed = at + len(chunk), min(feed * 8, _FEED)
            yield chunk

    try:
        for piece in _expanded(engine, chunks(), repeat(_PIECE)):
            charge_expanded(len(piece))
            plain += len(piece)
            if plain > limit:
                raise FormatError(f"the content of the gzip member exceeds the limit of {plural(limit, 'byte')}")
    except _Corrupt as error:
        if not engine.eof:
            fault = "truncated" if error.kind is Truncated else f"damaged: {error}"
            raise error.kind(f"the gzip member is {fault}") from error
    return at - len(engine.unused_data), plain
