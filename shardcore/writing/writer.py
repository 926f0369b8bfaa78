"""What a writer of shards is, and the content it takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import TracebackType
from typing import BinaryIO, Self

from shardcore.errors import SourceError, UsageError, reason_of
from shardcore.writing.output import STREAM_PIECE, Output
from shardcore.writing.plan import Plan, WrittenFile

Data = bytes | bytearray | memoryview | BinaryIO
"""What a writer takes as content: bytes, or a stream that is read to its end."""


class Writer(ABC):
    """Writes a shard. A context manager: leaving it finishes the shard, leaving it by an error removes all traces."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.written: tuple[WrittenFile, ...] = ()
        self._finished = False

    @abstractmethod
    def add(self, key: str | None, data: Data, **facts: object) -> str:
        """Adds one object.

        Args:
            key: In the text form of the format; None where the format makes it from the content.
            data: The content.
            **facts: What else the format keeps about an object.

        Returns:
            The key.

        Raises:
            UsageError: The key is not of the format's form; a key that is there already is refused here or by `finish`.
            SourceError: The bytes cannot be read or written.
        """

    @abstractmethod
    def plan(self) -> Plan:
        """What is going to be written, from what was added so far."""

    @abstractmethod
    def _complete(self) -> None:
        """Writes what is left to write, and completes each file with the number of its objects."""

    def finish(self) -> tuple[WrittenFile, ...]:
        """Completes the shard: its files appear under their final names.

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
        """Gives up: nothing appears."""
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


def pieces_of(data: Data) -> Iterator[bytes | bytearray | memoryview]:
    """Content in pieces of at most a mebibyte when it is a stream, at once when it is bytes.

    Raises:
        SourceError: The stream cannot be read.
        UsageError: It is neither bytes nor a stream of bytes.
    """
    if isinstance(data, (bytes, bytearray)):
        yield data
        return
    if isinstance(data, memoryview):
        # Of a view, `len` counts items, which need not be bytes.
        yield data if data.c_contiguous and data.format == "B" and data.ndim == 1 else data.tobytes()
        return
    if not hasattr(data, "read"):
        raise UsageError(f"content is bytes or a stream of bytes, not {type(data).__name__}")
    while piece := _next_piece(data):
        yield piece


def _next_piece(stream: BinaryIO) -> bytes:
    try:
        piece = stream.read(STREAM_PIECE)
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read the content: {reason_of(error)}") from error
    if not isinstance(piece, (bytes, bytearray)):
        raise UsageError(f"content is bytes or a stream of bytes, not of {type(piece).__name__}")
    return piece
