"""Charts of a shard: use of the file's bytes, and keys per minishard."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from shardcore.formats.neuroglancer.byte_regions import REGION_SECTIONS, SHARD_INDEX, RegionKind, regions_of
from shardcore.formats.neuroglancer.file import NeuroglancerFile
from shardcore.formats.neuroglancer.index_levels import MinishardTable
from shardcore.model.byte_shares import Share, Use, budget, share_of
from shardcore.model.section import Section
from shardcore.model.slot_usage import Load, LoadSource, counts_of
from shardcore.progress import Progress

_NAMES = (
    (RegionKind.VALUE, Use.DATA, "values", "The stored values of the keys."),
    (RegionKind.FRAGMENTS, Use.DATA, "mesh fragments", "Stored before their manifests; not listed in any index."),
    (RegionKind.INDEX, Use.INDEX, "minishard indices", "Keys, offsets and sizes of the values."),
    (RegionKind.GAP, Use.DEAD, "unlisted bytes", "No index refers to them."),
)


def shares(file: NeuroglancerFile) -> tuple[Share, ...]:
    """Return the shares of the sections; those after the shard index are known only once all indices are loaded."""
    inside: dict[str, Sequence[Share]] = {}
    pairs = file.levels.known_pairs()
    if pairs is not None:
        inside[SHARD_INDEX] = file.levels.shard_index.shares(pairs[:, 0] != pairs[:, 1])
    table = file.levels.known_table
    if table is not None:
        for section in file.sections:
            if section.name in REGION_SECTIONS and section.name not in inside:
                # Values may be before and after the indices; then there are two such sections.
                mine = [one for one in file.sections if one.name == section.name]
                if len(mine) == 1:
                    inside[section.name] = _after(file, table, section)
    return budget(file.sections, inside)


def _after(file: NeuroglancerFile, table: MinishardTable, section: Section) -> list[Share]:
    regions = regions_of(table, file.known_meshes, file.base, file.source.size)
    cut = np.append(regions.starts[1:], np.iinfo(np.int64).max)
    starts = np.clip(regions.starts, section.start, section.stop)
    stops = np.clip(np.minimum(regions.stops, cut[: len(starts)]), section.start, section.stop)
    return [
        share_of(use, name, starts[regions.kinds == kind], stops[regions.kinds == kind], doc)
        for kind, use, name, doc in _NAMES
    ]


def loads(file: NeuroglancerFile) -> tuple[LoadSource, ...]:
    reads = 0 if file.levels.loaded else file.index_bytes
    return (LoadSource("minishards", "Keys in the minishards", reads, partial(_minishards, file)),)


def _minishards(file: NeuroglancerFile, progress: Progress) -> Load:
    table = file.levels.table(progress)
    counts = counts_of(table.entries.minishards, file.spec.minishards)
    starts, ends = table.pairs[:, 0], table.pairs[:, 1]
    fine = (starts <= ends) & (ends <= np.uint64(max(file.source.size - file.base, 0)))
    hashed = file.spec.hash != "identity"
    spread = "A hash distributes the keys over the minishards" if hashed else "The bits of a key select its minishard"
    return Load(
        "Keys in the minishards",
        "minishard",
        "key",
        counts,
        f"{spread}; a lookup reads the index of one minishard, so it is cheapest if keys are evenly distributed.",
        int(counts.sum()) / max(len(counts), 1),
        by_chance=hashed,
        row_bounds=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        starts=np.where(fine, starts, 0).astype(np.int64) + file.base,
        stops=np.where(fine, ends, 0).astype(np.int64) + file.base,
    )
