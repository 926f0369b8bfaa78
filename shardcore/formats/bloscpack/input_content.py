"""Input of the writer: its size, and the array in it, from a `.npy` header or from arguments of the caller."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import IO, Any

from shardcore.codecs.array_headers import npy_layout
from shardcore.errors import FormatError, ShardError, SourceError, Unsupported, UsageError, reason_of
from shardcore.formats.bloscpack.arrays import array_info, names_array
from shardcore.model.array_layout import ArrayLayout
from shardcore.model.number_text import grouped_digits, plural
from shardcore.writing.writer import Data, Sized, UnreadableInput, pieces_of

NPY_MAGIC = b"\x93NUMPY"
IN_MEMORY = 16 << 20
"""Maximum size in bytes of an input of unknown size that is kept in memory; a larger one goes to a temporary file."""
_HEAD = 1 << 16
"""Largest `.npy` header, in bytes."""

Pieces = Iterator[bytes | bytearray | memoryview]


@dataclass(frozen=True, slots=True)
class InputContent:
    """Content to be packed; its iterator `pieces` reads the input."""

    size: int
    pieces: Pieces
    array: ArrayLayout | None = None


def content_of(data: Data, label: str, name: str, facts: Mapping[str, Any], spool: IO[bytes]) -> InputContent:
    """Return the content of an input; one of unknown size is copied to `spool` first."""
    pieces = pieces_of(data, label)
    size = _size_of(data)
    if size is None:
        size, pieces = _spooled(pieces, spool)
    who = label or "the content"
    if names_array(name):
        if isinstance(data, Sized):
            # A plan does not read the input, so the array in its header is unknown.
            return InputContent(size, pieces)
        head, pieces = _ahead(pieces)
        if head.startswith(NPY_MAGIC):
            array, used = _npy_array(head, who)
            _check_size(array, size - used, who, UnreadableInput)
            return InputContent(size - used, _without(pieces, used), array)
    given = array_of_facts(facts, who)
    if given is not None:
        _check_size(given, size, who, UsageError)
    return InputContent(size, pieces, given)


def _check_size(array: ArrayLayout, size: int, who: str, error: type[ShardError]) -> None:
    if array.nbytes != size:
        described = plural(array.nbytes, "byte")
        raise error(f"{who}: an array of this type and shape has {described}; the content has {grouped_digits(size)}")


def array_of_facts(facts: Mapping[str, Any], who: str) -> ArrayLayout | None:
    given = {name: facts[name] for name in ("dtype", "shape", "order") if name in facts}
    if not given:
        return None
    if not {"dtype", "shape"} <= given.keys():
        raise UsageError(f"{who}: an array requires dtype and shape; order defaults to C")
    try:
        return array_info({"container": "numpy", "order": "C"} | given)
    except FormatError as error:
        raise UsageError(f"{who}: {error.message.removeprefix('metadata: ')}") from None


def array_metadata(array: ArrayLayout) -> dict[str, Any]:
    dtype = array.dtype
    return {
        "dtype": repr(dtype.descr if dtype.names is not None else dtype.str),
        "shape": list(array.shape),
        "order": array.order,
        "container": "numpy",
    }


def chunks_of(content: InputContent, chunk_size: int, label: str) -> Iterator[bytes]:
    """Yield the uncompressed bytes of each chunk; an empty content is one empty chunk."""
    if not content.size:
        yield b""
    held: list[bytes | bytearray | memoryview] = []
    have = total = 0
    for piece in content.pieces:
        total += len(piece)
        if total > content.size:
            break
        at = 0
        while have + len(piece) - at >= chunk_size > 0:
            part = memoryview(piece)[at : at + chunk_size - have]
            at += len(part)
            if not held and isinstance(piece, bytes) and len(part) == len(piece):
                yield piece
            else:
                yield b"".join([*held, part])
            held, have = [], 0
        if at < len(piece):
            # The caller may reuse its buffer for the next piece, so it is copied.
            held.append(bytes(memoryview(piece)[at:]))
            have += len(piece) - at
    if total != content.size:
        who = label or "the content"
        raise SourceError(f"cannot read {who}: it changed while being read; it had {plural(content.size, 'byte')}")
    if held:
        yield b"".join(held)


def _size_of(data: Data) -> int | None:
    """Return the size of the input; None if it is unknown before reading."""
    if isinstance(data, (bytes, bytearray)):
        return len(data)
    if isinstance(data, memoryview):
        return data.nbytes
    if isinstance(data, Sized):
        return data.size
    if not hasattr(data, "read"):
        return None
    stream: Any = data
    with suppress(OSError, ValueError, AttributeError):
        if stream.seekable():
            here = stream.tell()
            end = stream.seek(0, io.SEEK_END)
            stream.seek(here)
            # Devices and pseudo-files report 0.
            return int(end - here) if end > here else None
    return None


def _spooled(pieces: Pieces, spool: IO[bytes]) -> tuple[int, Pieces]:
    size = 0
    for piece in pieces:
        try:
            spool.write(piece)
        except OSError as error:
            raise SourceError(f"cannot write a temporary file: {reason_of(error)}") from error
        size += len(piece)
    spool.seek(0)
    return size, pieces_of(spool)


def spool_beside(target: Path | None) -> IO[bytes]:
    """Return an unnamed temporary file in the folder of the target; in memory up to `IN_MEMORY` bytes."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY, dir=str(target.parent) if target is not None else None)


def _ahead(pieces: Pieces) -> tuple[bytes, Pieces]:
    kept: list[bytes | bytearray | memoryview] = []
    size = 0
    for piece in pieces:
        kept.append(piece)
        size += len(piece)
        if size >= _HEAD:
            break
    return b"".join(bytes(memoryview(piece)[:_HEAD]) for piece in kept), chain(kept, pieces)


def _without(pieces: Pieces, count: int) -> Pieces:
    for piece in pieces:
        if count < len(piece):
            yield memoryview(piece)[count:] if count else piece
        count = max(count - len(piece), 0)


def _npy_array(head: bytes, who: str) -> tuple[ArrayLayout, int]:
    try:
        layout = npy_layout(head)
    except Unsupported as error:
        raise UnreadableInput(f"{who}: arrays of Python objects are not supported") from error
    except FormatError as error:
        reason = error.message.removeprefix("the .npy ")
        raise UnreadableInput(f"{who} is not a readable .npy file: its {reason}") from error
    return replace(layout, start=0), layout.start
