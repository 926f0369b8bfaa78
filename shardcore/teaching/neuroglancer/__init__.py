"""Drawings of Neuroglancer shards: the bits of a key, the steps of a lookup, and charts of their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shardcore.formats.neuroglancer.file import REGION_SECTIONS, SHARD_INDEX, NeuroglancerFile, RegionKind
from shardcore.formats.neuroglancer.folder import NeuroglancerDataSet
from shardcore.formats.neuroglancer.shard import NeuroglancerShard
from shardcore.formats.neuroglancer.sharding import IDENTITY, parse_key
from shardcore.model.drawing import Sketch, StaticSketch
from shardcore.model.section import Section
from shardcore.model.usage import Load, LoadSource, Share, Use, budget, counts_of, share_of
from shardcore.progress import Progress
from shardcore.teaching.neuroglancer.key_bits import BitsSketch, OpenFiles, cell_drawing, route_drawing
from shardcore.teaching.neuroglancer.key_bits import step_figures as step_figures

if TYPE_CHECKING:
    from shardcore.formats.neuroglancer.origin import Origin
    from shardcore.shards.dataset import DataSet
    from shardcore.shards.shard import Shard
    from shardcore.shards.trace import Trace

_NAMES = (
    (RegionKind.VALUE, Use.DATA, "values", "The stored values of the keys."),
    (RegionKind.FRAGMENTS, Use.DATA, "mesh fragments", "Stored before their manifests; not listed in any index."),
    (RegionKind.INDEX, Use.INDEX, "minishard indices", "Keys, offsets and sizes of the values."),
    (RegionKind.GAP, Use.DEAD, "unlisted bytes", "No index refers to them."),
)


def shares(file: NeuroglancerFile) -> tuple[Share, ...]:
    """Return the shares of the sections; those after the shard index are known only once all indices are loaded."""
    inside: dict[str, Sequence[Share]] = {}
    if (pairs := file.levels.known_pairs) is not None:
        inside[SHARD_INDEX] = file.levels.shard_index.shares(pairs[:, 0] != pairs[:, 1])
    names = [section.name for section in file.sections]
    for section in file.sections if file.levels.known_table is not None else ():
        # Values may be before and after the indices; then there are two such sections.
        if section.name in REGION_SECTIONS and names.count(section.name) == 1:
            inside[section.name] = _after(file, section)
    return budget(file.sections, inside)


def _after(file: NeuroglancerFile, section: Section) -> list[Share]:
    regions = file.regions()
    cut = np.append(regions.starts[1:], np.iinfo(np.int64).max)
    starts = np.clip(regions.starts, section.start, section.stop)
    stops = np.clip(np.minimum(regions.stops, cut[: len(starts)]), section.start, section.stop)
    return [
        share_of(use, name, starts[regions.kinds == kind], stops[regions.kinds == kind], doc)
        for kind, use, name, doc in _NAMES
    ]


def loads(file: NeuroglancerFile) -> tuple[LoadSource, ...]:
    reads = 0 if file.levels.known_table is not None else file.index_bytes
    return (LoadSource("minishards", "Keys in the minishards", reads, partial(_minishards, file)),)


def _minishards(file: NeuroglancerFile, progress: Progress) -> Load:
    table = file.levels.table(progress)
    counts = counts_of(table.entries.minishards, file.spec.minishards)
    starts, ends = table.pairs[:, 0], table.pairs[:, 1]
    fine = (starts <= ends) & (ends <= np.uint64(max(file.source.size - file.base, 0)))
    hashed = file.spec.hash != IDENTITY
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


def sketches(shard: Shard, trace: Trace | None) -> tuple[Sketch, ...]:
    if not isinstance(shard, NeuroglancerShard):
        return ()
    key = None if trace is None else parse_key(trace.key)
    return (BitsSketch(shard.origin, key, lambda: shard.file), *_cell_sketch(shard.origin, key))


def _cell_sketch(origin: Origin, key: int | None) -> tuple[Sketch, ...]:
    grid = origin.space.grid
    drawing = None if key is None or grid is None else cell_drawing(key, grid)
    return () if drawing is None else (StaticSketch("cell", "Cell", drawing),)


def folder_sketches(data_set: DataSet, trace: Trace | None) -> tuple[Sketch, ...]:
    if not isinstance(data_set, NeuroglancerDataSet):
        return ()
    # After a lookup, the shard of the key is open if it exists.
    name = data_set.first_member if trace is None else trace.member
    inside = data_set.may_hold(name) and (trace is None or data_set.is_open(name))
    key = None if trace is None else parse_key(trace.key)

    def file() -> NeuroglancerFile | None:
        return data_set.file_of(name) if inside else None

    sketch = BitsSketch(data_set.origin, key, file, lambda: _open_files(data_set))
    drawn = data_set.placed_sketches((sketch,), name) if inside else (sketch,)
    if key is None:
        return drawn if inside else ()
    spec = data_set.origin.spec
    files = StaticSketch("files", "Files", route_drawing(spec, spec.place(key), data_set.file_numbers))
    return (*drawn, *_cell_sketch(data_set.origin, key), files)


def _open_files(data_set: NeuroglancerDataSet) -> OpenFiles:
    names = [member.name for member in data_set.members] if data_set.listed else []
    opened = [name for name in names if data_set.is_open(name)]
    return [data_set.file_of(name) for name in opened], data_set.listed and len(opened) == len(names)
