"""Blosc-1 chunks built by the rules of the format alone, without any Blosc library."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import lz4.block
import numpy as np
import zstandard

CODECS: dict[int, Callable[[bytes], bytes]] = {
    1: lambda data: lz4.block.compress(data, store_size=False),
    3: zlib.compress,
    4: zstandard.ZstdCompressor().compress,
}
NONE, BYTE, BIT = 0, 0x01, 0x04


def shuffled(block: bytes, typesize: int, how: int) -> bytes:
    elements = len(block) // typesize
    whole = np.frombuffer(block, np.uint8)[: elements * typesize].reshape(elements, typesize)
    rest = block[elements * typesize :]
    if how == BYTE and typesize > 1:
        return whole.T.tobytes() + rest
    if how == BIT and elements % 8 == 0:
        bits = np.unpackbits(whole, axis=1, bitorder="little")
        return np.packbits(bits.T, axis=1, bitorder="little").tobytes() + rest
    return block


def make_chunk(
    plain: bytes,
    *,
    codec: int = 3,
    how: int = NONE,
    typesize: int = 1,
    blocksize: int = 1000,
    split: bool = False,
    order: Callable[[list[int]], list[int]] = list,
) -> bytes:
    """A chunk of `plain`.

    Args:
        plain: The bytes.
        codec: Number of the codec: 1 lz4, 3 zlib, 4 zstd.
        how: The filter, as its flag.
        typesize: Bytes of one element.
        blocksize: Uncompressed bytes of a block.
        split: Split blocks into streams where their sizes allow it.
        order: The order in which the blocks are laid down.
    """
    blocksize = min(blocksize, len(plain))
    can_split = typesize <= 16 and blocksize // typesize >= 128
    if split and can_split:
        blocksize -= blocksize % typesize
    flags = codec << 5 | how | (0 if split and can_split else 0x10)
    nblocks = -(-len(plain) // blocksize)
    at, starts, bodies = 16 + 4 * nblocks, [0] * nblocks, []
    for number in order(list(range(nblocks))):
        block = plain[number * blocksize : (number + 1) * blocksize]
        streams = typesize if split and can_split and len(block) == blocksize else 1
        size = len(block) // streams
        seen = shuffled(block, typesize, how)
        body = b""
        for stream in range(streams):
            part = seen[stream * size : (stream + 1) * size]
            packed = CODECS[codec](part)
            stored = packed if len(packed) < size else part
            body += len(stored).to_bytes(4, "little") + stored
        starts[number] = at
        bodies.append(body)
        at += len(body)
    numbers = [len(plain), blocksize, at]
    head = bytes([2, 1, flags, typesize]) + b"".join(n.to_bytes(4, "little") for n in numbers)
    return head + b"".join(s.to_bytes(4, "little") for s in starts) + b"".join(bodies)


def memcpy(plain: bytes, typesize: int = 1) -> bytes:
    numbers = [len(plain), len(plain), len(plain) + 16]
    return bytes([2, 1, 0x02, typesize]) + b"".join(n.to_bytes(4, "little") for n in numbers) + plain


def sample(size: int, seed: int = 0) -> bytes:
    steps = np.random.default_rng(seed).integers(0, 3, size, dtype=np.uint8)
    return np.cumsum(steps, dtype=np.uint8).tobytes()
