"""The parts of xorbs that are drawn: which chunks, how long they are, and which segments use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.mdb.geometry import XORB
from shardcore.formats.mdb.layout import RECORD_SIZE
from shardcore.formats.mdb.sketch_scene import Scene
from shardcore.model.span import Span

WHOLE = 12
"""Xorbs of up to so many chunks are drawn whole; of others the chunks that are used."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Some chunks of a xorb, side by side.

    Attributes:
        xorb: Its hash.
        number: Which xorb of the shard; -1 when the shard does not list it.
        count: How many chunks it has; -1 when that is not known.
        first: The first chunk.
        last: One past the last.
        at: Where they begin in the drawing.
        size: How many bytes they have; where that is not known, as many as the segments say.
        span: The record of the xorb.
        starts: Where each chunk begins, from `at` on, and where the last one ends; None when it is not known.
    """

    xorb: bytes
    number: int
    count: int
    first: int
    last: int
    at: int
    size: int
    span: Span
    starts: NDArray[np.int64] | None = field(compare=False)

    @property
    def listed(self) -> bool:
        """Whether the shard lists the chunks of the xorb."""
        return self.number >= 0

    def place(self, chunk: int) -> float:
        """Where a chunk begins in the drawing; chunks that are not listed are taken for equally long."""
        if self.starts is not None:
            return self.at + int(self.starts[chunk - self.first])
        return self.at + self.size * (chunk - self.first) / (self.last - self.first)


@dataclass(frozen=True, slots=True)
class Piece:
    """Chunks that the same segments use; where there are very many cuts, some of them may use a part of them only.

    Attributes:
        xorb: Which xorb of the shard; -1 when the shard does not list it.
        first: The first chunk.
        last: One past the last.
        at: Where they begin in the drawing.
        size: How many bytes they have.
        span: Their records; None when they are not listed.
        users: The segments that use them, counted over all files.
    """

    xorb: int
    first: int
    last: int
    at: float
    size: float
    span: Span | None
    users: NDArray[np.int64]


def shelves_of(scene: Scene, segments: Sequence[int]) -> list[Shelf]:
    """The parts of xorbs that some segments use, in the order of their first use.

    Args:
        scene: The shard.
        segments: Segments, counted over all files.
    """
    index = scene.index
    ranges: dict[bytes, list[tuple[int, int, int]]] = {}
    for number in segments:
        row = index.segments[number]
        if not index.segment_faults[number]:
            first, last, size = (
                int(row[name]) for name in ("chunk_index_start", "chunk_index_end", "unpacked_segment_bytes")
            )
            ranges.setdefault(row["cas_hash"].tobytes(), []).append((first, last, size))
    shelves: list[Shelf] = []
    at = 0
    for xorb, used in ranges.items():
        number = int(index.rows_of(XORB, np.frombuffer(xorb, np.uint8).reshape(1, -1))[0])
        number = number - index.first_row(XORB) if number >= 0 else -1
        for first, last in _joined(scene, number, used):
            shelf = _shelf(scene, xorb, number, (first, last), at, used)
            shelves.append(shelf)
            at += shelf.size
    return shelves


def _joined(scene: Scene, number: int, used: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """The chunks to draw: all of a short xorb, else the ranges used, those that meet joined."""
    if number >= 0 and int(scene.index.xorbs.counts[number]) <= WHOLE:
        return [(0, int(scene.index.xorbs.counts[number]))]
    joined: list[tuple[int, int]] = []
    for first, last, _ in sorted(used):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def _shelf(
    scene: Scene, xorb: bytes, number: int, chunks: tuple[int, int], at: int, used: Sequence[tuple[int, int, int]]
) -> Shelf:
    first, last = chunks
    if number < 0:
        inside = [one for one in used if first <= one[0] and one[1] <= last]
        each = sum(size for _, _, size in inside) / max(sum(b - a for a, b, _ in inside), 1)
        return Shelf(xorb, -1, -1, first, last, at, round(each * (last - first)), Span("", 0, 0), None)
    index = scene.index
    section, begin = index.xorbs, int(index.xorbs.bounds[number])
    sizes = index.chunks["unpacked_segment_bytes"][begin + first : begin + last].astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    header = section.byte_of(int(section.headers[number]))
    span = Span("", header, header + RECORD_SIZE)
    return Shelf(xorb, number, int(section.counts[number]), first, last, at, int(starts[-1]), span, starts)


def pieces_of(scene: Scene, shelves: Sequence[Shelf], most: int) -> list[Piece]:
    """Chunk by chunk where there are few, else the chunks between two ends of segments.

    Args:
        scene: The shard.
        shelves: What is drawn.
        most: How many pieces are made at most.
    """
    single = sum(shelf.last - shelf.first for shelf in shelves if shelf.listed) <= most
    pieces: list[Piece] = []
    each = most // max(len(shelves), 1)
    for shelf in shelves:
        users = scene.users_of(shelf.xorb, shelf.first, shelf.last)
        firsts, lasts = (edges[users] for edges in scene.edges)
        if single and shelf.listed:
            edges = list(range(shelf.first, shelf.last + 1))
        else:
            inside = np.unique(np.concatenate([firsts, lasts]))
            inside = inside[(inside > shelf.first) & (inside < shelf.last)]
            edges = [shelf.first, *inside[: max(each - 1, 0)].tolist(), shelf.last]
        for first, last in pairwise(edges):
            if len(pieces) < most:
                at, end = shelf.place(first), shelf.place(last)
                same = users[(firsts < last) & (lasts > first)]
                pieces.append(Piece(shelf.number, first, last, at, end - at, _records(scene, shelf, first, last), same))
    return pieces


def _records(scene: Scene, shelf: Shelf, first: int, last: int) -> Span | None:
    """The records of some chunks."""
    if not shelf.listed:
        return None
    section = scene.index.xorbs
    header = int(section.headers[shelf.number])
    return Span("", section.byte_of(header + 1 + first), section.byte_of(header + 1 + last))
