"""Unsharded key spaces: one file per object.

Chunks are named by voxels (`0-64_64-128_0-30`), grid cells by position (`0_1_0`), other objects by key. A mesh has a
manifest `<key>.index` and fragments `<key>`, which are concatenated as in a shard, fragments first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import SHOWN_LIMIT, decompress, decompress_shown
from shardcore.dataclasses import replace
from shardcore.errors import (
    FormatError,
    KeyAbsent,
    LimitExceeded,
    NoSuchObject,
    ShardError,
    SourceError,
    Unsupported,
    UsageError,
    raise_if_lost,
    raise_unless_absent,
    says_absent,
)
from shardcore.formats.neuroglancer.chunks import (
    MANIFEST,
    Found,
    VolumeGrid,
    cell_key,
    chunk_array,
    chunk_key,
    chunk_layout,
    chunk_parts,
    plain_name,
    split_name,
)
from shardcore.formats.neuroglancer.info import KeySpace, SpaceKind, info_members
from shardcore.formats.neuroglancer.lookup import FileNamed, FileRead
from shardcore.formats.neuroglancer.objects import FRAGMENTS, LEAST_GZIP
from shardcore.formats.neuroglancer.origin import INFO_NAME, Origin
from shardcore.formats.neuroglancer.shard import KeySpaceFolder, Opener, SpaceShard
from shardcore.formats.neuroglancer.sharding import parse_key
from shardcore.model.budget import raised
from shardcore.model.chunk_grid import ChunkGrid, ElementLocation, GridCell
from shardcore.model.content_layout import RAW, ArrayLayout, ContentPart
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.keys import NUMBERS, KeyForm
from shardcore.model.node import Node
from shardcore.model.objects import MEMBER_ROW, ObjectColumns, ObjectRef, Objects, State, located
from shardcore.model.record import Value
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import SourceName, Span, decoded_name
from shardcore.model.text import plural, short
from shardcore.progress import Progress
from shardcore.shards.dataset import Member
from shardcore.shards.shard import DEFAULT_LIMIT, Shard, SourcePart
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import WHOLE_HEAD, Folder, Source, read_pieces
from shardcore.sources.memory import BytesSource
from shardcore.sources.wrapper_sources import ConcatSource

I64 = NDArray[np.int64]

GZIP_MAGIC = b"\x1f\x8b"
MOST_HEAD = 8 << 20
"""Maximum number of bytes in the first request for a remote chunk."""

CODECS = ("none", "gzip", "brotli", "zstd")
_FRAGMENTS = "The fragments of the mesh, from the file <key>."
_CONTENT = "The stored content of the object."


def file_codec(name: str, head: bytes, plain_size: int | None) -> str:
    """Return the compression of a file by suffix or first bytes; a file of `plain_size` bytes is not compressed."""
    codec = split_name(name)[1]
    # Stores that compress uploads do not change the file name.
    return "gzip" if codec == "none" and head.startswith(GZIP_MAGIC) and len(head) != plain_size else codec


def decompress_file(codec: str, data: bytes, limit: int, span: Span | None = None) -> bytes:
    if codec == "brotli":
        raise Unsupported("files compressed with brotli are not supported; recompress them with gzip", span=span)
    return data if codec == "none" else decompress(codec, data, limit=limit, span=span)


def check_stored(size: int, limit: int, span: Span) -> None:
    if size > limit:
        raise LimitExceeded(f"the file has {plural(size, 'byte')}; the limit is {limit:,}", span=span)


def size_fault(name: str, size: int, space: KeySpace) -> str:
    """Return an error text if the size of a file is too small for its chunk, else ""; reads no content."""
    plain, codec = split_name(name)
    if space.scale is None or size >= LEAST_GZIP or codec not in ("none", "gzip"):
        return ""
    layout = chunk_layout(space, int(chunk_key(plain, space) or 0))
    if codec == "none" and (layout.encoding != RAW or size == layout.nbytes):
        return ""
    return f"the file has {plural(size, 'byte')}, too few for raw voxels or a gzip member"


def object_key(name: str, space: KeySpace) -> str | None:
    """Return the key of an object file; None for other files and for mesh fragments."""
    key = plain_name(name)
    if space.kind is SpaceKind.MESH:
        key = key.removesuffix(MANIFEST) if key.endswith(MANIFEST) else ""
    try:
        return key if key_number(key, space) is not None else None
    except UsageError:
        return None


def key_number(key: str, space: KeySpace) -> int | None:
    """Return the number that a key has in a shard; None if the text is not a valid key."""
    if space.grid is None:
        return parse_key(key) if key.isdecimal() and (key[0] != "0" or key == "0") else None
    number = chunk_key(key, space) if space.scale is not None else cell_key(key, space)
    return None if number is None else int(number)


class _ObjectFile:
    """The file of one object, opened as a shard with a single object, and its node tree.

    The content starts at `start` in `source`; before it are the fragments of a mesh, from another file.
    """

    def __init__(self, name: str, source: Source, origin: Origin, start: int) -> None:
        self.source, self.origin, self.space = source, origin, origin.space
        self.name, self.base = name, 0
        self.span = Span("", start, source.size)
        self.kind = self.space.kind.object_kind
        places = ((FRAGMENTS, 0, start, _FRAGMENTS), (self.kind, start, source.size, _CONTENT))
        self.sections = tuple(
            Section(part, SectionRole.DATA, first, stop, doc) for part, first, stop, doc in places if stop > first
        )
        self.key = object_key(name.rpartition("/")[2], self.space) or ""
        self.number = key_number(self.key, self.space) or 0

    @cached_property
    def layout(self) -> ArrayLayout | None:
        return chunk_layout(self.space, self.number) if self.space.scale is not None else None

    @cached_property
    def codec(self) -> str:
        size = self.layout.nbytes if self.layout is not None and self.layout.encoding == RAW else None
        head = self.source.read(self.span.start, min(self.span.stop, self.span.start + 2))
        return "none" if self.span.size == size else file_codec(self.name, head, None)

    def stored(self, limit: int) -> bytes:
        check_stored(self.span.size, limit, self.span)
        return self.source.read(self.span.start, self.span.stop)

    def content(self, limit: int = DEFAULT_LIMIT) -> bytes:
        return decompress_file(self.codec, self.stored(limit), limit, self.span)

    def ref(self) -> ObjectRef:
        fault = size_fault(self.name, self.span.size, self.space)
        fragments = (Span("", 0, self.span.start),) if self.span.start else ()
        return ObjectRef(
            self.key,
            0,
            (self.span, *fragments),
            self.span.size if self.codec == "none" else -1,
            self.span.size,
            codec=self.codec,
            state=State.DAMAGED if fault else State.LIVE,
            kind=self.kind,
            parts=(FRAGMENTS,) if self.space.kind is SpaceKind.MESH else (),
            error=fault,
            extras=self.space.meaning_of(self.number),
        )

    def root(self) -> Node:
        size = self.source.size
        nodes = tuple(
            Node(one.name, Span("", one.start, one.stop), text=plural(one.stop - one.start, "byte"), doc=one.doc, row=0)
            for one in self.sections
        )
        return Node(self.name, Span("", 0, size), text=plural(size, "byte"), children=nodes)

    def part(self, name: SourceName) -> SourcePart | None:
        """Return the decompressed content as a source; None for other names, and if the file is not compressed."""
        is_content = name.stretch == (self.span.start, self.span.stop) and SourceName.parse(str(name.outer)).is_file
        if not is_content or self.codec == "none":
            return None
        if self.codec == "brotli":
            data = self.content()
        else:
            data = decompress_shown(self.codec, self.stored(SHOWN_LIMIT), span=self.span)
        source = str(name)
        span = Span(source, 0, len(data))
        section = Section("content", SectionRole.DATA, 0, len(data), _CONTENT)
        node = Node("content", span, text=plural(len(data), "byte"), doc=_CONTENT, row=0)
        return SourcePart(BytesSource(data, source), (section,) if data else (), lambda: node)


class _OneObject(Objects):
    codecs = CODECS

    def __init__(self, file: _ObjectFile) -> None:
        self._file = file
        self.kinds = (file.kind,)

    def __len__(self) -> int:
        return 1

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        ref = self._file.ref()
        start, stop, codec = ref.spans[0].start, ref.spans[0].stop, CODECS.index(ref.codec)
        return ObjectColumns.of(rows, start, stop, ref.size, stored_size=ref.stored_size, codec=codec, state=ref.state)

    def key_texts(self, rows: I64) -> list[str | None]:
        return [self._file.key] * len(rows)

    def _ref(self, row: int) -> ObjectRef:
        return self._file.ref()


class ObjectFileShard(SpaceShard):
    file: _ObjectFile
    byte_shares = Shard.byte_shares
    loads = Shard.loads

    def __init__(self, file: _ObjectFile) -> None:
        super().__init__(file, _OneObject(file), file)
        self.title = f"Neuroglancer {file.kind}"

    def lookup(self, key: Any, recorder: LookupRecorder) -> ObjectRef:
        if str(key) != self.file.key:
            raise KeyAbsent(str(key))
        ref = self.file.ref()
        recorder.record(FileRead(self.file.kind, self.file.span), self.format)
        return ref

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        file = self.file
        if file.codec != "none":
            yield file.content()
            return
        yield from read_pieces(file.source, file.span.start, file.span.stop)

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        if part != FRAGMENTS or part not in ref.parts:
            return super().read_part(ref, part, limit=limit)
        check_stored(self.file.span.start, limit, Span("", 0, self.file.span.start))
        return self.file.source.read(0, self.file.span.start)

    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        return self.file.layout

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        file, findings = self.file, Findings()
        if depth.reaches(Depth.CONTENT):
            from shardcore.formats.neuroglancer.verify import ValueCheck

            code = "neuroglancer.value"
            try:
                data = file.content(raised(DEFAULT_LIMIT))
                if file.layout is not None and file.layout.encoding == RAW:
                    code = "neuroglancer.chunk-size"
                    chunk_array(file.space, file.number, data)
                else:
                    check = ValueCheck(file.origin, 0, file.source, findings, self.decoder)
                    check.check(file.key, file.number, file.span, data)
            except SourceError:
                raise
            except LimitExceeded as error:
                findings.leave_out("neuroglancer.unchecked", file.span, f"not checked: {error.message}", key=file.key)
            except Unsupported as error:
                findings.note("neuroglancer.unchecked", file.span, f"not checked: {error.message}", key=file.key)
            except ShardError as error:
                findings.error(code, file.span, error.message, key=file.key)
        progress(1, 1)
        # A gzip member ends with a crc32; other encodings have no mandatory checksum.
        checked = int(depth.reaches(Depth.CONTENT) and file.codec == "gzip" and not findings.left_out)
        found = findings.all()
        if file.span.start:
            counted = f" (offsets count over the files {file.key} and {file.name}, concatenated)"
            found = tuple(replace(one, message=one.message + counted) if one.span else one for one in found)
        return Report(depth, 1, found, checked, int(file.codec != "gzip"))

    def content_parts(self, ref: ObjectRef) -> Sequence[ContentPart]:
        file, layout = self.file, self.file.layout
        if not file.span.size:
            return ()
        stored = file.span
        if file.codec != "none":
            name = decoded_name(stored.start, stored.stop)
            stored = Span(name, 0, self.bytes_of(name).size)
        whole = ContentPart(0, stored.size, stored)
        return (whole,) if layout is None or layout.encoding == RAW else chunk_parts(layout, whole, file.content)


class ObjectFiles(KeySpaceFolder):
    """Key space with one file per object; `root` is the folder of the info if the files are not below it."""

    joins = False
    files_are_objects = True
    no_loads = "Each file of this data set is one object."

    def __init__(self, folder: Folder, origin: Origin, opener: Opener, root: Folder | None) -> None:
        self.space = origin.space
        self._loaded = False
        self._fragments: dict[str, int] = {}
        # A folder is listed at once if that is cheap; otherwise objects are opened by name.
        members = self._listed_members(folder) if folder.lists_cheaply else lambda: self._listed_members(folder)
        super().__init__(folder, origin, members, opener, root)
        self.member_head = max(self.object_head, WHOLE_HEAD)
        self._files = ObjectFileRows(self)

    @property
    def key_form(self) -> KeyForm:  # type: ignore[override]
        return KeyForm() if self.space.grid is not None else NUMBERS

    @property
    def object_head(self) -> int:
        """Number of bytes of an object to request first: a whole raw chunk, up to `MOST_HEAD`."""
        return min(self.space.scale.chunk_bytes, MOST_HEAD) if self.space.scale is not None else WHOLE_HEAD

    def _listed_members(self, folder: Folder) -> Sequence[Member]:
        entries = [entry for entry in folder.list() if not entry.is_folder]
        if self.space.kind is SpaceKind.MESH:
            self._fragments = {entry.name: entry.size for entry in entries}
        return [
            Member(entry.name, entry.size + self.fragments_size(entry.name))
            for entry in entries
            if self.may_hold(entry.name)
        ]

    def may_hold(self, name: str) -> bool:
        return object_key(name, self.space) is not None

    @property
    def lists_unasked(self) -> bool:
        """True if the folder is local. A remote folder may have millions of files and is listed only on request."""
        return self.folder.lists_cheaply

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {object_key(member.name, self.space) or "": row for row, member in enumerate(self.members)}

    def file_of(self, key: str) -> str | None:
        """Return the file name of a key; None if not found. Before the folder is listed, the name is computed."""
        if self.listed or self.folder.lists_cheaply:
            row = self._rows.get(key)
            return None if row is None else self.members[row].name
        return f"{key}{MANIFEST}" if self.space.kind is SpaceKind.MESH else key

    def fragments_size(self, name: str) -> int:
        return self._fragments.get(object_key(name, self.space) or "", 0) if self._fragments else 0

    def open_member(self, name: str, source: Source) -> ObjectFileShard:
        start, key = 0, object_key(name, self.space)
        if self.space.kind is SpaceKind.MESH and key is not None:
            try:
                fragments = self.folder.open_on_demand(key)
            except SourceError as error:
                raise_unless_absent(error)
            else:
                source, start = ConcatSource([fragments, source], source.name), fragments.size
        return ObjectFileShard(_ObjectFile(name, source, self.origin, start))

    @property
    def objects(self) -> Objects:
        return self._files

    @property
    def listing(self) -> Objects | None:
        return self._files if self.listed else None

    @property
    def declared_objects(self) -> int | None:
        return len(self.members) if self.listed else None

    @property
    def loaded(self) -> bool:
        return self._loaded

    @property
    def index_bytes(self) -> int:
        return 0

    def _load_index(self, progress: Progress) -> None:
        _ = self.members
        self._loaded = True
        progress(1, 1)

    def _tree(self) -> Node:
        if not self.lists:
            return Node(self.uri, Span("", 0, 0), error="the folder cannot be listed; objects are opened by key")
        return super()._tree()

    @property
    def fields(self) -> dict[str, Value]:
        space = self.space
        found: dict[str, Value] = {"space.kind": space.kind.value, "space.name": space.name, "space.sharded": False}
        found |= {"space.grid": ",".join(map(str, space.grid))} if space.grid is not None else {}
        found |= {"space.encoding": space.scale.encoding} if space.scale is not None else {}
        return found | (super().fields if self.listed else {})

    @property
    def settings(self) -> dict[str, Any]:
        alone = self.space.kind in (SpaceKind.MESH, SpaceKind.SKELETON)
        return {"spec": dict(info_members(self.origin.text))} if alone else {}

    def row_of_member(self, name: str) -> int | None:
        return self._rows.get(object_key(name, self.space) or "") if self.listed else None

    def parse_key(self, text: str) -> str:
        if self.space.grid is None:
            return str(parse_key(text))
        if key_number(text, self.space) is None:
            kind, such = (self.space.kind.object_kind, "0-64_64-128_0-30" if self.space.scale is not None else "0_1_0")
            raise UsageError(f"{short(text)} is not a {kind}: a key is the name of a file, such as {such}")
        return text

    def route(self, key: str, recorder: LookupRecorder) -> Sequence[str]:
        name = self.file_of(key)
        if name is not None and not self.listed:
            try:
                self.member(name)
            except NoSuchObject:
                name = None
            except ShardError:
                pass  # the file exists; opening it again reports the error
        recorder.record(FileNamed(self.origin, key, name), self.format)
        return () if name is None else (name,)

    lookup_all = Shard.lookup_all

    def _find_many(self, keys: Sequence[str]) -> I64:
        self.load_index()
        return np.array([self._rows.get(self.parse_key(key), -1) for key in keys], np.int64)

    def own_grid(self) -> ChunkGrid:
        return FilesGrid(self)

    def _part(self, name: SourceName) -> SourcePart:
        if name != SourceName(INFO_NAME):
            return super()._part(name)
        text = self.origin.text
        section = Section(INFO_NAME, SectionRole.METADATA, 0, len(text), "The info of the data set.")
        node = Node(INFO_NAME, Span(INFO_NAME, 0, len(text)))
        return SourcePart(BytesSource(text, INFO_NAME), (section,), lambda: node)


class ObjectFileRows(Objects):
    codecs = CODECS

    def __init__(self, files: ObjectFiles) -> None:
        self._files = files
        self.kinds = (files.space.kind.object_kind,)

    @property
    def counted(self) -> bool:
        return self._files.listed

    def __len__(self) -> int:
        return len(self._files.members)

    @property
    def shards(self) -> Sequence[str]:
        return [member.name for member in self._files.members]

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        """Return the columns of rows, with sizes from the folder listing; opens no file."""
        members, space = [self._files.members[row] for row in rows.tolist()], self._files.space
        codec = np.array([CODECS.index(split_name(member.name)[1]) for member in members], np.uint8)
        starts = np.array([self._files.fragments_size(member.name) for member in members], np.int64)
        stored = np.array([member.size for member in members], np.int64) - starts
        faults = [size_fault(one.name, size, space) for one, size in zip(members, stored.tolist(), strict=True)]
        return ObjectColumns.of(
            rows,
            starts,
            starts + stored,
            np.where(codec > 0, -1, stored),
            stored_size=stored,
            codec=codec,
            state=[State.DAMAGED if fault else State.LIVE for fault in faults],
            shard=rows.astype(np.int32),
        )

    def key_texts(self, rows: I64) -> list[str | None]:
        return [object_key(self._files.members[row].name, self._files.space) for row in rows.tolist()]

    def _ref(self, row: int) -> ObjectRef:
        name = self._files.members[row].name
        with self._files.borrowed(name) as member:
            return located(member.objects.ref(0), name, row)


class FilesGrid(VolumeGrid):
    def __init__(self, files: ObjectFiles) -> None:
        super().__init__(files, files.space, files.origin.text)
        self._files = files

    def cell(self, at: tuple[int, ...]) -> GridCell:
        box = self.box_at(at)
        key = "_".join(f"{begin}-{end}" for begin, end in zip(box.begin, box.end, strict=True))
        return GridCell(at, box, key, key)

    def refs(self, cells: Sequence[GridCell]) -> list[Found]:
        return [self._ref(cell) for cell in cells]

    def _ref(self, cell: GridCell) -> Found:
        try:
            name = self._files.file_of(cell.key)
        except ShardError as error:
            raise_if_lost(error)
            return error
        if name is None:
            return None
        row = self._files.row_of_member(name)
        span = Span(str(SourceName(name)), 0, 0)
        extras = {MEMBER_ROW: 0}
        return ObjectRef(cell.key, -1 if row is None else row, (span,), kind="chunk", shard=name, extras=extras)

    def elements(self, cell: GridCell, ref: ObjectRef) -> NDArray[Any]:
        folder, nominal = self._files.folder, self._files.object_head
        near = folder.lists_cheaply
        with folder.open(ref.shard) if near else folder.open_at(ref.shard, 0, nominal) as source:
            check_stored(source.size, DEFAULT_LIMIT, Span(str(SourceName(ref.shard)), 0, 0))
            data = source.read_first(nominal)
            if source.size > len(data):
                data += source.read(len(data), source.size)
        raw = self.raw_size(cell)
        try:
            return self.decoded(cell, decompress_file(file_codec(ref.shard, data, raw), data, raw or DEFAULT_LIMIT))
        except FormatError as error:
            raise FormatError(f"{ref.shard}: {error.message}", span=Span(str(SourceName(ref.shard)), 0, 0)) from error

    def locate(self, index: Sequence[int]) -> ElementLocation:
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
