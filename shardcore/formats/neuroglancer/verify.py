"""Verification of a shard: shard index, minishard indices, values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from shardcore.codecs.decoder_process import TaskRunner, run_task
from shardcore.codecs.draco import ENCODED, decode_fragments
from shardcore.errors import FormatError, LimitExceeded, PackageMissing, ShardError, Unsupported
from shardcore.formats.neuroglancer.byte_regions import RegionKind, regions_of
from shardcore.formats.neuroglancer.chunk_codecs import PICTURES, check_chunk
from shardcore.formats.neuroglancer.chunks import chunk_layout, chunk_sizes
from shardcore.formats.neuroglancer.decode_geometry import (
    fragment_fault,
    geometry_of,
    info_members,
    mesh_info_faults,
    mesh_layout,
    order_fault,
)
from shardcore.formats.neuroglancer.file import NeuroglancerFile
from shardcore.formats.neuroglancer.find_spec import INFO_NAME, Origin
from shardcore.formats.neuroglancer.index_levels import MinishardTable, pair_span
from shardcore.formats.neuroglancer.info import SpaceKind
from shardcore.formats.neuroglancer.layout import RangeFault, outside_text, range_fault_text, range_faults
from shardcore.formats.neuroglancer.morton import decode_many
from shardcore.formats.neuroglancer.sharding import shard_number, strict_faults
from shardcore.model.array_layout import RAW
from shardcore.model.budget import raised
from shardcore.model.finding import MAX_PER_CODE, ContentBudget, Depth, Finding, Findings, Report, Severity
from shardcore.model.geometry import SkeletonGeometry
from shardcore.model.number_text import plural
from shardcore.model.span import Span
from shardcore.progress import Progress
from shardcore.sources.base import Source

PROGRESS_EVERY = 256
LISTED = 1000
"""Findings per code that are listed one by one."""


def verify(file: NeuroglancerFile, depth: Depth, progress: Progress, decoder: TaskRunner = run_task) -> Report:
    findings = Findings()
    progress(0, 1)
    _check_origin(file, findings)
    table = file.levels.table(progress)
    _check_shard_index(file, table, findings)
    if depth.reaches(Depth.INDEX):
        _check_minishards(file, table, findings)
        _check_entries(file, table, findings)
        _check_places(file, table, findings)
        _check_space(file, table, findings)
    checked = without = 0
    if depth.reaches(Depth.CONTENT):
        if file.is_mesh:
            _check_meshes(file, table, findings, progress)
        else:
            _check_unlisted(file, table, findings)
        checked = _check_values(file, table, findings, progress, decoder)
        # A gzip member ends with a crc32; raw values have no checksum.
        without = 0 if file.spec.data_encoding == "gzip" else len(table.entries) - checked
    progress(1, 1)
    return Report(depth, len(table.entries), findings.all(), checked, without)


def _check_origin(file: NeuroglancerFile, findings: Findings) -> None:
    origin = file.origin
    for fault in strict_faults(origin.sharding) if origin.sharding is not None else ():
        findings.warning("neuroglancer.info", origin.place, f"sharding: {fault}; strict readers reject it")
    for text in origin.space.scale.capitals if origin.space.scale is not None else ():
        findings.warning("neuroglancer.info", None, f"{text}, in capitals; strict readers (tensorstore) reject it")
    if file.is_mesh and origin.text:
        for fault in mesh_info_faults(info_members(origin.text)):
            findings.error("neuroglancer.mesh-info", Span(INFO_NAME, 0, len(origin.text)), fault)
    for other in origin.others:
        if not other.endswith("not sharded"):
            findings.warning("neuroglancer.info", None, other)
    if origin.inference is not None:
        findings.note(
            "neuroglancer.inferred",
            None,
            f"no usable info; the specification was inferred: {origin.why.removeprefix('inferred, ')}",
        )
        best = origin.inference.best
        for sentence in best.ambiguity() if best is not None else ():
            findings.note("neuroglancer.open", None, sentence)
    named = shard_number(file.source.name)
    if named is None or origin.inference is not None:
        return
    if named[1] != file.spec.name_digits or named[0] >= file.spec.shards:
        findings.error(
            "neuroglancer.file-name",
            None,
            f"readers do not open {file.source.name}; shards are named {file.spec.shard_name(0)} "
            f"to {file.spec.shard_name(file.spec.shards - 1)}",
        )


def _check_shard_index(file: NeuroglancerFile, table: MinishardTable, findings: Findings) -> None:
    base, size = file.base, file.source.size
    faults = range_faults(table.pairs, base, size)
    for fault, code in _RANGE_CODES.items():
        wrong = np.flatnonzero(faults == fault)
        for number in wrong[:MAX_PER_CODE].tolist():
            start, end = (int(edge) for edge in table.pairs[number])
            text = range_fault_text(fault, number, start, end, base, size)
            findings.error(code, pair_span(number), text)
        findings.more(Severity.ERROR, code, len(wrong) - MAX_PER_CODE)
    starts, ends = table.pairs[:, 0], table.pairs[:, 1]
    used = np.flatnonzero((starts < ends) & (faults == RangeFault.NONE))
    order = used[np.argsort(starts[used], kind="stable")]
    reach = np.maximum.accumulate(ends[order]) if len(order) else ends[order]
    shared = np.flatnonzero(starts[order][1:] < reach[:-1])
    for at in shared[:MAX_PER_CODE].tolist():
        first, second = int(order[at]), int(order[at + 1])
        message = f"the indices of minishards {first} and {second} overlap"
        findings.error("neuroglancer.shared-index", pair_span(second), message)
    findings.more(Severity.ERROR, "neuroglancer.shared-index", len(shared) - MAX_PER_CODE)
    if not (starts != ends).any():
        findings.note("neuroglancer.empty", None, "every minishard is empty; writers omit such files")


_RANGE_CODES = {
    RangeFault.BACKWARD: "neuroglancer.backward-range",
    RangeFault.OUTSIDE: "neuroglancer.range-outside",
}


def _check_minishards(file: NeuroglancerFile, table: MinishardTable, findings: Findings) -> None:
    # Invalid entries of the shard index are reported already.
    damage = table.damage
    numbers = damage.numbers[damage.faults[damage.numbers] == RangeFault.NONE]
    for number in numbers[:MAX_PER_CODE].tolist():
        error = damage[number]
        findings.error("neuroglancer.minishard-index", error.span, error.message)
    findings.more(Severity.ERROR, "neuroglancer.minishard-index", len(numbers) - MAX_PER_CODE)


def _check_entries(file: NeuroglancerFile, table: MinishardTable, findings: Findings) -> None:
    entries = table.entries

    def overflows(row: int) -> str:
        return f"the running sum of chunk_ids exceeds 2^64 and wraps to {_key(table, row)}"

    def repeats(row: int) -> str:
        return f"key {_key(table, row)} is listed twice: some readers return the first value, some the last"

    def outside(row: int) -> str:
        place = outside_text(int(entries.starts[row]), int(entries.sizes[row]), file.source.size)
        return f"key {_key(table, row)}: {place}"

    rows_found = _RowFindings(file, table, findings)
    rows_found.add(Severity.ERROR, "neuroglancer.id-overflow", entries.wrapped, overflows)
    same = np.zeros(len(entries), np.bool_)
    order = np.lexsort((np.arange(len(entries)), entries.ids, entries.minishards))
    ids, minishards = entries.ids[order], entries.minishards[order]
    same[order[1:][(ids[1:] == ids[:-1]) & (minishards[1:] == minishards[:-1])]] = True
    rows_found.add(Severity.ERROR, "neuroglancer.duplicate-id", same, repeats)
    falling = np.zeros(len(entries), np.bool_)
    falling[1:] = (entries.ids[1:] < entries.ids[:-1]) & (entries.slots[1:] > 0)
    for number in np.unique(entries.minishards[falling & ~entries.wrapped]).tolist()[:LISTED]:
        findings.note(
            "neuroglancer.id-order", _index_span(file, table, number), f"the keys of minishard {number} do not ascend"
        )
    rows_found.add(Severity.ERROR, "neuroglancer.value-outside", ~entries.inside, outside)
    _check_overlaps(file, table, findings)


def _check_overlaps(file: NeuroglancerFile, table: MinishardTable, findings: Findings) -> None:
    regions = regions_of(table, None, file.base, file.source.size, unlisted=False)
    reach = np.maximum.accumulate(regions.stops) if len(regions.stops) else regions.stops
    for at in np.flatnonzero(regions.starts[1:] < reach[:-1]).tolist()[:LISTED]:
        span = Span("", int(regions.starts[at + 1]), int(min(regions.stops[at + 1], reach[at])))
        values = RegionKind.INDEX not in (regions.kinds[at], regions.kinds[at + 1])
        text = "two values" if values else "a value and a minishard index, or two indices,"
        findings.warning("neuroglancer.overlap", span, f"{text} overlap at these bytes")


def _check_places(file: NeuroglancerFile, table: MinishardTable, findings: Findings) -> None:
    entries = table.entries
    minishards, shards = file.spec.place_many(entries.ids)

    def in_wrong_minishard(row: int) -> str:
        listed, right = int(entries.minishards[row]), int(minishards[row])
        return f"key {_key(table, row)} is listed in minishard {listed}, but belongs in {right}: lookups do not find it"

    def in_wrong_shard(row: int) -> str:
        name = file.spec.shard_name(int(shards[row]))
        return f"key {_key(table, row)} belongs in {name}: lookups do not find it in this file"

    rows_found = _RowFindings(file, table, findings)
    wrong = minishards != entries.minishards.astype(np.uint64)
    rows_found.add(Severity.ERROR, "neuroglancer.wrong-minishard", wrong, in_wrong_minishard)
    if file.number is not None:
        rows_found.add(Severity.ERROR, "neuroglancer.wrong-shard", shards != np.uint64(file.number), in_wrong_shard)


def _check_space(file: NeuroglancerFile, table: MinishardTable, findings: Findings) -> None:
    grid = file.origin.space.grid
    if grid is None:
        return
    _, valid = decode_many(table.entries.ids, grid)
    shape = ", ".join(map(str, grid))

    def without_cell(row: int) -> str:
        return f"key {_key(table, row)} is not the Morton code of a cell in the grid {shape}"

    _RowFindings(file, table, findings).add(Severity.WARNING, "neuroglancer.no-cell", ~valid, without_cell)
    if not valid.all() and _fits_older_rule(table, grid):
        text = "all keys are Morton codes of an older rule, with an extra bit for axes whose length is a power of two"
        findings.note("neuroglancer.older-codes", None, text)


def _fits_older_rule(table: MinishardTable, grid: tuple[int, ...]) -> bool:
    """Return True if all keys are codes of the older rule `2**i <= grid[axis]`, which was once in the specification."""
    wider = tuple(length + 1 if length & (length - 1) == 0 else length for length in grid)
    try:
        cells, valid = decode_many(table.entries.ids, wider)
    except FormatError:
        return False
    return bool(valid.all()) and bool((cells < np.array(grid, np.uint64)).all())


def _check_meshes(file: NeuroglancerFile, table: MinishardTable, findings: Findings, progress: Progress) -> None:
    meshes = file.meshes(progress)
    damaged = sorted(meshes.damage.items(), key=lambda item: item[0])
    findings.more(Severity.ERROR, "neuroglancer.manifest", len(damaged) - LISTED)
    for row, error in damaged[:LISTED]:
        message = f"key {_key(table, row)}: {error.message}"
        findings.error("neuroglancer.manifest", error.span, message, key=_key(table, row))
    regions = regions_of(table, meshes, file.base, file.source.size)
    gaps = int((regions.stops - regions.starts)[regions.kinds == RegionKind.GAP].sum())
    if gaps:
        text = f"{plural(gaps, 'byte belongs', 'bytes belong')} to no value, index or mesh fragment"
        findings.note("neuroglancer.unlisted", None, text)


def _check_unlisted(file: NeuroglancerFile, table: MinishardTable, findings: Findings) -> None:
    regions = regions_of(table, None, file.base, file.source.size)
    gaps = int((regions.stops - regions.starts)[regions.kinds == RegionKind.GAP].sum())
    if gaps:
        findings.note(
            "neuroglancer.unlisted",
            None,
            f"{plural(gaps, 'byte of the file is', 'bytes of the file are')} not listed by any index",
        )


def _check_values(
    file: NeuroglancerFile, table: MinishardTable, findings: Findings, progress: Progress, decoder: TaskRunner
) -> int:
    """Decompress gzip values, compare sizes of raw chunks, and decode other contents.

    Returns the number of values that were checked by crc32, including those outside the file.
    """
    entries, work = table.entries, ContentBudget(file.source.size)
    checked = int(np.count_nonzero(~entries.inside))
    sizes = np.where(entries.inside, entries.sizes, np.uint64(0)).astype(np.int64)
    readable = entries.inside.copy()
    if file.spec.data_encoding == "gzip":
        for done, (row, value) in enumerate(file.content_sizes(work)):
            if done % PROGRESS_EVERY == 0:
                progress(done, len(entries))
            checked += value is not None
            findings.verified = done + 1
            if value is None:
                readable[row] = False
            elif isinstance(value, ShardError):
                message = f"key {_key(table, row)}: {value.message}"
                findings.error("neuroglancer.value", value.span, message, key=_key(table, row))
                readable[row] = False
            else:
                sizes[row] = value
    scale = file.origin.space.scale
    if scale is not None and scale.encoding == RAW:
        _check_sizes(file, table, findings, readable, sizes)
    elif file.decodes:
        check = ValueCheck(file.origin, file.base, file.source, findings, decoder)
        check.check(file, table, readable, sizes, progress)
    work.report(findings, "neuroglancer.unchecked")
    return checked


def _check_sizes(
    file: NeuroglancerFile,
    table: MinishardTable,
    findings: Findings,
    readable: npt.NDArray[np.bool_],
    sizes: npt.NDArray[np.int64],
) -> None:
    entries = table.entries
    try:
        expected = chunk_sizes(file.origin.space, entries.ids)
    except FormatError as error:
        findings.warning("neuroglancer.voxels", None, error.message)
        return

    def of_other_size(row: int) -> str:
        return f"chunk {_key(table, row)} has {plural(sizes[row], 'byte')}, but its voxels take {expected[row]:,}"

    def stored(row: int) -> Span:
        start = int(entries.starts[row])
        return Span("", start, start + int(entries.sizes[row]))

    wrong = readable & (expected >= 0) & (sizes != expected)
    _RowFindings(file, table, findings).add(Severity.ERROR, "neuroglancer.chunk-size", wrong, of_other_size, stored)


class ValueCheck:
    """Decodes contents and checks the rules of the specification that apply to them.

    `source` has the mesh fragments before the manifests; `base` is the size of the shard index, 0 for an object file.
    """

    def __init__(self, origin: Origin, base: int, source: Source, findings: Findings, decoder: TaskRunner) -> None:
        self._origin, self._base, self._source = origin, base, source
        self._findings, self._decoder = findings, decoder
        self._work = ContentBudget(source.size)
        # An uncompressed value takes at most as much memory as the file has bytes.
        self._most = max(raised(ENCODED), source.stored)
        self._unchecked = set[str]()

    def check(
        self,
        file: NeuroglancerFile,
        table: MinishardTable,
        readable: npt.NDArray[np.bool_],
        sizes: npt.NDArray[np.int64],
        progress: Progress,
    ) -> None:
        entries = table.entries
        grid = file.origin.space.grid
        if grid is not None:
            readable = readable & decode_many(entries.ids, grid)[1]
        if file.is_mesh:
            readable = readable.copy()
            readable[list(file.meshes().damage)] = False
        rows = np.flatnonzero(readable)
        rows = rows[np.argsort(entries.starts[rows], kind="stable")]
        fits = [row for row in rows.tolist() if sizes[row] <= self._most and self._work.takes(int(sizes[row]))]
        if large := int((sizes[rows] > self._most).sum()):
            text = f"not checked: {plural(large, 'object')} of more than {self._most:,} bytes"
            self._findings.leave_out("neuroglancer.unchecked", None, text, count=large)
        for done, (row, data) in enumerate(file.contents(np.array(fits, np.int64))):
            if done % PROGRESS_EVERY == 0:
                progress(done, len(fits))
            if not isinstance(data, ShardError):
                start = int(entries.starts[row])
                number = int(entries.ids[row])
                self.check_one(str(number), number, Span("", start, start + int(entries.sizes[row])), data)
        self._work.report(self._findings, "neuroglancer.unchecked")

    def check_one(self, name: str, key: int, place: Span, data: bytes) -> None:
        findings = self._findings
        try:
            self._decode(name, key, place, data)
        except (Unsupported, PackageMissing) as error:
            if error.message not in self._unchecked and len(self._unchecked) < LISTED:
                self._unchecked.add(error.message)
                findings.note("neuroglancer.unchecked", None, f"not checked: {error.message}")
        except LimitExceeded as error:
            text = f"key {name}: not checked: {error.message}"
            findings.leave_out("neuroglancer.unchecked", place, text, key=name)
        except FormatError as error:
            findings.error("neuroglancer.content", error.span or place, f"key {name}: {error.message}", key=name)

    def _decode(self, name: str, key: int, place: Span, data: bytes) -> None:
        origin = self._origin
        if origin.space.scale is not None:
            layout = chunk_layout(origin.space, key)
            self._work.spend(layout.nbytes if layout.encoding in PICTURES else 0)
            check_chunk(layout, data, self._decoder, place)
        elif origin.space.kind is SpaceKind.MESH:
            for text in self._mesh_faults(place, data):
                self._findings.warning("neuroglancer.mesh", place, f"key {name}: {text}", key=name)
        else:
            found = geometry_of(origin, self._base, place, name, data)
            if isinstance(found, SkeletonGeometry) and found.trailing:
                text = f"key {name}: {plural(found.trailing, 'byte')} after the skeleton"
                self._findings.note("neuroglancer.trailing", place, text, key=name)

    def _mesh_faults(self, place: Span, data: bytes) -> Iterator[str]:
        layout = mesh_layout(info_members(self._origin.text), data, place, self._base)
        fault = ""
        for number, level in enumerate(layout.levels):
            if order := order_fault(level.positions):
                yield f"cells of level {number} {order}"
            if level.nbytes and not self._work.takes(level.nbytes):
                return
            for one in decode_fragments(layout, number, self._source.read, self._decoder, most=self._most):
                self._work.spend(one.vertices.nbytes + one.triangles.nbytes)
                if not fault and (fault := fragment_fault(one, layout.bits)):
                    yield f"fragment {one.number} of level {number} {fault}"


class _RowFindings:
    """Adds findings for many rows: one each for the first `LISTED` rows, and one with the total."""

    def __init__(self, file: NeuroglancerFile, table: MinishardTable, findings: Findings) -> None:
        self._file = file
        self._table = table
        self._findings = findings

    def add(
        self,
        severity: Severity,
        code: str,
        marked: npt.NDArray[np.bool_],
        describe: Callable[[int], str],
        place: Callable[[int], Span] | None = None,
    ) -> None:
        rows = np.flatnonzero(marked)
        if len(rows) > LISTED:
            text = f"{plural(len(rows), 'key')} in all; the first {LISTED:,} are listed"
            self._findings.add(Finding(severity, code, None, text))
        for row in rows[:LISTED].tolist():
            minishard = int(self._table.entries.minishards[row])
            span = place(row) if place else _index_span(self._file, self._table, minishard)
            self._findings.add(Finding(severity, code, span, describe(row), _key(self._table, row)))


def _key(table: MinishardTable, row: int) -> str:
    return str(table.entries.ids[row])


def _index_span(file: NeuroglancerFile, table: MinishardTable, minishard: int) -> Span:
    start, end = table.pairs[minishard].tolist()
    return Span("", file.base + start, file.base + end)
