"""Reading the manifests of a mesh shard to locate its fragments, which no index lists.

"Sharded storage of multi-resolution mesh manifest": the fragments of a segment are directly before its manifest,
in the order of the manifest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardcore.codecs.decompress import decompress
from shardcore.errors import FormatError, LimitExceeded, ShardError
from shardcore.formats.neuroglancer.index_levels import MinishardTable
from shardcore.formats.neuroglancer.layout import fragments_span, read_manifest
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.model.span import Span
from shardcore.progress import Progress, no_progress
from shardcore.sources.base import Source

MANIFEST_LIMIT = 64 << 20
"""Largest manifest in bytes, which is enough for four million fragments."""
MANIFESTS_FLOOR = 64 << 20
MANIFESTS_RATIO = 16
MANIFEST_COST = 1024
"""Cost of a manifest in the work budget, in addition to its size, in bytes."""
BATCH = 1024
BATCH_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Meshes:
    """Manifests of a shard: start of the fragments per row (int64, -1 if unknown), and errors by row."""

    fragments: npt.NDArray[np.int64]
    damage: dict[int, ShardError]


def decode_manifest(spec: ShardingSpec, stored: bytes, place: Span) -> bytes:
    """Return a manifest, decompressed; raise LimitExceeded above `MANIFEST_LIMIT` bytes."""
    codec = "gzip" if spec.data_encoding == "gzip" else "none"
    return decompress(codec, stored, limit=MANIFEST_LIMIT, span=place)


def read_meshes(source: Source, spec: ShardingSpec, table: MinishardTable, progress: Progress = no_progress) -> Meshes:
    """Read all manifests of a shard in batches; each distinct range is read once."""
    entries = table.entries
    fragments = np.full(len(entries), -1, np.int64)
    damage: dict[int, ShardError] = {}
    rows = np.flatnonzero(entries.inside & (entries.sizes <= np.uint64(MANIFEST_LIMIT)))
    rows = rows[np.lexsort((entries.sizes[rows], entries.starts[rows]))]
    same = _same_as_before(entries.starts[rows], entries.sizes[rows])
    twins, rows = rows, rows[~same]
    # Overlapping manifests are read, but in total not more than a multiple of the file size.
    left, done = MANIFESTS_FLOOR + MANIFESTS_RATIO * source.size, 0
    while done < len(rows):
        count = 1 + int(np.searchsorted(np.cumsum(entries.sizes[rows[done : done + BATCH]]), np.uint64(BATCH_BYTES)))
        batch = rows[done : done + count]
        starts, sizes = entries.starts[batch].tolist(), entries.sizes[batch].tolist()
        places = [(start, start + size) for start, size in zip(starts, sizes, strict=True)]
        for row, place, stored in zip(batch.tolist(), places, source.read_many(places), strict=True):
            span = Span("", *place)
            if left <= 0:
                damage[row] = FormatError("its manifest overlaps many other manifests", span=span)
                continue
            left -= len(stored) + MANIFEST_COST
            try:
                data = decode_manifest(spec, stored, span)
                left -= len(data)
                fragments[row] = fragments_span(read_manifest(data, span), span.start, spec.index_size).start
            except (FormatError, LimitExceeded) as error:
                # The traceback would keep every manifest in memory.
                error.__cause__ = error.__context__ = None
                damage[row] = error.with_traceback(None)
        done += len(batch)
        progress(done, len(rows))
    _copy_to_twins(twins, same, fragments, damage)
    return Meshes(fragments, damage)


def _same_as_before(starts: npt.NDArray[np.uint64], sizes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    same = np.zeros(len(starts), np.bool_)
    same[1:] = (starts[1:] == starts[:-1]) & (sizes[1:] == sizes[:-1])
    return same


def _copy_to_twins(
    rows: npt.NDArray[np.int64],
    same: npt.NDArray[np.bool_],
    fragments: npt.NDArray[np.int64],
    damage: dict[int, ShardError],
) -> None:
    if not same.any():
        return
    first = rows[np.maximum.accumulate(np.where(same, 0, np.arange(len(rows))))]
    fragments[rows] = fragments[first]
    if damage:
        for row, of in zip(rows[same].tolist(), first[same].tolist(), strict=True):
            if of in damage:
                damage[row] = damage[of]
