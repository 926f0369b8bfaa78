"""The stored bytes of one xorb chunk: schemes none, LZ4 and byte-grouped LZ4, both ways.

A chunk is small (at most 128 KiB unpacked), so each is expanded whole, but never past the length its record
declares.
"""

from __future__ import annotations

import numpy as np

from shardcore.codecs.decompress import Codec, decompress
from shardcore.codecs.xet.xorb_layout import MAX_UNPACKED, Scheme, chunk_fault
from shardcore.errors import FormatError, Unsupported
from shardcore.model.span import Span

GROUPS = 4
"""Byte-grouping collects the bytes at positions 0, 1, 2 and 3 modulo this."""


_CODECS: dict[int, Codec] = {Scheme.NONE: "none", Scheme.LZ4: "lz4", Scheme.BG4_LZ4: "lz4"}


def read_chunk(scheme: int, stored: bytes, unpacked_length: int, *, span: Span | None = None) -> bytes:
    if fault := chunk_fault(scheme, len(stored), unpacked_length):
        raise (FormatError if scheme in _CODECS else Unsupported)(fault, span=span)
    data = decompress(_CODECS[scheme], stored, expected=unpacked_length, span=span)
    return read_groups(data) if scheme == Scheme.BG4_LZ4 else data


def write_chunk(scheme: int, data: bytes) -> tuple[Scheme, bytes]:
    if len(data) > MAX_UNPACKED:
        raise FormatError(f"a chunk has at most {MAX_UNPACKED:,} bytes; this one has {len(data):,}")
    if scheme not in tuple(Scheme):
        raise Unsupported(f"unknown compression scheme {scheme}")
    if scheme != Scheme.NONE:
        import lz4.frame  # takes long to import, and only writing needs it

        plain = write_groups(data) if scheme == Scheme.BG4_LZ4 else data
        # As the reference client writes it: independent blocks, no checksums, no content size.
        size = lz4.frame.BLOCKSIZE_MAX64KB if len(data) <= 65_536 else lz4.frame.BLOCKSIZE_MAX256KB
        stored: bytes = lz4.frame.compress(plain, block_size=size, block_linked=False, store_size=False)
        if len(stored) < len(data) and lz4.frame.decompress(stored) == plain:
            return Scheme(scheme), stored
    return Scheme.NONE, data


def read_groups(grouped: bytes) -> bytes:
    packed = np.frombuffer(grouped, dtype=np.uint8)
    data = np.empty_like(packed)
    start = 0
    for first in range(GROUPS):
        places = data[first::GROUPS]
        places[:] = packed[start : start + len(places)]
        start += len(places)
    return data.tobytes()


def write_groups(data: bytes) -> bytes:
    return b"".join(data[first::GROUPS] for first in range(GROUPS))
