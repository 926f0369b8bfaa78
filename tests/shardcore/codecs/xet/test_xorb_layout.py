"""The rules on chunk records: numbers of 24 bits, and what a header may say."""

from __future__ import annotations

import numpy as np
import pytest

from shardcore.codecs.xet.xorb_layout import (
    CHUNK_HEADER,
    MAX_STORED,
    MAX_UNPACKED,
    header_fault,
    header_faults,
    read_u24,
    write_u24,
)


def test_24_bit_numbers() -> None:
    assert write_u24(0x010203) == b"\x03\x02\x01"
    assert read_u24(write_u24(131072)) == 131072


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
    sizes = {"compressed_size": write_u24(stored), "uncompressed_size": write_u24(unpacked)}
    raw = CHUNK_HEADER.pack(version=version, compression_type=scheme, **sizes)
    known = MAX_STORED + 1 if stored > MAX_STORED else 5
    size = unpacked if unpacked > MAX_UNPACKED else 9
    found = header_fault(CHUNK_HEADER.read_one(raw), known, size)
    assert fault in found
    assert bool(found) == bool(fault)
    many = header_faults(CHUNK_HEADER.read(raw), np.array([8 + known]), np.array([size]))
    assert many.tolist() == [bool(fault)]
