"""bcolz folders as data sets: the objects of a column are its chunks, and those of a table are its columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.json_text import parse_json
from shardcore.dataclasses import dataclass, replace
from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, NotAShard, ShardError, Unsupported, raise_if_lost
from shardcore.formats.bloscpack.bcolz import (
    ATTRS,
    DOCS,
    MAX_TEXT,
    ROOTDIRS,
    BcolzColumn,
    file_span,
    read_column,
    read_names,
)
from shardcore.formats.bloscpack.lookup import (
    ALL,
    BloscpackKey,
    ByteChunk,
    ColumnFile,
    ColumnRead,
    ElementByte,
    KeyKind,
    NoChunk,
    PastColumn,
    TableColumn,
    TableRead,
    WholeContent,
    attempt,
    element_at,
    parse_key,
)
from shardcore.formats.bloscpack.objects import UNREAD, BloscpackObjects
from shardcore.formats.bloscpack.shard import BloscpackShard, open_shard
from shardcore.formats.bloscpack.tree import json_node
from shardcore.model.chunk_grid import ChunkGrid
from shardcore.model.computed_children import Deferred
from shardcore.model.content_layout import ArrayLayout, ContentPart
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.keys import NUMBERS
from shardcore.model.node import Node
from shardcore.model.objects import MEMBER_ROW, ObjectColumns, ObjectRef, Objects, State, located
from shardcore.model.record import FieldRole, Value
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import SourceName, Span
from shardcore.model.text import grouped_digits, plural
from shardcore.progress import Progress
from shardcore.shards.dataset import DataSet, Member
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import Shard, SourcePart
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import PIECE, Folder, Source
from shardcore.sources.memory import BytesSource
from shardcore.sources.prefetched_source import PrefetchedSource

MOST_FIELDS = 1000
"""Maximum number of columns whose type and shape are listed in the fields of the table."""

I64 = NDArray[np.int64]


class BcolzDataSet(DataSet):
    """Data set of the files of one or more bcolz columns; each file has one chunk."""

    joins = False
    lookup_all = Shard.lookup_all
    read_part = Shard.read_part
    file_names = Shard.file_names

    def __init__(
        self, folder: Folder, columns: Sequence[BcolzColumn], texts: dict[str, bytes], context: OpenContext
    ) -> None:
        # One process for all files, instead of one per file.
        if context.values.get("isolated"):
            self.isolate()
        rest = {name: value for name, value in context.values.items() if name != "isolated"}
        self._context = replace(context, values=rest)
        self._texts = texts | {name: text for column in columns for name, text in column.texts.items()}
        files = [file for column in columns for file in column.files]
        super().__init__("bloscpack", folder, [Member(file.name, file.size) for file in files])

    def open_member(self, name: str, source: Source) -> BloscpackShard:
        shard = open_shard(PrefetchedSource(source), self._context.member())
        if (count := len(shard.objects)) != 1:
            message = f"the file has {plural(count, 'chunk')}; a file of a column has exactly one"
            raise Unsupported(message, span=Span("", 0, source.size))
        if self.isolated is not None:
            shard.file.isolate(self.isolated)
        return shard

    @property
    def declared_objects(self) -> int:
        return len(self.objects)

    def _tree(self) -> Node:
        root = super()._tree()
        return replace(root, children=(*(self._text_node(name) for name in self._texts), *root.children))

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        return super()._stream(ref) if ref.shard else self._pieces(self._column_of(ref), 0, None)

    def reads_ranges(self, ref: ObjectRef) -> bool:
        return super().reads_ranges(ref) if ref.shard else True

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        """Return uncompressed bytes `[start, stop)` of an object; only the chunks that contain them are read."""
        if ref.shard:
            return super()._read_range(ref, start, stop, limit)
        column = self._column_of(ref)
        first, last = min(start, column.nbytes), min(stop, column.nbytes)
        if last - first > limit:
            raise LimitExceeded(f"the range has {plural(last - first, 'byte')}; the limit is {grouped_digits(limit)}")
        return b"".join(self._pieces(column, first, last))

    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        column = self._column_of(ref)
        if column.pickled or not ref.shard:
            return column.layout
        count, rest = divmod(ref.size, column.array.stride)
        number = int(ref.key) if ref.key is not None and ref.key.isdecimal() else -1
        if number < 0 or rest or not count:
            return None
        shape = column.array.shape[1:]
        return replace(column.array, shape=(count, *shape), begin=(number * column.chunklen, *(0 for _ in shape)))

    def content_parts(self, ref: ObjectRef) -> Sequence[ContentPart]:
        column = self._column_of(ref)
        if ref.shard or column.pickled:
            return super().content_parts(ref)
        step = column.chunk_bytes
        parts = (
            ContentPart(file.number * step, min((file.number + 1) * step, column.nbytes), file.span)
            for file in column.files
            if file.number * step < column.nbytes
        )
        return tuple(parts)

    def facts(self, ref: ObjectRef) -> dict[str, Any]:
        if ref.shard or self._column_of(ref).pickled:
            return {}
        return {name: ref.extras[name] for name in ("dtype", "shape") if name in ref.extras}

    @cached_property
    def checksum(self) -> str:
        if not self.first_member:
            return ""
        with self.borrowed(self.first_member) as first:
            return first.checksum

    @property
    def settings(self) -> dict[str, Any]:
        texts = {name: text.decode("utf-8", "replace").strip() for name, text in self._texts.items()}
        return {"checksum": self.checksum or "None", "bcolz": texts}

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        findings = Findings()
        report = super()._verify(depth, progress)
        for finding in report.findings:
            findings.add(finding)
        self._check_columns(findings, depth)
        # A column counts as verified only if all its chunks are.
        objects = len(self.objects)
        checked = objects if not report.unverified else 0
        return Report(depth, objects, findings.all(), checked, objects if report.without_checksum else 0)

    @abstractmethod
    def _column_of(self, ref: ObjectRef) -> BcolzColumn:
        """Return the column of an object; if the column is damaged, raise its error."""

    @abstractmethod
    def _check_columns(self, findings: Findings, depth: Depth) -> None:
        """Add findings about the columns: missing files, sizes, lengths."""

    def _pieces(self, column: BcolzColumn, start: int, stop: int | None) -> Iterator[bytes]:
        """Yield the uncompressed bytes `[start, stop)` of a column in pieces; to its end if `stop` is None."""
        end = column.nbytes if stop is None else stop
        number = start // column.chunk_bytes if column.chunk_bytes else 0
        begin = number * column.chunk_bytes
        while begin < end:
            if column.pickled and number == column.chunks:
                raise FormatError(f"the column's chunks have {plural(begin, 'byte')}, but nbytes is {column.nbytes:,}")
            plain = memoryview(b"".join(super()._stream(_unread(column.file_of(number).name, -1))))
            column.check_chunk(number, len(plain))
            for at in range(max(start - begin, 0), min(len(plain), end - begin), PIECE):
                yield bytes(plain[at : min(at + PIECE, end - begin)])
            begin += len(plain)
            number += 1

    def _check_column(self, column: BcolzColumn, findings: Findings, depth: Depth) -> None:
        span, chunks = column.described[0], plural(column.chunks, "chunk")
        for number in column.missing:
            message = f"chunk {number} has no file; the column has {chunks}"
            findings.error("bloscpack.column-file-missing", span, message, key=str(number))
        for file in column.files:
            if file.number >= column.chunks:
                message = f"{file.name} is not part of the column, which has {chunks}"
                findings.note("bloscpack.column-file-surplus", file.span, message)
        if not depth.reaches(Depth.INDEX):
            return
        sizes: list[int] = []
        for file in column.files:
            if file.number >= column.chunks:
                continue
            try:
                sizes.append(self.member(file.name).objects.ref(0).size)
            except ShardError as error:
                raise_if_lost(error)
                continue  # already reported: the file cannot be opened
            try:
                column.check_chunk(file.number, sizes[-1])
            except FormatError as error:
                findings.error("bloscpack.column-chunk-size", error.span, error.message, key=str(file.number))
        if column.pickled and len(sizes) == column.chunks and sum(sizes) != column.nbytes:
            message = f"nbytes is {column.nbytes:,}, but the chunks have {plural(sum(sizes), 'uncompressed byte')}"
            findings.error("bloscpack.column-size", span, message)

    def _text_span(self, name: str) -> Span:
        return file_span(name, len(self._texts[name]))

    def _text_node(self, name: str) -> Node:
        span = self._text_span(name)
        kids = Deferred(lambda: list(self.part(span.source).tree().children), span.source)
        return Node(name, span, text=plural(span.size, "byte"), doc=_doc_of(name), children=kids)

    def _part(self, name: SourceName) -> SourcePart:
        text = self._texts.get(name.path)
        if text is None or name.stretches:
            return super()._part(name)
        source = str(name)
        span = Span(source, 0, len(text))

        def root() -> Node:
            try:
                parse_json(text, "the text", span=span)
            except FormatError as error:
                return Node(source, span, role=FieldRole.TEXT, error=error.message)
            return Node(source, span, role=FieldRole.TEXT, children=(json_node(text, source),))

        section = Section(name.path, SectionRole.METADATA, 0, len(text), _doc_of(name.path))
        return SourcePart(BytesSource(text, source), (section,), root)


def _doc_of(name: str) -> str:
    return next((doc for ending, doc in DOCS.items() if name.endswith(ending)), "")


@dataclass(frozen=True, slots=True)
class ColumnKey(BloscpackKey):
    """Key in a column: `chunk` is the number of the chunk, and `number` counts bytes from the start of that chunk."""

    chunk: int = 0


class BcolzColumnFolder(BcolzDataSet):
    key_form = NUMBERS

    def __init__(self, folder: Folder, context: OpenContext) -> None:
        self.column = read_column(folder)
        super().__init__(folder, [self.column], {}, context)
        self._chunks = BcolzChunks(self)
        self._rows = {file.name: row for row, file in enumerate(self.column.files)}

    @property
    def objects(self) -> BcolzChunks:
        return self._chunks

    @property
    def fields(self) -> dict[str, Value]:
        return super().fields | self.column.fields("column")

    @property
    def views(self) -> tuple[str, ...]:
        return (ALL,)

    def chunk_grid(self, scale: str = "") -> ChunkGrid | None:
        from shardcore.formats.bloscpack.array_grid import array_grid

        names = {file.number: file.name for file in self.column.files}
        return array_grid(self, self.column.layout, self.column.chunk_bytes, file_of=names.get)

    def parse_key(self, text: str) -> BloscpackKey:
        return parse_key(text)

    def lookup(self, key: BloscpackKey, recorder: LookupRecorder) -> ObjectRef:
        column, about = self.column, self.column.described

        def record(fact: Any) -> None:
            recorder.record(fact, self.format)

        record(ColumnRead(column))
        if key.kind is KeyKind.ALL:
            ref = column.ref(ALL, -1, "content")
            record(WholeContent(ref.spans))
            return ref
        if column.pickled and key.kind is not KeyKind.CHUNK:
            raise KeyAbsent(str(key), "this column has Python objects, so its only keys are chunk numbers and `all`")
        if key.kind is KeyKind.ELEMENT:
            found = attempt(lambda: element_at(key.index, column.array))
            record(ElementByte(found, about[1:]))
            if isinstance(found, KeyAbsent):
                raise found
            key = BloscpackKey(KeyKind.BYTE, found.byte)
        inside = ColumnKey(KeyKind.CHUNK, 0, chunk=key.number)
        if key.kind is KeyKind.BYTE:
            if key.number >= column.nbytes:
                record(PastColumn(column))
                size = plural(column.nbytes, "byte")
                raise KeyAbsent(str(key), f"there is no uncompressed byte {key.number}; the column has {size}")
            chunk, within = divmod(key.number, column.chunk_bytes)
            record(ByteChunk(key.number, (chunk, within), about, column.chunk_bytes, column.nbytes))
            inside = ColumnKey(KeyKind.BYTE, within, chunk=chunk)
        if inside.chunk not in column.by_number and inside.chunk >= column.chunks:
            record(NoChunk(column.chunks, about, "column"))
            count = plural(column.chunks, "chunk")
            raise KeyAbsent(str(key), f"there is no chunk {inside.chunk}; the column has {count}")
        return replace(super().lookup(inside, recorder), key=str(inside.chunk))

    def route(self, key: ColumnKey, recorder: LookupRecorder) -> Sequence[str]:
        file = self.column.file_of(key.chunk)
        recorder.record(ColumnFile(self.column, file), self.format)
        return (file.name,)

    def first_row_of(self, name: str) -> int | None:
        return self._rows.get(name)

    def _column_of(self, ref: ObjectRef) -> BcolzColumn:
        return self.column

    def _check_columns(self, findings: Findings, depth: Depth) -> None:
        self._check_column(self.column, findings, depth)


class BcolzChunks(Objects):
    """Objects of a column: one row per chunk file."""

    kinds = ("chunk",)
    codecs = BloscpackObjects.codecs

    def __init__(self, data_set: BcolzColumnFolder) -> None:
        self._data_set = data_set
        self._column = data_set.column
        self._files = data_set.column.files

    def __len__(self) -> int:
        return len(self._files)

    @property
    def shards(self) -> Sequence[str]:
        return [file.name for file in self._files]

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        unreadable = self._data_set.unreadable
        table = np.array([self._numbers(row, sizes, unreadable) for row in rows.tolist()], np.int64)
        start, stop, size, stored, codec, state = table.reshape(-1, 6).T
        return ObjectColumns.of(
            rows, start, stop, size, stored_size=stored, codec=codec, state=state, shard=rows.astype(np.int32)
        )

    def key_texts(self, rows: I64) -> list[str | None]:
        return [str(self._files[row].number) for row in rows.tolist()]

    def _ref(self, row: int) -> ObjectRef:
        return self._chunk(row, keep=True)

    def _chunk(self, row: int, *, keep: bool) -> ObjectRef:
        """Return the chunk in the file of a row; with `keep`, the file stays open."""
        file = self._files[row]
        try:
            with self._data_set.borrowed(file.name, keep=keep) as member:
                ref = located(member.objects.ref(0), file.name, row)
        except (FormatError, NotAShard) as error:
            ref = replace(_unread(file.name, row), state=State.DAMAGED, error=str(error))
        return replace(ref, key=str(file.number))

    def _numbers(
        self, row: int, sizes: bool, unreadable: Mapping[str, ShardError]
    ) -> tuple[int, int, int, int, int, int]:
        """Return start, stop, size, stored size, codec and state of a chunk; -1 if unknown."""
        file = self._files[row]
        if not sizes and file.name not in unreadable and not self._data_set.is_open(file.name):
            # The last chunk may be short.
            size = self._column.chunk_bytes or -1 if file.number < self._column.chunks - 1 else -1
            return -1, -1, size, -1, 0, State.LIVE
        ref = self._chunk(row, keep=False)
        start, stop = (ref.spans[0].start, ref.spans[0].stop) if ref.spans else (-1, -1)
        return start, stop, ref.size, ref.stored_size, self.codecs.index(ref.codec), ref.state


def _unread(name: str, row: int) -> ObjectRef:
    return ObjectRef("0", row, (), codec=UNREAD, kind="chunk", shard=name, extras={MEMBER_ROW: 0})


class BcolzTable(BcolzDataSet):
    """Table of columns of equal length; its objects are the columns."""

    def __init__(self, folder: Folder, context: OpenContext) -> None:
        texts = {ROOTDIRS: folder.read(ROOTDIRS, MAX_TEXT)}
        if any(entry.name == ATTRS for entry in folder.list()):
            texts[ATTRS] = folder.read(ATTRS, MAX_TEXT)
        self.names = tuple(read_names(texts[ROOTDIRS]))
        self.columns: dict[str, BcolzColumn] = {}
        self.damaged: dict[str, ShardError] = {}
        for name in self.names:
            try:
                self.columns[name] = read_column(folder, name)
            except ShardError as error:
                raise_if_lost(error)
                self.damaged[name] = error
        super().__init__(folder, list(self.columns.values()), texts, context)
        self._rows = {
            file.name: row for row, n in enumerate(self.names) if n in self.columns for file in self.columns[n].files
        }
        self._objects = TableObjects(self)

    @property
    def objects(self) -> TableObjects:
        return self._objects

    @property
    def fields(self) -> dict[str, Value]:
        fields = super().fields | {"table.columns": len(self.names)}
        for name in self.names[:MOST_FIELDS]:
            if name in self.columns:
                fields |= self.columns[name].fields(name)
        return fields

    def first_rows(self, count: int) -> dict[str, NDArray[Any]]:
        found = {}
        for name, column in self.columns.items():
            if (layout := column.layout) is None:
                continue
            there = min(count, layout.shape[0]) if layout.shape else 0
            part = replace(layout, shape=(there, *layout.shape[1:]))
            found[name] = part.of(self.read_range(self.find(name), 0, part.nbytes))
        return found

    def lookup(self, key: str, recorder: LookupRecorder) -> ObjectRef:
        recorder.record(TableRead(self.names, key, self._text_span(ROOTDIRS)), self.format)
        if key not in self.names:
            raise KeyAbsent(key, f"there is no column {key!r}; the table has {plural(len(self.names), 'column')}")
        ref = self._objects.ref(self.names.index(key))
        recorder.record(TableColumn(self._column_of(ref)), self.format)
        return ref

    def route(self, key: str, recorder: LookupRecorder) -> Sequence[str]:
        return [file.name for file in self.columns[key].files]

    def row_of_member(self, name: str) -> int | None:
        return self._rows.get(name)

    def file_damage(self, name: str) -> str:
        """Return the error of the first file of column `name` that could not be read; empty if there was none."""
        row = self.names.index(name)
        errors = (f"{file}: {error}" for file, error in self.unreadable.items() if self._rows[file] == row)
        return next(errors, "")

    def _column_of(self, ref: ObjectRef) -> BcolzColumn:
        name = self.names[ref.row]
        if name in self.damaged:
            raise self.damaged[name]
        return self.columns[name]

    def _check_columns(self, findings: Findings, depth: Depth) -> None:
        place = self._text_span(ROOTDIRS)
        for name, error in self.damaged.items():
            findings.error("bloscpack.column", error.span or place, f"{name}: {error.message}", key=name)
        for column in self.columns.values():
            self._check_column(column, findings, depth)
        if len(lengths := {column.array.shape[0] for column in self.columns.values()}) > 1:
            found = ", ".join(map(grouped_digits, sorted(lengths)[:10]))
            message = f"the columns of a table must have the same number of items; these have {found}"
            findings.error("bloscpack.column-length", place, message)


class TableObjects(Objects):
    """Objects of a table: one row per column."""

    kinds = ("column",)
    codecs = ("blosc",)

    def __init__(self, table: BcolzTable) -> None:
        self._table = table
        starts = accumulate((len(column.files) for column in table.columns.values()), initial=0)
        self._first_members = dict(zip(table.columns, starts, strict=False))

    def __len__(self) -> int:
        return len(self._table.names)

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        refs = [self.ref(row) for row in rows.tolist()]
        return ObjectColumns.of(
            rows,
            -1,
            -1,
            [ref.size for ref in refs],
            stored_size=[ref.stored_size for ref in refs],
            state=[ref.state for ref in refs],
            shard=[self._first_members.get(str(ref.key), 0) for ref in refs],
        )

    def key_texts(self, rows: I64) -> list[str | None]:
        return [self._table.names[row] for row in rows.tolist()]

    def _ref(self, row: int) -> ObjectRef:
        name = self._table.names[row]
        if name in self._table.damaged:
            error = str(self._table.damaged[name])
            return ObjectRef(name, row, (), codec="blosc", state=State.DAMAGED, kind="column", error=error)
        ref = self._table.columns[name].ref(name, row, "column")
        error = self._table.file_damage(name)
        return replace(ref, state=State.DAMAGED, error=error) if error else ref
