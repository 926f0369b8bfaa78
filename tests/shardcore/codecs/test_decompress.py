"""Promises of bounded decompression."""

from __future__ import annotations

import gzip
import hashlib
import random
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import lz4.frame
import pytest
import zstandard

from shardcore.codecs.decompress import CODECS, decompress, decompress_many, decompress_stream
from shardcore.codecs.gzip import gzip_member, intact_content
from shardcore.errors import BadChecksum, FormatError, LimitExceeded, ShardError, Truncated, Unsupported
from shardcore.model.span import Span

PLACE = Span("", 100, 200)
TEXT = b"The quick brown fox jumps over the lazy dog. " * 40


PACK = {
    "zstd": lambda data: zstandard.ZstdCompressor(level=3, write_checksum=True).compress(data),
    "lz4": lambda data: bytes(lz4.frame.compress(data, content_checksum=True)),
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zlib": zlib.compress,
    "none": bytes,
}


def noise(size: int, seed: int = 7) -> bytes:
    return random.Random(seed).randbytes(size)


@contextmanager
def peak_below(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


PACKED = [codec for codec in CODECS if codec != "none"]
CONTENTS = [b"", b"x", TEXT, bytes(300_000), noise(300_000), noise(2_500_000, 8) + bytes(2_500_000)]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("content", CONTENTS, ids=len)
def test_expands(codec: str, content: bytes) -> None:
    assert decompress(codec, PACK[codec](content), limit=len(content), expected=len(content)) == content


@pytest.mark.parametrize("codec", CODECS)
def test_limits_and_declared_sizes_are_compared(codec: str) -> None:
    stored = PACK[codec](TEXT)
    with pytest.raises(LimitExceeded) as caught:
        decompress(codec, stored, limit=len(TEXT) - 1, span=PLACE)
    assert caught.value.span == PLACE
    with pytest.raises(LimitExceeded):
        decompress(codec, stored, limit=1 << 20, expected=1 << 50)
    for off in (-1, 1):
        with pytest.raises(FormatError, match="declared"):
            decompress(codec, stored, limit=1 << 20, expected=len(TEXT) + off)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_stream_cut_anywhere(codec: str, step: int) -> None:
    content = TEXT + noise(3000)
    stored = PACK[codec](content)
    chunks = [b"", *(stored[at : at + step] for at in range(0, len(stored), step)), b""]
    assert b"".join(decompress_stream(codec, chunks, limit=len(content))) == content


@pytest.mark.parametrize("codec", PACKED)
def test_bomb_is_stopped_while_it_expands(codec: str) -> None:
    stored = PACK[codec](bytes(64 << 20))
    with peak_below(8 << 20), pytest.raises(LimitExceeded):
        decompress(codec, stored, limit=1 << 20)


@pytest.mark.parametrize("codec", PACKED)
def test_every_cut_is_truncated(codec: str) -> None:
    stored = PACK[codec](TEXT)
    for stop in range(len(stored)):
        with pytest.raises(Truncated) as caught:
            decompress(codec, stored[:stop], limit=1 << 20, span=PLACE)
        assert caught.value.span == PLACE


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("tail", [b"\0", b"more than a byte", None], ids=["zero", "text", "second"])
def test_nothing_may_follow(codec: str, tail: bytes | None) -> None:
    """One payload is one frame, member or stream."""
    stored = PACK[codec](TEXT)
    tail = stored if tail is None else tail
    with pytest.raises(FormatError, match="trailing"):
        decompress(codec, stored + tail, limit=1 << 20)
    with pytest.raises(FormatError, match="trailing"):
        list(decompress_stream(codec, [stored, tail], limit=1 << 20))


@pytest.mark.parametrize("size", [0, 1, 8, 255, 256, 1000])
def test_nothing_may_follow_one_of_many_members(size: int) -> None:
    member = gzip.compress(noise(size), mtime=0)
    tails = [b"", b"\0", member[-1:], member[-4:], member[-8:], member]
    found = decompress_many("gzip", [member, *(member + tail for tail in tails)], lambda number: Span("", number, 99))
    assert found[:2] == [noise(size)] * 2
    assert all(isinstance(error, FormatError) for error in found[2:])
    assert decompress_many("gzip", [member] * 9, lambda number: Span("", number, 99)) == [noise(size)] * 9


@pytest.mark.parametrize("codec", PACKED)
def test_wrong_content_checksum(codec: str) -> None:
    stored = bytearray(PACK[codec](TEXT))
    stored[-8 if codec == "gzip" else -1] ^= 1
    with pytest.raises(BadChecksum):
        decompress(codec, bytes(stored), limit=1 << 20)


@pytest.mark.parametrize("codec", PACKED)
def test_mutations_give_only_our_errors(codec: str) -> None:
    rng = random.Random(11)
    stored = PACK[codec](TEXT + noise(200))
    for _ in range(600):
        changed = bytearray(stored)
        changed[rng.randrange(len(changed))] = rng.randrange(256)
        with suppress(ShardError):
            decompress(codec, bytes(changed), limit=1 << 16)
        if codec == "gzip" and (whole := intact_content(bytes(changed), 1 << 16)) is not None:
            assert whole == zlib.decompress(changed, 31)


def test_members_are_the_same_on_every_processor() -> None:
    # Another version of libdeflate may write others; the changelog then says so.
    members = b"".join(map(gzip_member, (*CONTENTS[2:5], TEXT + noise(3000))))
    assert hashlib.sha256(members).hexdigest()[:16] == "dae1a714e6344b28"


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_content_size_in_the_frame_is_a_claim(codec: str) -> None:
    """A frame that declares 1 TiB allocates nothing for it."""
    if codec == "zstd":  # descriptor: 8-byte content size, not single segment; 1 KiB window; empty last block
        stored = b"\x28\xb5\x2f\xfd" + b"\xc0\x00" + (1 << 40).to_bytes(8, "little") + b"\x01\0\0"
    else:
        stored = lz4.frame.LZ4FrameCompressor().begin(1 << 40) + bytes(4)
    with peak_below(4 << 20), pytest.raises(FormatError):
        decompress(codec, stored, limit=1 << 20)


@pytest.mark.parametrize(("flag", "width"), [(0x20, 1), (0x40, 2), (0x80, 4), (0xC0, 8)])
def test_wrong_content_size_in_a_zstd_frame(flag: int, width: int) -> None:
    size = 400 if width > 1 else 4
    block = (1 | 1 << 1 | size << 3).to_bytes(3, "little") + b"z"  # one last RLE block
    head = b"\x28\xb5\x2f\xfd" + bytes([flag]) + (b"" if flag == 0x20 else b"\x00")

    def stored(claimed: int) -> bytes:
        return head + (claimed - (256 if width == 2 else 0)).to_bytes(width, "little") + block

    assert decompress("zstd", stored(size), limit=1000) == b"z" * size
    with pytest.raises(FormatError):
        decompress("zstd", stored(300 if width > 1 else 3), limit=1000)
    for log in (28, 31, 41):  # windows have at most 128 MiB
        with pytest.raises(Unsupported, match="window"):
            decompress("zstd", b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([log - 10 << 3]) + b"\x01\0\0", limit=1 << 20)
