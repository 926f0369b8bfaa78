"""What is going to be written, in the words of reading."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.neuroglancer.arrangement import ArrangedShard, Columns
from shardcore.formats.neuroglancer.file import CODECS
from shardcore.formats.neuroglancer.info import KeySpace, SpaceKind
from shardcore.formats.neuroglancer.levels import KEPT_WHOLE, IndexLevels
from shardcore.formats.neuroglancer.objects import FRAGMENTS, meaning_of
from shardcore.formats.neuroglancer.regions import sections_of
from shardcore.model.objects import ColumnObjects, ObjectColumns, ObjectRef
from shardcore.model.section import Section, tile
from shardcore.model.span import Span
from shardcore.sources.memory import BytesSource
from shardcore.writing.plan import PlannedFile


def planned_file(name: str, shard: ArrangedShard, columns: Columns, space: KeySpace) -> PlannedFile:
    """One shard.

    Args:
        name: What it is called.
        shard: What goes where in it.
        columns: All values.
        space: The key space, as the written info states it.
    """
    return PlannedFile(name, shard.size, _sections(shard), _PlannedObjects(shard, columns.take(shard.rows), space))


def _sections(shard: ArrangedShard) -> tuple[Section, ...]:
    # Of a shard index that is larger, reading keeps nothing, and so knows less of the sections.
    head = shard.head() if shard.spec.index_size <= KEPT_WHOLE else b""
    levels = IndexLevels(BytesSource(b""), shard.spec, head)
    return tile(sections_of(levels, shard.size), shard.size)[0]


class _PlannedObjects(ColumnObjects):
    """The values of a shard in the order of adding."""

    codecs = CODECS

    def __init__(self, shard: ArrangedShard, columns: Columns, space: KeySpace) -> None:
        gzip = space.spec.data_encoding == "gzip"
        self._space = space
        self.kinds = (space.kind.object_kind,)
        # The rows of reading are by minishard, those of a plan in the order of adding.
        self._places = np.argsort(shard.rows, kind="stable").astype(np.int64)
        at = self._places
        self._keys_in_order, self._before = columns.keys[at], columns.before[at]
        minishards, slots = shard.slots()
        self._minishards, self._slots = minishards[at], slots[at]
        starts, stored = shard.starts[at], columns.sizes[at]
        made = ObjectColumns.of(
            np.arange(len(at)),
            starts,
            starts + stored,
            -1 if gzip else stored,
            stored_size=stored,
            codec=int(gzip),
        )
        super().__init__(made, self._texts, self._made)

    def _texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        return list(map(str, self._keys_in_order[rows].tolist()))

    def _made(self, row: int) -> ObjectRef:
        one = self._columns.take([row])
        key, start, stop = int(self._keys_in_order[row]), int(one.start[0]), int(one.stop[0])
        mesh = self._space.kind is SpaceKind.MESH
        spans: tuple[Span, ...] = (Span("", start, stop),)
        if mesh:
            spans += (Span("", start - int(self._before[row]), start),)
        place = {"minishard": int(self._minishards[row]), "slot": int(self._slots[row])}
        return ObjectRef(
            str(key),
            int(self._places[row]),
            spans,
            size=int(one.size[0]),
            stored_size=stop - start,
            codec=CODECS[int(one.codec[0])],
            kind=self.kinds[0],
            parts=(FRAGMENTS,) if mesh else (),
            extras=place | meaning_of(self._space, key),
        )
