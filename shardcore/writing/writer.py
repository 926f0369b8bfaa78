"""Writer of shards, the types of content that it accepts, and compact columns of keys and labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, BinaryIO, ClassVar, Protocol, Self

import numpy as np

from shardcore.dataclasses import dataclass, field
from shardcore.errors import Remedy, SourceError, UsageError, reason_of
from shardcore.model.keys import Key, KeyForm
from shardcore.model.options import Option, OptionPurpose, read_options
from shardcore.model.text import plural
from shardcore.progress import check_stopped
from shardcore.sources.base import on_failure
from shardcore.writing.output import Output
from shardcore.writing.plan import Plan, WrittenFile
from shardcore.writing.temporary import STREAM_PIECE


class UnreadableInput(SourceError):
    """An input cannot be opened or read; other inputs can still be packed."""


class OddName(UsageError):
    """The format cannot store the name or key of an input; other inputs can still be packed."""


@dataclass(frozen=True, slots=True)
class Sized:
    """Content of which only the size is known; accepted by a writer that only plans.

    Attributes:
        size: Size in bytes.
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise UsageError("a size cannot be negative")


class ArraySource(Protocol):
    """Array that is read by slices: NumPy (also memory-mapped), h5py, zarr or Dask."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    def __getitem__(self, index: Any, /) -> Any: ...


Data = bytes | bytearray | memoryview | BinaryIO | Iterator[bytes] | Sized | ArraySource
"""Content that a writer accepts: bytes, a stream that is read to its end, or an iterator of pieces. For a plan also
`Sized`, for Bloscpack also an array."""


@dataclass(slots=True)
class More:
    """Further data of an object: `label` is its name in errors, `name` a file name, `facts` the metadata to store."""

    label: str = ""
    name: str = ""
    parts: Mapping[str, Data] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


BARE = More()


class Writer(ABC):
    """Writes a shard. As a context manager, it completes the shard at the end of the block; an exception discards it.

    Attributes:
        output: Creates the files of the shard.
        written: The files, once they are complete.
        key_form: Conversions between keys as text and as bytes or numbers.
        declared: Metadata that the format stores about an object.
        part_names: Names of the parts that it accepts.
        exact: Whether `plan` is exact; False if it depends on a content of which only the size is known.
        expected: Codes of findings in the result that are no errors, since the options or inputs cause them.
        notes: Messages, such as about inferred options.
        folders: Sub-folders of the result that are opened and verified separately; empty: the target itself.
        checks: Whether compressed contents may be decoded and compared with the input before they are written.
        proven: Whether all contents were compared like this, and the files with the bytes written to them (see
            `TemporaryFile.prove`); verification then need not decode the contents again.
    """

    key_form: ClassVar[KeyForm] = KeyForm()
    declared: tuple[Option, ...] = ()
    part_names: tuple[str, ...] = ()
    proven: bool = False

    def __init__(self, output: Output) -> None:
        self.output = output
        self.written: tuple[WrittenFile, ...] = ()
        self.exact = self.checks = True
        self.folders: tuple[str, ...] = ()
        self.expected: set[str] = set()
        self.notes: tuple[str, ...] = ()
        self._opening: dict[str, Any] = {}
        self._finished = False

    @property
    def opening(self) -> Mapping[str, Any]:
        """Options that are needed to open the result: `spec` as JSON text, `xorbs`."""
        return self._opening

    @property
    def rows(self) -> int | None:
        """Number of rows written so far; None if each object is one row."""
        return None

    def add(
        self,
        key: Key | None,
        data: Data,
        *,
        label: str = "",
        name: str = "",
        parts: Mapping[str, Data] | None = None,
        **facts: object,
    ) -> str:
        """Add one object.

        Args:
            key: The key as text, or as the bytes or number that the format stores; None if the format computes it from
                the content, or has no keys.
            data: The content; for Bloscpack also an array, stored with its type, shape and order.
            label: Name in error messages, such as the path of its file.
            name: Relative file name, with `/`, for formats that store names or use extensions.
            parts: Further contents of the object, by name (neuroglancer: `fragments`).
            **facts: Metadata that the format declares.

        Returns:
            The key of the object; empty if it has none.

        Raises:
            UsageError: The key is malformed, or there is no such fact or part. A duplicate key is refused here or by
                `finish`.
            SourceError: The bytes cannot be read or written.
        """
        if self._finished:
            raise UsageError("this writer has finished")
        if key is not None and not isinstance(key, str):
            key = self.key_form.text(key, "new")
        if not (label or name or parts or facts):
            return self._add(key, data, BARE)
        who = label or (f"object {key}" if key is not None else "the object")
        for part in parts or ():
            if part not in self.part_names:
                raise UsageError(f"{who} has no part {part!r} in this format")
        values = read_options(self.declared, facts, OptionPurpose.FACT, who) if facts else {}
        return self._add(key, data, More(label, name, parts or {}, {k: v for k, v in values.items() if v is not None}))

    def add_many(self, keys: Sequence[Key] | None, contents: Sequence[bytes]) -> Sequence[str]:
        """Add many small objects in one call, which is faster than one by one.

        Args:
            keys: One key per content; None if the format computes them, or has no keys.
            contents: The contents, in the order of the keys.

        Returns:
            The keys, as returned by `add`.

        Raises:
            UsageError: The numbers of keys and contents differ; otherwise as in `add`.
            SourceError: The bytes cannot be written.
        """
        if self._finished:
            raise UsageError("this writer has finished")
        if keys is None:
            return self._add_many(None, contents)
        if len(keys) != len(contents):
            raise UsageError(f"{len(keys)} keys for {len(contents)} contents: give one key per content")
        texts = [key if isinstance(key, str) else self.key_form.text(key, "new") for key in keys]
        return self._add_many(texts, contents)

    def _add_many(self, keys: Sequence[str] | None, contents: Sequence[bytes]) -> Sequence[str]:
        given = keys if keys is not None else [None] * len(contents)
        return [self._add(key, data, BARE) for key, data in zip(given, contents, strict=True)]

    @abstractmethod
    def _add(self, key: str | None, data: Data, more: More) -> str:
        """Add one object with checked metadata and parts. `data` is a `Sized` (size without bytes) only in a plan."""

    @abstractmethod
    def plan(self) -> Plan:
        """Return the files that will be written, from the objects added so far."""

    @abstractmethod
    def _complete(self) -> None:
        """Write all bytes that are still missing, and call `complete` of each file with its number of objects."""

    def finish(self) -> tuple[WrittenFile, ...]:
        """Complete the shard: its files get their final names.

        Raises:
            UsageError: The writer only plans, or is finished.
            SourceError: The files cannot be written.
        """
        if self._finished or self.output.planning:
            raise UsageError("this writer has finished" if self._finished else "this writer only plans")
        self._finished = True
        with on_failure(self.output.discard):
            self._complete()
            self.written = self.output.commit()
        return self.written

    def abort(self) -> None:
        """Discard everything that was written; no file appears."""
        self._finished = True
        self.output.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None or self.output.planning:
            self.abort()
        elif not self._finished:
            self.finish()


def pieces_of(data: Data, label: str = "") -> Iterator[bytes | bytearray | memoryview]:
    """Yield a content: a stream in pieces of at most 1 MiB, bytes in one piece.

    Args:
        data: The content.
        label: Name of the content in error messages.

    Raises:
        SourceError: The stream cannot be read.
        UsageError: The content is neither bytes nor a stream of bytes, or only its size is known.
    """
    if isinstance(data, (bytes, bytearray)):
        yield data
        return
    if isinstance(data, memoryview):
        # `len` of a memoryview counts items, which may be larger than a byte.
        yield data if data.c_contiguous and data.format == "B" and data.ndim == 1 else data.tobytes()
        return
    if isinstance(data, Sized):
        raise UsageError(f"{label or 'the content'}: only its size is known, which is not enough for writing")
    # Check for streams first: they are also iterators (of lines).
    read = getattr(data, "read", None)
    if read is not None:
        while piece := _next_piece(read, label):
            yield piece
        return
    if not isinstance(data, Iterator):
        raise UsageError(f"content must be bytes or a stream of bytes, not {type(data).__name__}")
    for piece in data:
        check_stopped()
        yield _checked(piece)


def whole(data: Data, label: str = "") -> bytes:
    """Return a content in one piece, for formats with small objects; errors as in `pieces_of`."""
    return data if isinstance(data, bytes) else b"".join(pieces_of(data, label))


def _next_piece(read: Callable[[int], object], label: str) -> bytes:
    check_stopped()
    try:
        piece = read(STREAM_PIECE)
    except SourceError:
        raise  # of an object that is read as a stream
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"cannot read {label or 'the content'}: {reason_of(error)}") from error
    return _checked(piece)


def _checked(piece: object) -> bytes:
    if not isinstance(piece, (bytes, bytearray)):
        raise UsageError(f"content must be bytes or a stream of bytes, not of {type(piece).__name__}")
    return bytes(piece) if isinstance(piece, bytearray) else piece


# --- keys and labels of millions of objects, without a Python object per value ---


class TextColumn:
    """Sequence of byte strings in one buffer; strings can be appended but not changed."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._stops = array("Q")
        self._hashes = array("q")

    def __len__(self) -> int:
        return len(self._stops)

    def append(self, text: bytes) -> None:
        self._bytes += text
        self._stops.append(len(self._bytes))
        self._hashes.append(hash(text))

    def extend(self, texts: Sequence[bytes]) -> None:
        stops = np.cumsum(np.fromiter(map(len, texts), np.uint64, len(texts))) + np.uint64(len(self._bytes))
        self._bytes += b"".join(texts)
        self._stops.frombytes(stops.tobytes())
        self._hashes.frombytes(np.fromiter(map(hash, texts), np.int64, len(texts)).tobytes())

    def __getitem__(self, row: int) -> bytes:
        start = self._stops[row - 1] if row else 0
        return bytes(self._bytes[start : self._stops[row]])

    def twins(self) -> list[tuple[int, int]]:
        """Return the rows that repeat an earlier row, as (first row, repeated row), in order."""
        hashes = np.frombuffer(self._hashes, np.int64)
        ordered = np.sort(hashes)  # faster than `argsort`, and often enough
        if not (ordered[1:] == ordered[:-1]).any():
            return []
        order = np.argsort(hashes, kind="stable")
        same = hashes[order[1:]] == hashes[order[:-1]]
        rows = np.sort(order[np.append(same, False) | np.append(False, same)])
        # Confirm: hashes may collide.
        known: dict[bytes, int] = {}
        pairs = ((known.setdefault(self[row], row), row) for row in rows.tolist())
        return [(first, row) for first, row in pairs if first != row]


class Labels:
    def __init__(self) -> None:
        self._texts = TextColumn()
        self._rows = array("Q")

    def note(self, row: int, label: str) -> None:
        if label:
            self._texts.append(label.encode("utf-8", "surrogatepass"))
            self._rows.append(row)

    def of(self, row: int) -> str:
        at = int(np.searchsorted(np.frombuffer(self._rows, np.uint64), row)) if self._rows else 0
        if at < len(self._rows) and self._rows[at] == row:
            return self._texts[at].decode("utf-8", "surrogatepass")
        return f"object {row}"


MOST_PAIRS = 10
"""Maximum number of pairs of objects with the same key that an error lists."""


class SameKeys(UsageError):
    """Several objects have the same key."""


def twins_error(
    pairs: Iterable[tuple[str, ...]], count: int, what: str = "key", remedy: Remedy | None = None
) -> SameKeys:
    """Return the error for `count` duplicate keys. It lists the first of the `pairs`: label, other label and key."""
    known = list(islice(pairs, MOST_PAIRS))
    first, second, key = known[0]
    if count == 1:
        return SameKeys(f"{first} and {second} have the same {what}, {key}", remedy=remedy)
    listed = "; ".join(f"{first} and {second} ({key})" for first, second, key in known)
    more = f"; and {plural(count - MOST_PAIRS, 'more pair')}" if count > MOST_PAIRS else ""
    return SameKeys(f"{count:,} pairs of objects have the same {what}: {listed}{more}", remedy=remedy)
