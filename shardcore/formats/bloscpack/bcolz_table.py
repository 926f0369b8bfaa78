"""A bcolz table as a data set: its objects are its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from numpy.typing import NDArray

from shardcore.errors import KeyAbsent, ShardError, source_lost
from shardcore.formats.bloscpack.bcolz import (
    ATTRS,
    MAX_TEXT,
    ROOTDIRS,
    BcolzColumn,
    read_column,
    read_names,
)
from shardcore.formats.bloscpack.bcolz_dataset import BloscpackDataSet, column_fields
from shardcore.formats.bloscpack.bcolz_objects import TableObjects
from shardcore.model.finding import Depth, Findings
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.objects import ObjectRef
from shardcore.model.record import Value
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import DEFAULT_LIMIT
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import Folder

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
        recorder.step(
            "Column names",
            f"The table has {plural(len(self.names), 'column')}; "
            f"{key!r} is {'one' if key in self.names else 'not one'} of them.",
            Span(ROOTDIRS, 0, len(self._texts[ROOTDIRS])),
            why="One small file lists the columns in their order, which the folders alone do not have.",
            columns=list(self.names[:100]),
        )
        if key not in self.names:
            raise KeyAbsent(key, f"there is no column {key!r}; the table has {plural(len(self.names), 'column')}")
        ref = self._objects.ref(self.names.index(key))
        if key in self._damaged:
            raise self._damaged[key]
        column, names = self.columns[key], self.route(key, recorder)
        recorder.step(
            "The column",
            f"An array of {column.array.dtype} with the shape {list(column.array.shape)}: "
            f"{plural(column.nbytes, 'uncompressed byte')} in {plural(len(names), 'file')}.",
            *(Span(str(SourceName(name)), 0, len(text)) for name, text in column.texts.items()),
            why="Each column is compressed separately, so it can be read without the others.",
            nbytes=column.nbytes,
            chunklen=column.chunklen,
        )
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
