"""Compressing and decompressing xorb chunks: schemes none, LZ4 and byte-grouped LZ4 (BG4).

A chunk has at most 128 KiB, so it is decompressed at once, but never beyond its declared length.
"""

from __future__ import annotations

import numpy as np

from shardcore.codecs.decompress import Codec, decompress
from shardcore.codecs.xet.xorb_layout import MAX_UNPACKED, Scheme, chunk_fault
from shardcore.errors import FormatError, Unsupported
from shardcore.model.span import Span

GROUPS = 4
"""Number of byte groups in BG4."""


_CODECS: dict[int, Codec] = {Scheme.NONE: "none", Scheme.LZ4: "lz4", Scheme.BG4_LZ4: "lz4"}


def read_chunk(scheme: int, stored: bytes, unpacked_length: int, *, span: Span | None = None) -> bytes:
    """Decompress a chunk; `stored` does not include the chunk header."""
    if fault := chunk_fault(scheme, len(stored), unpacked_length):
        raise (FormatError if scheme in _CODECS else Unsupported)(fault, span=span)
    data = decompress(_CODECS[scheme], stored, expected=unpacked_length, span=span)
    return read_groups(data) if scheme == Scheme.BG4_LZ4 else data


def write_chunk(scheme: int, data: bytes) -> tuple[Scheme, bytes]:
    """Compress a chunk; return the scheme used and the stored bytes.

    The chunk is stored uncompressed if the scheme does not make it smaller, or does not restore it exactly.
    """
    if len(data) > MAX_UNPACKED:
        raise FormatError(f"the chunk has {len(data):,} bytes; the limit is {MAX_UNPACKED:,}")
    if scheme not in tuple(Scheme):
        raise Unsupported(f"unknown compression scheme {scheme}")
    if scheme != Scheme.NONE:
        import lz4.frame  # imported here, because it is slow and only needed for writing

        plain = write_groups(data) if scheme == Scheme.BG4_LZ4 else data
        # As in the reference client: independent blocks, no checksums, no content size.
        size = lz4.frame.BLOCKSIZE_MAX64KB if len(data) <= 65_536 else lz4.frame.BLOCKSIZE_MAX256KB
        stored: bytes = lz4.frame.compress(plain, block_size=size, block_linked=False, store_size=False)
        if len(stored) < len(data) and lz4.frame.decompress(stored) == plain:
            return Scheme(scheme), stored
    return Scheme.NONE, data


def read_groups(grouped: bytes) -> bytes:
    """Undo byte grouping: `00 04 08 01 05 09 02 06 03 07` becomes `00` to `09`."""
    packed = np.frombuffer(grouped, dtype=np.uint8)
    data = np.empty_like(packed)
    start = 0
    for first in range(GROUPS):
        places = data[first::GROUPS]
        places[:] = packed[start : start + len(places)]
        start += len(places)
    return data.tobytes()


def write_groups(data: bytes) -> bytes:
    """Group bytes by their offset modulo 4: 0, then 1, 2 and 3."""
    return b"".join(data[first::GROUPS] for first in range(GROUPS))
