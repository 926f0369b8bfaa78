"""Xet hashes of MDB shards and xorbs: text form, chunk hash, tree root.

A hash has 32 bytes: four little-endian 64-bit words. Many hashes are a `uint8` array of shape `(n, 32)`.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from shardcore.errors import UsageError
from shardcore.model.text import short

HashArray = npt.NDArray[np.uint8]
"""Hashes as rows: uint8, shape `(n, 32)`."""

SIZE = 32
"""Size of a hash in bytes."""

ZERO = bytes(SIZE)
"""Zero hash; stands for an empty file, no HMAC key, or an unknown SHA-256."""

END_MARK = b"\xff" * SIZE
"""All bits one; marks the end of a section of a shard (bookend) and is never a hash."""

DATA_KEY = bytes.fromhex("6697f5775b9550de3135cbaca597181c9de421109beb2b58b4d0b04b93adf229")
"""BLAKE3 key of chunk hashes, and of the hash in the name of a shard file."""

NODE_KEY = bytes.fromhex("017ec5c7a5472996fd946666b48a02e65ddd536f37c76dd2f86352e64a53713f")
"""BLAKE3 key of the inner nodes of a hash tree."""

MIN_GROUP, MAX_GROUP, CUT_MODULUS = 3, 9, 4
"""Groups of a hash tree: minimum and maximum number of items; a group ends after a hash whose last word is 0 mod 4."""

_TEXT = re.compile(r"[0-9a-fA-F]{64}")

_BASE64 = re.compile(r"[0-9A-Za-z_-]{43}=?")

_GROUPS_AT_ONCE = 4096  # hashes at a time, whose text of 1.5 MB fits in the CPU cache


def to_text(raw: bytes) -> str:
    """Return the text form: each word as 16 hex digits, so groups of 8 bytes appear reversed."""
    return struct.pack(">4Q", *struct.unpack("<4Q", raw)).hex()


def text_of_key(raw: bytes) -> str:
    if len(raw) != SIZE:
        raise UsageError(f"a hash must have {SIZE} bytes, not {len(raw)}")
    return to_text(raw)


def from_text(text: str) -> bytes:
    """Parse the text form (any case) or base64url of the raw bytes to 32 bytes; raise UsageError for other text."""
    if _TEXT.fullmatch(text):
        return struct.pack("<4Q", *struct.unpack(">4Q", bytes.fromhex(text)))
    if _BASE64.fullmatch(text):
        return base64.urlsafe_b64decode(text.rstrip("=") + "=")
    raise UsageError(f"not a hash: {short(text)} is not 64 hex digits")


def to_texts(hashes: HashArray) -> list[str]:
    digits = words(hashes).byteswap().tobytes().hex()
    return [digits[at : at + 64] for at in range(0, len(digits), 64)]


def words(hashes: HashArray) -> npt.NDArray[np.uint64]:
    """Return hashes as little-endian words, shape `(n, 4)`, in the order of the text form."""
    return np.ascontiguousarray(hashes).view("<u8").reshape(-1, 4)


def truncated(raw: bytes) -> int:
    """Return the first word of a hash, which is the key in the lookup tables."""
    return int.from_bytes(raw[:8], "little")


def as_rows(hashes: Sequence[bytes]) -> HashArray:
    return np.frombuffer(b"".join(hashes), dtype=np.uint8).reshape(-1, SIZE)


def keyed(key: bytes, data: bytes | memoryview) -> bytes:
    from blake3 import blake3  # imported here and below, because opening a file computes no hashes

    return blake3(data, key=key).digest()


def keyed_all(key: bytes, pieces: Iterable[bytes | memoryview]) -> list[bytes]:
    from blake3 import blake3

    # One hasher for all pieces, because creating or copying one costs as much as hashing a short piece.
    hasher = blake3(key=key)
    update, digest, reset = hasher.update, hasher.digest, hasher.reset
    digests: list[bytes] = []
    keep = digests.append
    for piece in pieces:
        update(piece)
        keep(digest())
        reset()
    return digests


def chunk_hash(data: bytes | memoryview) -> bytes:
    """Return the hash of a chunk: BLAKE3 of its uncompressed bytes with the DATA key."""
    return keyed(DATA_KEY, data)


def tree_root(hashes: HashArray, sizes: npt.NDArray[np.uint64]) -> bytes:
    """Return the root of the hash tree over a list of hashes, such as the chunks of a xorb.

    For an empty list it is the zero hash; a single hash is its own root. `sizes` are the data sizes in bytes.
    """
    if len(hashes) == 1:
        return bytes(hashes[0])
    return tree_roots(hashes, sizes, np.array([0, len(hashes)])).tobytes()


def tree_roots(hashes: HashArray, sizes: npt.NDArray[np.uint64], bounds: npt.NDArray[np.integer]) -> HashArray:
    """Return the roots of consecutive lists, shape `(m, 32)`; all trees are computed together, level by level.

    List `i` has the rows `[bounds[i], bounds[i + 1])`. Raises `UsageError` if a sum of sizes exceeds 64 bits.
    """
    sizes = sizes.astype(np.uint64)
    if len(sizes) and int(sizes.max()) * len(sizes) >= 1 << 64:
        raise UsageError("the sum of the sizes in a hash tree exceeds 64 bits")
    roots = np.zeros((len(bounds) - 1, SIZE), dtype=np.uint8)
    counts = np.diff(bounds).astype(np.int64)
    lists = np.flatnonzero(counts)
    counts = counts[lists]
    while len(lists):
        done = counts == 1
        ends = np.cumsum(counts)
        if done.any():
            roots[lists[done]] = hashes[ends[done] - 1]
            rest = np.repeat(~done, counts)
            hashes, sizes = hashes[rest], sizes[rest]
            lists, counts = lists[~done], counts[~done]
            continue
        edges = _group_edges(hashes, ends, counts)
        hashes, sizes = _merge(hashes, sizes, edges)
        counts = np.diff(np.searchsorted(edges, ends), prepend=0)
    return roots


def _group_edges(
    hashes: HashArray, ends: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the starts of the groups of one level, and the end of the last: shape `(groups + 1,)`.

    A group ends after the first item, from the third on, whose last word is 0 modulo 4, but at most after 9 items or
    with its list.
    """
    total = len(hashes)
    after = np.full(total + MIN_GROUP - 1, total)  # for each item, the next possible end of a group
    starts = np.arange(total)
    np.copyto(after[:total], starts + 1, where=hashes[:, SIZE - 8] % CUT_MODULUS == 0)
    after = np.minimum.accumulate(after[::-1])[::-1][MIN_GROUP - 1 :]
    jump = np.minimum(np.minimum(after, starts + MAX_GROUP), np.repeat(ends, counts)).tolist()
    edges = [0]
    at, found = 0, edges.append
    while at < total:
        at = jump[at]
        found(at)
    return np.array(edges, dtype=np.int64)


def _merge(
    hashes: HashArray, sizes: npt.NDArray[np.uint64], edges: npt.NDArray[np.int64]
) -> tuple[HashArray, npt.NDArray[np.uint64]]:
    """Return one item per group: the BLAKE3 hash of its text with the NODE key, and the sum of its sizes."""
    digests: list[bytes] = []
    for at in range(0, len(edges) - 1, _GROUPS_AT_ONCE):
        block = edges[at : at + _GROUPS_AT_ONCE + 1]
        first, last = int(block[0]), int(block[-1])
        digests += keyed_all(NODE_KEY, _texts(hashes[first:last], sizes[first:last], block - first))
    return as_rows(digests), np.add.reduceat(sizes, edges[:-1])


def _texts(hashes: HashArray, sizes: npt.NDArray[np.uint64], edges: npt.NDArray[np.int64]) -> list[bytes]:
    """Return the text of each group: a line `hash : size` per item, with a decimal size."""
    count, largest = len(hashes), int(sizes.max())
    digits = len(str(largest))
    # Sizes are written with leading zeros, which ` : ` and the hash of the same line then overwrite.
    tails = np.empty((count, 1 + digits), dtype=np.uint8)
    tails[:, digits] = ord("\n")
    left = sizes.astype(np.uint32) if largest < 1 << 32 else sizes
    ten = left.dtype.type(10)
    for column in range(digits - 1, -1, -1):
        rest = left // ten
        tails[:, column] = left - rest * ten + ord("0")
        left = rest
    powers = np.array([10**power for power in range(1, digits)], dtype=np.uint64)
    lengths = np.searchsorted(powers, sizes, side="right") + (64 + 3 + 2)
    lasts = edges[1:] - 1
    lengths[lasts] += 1  # the zero byte after a group
    stops = np.cumsum(lengths)
    starts = stops - lengths
    lines = np.empty(int(stops[-1]), dtype=np.uint8)
    lines[stops[lasts] - 1] = 0
    stops[lasts] -= 1
    _scatter(tails, lines, stops - tails.shape[1])
    hexadecimal = np.frombuffer(binascii.hexlify(words(hashes).byteswap()), dtype=np.uint8)
    _scatter(np.frombuffer(b" : " * count, dtype=np.uint8).reshape(count, 3), lines, starts + 64)
    _scatter(hexadecimal.reshape(count, 64), lines, starts)
    return lines[:-1].tobytes().split(b"\0")


def _scatter(rows: npt.NDArray[np.uint8], into: npt.NDArray[np.uint8], places: npt.NDArray[np.int64]) -> None:
    whole = np.dtype((np.void, rows.shape[1]))
    windows = np.lib.stride_tricks.sliding_window_view(into, rows.shape[1], writeable=True)
    windows.view(whole)[:, 0][places] = rows.view(whole)[:, 0]
