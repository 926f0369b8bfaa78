"""Base class of opened shards: objects by row and key, contents, lookup, node trees and verification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import (
    Callable,
    Generator,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import islice
from types import EllipsisType, MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, ParamSpec, Protocol, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import DEFAULT_LIMIT as DEFAULT_LIMIT  # noqa: PLC0414 - formats take it from here
from shardcore.errors import KeyAbsent, LimitExceeded, NotAnArray, ShardError, SourceError, Unsupported, UsageError
from shardcore.model.budget import UNFORESEEN, OverBudget, budgeted, count_source, unforeseen
from shardcore.model.chunk_grid import ArrayIndex, ArrayValue, AxisIndex, ChunkGrid, ShardArray
from shardcore.model.finding import Depth, Finding, Findings, Report, Severity, collecting
from shardcore.model.keys import Key, KeyForm, several
from shardcore.model.node import Node, Runs, fields_of, path_to, runs_of
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State, in_states, row_steps
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import SourceName, Span
from shardcore.model.text import Displayed, plural, short, without_secrets
from shardcore.progress import Progress, no_progress
from shardcore.sources.base import PIECE, ReadPurpose, Source, reading_for
from shardcore.sources.prefetched_source import WholeFiles

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from shardcore.codecs.decoder_process import IsolatedDecoder, TaskRunner
    from shardcore.model.content_layout import ArrayLayout, ContentPart
    from shardcore.model.drawing import Sketch
    from shardcore.model.geometry import Geometry
    from shardcore.model.record import Value
    from shardcore.model.references import ReferenceCollector
    from shardcore.model.usage import LoadSource, Share
    from shardcore.shards.tickets import ShardTicket
    from shardcore.shards.trace import LookupRecorder, Trace
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.request_log import RequestLog

MOST_FIELDS = 4096
"""Default maximum number of fields that `Shard.fields_in` returns, each as a path of nodes."""


@dataclass(frozen=True, slots=True)
class SourcePart:
    """One source of bytes of a shard: the file, a file beside it, or decoded bytes. `tree` returns its root node."""

    source: Source
    sections: tuple[Section, ...]
    tree: Callable[[], Node]


P = ParamSpec("P")
R = TypeVar("R")

Work = Callable[..., R]
"""Module-level function, called as `work(shard, name, progress, …)` for each member of a data set. A single file is
processed by one call with an empty `name`; see `Shard.borrowed`."""


class Sharding(Protocol):
    """Parameters that are needed to read a shard, but not in its file; they are declared beside it, or inferred."""

    @property
    def parameters(self) -> str:
        """The parameters as JSON text, for `open(spec=...)`."""

    @property
    def written_with(self) -> str:
        """Parameters for writing a shard like this one, as JSON text: the info if it is known, else `parameters`."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `Shard.settings`."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """Evidence for inferred parameters, one sentence each."""

    @property
    def ambiguity(self) -> tuple[str, ...]:
        """Other values that inferred parameters may have instead, one sentence each."""


class Arrays:
    """Methods for arrays and geometry in a shard. A shard class that has some inherits from `Arrays`, too."""

    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        """Return the layout of an object that the format declares as an array; None for other objects.

        Raises:
            FormatError: The declared layout is invalid.
        """
        return None

    def decode_array(
        self, ref: ObjectRef, layout: ArrayLayout, data: bytes, decoder: TaskRunner
    ) -> tuple[ArrayLayout, bytes]:
        """Decode an encoded array; return its layout and elements.

        Args:
            ref: The object.
            layout: Layout of the object, with the encoding.
            data: Content of the object.
            decoder: Function that runs decoders; see `Shard.decoder`.

        Raises:
            Unsupported: The encoding is not supported.
            FormatError: The content is invalid.
            LimitExceeded: The array is too large.
        """
        raise Unsupported(f"array encoding {layout.encoding!r} is not supported")

    def first_rows(self, count: int) -> dict[str, NDArray[Any]] | None:
        """Return the first values of each column of a table, by column name; None if the shard is not a table.

        Raises:
            FormatError: A column is corrupt.
            SourceError: The bytes cannot be read.
        """
        return None

    def mesh_of(self, segment: int) -> tuple[str, str] | None:
        """Return the address of the mesh data set of a segmentation, and the key of a segment in it.

        None if the segmentation declares no meshes. The mesh data set may not contain that key.

        Raises:
            SourceError: The description of the meshes cannot be read.
        """
        return None

    def geometry(self, ref: ObjectRef, data: bytes) -> Geometry | None:
        """Return the geometry of an object that the format declares as a mesh, skeleton or annotations; else None.

        Args:
            ref: The object.
            data: Whole content of the object.

        Raises:
            FormatError: The content does not match the declaration.
        """
        return None


class ShardTasks(Protocol):
    """Workers in other processes or on other machines; see `TaskPool`."""

    def each(self, shard: Shard, work: Work[R], given: tuple[Any, ...] = ()) -> Generator[R | ShardError]:
        """Call a function for each shard of a data set; yield the results or errors in the order of the shards."""


def reading(shard: Shard) -> budgeted:
    """Return a context that limits the bytes and rows of an operation; limits grow with the stored size of the file."""
    return budgeted(source=shard.source)


MOST_COMPLETED = 1000
"""Maximum number of keys offered for completion in IPython."""

AT_ONCE = 1 << 14
"""Maximum number of rows whose contents are read together."""


class ShardItems(ItemsView[str, bytes]):
    """View of keys and contents that `Shard.items` returns; contents of many rows are read together."""

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        return self._mapping._items()  # type: ignore[attr-defined,no-any-return]


class ShardValues(ValuesView[bytes]):
    def __iter__(self) -> Iterator[bytes]:
        return (data for _, data in self._mapping._items())  # type: ignore[attr-defined]


class Shard(ArrayValue, Displayed, ABC):
    """An opened shard. Thread-safe.

    Attributes:
        format: Name of its format.
        key_form: Conversions between keys as text and as bytes or numbers.
        version: Version of its format, as stored in the file.
        title: Format and version for display: `Xet xorb v1`, `DES archive, 8 shards`.
        why: Evidence for the detected format: `magic SWHShard`.
        source: The file; None for a data set.
        sections: Large parts of the file, such as header and index, which cover it without gaps.
        damage: Error that ended opening; the tree then has only the parts read before it. None if opening succeeded.
        tape: Request log of a remote shard, else None.
        chosen: Options that the caller passed to `open`, by name, including `format` if it was passed.
        isolated: Process that runs decoders written in C; None if they run in this process.
        tasks: Workers that process the shards of a data set; None for threads of this process.
        opened_at: Path or address that was opened; empty for bytes.
        opened_with: Options for its remote files; None for defaults.
        jobs: Number of members or objects processed in parallel by operations on all of them.
        decodes_to_verify: Whether `verify` runs decoders written in C, which should run isolated; see `isolate`.
        no_loads: Reason why `loads` is empty, one sentence.
        closed: Whether `close` was called.
    """

    closed: bool = False
    format: str
    key_form: ClassVar[KeyForm] = KeyForm()
    version: str = ""
    title: str = "Unknown format"
    why: str = ""
    source: Source | None
    sections: tuple[Section, ...]
    damage: ShardError | None = None
    tape: RequestLog | None = None
    chosen: Mapping[str, Any] = MappingProxyType({})
    tasks: ShardTasks | None = None
    opened_at: str = ""
    opened_with: RemoteOptions | None = None
    isolated: IsolatedDecoder | None = None
    _own_decoder: IsolatedDecoder | None = None
    jobs: int = 1
    decodes_to_verify: ClassVar[bool] = False
    no_loads: str = "This format has no slots or parts whose load could be compared."

    @property
    def byte_shares(self) -> tuple[Share, ...]:
        """Number of bytes of each use, such as index or content; they add up to the file size. Reads nothing."""
        from shardcore.model.usage import budget as section_shares

        return section_shares(self.sections)

    @property
    def loads(self) -> tuple[LoadSource, ...]:
        """Distributions that can be computed, such as keys per slot; each states how many bytes this reads."""
        return ()

    @property
    @abstractmethod
    def objects(self) -> Objects:
        """All objects as columns. The property reads nothing; the length, slices and keys of the result may read."""

    @property
    def listing(self) -> Objects | None:
        """The objects, if their number is known without reading; else None until `load_index`."""
        objects = self.objects
        return objects if objects.counted else None

    @property
    def tree(self) -> Node:
        """Root of the node tree of the file; has more nodes after `load_index`."""
        with reading(self):
            return self._tree()

    @abstractmethod
    def _tree(self) -> Node: ...

    @property
    def fields(self) -> dict[str, Value]:
        """Values of the header and footer fields by `section.field`, in byte order."""
        return {}

    @property
    def declared_objects(self) -> int | None:
        """Number of objects that the file declares; None if it is not known yet."""
        listing = self.listing
        return None if listing is None else len(listing)

    @property
    def loaded(self) -> bool:
        """True after `load_index`, or if opening reads everything."""
        return True

    @property
    def listed(self) -> bool:
        """True if the objects can be listed with their sizes now; if False, call `load_index` first."""
        return self.loaded

    @property
    def size(self) -> int | None:
        """Bytes of the file, or of all shards of a data set; None if unknown without opening them."""
        return None if self.source is None else self.source.size

    @property
    def index_bytes(self) -> int:
        """Approximate number of bytes that `load_index` reads."""
        return 0

    @property
    def index_cost(self) -> int:
        """Cost of `load_index` in bytes, higher for many files. If it is low, the index is loaded automatically."""
        return self.index_bytes

    def load_index(self, progress: Progress = no_progress) -> None:
        """Read the index, which is needed to explain every byte and to sort the objects.

        Raises:
            ShardError: The index is damaged, or the bytes cannot be read.
        """
        with reading(self):
            self._load_index(progress)

    def _load_index(self, progress: Progress) -> None:
        progress(1, 1)

    def reading_all(self) -> AbstractContextManager[object]:
        """Return a context for code that reads all contents; in it, a remote file is fetched in a few large ranges."""
        return WholeFiles(self.source)

    def parse_key(self, text: str) -> Any:
        """Parse a key given as text, so that its hash is computed only once. `str` of the result is that text.

        Raises:
            UsageError: The key is malformed.
        """
        return text

    @abstractmethod
    def lookup(self, key: Any, recorder: LookupRecorder) -> ObjectRef:
        """Find a key returned by `parse_key`; called by `find` and `trace`. `recorder` records steps and reads.

        Raises:
            KeyAbsent: The key was not found.
            FormatError: The shard is damaged where the lookup reads.
        """

    def lookup_all(self, key: Any) -> Sequence[ObjectRef]:
        """Return all objects with a key returned by `parse_key`; empty if there are none."""
        from shardcore.shards.trace import LookupRecorder

        try:
            return (self.lookup(key, LookupRecorder()),)
        except KeyAbsent:
            return ()

    def stream(self, ref: ObjectRef | Key) -> Iterator[bytes]:
        """Yield the uncompressed content of an object in pieces.

        The content may have any size. Only within another operation, such as `verify`, the limits of that operation
        apply; `shardcore.allowing` raises them.

        Raises:
            KeyAbsent: The key was not found.
            FormatError: The stored bytes are corrupt.
            ExternalMissing: The content is in another file, which was not found.
            SourceError: The bytes cannot be read.
        """
        count_source(self.source)
        try:
            yield from self._stream(self.ref_of(ref))
        except KeyAbsent:
            raise  # also a `KeyError`, which is unforeseen below
        except UNFORESEEN as error:
            raise unforeseen(error, self.source.name if self.source is not None else "") from error

    @abstractmethod
    def _stream(self, ref: ObjectRef) -> Iterator[bytes]: ...

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Verify the shard to a depth: `structure`, `index` or `content`. The report counts what a limit left out.

        Raises:
            SourceError: The bytes cannot be read; `partial` of the error is the report so far.
        """
        depth = Depth(depth)
        with reading(self), collecting() as collected:
            try:
                report = self._verify(depth, progress)
                left_out = sum(findings.left_out for findings in collected)
                return replace(report, left_out=report.left_out + left_out) if left_out else report
            except OverBudget as over:
                what = Finding(
                    Severity.WARNING, f"{self.format}.unchecked", None, f"not checked further: {over.message}"
                )
                found = [one for findings in collected for one in findings.all()]
                total = self.declared_objects or 0
                left_out = max(total - sum(findings.verified for findings in collected), 1)
                return Report(depth, total, (*found, what), left_out=left_out)
            except SourceError as error:
                if error.partial is None:
                    error.partial = _stopped_report(self, depth, collected)
                raise

    @abstractmethod
    def _verify(self, depth: Depth, progress: Progress) -> Report: ...

    def key_text(self, key: Key) -> str:
        """Return the text form of a key: hex digits of bytes, digits of a number; text is returned unchanged.

        Raises:
            UsageError: The format has no keys of this type.
        """
        return key if isinstance(key, str) else self.key_form.text(key, self.format)

    def raw_key(self, key: str) -> bytes | int | str:
        """Convert a key from text to the form that the format stores: the inverse of `key_text`.

        Returns:
            The bytes of a hash, or the number of an object or chunk. The text itself if keys are text, and for keys
            without a stored form (`xorb:…` and `chunk:…` of mdb, `all` of bloscpack).

        Raises:
            UsageError: The key is malformed.
        """
        return self.key_form.raw(str(self.parse_key(key)))

    @overload
    def __getitem__(self, key: Key) -> bytes: ...
    @overload
    def __getitem__(self, key: slice | EllipsisType | tuple[AxisIndex | EllipsisType, ...]) -> NDArray[Any]: ...
    def __getitem__(self, key: Key | ArrayIndex) -> bytes | NDArray[Any]:
        """Return the uncompressed content of a key; see `find` and `read`.

        A slice, `...` or a tuple of them and of coordinates, as in `volume[0:64, 0:64, 12]`, selects elements of the
        array of all chunks; see `ChunkGrid.read`. A single number is a key; for a coordinate, use `as_array()[5]`.
        """
        if isinstance(key, (tuple, slice, EllipsisType)):
            return cast("NDArray[Any]", self.as_array()[key])
        return self.read(key)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of `as_array()`; raises NotAnArray (an `AttributeError`) if the objects do not form an array."""
        return self.as_array().shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements of `as_array()`."""
        return self.as_array().dtype

    def as_array(self, scale: str = "", *, limit: int = DEFAULT_LIMIT) -> ShardArray | NDArray[Any]:
        """Return the array of all chunks; its slices are read on demand. An empty or 0-d array is a NumPy array.

        Args:
            scale: Name of a scale of a volume; default: the opened one.
            limit: Maximum number of bytes that one slice may have.

        Raises:
            NotAnArray: The objects do not form one array.
            ShardError: The description of the array cannot be read.
        """
        if (grid := self.chunk_grid(scale)) is not None:
            return ShardArray(grid, limit)
        if self.views and self.arrays.array_layout(whole := self.find(self.views[0])) is not None:
            return self.array(whole, limit=limit)
        raise NotAnArray(f"{self.format}: its objects do not form one array")

    def __contains__(self, key: Key) -> bool:
        """Return whether `find` finds the key; False if it is malformed."""
        try:
            self.find(key)
        except (KeyAbsent, UsageError):
            return False
        return True

    def __bool__(self) -> bool:
        """Return True, also without objects."""
        return True

    def __len__(self) -> int:
        """Return the number of keys that iteration yields."""
        # `list(shard)` calls this before it iterates: count without creating the texts of the keys.
        if self.key_form.of_bytes is not None:
            return sum(map(len, self._present()))
        if self.key_form.numbers:  # rows of damaged minishards have no key
            return sum(int(np.count_nonzero(self.objects.key_bytes(there.row).lengths)) for there in self._present())
        return sum(len(there) for there, _ in self._keyed())

    def __iter__(self) -> Iterator[str]:
        """Yield the keys of the objects as text, in row order; a key of several objects once for each of them.

        Unused and deleted rows and rows without a text key are left out; tombstoned rows also, unless `deleted` is set.
        """
        for _, keys in self._keyed():
            yield from keys

    def _present(self) -> Iterator[ObjectColumns]:
        gone = [State.UNUSED, State.DELETED, *(() if self.chosen.get("deleted") else (State.TOMBSTONED,))]
        for rows in row_steps(len(self.objects), AT_ONCE):
            columns = self.objects.columns(rows)
            there = ~in_states(columns.state, gone)
            yield columns if there.all() else columns.take(there)

    def _keyed(self) -> Iterator[tuple[ObjectColumns, list[str]]]:
        for there in self._present():
            texts = self.objects.key_texts(there.row)
            keys = [text for text in texts if text is not None]
            if len(keys) < len(texts):
                there = there.take([text is not None for text in texts])
            yield there, keys

    def keys(self) -> KeysView[str]:
        """Return the keys, in the order of iteration."""
        return KeysView(cast("Mapping[str, bytes]", self))

    def items(self) -> ItemsView[str, bytes]:
        """Return keys and uncompressed contents, in the order of iteration; see `read` for errors."""
        return ShardItems(cast("Mapping[str, bytes]", self))

    def values(self) -> ValuesView[bytes]:
        """Return the uncompressed contents, in the order of iteration."""
        return ShardValues(cast("Mapping[str, bytes]", self))

    def _items(self) -> Iterator[tuple[str, bytes]]:
        if not self.listed:
            self.load_index()
        for there, keys in self._keyed():
            for key, data in zip(keys, self.contents_of(there), strict=True):
                if isinstance(data, ShardError):
                    raise data
                yield key, data

    @overload
    def get(self, key: Key, default: None = None) -> bytes | None: ...
    @overload
    def get(self, key: Key, default: R) -> bytes | R: ...
    def get(self, key: Key, default: R | None = None) -> bytes | R | None:
        """Return the uncompressed content of a key; `default` if it was not found or is malformed."""
        try:
            return self.read(key)
        except (KeyAbsent, UsageError):
            return default

    def _ipython_key_completions_(self) -> list[str]:
        return list(islice(self, MOST_COMPLETED))

    def __repr__(self) -> str:
        where = without_secrets(self.opened_at) or (self.source.name if self.source is not None else "")
        state = "closed" if self.closed else "damaged" if self.damage is not None else "open"
        return f"<{type(self).__name__} {where!r} format={self.format!r} {state}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise UsageError("a shard cannot be pickled: pass its tickets() to the other process, and open them there")

    def find(self, key: Key) -> ObjectRef:
        """Return the object with this key; if there are several, the one that the reference implementation returns.

        Args:
            key: The key as text, or as the bytes or number that the format stores: a sha256 or hash as 32 bytes, a
                chunk number, a segment ID.

        Raises:
            KeyAbsent: The key was not found.
            UsageError: The key is malformed.
            FormatError: The shard is damaged where the lookup reads.
        """
        with reading(self), reading_for(ReadPurpose.LOOKUP):
            parsed = self.parse_key(self.key_text(key))
            if (known := self.find_loaded(parsed)) is not None:
                return known
            from shardcore.shards.trace import LookupRecorder

            return self.lookup(parsed, LookupRecorder())

    def find_loaded(self, key: Any) -> ObjectRef | None:
        """Return the object with a key returned by `parse_key` from the loaded index; None if `lookup` is needed."""
        return None

    def find_all(self, key: Key) -> Sequence[ObjectRef]:
        """Return all objects with this key; empty if it was not found. UsageError: the key is malformed.

        In formats where a key may have very many objects, each is created on access, as in `objects`.
        """
        with reading(self), reading_for(ReadPurpose.LOOKUP):
            return self.lookup_all(self.parse_key(self.key_text(key)))

    def find_many(self, keys: Iterable[Key]) -> NDArray[np.int64]:
        """Return the rows of many keys, in the order of the keys; -1 for a key that was not found. May load the index.

        Args:
            keys: As for `find`, or an array of numbers.

        Raises:
            UsageError: A key is malformed.
            FormatError: The shard is damaged at a location where a missing key may be.
        """
        with reading(self):
            return self._find_many([self.key_text(key) for key in several(keys, "keys")])

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        rows = np.full(len(keys), -1, np.int64)
        for number, key in enumerate(keys):
            try:
                rows[number] = self.find(key).row
            except KeyAbsent:
                continue
        return rows

    def trace(self, key: Key) -> Trace:
        """Look up a key, and return the steps of the lookup and its outcome, also if the key is not found.

        Raises:
            UsageError: The key is malformed.
            SourceError: The bytes cannot be read.
        """
        from shardcore.shards.trace import record_lookup

        with reading(self), reading_for(ReadPurpose.LOOKUP):
            text = self.key_text(key)
            parsed = self.parse_key(text)
            return record_lookup(text, lambda recorder: self.lookup(parsed, recorder), sections=lambda: self.sections)

    def sketches(self, trace: Trace | None = None) -> tuple[Sketch, ...]:
        """Return the drawings of the file, or of a lookup; the window shows each in a tab. Reads nothing.

        Args:
            trace: The lookup to draw; None: drawings that need no lookup.
        """
        from shardcore.teaching import drawings_of_nodes

        return *self._format_sketches(trace), *drawings_of_nodes(self)

    def _format_sketches(self, trace: Trace | None) -> tuple[Sketch, ...]:
        return ()

    def _teaching(self) -> Any:
        """Return the module with the drawings of the format, `shardcore.teaching.<format>`; None if there is none."""
        from shardcore.teaching import part_of

        return part_of(self.format)

    def read(self, ref: ObjectRef | Key, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return the uncompressed content of an object.

        Args:
            ref: An object, or its key.
            limit: Maximum number of bytes.

        Raises:
            KeyAbsent: The key was not found.
            LimitExceeded: The content has more than `limit` bytes.
            FormatError: The stored bytes are corrupt.
            SourceError: The bytes cannot be read.
        """
        if not isinstance(ref, ObjectRef):
            return self._read_key(ref, limit)
        data = self._read_plain(ref, min(limit, PIECE))
        return b"".join(bounded(self, ref, limit)) if data is None else data

    def _read_key(self, key: Key, limit: int) -> bytes:
        return self.read(self.find(key), limit=limit)

    def _read_plain(self, ref: ObjectRef, limit: int) -> bytes | None:
        """Return a content of at most `limit` bytes that is stored uncompressed; None if `stream` must be used."""
        return None

    def contents(self, rows: NDArray[np.int64]) -> Iterator[bytes | ShardError]:
        """Yield the uncompressed content of each row, or its error, in the order of `rows`.

        Contents that are close to each other in the file are read together. Read large contents with `stream`.

        Raises:
            SourceError: The bytes cannot be read.
        """
        for first in range(0, len(rows), AT_ONCE):
            yield from self.contents_of(self.objects.columns(rows[first : first + AT_ONCE]))

    def contents_of(self, columns: ObjectColumns) -> Iterator[bytes | ShardError]:
        """Do the same as `contents` for at most `AT_ONCE` rows, whose columns the caller has already."""
        for ref in self.objects.each_ref(columns.row, sizes=False):
            yield ref if isinstance(ref, ShardError) else self._content_or_error(partial(self.read, ref))

    def _content_or_error(self, read: Callable[[], bytes]) -> bytes | ShardError:
        try:
            return read()
        except SourceError:
            raise
        except ShardError as error:
            return error
        except UNFORESEEN as error:
            return unforeseen(error, self.source.name if self.source is not None else "")

    def array(self, ref: ObjectRef | Key, *, limit: int = DEFAULT_LIMIT) -> NDArray[Any]:
        """Return an object as a read-only NumPy array.

        Arrays are objects that the format declares as such (`Arrays.array_layout`), and contents that are `.npy` files.
        Slices read a part of the array that all chunks form: `shard[0:64, 0:64, 12]`.

        Args:
            ref: An object, or its key.
            limit: Maximum bytes, stored or decoded; nothing is read if the declared array is larger.

        Raises:
            UsageError: The object is not an array.
            Unsupported: The encoding of the elements is not supported.
            LimitExceeded: The array or its content has more than `limit` bytes.
            FormatError: The stored bytes are corrupt, or do not fit the array.
            SourceError: The bytes cannot be read.
        """
        from shardcore.model.content_layout import RAW

        wanted = self.ref_of(ref)
        layout = self.arrays.array_layout(wanted)
        if layout is not None and layout.nbytes > limit:
            size = plural(layout.nbytes, "byte")
            raise LimitExceeded(f"{short(wanted.key)} is an array of {size}; the limit is {limit:,}")
        data = self.read(wanted, limit=limit)
        if layout is None:
            from shardcore.codecs.array_headers import NPY_MAGIC, npy_layout

            if not data.startswith(NPY_MAGIC):
                raise UsageError(f"{short(wanted.key)} is not an array")
            layout = npy_layout(data)
        if layout.encoding != RAW:
            layout, data = self.arrays.decode_array(wanted, layout, data, self.decoder)
        return layout.of(data)

    def ref_of(self, wanted: ObjectRef | Key) -> ObjectRef:
        """Return the object of a key; if `wanted` is an object already, it is returned unchanged."""
        return wanted if isinstance(wanted, ObjectRef) else self.find(wanted)

    def read_range(self, ref: ObjectRef | Key, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return the bytes `[start, stop)` of the uncompressed content; fewer if the content ends before `stop`.

        Raises:
            KeyAbsent: The key was not found.
            UsageError: The start is after the end.
            LimitExceeded: The range has more than `limit` bytes.
            FormatError: The stored bytes are corrupt.
            SourceError: The bytes cannot be read.
        """
        if not 0 <= start <= stop:
            raise UsageError(f"{start}..{stop} is not a range: the start is after the end")
        return self._read_range(self.ref_of(ref), start, stop, limit)

    def open_object(self, ref: ObjectRef | Key) -> BinaryIO:
        """Open an object as a seekable binary file, read-only. The shard must stay open.

        A content that can be decoded only as a whole is decoded once, on the first read.

        Raises:
            KeyAbsent: The key was not found.
            FormatError: The object is damaged.
            LimitExceeded: The content is larger than 1 GiB and must be decoded as a whole.
            SourceError: The bytes cannot be read.
        """
        from shardcore.shards.inner_source import open_object

        return open_object(self, ref)

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        kept, at = bytearray(), 0
        if start == stop:
            return b""
        for piece in self.stream(ref):
            kept += piece[max(start - at, 0) : stop - at]
            if len(kept) > limit:
                raise LimitExceeded(f"the range of {ref.key} has more than {plural(limit, 'byte')}")
            at += len(piece)
            if at >= stop:
                break
        return bytes(kept)

    def fetch_soon(self, refs: Iterable[ObjectRef]) -> None:
        """Start fetching contents that are in other files (xorbs); errors are raised later, when contents are read.

        Args:
            refs: Objects of the shard, in the order in which they are read.
        """

    def reads_ranges(self, ref: ObjectRef) -> bool:
        """Return whether `read_range` decodes only the parts of an object that the range touches."""
        return False

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return a further content of an object by its name; `ref.parts` has the names.

        Raises:
            UsageError: The object has no such part.
        """
        raise UsageError(f"{short(ref.key)} has no part {short(part)} (available: {', '.join(ref.parts) or 'none'})")

    def file_names(self, ref: ObjectRef) -> dict[str, str]:
        """Return the names of the files to which an object is extracted, by part; a name may be unsafe (`../x`).

        The part `""` is the content itself. Parts that are not extracted to a file are left out.

        Raises:
            ShardError: The member that contains the object cannot be opened.
        """
        return {"": ref.key if ref.key is not None else str(ref.extras.get("key_hex") or f"row-{ref.row}")}

    def file_head(self, ref: ObjectRef, name: str) -> bytes:
        """Return the header that is written before the content when an object is extracted to a file called `name`.

        Raises:
            SourceError: The bytes cannot be read.
        """
        return b""

    def chunk_grid(self, scale: str = "") -> ChunkGrid | None:
        """Return the array that the chunks of the shard form; None if there is none.

        Args:
            scale: Name of a scale of a volume; default: the opened one.

        Raises:
            UsageError: There is no such scale.
            ShardError: The description of the array cannot be read.
        """
        return None

    def content_parts(self, ref: ObjectRef) -> Sequence[ContentPart]:
        """Return the parts of a content in order, each with the location of its bytes. May read.

        A content is one part if it is stored uncompressed, or if `bytes_of` returns its decoded bytes. With block
        compression, each block is a part. Parts of an encoded array refer to its elements (`Arrays.decode_array`).

        Raises:
            FormatError: The stored bytes are corrupt.
            SourceError: The stored bytes cannot be read.
        """
        from shardcore.model.content_layout import ContentPart

        if not ref.spans or ref.size <= 0:
            return ()
        stored = ref.spans[0]
        if ref.codec != "none" or stored.size != ref.size:
            name = str(SourceName.parse(stored.source).decoded(stored.start, stored.stop))
            try:
                stored = Span(name, 0, ref.size) if self.bytes_of(name).size == ref.size else stored
            except ShardError:
                # There is no source of these decoded bytes: return the stored object.
                return (ContentPart(0, ref.size, stored),)
        return (ContentPart(0, ref.size, stored),)

    def bare(self, columns: ObjectColumns) -> NDArray[np.bool_]:
        """Return, per row, whether a live object has a key and a content, but neither metadata (`facts`) nor parts."""
        return np.zeros(len(columns), np.bool_)

    def facts(self, ref: ObjectRef) -> dict[str, Any]:
        """Return the metadata of an object as JSON values, for packing the object again. Reads no more than its row.

        Raises:
            ShardError: The object is damaged, or the bytes cannot be read.
        """
        return {}

    @property
    def arrays(self) -> Arrays:
        """Arrays and geometry that the format declares for its objects."""
        return self if isinstance(self, Arrays) else Arrays()

    @property
    def sharding(self) -> Sharding | None:
        """Parameters that are stored beside the file or inferred (Neuroglancer); None if the file contains them all."""
        return None

    @property
    def parameters(self) -> str:
        """Parameters of `sharding` as JSON text, for `open(spec=...)`; empty if `sharding` is None."""
        return "" if self.sharding is None else self.sharding.parameters

    @property
    def evidence(self) -> tuple[str, ...]:
        """Evidence for `parameters` that were inferred, one sentence each; empty if they are declared."""
        return () if self.sharding is None else self.sharding.evidence

    @property
    def write_options(self) -> dict[str, Any]:
        """Options for writing a shard like this one; `extract` stores them in its manifest."""
        import json

        return {} if self.sharding is None else {"spec": json.loads(self.sharding.written_with)}

    @property
    def settings(self) -> Mapping[str, Any]:
        """Metadata of the whole shard as JSON values, by the names of options for writing.

        A conversion passes them to formats that have such options, and reports the others as losses.
        """
        return {} if self.sharding is None else self.sharding.settings

    @property
    def checksum(self) -> str:
        """Name of the checksum or digest that is stored for every content, such as `sha256`; empty if there is none."""
        return ""

    @property
    def views(self) -> tuple[str, ...]:
        """Keys that read the whole content of the file as one object, without a row in `objects` (bloscpack: `all`)."""
        return ()

    def part(self, name: str) -> SourcePart:
        """Return a source of bytes of the shard, with its sections and its tree.

        Args:
            name: As in `Span.source`: empty for the file, the name of a file beside it, or `@start-stop` for the
                decoded content of these stored bytes.

        Raises:
            UsageError: There is no such source.
            ShardError: The bytes of the source cannot be read or decoded.
        """
        with reading(self):
            parsed = SourceName.parse(name)
            if parsed.is_file and self.source is not None:
                return SourcePart(self.source, self.sections, lambda: self.tree)
            return self._part(parsed)

    def _part(self, name: SourceName) -> SourcePart:
        hint = "@A-B for the decoded content of the stored bytes A to B, or the name of a file in the tree"
        raise UsageError(f"unknown source {short(str(name))}; use {hint}")

    def bytes_of(self, name: str) -> Source:
        """Return the source of a name in `Span.source`; see `part`."""
        return self.part(name).source

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """Return the sections of a source, which cover it without gaps; see `part`."""
        return self.sections if name == "" else self.part(name).sections

    def tree_of(self, name: str) -> Node:
        """Return the root of the node tree of a source; see `part`."""
        return self.tree if name == "" else self.part(name).tree()

    def explain(self, offset: int, source: str = "") -> tuple[Node, ...]:
        """Return the nodes that contain a byte, from the root node of its source to the smallest one.

        Raises:
            UsageError: There is no such byte.
            SourceError: The bytes cannot be read.
        """
        if self.source is None and not source:
            raise UsageError("a folder has no bytes: give one of its files")
        with reading(self):
            root = self.tree_of(source)
            if not root.span.covers(offset):
                raise UsageError(f"no byte {offset:#x}: {source or 'the file'} has {root.span.size} bytes")
            return path_to(root, offset, source)

    def whole_path(self, offset: int, source: str = "") -> tuple[Node, ...]:
        """Return the path as `explain` does, but from the root of the shard; decoded bytes are below stored ones."""
        path = self.explain(offset, source)
        name = SourceName.parse(source)
        if name.stretch is None:
            return path
        outer = self.whole_path(name.stretch[0], str(name.outer))
        depth = next((n for n, node in enumerate(outer) if node.decoded == source), None)
        return path if depth is None else (*outer[: depth + 1], *path)

    def point_to(self, into: ReferenceCollector) -> None:
        """Add to a collector the table rows that refer to its span; see `shardcore.operations.references`."""

    def runs(self, start: int, stop: int, source: str = "") -> Runs:
        """Divide the bytes `[start, stop)` of a source into runs of equal role, for painting; agrees with `explain`.

        Raises:
            SourceError: The bytes cannot be read.
        """
        with reading(self):
            return runs_of(self.tree_of(source), start, stop)

    def fields_in(self, start: int, stop: int, source: str = "", *, limit: int = MOST_FIELDS) -> list[tuple[Node, ...]]:
        """Return the paths of the first `limit` fields that begin in the bytes `[start, stop)`; errors: see `runs`."""
        with reading(self):
            return fields_of(self.tree_of(source), start, stop, limit)

    def isolate(self, decoder: IsolatedDecoder | None = None) -> None:
        """Run decoders written in C in a separate process from now on; the process ends with the shard.

        Args:
            decoder: Process to use, which the caller closes; default: a new one.
        """
        if self.isolated is None:
            from shardcore.codecs.decoder_process import IsolatedDecoder

            self._own_decoder = None if decoder else IsolatedDecoder()
            self.isolated = decoder or self._own_decoder

    @property
    def decoder(self) -> TaskRunner:
        """Function that runs the decoders of `codecs.isolated`, in a separate process if `isolated` is set."""
        from shardcore.codecs.decoder_process import run_task

        return run_task if self.isolated is None else self.isolated.run

    @contextmanager
    def borrowed(self, name: str, *, keep: bool = False) -> Iterator[Shard]:
        """Open a member of a data set for a `with` block. A single file yields itself, for an empty name.

        Args:
            name: Name of the member.
            keep: Whether the member stays open after the block.

        Raises:
            ShardError: The member cannot be opened.
        """
        if name:
            raise UsageError(f"no file {short(name)} in this shard")
        yield self

    def verify_member(self, member: Shard, depth: Depth, progress: Progress) -> Report:
        """Verify a member that was opened by `borrowed`."""
        return member.verify(depth, progress)

    def report_unopened(self, name: str, depth: Depth) -> Report | None:
        """Verify a small shard of a data set without opening it; return None if it must be opened to be verified."""
        return None

    def tickets(self, *, keys: bool = False) -> list[ShardTicket]:
        """Return one ticket per shard of a data set, in order (one for a single file), to open it in another process.

        Args:
            keys: Whether tickets may contain credentials; default: workers use a profile or their own credentials.

        Raises:
            UsageError: The shard was opened from bytes, or its tickets would contain credentials.
            SourceError: The shards cannot be listed.
        """
        from shardcore.shards.tickets import tickets_of

        return tickets_of(self, keys=keys)

    def map_shards(
        self,
        function: Callable[[Shard], R],
        *,
        executor: Executor | None = None,
        batch: int = 32,
        in_flight: int | None = None,
        keys: bool = False,
    ) -> Generator[R | ShardError]:
        """Call a function for each shard of a data set; yield results in order, or the `ShardError` of a failed one.

        Few tasks run at any time, and a slow shard does not block the others. Closing the generator, or an exception
        from the check of `stopped_by`, stops the work; tasks in other processes or machines first run to their end.

        Args:
            function: Called with the opened shard. For processes and clusters, it and its result must be picklable.
            executor: Any executor of `concurrent.futures`, such as Dask's `client.get_executor()`; default: threads of
                this process, as many as `Shard.jobs`.
            batch: Maximum number of shards per task.
            in_flight: Maximum number of submitted tasks; default: twice the number of workers.
            keys: Whether credentials may be sent to other machines, over TLS only.

        Raises:
            UsageError: Other processes cannot open the shards.
            SourceError: The shards cannot be listed.
            Cancelled: The caller cancelled.
        """
        from shardcore.shards.task_pool import map_shards

        return map_shards(self, function, executor, batch=batch, in_flight=in_flight, keys=keys)

    def close(self) -> None:
        """Close the source, and stop the process of `isolate`."""
        self.closed = True
        try:
            self._close()
        finally:
            if self._own_decoder is not None:
                self._own_decoder.close()

    def _close(self) -> None:
        if self.source is not None:
            self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _stopped_report(shard: Shard, depth: Depth, collected: list[Findings]) -> Report:
    verified = sum(findings.verified for findings in collected)
    total = shard.declared_objects
    many = plural(verified, "object") if total is None else f"{verified:,} of {plural(total, 'object')}"
    return Report(depth, verified, tuple(one for findings in collected for one in findings.all()), stopped_after=many)


def read_content_range(source: Source, ref: ObjectRef, content: Span, start: int, stop: int, limit: int) -> bytes:
    """Read the bytes `[start, stop)` of an object stored uncompressed at `content`; fewer if it ends before `stop`.

    Raises:
        LimitExceeded: The range has more than `limit` bytes.
        UsageError: The start is after the end.
    """
    if start > stop:
        raise UsageError(f"{start}..{stop} is not a range: the start is after the end")
    first, last = min(content.start + start, content.stop), min(content.start + stop, content.stop)
    if last - first > limit:
        raise LimitExceeded(f"the range of {ref.key} exceeds the limit of {plural(limit, 'byte')}", span=content)
    return source.read(first, last)


_PURPOSES = {
    SectionRole.HEADER: ReadPurpose.HEAD,
    SectionRole.FOOTER: ReadPurpose.FOOTER,
    SectionRole.INDEX: ReadPurpose.INDEX,
    SectionRole.LOOKUP: ReadPurpose.LOOKUP,
    SectionRole.METADATA: ReadPurpose.INDEX,
}
"""Purpose of a read by the role of the section that it reads; all other roles are content."""


def label_requests(shard: Shard) -> None:
    """Let the source of a remote shard label each request in the log by the section that it reads."""
    if shard.source is None or shard.source.near or not (sections := shard.sections):
        return
    starts = [section.start for section in sections]
    purposes = [_PURPOSES.get(section.role, ReadPurpose.PAYLOAD) for section in sections]
    shard.source.learn_purposes(lambda at: purposes[max(bisect_right(starts, at) - 1, 0)])


def bounded(shard: Shard, ref: ObjectRef, limit: int | None) -> Iterator[bytes]:
    """Yield the content of an object; LimitExceeded if it has, or is declared to have, more than `limit` bytes."""
    if limit is not None and ref.size > limit:
        raise LimitExceeded(f"{ref.key} has {plural(ref.size, 'byte')}; the limit is {limit:,}")
    total = 0
    for piece in shard.stream(ref):
        total += len(piece)
        if limit is not None and total > limit:
            raise LimitExceeded(f"{ref.key} has more than the limit of {plural(limit, 'byte')}")
        yield piece
