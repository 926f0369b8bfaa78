"""Objects of bcolz folders: the chunks of a column, the columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, NotAShard, ShardError
from shardcore.formats.bloscpack.bcolz import BcolzColumn
from shardcore.formats.bloscpack.objects import UNREAD, BloscpackObjects
from shardcore.model.objects import MEMBER_ROW, ObjectColumns, ObjectRef, Objects, State, located
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.shards.shard import Shard

I64 = NDArray[np.int64]


class BcolzChunks(Objects):
    """One row per file of a column."""

    kinds = ("chunk",)
    codecs = BloscpackObjects.codecs

    def __init__(
        self,
        column: BcolzColumn,
        member: Callable[[str], Shard],
        borrowed: Callable[[str], AbstractContextManager[Shard]],
        is_known: Callable[[str], bool],
    ) -> None:
        self._column = column
        self._files = column.files
        self._member = member
        self._borrowed = borrowed
        self._is_known = is_known

    def __len__(self) -> int:
        return len(self._files)

    @property
    def shards(self) -> Sequence[str]:
        return [file.name for file in self._files]

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        if not len(rows):
            return ObjectColumns.of([], [], [], [])
        table = np.array([self._numbers(row, sizes) for row in rows.tolist()], np.int64)
        start, stop, size, stored, codec, state = table.T
        return ObjectColumns.of(
            rows, start, stop, size, stored_size=stored, codec=codec, state=state, shard=rows.astype(np.int32)
        )

    def key_texts(self, rows: I64) -> list[str | None]:
        return [str(self._files[row].number) for row in rows.tolist()]

    def ref(self, row: int) -> ObjectRef:
        if not 0 <= row < len(self):
            raise IndexError(row)
        name = self._files[row].name
        return self._ref(row, lambda: self._member(name).objects.ref(0))

    def _briefly(self, row: int) -> ObjectRef:
        def first() -> ObjectRef:
            with self._borrowed(self._files[row].name) as member:
                return member.objects.ref(0)

        return self._ref(row, first)

    def _ref(self, row: int, first: Callable[[], ObjectRef]) -> ObjectRef:
        file = self._files[row]
        try:
            ref = located(first(), file.name, row)
        except (FormatError, NotAShard) as error:
            return replace(chunk_of(file.name, row), key=str(file.number), state=State.DAMAGED, error=str(error))
        return replace(ref, key=str(file.number))

    def _numbers(self, row: int, sizes: bool) -> tuple[int, int, int, int, int, int]:
        """Return start, stop, size, stored size, codec and state of a chunk; -1 if unknown."""
        file = self._files[row]
        if not sizes and not self._is_known(file.name):
            # The last chunk may be short.
            size = self._column.chunk_bytes or -1 if file.number < self._column.chunks - 1 else -1
            return -1, -1, size, -1, 0, State.LIVE
        ref = self._briefly(row)
        start, stop = (ref.spans[0].start, ref.spans[0].stop) if ref.spans else (-1, -1)
        return start, stop, ref.size, ref.stored_size, self.codecs.index(ref.codec), ref.state


class TableObjects(Objects):
    """One row per column of a table."""

    kinds = ("column",)
    codecs = ("blosc",)

    def __init__(
        self,
        names: Sequence[str],
        columns: Mapping[str, BcolzColumn],
        damage: Mapping[str, ShardError],
        unreadable: Callable[[str], str],
        first_members: Mapping[str, int],
    ) -> None:
        self._names = tuple(names)
        self._columns = columns
        self._damage = damage
        self._unreadable = unreadable
        self._first_members = first_members

    def __len__(self) -> int:
        return len(self._names)

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        refs = [self.ref(row) for row in rows.tolist()]
        return ObjectColumns.of(
            rows,
            -1,
            -1,
            [ref.size for ref in refs],
            stored_size=[ref.stored_size for ref in refs],
            state=[ref.state for ref in refs],
            shard=[self._first_members.get(self._names[row], 0) for row in rows.tolist()],
        )

    def key_texts(self, rows: I64) -> list[str | None]:
        return [self._names[row] for row in rows.tolist()]

    def ref(self, row: int) -> ObjectRef:
        if not 0 <= row < len(self):
            raise IndexError(row)
        name = self._names[row]
        if name in self._damage:
            error = str(self._damage[name])
            return ObjectRef(name, row, (), codec="blosc", state=State.DAMAGED, kind="column", error=error)
        ref = column_ref(self._columns[name], name, row, "column")
        error = self._unreadable(name)
        return replace(ref, state=State.DAMAGED, error=error) if error else ref


def column_ref(column: BcolzColumn, key: str, row: int, kind: str) -> ObjectRef:
    files = [file for file in column.files if file.number < column.chunks]
    return ObjectRef(
        key,
        row,
        tuple(Span(str(SourceName(file.name)), 0, file.size) for file in files),
        size=column.nbytes,
        stored_size=sum(file.size for file in files),
        codec="blosc",
        kind=kind,
        extras={"dtype": str(column.array.dtype), "shape": list(column.array.shape), "chunklen": column.chunklen},
    )


def chunk_of(name: str, row: int) -> ObjectRef:
    return ObjectRef("0", row, (), codec=UNREAD, kind="chunk", shard=name, extras={MEMBER_ROW: 0})
