"""Hashes used by shards only: file hash, range hash, keyed chunk hash, shard name.

Text form, chunk hash and tree root are shared with xorbs: see `shardcore.codecs.xet.hashes`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shardcore.codecs.xet.hashes import (
    DATA_KEY,
    SIZE,
    ZERO,
    HashArray,
    as_rows,
    from_text,
    keyed,
    keyed_all,
    to_text,
    tree_root,
    tree_roots,
)
from shardcore.errors import UsageError

RANGE_KEY = bytes.fromhex("7f1857d6ce56ed66127ff913e7a5c3f3a4cd26d5b5db49e64124987f28fb94c3")
"""BLAKE3 key of the range hashes in verification entries."""

FILE_KEY = ZERO
"""BLAKE3 key with which the root of a file's chunk tree is hashed to give the file hash."""


def file_hash(hashes: HashArray, sizes: npt.NDArray[np.uint64]) -> bytes:
    """Return the hash of a file: its tree root, keyed with zeros; the zero hash for an empty file."""
    return keyed(FILE_KEY, tree_root(hashes, sizes)) if len(hashes) else ZERO


def file_hashes(hashes: HashArray, sizes: npt.NDArray[np.uint64], bounds: npt.NDArray[np.integer]) -> HashArray:
    """Return the hashes of many files; file `i` has the chunks `[bounds[i], bounds[i + 1])`."""
    roots = tree_roots(hashes, sizes, bounds)
    full = np.flatnonzero(np.diff(bounds))
    roots[full] = _each(FILE_KEY, roots[full])
    return roots


def range_hash(hashes: HashArray) -> bytes:
    """Return the hash in a `FileVerificationEntry`: keyed BLAKE3 of the raw chunk hashes, concatenated."""
    return keyed(RANGE_KEY, hashes.tobytes())


def range_hashes(hashes: HashArray, bounds: npt.NDArray[np.integer]) -> HashArray:
    """Return the range hash of each range `hashes[bounds[i]:bounds[i + 1]]`, shape `(m, 32)`."""
    raw = hashes.tobytes()
    marks = (np.asarray(bounds, dtype=np.int64) * SIZE).tolist()
    return as_rows(keyed_all(RANGE_KEY, [raw[start:stop] for start, stop in pairwise(marks)]))


def protect(key: bytes, raw: bytes) -> bytes:
    """Return a chunk hash under the footer's HMAC key: keyed BLAKE3, not the HMAC of RFC 2104.

    The zero key means no key: the hash is returned unchanged.
    """
    return keyed(key, raw) if key != ZERO else raw


def protect_many(key: bytes, hashes: HashArray) -> HashArray:
    if key == ZERO:
        return hashes
    return _each(key, hashes)


def _each(key: bytes, hashes: HashArray) -> HashArray:
    rows = struct.iter_unpack(f"{SIZE}s", hashes.tobytes())
    return as_rows(keyed_all(key, [raw for (raw,) in rows]))


def shard_hash(pieces: Iterable[bytes | memoryview]) -> bytes:
    """Return the hash that names a shard: keyed BLAKE3 (DATA key) of the whole file, given in pieces."""
    from blake3 import blake3  # imported here, because opening a shard computes no hashes

    state = blake3(key=DATA_KEY)
    for piece in pieces:
        state.update(piece)
    return state.digest()


def shard_name(pieces: Iterable[bytes | memoryview]) -> str:
    return f"{to_text(shard_hash(pieces))}.mdb"


def sha256_field(digest: str) -> bytes:
    """Return the 32 bytes stored for a SHA-256 digest: each group of 8 bytes is reversed."""
    if len(digest) != 2 * SIZE:
        raise UsageError(f"not a SHA-256 digest: {digest!r}")
    return from_text(digest)


def sha256_digest(field: bytes) -> str:
    """Return the ordinary hex digest of a stored SHA-256; the inverse of `sha256_field`."""
    return to_text(field)
