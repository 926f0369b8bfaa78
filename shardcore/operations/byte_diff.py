"""Byte comparison of two files. Matching objects, and sections of the same name, are shown side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.model.section import Section
from shardcore.operations.diff import ShardDiff
from shardcore.operations.diff_columns import CODES, ROWS, DiffKind, columns_at, stored_bytes
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard
from shardcore.sources.base import Source

I64 = NDArray[np.int64]

PIECE = 1 << 20
"""Bytes compared at once."""

NEAR = 3
"""Maximum number of equal bytes between two differences that still belong to one run."""

_HEAD = -1 << 62
"""Base of the key of bytes that belong to no object and precede none; the key of their section is added."""


@dataclass(frozen=True)
class AlignedRanges:
    """Pairs of byte ranges `[start, stop)` of two files, int64 of shape `(n, 2)` each; one of a pair may be empty."""

    first: I64
    second: I64

    def __len__(self) -> int:
        return len(self.first)

    @property
    def lengths(self) -> I64:
        longer: I64 = np.maximum(self.first[:, 1] - self.first[:, 0], self.second[:, 1] - self.second[:, 0])
        return longer


@dataclass(frozen=True)
class DiffRun:
    """Run of differing bytes: range of its cells (row × width + column), and its byte range in each file; half-open."""

    cells: tuple[int, int]
    first: tuple[int, int]
    second: tuple[int, int]


@dataclass(frozen=True)
class AlignedRows:
    """Consecutive rows of two files side by side.

    Attributes:
        top: Number of the first row.
        offsets: Offset of the first byte of each row in each file, shape `(2, rows)`; -1 for a row without bytes.
        data: Bytes, shape `(2, rows, width)`.
        there: Mask of the cells that have a byte, same shape.
        differing: Mask of the cells that differ from the other file, same shape.
        error: Reason why bytes could not be read, or empty.
    """

    top: int
    offsets: I64
    data: NDArray[np.uint8]
    there: NDArray[np.bool_]
    differing: NDArray[np.bool_]
    error: str = ""


class ByteDiff:
    """Aligned bytes of two files, read on demand and not cached. Every aligned range begins a new row."""

    def __init__(self, sources: tuple[Source, Source], segments: AlignedRanges, width: int = 16) -> None:
        self.sources = sources
        self.segments = segments
        self.width = width
        self._ends = np.cumsum(-(-segments.lengths // width))

    @property
    def rows(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def row_of(self, side: int, offset: int) -> int:
        """Return the row of a byte of file `side` (0 or 1); the nearest row if no row contains the byte."""
        spans = (self.segments.first, self.segments.second)[side]
        inside = np.flatnonzero((spans[:, 0] <= offset) & (offset < spans[:, 1]))
        if not len(inside):
            nearest = np.flatnonzero(spans[:, 1] > spans[:, 0])
            if not len(nearest):
                return 0
            inside = nearest[[int(np.argmin(np.abs(spans[nearest, 0] - offset)))]]
        at = int(inside[0])
        within = max(min(offset, int(spans[at, 1]) - 1) - int(spans[at, 0]), 0)
        return (int(self._ends[at - 1]) if at else 0) + within // self.width

    def window(self, top: int, count: int) -> AlignedRows:
        """Read `count` rows starting at row `top`; rows that do not exist are left out."""
        top = min(max(top, 0), self.rows)
        count = min(count, self.rows - top)
        numbers = np.arange(top, top + count)
        at = np.searchsorted(self._ends, numbers, "right")
        begins = np.concatenate([[0], self._ends])[at]
        inside = (numbers - begins) * self.width
        offsets = np.full((2, count), -1, np.int64)
        data = np.zeros((2, count, self.width), np.uint8)
        there = np.zeros((2, count, self.width), np.bool_)
        for side, spans in enumerate((self.segments.first, self.segments.second)):
            starts, stops = spans[at, 0] + inside, spans[at, 1]
            lengths = np.clip(stops - starts, 0, self.width)
            offsets[side] = np.where(lengths > 0, starts, -1)
            there[side] = np.arange(self.width) < lengths[:, np.newaxis]
            data[side][there[side]] = self._read(side, at, starts, starts + lengths)
        differing = (there[0] != there[1]) | (there[0] & there[1] & (data[0] != data[1]))
        return AlignedRows(top, offsets, data, there, np.stack([differing & there[0], differing & there[1]]))

    def _read(self, side: int, segment: I64, starts: I64, stops: I64) -> NDArray[np.uint8]:
        full = np.flatnonzero(stops > starts)
        if not len(full):
            return np.zeros(0, np.uint8)
        segment, starts, stops = segment[full], starts[full], stops[full]
        begins = np.flatnonzero(np.concatenate([[True], segment[1:] != segment[:-1]]))
        ends = np.append(begins[1:], len(full)) - 1
        return stored_bytes(self.sources[side], starts[begins], stops[ends]).data

    def next_run(self, cell: int, *, back: bool = False, progress: Progress = no_progress) -> DiffRun | None:
        """Return the run at the first difference at or after a cell, or None; with `back`, at the last before it."""
        # The next difference is often close, so the step grows from a small one.
        step, most, edge = 1 << 10, max(PIECE // self.width, 1), -(-cell // self.width) if back else cell // self.width
        while edge > 0 if back else edge < self.rows:
            low, high = (max(edge - step, 0), edge) if back else (edge, min(edge + step, self.rows))
            found = self._differing(self.window(low, high - low))
            found = found[found < cell if back else found >= cell]
            if len(found):
                return self._run_at(int(found[-1 if back else 0]), back=back)
            edge, step = low if back else high, min(2 * step, most)
            progress(abs(edge - cell // self.width), self.rows)
        return None

    def _differing(self, shown: AlignedRows) -> I64:
        return np.flatnonzero(shown.differing.any(axis=0)) + shown.top * self.width

    def _breaks(self, cells: I64) -> NDArray[np.bool_]:
        # A run ends with its segment: the next segment is stored elsewhere.
        segment = np.searchsorted(self._ends, cells // self.width, "right")
        found: NDArray[np.bool_] = (np.diff(cells) > NEAR + 1) | (np.diff(segment) > 0)
        return found

    def _run_at(self, cell: int, *, back: bool) -> DiffRun:
        """Return the run that begins at a cell; with `back`, the one that ends with it."""
        most, row = max(ROWS // self.width, 1), cell // self.width
        shown = self.window(max(row - most, 0), min(row, most) + 1) if back else self.window(row, most)
        cells = self._differing(shown)
        cells = cells[cells <= cell if back else cells >= cell]
        breaks = np.flatnonzero(self._breaks(cells))
        if len(breaks):
            cells = cells[breaks[-1] + 1 :] if back else cells[: breaks[0] + 1]
        start, stop = int(cells[0]), int(cells[-1]) + 1
        here, spans = shown.top * self.width, []
        for side in (0, 1):
            there = shown.there[side].reshape(-1)[start - here : stop - here]
            begin = self._offset(shown, side, start - here)
            spans.append((begin, begin + int(there.sum())))
        return DiffRun((start, stop), spans[0], spans[1])

    def _offset(self, shown: AlignedRows, side: int, cell: int) -> int:
        row, column = divmod(cell, self.width)
        if int(shown.offsets[side, row]) >= 0:
            return int(shown.offsets[side, row]) + min(column, int(shown.there[side, row].sum()))
        # This side of the segment is shorter: use its end.
        segment = int(np.searchsorted(self._ends, shown.top + row, "right"))
        return int((self.segments.first, self.segments.second)[side][segment, 1])

    def overview(self, buckets: int, progress: Progress = no_progress) -> tuple[I64, I64, int]:
        """Return counts of differing bytes in `buckets` equal parts of each file, and of runs; reads both files."""
        counts, runs, last = np.zeros((2, buckets), np.int64), 0, np.zeros(0, np.int64)
        sizes = [max(source.size, 1) for source in self.sources]
        step = max(PIECE // self.width, 1)
        for top in range(0, self.rows, step):
            shown = self.window(top, step)
            for side in (0, 1):
                per_row = shown.differing[side].sum(axis=1)
                rows = np.flatnonzero(per_row)
                # Offset times buckets may overflow int64; floats are exact enough for drawing.
                parts = (shown.offsets[side, rows] / sizes[side] * buckets).astype(np.int64)
                np.add.at(counts[side], np.minimum(parts, buckets - 1), per_row[rows])
            if len(cells := np.concatenate([last, self._differing(shown)])):
                runs += int(self._breaks(cells).sum()) + (not len(last))
                last = cells[-1:]
            progress(min(top + step, self.rows), self.rows)
        return counts[0], counts[1], runs


def byte_diff(
    found: ShardDiff, first: Shard, second: Shard, *, members: tuple[str, str] = ("", ""), width: int = 16
) -> ByteDiff:
    """Align the bytes of two shards, or of one shard (`members`) in each of two data sets.

    Objects that match are aligned, together with the bytes before them; other bytes are aligned by section name.
    """
    shards = first, second
    sources = [shard.bytes_of(name) for shard, name in zip(shards, members, strict=True)]
    sections = [shard.sections_of(name) for shard, name in zip(shards, members, strict=True)]
    spans, keys = _object_spans(found, shards, members, sources)
    pieces = [
        _pieces(sources[side].size, sections[side], _section_keys(sections, side), spans[side], keys[side])
        for side in (0, 1)
    ]
    return ByteDiff((sources[0], sources[1]), _aligned(pieces[0], pieces[1]), width)


def _object_spans(
    found: ShardDiff, shards: tuple[Shard, Shard], members: tuple[str, str], sources: Sequence[Source]
) -> tuple[list[I64], list[I64]]:
    """Return the ascending, disjoint ranges of the objects per file, and the numbers of these objects in `found`."""
    rows = found.first, found.second
    # Across formats an object may be matched twice; only its first match is used.
    wanted = np.ones(len(found.kinds), np.bool_)
    wanted[found.kinds == CODES[DiffKind.RENAMED]] = not found.across
    all_spans, all_keys = [], []
    for side in (0, 1):
        numbers = np.flatnonzero((rows[side] >= 0) & wanted)
        spans = _spans_of(shards[side], rows[side][numbers], members[side])
        inside = (spans[:, 0] >= 0) & (spans[:, 0] < spans[:, 1]) & (spans[:, 1] <= sources[side].size)
        numbers, spans = numbers[inside], spans[inside]
        order = np.argsort(spans[:, 0], kind="stable")
        numbers, spans = numbers[order], spans[order]
        # Of objects that share bytes, only the first is aligned.
        before = np.concatenate([[0], np.maximum.accumulate(spans[:, 1])[:-1]]) if len(spans) else spans[:, 0]
        apart = spans[:, 0] >= before
        all_spans.append(spans[apart])
        all_keys.append(numbers[apart])
    return all_spans, all_keys


def _spans_of(shard: Shard, rows: I64, member: str) -> I64:
    spans = np.full((len(rows), 2), -1, np.int64)
    if isinstance(shard, DataSet) and not shard.joins:
        return spans
    number = next((n for n, one in enumerate(shard.members) if one.name == member), -1) if member else 0  # type: ignore[attr-defined]
    for part, columns in columns_at(shard.objects, rows, sizes=True):
        here = columns.shard == number
        spans[part, 0] = np.where(here, columns.start, -1)
        spans[part, 1] = np.where(here, columns.stop, -1)
    return spans


def _section_keys(sections: Sequence[tuple[Section, ...]], side: int) -> I64:
    """Return a key per section of one file; the n-th sections of one name have the same key in both files."""
    known: dict[tuple[str, int], int] = {}
    keys: list[list[int]] = []
    for one in sections:
        seen: dict[str, int] = {}
        mine = []
        for section in one:
            seen[section.name] = seen.get(section.name, 0) + 1
            mine.append(known.setdefault((section.name, seen[section.name]), len(known)))
        keys.append(mine)
    return np.array(keys[side], np.int64)


@dataclass(frozen=True)
class _Pieces:
    edges: I64
    keys: I64
    section: I64


def _pieces(size: int, sections: tuple[Section, ...], names: I64, spans: I64, numbers: I64) -> _Pieces:
    """Cut a file at the boundaries of its sections and objects.

    The key of a piece is `2 * n` for object n of the comparison, `2 * n + 1` for the bytes before it, else negative.
    """
    begins = np.array([section.start for section in sections], np.int64)
    # Ten times as fast as `np.unique`.
    edges = np.sort(np.concatenate([begins, spans.reshape(-1), [0, size]]))
    edges = edges[(edges >= 0) & (edges <= size) & np.concatenate([[True], edges[1:] > edges[:-1]])]
    if len(edges) < 2:
        return _Pieces(np.array([0], np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    starts = edges[:-1]
    section = np.maximum(np.searchsorted(begins, starts, "right") - 1, 0)
    object_at = np.searchsorted(spans[:, 0], starts, "right") - 1
    padded = np.concatenate([numbers, [-1]])
    of_object = (object_at >= 0) & (starts < np.concatenate([spans[:, 1], [-1]])[object_at])
    following = np.searchsorted(spans[:, 0], starts, "left")
    begin = np.concatenate([spans[:, 0], [1 << 62]])[following]
    # The end of a section is matched with the end of that section, even if an object follows directly.
    ahead = (following < len(numbers)) & (begin == edges[1:]) & ~of_object
    ahead &= np.maximum(np.searchsorted(begins, begin, "right") - 1, 0) == section
    own = names[section] if len(names) else section
    keys = np.where(of_object, 2 * padded[object_at], np.where(ahead, 2 * padded[following] + 1, _HEAD + own))
    # Overlaps cut a section or object into several pieces with one key: only the first is matched.
    order = np.argsort(keys, kind="stable")
    again = np.zeros(len(keys), np.bool_)
    again[order[1:]] = keys[order[1:]] == keys[order[:-1]]
    keys[again] = _HEAD // 2 - np.flatnonzero(again)
    return _Pieces(edges, keys, own)


def _aligned(one: _Pieces, other: _Pieces) -> AlignedRanges:
    """Pair the pieces of two files by key, in the order of the first; unmatched pieces of the second are inserted."""
    _, a, b = np.intersect1d(one.keys, other.keys, assume_unique=True, return_indices=True)
    partner = np.full(len(other.keys), -1, np.int64)
    partner[b] = a
    # A piece of the second file alone is placed after its nearest predecessor that both files have.
    last = np.maximum.accumulate(np.where(partner >= 0, np.arange(len(partner)), -1))
    after = np.where(last >= 0, partner[np.maximum(last, 0)], -1)
    alone = np.flatnonzero(partner < 0)
    match = np.full(len(one.keys), -1, np.int64)
    match[a] = b
    left = np.concatenate([np.arange(len(one.keys)), np.full(len(alone), -1, np.int64)])
    right = np.concatenate([match, alone])
    order = np.lexsort((right * (left < 0), left < 0, np.concatenate([np.arange(len(one.keys)), after[alone]])))
    left, right = left[order], right[order]
    spans = [_spans_at(one, left), _spans_at(other, right)]
    section = np.where(left >= 0, one.section[left], -2) if len(one.section) else np.full(len(left), -2)
    return _merged(spans[0], spans[1], section)


def _spans_at(pieces: _Pieces, places: I64) -> I64:
    """Return the byte ranges of the pieces with these indices; for -1, an empty range after the previous piece."""
    spans = np.zeros((len(places), 2), np.int64)
    there = places >= 0
    if not there.any():
        return spans
    spans[there, 0], spans[there, 1] = pieces.edges[places[there]], pieces.edges[places[there] + 1]
    last = np.maximum.accumulate(np.where(there, np.arange(len(places)), -1))
    gone = ~there & (last >= 0)
    spans[gone] = spans[last[gone], 1][:, np.newaxis]
    return spans


def _merged(first: I64, second: I64, section: I64) -> AlignedRanges:
    if not len(first):
        return AlignedRanges(first, second)
    even = (first[:, 1] - first[:, 0]) == (second[:, 1] - second[:, 0])
    goes_on = (first[1:, 0] == first[:-1, 1]) & (second[1:, 0] == second[:-1, 1]) & (section[1:] == section[:-1])
    joined = goes_on & even[:-1] & even[1:]
    begins = np.flatnonzero(np.concatenate([[True], ~joined]))
    ends = np.append(begins[1:], len(first)) - 1
    return AlignedRanges(
        np.stack([first[begins, 0], first[ends, 1]], axis=1), np.stack([second[begins, 0], second[ends, 1]], axis=1)
    )
