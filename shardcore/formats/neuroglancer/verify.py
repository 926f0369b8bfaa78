"""Verification of a shard: shard index, minishard indices, values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decoder_process import TaskRunner, run_task
from shardcore.codecs.draco import ENCODED, decode_fragments
from shardcore.errors import FormatError, LimitExceeded, PackageMissing, ShardError, Unsupported
from shardcore.formats.neuroglancer.chunks import PICTURES, chunk_layout, chunk_sizes, decode_chunk
from shardcore.formats.neuroglancer.file import I64, NeuroglancerFile, RegionKind
from shardcore.formats.neuroglancer.geometry import (
    fragment_fault,
    geometry_of,
    mesh_info_faults,
    mesh_layout,
    order_fault,
)
from shardcore.formats.neuroglancer.index import PROGRESS_EVERY
from shardcore.formats.neuroglancer.info import SpaceKind, info_members
from shardcore.formats.neuroglancer.layout import (
    Marks,
    RangeFault,
    outside_text,
    pair_span,
)
from shardcore.formats.neuroglancer.morton import decode_many
from shardcore.formats.neuroglancer.origin import INFO_NAME, Origin
from shardcore.formats.neuroglancer.segmentation import ENCODING as SEGMENTATION
from shardcore.formats.neuroglancer.segmentation import check_labels
from shardcore.formats.neuroglancer.sharding import shard_number, strict_faults
from shardcore.model.budget import raised
from shardcore.model.content_layout import RAW
from shardcore.model.finding import MAX_PER_CODE, ContentBudget, Depth, Finding, Findings, Report, Severity
from shardcore.model.geometry import SkeletonGeometry
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.progress import Progress
from shardcore.sources.base import Source

LISTED = 1000
"""Maximum number of findings per code that are listed one by one."""

_RANGE_CODES = {
    RangeFault.BACKWARD: "neuroglancer.backward-range",
    RangeFault.OUTSIDE: "neuroglancer.range-outside",
}


def verify(file: NeuroglancerFile, depth: Depth, progress: Progress, decoder: TaskRunner = run_task) -> Report:
    findings = Findings()
    progress(0, 1)
    _check_origin(file, findings)
    checks = _ShardChecks(file, findings, progress)
    checks.shard_index()
    if depth.reaches(Depth.INDEX):
        checks.minishards()
        checks.entries()
        checks.overlaps()
        checks.places()
        checks.cells()
    checked, count = 0, len(checks.table.entries)
    if depth.reaches(Depth.CONTENT):
        checks.unlisted()
        checked = checks.values(decoder)
    progress(1, 1)
    # A gzip member ends with a crc32; raw values have no checksum.
    unchecked = count - checked if depth.reaches(Depth.CONTENT) and file.codec != "gzip" else 0
    return Report(depth, count, findings.all(), checked, unchecked)


def _check_origin(file: NeuroglancerFile, findings: Findings) -> None:
    origin, spec = file.origin, file.spec
    for fault in strict_faults(origin.sharding) if origin.sharding is not None else ():
        findings.warning("neuroglancer.info", origin.place, f"sharding: {fault}; strict readers reject it")
    for text in file.space.scale.capitals if file.space.scale is not None else ():
        findings.warning("neuroglancer.info", None, f"{text}, in capitals; strict readers (tensorstore) reject it")
    if file.is_mesh and origin.text:
        for fault in mesh_info_faults(info_members(origin.text)):
            findings.error("neuroglancer.mesh-info", Span(INFO_NAME, 0, len(origin.text)), fault)
    for other in origin.others:
        if not other.endswith("not sharded"):
            findings.warning("neuroglancer.info", None, other)
    if origin.inference is not None:
        how = origin.why.removeprefix("inferred, ")
        findings.note("neuroglancer.inferred", None, f"no usable info; the specification was inferred: {how}")
        for sentence in origin.ambiguity:
            findings.note("neuroglancer.open", None, sentence)
    elif shard_number(file.source.name) is not None and spec.shard_of(file.source.name) is None:
        names = f"{spec.shard_name(0)} to {spec.shard_name(spec.shards - 1)}"
        text = f"readers do not open {file.source.name}; shards are named {names}"
        findings.error("neuroglancer.file-name", None, text)


class _ShardChecks:
    def __init__(self, file: NeuroglancerFile, findings: Findings, progress: Progress) -> None:
        self._file, self._findings, self._progress = file, findings, progress
        self.table = file.levels.table(progress)

    # --- structure -------------------------------------------------------------------------------------------------

    def shard_index(self) -> None:
        findings, pairs, faults = self._findings, self.table.pairs, self.table.damage.faults
        for fault, code in _RANGE_CODES.items():
            self._damaged(code, np.flatnonzero(faults == fault))
        starts, ends = pairs[:, 0], pairs[:, 1]
        used = np.flatnonzero((starts < ends) & (faults == RangeFault.NONE))
        order = used[np.argsort(starts[used], kind="stable")]
        shared = np.flatnonzero(starts[order][1:] < np.maximum.accumulate(ends[order])[:-1])
        for at in shared[:MAX_PER_CODE].tolist():
            first, second = int(order[at]), int(order[at + 1])
            message = f"the indices of minishards {first} and {second} overlap"
            findings.error("neuroglancer.shared-index", pair_span(second), message)
        findings.more(Severity.ERROR, "neuroglancer.shared-index", len(shared) - MAX_PER_CODE)
        if not (starts != ends).any():
            findings.note("neuroglancer.empty", None, "every minishard is empty; writers omit such files")

    # --- indices ---------------------------------------------------------------------------------------------------

    def minishards(self) -> None:
        # Invalid entries of the shard index are reported already.
        damage = self.table.damage
        numbers = damage.numbers[damage.faults[damage.numbers] == RangeFault.NONE]
        self._damaged("neuroglancer.minishard-index", numbers)

    def _damaged(self, code: str, numbers: NDArray[np.int64]) -> None:
        for number in numbers[:MAX_PER_CODE].tolist():
            error = self.table.damage[number]
            self._findings.error(code, error.span, error.message)
        self._findings.more(Severity.ERROR, code, len(numbers) - MAX_PER_CODE)

    def entries(self) -> None:
        entries, key = self.table.entries, self._key

        def overflows(row: int) -> str:
            return f"the running sum of chunk_ids exceeds 2^64 and wraps to {key(row)}"

        def repeats(row: int) -> str:
            return f"key {key(row)} is listed twice: some readers return the first value, some the last"

        def outside(row: int) -> str:
            place = outside_text(int(entries.starts[row]), int(entries.sizes[row]), self._file.source.size)
            return f"key {key(row)}: {place}"

        self._add(Severity.ERROR, "neuroglancer.id-overflow", entries.wrapped, overflows)
        order = np.lexsort((np.arange(len(entries)), entries.ids, entries.minishards))
        ids, minishards = entries.ids[order], entries.minishards[order]
        same = np.zeros(len(entries), np.bool_)
        same[order[1:][(ids[1:] == ids[:-1]) & (minishards[1:] == minishards[:-1])]] = True
        self._add(Severity.ERROR, "neuroglancer.duplicate-id", same, repeats)
        falling = np.zeros(len(entries), np.bool_)
        falling[1:] = (entries.ids[1:] < entries.ids[:-1]) & (entries.slots[1:] > 0)
        for number in np.unique(entries.minishards[falling & ~entries.wrapped]).tolist()[:LISTED]:
            text = f"the keys of minishard {number} do not ascend"
            self._findings.note("neuroglancer.id-order", self._index_span(number), text)
        self._add(Severity.ERROR, "neuroglancer.value-outside", ~entries.inside, outside)

    def overlaps(self) -> None:
        regions = self._file.regions(fragments=False, unlisted=False)
        reach = np.maximum.accumulate(regions.stops)
        for at in np.flatnonzero(regions.starts[1:] < reach[:-1]).tolist()[:LISTED]:
            span = Span("", int(regions.starts[at + 1]), int(min(regions.stops[at + 1], reach[at])))
            values = RegionKind.INDEX not in (regions.kinds[at], regions.kinds[at + 1])
            text = "two values" if values else "a value and a minishard index, or two indices,"
            self._findings.warning("neuroglancer.overlap", span, f"{text} overlap at these bytes")

    def places(self) -> None:
        entries, spec, number, key = self.table.entries, self._file.spec, self._file.number, self._key
        minishards, shards = spec.place_many(entries.ids)

        def in_wrong_minishard(row: int) -> str:
            where = f"is listed in minishard {entries.minishards[row]}, but belongs in {minishards[row]}"
            return f"key {key(row)} {where}: lookups do not find it"

        def in_wrong_shard(row: int) -> str:
            name = spec.shard_name(int(shards[row]))
            return f"key {key(row)} belongs in {name}: lookups do not find it in this file"

        wrong = minishards != entries.minishards.astype(np.uint64)
        self._add(Severity.ERROR, "neuroglancer.wrong-minishard", wrong, in_wrong_minishard)
        if number is not None:
            self._add(Severity.ERROR, "neuroglancer.wrong-shard", shards != np.uint64(number), in_wrong_shard)

    def cells(self) -> None:
        grid, ids = self._file.space.grid, self.table.entries.ids
        if grid is None:
            return
        _, valid = decode_many(ids, grid)

        def without_cell(row: int) -> str:
            return f"key {self._key(row)} is not the Morton code of a cell in the grid {', '.join(map(str, grid))}"

        self._add(Severity.WARNING, "neuroglancer.no-cell", ~valid, without_cell)
        if valid.all():
            return
        # `2**i <= grid[axis]` was once the rule of the specification.
        wider = tuple(length + 1 if length & (length - 1) == 0 else length for length in grid)
        try:
            cells, valid = decode_many(ids, wider)
        except FormatError:
            return
        if valid.all() and (cells < np.array(grid, np.uint64)).all():
            text = (
                "all keys are Morton codes of an older rule, with an extra bit for axes whose length is a power of two"
            )
            self._findings.note("neuroglancer.older-codes", None, text)

    # --- contents --------------------------------------------------------------------------------------------------

    def unlisted(self) -> None:
        """Report damaged manifests, and bytes that nothing refers to."""
        file, findings = self._file, self._findings
        if file.is_mesh:
            damaged = sorted(file.meshes(self._progress).damage.items())
            findings.more(Severity.ERROR, "neuroglancer.manifest", len(damaged) - LISTED)
            for row, error in damaged[:LISTED]:
                key = self._key(row)
                findings.error("neuroglancer.manifest", error.span, f"key {key}: {error.message}", key=key)
        regions = file.regions()
        if gaps := int((regions.stops - regions.starts)[regions.kinds == RegionKind.GAP].sum()):
            text = f"{plural(gaps, 'byte of the file is', 'bytes of the file are')} not listed by any index"
            if file.is_mesh:
                text = f"{plural(gaps, 'byte belongs', 'bytes belong')} to no value, index or mesh fragment"
            findings.note("neuroglancer.unlisted", None, text)

    def values(self, decoder: TaskRunner) -> int:
        """Decompress gzip values, compare sizes of raw chunks, and decode other contents.

        Returns the number of values that were checked by crc32, including those outside the file.
        """
        file, entries, findings = self._file, self.table.entries, self._findings
        work = ContentBudget(file.source.size)
        checked = int(np.count_nonzero(~entries.inside))
        sizes = np.where(entries.inside, entries.sizes, np.uint64(0)).astype(np.int64)
        readable = entries.inside.copy()
        check = ValueCheck(file.origin, file.base, file.source, findings, decoder)
        decodable = self._decodable()
        last: object = None
        for done, (row, value) in enumerate(file.checked_contents(work) if file.codec == "gzip" else ()):
            if done % PROGRESS_EVERY == 0:
                self._progress(done, len(entries))
            checked += value is not None
            findings.verified = done + 1
            if isinstance(value, (bytes, int)):
                sizes[row] = value if isinstance(value, int) else len(value)
                # A value shared by several keys is decoded now for the first, and later for the others if work is left.
                first, last = value is not last, value
                if first and isinstance(value, bytes) and decodable[row] and check.at_once and sizes[row] <= check.most:
                    check.check(self._key(row), int(entries.ids[row]), self._value_span(row), value)
                    decodable[row] = False
                continue
            readable[row] = False
            if value is not None:
                key = self._key(row)
                findings.error("neuroglancer.value", value.span, f"key {key}: {value.message}", key=key)
        scale = file.space.scale
        if scale is not None and scale.encoding == RAW:
            self._chunk_sizes(readable, sizes)
        self._decode(check, readable & decodable, sizes)
        work.report(findings, "neuroglancer.unchecked")
        return checked

    def _chunk_sizes(self, readable: Marks, sizes: I64) -> None:
        try:
            expected = chunk_sizes(self._file.space, self.table.entries.ids)
        except FormatError as error:
            self._findings.warning("neuroglancer.voxels", None, error.message)
            return

        def of_other_size(row: int) -> str:
            return f"chunk {self._key(row)} has {plural(sizes[row], 'byte')}, but its voxels take {expected[row]:,}"

        wrong = readable & (expected >= 0) & (sizes != expected)
        self._add(Severity.ERROR, "neuroglancer.chunk-size", wrong, of_other_size, self._value_span)

    def _decodable(self) -> Marks:
        """Return a mask of the values that can be decoded, because the info describes their content."""
        file, ids = self._file, self.table.entries.ids
        found: Marks = np.full(len(ids), file.decodes)
        if file.decodes and file.space.grid is not None:
            found &= decode_many(ids, file.space.grid)[1]
        if file.is_mesh:
            found[list(file.meshes().damage)] = False
        return found

    def _decode(self, check: ValueCheck, readable: Marks, sizes: I64) -> None:
        file, entries = self._file, self.table.entries
        rows = np.flatnonzero(readable)
        rows = rows[np.argsort(entries.starts[rows], kind="stable")]
        fits = check.affordable(rows, sizes)
        for done, (row, data) in enumerate(file.contents(np.array(fits, np.int64))):
            if done % PROGRESS_EVERY == 0:
                self._progress(done, len(fits))
            if not isinstance(data, ShardError):
                check.check(self._key(row), int(entries.ids[row]), self._value_span(row), data)
        check.work.report(self._findings, "neuroglancer.unchecked")

    # --- rows ------------------------------------------------------------------------------------------------------

    def _add(
        self,
        severity: Severity,
        code: str,
        marked: Marks,
        describe: Callable[[int], str],
        place: Callable[[int], Span] | None = None,
    ) -> None:
        """Add a finding for each of the first `LISTED` rows in the mask; if there are more, add one with the total."""
        rows = np.flatnonzero(marked)
        if len(rows) > LISTED:
            text = f"{plural(len(rows), 'key')} in all; the first {LISTED:,} are listed"
            self._findings.add(Finding(severity, code, None, text))
        for row in rows[:LISTED].tolist():
            span = place(row) if place else self._index_span(int(self.table.entries.minishards[row]))
            self._findings.add(Finding(severity, code, span, describe(row), self._key(row)))

    def _key(self, row: int) -> str:
        return str(self.table.entries.ids[row])

    def _index_span(self, minishard: int) -> Span:
        start, end = self.table.pairs[minishard].tolist()
        return Span("", self._file.base + start, self._file.base + end)

    def _value_span(self, row: int) -> Span:
        start = int(self.table.entries.starts[row])
        return Span("", start, start + int(self.table.entries.sizes[row]))


class ValueCheck:
    """Decodes contents and checks the rules of the specification that apply to them.

    `source` has the mesh fragments before the manifests; `base` is the size of the shard index, 0 for an object file.
    `at_once` is True if decoding a content takes no more work than decompressing it.
    """

    def __init__(self, origin: Origin, base: int, source: Source, findings: Findings, decoder: TaskRunner) -> None:
        self._origin, self._base, self._source = origin, base, source
        self._findings, self._decoder = findings, decoder
        scale = origin.space.scale
        self.at_once = origin.space.kind is not SpaceKind.MESH and (scale is None or scale.encoding not in PICTURES)
        self.work = ContentBudget(source.size)
        # An uncompressed value takes at most as much memory as the file has bytes.
        self.most = max(raised(ENCODED), source.stored)
        self._unchecked = set[str]()

    def affordable(self, rows: I64, sizes: I64) -> list[int]:
        """Return the rows that can be decoded within the limits on size and work; report the number of large ones."""
        if large := int((sizes[rows] > self.most).sum()):
            text = f"not checked: {plural(large, 'object')} of more than {self.most:,} bytes"
            self._findings.leave_out("neuroglancer.unchecked", None, text, count=large)
        return [row for row in rows.tolist() if sizes[row] <= self.most and self.work.takes(int(sizes[row]))]

    def check(self, name: str, key: int, place: Span, data: bytes) -> None:
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
            self.work.spend(layout.nbytes if layout.encoding in PICTURES else 0)
            if layout.encoding == SEGMENTATION:
                check_labels(data, layout, place)
            else:
                decode_chunk(layout, data, decoder=self._decoder, place=place)
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
            if level.nbytes and not self.work.takes(level.nbytes):
                return
            for one in decode_fragments(layout, number, self._source.read, self._decoder, most=self.most):
                self.work.spend(one.vertices.nbytes + one.triangles.nbytes)
                if not fault and (fault := fragment_fault(one, layout.bits)):
                    yield f"fragment {one.number} of level {number} {fault}"
