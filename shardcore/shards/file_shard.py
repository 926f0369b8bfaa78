"""`FileShard`, the base class of shards in a single file, and reading of many byte ranges in batches."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache, partial
from importlib import import_module
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from shardcore.errors import DEFAULT_LIMIT, FormatError, ShardError
from shardcore.model.budget import count_source
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.objects import State, row_steps, steps_by_sum
from shardcore.progress import Progress
from shardcore.shards.shard import Shard, SourcePart
from shardcore.sources.base import read_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from shardcore.model.drawing import Sketch
    from shardcore.model.node import Node
    from shardcore.model.objects import ObjectColumns, ObjectRef, Objects
    from shardcore.model.record import Value
    from shardcore.model.references import ReferenceCollector
    from shardcore.model.section import Section
    from shardcore.model.span import SourceName
    from shardcore.model.usage import LoadSource, Share
    from shardcore.shards.trace import LookupRecorder, Trace
    from shardcore.sources.base import Source

    I64 = NDArray[np.int64]

BYTES_AT_ONCE = 4 << 20
"""Maximum number of stored bytes that are read in one batch."""


class FileShard(Shard):
    """An opened file: combines file reader, objects, tree and lookup of a format.

    The modules `verify` and `references` of the format are imported on demand. Without `verify`, verification reports
    the damaged rows of `objects`. A content is returned as it is stored unless the format overrides `_stream`.

    Args:
        file: Reader of the file with `source` and `sections`; if opening does not read the index, also with `loaded`,
            `index_bytes` and `load(progress)`. Optional: `links()`, which yields the `Links` of its loaded tables.
        objects: The objects of the file.
        tree: Creates the nodes: `root()`, and `part(name)` if there are nodes in decoded bytes or other files.
        lookup: Finds keys: `parse(text)`; either `walk(key, source)`, whose results `trace_steps` describes, or
            `find(key, recorder)`; `find_all(key)` if keys may repeat. None for a format that overrides `lookup`.
    """

    file: Any
    _objects: Any
    _nodes: Any
    _lookup: Any

    def __init__(self, file: Any, objects: Objects, tree: Any, lookup: Any = None) -> None:
        self.file, self.source = file, file.source
        self._objects, self._nodes, self._lookup = objects, tree, lookup

    @property
    def sections(self) -> tuple[Section, ...]:  # type: ignore[override]
        found: tuple[Section, ...] = self.file.sections
        return found

    @property
    def objects(self) -> Any:
        return self._objects

    def _tree(self) -> Node:
        root: Node = self._nodes.root()
        return root

    @property
    def fields(self) -> dict[str, Value]:
        return {f"header.{name}": value for name, value in getattr(self.file, "header", {}).items()}

    @property
    def loaded(self) -> bool:
        return bool(getattr(self.file, "loaded", True))

    @property
    def index_bytes(self) -> int:
        return int(getattr(self.file, "index_bytes", 0))

    def _load_index(self, progress: Progress) -> None:
        if hasattr(self.file, "load"):
            self.file.load(progress=progress)

    @property
    def byte_shares(self) -> tuple[Share, ...]:
        charts = self._teaching()
        shares: tuple[Share, ...] = charts.shares(self.file) if charts else super().byte_shares
        return shares

    @property
    def loads(self) -> tuple[LoadSource, ...]:
        charts = self._teaching()
        loads: tuple[LoadSource, ...] = charts.loads(self.file) if hasattr(charts, "loads") else ()
        return loads

    def _format_sketches(self, trace: Trace | None) -> tuple[Sketch, ...]:
        part = self._teaching()
        found: tuple[Sketch, ...] = part.sketches(self, trace) if part is not None else ()
        return found

    def parse_key(self, text: str) -> Any:
        return text if self._lookup is None else self._lookup.parse(text)

    def find_loaded(self, key: Any) -> ObjectRef | None:
        in_memory: Callable[[Any], ObjectRef | None] | None = getattr(self._lookup, "in_memory", None)
        return in_memory(key) if in_memory is not None else None

    def lookup(self, key: Any, recorder: LookupRecorder) -> ObjectRef:
        if hasattr(self._lookup, "walk"):
            source = recorder.meter(self.file.source) if recorder.recording else self.file.source
            return recorder.follow(self._lookup.walk(key, source), self.format)
        found: ObjectRef = self._lookup.find(key, recorder)
        return found

    def lookup_all(self, key: Any) -> Sequence[ObjectRef]:
        if not hasattr(self._lookup, "find_all"):
            return super().lookup_all(key)
        found: Sequence[ObjectRef] = self._lookup.find_all(key)
        return found

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        if ref.error or not ref.spans:
            raise FormatError(ref.error or f"row {ref.row} has no object", span=ref.record)
        yield from read_pieces(self.file.source, ref.spans[0].start, ref.spans[0].stop)

    def contents_of(self, columns: ObjectColumns) -> Iterator[bytes | ShardError]:
        starts, stops = self._stored(columns)
        # Larger contents are left to `read`, which raises an error.
        together = (starts >= 0) & (np.maximum(columns.size, stops - starts) <= DEFAULT_LIMIT)
        count_source(self.source)
        found = self._read_together(columns.take(together), starts[together], stops[together])
        return found if together.all() else self._with_others(columns, together.tolist(), found)

    def _with_others(
        self, columns: ObjectColumns, together: list[bool], found: Iterator[bytes | ShardError]
    ) -> Iterator[bytes | ShardError]:
        for number, one in enumerate(together):
            yield from islice(found, 1) if one else super().contents_of(columns.take([number]))

    def _read_together(self, columns: ObjectColumns, starts: I64, stops: I64) -> Iterator[bytes | ShardError]:
        batches = range_batches(self.file.source, starts, stops)
        return chain.from_iterable(self._decode_rows(columns.take(some), starts[some], few) for some, few in batches)

    def _stored(self, columns: ObjectColumns) -> tuple[I64, I64]:
        """Return the starts and stops of the stored bytes of rows that `_decode_rows` can decode; -1 for other rows."""
        none = np.full(len(columns), -1, np.int64)
        return none, none

    def _decode_rows(self, columns: ObjectColumns, starts: I64, stored: list[bytes]) -> Iterable[bytes | ShardError]:
        """Return the content or error of each row; `stored` are its stored bytes, which were read at `starts`."""
        rows = zip(columns.row.tolist(), starts.tolist(), stored, strict=True)
        return (self._content_or_error(partial(self._decode_row, *row)) for row in rows)

    def _decode_row(self, row: int, start: int, stored: bytes) -> bytes:
        """Return the content of a row from its stored bytes, which were read at the offset `start`."""
        return stored

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        checks = self._module("verify")
        if checks is None:
            return self._verify_objects(depth, progress)
        with self.verifying(depth):
            report: Report = checks.verify(self.file, depth, progress)
        return report

    def verifying(self, depth: Depth) -> AbstractContextManager[object]:
        """Return the context in which `verify` runs: `reading_all` if the depth requires all contents."""
        return self.reading_all() if depth.reaches(Depth.CONTENT) else nullcontext()

    def point_to(self, into: ReferenceCollector) -> None:
        for links in self.file.links() if hasattr(self.file, "links") else ():
            links.gather(into)
        if hasattr(self._lookup, "gather_references"):
            self._lookup.gather_references(into)
        elif (references := self._module("references")) is not None:
            references.gather(self.file, into)

    def _part(self, name: SourceName) -> SourcePart:
        part: SourcePart | None = self._nodes.part(name) if hasattr(self._nodes, "part") else None
        return part or super()._part(name)

    def _module(self, name: str) -> Any:
        return _module(type(self).__module__.rpartition(".")[0], name)

    def _verify_objects(self, depth: Depth, progress: Progress) -> Report:
        findings, total = Findings(), len(self.objects)
        for rows in row_steps(total):
            progress(int(rows[0]), total)
            damaged = rows[self.objects.columns(rows).state == State.DAMAGED]
            for ref in self.objects.refs(damaged):
                findings.error(f"{self.format}.damaged", ref.record, ref.error, key=ref.key)
        progress(total, total)
        return Report(depth, total, findings.all())


@cache
def _module(package: str, name: str) -> Any:
    from importlib.util import find_spec

    return import_module(f"{package}.{name}") if find_spec(f"{package}.{name}") is not None else None


def ranges_of(source: Source, starts: I64, stops: I64) -> Iterator[bytes]:
    """Yield the bytes of each range `[start, stop)`, in the order of the ranges; they are read in batches."""
    return chain.from_iterable(few for _, few in range_batches(source, starts, stops))


def range_batches(source: Source, starts: I64, stops: I64) -> Iterator[tuple[slice, list[bytes]]]:
    """Read ranges `[start, stop)` in batches; yield for each batch the slice of its range numbers, and their bytes.

    A batch has up to `BYTES_AT_ONCE` bytes. Ranges that are close to each other in the source are read as one.
    """
    for some in steps_by_sum(stops - starts, BYTES_AT_ONCE):
        order = some.start + np.argsort(starts[some], kind="stable")
        reach = np.maximum.accumulate(stops[order])
        heads = np.flatnonzero(np.append(True, starts[order[1:]] > reach[:-1] + source.merge_gap))
        begins, group = starts[order[heads]], np.empty(len(order), np.int64)
        group[order - some.start] = np.repeat(np.arange(len(heads)), np.diff(heads, append=len(order)))
        blocks = source.read_many(list(zip(begins.tolist(), reach[np.append(heads[1:], 0) - 1].tolist(), strict=True)))
        heads, tails = ((edges[some] - begins[group]).tolist() for edges in (starts, stops))
        yield some, [blocks[n][start:stop] for n, start, stop in zip(group.tolist(), heads, tails, strict=True)]
