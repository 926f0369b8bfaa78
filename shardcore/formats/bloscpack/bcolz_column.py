"""A bcolz column as a data set: one array in many files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from shardcore.errors import KeyAbsent
from shardcore.formats.bloscpack.bcolz import (
    SIZES,
    STORAGE,
    BcolzColumn,
    read_column,
)
from shardcore.formats.bloscpack.bcolz_dataset import BloscpackDataSet, column_fields
from shardcore.formats.bloscpack.bcolz_objects import BcolzChunks, column_ref
from shardcore.formats.bloscpack.elements import element_at, report_none
from shardcore.formats.bloscpack.keys import ALL, BloscpackKey, KeyKind, parse_key
from shardcore.formats.bloscpack.lookup import ALL_WHY, COUNT_WHY, PAST_WHY, WHICH_WHY
from shardcore.model.array_layout import ArrayLayout
from shardcore.model.finding import Depth, Findings
from shardcore.model.keys import NUMBERS
from shardcore.model.number_text import plural
from shardcore.model.objects import ObjectRef
from shardcore.model.record import Value
from shardcore.model.span import Span
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
        sizes: dict[str, Any] = {} if column.pickled else {"chunk_bytes": column.chunk_bytes}
        recorder.step(
            "The column",
            f"An array of {column.array.dtype} with the shape {list(column.array.shape)}: "
            f"{plural(column.nbytes, 'uncompressed byte')}, in chunks of {plural(column.chunklen, 'item')}"
            + (" of any size." if column.pickled else f", {plural(column.chunk_bytes, 'byte')} each."),
            *about,
            why="Shape and chunk length are in two small files, so an item is located without opening a chunk.",
            nbytes=column.nbytes,
            chunklen=column.chunklen,
            **sizes,
        )
        if key.kind is KeyKind.ALL:
            ref = column_ref(column, ALL, -1, "content")
            text = "The chunks in order, cut at the end of the column."
            recorder.step("All chunks", text, *ref.spans[:100], why=ALL_WHY)
            return ref
        if column.pickled and key.kind is not KeyKind.CHUNK:
            raise KeyAbsent(str(key), "a column of Python objects has only keys of chunks: `0`, `1` … and `all`")
        if key.kind is KeyKind.ELEMENT:
            key = BloscpackKey(KeyKind.BYTE, self._which_byte(key, recorder))
        inside = ColumnKey(KeyKind.CHUNK, 0, chunk=key.number)
        if key.kind is KeyKind.BYTE:
            number, within = divmod(key.number, column.chunk_bytes)
            if key.number >= column.nbytes:
                size = plural(column.nbytes, "byte")
                text = f"Not found: the column has {size}."
                recorder.step("Which chunk", text, why=PAST_WHY, inputs=about, nbytes=column.nbytes)
                raise KeyAbsent(str(key), f"there is no uncompressed byte {key.number}; the column has {size}")
            text = (
                f"Uncompressed byte {key.number} is byte {within} of chunk {number}: "
                f"{key.number} // {column.chunk_bytes} = {number}, {key.number} mod {column.chunk_bytes} = {within}."
            )
            recorder.step("Which chunk", text, why=WHICH_WHY, inputs=about, chunk=number, within=within)
            inside = ColumnKey(KeyKind.BYTE, within, chunk=number)
        if inside.chunk not in column.by_number and inside.chunk >= column.chunks:
            count = plural(column.chunks, "chunk")
            text = f"The column has {count}, numbered from 0."
            recorder.step("No such chunk", text, why=COUNT_WHY, inputs=about, chunks=column.chunks)
            raise KeyAbsent(str(key), f"there is no chunk {inside.chunk}; the column has {count}")
        return replace(super().lookup(inside, recorder), key=str(inside.chunk))

    def _which_byte(self, key: BloscpackKey, recorder: LookupRecorder) -> int:
        place = Span(STORAGE, 0, len(self._texts[STORAGE]))
        try:
            element = element_at(key.index, self.column.array)
        except KeyAbsent as error:
            report_none(error, recorder, place)
            raise
        element.report(recorder, place)
        return element.byte

    def route(self, key: ColumnKey, recorder: LookupRecorder) -> Sequence[str]:
        name = self.column.file_of(key.chunk).name
        recorder.step(
            "Which file",
            f"Each file of a column has one chunk and its number: chunk {key.chunk} is in {name}.",
            why="One file per chunk: a column grows by new files, and existing files are not changed.",
            inputs=tuple(Span(name, 0, len(self._texts[name])) for name in (SIZES, STORAGE)),
            file=name,
        )
        return (name,)

    def _column_of(self, ref: ObjectRef) -> BcolzColumn:
        return self.column

    def _check_columns(self, findings: Findings, depth: Depth) -> None:
        self._check_column(self.column, findings, depth)

    def first_row_of(self, name: str) -> int | None:
        return self._rows.get(name)

    def _is_known(self, name: str) -> bool:
        return name in self.unreadable or self.is_open(name)
