"""The info block and the headers of chunk records."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from shardcore.codecs.xet import xorb_layout
from shardcore.codecs.xet.hashes import as_rows, chunk_hash
from shardcore.codecs.xet.xorb_layout import (
    CHUNK_HEADER,
    INFO_LENGTH,
    MAX_STORED,
    MAX_UNPACKED,
    XorbInfo,
    read_info,
    write_info,
)
from shardcore.errors import FormatError, Unsupported

DATA = Path(__file__).parents[3] / "data"
PAIR = (DATA / "xorb" / "two_chunks.xorb").read_bytes()
START = 23
BLOCK = PAIR[START:-4]


def test_the_published_vector_byte_by_byte() -> None:
    assert hashlib.sha256(PAIR).hexdigest() == "6e5e1c96d2d650a97a9f7e2845d1f6f0ff45667719c4e2f0a2d3b7126700a74b"
    rows = (
        "00 030000 00 030000 616263",  # version, stored length, scheme, unpacked length, abc
        "00 040000 00 040000 64656667",  # the same for defg
        "58455442 4c4f42 01",  # XETBLOB, version 1
    )
    assert PAIR.startswith(bytes.fromhex("".join(rows)))
    tail = (
        "0b000000 17000000",  # stored ends 11, 23
        "03000000 07000000",  # unpacked ends 3, 7
        "02000000 84000000 38000000",  # two chunks, distances 132 and 56
        "00" * 16,
        "ac000000",  # length 172
    )
    assert PAIR.endswith(bytes.fromhex("".join(tail)))


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_info_block_both_ways(version: int, count: int) -> None:
    hashes = as_rows([chunk_hash(bytes([n])) for n in range(count)])
    ends = np.arange(1, count + 1, dtype=np.int64) * 20
    info = XorbInfo(version, chunk_hash(b"x"), hashes, ends, ends - 5 if version else None, b"nonce" + bytes(11))
    data = write_info(info)
    again = read_info(data[:-4], 20 * count)
    assert write_info(again) == data
    assert INFO_LENGTH.read_one(data, len(data) - 4)["info_length"] == len(data) - 4
    assert (again.nonce, again.ends.tolist()) == (info.nonce, info.ends.tolist())


@pytest.mark.parametrize("name", ["6832559c", "6d9a4f42"])
def test_info_blocks_of_the_reference(name: str) -> None:
    data = next((DATA / "mdb" / "cas" / "xorbs").glob(f"default.{name}*")).read_bytes()
    start = len(data) - 4 - int.from_bytes(data[-4:], "little")
    assert write_info(read_info(data[start:-4], start)) == data[start:]


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        (0, b"Y", "does not begin with XETBLOB"),
        (40, b"Y", "hashes: does not begin with b'XBLBHSH'"),
        (48, b"\x03", "hashes: num_chunks is 3, but the length of the info block gives 2"),
        (116, b"Y", "boundaries: does not begin with b'XBLBBND'"),
        (124, b"\x01", "boundaries: num_chunks is 1, but the length of the info block gives 2"),
        (128, b"\x05", "stored ends"),
        (132, b"\x18", "the last stored end is 0x18"),
        (136, b"\x09", "unpacked ends do not ascend"),
        (144, b"\x09", "trailer: num_chunks is 9, but the length of the info block gives 2"),
        (148, b"\x09", "hashes_section_offset_from_end is 9; it must be 132"),
        (152, b"\x09", "boundary_section_offset_from_end is 9; it must be 56"),
    ],
)
def test_what_is_wrong_is_named(at: int, value: bytes, words: str) -> None:
    data = bytearray(BLOCK)
    data[at : at + 1] = value
    with pytest.raises(FormatError, match=words) as caught:
        read_info(bytes(data), START)
    assert caught.value.span is not None


def test_versions_and_lengths() -> None:
    with pytest.raises(Unsupported, match="version 7"):
        read_info(BLOCK[:7] + b"\x07" + BLOCK[8:], START)
    with pytest.raises(FormatError, match="cannot have 171 bytes"):
        read_info(BLOCK[:-1], START)


def test_24_bit_numbers() -> None:
    raw = xorb_layout.chunk_headers([0], [0x010203], [131072]).tobytes()
    assert raw == b"\0\x03\x02\x01\0\0\0\x02"
    assert xorb_layout.read_u24(raw[5:]) == 131072


@pytest.mark.parametrize(
    ("version", "scheme", "stored", "unpacked", "fault"),
    [
        (0, 1, 5, 9, ""),
        (1, 1, 5, 9, "record version 1"),
        (0, 3, 5, 9, "scheme 3"),
        (0, 1, MAX_STORED + 1, 9, "the limits are 131,072 and 262,144"),
        (0, 1, 5, MAX_UNPACKED + 1, "the limits are 131,072 and 262,144"),
        (0, 1, 6, 9, "declares 6 stored bytes; the ends in the info block give 5"),
        (0, 1, 5, 8, "declares 8 uncompressed bytes; the info block declares 9"),
    ],
)
def test_one_header_and_many_are_judged_alike(
    version: int, scheme: int, stored: int, unpacked: int, fault: str
) -> None:
    """Both ways of checking find the same headers invalid."""
    raw = bytes([version]) + xorb_layout.chunk_headers([scheme], [stored], [unpacked]).tobytes()[1:]
    known = MAX_STORED + 1 if stored > MAX_STORED else 5
    size = unpacked if unpacked > MAX_UNPACKED else 9
    found = xorb_layout.header_fault(CHUNK_HEADER.read_one(raw), known, size)
    assert (fault in found, bool(found)) == (True, bool(fault))
    many = xorb_layout.header_faults(CHUNK_HEADER.read(raw), np.array([8 + known]), np.array([size]))
    assert many.tolist() == [bool(fault)]
