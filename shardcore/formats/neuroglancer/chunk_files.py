"""A scale that is not sharded: one file per chunk, named by its voxels, as `0-64_64-128_0-30`.

Section "Unsharded chunk storage" of the volume page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import SHOWN_LIMIT, decompress, decompress_shown
from shardcore.errors import (
    FormatError,
    KeyAbsent,
    LimitExceeded,
    PackageMissing,
    ShardError,
    SourceError,
    Unsupported,
    UsageError,
    says_absent,
    source_lost,
)
from shardcore.formats.neuroglancer.chunk_codecs import check_chunk, chunk_parts, decode_chunk
from shardcore.formats.neuroglancer.encoded_files import ENDINGS, plain_name
from shardcore.formats.neuroglancer.info import KeySpace
from shardcore.formats.neuroglancer.morton import decode
from shardcore.formats.neuroglancer.objects import LEAST_GZIP
from shardcore.formats.neuroglancer.other_scales import OtherScales, root_of
from shardcore.formats.neuroglancer.segment_mesh import mesh_of_segment
from shardcore.formats.neuroglancer.spec_origin import INFO_NAME
from shardcore.formats.neuroglancer.step_values import MEANINGS
from shardcore.formats.neuroglancer.unsharded import chunk_key
from shardcore.formats.neuroglancer.volume import box_of, chunk_array, chunk_layout
from shardcore.formats.neuroglancer.volume_reader import Found, VolumeGrid
from shardcore.model.array_layout import RAW, ArrayLayout
from shardcore.model.chunk_grid import ElementLocation, GridCell, VoxelBox
from shardcore.model.content_part import ContentPart
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.keys import KeyForm
from shardcore.model.node import Node
from shardcore.model.number_words import plural
from shardcore.model.objects import MEMBER_ROW, ObjectColumns, ObjectRef, Objects, State, located
from shardcore.model.section import Section, SectionRole
from shardcore.model.source_name import SourceName, decoded_name
from shardcore.model.span import Span
from shardcore.model.text import short
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet, Member
from shardcore.shards.file_shard import FileShard
from shardcore.shards.shard import DEFAULT_LIMIT, Shard, SourcePart
from shardcore.shards.trace import Look
from shardcore.sources.base import WHOLE_HEAD, Folder, Source, read_pieces
from shardcore.sources.memory import BytesSource

if TYPE_CHECKING:
    from shardcore.codecs.isolated import Decoder
    from shardcore.model.chunk_grid import ChunkGrid
    from shardcore.model.record import Value

I64 = NDArray[np.int64]

GZIP_MAGIC = b"\x1f\x8b"
MOST_HEAD = 8 << 20
"""Bytes of a remote chunk that are requested at once."""

CODECS = ("none", "gzip", "brotli", "zstd")
_CONTENT = "The encoded voxels of one chunk."
FILE_WHY = "The folder is the index here: a file is named by the first and last voxel of its chunk on each axis."


def file_codec(name: str, head: bytes, plain_size: int | None) -> str:
    """Return how a chunk file is compressed: by its ending, else by its first bytes.

    Args:
        name: The name of the file.
        head: Its first bytes, or all.
        plain_size: Bytes that a raw chunk has; None where the encoding does not state it.
    """
    ending = name[len(plain_name(name)) :]
    if ending:
        return {"zst": "zstd"}.get(ENDINGS[ending], ENDINGS[ending])
    # Stores that compress a file on its way in keep its name.
    return "gzip" if head.startswith(GZIP_MAGIC) and len(head) != plain_size else "none"


def expanded(codec: str, data: bytes, limit: int, span: Span | None = None) -> bytes:
    """Return the content of a chunk file.

    Raises:
        Unsupported: It is compressed with brotli.
        FormatError: It is damaged.
        LimitExceeded: It has more than `limit` bytes.
    """
    if codec == "brotli":
        raise Unsupported("chunk files compressed with brotli are not read; recompress them with gzip", span=span)
    return data if codec == "none" else decompress(codec, data, limit=limit, span=span)


def check_stored(source: Source, limit: int, span: Span) -> None:
    """Check that a file is small enough to be read as a whole.

    Raises:
        LimitExceeded: It has more than `limit` bytes.
    """
    if source.size > limit:
        raise LimitExceeded(f"the chunk file has {plural(source.size, 'byte')}; at most {limit:,} are read", span=span)


def size_fault(name: str, size: int, space: KeySpace) -> str:
    """Return why a file is too short to be its chunk, by its size alone; empty where it may be one.

    Args:
        name: The name of the file.
        size: Its bytes.
        space: The scale.
    """
    ending = name[len(plain_name(name)) :]
    if size >= LEAST_GZIP or (ending and ENDINGS[ending] != "gzip"):
        return ""
    layout = chunk_layout(space, int(chunk_key(plain_name(name), space) or 0))
    if not ending and (layout.encoding != RAW or size == layout.nbytes):
        return ""
    return f"the file has {plural(size, 'byte')}: neither raw voxels nor a gzip member"


class _ChunkFile:
    """One chunk file, as the only object of a shard."""

    def __init__(self, name: str, source: Source, space: KeySpace) -> None:
        self.source = source
        self.name = name
        self.sections = (Section("chunk", SectionRole.DATA, 0, source.size, _CONTENT),) if source.size else ()
        self.space = space
        self.key = plain_name(name.rpartition("/")[2])
        self.number = int(chunk_key(self.key, space) or 0)

    @cached_property
    def layout(self) -> ArrayLayout:
        """The layout of the decoded chunk."""
        return chunk_layout(self.space, self.number)

    @cached_property
    def codec(self) -> str:
        """Compression of the file."""
        size = self.layout.nbytes if self.layout.encoding == RAW else None
        head = self.source.read(0, min(self.source.size, 2))
        return "none" if self.source.size == size else file_codec(self.name, head, None)

    @property
    def span(self) -> Span:
        """All bytes of the file."""
        return Span("", 0, self.source.size)

    def content(self, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return the content, decompressed."""
        check_stored(self.source, limit, self.span)
        return expanded(self.codec, self.source.read(0, self.source.size), limit, self.span)

    def ref(self) -> ObjectRef:
        """Return the file as an object."""
        box = box_of_number(self.space, self.number)
        size = self.source.size if self.codec == "none" else -1
        extras = {"voxel_begin": list(box.begin), "voxel_end": list(box.end), "shape": list(self.layout.shape)}
        fault = size_fault(self.name, self.source.size, self.space)
        return ObjectRef(
            self.key,
            0,
            (self.span,),
            size,
            self.source.size,
            codec=self.codec,
            state=State.DAMAGED if fault else State.LIVE,
            kind="chunk",
            error=fault,
            extras=extras,
        )


def box_of_number(space: KeySpace, number: int) -> VoxelBox:
    """Return the voxels of the chunk with a Morton code."""
    assert space.scale is not None
    return box_of(space.scale, decode(number, space.grid or ()))


class _ChunkTree:
    """Nodes of a chunk file: its bytes, and what they decompress to."""

    def __init__(self, file: _ChunkFile) -> None:
        self._file = file

    def root(self) -> Node:
        """Return the root."""
        file = self._file
        text = plural(file.source.size, "byte")
        chunk = Node("chunk", file.span, text=text, doc=_CONTENT, row=0)
        return Node(file.name, file.span, text=text, children=(chunk,) if file.source.size else ())

    def part(self, name: SourceName) -> SourcePart | None:
        """Return what the file decompresses to."""
        file = self._file
        if name.stretch != (0, file.source.size) or not SourceName.parse(str(name.outer)).is_file:
            return None
        if file.codec == "none":
            return None
        if file.codec == "brotli":
            data = file.content()
        else:
            check_stored(file.source, SHOWN_LIMIT, file.span)
            data = decompress_shown(file.codec, file.source.read(0, file.source.size), span=file.span)
        source = str(name)
        span = Span(source, 0, len(data))
        section = Section("voxels", SectionRole.DATA, 0, len(data), _CONTENT)
        node = Node("voxels", span, text=plural(len(data), "byte"), doc=_CONTENT, row=0)
        return SourcePart(BytesSource(data, source), (section,) if data else (), lambda: node)


class _OneChunk(Objects):
    """The one object of a chunk file."""

    kinds = ("chunk",)
    codecs = CODECS

    def __init__(self, file: _ChunkFile) -> None:
        self._file = file

    def __len__(self) -> int:
        return 1

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        """Return the columns of the row."""
        ref = self._file.ref()
        return ObjectColumns.of(rows, 0, ref.stored_size, ref.size, codec=CODECS.index(ref.codec), state=ref.state)

    def key_texts(self, rows: I64) -> list[str | None]:
        """Return the name of the file."""
        return [self._file.key] * len(rows)

    def ref(self, row: int) -> ObjectRef:
        """Return the chunk."""
        if row != 0:
            raise IndexError(row)
        return self._file.ref()


class ChunkFileShard(FileShard):
    """One chunk file.

    Args:
        file: The file.
    """

    file: _ChunkFile
    format = "neuroglancer"
    decodes_to_verify = True
    meanings = MEANINGS
    version = "1"
    byte_shares = Shard.byte_shares
    loads = Shard.loads

    def __init__(self, file: _ChunkFile) -> None:
        super().__init__(file, _OneChunk(file), _ChunkTree(file))

    def lookup(self, key: Any, look: Look) -> ObjectRef:
        """Return the chunk, if it has that key."""
        if str(key) != self.file.key:
            raise KeyAbsent(str(key))
        ref = self.file.ref()
        where = self.file.span
        text = f"{plural(where.size, 'stored byte')}: all of the file is the chunk."
        look.step("Chunk", text, where, why="A file of its own needs no index: one request brings the chunk.")
        return ref

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """Yield the content, decompressed; of a file that is not compressed in pieces, so that ranges read little."""
        file = self.file
        if file.codec != "none":
            yield file.content()
            return
        yield from read_pieces(file.source, 0, file.source.size)

    def array_layout(self, ref: ObjectRef) -> ArrayLayout:
        """Return the layout of the chunk."""
        return self.file.layout

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Decode the chunk, where the depth reaches contents."""
        file, findings = self.file, Findings()
        if Depth(depth).reaches(Depth.CONTENT):
            code = "neuroglancer.value"
            try:
                data = file.content()
                code = "neuroglancer.chunk-size" if file.layout.encoding == RAW else code
                if file.layout.encoding == RAW:
                    chunk_array(file.space, file.number, data)
                else:
                    check_chunk(file.layout, data, self.decoder, file.span)
            except SourceError:
                raise
            except ShardError as error:
                large = isinstance(error, LimitExceeded) and file.layout.encoding != RAW
                if large or isinstance(error, (Unsupported, PackageMissing)):
                    findings.note("neuroglancer.unchecked", None, f"not checked: {error.message}")
                else:
                    findings.error(code, file.span, error.message, key=file.key)
        progress(1, 1)
        return Report(Depth(depth), 1, findings.all(), 1, 1)

    def decode_array(
        self, ref: ObjectRef, layout: ArrayLayout, data: bytes, decoder: Decoder
    ) -> tuple[ArrayLayout, bytes]:
        """Return the voxels of the chunk, x fastest; see `Shard.decode_array`."""
        return decode_chunk(layout, data, decoder=decoder, place=self.file.span)

    def content_parts(self, ref: ObjectRef) -> Sequence[ContentPart]:
        """Return what stores the content: the file, or what it decompresses to; of an encoded chunk, its blocks."""
        file = self.file
        if not file.source.size:
            return ()
        name, size = ("", file.source.size)
        if file.codec != "none":
            name = decoded_name(0, file.source.size)
            size = self.bytes_of(name).size
        whole = ContentPart(0, size, Span(name, 0, size))
        return (whole,) if file.layout.encoding == RAW else chunk_parts(file.layout, whole, file.content)


class ChunkFiles(DataSet):
    """Scale of a volume with one file per chunk. A key is the name of a file: `0-64_64-128_0-30`.

    Args:
        folder: The folder with the files.
        space: The scale.
        text: The info.
        why: Origin of the scale.
    """

    joins = False
    files_are_objects = True
    key_form = KeyForm()
    decodes_to_verify = True
    meanings = MEANINGS
    version = "1"

    def __init__(self, folder: Folder, space: KeySpace, text: bytes, why: str) -> None:
        self.space, self.text, self.why = space, text, why
        self._others = OtherScales()
        self._loaded = False
        # A folder that lists cheaply is listed at once; in others, chunks are opened by their names.
        near = folder.lists_cheaply
        super().__init__("neuroglancer", folder, self._listed_members(folder) if near else self._listed_later)
        self.member_head = max(self.chunk_head, WHOLE_HEAD)
        self._files = ChunkFileObjects(self)

    @property
    def chunk_head(self) -> int:
        """Bytes of a chunk that is not compressed, at most."""
        assert self.space.scale is not None
        return min(chunk_bytes(self.space), MOST_HEAD)

    def _listed_later(self) -> Sequence[Member]:
        return self._listed_members(self.folder)

    def _listed_members(self, folder: Folder) -> Sequence[Member]:
        entries = [entry for entry in folder.list() if not entry.is_folder]
        return [Member(entry.name, entry.size) for entry in entries if self.may_hold(entry.name)]

    def may_hold(self, name: str) -> bool:
        """Return whether a file has the name of a chunk."""
        try:
            return chunk_key(plain_name(name), self.space) is not None
        except UsageError:
            return False

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {plain_name(member.name): row for row, member in enumerate(self.members)}

    def file_of(self, key: str) -> str | None:
        """Return the file of a chunk; None where it is not there. Its plain name where the folder is not listed."""
        if self.listed or self.folder.lists_cheaply:
            row = self._rows.get(key)
            return None if row is None else self.members[row].name
        return key

    def open_member(self, name: str, source: Source) -> ChunkFileShard:
        """Open a chunk file."""
        return ChunkFileShard(_ChunkFile(name, source, self.space))

    @property
    def objects(self) -> Objects:
        """One row per file."""
        return self._files

    @property
    def listing(self) -> Objects | None:
        """The files, where they are listed."""
        return self._files if self.listed else None

    @property
    def declared_objects(self) -> int | None:
        """Return how many files there are, where they are listed."""
        return len(self.members) if self.listed else None

    @property
    def loaded(self) -> bool:
        """Return whether `load_index` has been done."""
        return self._loaded

    @property
    def index_bytes(self) -> int:
        """Return 0: the folder is listed, and no file is read."""
        return 0

    def load_index(self, progress: Progress = no_progress) -> None:
        """List the folder.

        Raises:
            SourceError: It cannot be listed.
        """
        _ = self.members
        self._loaded = True
        progress(1, 1)

    @property
    def tree(self) -> Node:
        """One node per file, where they are listed."""
        if not self.lists:
            return Node(self.uri, Span("", 0, 0), error="the folder cannot be listed: its chunks are opened by key")
        return super().tree

    @property
    def fields(self) -> dict[str, Value]:
        """The scale, and how many files there are."""
        scale = self.space.scale
        assert scale is not None
        found: dict[str, Value] = {"space.kind": "volume", "space.name": self.space.name, "space.sharded": False}
        found |= {"space.grid": ",".join(map(str, self.space.grid or ())), "space.encoding": scale.encoding}
        return found | (super().fields if self.listed else {})

    @property
    def settings(self) -> dict[str, Any]:
        """Return nothing: the info is for `pack`, which reads the folder itself."""
        return {}

    def row_of_member(self, name: str) -> int | None:
        """Return the row of a file."""
        return self._rows.get(plain_name(name)) if self.listed else None

    def parse_key(self, text: str) -> str:
        """Return the name of a chunk.

        Raises:
            UsageError: It is the name of no chunk of this scale.
        """
        if chunk_key(text, self.space) is None:
            raise UsageError(f"{short(text)} is no chunk: a key is the name of a file, such as 0-64_64-128_0-30")
        return text

    def route(self, key: str, look: Look) -> Sequence[str]:
        """Return the one file of that name."""
        name = self.file_of(key)
        about = (Span(INFO_NAME, 0, len(self.text)),)
        if name is None:
            text = f"There is no file {short(key)}: its voxels are 0."
            look.step("Which file", text, *about, why=FILE_WHY)
            return ()
        text = f"The key is the name of the file: {short(name)}."
        look.step("Which file", text, *about, why=FILE_WHY, file=name)
        return (name,)

    lookup_all = Shard.lookup_all

    def _find_many(self, keys: Sequence[str]) -> I64:
        """Return the rows of many keys; lists the folder."""
        self.load_index()
        return np.array([self._rows.get(self.parse_key(key), -1) for key in keys], np.int64)

    def chunk_grid(self, scale: str = "") -> ChunkGrid:
        """Return the chunks of this scale, or of another scale of the volume.

        Raises:
            UsageError: There is no such scale.
            ShardError: The other scale cannot be opened.
        """
        if scale in ("", self.space.name):
            return FilesGrid(self)
        return self._others.grid(scale, self, root_of(self.folder, self.space.folder), self.text)

    def mesh_of(self, segment: int) -> tuple[str, str] | None:
        """Return where the mesh of a segment is looked up; see `Shard.mesh_of`."""
        return mesh_of_segment(self.folder, segment)

    def close(self) -> None:
        """Close the files, and the other scales that were read."""
        self._others.close()
        super().close()

    def _part(self, name: SourceName) -> SourcePart:
        """Return the info."""
        if name != SourceName(INFO_NAME):
            return super()._part(name)
        section = Section(INFO_NAME, SectionRole.METADATA, 0, len(self.text), "The info of the volume.")
        node = Node(INFO_NAME, Span(INFO_NAME, 0, len(self.text)))
        return SourcePart(BytesSource(self.text, INFO_NAME), (section,), lambda: node)


class ChunkFileObjects(Objects):
    """One row per chunk file.

    Args:
        files: The data set.
    """

    kinds = ("chunk",)
    codecs = CODECS

    def __init__(self, files: ChunkFiles) -> None:
        self._files = files

    @property
    def counted(self) -> bool:
        """Return whether the folder is listed."""
        return self._files.listed

    def __len__(self) -> int:
        return len(self._files.members)

    @property
    def shards(self) -> Sequence[str]:
        """Return the names of the files."""
        return [member.name for member in self._files.members]

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        """Stored sizes, as the folder states them; no file is opened."""
        members = [self._files.members[row] for row in rows.tolist()]
        endings = [member.name[len(plain_name(member.name)) :] for member in members]
        codec = [CODECS.index(ENDINGS.get(ending, "none")) for ending in endings]
        stored = [member.size for member in members]
        size = [-1 if code else bytes_ for code, bytes_ in zip(codec, stored, strict=True)]
        faults = [size_fault(member.name, member.size, self._files.space) for member in members]
        state = [State.DAMAGED if fault else State.LIVE for fault in faults]
        shards = rows.astype(np.int32)
        return ObjectColumns.of(rows, 0, stored, size, stored_size=stored, codec=codec, state=state, shard=shards)

    def key_texts(self, rows: I64) -> list[str | None]:
        """Return the names of the files, without an ending that states the compression."""
        return [plain_name(self._files.members[row].name) for row in rows.tolist()]

    def ref(self, row: int) -> ObjectRef:
        """Return one chunk; opens its file for a moment."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        name = self._files.members[row].name
        with self._files.borrowed(name) as member:
            return located(member.objects.ref(0), name, row)


class FilesGrid(VolumeGrid):
    """Chunks that are files.

    Args:
        files: The data set.
    """

    def __init__(self, files: ChunkFiles) -> None:
        super().__init__(files, files.space, files.text)
        self._files = files

    def cell(self, at: tuple[int, ...]) -> GridCell:
        """Return a cell; its key is the name of its file."""
        box = self.box_at(at)
        key = "_".join(f"{begin}-{end}" for begin, end in zip(box.begin, box.end, strict=True))
        return GridCell(at, box, key, key)

    def refs(self, cells: Sequence[GridCell]) -> list[Found]:
        """Return the files of cells; they are opened when their elements are read."""
        return [self._ref(cell) for cell in cells]

    def _ref(self, cell: GridCell) -> Found:
        try:
            name = self._files.file_of(cell.key)
        except ShardError as error:
            if source_lost(error):
                raise
            return error
        if name is None:
            return None
        row = self._files.row_of_member(name)
        span = Span(str(SourceName(name)), 0, 0)
        extras = {MEMBER_ROW: 0}
        return ObjectRef(cell.key, -1 if row is None else row, (span,), kind="chunk", shard=name, extras=extras)

    def elements(self, cell: GridCell, ref: ObjectRef) -> NDArray[Any]:
        """Return the voxels of a file: one request, of as many bytes as the chunk can have."""
        folder, nominal = self._files.folder, self._files.chunk_head
        near = folder.lists_cheaply
        with folder.open(ref.shard) if near else folder.open_at(ref.shard, 0, nominal) as source:
            check_stored(source, DEFAULT_LIMIT, Span(str(SourceName(ref.shard)), 0, 0))
            data = source.read_first(nominal)
            if source.size > len(data):
                data += source.read(len(data), source.size)
        raw = self.raw_size(cell)
        try:
            return self.decoded(cell, expanded(file_codec(ref.shard, data, raw), data, raw or DEFAULT_LIMIT))
        except FormatError as error:
            raise FormatError(f"{ref.shard}: {error.message}", span=Span(str(SourceName(ref.shard)), 0, 0)) from error

    def locate(self, index: Sequence[int]) -> ElementLocation:
        """Return where a voxel is stored; opens its file."""
        cell = self.cell_of(index)
        found = self._ref(cell)
        if not isinstance(found, ObjectRef):
            return ElementLocation(tuple(index), cell)
        try:
            member = self._files.member(found.shard)
        except SourceError as error:
            if says_absent(error):
                return ElementLocation(tuple(index), cell)
            raise
        return self.located_in(cell, tuple(index), located(member.objects.ref(0), found.shard, max(found.row, 0)))


def chunk_bytes(space: KeySpace) -> int:
    """Return the bytes of a raw chunk that is not cut."""
    scale = space.scale
    assert scale is not None
    try:
        itemsize = np.dtype(scale.data_type).itemsize
    except TypeError:
        itemsize = 1
    return math.prod(scale.chunk_size) * scale.num_channels * itemsize

