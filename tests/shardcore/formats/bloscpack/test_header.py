from __future__ import annotations

import struct

import pytest

from shardcore.errors import BadMagic, FormatError, Truncated, Unsupported
from shardcore.formats.bloscpack.header import check_slots, header_size, read_header, write_header
from shardcore.model.span import Span

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
    assert write_header(got) == TINY


def test_version_1_has_16_bytes_and_knows_only_a_count() -> None:
    data = bytes.fromhex("626c706b 01 aabbcc 0500000000000000")
    got = read_header(data)
    assert (got.version, got.size, got.nchunks, got.slots) == (1, 16, 5, 0)
    assert (got.chunk_size, got.last_chunk, got.plain_size, got.checksum.size) == (-1, -1, -1, 0)
    assert write_header(got) == data


def test_version_2_has_no_spare_slots() -> None:
    got = read_header(header(2, max_app_chunks=77))
    assert (got.version, got.max_app_chunks, got.slots) == (2, 0, 3)
    assert write_header(got) == header(2, max_app_chunks=77)


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
            header_size(data)


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ({}, 250),
        ({"nchunks": 0}, 0),
        ({"nchunks": 1, "chunk_size": -1}, 50),
        ({"chunk_size": -1}, -1),
        ({"last_chunk": -1}, -1),
        ({"nchunks": -1}, -1),
        ({"nchunks": 2**40, "chunk_size": 2**31 - 17, "last_chunk": 1, "options": 0}, (2**31 - 17) * (2**40 - 1) + 1),
    ],
)
def test_plain_size(fields: dict[str, int], size: int) -> None:
    assert read_header(header(**fields)).plain_size == size


def test_slots_are_compared_with_the_file_first() -> None:
    check_slots(read_header(header(nchunks=3)), 32, 56)
    for count, size in ((2**60, 1000), (3, 55)):
        with pytest.raises(Truncated, match=f"{count:,} chunks and 0 spare slots"):
            check_slots(read_header(header(nchunks=count)), 32, size)
