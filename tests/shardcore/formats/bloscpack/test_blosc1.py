from __future__ import annotations

import pytest

from shardcore.errors import FormatError, LimitExceeded, ShardError, Truncated, Unsupported
from shardcore.formats.bloscpack.blosc1 import ChunkHeader, map_chunk, read_chunk_header, write_chunk_header
from shardcore.model.span import Span
from tests.shardcore.formats.bloscpack.chunks import BYTE, make_chunk, sample

# "hell" of the worked example in the fact sheet, byte by byte.
HELL = bytes.fromhex(
    "02 01 33 01"  # version, versionlz, flags, typesize
    "04000000 04000000 14000000"  # nbytes, blocksize, ctbytes
    "68656c6c"  # the uncompressed bytes
)


def changed(chunk: bytes, **fields: int) -> bytes:
    header = read_chunk_header(chunk)
    values = {name: getattr(header, name) for name in ChunkHeader.__dataclass_fields__} | fields
    return write_chunk_header(ChunkHeader(**values)) + chunk[16:]


def test_header_is_read_from_written_out_bytes() -> None:
    header = read_chunk_header(HELL)
    assert header == ChunkHeader(2, 1, 0x33, 1, 4, 4, 20)
    assert write_chunk_header(header) == HELL[:16]


@pytest.mark.parametrize(
    ("typesize", "blocksize", "flags", "streams"),
    [(4, 512, 0x20, 4), (4, 511, 0x20, 1), (16, 2048, 0x20, 16), (17, 17 * 200, 0x20, 1), (4, 512, 0x30, 1)],
)
def test_number_of_streams(typesize: int, blocksize: int, flags: int, streams: int) -> None:
    """A block is split only with flag 0x10 clear, elements of at most 16 bytes and 128 of them."""
    assert ChunkHeader(2, 1, flags, typesize, 10000, blocksize, 99).streams == streams


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"version": 3}, Unsupported, "version 3"),
        ({"version": 5}, Unsupported, "version 5"),
        ({"version": 0}, Unsupported, "version 0"),
        ({"versionlz": 2}, FormatError, "versionlz is 2"),
        ({"flags": 0x75}, Unsupported, "Blosc-2"),
        ({"flags": 0x78}, FormatError, "0x08"),
        ({"flags": 0x50}, Unsupported, "snappy"),
        ({"flags": 0xB0}, Unsupported, "codec 5"),
        ({"flags": 0x72}, FormatError, "a memcpy of 5,000 bytes has 5,016 with its header; ctbytes is 4,510"),
        ({"typesize": 0}, FormatError, "typesize of the chunk is 0"),
        ({"ctbytes": 15}, FormatError, "ctbytes is 15 bytes"),
        ({"ctbytes": 2**31}, Truncated, "2,147,483,648 bytes"),
        ({"blocksize": 0}, FormatError, "blocksize is 0"),
        ({"blocksize": 5001}, FormatError, "blocksize is 5001"),
        ({"nbytes": 2**31 - 17, "blocksize": 2**31 - 17}, LimitExceeded, "limit"),
        ({"nbytes": 10**9}, FormatError, "too few for 1,000,000 block starts"),
        ({"nbytes": 10**9, "blocksize": 10**9}, FormatError, "cannot hold"),
    ],
)
def test_impossible_header_is_refused(fields: dict[str, int], error: type[ShardError], words: str) -> None:
    chunk = changed(make_chunk(sample(5000)), **fields)
    place = Span("", 100, 100 + len(chunk))
    with pytest.raises(error, match=words) as caught:
        map_chunk(chunk, place=place)
    assert caught.value.span is not None
    assert caught.value.span.start >= 100


def test_a_cut_chunk_is_refused_at_every_length() -> None:
    chunk = make_chunk(sample(3000), how=BYTE, typesize=4, blocksize=600, split=True)
    for length in range(len(chunk)):
        with pytest.raises(Truncated):
            map_chunk(chunk[:length])
    with pytest.raises(FormatError, match="bytes given"):
        map_chunk(chunk + b"x")


@pytest.mark.parametrize("start", [0, 15, 27, -1, 10**6, 2**31 - 1])
def test_a_block_start_outside_is_refused_at_its_slot(start: int) -> None:
    chunk = bytearray(make_chunk(sample(3000), blocksize=1000))
    chunk[20:24] = (start & 0xFFFFFFFF).to_bytes(4, "little")
    with pytest.raises(FormatError, match=r"block 1 begins at byte .* of the chunk, outside 0x1c to 0xa94") as caught:
        map_chunk(bytes(chunk), place=Span("", 1000, 1000 + len(chunk)))
    assert caught.value.span == Span("", 1020, 1024)


@pytest.mark.parametrize("length", [0, -1, 1001, 2**31 - 1, -(2**31)])
def test_a_stream_length_that_leads_outside_is_refused(length: int) -> None:
    chunk = bytearray(make_chunk(sample(3000), blocksize=1000))
    at = int(map_chunk(bytes(chunk)).stream_at[1, 0])
    chunk[at : at + 4] = (length & 0xFFFFFFFF).to_bytes(4, "little")
    with pytest.raises(FormatError, match="block 1, stream 0"):
        map_chunk(bytes(chunk))


def test_streams_that_run_past_the_end_are_refused() -> None:
    plain = bytes(1024)
    chunk = make_chunk(plain, how=BYTE, typesize=2, blocksize=1024, split=True)
    found = map_chunk(chunk)
    last = int(found.stream_at[0, 1])
    cut = changed(chunk, ctbytes=last + 2)[: last + 2]
    with pytest.raises(FormatError, match=r"stream 1.*ends within the length of the stream"):
        map_chunk(cut)


def test_splits_that_leave_bytes_over_are_refused() -> None:
    chunk = make_chunk(sample(3000), typesize=3, blocksize=600, split=True)
    with pytest.raises(FormatError, match="cannot be split"):
        map_chunk(changed(chunk, blocksize=601))
