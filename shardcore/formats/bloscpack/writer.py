"""Writing Bloscpack files: one file per input, in chunks of equal uncompressed size; appending to one in place.

Appending fills the last chunk up and compresses it again; new chunks follow, and spare offset slots receive their
offsets. If there are too few spare slots, the whole file is rewritten with more of them; the edit reports that.
"""

from __future__ import annotations

import io
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.array_headers import NPY_MAGIC, npy_layout
from shardcore.codecs.json_text import FREE, parse_json
from shardcore.dataclasses import dataclass, replace
from shardcore.errors import FormatError, ShardError, SourceError, Unsupported, UsageError, reported_as
from shardcore.formats.bloscpack.content import THREADS
from shardcore.formats.bloscpack.file_writer import (
    CODECS,
    SPARE_FACTOR,
    ChunkShape,
    NewFile,
    Packing,
    Recipe,
    compressed,
)
from shardcore.formats.bloscpack.layout import CHUNK_SIZE, HEADER_V3, OFFSET, SUFFIX, UNKNOWN
from shardcore.formats.bloscpack.metadata import CODECS as METADATA_CODECS
from shardcore.formats.bloscpack.metadata import array_info, names_array, write_metadata_section
from shardcore.model.content_layout import ArrayLayout
from shardcore.model.text import grouped_digits, plural, short
from shardcore.progress import check_stopped
from shardcore.sources.base import check_name, on_failure
from shardcore.writing.in_place import Edit, FileChange, Stream, edit_of
from shardcore.writing.output import Output
from shardcore.writing.plan import Plan
from shardcore.writing.temporary import STREAM_PIECE, Draining
from shardcore.writing.writer import Data, More, OddName, Sized, UnreadableInput, Writer, pieces_of, twins_error

if TYPE_CHECKING:
    from shardcore.formats.bloscpack.shard import BloscpackShard
    from shardcore.shards.shard import Shard

LONGEST = 255
"""Longest file name on common file systems, in bytes."""
IN_MEMORY = 16 << 20
"""Maximum size in bytes of an input of unknown size that is kept in memory; a larger one goes to a temporary file."""
_HEAD = 1 << 16
"""Largest `.npy` header, in bytes."""

_SIZES = ("chunk_size", "last_chunk", "nchunks", "max_app_chunks")
"""Header fields that appending changes."""

Pieces = Iterator[bytes | bytearray | memoryview]


@dataclass(frozen=True, slots=True)
class InputContent:
    """Content to be packed: its size in bytes, an iterator that reads the input, and its array (None if not one)."""

    size: int
    pieces: Pieces
    array: ArrayLayout | None = None


class BloscpackWriter(Writer):
    """Writes one file, or one file per input into a folder; with `checks` set, decompresses and compares each chunk.

    Args:
        output: The file or folder to write.
        metadata: JSON text, path of a JSON file, or a value; stored in every file.
        **options: Options of `Packing`, by name.
    """

    proven = True

    def __init__(self, output: Output, *, metadata: Any = None, **options: Any) -> None:
        super().__init__(output)
        self._packing = Packing(**options)
        self._metadata = json_of(metadata)
        self._content = 0
        self._done: dict[str, tuple[str, NewFile]] = {}  # label and file, by name
        self._twins: list[tuple[str, str, str]] = []
        self._file = None if output.folder else output.open()

    def _add(self, key: str | None, data: Data, more: More) -> str:
        who = more.label or key or f"object {len(self._done)}"
        name = self._name_of(key, more, who)
        if name in self._done:
            self._twins.append((self._done[name][0], who, name))
            return name.removesuffix(SUFFIX)
        with spool_beside(self.output.target) as spool:
            content = content_of(data, more.label, more.name or more.label, more.facts, spool)
            metadata = self._metadata_of(content, more, who)
            packing = self._packing
            if packing.chunk_size is None and "chunk_size" in more.facts:
                packing = replace(packing, chunk_size=more.facts["chunk_size"], exact=True)
            shape = packing.shape(content.size, content.array.dtype.itemsize if content.array else None)
            file = self.output.open(name) if self._file is None else self._file
            new = NewFile(file, packing, shape, metadata)
            # The caller may continue after a failed input; the incomplete file is removed.
            with on_failure(file.rewind, 0) if file is self._file else on_failure(self.output.drop, file):
                if isinstance(data, Sized) and self.output.planning:
                    new.pretend()
                    # The measured size of a `.npy` file includes its header, which is not packed.
                    self.exact = self.exact and not self._packing.level and not names_array(more.name or more.label)
                else:
                    plains = chunks_of(content, shape.chunk_size, more.label)
                    recipe = replace(new.recipe, checked=self.checks)
                    new.write(compressed(plains, recipe, shape.chunk_size, self.output.workers))
        self._content += content.size
        self._done[name] = who, new
        return name.removesuffix(SUFFIX)

    def plan(self) -> Plan:
        self._check_twins()
        done = {name: file for name, (_, file) in self._done.items()}
        if not done and self._file is not None:
            done = {"": self._empty(Draining())}
        target = self.output.target.name if self.output.target and not self.output.folder else ""
        files = tuple(file.planned(name or target) for name, file in done.items())
        return Plan(files, self.exact, self._content)

    def _complete(self) -> None:
        self._check_twins()
        if self._done:
            return
        if self._file is None:
            raise UsageError("nothing to pack: a folder of Bloscpack files needs at least one input")
        self._empty(self._file)

    def _empty(self, file: Draining) -> NewFile:
        new = NewFile(file, self._packing, self._packing.shape(0, None), self._metadata)
        new.write([new.recipe.chunk(b"")])
        return new

    def _name_of(self, key: str | None, more: More, who: str) -> str:
        if self._file is not None and self._done:
            raise UsageError(
                f"{who}: a Bloscpack file has one content, and this one already has {self._done[''][0]}; "
                "for several inputs give a folder, a name that ends with /"
            )
        if self._file is not None:
            return ""
        name = f"{key or more.name or len(self._done)}{SUFFIX}"
        try:
            check_name(name)
        except SourceError:
            raise OddName(f"{who}: {short(name)} is not a valid file name") from None
        if any(len(os.fsencode(part)) > LONGEST for part in name.split("/")):
            raise OddName(f"{who}: the file name with {SUFFIX} is longer than {LONGEST} bytes")
        return name

    def _check_twins(self) -> None:
        if self._twins:
            raise twins_error(self._twins, len(self._twins), "file name")

    def _metadata_of(self, content: InputContent, more: More, who: str) -> Any:
        given = more.facts.get("metadata", self._metadata)
        if content.array is None:
            return given
        described = array_metadata(content.array)
        if given is None:
            return described
        if not isinstance(given, dict) or described.keys() & given.keys():
            names = ", ".join(described)
            raise UsageError(f"{who}: for an array, metadata must be a JSON object without {names}")
        return described | given


def json_of(given: Any) -> Any:
    """Return the value of an option: JSON text, the path of a JSON file, or the value itself."""
    if not isinstance(given, (str, Path)):
        return given
    text: str | bytes = str(given)
    path = Path(given)
    with reported_as(f"cannot read {given}") if isinstance(given, Path) else suppress(OSError, ValueError):
        if path.is_file():
            text = path.read_bytes()
    try:
        return parse_json(text, "metadata", limits=FREE)
    except FormatError as error:
        what = f"{path}: {error.message}" if isinstance(text, bytes) else "neither a file nor JSON"
        raise UsageError(f"metadata={short(str(given))}: {what}") from None


def content_of(data: Data, label: str, name: str, facts: Mapping[str, Any], spool: IO[bytes]) -> InputContent:
    """Return the content of an input; an input of unknown size is first copied to `spool`."""
    who = label or "the content"
    if not isinstance(data, bytes) and hasattr(data, "dtype"):
        if facts.keys() & {"dtype", "shape", "order"}:
            raise UsageError(f"{who}: dtype, shape and order cannot be set for an array, which has its own")
        return array_content(data, who)
    pieces = pieces_of(data, label)
    size = _size_of(data)
    if size is None:
        size = 0
        for piece in pieces:
            with reported_as("cannot write a temporary file"):
                spool.write(piece)
            size += len(piece)
        spool.seek(0)
        pieces = pieces_of(spool)
    if names_array(name):
        if isinstance(data, Sized):
            # A plan does not read the input, so the array in its header is unknown.
            return InputContent(size, pieces)
        head = _head(pieces)
        if head.startswith(NPY_MAGIC):
            array, used = _npy_array(head[:_HEAD], who)
            _check_size(array, size - used, who, UnreadableInput)
            return InputContent(size - used, chain([memoryview(head)[used:]], pieces), array)
        pieces = chain([head], pieces)
    given = array_of_facts(facts, who)
    if given is not None:
        _check_size(given, size, who, UsageError)
    return InputContent(size, pieces, given)


def array_content(array: Any, who: str) -> InputContent:
    """Return the content of an array, in F order if it is F-contiguous, else in C order; in pieces of 1 MiB."""
    try:
        dtype = np.dtype(array.dtype)
        described = not dtype.hasobject and np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(dtype)) == dtype
    except TypeError:
        described = False
    if not described or isinstance(array, np.ma.MaskedArray):
        raise UsageError(f"{who}: {type(array).__name__} of {array.dtype} cannot be stored as a NumPy array")
    rows = array if array.shape else np.asarray(array)
    layout = ArrayLayout(dtype, tuple(map(int, array.shape)), "C")
    if isinstance(rows, np.ndarray):
        layout = replace(layout, order="F" if np.isfortran(rows) else "C")
        rows = rows.T if layout.order == "F" else rows
        # Flat, because a single row may be larger than a piece.
        rows = rows.reshape(-1) if rows.flags.c_contiguous else rows
    step = max(STREAM_PIECE // (math.prod(rows.shape[1:]) * dtype.itemsize or 1), 1)

    def pieces() -> Pieces:
        for at in range(0, rows.shape[0], step):
            check_stopped()
            with reported_as(f"cannot read {who}"):
                yield np.asarray(rows[at : at + step], dtype).tobytes()

    return InputContent(layout.nbytes, pieces(), layout)


def _check_size(array: ArrayLayout, size: int, who: str, error: type[ShardError]) -> None:
    if array.nbytes != size:
        described = f"{array.dtype} with shape {array.shape} has {plural(array.nbytes, 'byte')}"
        raise error(f"{who}: an array of {described}; the content has {grouped_digits(size)}")


def array_of_facts(facts: Mapping[str, Any], who: str) -> ArrayLayout | None:
    given = {name: facts[name] for name in ("dtype", "shape", "order") if name in facts}
    if not given:
        return None
    if not {"dtype", "shape"} <= given.keys():
        raise UsageError(f"{who}: only {' and '.join(given)} given; an array requires both dtype and shape")
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
    have = 0
    for piece in checked_pieces(content, label or "the content"):
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
    if held:
        yield b"".join(held)


def checked_pieces(content: InputContent, who: str) -> Pieces:
    """Yield the pieces of a content; raise SourceError if their total is not its size."""
    total = 0
    for piece in content.pieces:
        total += len(piece)
        if total > content.size:
            break
        yield piece
    if total != content.size:
        raise SourceError(f"cannot read {who}: it changed while being read; it had {plural(content.size, 'byte')}")


def _size_of(data: Data) -> int | None:
    """Return the size of the input; None if it is unknown before reading."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return memoryview(data).nbytes
    if isinstance(data, Sized):
        return data.size
    stream: Any = data
    with suppress(OSError, ValueError, AttributeError):
        if stream.seekable():
            here = stream.tell()
            end = stream.seek(0, io.SEEK_END)
            stream.seek(here)
            # Devices and pseudo-files report 0.
            return int(end - here) if end > here else None
    return None


def spool_beside(target: Path | None) -> IO[bytes]:
    """Return an unnamed temporary file in the folder of the target; in memory up to `IN_MEMORY` bytes."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY, dir=str(target.parent) if target is not None else None)


def _head(pieces: Pieces) -> bytes:
    """Return the first pieces, joined: at least `_HEAD` bytes, or all if there are fewer."""
    kept: list[bytes | bytearray | memoryview] = []
    while sum(map(len, kept)) < _HEAD and (piece := next(pieces, None)) is not None:
        kept.append(piece)
    return b"".join(kept)


def _npy_array(head: bytes, who: str) -> tuple[ArrayLayout, int]:
    try:
        layout = npy_layout(head)
    except Unsupported as error:
        raise UnreadableInput(f"{who}: arrays of Python objects are not supported") from error
    except FormatError as error:
        reason = error.message.removeprefix("the .npy ")
        raise UnreadableInput(f"{who} is not a readable .npy file: its {reason}") from error
    return replace(layout, start=0), layout.start


def append(shard: Shard, *paths: Path) -> Edit:
    """Append the contents of files to a Bloscpack file; a `.npy` file extends the first axis of the array in it.

    Args:
        shard: A Bloscpack file of version 3.
        paths: The files to append, in order, in one edit.
    """
    from shardcore.formats.bloscpack.shard import BloscpackShard

    if not isinstance(shard, BloscpackShard):
        raise UsageError("append requires a Bloscpack file, not a folder")
    _check_appendable(shard)
    local = edit_of(shard.source, "", ()).path
    if not paths:
        raise UsageError("no files to append: name at least one")
    with ExitStack() as stack:
        contents = []
        for path in paths:
            with reported_as(f"cannot read {path}"):
                stream = stack.enter_context(path.open("rb"))
            content = content_of(stream, str(path), path.name, {}, stack.enter_context(spool_beside(local)))
            if not content.size:
                raise UsageError(f"{path} is empty; nothing to append")
            contents.append((str(path), content))
        return _Append(shard, contents, _ChunkSpool(local.parent)).edit()


class _ChunkSpool:
    """Compressed chunks in an unnamed temporary file, which is closed when this object is garbage-collected."""

    def __init__(self, folder: Path) -> None:
        self.size = 0
        self._errors = partial(reported_as, f"cannot write a temporary file in {folder}")
        with self._errors():
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        finalize(self, self._file.close)

    def write(self, data: bytes) -> None:
        with self._errors():
            self._file.write(data)
        self.size += len(data)

    def pieces(self) -> Iterator[bytes]:
        self._file.seek(0)
        while piece := self._file.read(STREAM_PIECE):
            yield piece


class _Append:
    def __init__(self, shard: BloscpackShard, contents: Sequence[tuple[str, InputContent]], spool: _ChunkSpool) -> None:
        self._file = shard.file
        self._shard = shard
        self._contents = contents
        self._added = sum(content.size for _, content in contents)
        self._spool = spool
        self._header = shard.file.header
        self._shape = self._new_shape()
        # A full last chunk is kept; a single chunk may become larger.
        full = self._header.last_chunk == self._shape.chunk_size
        self._stay = self._header.nchunks - (0 if full else 1)

    def edit(self) -> Edit:
        """Compress the new chunks into the temporary file and return the edit; the shard itself is not written yet."""
        header, shape, offsets, table = self._header, self._shape, self._file.offsets, self._file.table
        area, added = offsets.area, shape.nchunks - header.nchunks
        rewritten = header.has_offsets and added > header.max_app_chunks
        spare = SPARE_FACTOR * shape.nchunks if rewritten else max(header.max_app_chunks - added, 0)
        stay_end = area.first
        if self._stay:
            last = self._stay - 1
            stay_end = int(table.places[last]) + int(table.headers["ctbytes"][last]) + area.digest
        start, places = stay_end, table.places[: self._stay]
        if rewritten:
            start = offsets.start + (shape.nchunks + spare) * OFFSET.size
            places = places + (start - area.first)
            for at in range(area.first, stay_end, STREAM_PIECE):
                self._spool.write(self._file.source.read(at, min(at + STREAM_PIECE, stay_end)))
        places = np.append(places, self._compress(start))
        sizes = dict(zip(_SIZES, (shape.chunk_size, shape.last_chunk, shape.nchunks, spare), strict=True))
        at = HEADER_V3.offsets[_SIZES[0]]
        changes = [FileChange(at, HEADER_V3.pack(**header.values | sizes)[at:], ", ".join(_SIZES))]
        changes += self._metadata_change()
        if header.has_offsets:
            changed = 0 if rewritten else self._stay
            slots = np.append(places[changed:], np.full(spare if rewritten else 0, UNKNOWN, np.int64))
            changes.append(FileChange(offsets.slot(changed).start, slots.astype("<i8").tobytes(), "offsets"))
        changes.append(FileChange(start, Stream(self._spool.size, self._spool.pieces), "chunks"))
        how = "by rewriting all chunks, because there are too few spare offset slots" if rewritten else "in place"
        files = f" of {plural(len(self._contents), 'file')}" if len(self._contents) > 1 else ""
        grows = f"{plural(header.nchunks, 'chunk')} become {shape.nchunks:,}"
        what = f"append {plural(self._added, 'uncompressed byte')}{files} {how}: {grows}"
        return edit_of(self._shard.source, what, tuple(changes), start + self._spool.size, verb="append")

    def _new_shape(self) -> ChunkShape:
        """Return sizes and number of chunks after appending; `chunk_size` grows only if the file has a single chunk."""
        header, size = self._header, self._file.header.plain_size + self._added
        typesize = header.typesize or 1
        if header.nchunks == 1:
            shape = Packing(typesize=typesize, chunk_size=max(CHUNK_SIZE, header.chunk_size)).shape(size, None)
            return replace(shape, typesize=header.typesize)
        nchunks = -(-size // header.chunk_size)
        return ChunkShape(header.typesize, header.chunk_size, size - header.chunk_size * (nchunks - 1), nchunks, 0)

    def _compress(self, start: int) -> NDArray[np.int64]:
        """Compress the filled-up last chunk and the new chunks, the first for byte `start`; return their offsets."""
        old = b"" if self._stay == self._header.nchunks else self._file.content.plain(self._header.nchunks - 1)
        pieces = chain.from_iterable(checked_pieces(content, label) for label, content in self._contents)
        content = InputContent(len(old) + self._added, chain([old] if old else [], pieces))
        last = self._file.table.header(self._header.nchunks - 1)
        codec = last.codec_name if last.codec_name in CODECS else CODECS[0]
        recipe = Recipe(
            codec, Packing().level, last.filter_name == "shuffle" or last.memcpyed, self._header.typesize or 1
        )
        places, digest = [], self._header.checksum.compute
        chunk_size = self._shape.chunk_size
        plains = chunks_of(content, chunk_size, self._contents[-1][0])
        with ThreadPoolExecutor(THREADS, thread_name_prefix="compress") as workers:
            for chunk in compressed(plains, recipe, chunk_size, workers):
                places.append(start + self._spool.size)
                self._spool.write(chunk)
                self._spool.write(digest(chunk))
        return np.array(places, np.int64)

    def _metadata_change(self) -> list[FileChange]:
        """Return the change of the metadata to the longer first axis; none if the content is not an array."""
        array, section = self._shard.whole_layout, self._file.metadata
        if array is None or section is None:
            for label, content in self._contents:
                if content.array is not None:
                    raise UsageError(f"{label}: a .npy file can be appended only to an array; this file has none")
            return []
        text = "array of {0.dtype} with shape {0.shape} in {0.order} order".format
        rows = array.shape and array.order == "C" and array.stride
        for label, content in self._contents:
            more = content.array
            if more is not None and (more.dtype, more.shape[1:], more.order) != (array.dtype, array.shape[1:], "C"):
                raise UsageError(f"{label}: its {text(more)} cannot be appended to the {text(array)} in this file")
            if not rows or content.size % array.stride:
                raise UsageError(f"{label}: {text(array)} grows only in C order by multiples of {array.stride:,} bytes")
        shape = [array.shape[0] + self._added // array.stride, *array.shape[1:]]
        described = json.dumps(self._shard.metadata | {"shape": shape}, separators=(",", ":")).encode("ascii")
        values = section.values
        codec = METADATA_CODECS.index("zlib") if values["meta_codec"] else 0
        new = write_metadata_section(
            described, codec=codec, level=values["meta_level"], kind=section.checksum, room=values["max_meta_size"]
        )
        return [FileChange(section.start, new, "metadata: the shape of the array")]


def _check_appendable(shard: BloscpackShard) -> None:
    header = shard.file.header
    if header.version != 3:
        raise UsageError(f"version {header.version}: append supports version 3 only; pack the content again")
    if UNKNOWN in (header.nchunks, header.chunk_size, header.last_chunk) or not header.nchunks:
        raise UsageError("number and size of the chunks are not in the header; pack the content again")
    shard.load_index()
    table = shard.file.table
    if len(table) != header.nchunks or (table.places == UNKNOWN).any() or shard.file.offsets.problem:
        raise UsageError("the file is damaged: some chunks were not found; append requires an intact file")
