"""What every opened thing is: a shard, its objects, its decoded parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import KeyAbsent, LimitExceeded, ShardError, UsageError
from shardcore.finding import Depth, Report
from shardcore.nodes.node import Node, path_to, runs_of
from shardcore.nodes.runs import Runs
from shardcore.nodes.sections import Section
from shardcore.objects import ObjectRef, Objects
from shardcore.progress import Progress, no_progress
from shardcore.record import Value
from shardcore.sources.base import Folder, Source
from shardcore.span import Span
from shardcore.trace import Look, Trace, tell

DEFAULT_LIMIT = 1 << 30
"""One decoded object is at most this many bytes, unless asked for."""

PIECE = 1 << 20
"""Streams come in pieces of at most about this many bytes."""


class Shard(ABC):
    """An opened shard. Thread-safe.

    Attributes:
        format: The name of its format.
        version: The version of its format, as the file states it.
        why: How the format was recognised.
        source: The file; None for a data set.
        sections: The coarse parts of the file; they tile it.
        damage: What made it impossible to open the shard as a whole; then only a part of the tree is there.
    """

    format: str
    version: str = ""
    why: str = ""
    source: Source | None
    sections: tuple[Section, ...]
    damage: ShardError | None = None

    @property
    @abstractmethod
    def objects(self) -> Objects:
        """All objects, as columns."""

    @property
    @abstractmethod
    def tree(self) -> Node:
        """The root of the node tree of the file; grows with `load_index`."""

    @property
    @abstractmethod
    def fields(self) -> dict[str, Value]:
        """The header and footer fields, `section.field` to value, in the order of their bytes."""

    @property
    @abstractmethod
    def declared_objects(self) -> int:
        """How many objects the file says it has."""

    @property
    @abstractmethod
    def loaded(self) -> bool:
        """Whether `load_index` has been done."""

    @property
    def index_bytes(self) -> int:
        """How many bytes `load_index` has to read, about."""
        return 0

    @abstractmethod
    def load_index(self, progress: Progress = no_progress) -> None:
        """Reads what is needed to explain every byte and to sort the objects.

        Raises:
            ShardError: The index is damaged, or the bytes cannot be had.
        """

    @abstractmethod
    def lookup(self, key: str, look: Look) -> ObjectRef:
        """Finds a key, reading through `look` and telling it each step; the path under `find` and `trace`.

        Raises:
            KeyAbsent: The key is not there.
            UsageError: The key is not of the format's form.
            FormatError: The shard is damaged where the lookup needs it.
        """

    @abstractmethod
    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """The decoded content in pieces.

        Raises:
            FormatError: The stored bytes are damaged.
            ExternalMissing: The content lies elsewhere and is not there.
            SourceError: The bytes cannot be had.
        """

    @abstractmethod
    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Checks the shard to a depth.

        Raises:
            SourceError: The bytes cannot be had.
        """

    def find(self, key: str) -> ObjectRef:
        """The object with this key; of several, the one that the reference would serve.

        Raises:
            KeyAbsent: The key is not there.
            UsageError: The key is not of the format's form.
            FormatError: The shard is damaged where the lookup needs it.
        """
        return self.lookup(key, Look())

    def find_all(self, key: str) -> tuple[ObjectRef, ...]:
        """All objects with this key; empty when there is none."""
        try:
            return (self.find(key),)
        except KeyAbsent:
            return ()

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The rows of many keys, shape `(len(keys),)`; -1 where a key is absent."""
        rows = np.full(len(keys), -1, np.int64)
        for number, key in enumerate(keys):
            try:
                rows[number] = self.find(key).row
            except KeyAbsent:
                continue
        return rows

    def trace(self, key: str) -> Trace:
        """The lookup of a key, told step by step.

        Raises:
            UsageError: The key is not of the format's form.
            SourceError: The bytes cannot be had.
        """
        return tell(key, lambda look: self.lookup(key, look))

    def read(self, ref: ObjectRef, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """The decoded content.

        Raises:
            LimitExceeded: It is longer than `limit` bytes.
            FormatError: The stored bytes are damaged.
            SourceError: The bytes cannot be had.
        """
        return b"".join(bounded(self, ref, limit))

    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """The bytes `[start, stop)` of the decoded content, cut at its end; formats read only what they need.

        Raises:
            LimitExceeded: The range is longer than `limit` bytes.
            FormatError: The stored bytes are damaged.
            SourceError: The bytes cannot be had.
        """
        if not 0 <= start <= stop:
            raise UsageError(f"not a half-open range: {start}..{stop}")
        kept, at = bytearray(), 0
        if start == stop:
            return b""
        for piece in self.stream(ref):
            kept += piece[max(start - at, 0) : stop - at]
            if len(kept) > limit:
                raise LimitExceeded(f"the range of {ref.key} has over {limit} bytes")
            at += len(piece)
            if at >= stop:
                break
        return bytes(kept)

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """A further content of an object, one of `ref.parts`.

        Raises:
            UsageError: The object has no such part.
        """
        raise UsageError(f"{ref.key} has no part {part!r}; it has {', '.join(ref.parts) or 'none'}")

    def file_names(self, ref: ObjectRef) -> dict[str, str]:
        """The files that an object becomes when it is extracted: part to name, which need not be safe.

        The part `""` is the content itself. Of `ref.parts` those are left out that are no files of their own.

        Raises:
            ShardError: The member of a data set that holds the object cannot be opened.
        """
        return {"": ref.key if ref.key is not None else str(ref.extras.get("key_hex") or f"row-{ref.row}")}

    @property
    def parameters(self) -> str:
        """What the file is read with and does not state itself, as JSON text that `open(spec=...)` takes; or empty."""
        return ""

    @property
    def evidence(self) -> tuple[str, ...]:
        """What speaks for `parameters` when they are inferred, a sentence each; empty when they are stated."""
        return ()

    @property
    def ambiguity(self) -> tuple[str, ...]:
        """What inferred `parameters` leave open, a sentence each."""
        return ()

    @property
    def views(self) -> tuple[str, ...]:
        """Keys that stand for whole contents and are not rows of `objects` (bloscpack: `all`)."""
        return ()

    def bytes_of(self, name: str) -> Source:
        """The source behind a span's `source`.

        Raises:
            UsageError: There is no such source.
            ShardError: Its bytes cannot be had or decoded.
        """
        if name == "" and self.source is not None:
            return self.source
        raise UsageError(f"no bytes are called {name!r} here")

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The sections of a source; they tile it."""
        return self.sections if name == "" else ()

    def tree_of(self, name: str) -> Node:
        """The root of the node tree of a source.

        Raises:
            UsageError: There is no such source.
            ShardError: Its bytes cannot be had or decoded.
        """
        if name == "":
            return self.tree
        source = self.bytes_of(name)
        return Node(name, Span(name, 0, source.size))

    def explain(self, offset: int, source: str = "") -> tuple[Node, ...]:
        """The path from a source to the smallest thing that owns one of its bytes.

        Raises:
            UsageError: There is no such byte.
            SourceError: The bytes cannot be had.
        """
        root = self.tree_of(source)
        if not root.span.covers(offset):
            raise UsageError(f"there is no byte {offset}; {source or 'the file'} has {root.span.size}")
        return path_to(root, offset, source)

    def runs(self, start: int, stop: int, source: str = "") -> Runs:
        """What owns the bytes `[start, stop)` of a source, for painting; agrees with `explain`.

        Raises:
            SourceError: The bytes cannot be had.
        """
        return runs_of(self.tree_of(source), start, stop)

    def close(self) -> None:
        """Closes the source."""
        if self.source is not None:
            self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """What the caller of `open` may say.

    Attributes:
        spec: neuroglancer: the sharding specification, as JSON text, a mapping, or the path of a file.
        xorbs: mdb: the folder with the xorbs.
        deleted: Whether tombstoned data is served.
        forced: Whether the caller named the format, which lifts the bar of inference.
        isolated: Whether codecs that could take the process with them run in one of their own.
    """

    spec: Any = None
    xorbs: Folder | None = None
    deleted: bool = False
    forced: bool = False
    isolated: bool = False


def bounded(shard: Shard, ref: ObjectRef, limit: int | None) -> Iterator[bytes]:
    """The content of an object as it streams, as long as it stays within a limit.

    Raises:
        LimitExceeded: It has, or says that it has, more bytes.
    """
    if limit is not None and ref.size > limit:
        raise LimitExceeded(f"{ref.key} has {ref.size} bytes; the limit is {limit}")
    total = 0
    for piece in shard.stream(ref):
        total += len(piece)
        if limit is not None and total > limit:
            raise LimitExceeded(f"{ref.key} has over {limit} bytes; that is the limit")
        yield piece
