"""Opened file: a shard with its objects, its sources of bytes and their trees."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from importlib import import_module
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Protocol, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import DEFAULT_LIMIT as DEFAULT_LIMIT  # noqa: PLC0414 - formats take it from here
from shardcore.errors import KeyAbsent, LimitExceeded, ShardError, SourceError, Unsupported, UsageError
from shardcore.model.array_layout import RAW, ArrayLayout
from shardcore.model.budget import UNFORESEEN, OverBudget, budgeted, count_source, unforeseen
from shardcore.model.content_part import ContentPart
from shardcore.model.displayed import Displayed
from shardcore.model.finding import Depth, Finding, Findings, Report, Severity, collecting
from shardcore.model.keys import Key, KeyForm, several
from shardcore.model.node import Node, fields_of, path_to, runs_of
from shardcore.model.number_words import plural
from shardcore.model.objects import ObjectRef, Objects, State, in_states, row_steps
from shardcore.model.section import Section, SectionRole
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.model.text import short
from shardcore.progress import Progress, no_progress
from shardcore.shards.trace import NO_MEANINGS, Look, Meanings, Trace, tell
from shardcore.shards.whole_file import WholeFiles
from shardcore.sources.read_purpose import ReadPurpose, reading_for

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from shardcore.codecs.isolated import IsolatedDecoder, TaskRunner
    from shardcore.model.byte_shares import Share
    from shardcore.model.chunk_grid import AxisIndex, ChunkGrid
    from shardcore.model.drawing import Sketch
    from shardcore.model.geometry import Geometry
    from shardcore.model.occupancy import LoadSource
    from shardcore.model.record import Value
    from shardcore.model.references import ReferenceCollector
    from shardcore.model.runs import Runs
    from shardcore.shards.ticket import ShardTicket
    from shardcore.sources.base import Source
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.request_log import RequestLog

MOST_FIELDS = 4096
"""Fields that are named at once; nodes are made for each of them."""


@dataclass(frozen=True, slots=True)
class SourcePart:
    source: Source
    sections: tuple[Section, ...]
    tree: Callable[[], Node]


P = ParamSpec("P")
R = TypeVar("R")

Work = Callable[..., R]
"""A function of a module, called as `work(shard, name, progress, …)` for a member of a data set, or for a file, whose
name is empty; see `Shard.borrowed`."""


class ShardTasks(Protocol):
    def each(self, shard: Shard, work: Work[R], given: tuple[Any, ...] = ()) -> Generator[R | ShardError]:
        """Do some work on every shard, and give the results in order."""


def _operation(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    @wraps(function)
    def call(shard: Any, /, *arguments: P.args, **named: P.kwargs) -> R:
        with budgeted():
            count_source(shard.source)
            return function(shard, *arguments, **named)

    return call


def _ranged(read: Callable[..., bytes]) -> Callable[..., bytes]:
    @wraps(read)
    def call(shard: Shard, ref: ObjectRef, start: int, stop: int, **options: Any) -> bytes:
        if not 0 <= start <= stop:
            raise UsageError(f"{start}..{stop} is not a range: its start is after its end")
        return read(shard, ref, start, stop, **options)

    return call


class Shard(Displayed, ABC):
    """An opened shard. Thread-safe.

    Attributes:
        format: The name of its format.
        key_form: The keys of the format as bytes or numbers.
        version: The version of its format, as the file states it.
        title: Format and version for people, set by opening: `Xet xorb v1`, `DES archive, 8 shards`.
        why: How the format was recognised.
        source: The file; None for a data set.
        sections: The coarse parts of the file; they tile it.
        damage: What made it impossible to open the shard as a whole; then only a part of the tree is there.
        tape: The requests that were made for it, when it is remote.
        meanings: What the values are that the steps of its lookups name.
        chosen: What the caller of `open` chose, by name: the format, if it was given, and options of formats.
        isolated: Process that runs decoders written in C; None where they run in this one.
        tasks: Workers for work on each shard of a data set; None for threads of this process.
        opened_at: The path or address that it was opened by; empty for bytes.
        opened_with: Options for its remote files; None: the defaults.
        jobs: How many members or objects are worked on at the same time where all of them are: one after the other
            where they are near, several where each answer takes its time.
        decodes_to_verify: Whether `verify` runs decoders of contents, which an own process should run: see `isolate`.
        no_loads: Why `loads` is empty, in a sentence.
    """

    format: str
    key_form: ClassVar[KeyForm] = KeyForm()
    version: str = ""
    title: str = "Unknown format"
    why: str = ""
    source: Source | None
    sections: tuple[Section, ...]
    damage: ShardError | None = None
    tape: RequestLog | None = None
    meanings: Meanings = NO_MEANINGS
    chosen: Mapping[str, Any] = MappingProxyType({})
    tasks: ShardTasks | None = None
    opened_at: str = ""
    opened_with: RemoteOptions | None = None
    isolated: IsolatedDecoder | None = None
    _own_decoder: IsolatedDecoder | None = None
    jobs: int = 1
    decodes_to_verify: ClassVar[bool] = False
    no_loads: str = "This format has no slots or parts of which one could be fuller than another."

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        for name, wrap in _OPERATIONS.items():
            if name in cls.__dict__:
                setattr(cls, name, wrap(cls.__dict__[name]))
        if "close" in cls.__dict__:
            setattr(cls, "close", _closed(cls.__dict__["close"]))  # noqa: B010

    @property
    def byte_shares(self) -> tuple[Share, ...]:
        """Return the uses of the bytes; they add up to the size of the file. Reads nothing."""
        from shardcore.model.byte_shares import budget as section_shares

        return section_shares(self.sections)

    @property
    def loads(self) -> tuple[LoadSource, ...]:
        """Return the loads of the format: what is counted per place, and how many bytes that reads."""
        return ()

    @property
    @abstractmethod
    def objects(self) -> Objects:
        """All objects, as columns. Having them reads nothing; their length, slices and keys read what they need."""

    @property
    def listing(self) -> Objects | None:
        """The objects, when how many they are is known without reading; else None, until `load_index`."""
        objects = self.objects
        return objects if objects.counted else None

    @property
    @abstractmethod
    def tree(self) -> Node:
        """The root of the node tree of the file; grows with `load_index`."""

    @property
    def fields(self) -> dict[str, Value]:
        """The header and footer fields, `section.field` to value, in the order of their bytes."""
        return {}

    @property
    def declared_objects(self) -> int | None:
        """Return the number of objects that the file declares; None if only reading more tells."""
        listing = self.listing
        return None if listing is None else len(listing)

    @property
    def loaded(self) -> bool:
        """Return whether `load_index` has been done; True where opening reads everything."""
        return True

    @property
    def size(self) -> int | None:
        """Bytes of the file, or of all shards of a data set; None where these are not known without opening them."""
        return None if self.source is None else self.source.size

    @property
    def index_bytes(self) -> int:
        """Return how many bytes `load_index` has to read, about."""
        return 0

    @property
    def index_cost(self) -> int:
        """Return `index_bytes`, or more where many files are opened for few bytes: for decisions, never shown."""
        return self.index_bytes

    def load_index(self, progress: Progress = no_progress) -> None:
        """Read what is needed to explain every byte and to sort the objects; nothing where opening read it.

        Raises:
            ShardError: The index is damaged, or the bytes cannot be read.
        """
        progress(1, 1)

    def reading_all(self) -> AbstractContextManager[object]:
        """Return the context in which all contents are read; of a remote file, a few large ranges are begun."""
        return WholeFiles(self.source)

    def parse_key(self, text: str) -> Any:
        """Return what the format makes of the text of a key: parsed, and hashed, once. `str` of it is the text again.

        Raises:
            UsageError: The key is not of the format's form.
        """
        return text

    @abstractmethod
    def lookup(self, key: Any, look: Look) -> ObjectRef:
        """Find a parsed key, reading through `look` and telling it each step; the path under `find` and `trace`.

        Raises:
            KeyAbsent: The key is not there.
            FormatError: The shard is damaged where the lookup needs it.
        """

    def lookup_all(self, key: Any) -> Sequence[ObjectRef]:
        """Return all objects with a parsed key; empty when there is none."""
        try:
            return (self.lookup(key, Look()),)
        except KeyAbsent:
            return ()

    @abstractmethod
    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """Return the decoded content in pieces.

        Raises:
            FormatError: The stored bytes are damaged.
            ExternalMissing: The content lies elsewhere and is not there.
            SourceError: The bytes cannot be read.
        """

    @abstractmethod
    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Check the shard to a depth.

        Raises:
            SourceError: The bytes cannot be read.
        """

    def key_text(self, key: Key) -> str:
        """Return the text form of a key: hex digits of bytes, digits of a number; text is returned as it is.

        Raises:
            UsageError: The format has no such keys.
        """
        return key if isinstance(key, str) else self.key_form.text(key, self.format)

    def raw_key(self, key: str) -> bytes | int | str:
        """Return a key from its text form as the format stores it: the inverse of `key_text`.

        Returns:
            The bytes of a hash, the number of an object or chunk; the text itself where keys are text, and for keys
            that only their text distinguishes (`xorb:…` and `chunk:…` of mdb, `all` of bloscpack).

        Raises:
            UsageError: The key is not of the format's form.
        """
        return self.key_form.raw(str(self.parse_key(key)))

    @overload
    def __getitem__(self, key: Key) -> bytes: ...
    @overload
    def __getitem__(self, key: tuple[AxisIndex, ...]) -> NDArray[Any]: ...
    def __getitem__(self, key: Key | tuple[AxisIndex, ...]) -> bytes | NDArray[Any]:
        if not isinstance(key, tuple):
            return self.read(self.find(key))
        grid = self.chunk_grid()
        if grid is None:
            raise UsageError("its objects are not chunks of one array")
        return grid.read(key)

    def __contains__(self, key: Key) -> bool:
        try:
            self.find(key)
        except KeyAbsent:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        gone = [State.UNUSED, State.DELETED, *(() if self.chosen.get("deleted") else (State.TOMBSTONED,))]
        for rows in row_steps(len(self.objects)):
            states = self.objects.columns(rows).state
            there = rows[~in_states(states, gone)]
            yield from (key for key in self.objects.key_texts(there) if key is not None)

    @_operation
    def find(self, key: Key) -> ObjectRef:
        """Return the object with this key; of several, the one that the reference would return.

        Args:
            key: Its text form, or the bytes or the number that the format stores: a sha256 or hash as 32 bytes, the
                number of a chunk, a segment ID.

        Raises:
            KeyAbsent: The key is not there.
            UsageError: The key is not of the format's form.
            FormatError: The shard is damaged where the lookup needs it.
        """
        parsed = self.parse_key(self.key_text(key))
        with reading_for(ReadPurpose.LOOKUP):
            return self.lookup(parsed, Look())

    @_operation
    def find_all(self, key: Key) -> Sequence[ObjectRef]:
        """Return all objects with this key; empty when there is none.

        Where a key may have very many objects, they are created when they are used, as those of `objects`.

        Raises:
            UsageError: The key is not of the format's form.
        """
        parsed = self.parse_key(self.key_text(key))
        with reading_for(ReadPurpose.LOOKUP):
            return self.lookup_all(parsed)

    @_operation
    def find_many(self, keys: Iterable[Key]) -> NDArray[np.int64]:
        """Return the rows of many keys, in their order; -1 where a key is absent. Loads what makes that quick.

        Args:
            keys: As for `find`; an array of numbers, too.

        Raises:
            UsageError: A key is not of the format's form.
            FormatError: The shard is damaged where a key that was not found may be.
        """
        return self._find_many([self.key_text(key) for key in several(keys, "keys")])

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        rows = np.full(len(keys), -1, np.int64)
        for number, key in enumerate(keys):
            try:
                rows[number] = self.find(key).row
            except KeyAbsent:
                continue
        return rows

    @_operation
    def trace(self, key: Key) -> Trace:
        """Return the lookup of a key, told step by step.

        Raises:
            UsageError: The key is not of the format's form.
            SourceError: The bytes cannot be read.
        """
        text = self.key_text(key)
        parsed = self.parse_key(text)
        with reading_for(ReadPurpose.LOOKUP):
            return tell(text, lambda look: self.lookup(parsed, look), self.meanings, sections=lambda: self.sections)

    def sketches(self, trace: Trace | None = None) -> tuple[Sketch, ...]:
        """Return what can be drawn of the file, or of one lookup: a tab each in the window. Having them reads nothing.

        Args:
            trace: The lookup that is walked through; without it those that need none.
        """
        return ()

    def read(self, ref: ObjectRef | Key, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return the decoded content.

        Args:
            ref: An object, or its key.
            limit: Most bytes that it may have.

        Raises:
            KeyAbsent: The key is not there.
            LimitExceeded: It is longer than `limit` bytes.
            FormatError: The stored bytes are damaged.
            SourceError: The bytes cannot be read.
        """
        return b"".join(bounded(self, self.ref_of(ref), limit))

    def array(self, ref: ObjectRef | Key, *, limit: int = DEFAULT_LIMIT) -> NDArray[Any]:
        """Return an object as a NumPy array; read-only.

        Arrays are what the format states to be one (`array_layout`), and contents that are `.npy` files. A box of an
        array of many chunks is read by slices instead: `shard[0:64, 0:64, 12]`.

        Args:
            ref: An object, or its key.
            limit: Bytes that it may have, stored or decoded; nothing is read of an array that the format states to be
                larger.

        Raises:
            UsageError: It is no array.
            Unsupported: The elements are encoded in a way that is not decoded here.
            LimitExceeded: It has more than `limit` bytes.
            FormatError: The stored bytes are damaged, or do not fit the array.
            SourceError: The bytes cannot be read.
        """
        wanted = self.ref_of(ref)
        layout = self.array_layout(wanted)
        if layout is not None and layout.nbytes > limit:
            size = plural(layout.nbytes, "byte")
            raise LimitExceeded(f"{short(wanted.key)} is an array of {size}; the limit is {limit:,}")
        data = self.read(wanted, limit=limit)
        if layout is None:
            from shardcore.codecs.npy import MAGIC, npy_layout

            if not data.startswith(MAGIC):
                raise UsageError(f"{short(wanted.key)} is not an array")
            layout = npy_layout(data)
        if layout.encoding != RAW:
            layout, data = self.decode_array(wanted, layout, data, self.decoder)
        return layout.of(data)

    def first_rows(self, count: int) -> dict[str, NDArray[Any]] | None:
        """Return the first items of each column of a table, by the name of the column; None where this is not a table.

        Raises:
            FormatError: A column is damaged.
            SourceError: The bytes cannot be read.
        """
        return None

    def ref_of(self, wanted: ObjectRef | Key) -> ObjectRef:
        """Return an object that is given by itself or by its key."""
        return wanted if isinstance(wanted, ObjectRef) else self.find(wanted)

    @_ranged
    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return the bytes `[start, stop)` of the decoded content, cut at its end; formats read only what they need.

        Raises:
            LimitExceeded: The range is longer than `limit` bytes.
            FormatError: The stored bytes are damaged.
            SourceError: The bytes cannot be read.
        """
        kept, at = bytearray(), 0
        if start == stop:
            return b""
        for piece in self.stream(ref):
            kept += piece[max(start - at, 0) : stop - at]
            if len(kept) > limit:
                raise LimitExceeded(f"the range of {ref.key} has over {plural(limit, 'byte')}")
            at += len(piece)
            if at >= stop:
                break
        return bytes(kept)

    def fetch_soon(self, refs: Iterable[ObjectRef]) -> None:
        """Begin to fetch what contents need beside the file, of which they are read soon; errors come then.

        Args:
            refs: Objects of the shard, in the order in which they are read.
        """

    def reads_ranges(self, ref: ObjectRef) -> bool:
        """Return whether `read_range` decodes no more of an object than the parts that the range touches."""
        return False

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return a further content of an object, one of `ref.parts`.

        Raises:
            UsageError: The object has no such part.
        """
        raise UsageError(f"{short(ref.key)} has no part {short(part)}; it has {', '.join(ref.parts) or 'none'}")

    def file_names(self, ref: ObjectRef) -> dict[str, str]:
        """Return the files that an object becomes when it is extracted: part to name, which need not be safe.

        The part `""` is the content itself. Of `ref.parts` those are left out that are no files of their own.

        Raises:
            ShardError: The member of a data set that holds the object cannot be opened.
        """
        return {"": ref.key if ref.key is not None else str(ref.extras.get("key_hex") or f"row-{ref.row}")}

    def file_head(self, ref: ObjectRef, name: str) -> bytes:
        """Return what comes before the content of an object in a file of that name: the header of its kind.

        Raises:
            SourceError: The bytes that tell it cannot be read.
        """
        return b""

    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        """Return the layout of an object that the format states to be an array; None for other objects.

        Raises:
            FormatError: The format states one, but it is invalid.
        """
        return None

    def chunk_grid(self, scale: str = "") -> ChunkGrid | None:
        """Return the array that the chunks of the shard make up, as a grid of them; None where there is none.

        Args:
            scale: The name of a scale of a volume; empty for the one that is open.

        Raises:
            UsageError: There is no such scale.
            ShardError: What describes the array cannot be read.
        """
        return None

    def mesh_of(self, segment: int) -> tuple[str, str] | None:
        """Return the address of the meshes of a segmentation and the key of a segment there; None where it has none.

        The key may be absent there.

        Raises:
            SourceError: What describes the meshes cannot be read.
        """
        return None

    def geometry(self, ref: ObjectRef, data: bytes) -> Geometry | None:
        """Return the geometry of an object that the format states to be a mesh, skeleton or annotations.

        Args:
            ref: The object.
            data: Its whole content.

        Returns:
            Where parts of it are stored, in the words of this shard; None for other objects.

        Raises:
            FormatError: The content is not what the format states.
        """
        return None

    def decode_array(
        self, ref: ObjectRef, layout: ArrayLayout, data: bytes, decoder: TaskRunner
    ) -> tuple[ArrayLayout, bytes]:
        """Return the elements of an encoded array, one after the other, and their layout.

        Args:
            ref: The object.
            layout: Its layout, with its encoding.
            data: Its content.
            decoder: Runs decoders: `Shard.decoder`.

        Raises:
            Unsupported: The encoding is not decoded here.
            FormatError: The content is invalid.
            LimitExceeded: The array is too large.
        """
        raise Unsupported(f"arrays encoded as {layout.encoding!r} are not decoded here")

    def content_parts(self, ref: ObjectRef) -> Sequence[ContentPart]:
        """Return the parts of a content and where each is stored, in order; reads what tells it.

        Of an array that is stored encoded they are parts of its decoded elements (`decode_array`).

        A content that is stored uncompressed is one part, and so is one that the shard has decoded bytes of. Formats
        that compress by blocks return these.

        Raises:
            FormatError: The stored bytes are damaged.
            SourceError: They cannot be read.
        """
        if not ref.spans or ref.size <= 0:
            return ()
        stored = ref.spans[0]
        if ref.codec != "none" or stored.size != ref.size:
            name = str(SourceName.parse(stored.source).decoded(stored.start, stored.stop))
            try:
                stored = Span(name, 0, ref.size) if self.bytes_of(name).size == ref.size else stored
            except ShardError:
                # The shard has no source of these decoded bytes: the stored object is all there is to show.
                return (ContentPart(0, ref.size, stored),)
        return (ContentPart(0, ref.size, stored),)

    def facts(self, ref: ObjectRef) -> dict[str, Any]:
        """Return the metadata of an object as values of JSON, for packing it again. See `extract`.

        Only what costs no more than the object's row.

        Raises:
            ShardError: It is damaged, or the bytes cannot be read.
        """
        return {}

    @property
    def parameters(self) -> str:
        """Return the parameters that the file does not state itself, as JSON for `open(spec=...)`; or empty."""
        return ""

    @property
    def written_with(self) -> str:
        """Return the parameters to write such a shard, as JSON text: `parameters`, or more if more is known."""
        return self.parameters

    @property
    def write_options(self) -> dict[str, Any]:
        """Options for writing a shard like this one; `extract` notes them in its manifest."""
        try:
            return {"spec": json.loads(self.written_with)}
        except ValueError:
            return {}

    @property
    def settings(self) -> Mapping[str, Any]:
        """Facts about all objects together, as values of JSON, by the names of options for writing.

        Converting gives them to a format that has such options, and reports those as lost that are mappings.
        """
        return {"spec": json.loads(self.written_with)} if self.written_with else {}

    @property
    def checksum(self) -> str:
        """The name of the checksum or digest that every content has, such as `adler32` or `sha256`; empty for none."""
        return ""

    @property
    def evidence(self) -> tuple[str, ...]:
        """Return what speaks for `parameters` when they are inferred, a sentence each; empty when they are stated."""
        return ()

    @property
    def ambiguity(self) -> tuple[str, ...]:
        """Return what inferred `parameters` leave open, a sentence each."""
        return ()

    @property
    def views(self) -> tuple[str, ...]:
        """Keys that stand for whole contents and are not rows of `objects` (bloscpack: `all`)."""
        return ()

    @_operation
    def part(self, name: str) -> SourcePart:
        """Return a source of bytes of the shard, with its sections and its tree.

        Args:
            name: As in `Span.source`: empty for the file, a sibling, or `@start-stop` for what bytes decode to.

        Raises:
            UsageError: There is no such source.
            ShardError: Its bytes cannot be read or decoded.
        """
        parsed = SourceName.parse(name)
        if parsed.is_file and self.source is not None:
            return SourcePart(self.source, self.sections, lambda: self.tree)
        return self._part(parsed)

    def _part(self, name: SourceName) -> SourcePart:
        hint = "@A-B for what the bytes A to B decode to, or a file beside that the tree names"
        raise UsageError(f"no bytes are called {short(str(name))} here; a name is {hint}")

    def bytes_of(self, name: str) -> Source:
        """Return the source behind a span's `source`; see `part`."""
        return self.part(name).source

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """Return the sections of a source; they tile it. See `part`."""
        return self.sections if name == "" else self.part(name).sections

    def tree_of(self, name: str) -> Node:
        """Return the root of the node tree of a source; see `part`."""
        return self.tree if name == "" else self.part(name).tree()

    @_operation
    def explain(self, offset: int, source: str = "") -> tuple[Node, ...]:
        """Return the path from a source to the smallest node that owns one of its bytes.

        Raises:
            UsageError: There is no such byte.
            SourceError: The bytes cannot be read.
        """
        if self.source is None and not source:
            raise UsageError("a folder has no bytes: give one of its files")
        root = self.tree_of(source)
        if not root.span.covers(offset):
            raise UsageError(f"there is no byte {offset:#x}; {source or 'the file'} has {root.span.size} bytes")
        return path_to(root, offset, source)

    def whole_path(self, offset: int, source: str = "") -> tuple[Node, ...]:
        """The path to a byte from the root of the shard's tree: to decoded bytes through the node they come from.

        Raises:
            UsageError: There is no such byte.
            SourceError: The bytes cannot be read.
        """
        path = self.explain(offset, source)
        name = SourceName.parse(source)
        if name.stretch is None:
            return path
        outer = self.whole_path(name.stretch[0], str(name.outer))
        depth = next((n for n, node in enumerate(outer) if node.decoded == source), None)
        return path if depth is None else (*outer[: depth + 1], *path)

    def point_to(self, into: ReferenceCollector) -> None:
        """Gather the rows of tables that refer to some bytes; see `shardcore.operations.references`."""

    @_operation
    def runs(self, start: int, stop: int, source: str = "") -> Runs:
        """Return what owns the bytes `[start, stop)` of a source, for painting; agrees with `explain`.

        Raises:
            SourceError: The bytes cannot be read.
        """
        return runs_of(self.tree_of(source), start, stop)

    @_operation
    def fields_in(self, start: int, stop: int, source: str = "", *, limit: int = MOST_FIELDS) -> list[tuple[Node, ...]]:
        """The fields that begin in the bytes `[start, stop)` of a source, each as its path; agrees with `explain`.

        Args:
            start: First byte.
            stop: One past the last byte.
            source: Which source.
            limit: Number of fields given at most: the first ones.

        Raises:
            SourceError: The bytes cannot be read.
        """
        return fields_of(self.tree_of(source), start, stop, limit)

    def isolate(self, decoder: IsolatedDecoder | None = None) -> None:
        """Run decoders written in C in a process of their own from now on, which ends with the shard.

        Args:
            decoder: A process that its owner ends, instead of an own one.
        """
        if self.isolated is None:
            from shardcore.codecs.isolated import IsolatedDecoder

            self._own_decoder = None if decoder else IsolatedDecoder()
            self.isolated = decoder or self._own_decoder

    @property
    def decoder(self) -> TaskRunner:
        """Return what runs the tasks of `codecs.isolated`: in a process of their own where `isolated` is set."""
        from shardcore.codecs.isolated import run_task

        return run_task if self.isolated is None else self.isolated.run

    @contextmanager
    def borrowed(self, name: str, *, keep: bool = False) -> Iterator[Shard]:
        """Return the member of that name while it is needed; a file has itself, under an empty name.

        Args:
            name: The name of the member.
            keep: Whether it stays open, because it is needed again soon.

        Raises:
            ShardError: It cannot be opened.
        """
        if name:
            raise UsageError(f"no file is called {short(name)} here")
        yield self

    def verify_member(self, member: Shard, depth: Depth, progress: Progress) -> Report:
        """Verify a member; see `borrowed`."""
        return member.verify(depth, progress)

    def report_unopened(self, name: str, depth: Depth) -> Report | None:
        """Return the report of a small intact member without opening it; None where it has to be opened."""
        return None

    def tickets(self, *, keys: bool = False) -> list[ShardTicket]:
        """Return what it takes to open each shard of a data set elsewhere, in order; a file has one ticket.

        Args:
            keys: Whether credentials may be in the tickets; by default a profile, or the keys of the worker, serve.

        Raises:
            UsageError: It was opened from bytes, or credentials would be in the tickets.
            SourceError: The shards cannot be listed.
        """
        # By name: what opens shards stands above them.
        found: list[ShardTicket] = import_module("shardcore.shards.ticket_opening").tickets_of(self, keys=keys)
        return found

    def map_shards(
        self,
        function: Callable[[Shard], R],
        *,
        executor: Executor | None = None,
        batch: int = 32,
        in_flight: int | None = None,
        keys: bool = False,
    ) -> Generator[R | ShardError]:
        """Call a function for each shard of a data set; give the results in order, of a failed one its `ShardError`.

        Few tasks are under way at any time. One slow shard does not hold up the work on the others. The work ends when
        the generator is closed, or when the check of `stopped_by` raises; what runs in another process or machine then
        comes to its end first.

        Args:
            function: Called with the opened shard. For processes and clusters it can be pickled, as its result.
            executor: Any executor of `concurrent.futures`, such as Dask's `client.get_executor()`; None: threads of
                this process, `Shard.jobs` of them.
            batch: Shards of one task at most.
            in_flight: Tasks that are under way at most; None: twice the number of workers.
            keys: Whether credentials may be sent to another machine, which is done over TLS only.

        Raises:
            UsageError: The shards cannot be opened elsewhere.
            SourceError: The shards cannot be listed.
            Cancelled: The caller does not want the results any more.
        """
        mapped = import_module("shardcore.shards.task_pool").map_shards
        results: Generator[R | ShardError] = mapped(
            self, function, executor, batch=batch, in_flight=in_flight, keys=keys
        )
        return results

    def close(self) -> None:
        """Close the source, and end the process of `isolate`."""
        if self.source is not None:
            self.source.close()
        self._close_decoder()

    def _close_decoder(self) -> None:
        if self._own_decoder is not None:
            self._own_decoder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _closed(close: Callable[[Any], None]) -> Callable[[Any], None]:
    @wraps(close)
    def call(shard: Any) -> None:
        try:
            close(shard)
        finally:
            shard._close_decoder()

    return call


def _loaded(load: Callable[[Any, Progress], None]) -> Callable[..., None]:
    @wraps(load)
    def call(shard: Shard, progress: Progress = no_progress) -> None:
        with budgeted():
            count_source(shard.source)
            load(shard, progress)

    return call


def _verified(verify: Callable[[Any, Depth | str, Progress], Report]) -> Callable[..., Report]:
    @wraps(verify)
    def call(shard: Shard, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        with budgeted(), collecting() as collected:
            count_source(shard.source)
            try:
                report = verify(shard, depth, progress)
                left_out = sum(findings.left_out for findings in collected)
                return replace(report, left_out=report.left_out + left_out) if left_out else report
            except OverBudget as over:
                what = Finding(
                    Severity.WARNING, f"{shard.format}.unchecked", None, f"not checked further: {over.message}"
                )
                found = [one for findings in collected for one in findings.all()]
                total = shard.declared_objects or 0
                left_out = max(total - sum(findings.verified for findings in collected), 1)
                return Report(Depth(depth), total, (*found, what), left_out=left_out)
            except SourceError as error:
                if error.partial is None:
                    error.partial = _stopped_report(shard, Depth(depth), collected)
                raise

    return call


def _stopped_report(shard: Shard, depth: Depth, collected: list[Findings]) -> Report:
    verified = sum(findings.verified for findings in collected)
    total = shard.declared_objects
    many = plural(verified, "object") if total is None else f"{verified:,} of {plural(total, 'object')}"
    return Report(depth, verified, tuple(one for findings in collected for one in findings.all()), stopped_after=many)


def _streamed(stream: Callable[[Any, ObjectRef], Iterator[bytes]]) -> Callable[..., Iterator[bytes]]:
    @wraps(stream)
    def call(shard: Shard, ref: ObjectRef) -> Iterator[bytes]:
        count_source(shard.source)
        try:
            yield from stream(shard, ref)
        except KeyAbsent:
            raise  # a `KeyError` too
        except UNFORESEEN as error:
            raise unforeseen(error, shard.source.name if shard.source is not None else "") from error

    return call


def _property(found: Any) -> Any:
    if not isinstance(found, property) or found.fget is None:
        return found
    return property(_operation(found.fget), doc=found.__doc__)


_READING = ("find", "find_all", "find_many", "trace", "part", "explain", "runs", "fields_in", "point_to")
_OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "load_index": _loaded,
    "verify": _verified,
    "stream": _streamed,
    "read_range": _ranged,
    "tree": _property,
    **dict.fromkeys(_READING, _operation),
}
"""The methods of a shard that read, and how each is given its budget."""


_PURPOSES = {
    SectionRole.HEADER: ReadPurpose.HEAD,
    SectionRole.FOOTER: ReadPurpose.FOOTER,
    SectionRole.INDEX: ReadPurpose.INDEX,
    SectionRole.LOOKUP: ReadPurpose.LOOKUP,
    SectionRole.METADATA: ReadPurpose.INDEX,
}
"""Purpose of reads by section; default: content."""


def tell_purposes(shard: Shard) -> None:
    if shard.source is None or shard.source.near or not (sections := shard.sections):
        return
    starts = [section.start for section in sections]
    purposes = [_PURPOSES.get(section.role, ReadPurpose.PAYLOAD) for section in sections]
    shard.source.learn_purposes(lambda at: purposes[max(bisect_right(starts, at) - 1, 0)])


def bounded(shard: Shard, ref: ObjectRef, limit: int | None) -> Iterator[bytes]:
    if limit is not None and ref.size > limit:
        raise LimitExceeded(f"{ref.key} has {plural(ref.size, 'byte')}; the limit is {limit:,}")
    total = 0
    for piece in shard.stream(ref):
        total += len(piece)
        if limit is not None and total > limit:
            raise LimitExceeded(f"{ref.key} has over {plural(limit, 'byte')}; that is the limit")
        yield piece
