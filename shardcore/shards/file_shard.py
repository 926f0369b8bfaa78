"""Base class of shards in a single file."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from shardcore.errors import FormatError
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.objects import State, row_steps
from shardcore.progress import Progress
from shardcore.shards.shard import Shard, SourcePart
from shardcore.sources.base import read_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from shardcore.model.drawing import Sketch
    from shardcore.model.node import Node
    from shardcore.model.objects import ObjectRef, Objects
    from shardcore.model.record import Value
    from shardcore.model.references import ReferenceCollector
    from shardcore.model.section import Section
    from shardcore.model.span import SourceName
    from shardcore.model.usage import LoadSource, Share
    from shardcore.shards.trace import LookupRecorder, Trace


class FileShard(Shard):
    """An opened file: combines file reader, objects, tree and lookup of a format.

    The modules `verify` and `references` of the format are imported on demand. If one is missing, the result
    comes from sections, tree and objects. Contents are stored uncompressed unless the format overrides `stream`.

    Args:
        file: The open file with `source` and `sections`; if opening does not read everything, also with `loaded`,
            `index_bytes` and `load(progress)`; `links()` yields the `Links` of its tables in memory.
        objects: Its objects.
        tree: Creates its nodes: `root()`, and `part(name)` if bytes decode to others.
        lookup: Finds its keys: `parse(text)`, `walk(key, source)` with the steps of `steps` or `find(key, recorder)`,
            and `find_all(key)` if keys may repeat. None for a format that overrides `lookup`.
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

    def sketches(self, trace: Trace | None = None) -> tuple[Sketch, ...]:
        part = self._teaching()
        found: tuple[Sketch, ...] = part.sketches(self, trace) if part is not None else ()
        return found

    def parse_key(self, text: str) -> Any:
        return text if self._lookup is None else self._lookup.parse(text)

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
    return import_module(f"{package}.{name}") if find_spec(f"{package}.{name}") is not None else None
