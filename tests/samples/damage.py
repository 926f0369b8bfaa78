"""Changes by hand that damage a sample."""

from __future__ import annotations


def flipped(data: bytes, at: int, bit: int) -> bytes:
    """The bytes with one bit of the byte at `at` turned over; bit 0 is the lowest."""
    found = bytearray(data)
    found[at] ^= 1 << bit
    return bytes(found)


def overwritten(data: bytes, at: int, old: bytes, new: bytes) -> bytes:
    """The bytes with those at `at`, which have to be `old`, replaced by as many others."""
    assert data[at : at + len(old)] == old
    assert len(old) == len(new)
    return data[:at] + new + data[at + len(old) :]
