"""Cache of fetched ranges of remote files, with a limit in bytes.

Blocks have the length that was fetched: fixed blocks would fetch more than the request budgets of the formats allow.
Blocks of one file do not overlap.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict

Piece = tuple[int, bytes]
"""Offset of some bytes, and the bytes."""


MOST_AHEAD = 16 << 20
"""Maximum read-ahead."""


class ReadAhead:
    """Read-ahead of a sequential reader: fetches as many bytes ahead as were read in sequence, up to `MOST_AHEAD`."""

    def __init__(self) -> None:
        self._next = self._run = 0

    def fetch_stop(self, start: int, stop: int, size: int, *, lookup: bool) -> int:
        """Return the end offset for fetching a missing range `[start, stop)`; a `lookup` does not read ahead."""
        before = self._run if start == self._next else 0
        more = 0 if lookup else min(before, MOST_AHEAD)
        self._next = max(min(stop + more, size), stop)
        self._run = before + self._next - start if start else 0
        return self._next


class BlockCache:
    """Blocks by identity of their file; the least recently used are dropped first. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.RLock()
        self._starts: dict[str, list[int]] = {}
        self._blocks: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._held: set[str] = set()
        self._size = 0

    @property
    def size(self) -> int:
        return self._size

    def pieces(self, identity: str, start: int, stop: int) -> list[Piece]:
        """Return the cached blocks that overlap `[start, stop)`, in order."""
        with self._lock:
            starts = self._starts.get(identity, [])
            found: list[Piece] = []
            for first in starts[max(bisect_right(starts, start) - 1, 0) : bisect_left(starts, stop)]:
                block = self._blocks[identity, first]
                if first + len(block) > start:
                    self._blocks.move_to_end((identity, first))
                    found.append((first, block))
            return found

    def put(self, identity: str, start: int, data: bytes, *, hold: bool = False) -> None:
        """Add bytes of a file, except those already cached. With `hold`, the limit ignores the file until `release`."""
        with self._lock:
            if hold:
                self._held.add(identity)
            for first, last in missing(self.pieces(identity, start, start + len(data)), start, start + len(data)):
                part = data if last - first == len(data) else data[first - start : last - start]
                insort(self._starts.setdefault(identity, []), first)
                self._blocks[identity, first] = part
                self._size += len(part)
            self._trim()

    def release(self, identity: str) -> None:
        with self._lock:
            self._held.discard(identity)
            self._trim()

    def _trim(self) -> None:
        held = 0
        while self._size > self.limit and held < len(self._blocks):
            name, first = next(iter(self._blocks))
            if name in self._held:
                self._blocks.move_to_end((name, first))
                held += 1
                continue
            self._size -= len(self._blocks.pop((name, first)))
            starts = self._starts[name]
            del starts[bisect_left(starts, first)]
            if not starts:
                del self._starts[name]


def missing(pieces: list[Piece], start: int, stop: int) -> list[tuple[int, int]]:
    """Return the parts of `[start, stop)` that sorted blocks do not cover."""
    holes: list[tuple[int, int]] = []
    at = start
    for first, data in pieces:
        if first > at:
            holes.append((at, min(first, stop)))
        at = max(at, first + len(data))
        if at >= stop:
            return holes
    if at < stop:
        holes.append((at, stop))
    return holes


def present(pieces: list[Piece], start: int, stop: int) -> tuple[tuple[int, int], ...]:
    """Return the parts of `[start, stop)` that sorted blocks cover."""
    holes = missing(pieces, start, stop)
    edges = [start, *(edge for hole in holes for edge in hole), stop]
    return tuple((first, last) for first, last in zip(edges[::2], edges[1::2], strict=True) if first < last)


def joined(pieces: list[Piece], start: int, stop: int) -> bytes:
    """Return the bytes `[start, stop)` from blocks that cover them; blocks may be in any order and may overlap."""
    parts: list[bytes] = []
    at = start
    for first, data in sorted(pieces, key=lambda piece: (piece[0], -len(piece[1]))):
        last = first + len(data)
        if first <= at < last and at < stop:
            parts.append(data if first == at and last <= stop else data[at - first : min(stop, last) - first])
            at = min(last, stop)
    return parts[0] if len(parts) == 1 else b"".join(parts)
