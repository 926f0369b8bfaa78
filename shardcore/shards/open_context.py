"""Arguments for opening a file, and the partial shard of a file that cannot be opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import FormatError, KeyAbsent, NotAShard, ShardError, UsageError
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.keys import KeyForm
from shardcore.model.node import Node
from shardcore.model.objects import NoObjects, ObjectRef, Objects
from shardcore.model.record import FieldRole, Value
from shardcore.model.section import Section, SectionRole, tile
from shardcore.model.span import Span
from shardcore.progress import Progress, no_progress
from shardcore.shards.shard import Shard
from shardcore.sources.base import Folder, Source

if TYPE_CHECKING:
    from shardcore.shards.trace import LookupRecorder


class Draft:
    """Sections, nodes and fields read during opening, for display if opening fails. Stays empty if `kept` is False."""

    def __init__(self, *, kept: bool = True) -> None:
        self.kept = kept
        self.sections: list[Section] = []
        self.nodes: list[Node] = []
        self.fields: dict[str, Value] = {}
        self.version = ""
        self.declared = 0

    def add(self, section: Section, node: Node | None = None, fields: Mapping[str, Value] | None = None) -> None:
        """Add a section, with the values of its fields by name."""
        if not self.kept:
            return
        self.sections.append(section)
        self.nodes.append(node or Node(section.name, Span("", section.start, section.stop), doc=section.doc))
        self.fields.update({f"{section.name}.{name}": value for name, value in (fields or {}).items()})


def _nowhere(
    address: str, *, endpoint_url: str | None = None, region: str | None = None, trusted: bool = False
) -> Folder:
    raise UsageError(f"{address} cannot be opened: this operation reads no other folder")


def nothing_else(source: Source, format: str = "") -> Shard:
    raise UsageError(f"{source.name} cannot be opened: this operation reads no other file")


class Reach(Protocol):
    """Function that opens the folder at an address found in a file."""

    def __call__(
        self, address: str, *, endpoint_url: str | None = None, region: str | None = None, trusted: bool = False
    ) -> Folder:
        """Open the folder at an address that a file contains. Options passed to `open` override those of the file.

        Raises:
            SourceError: The folder cannot be read.
        """


Opener = Callable[[Source, str], Shard]


@dataclass(frozen=True, slots=True)
class OpenContext:
    """Arguments for the opening functions of formats.

    Attributes:
        draft: Collects the parts read so far.
        partial: Whether a damaged file is opened as a shard with `damage`, if something can be shown.
        values: Options that the caller gave, by declared name; the value of a folder option is a `Folder`.
        forced: Whether the caller named the format; weak inference is then accepted.
        reach: Opens folders at addresses that a file contains.
        trusted: Stores and folders that files may refer to; see `RemoteOptions.trusted`.
    """

    opener: Opener = nothing_else
    draft: Draft = field(default_factory=Draft)
    partial: bool = False
    progress: Progress = no_progress
    values: Mapping[str, Any] = field(default_factory=dict)
    forced: bool = False
    reach: Reach = _nowhere
    trusted: frozenset[str] = frozenset()

    def trusts(self, places: Iterable[str]) -> bool:
        """Return whether the caller of `open` trusts all folders in `places`; see `RemoteOptions.trusted`."""
        from shardcore.sources.remote.options import ANY_STORE

        return ANY_STORE in self.trusted or self.trusted.issuperset(places)

    def member(self) -> OpenContext:
        """Return the context for opening members of a data set: without progress and draft."""
        return replace(self, draft=Draft(kept=False), progress=no_progress)


class PartialShard(Shard):
    """Readable part of a file that cannot be opened: bytes, tree up to the damage, and the error."""

    key_form = KeyForm(of_bytes=bytes.hex, numbers=True)
    no_loads = "The index is damaged, so nothing can be counted."

    def __init__(self, name: str, source: Source, draft: Draft, damage: ShardError) -> None:
        self.format = name
        self.version = draft.version
        self.source = source
        self.damage = damage
        self.sections, _ = tile(draft.sections, source.size)
        self._draft = draft

    @property
    def objects(self) -> Objects:
        return NoObjects()

    def _tree(self) -> Node:
        """Root with the nodes read before the damage, nodes of the remaining bytes, and a node with the error."""
        size = self.source.size if self.source else 0
        place = self.damage.span if self.damage else None
        known = [node for node in self._draft.nodes if node.span.stop <= size]
        rest = [
            Node(s.name, Span("", s.start, s.stop), role=FieldRole.UNKNOWN, doc=s.doc)
            for s in self.sections
            if s.role is SectionRole.UNKNOWN
        ]
        kids = sorted([*known, *rest], key=lambda node: (node.span.start, node.span.stop))
        what = "not a shard" if isinstance(self.damage, NotAShard) else "damage"
        error = Node(what, Span("", size, size), text=str(self.damage), error=str(self.damage), target=place)
        name = self.source.name if self.source else ""
        return Node(name, Span("", 0, size), children=(*kids, error), error=str(self.damage))

    @property
    def fields(self) -> dict[str, Value]:
        return dict(self._draft.fields)

    @property
    def declared_objects(self) -> int:
        return self._draft.declared

    def _load_index(self, progress: Progress) -> None:
        """Do nothing: opening has already read all that can be read."""

    def lookup(self, key: str, recorder: LookupRecorder) -> ObjectRef:
        raise self.damage or KeyAbsent(key)

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        raise UsageError("no object can be read: the file is damaged, and was opened only to show its intact part")

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        findings = Findings()
        if self.damage is not None:
            code = "damaged" if isinstance(self.damage, FormatError) else "unreadable"
            findings.error(f"{self.format}.{code}", self.damage.span, self.damage.message)
        return Report(depth, 0, findings.all())
