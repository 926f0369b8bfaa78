"""A Bloscpack file as a `Shard`: detection, opening, chunks as objects, and the whole content as the object `all`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import replace
from shardcore.errors import FormatError, LimitExceeded, ShardError, UsageError
from shardcore.formats.bloscpack.blosc1 import map_chunk
from shardcore.formats.bloscpack.chunks import read_offsets
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import (
    CHUNK_HEADER,
    CHUNK_SIZE,
    HEADERS,
    MAGIC,
    METADATA_HEADER,
    UNKNOWN,
    header_record,
    read_header,
    section,
)
from shardcore.formats.bloscpack.lookup import ALL, BloscpackLookup
from shardcore.formats.bloscpack.metadata import (
    ARRAY_MEMBERS,
    array_info,
    dtype_text,
    names_array,
    npy_head,
    read_metadata_section,
)
from shardcore.formats.bloscpack.objects import BloscpackObjects
from shardcore.formats.bloscpack.tree import BloscpackTree, header_node
from shardcore.model.content_layout import ArrayLayout, ContentPart
from shardcore.model.finding import Depth, Report
from shardcore.model.keys import NUMBERS, Key
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.progress import Progress
from shardcore.shards.file_shard import FileShard
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import DEFAULT_LIMIT, Arrays
from shardcore.sources.base import PIECE

if TYPE_CHECKING:
    from shardcore.codecs.decoder_process import IsolatedDecoder
    from shardcore.model.chunk_grid import ChunkGrid
    from shardcore.model.objects import ObjectRef
    from shardcore.model.record import Value
    from shardcore.sources.prefetched_source import PrefetchedSource

HEAD = 65536
"""Bytes of the first read; for files up to this size, opening loads all chunk headers."""


class BloscpackShard(FileShard, Arrays):
    file: BloscpackFile
    _lookup: BloscpackLookup
    key_form = NUMBERS

    format = "bloscpack"

    def __init__(self, file: BloscpackFile) -> None:
        objects = BloscpackObjects(file)
        super().__init__(file, objects, BloscpackTree(file), BloscpackLookup(file, objects))
        self.version = str(file.header.version)

    @property
    def damage(self) -> ShardError | None:  # type: ignore[override]
        return self.file.cut

    @property
    def fields(self) -> dict[str, Value]:
        fields = {f"header.{name}": value for name, value in self.file.header.values.items()}
        if (metadata := self.file.metadata) is not None:
            fields.update({f"metadata.{name}": value for name, value in metadata.values.items()})
            try:
                fields["metadata.json"] = self.file.metadata_text().decode("utf-8", "replace")
            except (FormatError, LimitExceeded):
                return fields
        return fields

    @property
    def metadata(self) -> Any:
        return self.file.metadata_value()

    @property
    def whole_layout(self) -> ArrayLayout | None:
        """Type and shape of the whole content as an array; None if the metadata describes no array."""
        return array_info(self.metadata)

    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        """Return the array of an object, or None; a chunk is part of the first axis if possible, else flat."""
        layout = self.whole_layout
        if layout is None or ref.key == ALL:
            return layout
        if layout.order == "C" and len(layout.shape) > 1 and (stride := layout.stride):
            start = ref.row * self.file.header.chunk_size
            if not start % stride and not ref.size % stride:
                shape = (ref.size // stride, *layout.shape[1:])
                return replace(layout, shape=shape, begin=(start // stride, *(0,) * (len(shape) - 1)))
        count, rest = divmod(ref.size, layout.dtype.itemsize or 1)
        return ArrayLayout(layout.dtype, (count,), "C") if count > 0 and not rest else None

    def chunk_grid(self, scale: str = "") -> ChunkGrid | None:
        from shardcore.formats.bloscpack.array_grid import array_grid

        table = self.file.table

        def places(first: int, last: int) -> tuple[int, int]:
            start, stop = table.slot_places(np.array([first, last], np.int64)).tolist()
            return start, stop

        return array_grid(self, self.whole_layout, self.file.header.chunk_size, places=places)

    def content_parts(self, ref: ObjectRef) -> Sequence[ContentPart]:
        if ref.key == ALL:
            self.load_index()
            columns = self.objects.columns(np.arange(len(self.objects)), sizes=True)
            stops = np.cumsum(columns.size)
            rows = np.stack([stops - columns.size, stops, columns.start, columns.stop], axis=1).tolist()
            return tuple(ContentPart(start, stop, Span("", first, last)) for start, stop, first, last in rows)
        stored = self.file.content.stored(_number(ref))
        header, start = stored.header, stored.span.start
        if header.memcpyed:
            return (ContentPart(0, header.nbytes, Span("", start + CHUNK_HEADER.size, start + header.ctbytes)),)
        found = map_chunk(stored.chunk, limit=DEFAULT_LIMIT, place=stored.span)
        parts = ((block * header.blocksize, found.block_plain(block), block) for block in range(header.nblocks))
        return tuple(ContentPart(at, at + size, found.block_span(block, start)) for at, size, block in parts)

    @property
    def declared_objects(self) -> int | None:
        if self.file.header.nchunks != UNKNOWN:
            return self.file.header.nchunks
        return len(self.file.table) if self.loaded else None

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        return self._lookup.find_many(keys)

    def read(self, ref: ObjectRef | Key, *, limit: int = DEFAULT_LIMIT) -> bytes:
        wanted, content = self.ref_of(ref), self.file.content
        return content.whole(limit=limit) if wanted.key == ALL else content.plain(_number(wanted), limit=limit)

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        chunks = (0, None) if ref.key == ALL else (_number(ref), _number(ref) + 1)
        for plain in self.file.content.plains(*chunks, limit=DEFAULT_LIMIT):
            if len(plain) <= 2 * PIECE:
                yield plain
                continue
            view = memoryview(plain)
            for start in range(0, len(plain), PIECE):
                yield bytes(view[start : start + PIECE])

    def reads_ranges(self, ref: ObjectRef) -> bool:
        return ref.key == ALL

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        """Return the uncompressed bytes `[start, stop)` of an object; reads only the chunks that contain them."""
        if ref.key == ALL:
            return self.file.content.plain_range(start, stop, limit=limit)
        part = self.file.content.plain(_number(ref), limit=DEFAULT_LIMIT)[start:stop]
        if len(part) > limit:
            raise LimitExceeded(f"the range has {plural(len(part), 'byte')}; the limit is {grouped_digits(limit)}")
        return part

    def facts(self, ref: ObjectRef) -> dict[str, Any]:
        if str(ref.key) != ALL:
            return {}
        metadata, info, header = self.metadata, self.whole_layout, self.file.header
        # In a file of one chunk, chunk_size is only the size of the content.
        chunks = {"chunk_size": header.chunk_size} if header.nchunks > 1 and 0 < header.chunk_size != CHUNK_SIZE else {}
        if info is None:
            return chunks | ({} if metadata is None else {"metadata": metadata})
        facts = chunks | {"dtype": dtype_text(info.dtype), "shape": list(info.shape), "order": info.order}
        rest = {name: value for name, value in metadata.items() if name not in ARRAY_MEMBERS}
        return facts | ({"metadata": rest} if rest else {})

    def file_head(self, ref: ObjectRef, name: str) -> bytes:
        """Return the header to write before an array if `name` ends with `.npy`; b"" for other names and contents."""
        layout = None
        if names_array(name) and ref.key == ALL:
            with suppress(FormatError):
                layout = self.whole_layout
        return npy_head(layout) if layout is not None and ref.size in (layout.nbytes, UNKNOWN) else b""

    @property
    def checksum(self) -> str:
        return self.file.header.checksum.name.removeprefix("None")

    @property
    def settings(self) -> dict[str, Any]:
        return {"checksum": self.file.header.checksum.name}

    @property
    def views(self) -> tuple[str, ...]:
        return (ALL,)

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        from shardcore.formats.bloscpack.verify import Verification

        with self.verifying(depth):
            return Verification(self.file, self._objects).run(depth, progress)

    def isolate(self, decoder: IsolatedDecoder | None = None) -> None:
        super().isolate(decoder)
        if self.isolated is not None:
            self.file.isolate(self.isolated)


def _number(ref: ObjectRef) -> int:
    if ref.row < 0:
        raise UsageError(f"{ref.key} is not a chunk of this file")
    return ref.row


def detect(source: PrefetchedSource) -> Verdict | None:
    head = source.head(5)
    if not head.startswith(MAGIC):
        return None
    return Verdict(Certainty.MAGIC, f"magic blpk, version {head[4]}" if len(head) > 4 else "magic blpk")


def open_shard(source: PrefetchedSource, context: OpenContext) -> BloscpackShard:
    """Open a file with one request, or two if the offsets end after the first 64 KiB.

    Raises:
        BadMagic: The file does not begin with `blpk`.
        Unsupported: The version is none of 1, 2 and 3.
        FormatError: A header field has an invalid value.
        Truncated: The file ends before the first chunk.
    """
    draft = context.draft
    head = source.head(HEADERS[3].size)
    record = header_record(head)
    draft.version = str(head[4])
    if draft.kept and len(head) >= record.size:
        values = record.read_one(head)
        draft.add(section("header", 0, record.size), header_node(record, values), values)
    header = read_header(head)
    at, metadata = header.size, None
    if header.has_metadata:
        stop = min(at + METADATA_HEADER.size, source.size)
        metadata = read_metadata_section(source.read(at, stop), at, source.size)
        draft.add(section("metadata", at, metadata.stop), None, metadata.values)
        at = metadata.stop
    header.check_slots(at, source.size)
    file = BloscpackFile(source.base, header, metadata, read_offsets(source, header, at))
    if source.size <= HEAD:
        file.load(source=source)  # already in memory
    shard = BloscpackShard(file)
    if context.values.get("isolated"):
        shard.isolate()
    return shard
