"""Hostile xorbs."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from tests.hostile.making import hostile, lz4_frame, put

KEY = "03" * 32
_NAME = "0" * 64 + ".xorb"


def record(stored: bytes, scheme: int, size: int, *, says: int | None = None) -> bytes:
    """A chunk record."""
    length = len(stored) if says is None else says
    return b"\0" + length.to_bytes(3, "little") + bytes([scheme]) + size.to_bytes(3, "little") + stored


def info(count: int, ends: bytes, unpacked: bytes, *, says: int | None = None, digest: bytes = bytes(32)) -> bytes:
    """An info block of version 1, and its length."""
    number = struct.pack("<I", count if says is None else says)
    head = b"XETBLOB\x01" + digest + b"XBLBHSH\0" + number + bytes(32 * count)
    body = b"XBLBBND\x01" + number + ends + unpacked
    trailer = number + struct.pack("<II", len(body) + 12 + 28 + 32 * count, len(body) + 28) + bytes(16)
    block = head + body + trailer
    return block + struct.pack("<I", len(block))


def words(values: np.ndarray) -> bytes:
    """Numbers of 32 bits."""
    return values.astype("<u4").tobytes()


@hostile("xorb", "0", "200", KEY, "all")
def zeros(folder: Path) -> Path:
    """Ten thousand chunks that expand two hundred times."""
    import lz4.frame

    one = record(lz4.frame.compress(bytes(131_072)), 1, 131_072)
    count = 9_000_000 // len(one)
    ends = words(len(one) * np.arange(1, count + 1))
    return put(folder, _NAME, one * count, info(count, ends, words(131_072 * np.arange(1, count + 1))))


@hostile("xorb", "0", "5", "all")
def one_record(folder: Path) -> Path:
    """An info block by which two hundred thousand chunks end at the same place."""
    count = 200_000
    one = record(b"x" * 1000, 0, 1000)
    return put(folder, _NAME, one, info(count, words(np.full(count, len(one))), words(np.full(count, 1000))))


@hostile("xorb", "0", "1", "2", "3", "all")
def absurd_frames(folder: Path) -> Path:
    """LZ4 frames whose blocks, content and block sizes are absurd."""
    frames = [lz4_frame(7, 2**63, b"x"), lz4_frame(7, 2**31, b"x", stated=2**31 - 1)]
    frames += [lz4_frame(1, 1, b"x"), lz4_frame(4, 0, b"")]
    return put(folder, _NAME, b"".join(record(frame, 1 + n % 2, 131_072) for n, frame in enumerate(frames)))


@hostile("xorb", "0", "all")
def counts_that_lie(folder: Path) -> Path:
    """An info block that says that it has four thousand million chunks, and one that is as long as a file can be."""
    one = record(b"x", 0, 1)
    block = info(1, words(np.array([9])), words(np.array([1])), says=2**32 - 1)
    return put(folder, _NAME, one, block)


@hostile("xorb", "0", "all")
def length_that_lies(folder: Path) -> Path:
    """An info block whose length is longer than the file."""
    one = record(b"x", 0, 1)
    block = info(1, words(np.array([9])), words(np.array([1])))[:-4]
    return put(folder, _NAME, one, block, struct.pack("<I", 2**32 - 1))


@hostile("xorb", "0", KEY, "all")
def damaged_chunks_walked(folder: Path) -> Path:
    """Eight thousand chunks none of which can be unpacked, and no info block."""
    return put(folder, _NAME, record(b"x" * 500, 1, 100_000) * 8000)


@hostile("xorb", "0", "5", KEY, "all")
def sparse_info(folder: Path) -> Path:
    """An info block whose lists are a hole of 88 MB: two million chunks of no bytes."""
    count = 2_000_000
    block = info(count, bytes(4 * count), bytes(4 * count))
    one, middle = record(b"x", 0, 1), 52 + 32 * count
    with put(folder, _NAME, one).open("r+b") as file:
        for start, piece in ((0, block[:56]), (middle, block[middle:][:20]), (len(block) - 32, block[-32:])):
            file.seek(len(one) + start)
            file.write(piece)
    return folder / _NAME
