"""Detecting and opening folders: a bcolz column or table, or a folder of Bloscpack files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from shardcore.errors import KeyAbsent, NotAShard, ShardError, source_lost
from shardcore.formats.bloscpack.arrays import Element, element_at
from shardcore.formats.bloscpack.bcolz import (
    ATTRS,
    MAX_TEXT,
    ROOTDIRS,
    SIZES,
    STORAGE,
    BcolzColumn,
    is_column,
    is_table,
    read_column,
    read_names,
)
from shardcore.formats.bloscpack.bcolz_dataset import BloscpackDataSet, column_fields
from shardcore.formats.bloscpack.bcolz_objects import BcolzChunks, TableObjects, column_ref
from shardcore.formats.bloscpack.files_dataset import BloscpackFiles, is_files
from shardcore.formats.bloscpack.keys import ALL, BloscpackKey, KeyKind, parse_key
from shardcore.formats.bloscpack.lookup import (
    ColumnByte,
    ColumnFile,
    ColumnRead,
    ElementByte,
    NoChunk,
    TableColumn,
    TableRead,
    WholeContent,
)
from shardcore.model.array_layout import ArrayLayout
from shardcore.model.finding import Depth, Findings
from shardcore.model.keys import NUMBERS
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.objects import ObjectRef
from shardcore.model.record import Value
from shardcore.model.span import Span
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import DEFAULT_LIMIT
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import Folder

if TYPE_CHECKING:
    from shardcore.model.chunk_grid import ChunkGrid


@dataclass(frozen=True, slots=True)
class ColumnKey(BloscpackKey):
    """Key of a column, with the chunk that contains it; `number` counts from the start of that chunk."""

    chunk: int = 0


class BloscpackColumn(BloscpackDataSet):
    key_form = NUMBERS

    def __init__(self, folder: Folder, context: OpenContext) -> None:
        self.column = read_column(folder)
        super().__init__(folder, [self.column], {}, context)
        self._chunks = BcolzChunks(self.column, self.member, self.borrowed, self._is_known)
        self._rows = {file.name: row for row, file in enumerate(self.column.files)}

    @property
    def whole_layout(self) -> ArrayLayout | None:
        return self.column.layout

    @property
    def objects(self) -> BcolzChunks:
        return self._chunks

    @property
    def fields(self) -> dict[str, Value]:
        return super().fields | column_fields("column", self.column)

    @property
    def views(self) -> tuple[str, ...]:
        return (ALL,)

    def chunk_grid(self, scale: str = "") -> ChunkGrid | None:
        from shardcore.formats.bloscpack.array_grid import array_grid

        column = self.column
        names = {file.number: file.name for file in column.files}
        return array_grid(self, self.whole_layout, column.chunk_bytes, file_of=names.get)

    def read_array(self, *, limit: int = DEFAULT_LIMIT) -> NDArray[Any]:
        """Return the column as a read-only NumPy array."""
        return self.column.array_of(self.read(self.find(ALL), limit=limit))

    def parse_key(self, text: str) -> BloscpackKey:
        return parse_key(text)

    def lookup(self, key: BloscpackKey, recorder: LookupRecorder) -> ObjectRef:
        column = self.column
        about = tuple(Span(name, 0, len(self._texts[name])) for name in (SIZES, STORAGE))
        recorder.record(ColumnRead(column, about), self.format)
        if key.kind is KeyKind.ALL:
            ref = column_ref(column, ALL, -1, "content")
            recorder.record(WholeContent(ref.spans), self.format)
            return ref
        if column.pickled and key.kind is not KeyKind.CHUNK:
            raise KeyAbsent(str(key), "a column of Python objects has only keys of chunks: `0`, `1` … and `all`")
        if key.kind is KeyKind.ELEMENT:
            key = BloscpackKey(KeyKind.BYTE, self._which_byte(key, recorder))
        inside = ColumnKey(KeyKind.CHUNK, 0, chunk=key.number)
        if key.kind is KeyKind.BYTE:
            found = divmod(key.number, column.chunk_bytes) if key.number < column.nbytes else None
            recorder.record(ColumnByte(column, key.number, found, about), self.format)
            if found is None:
                size = plural(column.nbytes, "byte")
                raise KeyAbsent(str(key), f"there is no uncompressed byte {key.number}; the column has {size}")
            inside = ColumnKey(KeyKind.BYTE, found[1], chunk=found[0])
        if inside.chunk not in column.by_number and inside.chunk >= column.chunks:
            count = plural(column.chunks, "chunk")
            recorder.record(NoChunk(column.chunks, about, "column"), self.format)
            raise KeyAbsent(str(key), f"there is no chunk {inside.chunk}; the column has {count}")
        return replace(super().lookup(inside, recorder), key=str(inside.chunk))

    def _which_byte(self, key: BloscpackKey, recorder: LookupRecorder) -> int:
        place = Span(STORAGE, 0, len(self._texts[STORAGE]))
        try:
            found: Element | KeyAbsent = element_at(key.index, self.column.array)
        except KeyAbsent as error:
            found = error
        recorder.record(ElementByte(found, (place,)), self.format)
        if isinstance(found, KeyAbsent):
            raise found
        return found.byte

    def route(self, key: ColumnKey, recorder: LookupRecorder) -> Sequence[str]:
        name = self.column.file_of(key.chunk).name
        places = tuple(Span(text, 0, len(self._texts[text])) for text in (SIZES, STORAGE))
        recorder.record(ColumnFile(key.chunk, name, places), self.format)
        return (name,)

    def _column_of(self, ref: ObjectRef) -> BcolzColumn:
        return self.column

    def _check_columns(self, findings: Findings, depth: Depth) -> None:
        self._check_column(self.column, findings, depth)

    def first_row_of(self, name: str) -> int | None:
        return self._rows.get(name)

    def _is_known(self, name: str) -> bool:
        return name in self.unreadable or self.is_open(name)


MOST_FIELDS = 1000
"""Maximum number of columns whose type and shape are listed in the fields of the table."""


class BloscpackTable(BloscpackDataSet):
    """Table of columns of equal length."""

    def __init__(self, folder: Folder, context: OpenContext) -> None:
        texts = {ROOTDIRS: folder.read(ROOTDIRS, MAX_TEXT)}
        if any(entry.name == ATTRS for entry in folder.list()):
            texts[ATTRS] = folder.read(ATTRS, MAX_TEXT)
        self.names = tuple(read_names(texts[ROOTDIRS]))
        self.columns: dict[str, BcolzColumn] = {}
        self._damaged: dict[str, ShardError] = {}
        for name in self.names:
            try:
                self.columns[name] = read_column(folder, name)
            except ShardError as error:
                if source_lost(error):
                    raise
                self._damaged[name] = error
        super().__init__(folder, list(self.columns.values()), texts, context)
        self._rows = {file.name: self.names.index(n) for n, column in self.columns.items() for file in column.files}
        starts = accumulate((len(column.files) for column in self.columns.values()), initial=0)
        firsts = dict(zip(self.columns, starts, strict=False))
        self._objects = TableObjects(self.names, self.columns, self._damaged, self._file_damage, firsts)

    @property
    def objects(self) -> TableObjects:
        return self._objects

    @property
    def fields(self) -> dict[str, Value]:
        fields = super().fields | {"table.columns": len(self.names)}
        for name in self.names[:MOST_FIELDS]:
            if name in self.columns:
                fields |= column_fields(name, self.columns[name])
        return fields

    def read_array(self, name: str, *, limit: int = DEFAULT_LIMIT) -> NDArray[Any]:
        ref = self.find(name)
        return self._column_of(ref).array_of(self.read(ref, limit=limit))

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
        place = Span(ROOTDIRS, 0, len(self._texts[ROOTDIRS]))
        recorder.record(TableRead(self.names, key, place), self.format)
        if key not in self.names:
            raise KeyAbsent(key, f"there is no column {key!r}; the table has {plural(len(self.names), 'column')}")
        ref = self._objects.ref(self.names.index(key))
        if key in self._damaged:
            raise self._damaged[key]
        column, names = self.columns[key], self.route(key, recorder)
        recorder.record(TableColumn(column, len(names)), self.format)
        return ref

    def route(self, key: str, recorder: LookupRecorder) -> Sequence[str]:
        return [file.name for file in self.columns[key].files]

    def _column_of(self, ref: ObjectRef) -> BcolzColumn:
        name = self.names[ref.row]
        if name in self._damaged:
            raise self._damaged[name]
        return self.columns[name]

    def _check_columns(self, findings: Findings, depth: Depth) -> None:
        place = Span(ROOTDIRS, 0, len(self._texts[ROOTDIRS]))
        for name, error in self._damaged.items():
            findings.error("bloscpack.column", error.span or place, f"{name}: {error.message}", key=name)
        for column in self.columns.values():
            self._check_column(column, findings, depth)
        if len(lengths := {column.array.shape[0] for column in self.columns.values()}) > 1:
            found = ", ".join(map(grouped_digits, sorted(lengths)[:10]))
            message = f"the columns of a table must have the same number of items; these have {found}"
            findings.error("bloscpack.column-length", place, message)

    def _file_damage(self, name: str) -> str:
        row = self.names.index(name)
        errors = (f"{file}: {error}" for file, error in self.unreadable.items() if self._rows[file] == row)
        return next(errors, "")

    def row_of_member(self, name: str) -> int | None:
        return self._rows.get(name)


def detect_folder(folder: Folder) -> Verdict | None:
    """Detect a table by `__rootdirs__`, a column by `data`, `meta/sizes` and `meta/storage`, else `.blp` files."""
    if is_table(folder):
        return Verdict(Certainty.BESIDE, f"bcolz table, {ROOTDIRS}")
    if is_column(folder):
        return Verdict(Certainty.BESIDE, f"bcolz column, {STORAGE}")
    return Verdict(Certainty.BESIDE, "Bloscpack files") if is_files(folder) else None


def open_folder(folder: Folder, context: OpenContext) -> BloscpackDataSet | BloscpackFiles:
    """Open a column, a table or a folder of files; the files are opened when needed."""
    if is_table(folder):
        return BloscpackTable(folder, context)
    if is_column(folder):
        return BloscpackColumn(folder, context)
    files = BloscpackFiles(folder, context)
    if files.members:
        return files
    raise NotAShard(
        f"{folder.uri}: neither a bcolz column (data, {SIZES}, {STORAGE}) nor a table ({ROOTDIRS}), and no .blp file"
    )
