"""Writer of shards, and the content it accepts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, BinaryIO, ClassVar, Self

from shardcore.errors import SourceError, UsageError, reason_of
from shardcore.model.keys import Key, KeyForm
from shardcore.model.options import Option, OptionPurpose, read_options
from shardcore.progress import check_stopped
from shardcore.writing.output import Output
from shardcore.writing.plan import Plan, WrittenFile
from shardcore.writing.temporary import STREAM_PIECE


class UnreadableInput(SourceError):
    """An input that cannot be opened or read; the others can still be packed."""


class OddName(UsageError):
    """An input whose name or key the format cannot hold; the others can still be packed."""


@dataclass(frozen=True, slots=True)
class Sized:
    """Content of which only the size is known; a writer takes it while it only plans.

    Attributes:
        size: Bytes.
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise UsageError("content has at least 0 bytes")


Data = bytes | bytearray | memoryview | BinaryIO | Iterator[bytes] | Sized
"""Content that a writer accepts: bytes, a stream that is read to its end, an iterator of pieces; `Sized` to plan."""


@dataclass(slots=True)
class More:
    label: str = ""
    name: str = ""
    parts: Mapping[str, Data] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


BARE = More()


class Writer(ABC):
    """Writes a shard. A context manager: leaving it finishes the shard, leaving it by an error removes all traces.

    Attributes:
        output: Where the bytes go.
        written: The files, once they are complete.
        key_form: The keys of the format as bytes or numbers.
        declared: The facts that the format keeps about an object.
        part_names: The parts that it takes.
        exact: Whether `plan` says what is going to be written; False once content was only `Sized` where it matters.
        expected: Codes of findings that state nothing against what was written: what they are about was requested.
        notes: What was suggested for lack of options, and what people should know besides; a sentence each.
        folders: The folders of the result that are opened, each by itself, to verify it, relative to the target; empty:
            the target itself.
        opening: Options with which the result is opened again (`spec`, `xorbs`), as far as it does not state them.
        proven: Whether contents were decoded again and compared before they were written, and the files compared with
            what was written (see `TemporaryFile.prove`): reading the result back need not decode them once more.
    """

    key_form: ClassVar[KeyForm] = KeyForm()
    declared: tuple[Option, ...] = ()
    part_names: tuple[str, ...] = ()
    proven: bool = False

    def __init__(self, output: Output) -> None:
        self.output = output
        self.written: tuple[WrittenFile, ...] = ()
        self.exact = True
        self.folders: tuple[str, ...] = ()
        self.opening: dict[str, Any] = {}
        self.expected: set[str] = set()
        self.notes: tuple[str, ...] = ()
        self._finished = False

    @property
    def rows(self) -> int | None:
        """Rows written so far; None where each object is one row."""
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
            key: Its text form, or the bytes or the number that the format stores; None where the format makes it from
                the content, or has no keys.
            data: The content.
            label: Name in errors: the path of its file.
            name: The name of its file, relative, with `/`; formats that keep names or look at endings use it.
            parts: Further contents of the object, by name (neuroglancer: `fragments`).
            **facts: What else the format keeps about an object, as it declares.

        Returns:
            The key under which it is found; empty where it has none.

        Raises:
            UsageError: The key is not of the format's form, or there is no such fact or part; a key that is there
                already is refused here or by `finish`.
            SourceError: The bytes cannot be read or written.
        """
        if self._finished:
            raise UsageError("this writer is finished")
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

    def add_many(self, keys: Sequence[Key] | None, contents: Sequence[bytes]) -> list[str]:
        """Add many small objects at once, quicker than one by one.

        Args:
            keys: As many as contents; None where the format makes them from the contents, or has none.
            contents: In the order of the keys.

        Returns:
            The keys, as `add` returns them.

        Raises:
            UsageError: There are not as many keys as contents; otherwise as in `add`.
            SourceError: The bytes cannot be written.
        """
        if self._finished:
            raise UsageError("this writer is finished")
        if keys is None:
            return self._add_many(None, contents)
        if len(keys) != len(contents):
            raise UsageError(f"{len(keys)} keys for {len(contents)} contents")
        texts = [key if isinstance(key, str) else self.key_form.text(key, "new") for key in keys]
        return self._add_many(texts, contents)

    def _add_many(self, keys: Sequence[str] | None, contents: Sequence[bytes]) -> list[str]:
        given = keys if keys is not None else [None] * len(contents)
        return [self._add(key, data, BARE) for key, data in zip(given, contents, strict=True)]

    @abstractmethod
    def _add(self, key: str | None, data: Data, more: More) -> str:
        """See `add`; facts and parts are checked, and `Sized` comes only while planning (see `sized`)."""

    @abstractmethod
    def plan(self) -> Plan:
        """Return what is going to be written, from what was added so far."""

    @abstractmethod
    def _complete(self) -> None:
        """Write what is left to write, and completes each file with the number of its objects."""

    def finish(self) -> tuple[WrittenFile, ...]:
        """Complete the shard: its files appear under their final names.

        Raises:
            UsageError: The writer only plans, or is finished.
            SourceError: The files cannot be written.
        """
        if self._finished or self.output.planning:
            raise UsageError("this writer is finished" if self._finished else "this writer only plans")
        self._finished = True
        try:
            self._complete()
            self.written = self.output.commit()
        except BaseException:
            self.output.discard()
            raise
        return self.written

    def abort(self) -> None:
        """Give up: nothing appears."""
        self._finished = True
        self.output.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None or self.output.planning:
            self.abort()
        elif not self._finished:
            self.finish()


def pieces_of(data: Data, label: str = "") -> Iterator[bytes | bytearray | memoryview]:
    """Content in pieces of at most a mebibyte when it is a stream, at once when it is bytes.

    Args:
        data: The content.
        label: Name in errors.

    Raises:
        SourceError: The stream cannot be read.
        UsageError: It is neither bytes nor a stream of bytes, or only its size is known.
    """
    if isinstance(data, (bytes, bytearray)):
        yield data
        return
    if isinstance(data, memoryview):
        # Of a view, `len` counts items, which need not be bytes.
        yield data if data.c_contiguous and data.format == "B" and data.ndim == 1 else data.tobytes()
        return
    if isinstance(data, Sized):
        raise UsageError(f"{label or 'the content'}: only its size is known; that is enough to plan, not to write")
    # Streams are iterators, too: of lines.
    read = getattr(data, "read", None)
    if read is not None:
        while piece := _next_piece(read, label):
            yield piece
        return
    if not hasattr(data, "__next__"):
        raise UsageError(f"content is bytes or a stream of bytes, not {type(data).__name__}")
    for piece in data:
        check_stopped()
        yield _checked(piece)


def whole(data: Data, label: str = "") -> bytes:
    return data if isinstance(data, bytes) else b"".join(pieces_of(data, label))


def _next_piece(read: Callable[[int], object], label: str) -> bytes:
    check_stopped()
    try:
        piece = read(STREAM_PIECE)
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"cannot read {label or 'the content'}: {reason_of(error)}") from error
    return _checked(piece)


def _checked(piece: object) -> bytes:
    if not isinstance(piece, (bytes, bytearray)):
        raise UsageError(f"content is bytes or a stream of bytes, not of {type(piece).__name__}")
    return bytes(piece) if isinstance(piece, bytearray) else piece
