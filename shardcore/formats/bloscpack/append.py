"""Appending to a Bloscpack file in place.

The last chunk is filled up and compressed again, new chunks follow, and spare offset slots receive their offsets.
If there are too few spare slots, the whole file is rewritten with more of them; the edit reports that.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from shardcore.errors import SourceError, UsageError, reason_of
from shardcore.formats.bloscpack.content import THREADS
from shardcore.formats.bloscpack.encode import CODECS, Recipe, compressed
from shardcore.formats.bloscpack.file_writer import SPARE_FACTOR, ChunkShape, Packing
from shardcore.formats.bloscpack.input_content import InputContent, array_metadata, chunks_of, content_of, spool_beside
from shardcore.formats.bloscpack.layout import CHUNK_SIZE, HEADER_V3, OFFSET, UNKNOWN
from shardcore.formats.bloscpack.metadata import CODECS as METADATA_CODECS
from shardcore.formats.bloscpack.metadata import write_metadata_section
from shardcore.formats.bloscpack.shard import BloscpackShard
from shardcore.model.number_text import plural
from shardcore.shards.shard import Shard
from shardcore.writing.in_place import Edit, FileChange, Stream, edit_of
from shardcore.writing.temporary import STREAM_PIECE


class _ChunkSpool:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed when the edit goes
        except OSError as error:
            raise self._failed(error) from error
        self.size = 0

    def _failed(self, error: OSError) -> SourceError:
        return SourceError(f"cannot write a temporary file in {self._folder}: {reason_of(error)}")

    def write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise self._failed(error) from error
        self.size += len(data)

    def pieces(self) -> Iterator[bytes]:
        self._file.seek(0)
        while piece := self._file.read(STREAM_PIECE):
            yield piece

    def __del__(self) -> None:
        # Not set if the temporary file could not be created.
        if hasattr(self, "_file"):
            self._file.close()


def append(shard: Shard, *paths: Path) -> Edit:
    """Append the contents of files to a Bloscpack file; a `.npy` extends the first axis of an array of its type.

    Args:
        shard: A Bloscpack file of version 3.
        paths: The files to append, in order, in one edit.
    """
    if not isinstance(shard, BloscpackShard):
        raise UsageError("append requires a Bloscpack file, not a folder")
    _check(shard)
    local = edit_of(shard.source, "", ()).path
    if not paths:
        raise UsageError("no files to append: name at least one")
    with ExitStack() as stack:
        contents = []
        for path in paths:
            try:
                stream = stack.enter_context(path.open("rb"))
            except (OSError, ValueError) as error:
                raise SourceError(f"cannot read {path}: {reason_of(error)}") from error
            content = content_of(stream, str(path), path.name, {}, stack.enter_context(spool_beside(local)))
            if not content.size:
                raise UsageError(f"{path} is empty; nothing to append")
            contents.append((str(path), content))
        return _Append(shard, contents, _ChunkSpool(local.parent)).edit()


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
        header, shape, table = self._header, self._shape, self._file.table
        added = shape.nchunks - header.nchunks
        rewritten = header.has_offsets and added > header.max_app_chunks
        spare = SPARE_FACTOR * shape.nchunks if rewritten else max(header.max_app_chunks - added, 0)
        offsets = self._file.offsets
        first = offsets.start + (shape.nchunks + spare) * OFFSET.size if rewritten else offsets.area.first
        places = table.places[: self._stay] + (first - offsets.area.first)
        stay_end = self._end_of(self._stay)
        start = first if rewritten else stay_end
        if rewritten:
            self._copy(offsets.area.first, stay_end)
        new_places = self._compress(start)
        all_places = np.concatenate([places, np.array(new_places, np.int64)])
        changes = [self._header_change(spare), *self._metadata_change()]
        if header.has_offsets:
            changed = 0 if rewritten else self._stay
            rows = np.full(shape.nchunks - changed + (spare if rewritten else 0), UNKNOWN, np.int64)
            rows[: shape.nchunks - changed] = all_places[changed:]
            at = offsets.start + changed * OFFSET.size
            changes.append(FileChange(at, rows.astype("<i8").tobytes(), "offsets"))
        changes.append(FileChange(start, Stream(self._spool.size, self._spool.pieces), "chunks"))
        how = "by rewriting all chunks, because there are too few spare offset slots" if rewritten else "in place"
        files = f" of {plural(len(self._contents), 'file')}" if len(self._contents) > 1 else ""
        grows = f"{plural(header.nchunks, 'chunk')} become "
        what = f"append {plural(self._added, 'uncompressed byte')}{files} {how}: {grows}"
        size = start + self._spool.size
        return edit_of(self._shard.source, f"{what}{shape.nchunks:,}", tuple(changes), size, verb="append")

    def _new_shape(self) -> ChunkShape:
        """Return sizes and number of chunks after appending; `chunk_size` grows only if the file has a single chunk."""
        header, size = self._header, self._file.header.plain_size + self._added
        typesize = header.typesize or 1
        if header.nchunks == 1:
            shape = Packing(typesize=typesize, chunk_size=max(CHUNK_SIZE, header.chunk_size)).shape(size, None)
            return replace(shape, typesize=header.typesize)
        nchunks = -(-size // header.chunk_size)
        return ChunkShape(header.typesize, header.chunk_size, size - header.chunk_size * (nchunks - 1), nchunks, 0)

    def _end_of(self, count: int) -> int:
        table = self._file.table
        if not count:
            return table.area.first
        return int(table.places[count - 1]) + int(table.headers["ctbytes"][count - 1]) + table.area.digest

    def _copy(self, start: int, stop: int) -> None:
        for at in range(start, stop, STREAM_PIECE):
            self._spool.write(self._file.source.read(at, min(at + STREAM_PIECE, stop)))

    def _compress(self, start: int) -> list[int]:
        """Compress the filled-up last chunk and the new chunks; return their offsets in the new file."""
        old = b"" if self._stay == self._header.nchunks else self._file.content.plain(self._header.nchunks - 1)
        pieces = chain.from_iterable(_all_of(content, label) for label, content in self._contents)
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
        return places

    def _header_change(self, spare: int) -> FileChange:
        shape = self._shape
        values = self._header.values | {
            "chunk_size": shape.chunk_size,
            "last_chunk": shape.last_chunk,
            "nchunks": shape.nchunks,
            "max_app_chunks": spare,
        }
        at = HEADER_V3.offsets["chunk_size"]
        return FileChange(at, HEADER_V3.pack(**values)[at:], "chunk_size, last_chunk, nchunks, max_app_chunks")

    def _metadata_change(self) -> list[FileChange]:
        """Return the metadata with the longer first axis; no change if the content is not an array."""
        array, section = self._shard.whole_layout, self._file.metadata
        if array is None or section is None:
            for label, content in self._contents:
                if content.array is not None:
                    raise UsageError(f"{label}: a .npy file can be appended only to an array; this file has none")
            return []
        rows = array.shape and array.order == "C" and array.stride
        for label, content in self._contents:
            more = content.array
            if not rows or content.size % array.stride:
                raise UsageError(f"{label}: its size is not a multiple of one item of the array's first axis")
            if more is not None and (more.dtype, more.shape[1:], more.order) != (array.dtype, array.shape[1:], "C"):
                raise UsageError(f"{label}: the array differs in type or shape from the array in this file")
        length = array.shape[0] + self._added // array.stride
        described = array_metadata(replace(array, shape=(length, *array.shape[1:])))
        text = json.dumps(self._shard.metadata | {"shape": described["shape"]}, separators=(",", ":")).encode("ascii")
        values = section.values
        codec = METADATA_CODECS.index("zlib") if values["meta_codec"] else 0
        new = write_metadata_section(
            text, codec=codec, level=values["meta_level"], kind=section.checksum, room=values["max_meta_size"]
        )
        return [FileChange(section.start, new, "metadata: the shape of the array")]


def _all_of(content: InputContent, label: str) -> Iterator[bytes | bytearray | memoryview]:
    """Yield the pieces of a content; raise SourceError if their total is not its size."""
    total = 0
    for piece in content.pieces:
        total += len(piece)
        yield piece
    if total != content.size:
        raise SourceError(f"cannot read {label}: it changed while being read; it had {plural(content.size, 'byte')}")


def _check(shard: BloscpackShard) -> None:
    header = shard.file.header
    if header.version != 3:
        raise UsageError(f"version {header.version}: append supports version 3 only; pack the content again")
    if UNKNOWN in (header.nchunks, header.chunk_size, header.last_chunk) or not header.nchunks:
        raise UsageError("number and size of the chunks are not in the header; pack the content again")
    shard.load_index()
    table = shard.file.table
    if len(table) != header.nchunks or (table.places == UNKNOWN).any() or shard.file.offsets.problem:
        raise UsageError("the file is damaged: some chunks were not found; append requires an intact file")
