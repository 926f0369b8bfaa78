"""Data shared by the drawings of an MDB shard: index, drawn file, and the segments that use a xorb."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import words
from shardcore.dataclasses import dataclass
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.index import MdbIndex
from shardcore.formats.mdb.layout import FILE
from shardcore.formats.mdb.lookup import MdbKey, MdbLookup
from shardcore.model.drawing import Control
from shardcore.teaching import slider

AT_ONCE = 1 << 18
"""Maximum size in bytes of a shard whose controls are shown before its first drawing."""


MOST_KEPT = 16
"""Maximum number of xorbs whose segments are cached."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Uncompressed bytes of segments in listed xorbs, of segments in other xorbs, and of all distinct listed chunks."""

    described: int
    elsewhere: int
    stored: int


class MdbScene:
    """A shard and the key that its drawings are about; `opened` opens the file on first use."""

    def __init__(self, opened: Callable[[], MdbFile], key: MdbKey | None, ready: MdbFile | None = None) -> None:
        self._opened = opened
        self._ready = ready
        self.key = key
        self._users: dict[bytes, NDArray[np.int64]] = {}

    @cached_property
    def file(self) -> MdbFile:
        self._ready = self._ready or self._opened()
        return self._ready

    @cached_property
    def index(self) -> MdbIndex:
        return self.file.load()

    @cached_property
    def row(self) -> int:
        return -1 if self.key is None else int(MdbLookup(self.file).find_many([self.key])[0])

    @cached_property
    def number(self) -> int:
        """Number of the file drawn first: the requested one, one that uses the requested xorb or chunk, or any."""
        index, row = self.index, self.row
        files = index.counts[0]
        if 0 <= row < files:
            return row
        using = np.zeros(0, np.int64)
        if row >= files:
            xorb, chunk = self.place
            name = index.xorb_headers["cas_hash"][xorb].tobytes()
            using = self.users(name) if chunk < 0 else self.users_of(name, chunk, chunk + 1)
        if not len(using):
            using = np.arange(min(len(index.segments), 1))
        return int(self.files_of(using)[0]) if len(using) else 0

    @cached_property
    def place(self) -> tuple[int, int]:
        """Number of the requested xorb, and of the requested chunk in it; -1 for none."""
        index, row = self.index, self.row
        files, xorbs, _ = index.counts
        if row < files + xorbs:
            return max(row - files, -1), -1
        inside = row - files - xorbs
        xorb = int(np.searchsorted(index.xorbs.bounds, inside, "right")) - 1
        return xorb, inside - int(index.xorbs.bounds[xorb])

    @property
    def controls(self) -> tuple[Control, ...]:
        """Return the file selector; empty if there is only one file, or for a large shard before its first drawing."""
        known = self._ready.index if self._ready is not None else None
        if known is None or ("number" not in self.__dict__ and len(known.data) > AT_ONCE):
            return ()
        last = known.counts[0] - 1
        if last < 1:
            return ()
        return (slider(FILE, "File", self.number, last, "File to draw, in record order.", follows="row"),)

    def ready_controls(self) -> tuple[Control, ...]:
        assert self.number >= 0
        return self.controls

    @cached_property
    def _first_words(self) -> NDArray[np.uint64]:
        index = self.index
        hashes = index.files.hashes[index.files.entries]
        return np.ascontiguousarray(hashes[:, :8]).view("<u8").ravel()

    @cached_property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = self.index.segments
        return rows["chunk_index_start"].astype(np.int64), rows["chunk_index_end"].astype(np.int64)

    def users(self, xorb: bytes) -> NDArray[np.int64]:
        if xorb not in self._users:
            if len(self._users) >= MOST_KEPT:
                self._users.clear()
            found = np.flatnonzero(self._first_words == np.frombuffer(xorb, "<u8", 1)[0])
            hashes = self.index.files.hashes[self.index.files.entries[found]]
            self._users[xorb] = found[(hashes == np.frombuffer(xorb, np.uint8)).all(axis=1)]
        return self._users[xorb]

    def users_of(self, xorb: bytes, first: int, last: int) -> NDArray[np.int64]:
        """Return the segments that use any of the chunks `[first, last)` of a xorb."""
        users, (starts, stops) = self.users(xorb), self.edges
        return users[(starts[users] < last) & (stops[users] > first)]

    def files_of(self, segments: NDArray[np.int64]) -> NDArray[np.int64]:
        files: NDArray[np.int64] = np.searchsorted(self.index.files.bounds, segments, "right") - 1
        return files

    @cached_property
    def sums(self) -> Sums:
        index = self.index
        sizes = index.segments["unpacked_segment_bytes"].astype(np.int64)
        inside = index.segment_xorbs >= 0
        chunks, stored = words(np.ascontiguousarray(index.chunks["chunk_hash"])), 0
        if len(chunks):
            order = np.lexsort((chunks[:, 1], chunks[:, 0]))
            ordered = chunks[order]
            new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
            stored = int(index.chunks["unpacked_segment_bytes"][order[new]].sum(dtype=np.int64))
        return Sums(int(sizes[inside].sum()), int(sizes[~inside].sum()), stored)
