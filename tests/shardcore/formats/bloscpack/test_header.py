from __future__ import annotations

import struct

import pytest

from shardcore.errors import BadMagic, FormatError, LimitExceeded, ShardError, Truncated, Unsupported
from shardcore.formats.bloscpack.blosc1 import ChunkHeader, map_chunk, read_chunk_header, write_chunk_header
from shardcore.formats.bloscpack.layout import header_record, read_header
from shardcore.model.span import Span
from tests.shardcore.formats.bloscpack.chunks import BYTE, make_chunk, sample

# The header of the worked example, byte by byte.
TINY = bytes.fromhex(
    "626c706b 03 01 02 01"  # magic, format_version, options, checksum, typesize
    "04000000 03000000"  # chunk_size, last_chunk
    "0300000000000000"  # nchunks
    "0100000000000000"  # max_app_chunks
)


def header(version: int = 3, **fields: int) -> bytes:
    values = {"options": 1, "checksum": 1, "typesize": 8, "chunk_size": 100, "last_chunk": 50, "nchunks": 3}
    numbers = list((values | {"max_app_chunks": 0} | fields).values())
    return struct.pack("<4s4Bii", b"blpk", version, *numbers[:5]) + struct.pack(
        "<2Q", *(n % 2**64 for n in numbers[5:])
    )


def test_version_3_from_written_out_bytes() -> None:
    got = read_header(TINY)
    assert (got.version, got.options, got.checksum.name, got.typesize) == (3, 1, "crc32", 1)
    assert (got.chunk_size, got.last_chunk, got.nchunks, got.max_app_chunks) == (4, 3, 3, 1)
    assert (got.size, got.slots, got.has_offsets, got.has_metadata, got.plain_size) == (32, 4, True, False, 11)
    assert got.record.pack(**got.values) == TINY


def test_version_1_has_16_bytes_and_knows_only_a_count() -> None:
    data = bytes.fromhex("626c706b 01 aabbcc 0500000000000000")
    got = read_header(data)
    assert (got.version, got.size, got.nchunks, got.slots) == (1, 16, 5, 0)
    assert (got.chunk_size, got.last_chunk, got.plain_size, got.checksum.size) == (-1, -1, -1, 0)
    assert got.record.pack(**got.values) == data


def test_version_2_has_no_spare_slots() -> None:
    got = read_header(header(2, max_app_chunks=77))
    assert (got.version, got.max_app_chunks, got.slots) == (2, 0, 3)
    assert got.record.pack(**got.values) == header(2, max_app_chunks=77)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"options": 4}, (5, 6)),
        ({"version": 2, "options": 2}, (5, 6)),
        ({"checksum": 9}, (6, 7)),
        ({"chunk_size": -2}, (8, 12)),
        ({"chunk_size": 2**31 - 1}, (8, 12)),
        ({"last_chunk": -2}, (12, 16)),
        ({"last_chunk": 101}, (12, 16)),
        ({"nchunks": -2}, (16, 24)),
        ({"max_app_chunks": -1}, (24, 32)),
        ({"nchunks": -1, "max_app_chunks": 1}, (24, 32)),
        ({"nchunks": 2**62, "max_app_chunks": 2**62}, (24, 32)),
    ],
)
def test_impossible_fields_are_refused_at_their_place(fields: dict[str, int], place: tuple[int, int]) -> None:
    with pytest.raises(FormatError) as caught:
        read_header(header(**fields))
    assert caught.value.span == Span("", *place)


def test_other_headers_are_refused() -> None:
    for length in range(4, 32):
        with pytest.raises(Truncated):
            read_header(TINY[:length])
    for version in (0, 4, 9, 255):
        with pytest.raises(Unsupported, match=f"version {version} is not supported") as caught:
            read_header(header(version))
        assert caught.value.span == Span("", 4, 5)
    for data in (b"", b"b", b"blp", b"blpx\x03", b"BLPK\x03", bytes(32)):
        with pytest.raises((BadMagic, Truncated)):
            header_record(data)


def test_plain_size() -> None:
    most = {"nchunks": 2**40, "chunk_size": 2**31 - 17, "last_chunk": 1, "options": 0}
    for fields, size in (
        *(
            ({}, 250),
            ({"nchunks": 0}, 0),
            ({"nchunks": 1, "chunk_size": -1}, 50),
            (most, (2**31 - 17) * (2**40 - 1) + 1),
        ),
        *(({name: -1}, -1) for name in ("chunk_size", "last_chunk", "nchunks")),
    ):
        assert read_header(header(**fields)).plain_size == size


def test_slots_are_compared_with_the_file_first() -> None:
    read_header(header(nchunks=3)).check_slots(32, 56)
    for count, size in ((2**60, 1000), (3, 55)):
        with pytest.raises(Truncated, match=f"{count:,} chunks and 0 spare slots"):
            read_header(header(nchunks=count)).check_slots(32, size)


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
    assert (header, write_chunk_header(header)) == (ChunkHeader(2, 1, 0x33, 1, 4, 4, 20), HELL[:16])


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        *(({"version": version}, Unsupported, f"version {version}") for version in (0, 3, 5)),
        ({"versionlz": 2}, FormatError, "versionlz is 2"),
        ({"flags": 0x75}, Unsupported, "Blosc-2"),
        ({"flags": 0x78}, FormatError, "0x08"),
        ({"flags": 0x50}, Unsupported, "snappy"),
        ({"flags": 0xB0}, Unsupported, "codec 5"),
        ({"flags": 0x72}, FormatError, "a memcpy of 5,000 bytes has 5,016 with its Blosc header; ctbytes is 4,510"),
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
    assert caught.value.span.start >= 100


def test_a_cut_chunk_is_refused_at_every_length() -> None:
    chunk = make_chunk(sample(3000), how=BYTE, typesize=4, blocksize=600, split=True)
    for length in range(len(chunk)):
        with pytest.raises(Truncated):
            map_chunk(chunk[:length])
    with pytest.raises(FormatError, match="were given"):
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
    chunk = make_chunk(bytes(1024), how=BYTE, typesize=2, blocksize=1024, split=True)
    last = int(map_chunk(chunk).stream_at[0, 1])
    cut = changed(chunk, ctbytes=last + 2)[: last + 2]
    with pytest.raises(FormatError, match=r"stream 1.*ends within the length of the stream"):
        map_chunk(cut)


def test_splits_that_leave_bytes_over_are_refused() -> None:
    chunk = make_chunk(sample(3000), typesize=3, blocksize=600, split=True)
    with pytest.raises(FormatError, match="cannot be split"):
        map_chunk(changed(chunk, blocksize=601))
