"""Format as the registry uses it: detection, opening, creation; and the rest of a damaged file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

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
    from shardcore.model.options import Option, OptionPurpose
    from shardcore.model.other_readers import Peer
    from shardcore.shards.salvage import Damaged, SalvagedObject
    from shardcore.shards.trace import Look
    from shardcore.sources.opening import PrefetchedSource
    from shardcore.writing.declaration import Writes


class Certainty(IntEnum):
    """Certainty of a detection; the higher wins."""

    PARTLY = 0
    """Something of the format is there, but not what opens it; names the candidate when nobody is surer."""
    INFERRED = 1
    """Nothing says so, but everything fits."""
    BESIDE = 2
    """Detected by a file beside it."""
    MAGIC = 3
    """The bytes say so themselves."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a format on bytes that may be its own.

    Attributes:
        certainty: How sure it is.
        why: One phrase: `magic SWHShard`, `inferred, 3 of 3 checks`.
    """

    certainty: Certainty
    why: str


class Draft:
    """Parts of a file that are read while it is opened; if opening fails, these are still shown.

    Attributes:
        sections: What was claimed so far.
        nodes: The nodes of these sections, in the same order.
        fields: The fields read so far, `section.field` to value.
        version: The version, once known.
        declared: How many objects the file says it has, once that is read.
        kept: Whether sections, nodes and fields are kept. Those of the members of a data set are not.
    """

    def __init__(self, *, kept: bool = True) -> None:
        self.kept = kept
        self.sections: list[Section] = []
        self.nodes: list[Node] = []
        self.fields: dict[str, Value] = {}
        self.version = ""
        self.declared = 0

    def add(self, section: Section, node: Node | None = None, fields: Mapping[str, Value] | None = None) -> None:
        """Claims a section; `fields` are those of its record, by plain name."""
        if not self.kept:
            return
        self.sections.append(section)
        self.nodes.append(node or Node(section.name, Span("", section.start, section.stop), doc=section.doc))
        self.fields.update({f"{section.name}.{name}": value for name, value in (fields or {}).items()})


def _nowhere(
    address: str, *, endpoint_url: str | None = None, region: str | None = None, trusted: bool = False
) -> Folder:
    raise UsageError(f"{address} cannot be opened from here")


class Reach(Protocol):
    """Opens the folder at an address that a file names."""

    def __call__(
        self, address: str, *, endpoint_url: str | None = None, region: str | None = None, trusted: bool = False
    ) -> Folder:
        """Opens the folder; what the caller of `open` chose counts more than what the file says.

        Raises:
            SourceError: It cannot be had.
        """


Opener = Callable[[Source, str], Shard]
"""Opens a source as the format of that name; how a format opens what belongs to another one."""


@dataclass(frozen=True, slots=True)
class OpenContext:
    """Arguments that a format gets to open something.

    Attributes:
        opener: Opens sources of other formats.
        draft: Where the format notes what it knows so far.
        partial: Whether a shard with `damage` is wanted rather than an error, where something can be shown.
        progress: For openings that take long.
        values: What the caller chose, by the names that the format declares; a folder is a `Folder`.
        forced: Whether the caller named the format, which lifts the bar of inference.
        reach: Opens folders at addresses that a file names.
    """

    opener: Opener
    draft: Draft = field(default_factory=Draft)
    partial: bool = False
    progress: Progress = no_progress
    values: Mapping[str, Any] = field(default_factory=dict)
    forced: bool = False
    reach: Reach = _nowhere

    def member(self) -> OpenContext:
        """Context for the members of a data set: they are opened without progress, and keep no draft."""
        return replace(self, draft=Draft(kept=False), progress=no_progress)


@dataclass(frozen=True, slots=True)
class Format:
    """One format, as the registry lists it.

    Attributes:
        name: Short, lower case.
        title: What people call it.
        suffixes: Usual endings of file names.
        detect: Says whether the bytes are of this format, from their ends; None when nothing points to it.
        open: Opens them. Reads go through the prefetched source while opening; the shard keeps its `base`.
        infer: Says whether bytes without any mark fit the format; asked when no other format is even partly there.
        detect_folder: Says whether a folder is a data set of the format.
        open_folder: Opens it.
        writes: How it is written; None where it is not.
        edits: What can be changed in place, by the name of the command (`delete`, `truncate`, `append`): a function of
            the opened shard and of what the command was given, which makes an `Edit` and changes nothing. What they
            are given, and the words for it, stand in `shardcore.writing.edit_options`.
            `rekey` is one that writes a new file.
        locate: Says in which shard a key would lie, from parameters alone.
        options: What can be chosen for opening, writing and locating.
        begins: The bytes with one of which every file of the format begins, as far as it can be recognised at all; a
            file that begins otherwise is not shown to `detect`. Empty where files may begin with anything.
        folder_names: Patterns of names, one of which usually lies in a data set of the format: it is asked about such a
            folder first, and about others only when nobody else knows them.
        head_names: Pattern (a regular expression) of the names of files that are opened by their first 64 KiB; others
            begin with a few bytes, and go on at another place.
        folder_mark: Whether a data set of the format is known by one file that is opened by its name.
        peers: What other readers do about damage, as far as it is known.
        salvage: Objects that can still be read from a damaged file; see `shardcore.shards.salvage`. None where a
            lookup finds all of them.
        marks: The same for formats whose files can be recognised without them, too: a file that begins so says what it
            is, and one that does not may still be of the format.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    detect: Callable[[PrefetchedSource], Verdict | None]
    open: Callable[[PrefetchedSource, OpenContext], Shard]
    infer: Callable[[PrefetchedSource], Verdict | None] | None = None
    detect_folder: Callable[[Folder], Verdict | None] | None = None
    open_folder: Callable[[Folder, OpenContext], Shard] | None = None
    writes: Writes | None = None
    edits: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    locate: Callable[..., dict[str, Any]] | None = None
    options: tuple[Option, ...] = ()
    begins: tuple[bytes, ...] = ()
    folder_names: tuple[str, ...] = ()
    marks: tuple[bytes, ...] = ()
    folder_mark: bool = False
    head_names: str = ""
    peers: Callable[[], tuple[Peer, ...]] = tuple
    salvage: Callable[[Damaged], Iterator[SalvagedObject]] | None = None

    def options_for(self, purpose: OptionPurpose) -> tuple[Option, ...]:
        """The options for one purpose."""
        return tuple(option for option in self.options if option.purpose is purpose)


def lazily(place: str) -> Callable[..., Any]:
    """A function that imports another one when it is first called.

    Formats are listed by what is cheap to import; what opens and writes them comes with NumPy and codecs.

    Args:
        place: `package.module:function`.
    """

    def call(*arguments: Any, **named: Any) -> Any:
        module, _, name = place.partition(":")
        return getattr(import_module(module), name)(*arguments, **named)

    return call


class PartialShard(Shard):
    """Rest of a file that cannot be opened: its bytes, the tree up to the damage, and the error.

    Args:
        name: The format, or `unknown`.
        source: The file.
        draft: What was known when opening failed.
        damage: Why it failed.
    """

    key_form = KeyForm(of_bytes=bytes.hex, numbers=True)
    no_loads = "The file is damaged where it says what it holds, so there is nothing to count."

    def __init__(self, name: str, source: Source, draft: Draft, damage: ShardError) -> None:
        self.format = name
        self.version = draft.version
        self.source = source
        self.damage = damage
        self.sections, _ = tile(draft.sections, source.size)
        self._draft = draft

    @property
    def objects(self) -> Objects:
        """None can be had."""
        return NoObjects()

    @property
    def tree(self) -> Node:
        """The nodes known before the damage, what nobody claims, and a node that points to the damage."""
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
        """The fields read before the damage."""
        return dict(self._draft.fields)

    @property
    def declared_objects(self) -> int:
        """Return what the file says, as far as that was read."""
        return self._draft.declared

    @property
    def loaded(self) -> bool:
        """True: there is nothing more to load."""
        return True

    def load_index(self, progress: Progress = no_progress) -> None:
        """There is nothing to load."""

    def lookup(self, key: str, look: Look) -> ObjectRef:
        """Raises the damage."""
        raise self.damage or KeyAbsent(key)

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """Raises: there are no objects."""
        raise UsageError("a shard that cannot be opened has no objects")

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """One finding: the damage."""
        findings = Findings()
        if self.damage is not None:
            code = "damaged" if isinstance(self.damage, FormatError) else "unreadable"
            findings.error(f"{self.format}.{code}", self.damage.span, self.damage.message)
        return Report(Depth(depth), 0, findings.all())
