"""Opened file of a format: what all formats on the floor plan have in common."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from shardcore.errors import FormatError
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.objects import State, row_steps
from shardcore.progress import Progress, no_progress
from shardcore.shards.shard import Shard, SourcePart
from shardcore.sources.base import read_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from shardcore.model.byte_shares import Share
    from shardcore.model.node import Node
    from shardcore.model.objects import ObjectRef, Objects
    from shardcore.model.occupancy import LoadSource
    from shardcore.model.record import Value
    from shardcore.model.references import ReferenceCollector
    from shardcore.model.section import Section
    from shardcore.model.source_name import SourceName
    from shardcore.shards.trace import Look


class FileShard(Shard):
    """An opened file, whose parts do the work.

    The modules `verify`, `charts` and `references` of the format are loaded when they are requested; a format without
    one of them gets what sections, tree and objects state. Contents are stored as they are unless the format overrides
    `stream`.

    Args:
        file: The open file; it has `source` and `sections`, and where opening does not read everything also
            `loaded`, `index_bytes` and `load(progress)`; `links()` yields the `Links` of its tables that are in memory.
        objects: Its objects.
        tree: Makes its nodes: `root()`, and `part(name)` where bytes decode to others.
        lookup: Finds its keys: `parse(text)` and `find(key, look)`, and `find_all(key)` where keys come twice. None for
            a format that overrides `lookup`.
    """

    file: Any
    _objects: Any
    _tree: Any
    _lookup: Any

    def __init__(self, file: Any, objects: Objects, tree: Any, lookup: Any = None) -> None:
        self.file, self.source = file, file.source
        self._objects, self._tree, self._lookup = objects, tree, lookup

    @property
    def sections(self) -> tuple[Section, ...]:  # type: ignore[override]
        """They tile the file."""
        found: tuple[Section, ...] = self.file.sections
        return found

    @property
    def objects(self) -> Any:
        """All objects, as columns; see `Shard.objects`."""
        return self._objects

    @property
    def tree(self) -> Node:
        """The root of the node tree."""
        root: Node = self._tree.root()
        return root

    @property
    def fields(self) -> dict[str, Value]:
        """The fields of the header, where the file has `header`."""
        return {f"header.{name}": value for name, value in getattr(self.file, "header", {}).items()}

    @property
    def loaded(self) -> bool:
        """Return whether `load_index` has been done."""
        return bool(getattr(self.file, "loaded", True))

    @property
    def index_bytes(self) -> int:
        """Return how many bytes `load_index` has to read, about."""
        return int(getattr(self.file, "index_bytes", 0))

    def load_index(self, progress: Progress = no_progress) -> None:
        """Read the rest of the index; see `load` of the file."""
        if hasattr(self.file, "load"):
            self.file.load(progress=progress)

    @property
    def byte_shares(self) -> tuple[Share, ...]:
        """Return the uses of the bytes; see `Shard.byte_shares`."""
        charts = self._module("charts")
        shares: tuple[Share, ...] = charts.shares(self.file) if charts else super().byte_shares
        return shares

    @property
    def loads(self) -> tuple[LoadSource, ...]:
        """Return the loads of the format; see `Shard.loads`."""
        charts = self._module("charts")
        loads: tuple[LoadSource, ...] = charts.loads(self.file) if hasattr(charts, "loads") else ()
        return loads

    def parse_key(self, text: str) -> Any:
        """Return what the format makes of the text of a key; see `Shard.parse_key`."""
        return text if self._lookup is None else self._lookup.parse(text)

    def lookup(self, key: Any, look: Look) -> ObjectRef:
        """Find a parsed key; see `Shard.lookup`."""
        found: ObjectRef = self._lookup.find(key, look)
        return found

    def lookup_all(self, key: Any) -> Sequence[ObjectRef]:
        """Return all objects with a parsed key; see `Shard.lookup_all`."""
        if not hasattr(self._lookup, "find_all"):
            return super().lookup_all(key)
        found: Sequence[ObjectRef] = self._lookup.find_all(key)
        return found

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """Yield the content, where it is stored as it is."""
        if ref.error or not ref.spans:
            raise FormatError(ref.error or f"row {ref.row} holds no object", span=ref.record)
        yield from read_pieces(self.file.source, ref.spans[0].start, ref.spans[0].stop)

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Check the file to a depth; the page of the format states what each depth does."""
        checks = self._module("verify")
        if checks is None:
            return self._verify_objects(Depth(depth), progress)
        with self.verifying(depth):
            report: Report = checks.verify(self.file, Depth(depth), progress)
        return report

    def verifying(self, depth: Depth | str) -> AbstractContextManager[object]:
        """Return the context of `verify`: `reading_all` where the depth reads all contents."""
        return self.reading_all() if Depth(depth).reaches(Depth.CONTENT) else nullcontext()

    def point_to(self, into: ReferenceCollector) -> None:
        """Gather the rows of tables that refer to some bytes, and what `references` of the format adds."""
        for links in self.file.links() if hasattr(self.file, "links") else ():
            links.gather(into)
        if (references := self._module("references")) is not None:
            references.gather(self.file, into)

    def _part(self, name: SourceName) -> SourcePart:
        part: SourcePart | None = self._tree.part(name) if hasattr(self._tree, "part") else None
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
