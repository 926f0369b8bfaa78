"""Regions after the shard index as columns: values, minishard indices, fragments, unlisted bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from shardcore.formats.neuroglancer.index_levels import IndexLevels, MinishardTable
from shardcore.formats.neuroglancer.layout import MINISHARD_INDEX, RangeFault, is_whole, range_faults
from shardcore.formats.neuroglancer.meshes import Meshes
from shardcore.model.computed_children import gaps
from shardcore.model.record import FieldRole
from shardcore.model.role_runs import Runs
from shardcore.model.section import Section, SectionRole

WORD = 8
SHARD_INDEX = "shard index"
CHUNK_DATA = "chunk data"
MINISHARD_INDICES = "minishard indices"
MIXED = "chunks and indices"
REGION_SECTIONS = (CHUNK_DATA, MINISHARD_INDICES, MIXED)


class RegionKind(IntEnum):
    """Kind of a region; if two regions start at the same byte, the one with the higher kind is shown."""

    GAP = 0
    FRAGMENTS = 1
    VALUE = 2
    INDEX = 3


@dataclass(frozen=True, slots=True)
class Regions:
    """Non-empty regions after the shard index, sorted by start; arrays of one length.

    `numbers` has the row of a value or of mesh fragments, or the number of a minishard.
    """

    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.uint8]
    numbers: npt.NDArray[np.int64]

    def between(self, start: int, stop: int) -> Regions:
        part = slice(*np.searchsorted(self.starts, [start, stop]).tolist())
        return Regions(self.starts[part], self.stops[part], self.kinds[part], self.numbers[part])


def regions_of(table: MinishardTable, meshes: Meshes | None, base: int, size: int, *, unlisted: bool = True) -> Regions:
    """Return all regions of a shard, with `unlisted` also the gaps between them."""
    entries = table.entries
    starts, ends = table.pairs[:, 0], table.pairs[:, 1]
    used = np.flatnonzero((starts < ends) & (range_faults(table.pairs, base, size) == RangeFault.NONE))
    rows = np.flatnonzero(entries.inside & (entries.sizes > 0))
    values = entries.starts[rows].astype(np.int64)
    parts = [
        (base + starts[used].astype(np.int64), base + ends[used].astype(np.int64), RegionKind.INDEX, used),
        (values, values + entries.sizes[rows].astype(np.int64), RegionKind.VALUE, rows),
    ]
    if meshes is not None:
        owners = np.flatnonzero((meshes.fragments >= 0) & entries.inside)
        parts.append((meshes.fragments[owners], entries.starts[owners].astype(np.int64), RegionKind.FRAGMENTS, owners))
    found = _sorted(parts)
    if not unlisted:
        return found
    holes = gaps(found.starts, found.stops, base, size)
    if not len(holes):
        return found
    gap = (holes[:, 0], holes[:, 1], RegionKind.GAP, np.arange(len(holes)))
    return _sorted([(found.starts, found.stops, found.kinds, found.numbers), gap])


def _sorted(parts: Sequence[tuple[Any, Any, Any, Any]]) -> Regions:
    starts = np.concatenate([part[0] for part in parts]).astype(np.int64, copy=False)
    stops = np.concatenate([part[1] for part in parts]).astype(np.int64, copy=False)
    kinds = np.concatenate([np.broadcast_to(np.asarray(part[2], np.uint8), len(part[0])) for part in parts])
    order = np.lexsort((kinds, starts))
    order = order[(stops > starts)[order]]
    numbers = np.concatenate([part[3] for part in parts]).astype(np.int64, copy=False)
    return Regions(starts[order], stops[order], kinds[order], numbers[order])


def sections_of(levels: IndexLevels, size: int) -> tuple[Section, ...]:
    """Return the sections of a shard from its shard index.

    Contiguous minishard indices (cloud-volume) are a section; if they alternate with values (tensorstore), both share
    one section.
    """
    base = levels.base
    claims = [Section(SHARD_INDEX, SectionRole.INDEX, 0, base, "For each minishard, the range of its minishard index.")]
    pairs = levels.known_pairs()
    used = pairs[pairs[:, 0] < pairs[:, 1]] if pairs is not None else None
    if used is not None and len(used):
        used = used[np.argsort(used[:, 0], kind="stable")]
        together = bool((used[1:, 0] == used[:-1, 1]).all()) and not range_faults(used, base, size).any()
        if together:
            first, last = base + int(used[0, 0]), base + int(used[-1, 1])
            claims += [
                _data_section(base, first),
                Section(
                    MINISHARD_INDICES,
                    SectionRole.INDEX,
                    first,
                    last,
                    "For each minishard, the keys, offsets and sizes of its values.",
                ),
                _data_section(last, size),
            ]
            return tuple(claim for claim in claims if claim.size)
    if used is None or len(used):
        text = "Chunk data and minishard indices in any order; the shard index has the range of each minishard index."
        claims.append(Section(MIXED, SectionRole.DATA, base, size, text))
    return tuple(claim for claim in claims if claim.size)


def _data_section(start: int, stop: int) -> Section:
    return Section(CHUNK_DATA, SectionRole.DATA, start, stop, "The stored values of the keys.")


def paint(regions: Regions, first: int, last: int, *, plain: bool) -> Runs:
    """Return the colour runs of the regions `[first, last)`, each cut at the next; `plain` means raw indices."""
    part = slice(first, last)
    starts, kinds = regions.starts[part], regions.kinds[part]
    bounds = np.append(regions.starts[first + 1 : last + 1], np.iinfo(np.int64).max)[: last - first]
    stops = np.minimum(regions.stops[part], bounds)
    roles = _KIND_ROLES[kinds]
    raw = kinds == RegionKind.INDEX
    raw &= plain
    lengths = regions.stops[part] - starts
    odd = raw & ~is_whole(lengths)
    roles = np.where(odd, FieldRole.UNKNOWN, roles).astype(np.uint8)
    raw &= ~odd
    parity = np.arange(first, last) & 1
    whole = Runs.of(starts[~raw], stops[~raw], roles[~raw], parity[~raw])
    words = _word_runs(starts[raw], lengths[raw], stops[raw])
    return Runs.join([whole, words]).sorted()


_KIND_ROLES = np.array([FieldRole.UNKNOWN, FieldRole.DATA, FieldRole.DATA, FieldRole.OFFSET], np.uint8)
_COLUMN_ROLES = np.array([field.role for field in MINISHARD_INDEX.fields], np.uint8)


def _word_runs(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> Runs:
    words = lengths // WORD
    inside = np.arange(int(words.sum()), dtype=np.int64) - np.repeat(np.cumsum(words) - words, words)
    counts = np.repeat(words // len(MINISHARD_INDEX.fields), words)
    at = np.repeat(starts, words) + WORD * inside
    ends = np.minimum(at + WORD, np.repeat(stops, words))
    rows = np.maximum(counts, 1)
    return Runs.of(at, ends, _COLUMN_ROLES[inside // rows], (inside % rows) & 1)
