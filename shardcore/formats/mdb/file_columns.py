"""Compact columns for the files that a writer collects, without an object per chunk."""

from __future__ import annotations

from array import array
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import ZERO, HashArray, as_rows, keyed
from shardcore.codecs.xet.xorb_builder import PackedXorb
from shardcore.formats.mdb.hashes import FILE_KEY, RANGE_KEY, file_hash, range_hash, sha256_field
from shardcore.formats.mdb.layout import CAS_ENTRY, FILE_ENTRY
from shardcore.formats.mdb.serialization import Recipes


class FileChunks:
    def __init__(self) -> None:
        self._hashes = bytearray()
        self._sizes = array("Q")
        self._xorbs = array("Q")
        self._numbers = array("Q")

    def add(self, digest: bytes, size: int, xorb: int, number: int) -> None:
        self._hashes += digest
        self._sizes.append(size)
        self._xorbs.append(xorb)
        self._numbers.append(number)

    @property
    def hashes(self) -> HashArray:
        return np.frombuffer(bytes(self._hashes), np.uint8).reshape(-1, 32)

    @property
    def sizes(self) -> NDArray[np.uint64]:
        return np.array(self._sizes, np.uint64)

    @property
    def hash(self) -> bytes:
        if len(self._sizes) == 1:
            return keyed(FILE_KEY, bytes(self._hashes))
        return file_hash(self.hashes, self.sizes)

    def segments(self) -> list[tuple[int, int, int, int, bytes]]:
        """Merge neighbouring chunks into segments: xorb, first chunk, end (exclusive), bytes, range hash."""
        if len(self._sizes) == 1:
            number = self._numbers[0]
            return [(self._xorbs[0], number, number + 1, self._sizes[0], keyed(RANGE_KEY, bytes(self._hashes)))]
        xorbs, numbers = np.array(self._xorbs, np.int64), np.array(self._numbers, np.int64)
        cuts = np.flatnonzero((np.diff(xorbs) != 0) | (np.diff(numbers) != 1)) + 1
        bounds = [0, *cuts.tolist(), len(xorbs)] if len(xorbs) else [0]
        hashes, sizes = self.hashes, self.sizes
        return [
            (
                int(xorbs[a]),
                int(numbers[a]),
                int(numbers[b - 1]) + 1,
                int(sizes[a:b].sum()),
                range_hash(hashes[a:b]),
            )
            for a, b in pairwise(bounds)
        ]


class FileCollector:
    """Files added to a shard so far, without duplicates; `last` is the segment count of the file added last."""

    def __init__(self) -> None:
        self.last = 0
        self._files = bytearray()
        self._sha256s = bytearray()
        self._counts = array("Q")
        self._segments = array("Q")  # four numbers per segment
        self._ranges = bytearray()
        self._known: set[bytes] = set()

    @property
    def files(self) -> int:
        return len(self._counts)

    @property
    def segments(self) -> int:
        return len(self._segments) // 4

    def add(self, chunks: FileChunks, sha256: str) -> bytes:
        """Add a file and return its hash; a duplicate is not added, and sets `last` to 0."""
        found = chunks.hash
        self.last = 0
        if found in self._known:
            return found
        self._known.add(found)
        self._files += found
        # hf-xet stores zeros as the SHA-256 of an empty file.
        self._sha256s += sha256_field(sha256) if found != ZERO else ZERO
        segments = chunks.segments()
        self.last = len(segments)
        self._counts.append(len(segments))
        for *numbers, digest in segments:
            self._segments.extend(numbers)
            self._ranges += digest
        return found

    def after(self) -> NDArray[np.int64]:
        """Return per file the number of xorbs that must be written before it: its highest xorb number plus one."""
        counts = np.array(self._counts, np.int64)
        xorbs = np.array(self._segments, np.int64).reshape(-1, 4)[:, 0] + 1
        found = np.zeros(len(counts), np.int64)
        starts = np.cumsum(counts) - counts
        some = counts > 0
        if some.any():
            found[some] = np.maximum.reduceat(xorbs, starts[some])
        return found

    def recipes(self, xorbs: list[PackedXorb]) -> Recipes:
        numbers = np.array(self._segments, np.int64).reshape(-1, 4)
        hashes = as_rows([xorb.hash for xorb in xorbs])
        segments = np.zeros(len(numbers), FILE_ENTRY.dtype)
        segments["cas_hash"] = hashes[numbers[:, 0]]
        segments["chunk_index_start"], segments["chunk_index_end"] = numbers[:, 1], numbers[:, 2]
        segments["unpacked_segment_bytes"] = numbers[:, 3]
        sizes = [xorb.sizes for xorb in xorbs]
        counts = np.array([len(one) for one in sizes], np.int64)
        chunks = np.zeros(int(counts.sum()), CAS_ENTRY.dtype)
        if xorbs:
            chunks["chunk_hash"] = np.concatenate([xorb.info.hashes for xorb in xorbs])
            chunks["unpacked_segment_bytes"] = np.concatenate(sizes)
            chunks["chunk_byte_range_start"] = np.concatenate([np.cumsum(one) - one for one in sizes])
        return Recipes(
            _rows(self._files),
            _rows(self._sha256s),
            np.array(self._counts, np.int64),
            segments,
            _rows(self._ranges),
            hashes,
            counts,
            chunks,
        )


def _rows(raw: bytearray) -> HashArray:
    return np.frombuffer(bytes(raw), np.uint8).reshape(-1, 32)
