"""Verification of a shard: the shard index, then every minishard index, then every value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shardcore.errors import FormatError, ShardError
from shardcore.finding import Depth, Findings, Report
from shardcore.formats.neuroglancer.info import SpaceKind
from shardcore.formats.neuroglancer.layout import SHARD_INDEX_ENTRY
from shardcore.formats.neuroglancer.morton import decode_many
from shardcore.formats.neuroglancer.sharding import shard_number, strict_faults
from shardcore.formats.neuroglancer.table import Table
from shardcore.formats.neuroglancer.things import Thing, things_of
from shardcore.formats.neuroglancer.volume import chunk_sizes
from shardcore.progress import Progress
from shardcore.span import Span

if TYPE_CHECKING:
    from shardcore.formats.neuroglancer.reader import NeuroglancerShard

PROGRESS_EVERY = 256
LISTED = 1000
"""Rows of one kind that are made into findings; `Findings` counts the others."""


def verify(shard: NeuroglancerShard, depth: Depth, progress: Progress) -> Report:
    """Checks a shard to a depth.

    Raises:
        SourceError: The bytes cannot be had.
    """
    findings = Findings()
    progress(0, 1)
    _check_origin(shard, findings)
    table = shard.index.table(progress)
    _check_shard_index(shard, table, findings)
    if depth.reaches(Depth.INDEX):
        _check_minishards(shard, table, findings)
        _check_entries(shard, table, findings)
        _check_places(shard, table, findings)
        _check_space(shard, table, findings)
    if depth.reaches(Depth.CONTENT):
        if shard.origin.space.kind is SpaceKind.MESH:
            _check_meshes(shard, table, findings, progress)
        else:
            _check_unlisted(shard, table, findings)
        _check_values(shard, table, findings, progress)
    progress(1, 1)
    return Report(depth, len(table.entries), findings.all())


def _check_origin(shard: NeuroglancerShard, findings: Findings) -> None:
    origin = shard.origin
    for fault in strict_faults(origin.sharding) if origin.sharding is not None else ():
        findings.warning("neuroglancer.info", origin.place, f"sharding: {fault}: strict readers refuse it")
    for other in origin.others:
        if not other.endswith("not sharded"):
            findings.warning("neuroglancer.info", None, other)
    if origin.inference is not None:
        findings.note("neuroglancer.inferred", None, f"there is no info that serves; {origin.why}")
        best = origin.inference.best
        for sentence in best.ambiguity() if best is not None else ():
            findings.note("neuroglancer.open", None, sentence)
    named = shard_number(shard.source.name)
    if named is None or origin.inference is not None:
        return
    if named[1] != shard.spec.name_digits or named[0] >= shard.spec.shards:
        findings.error(
            "neuroglancer.file-name",
            None,
            f"no reader opens {shard.source.name}: shards are called {shard.spec.shard_name(0)} "
            f"to {shard.spec.shard_name(shard.spec.shards - 1)}",
        )


def _check_shard_index(shard: NeuroglancerShard, table: Table, findings: Findings) -> None:
    base, size = shard.index.base, shard.source.size
    starts, ends = table.pairs[:, 0], table.pairs[:, 1]
    for number in np.flatnonzero(starts > ends).tolist():
        findings.error("neuroglancer.backward-range", _pair_span(number), f"minishard {number} ends before it starts")
    outside = (starts < ends) & (ends > np.uint64(size - base))
    for number in np.flatnonzero(outside).tolist():
        stop = base + int(ends[number])
        message = f"the index of minishard {number} ends at {stop}, the file at {size}"
        findings.error("neuroglancer.range-outside", _pair_span(number), message)
    used = np.flatnonzero((starts < ends) & ~outside)
    order = used[np.argsort(starts[used], kind="stable")]
    reach = np.maximum.accumulate(ends[order]) if len(order) else ends[order]
    for at in np.flatnonzero(starts[order][1:] < reach[:-1]).tolist():
        first, second = int(order[at]), int(order[at + 1])
        message = f"the indices of minishards {first} and {second} share bytes"
        findings.error("neuroglancer.shared-index", _pair_span(second), message)
    if not (starts != ends).any():
        findings.note("neuroglancer.empty", None, "every minishard is empty: writers leave such a file out")


def _check_minishards(shard: NeuroglancerShard, table: Table, findings: Findings) -> None:
    told = _bad_pairs(shard, table)
    for number, error in sorted(table.damage.items()):
        if number not in told:
            findings.error("neuroglancer.minishard-index", error.span, error.message)


def _bad_pairs(shard: NeuroglancerShard, table: Table) -> set[int]:
    """Minishards whose entry in the shard index is wrong already."""
    starts, ends = table.pairs[:, 0], table.pairs[:, 1]
    limit = np.uint64(shard.source.size - shard.index.base)
    return set(np.flatnonzero((starts > ends) | ((starts < ends) & (ends > limit))).tolist())


def _check_entries(shard: NeuroglancerShard, table: Table, findings: Findings) -> None:
    entries = table.entries
    for row in _some(entries.wrapped, findings, "neuroglancer.id-overflow"):
        message = f"the running sum of ids passes 2**64 and comes to {_key(table, row)}"
        findings.error("neuroglancer.id-overflow", _index_span(shard, table, row), message, key=_key(table, row))
    same = np.zeros(len(entries), np.bool_)
    order = np.lexsort((np.arange(len(entries)), entries.ids, entries.minishards))
    equal = (entries.ids[order][1:] == entries.ids[order][:-1]) & (
        entries.minishards[order][1:] == entries.minishards[order][:-1]
    )
    same[order[1:][equal]] = True
    for row in _some(same, findings, "neuroglancer.duplicate-id"):
        message = f"key {_key(table, row)} is listed again: some readers take the first, some the last"
        findings.error("neuroglancer.duplicate-id", _index_span(shard, table, row), message, key=_key(table, row))
    falling = np.zeros(len(entries), np.bool_)
    falling[1:] = (entries.ids[1:] < entries.ids[:-1]) & (entries.slots[1:] > 0)
    for number in np.unique(entries.minishards[falling & ~entries.wrapped]).tolist()[:LISTED]:
        findings.note("neuroglancer.id-order", _stored_index(table, shard, number), f"ids of minishard {number} fall")
    for row in _some(~entries.inside, findings, "neuroglancer.value-outside"):
        start, size = int(entries.starts[row]), int(entries.sizes[row])
        message = f"key {_key(table, row)}: {size} bytes at {start}, outside the {shard.source.size} of the file"
        findings.error("neuroglancer.value-outside", _index_span(shard, table, row), message, key=_key(table, row))
    things = things_of(table, None, shard.index.base, shard.source.size, gaps=False)
    reach = np.maximum.accumulate(things.stops) if len(things.stops) else things.stops
    for at in np.flatnonzero(things.starts[1:] < reach[:-1]).tolist()[:LISTED]:
        span = Span("", int(things.starts[at + 1]), int(min(things.stops[at + 1], reach[at])))
        values = Thing.INDEX not in (things.kinds[at], things.kinds[at + 1])
        text = "two values" if values else "a value and an index, or two indices,"
        findings.warning("neuroglancer.overlap", span, f"{text} share bytes")


def _check_places(shard: NeuroglancerShard, table: Table, findings: Findings) -> None:
    entries = table.entries
    minishards, shards = shard.spec.place_many(entries.ids)
    wrong = minishards != entries.minishards.astype(np.uint64)
    for row in _some(wrong, findings, "neuroglancer.wrong-minishard"):
        message = (
            f"key {_key(table, row)} is listed under minishard {int(entries.minishards[row])} "
            f"but belongs in {int(minishards[row])}: no lookup finds it"
        )
        findings.error("neuroglancer.wrong-minishard", _index_span(shard, table, row), message, key=_key(table, row))
    if shard.number is None:
        return
    for row in _some(shards != np.uint64(shard.number), findings, "neuroglancer.wrong-shard"):
        name = shard.spec.shard_name(int(shards[row]))
        message = f"key {_key(table, row)} belongs in {name}: no lookup finds it here"
        findings.error("neuroglancer.wrong-shard", _index_span(shard, table, row), message, key=_key(table, row))


def _check_space(shard: NeuroglancerShard, table: Table, findings: Findings) -> None:
    grid = shard.origin.space.grid
    if grid is None:
        return
    _, valid = decode_many(table.entries.ids, grid)
    for row in _some(~valid, findings, "neuroglancer.no-cell"):
        message = f"key {_key(table, row)} is the code of no cell of the grid {', '.join(map(str, grid))}"
        findings.warning("neuroglancer.no-cell", _index_span(shard, table, row), message, key=_key(table, row))
    if not valid.all() and _fits_older_rule(table, grid):
        text = "all keys are codes by an older rule, with one bit more on axes whose length is a power of two"
        findings.note("neuroglancer.older-codes", None, text)


def _fits_older_rule(table: Table, grid: tuple[int, ...]) -> bool:
    """Whether every key is a code where an axis takes part while `2**i <= grid[axis]`, as was once published."""
    wider = tuple(length + 1 if length & (length - 1) == 0 else length for length in grid)
    try:
        cells, valid = decode_many(table.entries.ids, wider)
    except FormatError:
        return False
    return bool(valid.all()) and bool((cells < np.array(grid, np.uint64)).all())


def _check_meshes(shard: NeuroglancerShard, table: Table, findings: Findings, progress: Progress) -> None:
    meshes = shard.meshes(progress)
    for row, error in sorted(meshes.damage.items()):
        message = f"key {_key(table, row)}: {error.message}"
        findings.error("neuroglancer.manifest", error.span, message, key=_key(table, row))
    things = things_of(table, meshes, shard.index.base, shard.source.size)
    gaps = int((things.stops - things.starts)[things.kinds == Thing.GAP].sum())
    if gaps:
        text = f"{gaps} bytes belong to no value, no index and no fragment of a mesh"
        findings.note("neuroglancer.unlisted", None, text)


def _check_unlisted(shard: NeuroglancerShard, table: Table, findings: Findings) -> None:
    things = things_of(table, None, shard.index.base, shard.source.size)
    gaps = int((things.stops - things.starts)[things.kinds == Thing.GAP].sum())
    if gaps:
        findings.note("neuroglancer.unlisted", None, f"no index lists {gaps} bytes of the file")


def _check_values(shard: NeuroglancerShard, table: Table, findings: Findings, progress: Progress) -> None:
    """Decodes every value that is compressed, and compares the lengths of raw chunks."""
    entries = table.entries
    sizes = np.where(entries.inside, entries.sizes, np.uint64(0)).astype(np.int64)
    readable = entries.inside.copy()
    if shard.spec.data_encoding == "gzip":
        for done, (row, value) in enumerate(shard.contents()):
            if done % PROGRESS_EVERY == 0:
                progress(done, len(entries))
            if isinstance(value, ShardError):
                message = f"key {_key(table, row)}: {value.message}"
                findings.error("neuroglancer.value", value.span, message, key=_key(table, row))
                readable[row] = False
            else:
                sizes[row] = len(value)
    scale = shard.origin.space.scale
    if scale is None or scale.encoding != "raw":
        return
    try:
        expected = chunk_sizes(shard.origin.space, entries.ids)
    except FormatError as error:
        findings.warning("neuroglancer.voxels", None, error.message)
        return
    for row in _some(readable & (expected >= 0) & (sizes != expected), findings, "neuroglancer.chunk-size"):
        start, stored = int(entries.starts[row]), int(entries.sizes[row])
        message = f"chunk {_key(table, row)} has {sizes[row]} bytes; its voxels take {expected[row]}"
        findings.error("neuroglancer.chunk-size", Span("", start, start + stored), message, key=_key(table, row))


def _some(marked: npt.NDArray[np.bool_], findings: Findings, code: str) -> list[int]:
    """The first rows that are marked; the number of the others becomes a finding."""
    rows = np.flatnonzero(marked)
    if len(rows) > LISTED:
        findings.error(code, None, f"{len(rows)} keys in all; the first {LISTED} are listed")
    return [int(row) for row in rows[:LISTED]]


def _key(table: Table, row: int) -> str:
    return str(table.entries.ids[row])


def _pair_span(number: int) -> Span:
    return Span("", number * SHARD_INDEX_ENTRY.size, (number + 1) * SHARD_INDEX_ENTRY.size)


def _stored_index(table: Table, shard: NeuroglancerShard, number: int) -> Span:
    start, end = table.pairs[number].tolist()
    return Span("", shard.index.base + start, shard.index.base + end)


def _index_span(shard: NeuroglancerShard, table: Table, row: int) -> Span:
    """The stored minishard index that lists a row."""
    return _stored_index(table, shard, int(table.entries.minishards[row]))
