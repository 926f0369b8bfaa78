"""Request for an extraction, and its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shardcore import ObjectColumns, ObjectRef, Shard
from shardcore.model.objects import in_states
from shardcore.operations.extraction import ExtractOptions
from shardcore.operations.extraction.selection import outer_kinds, rows_in_file_order
from shardcore.progress import Progress
from shardscope.session.open_request import OpenRequest
from shardscope.session.row_ranges import RowRanges

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ExtractionPreview:
    """Preview of an extraction; sizes in bytes.

    Attributes:
        unknown: Objects whose size is unknown before reading.
        deleted: Tombstoned objects among the rows, which are only read on request.
        rows: Rows to write, in pieces; None for the complete content, or if there are more than `MOST_KEPT`.
    """

    objects: int = 0
    size: int = 0
    unknown: int = 0
    unused: int = 0
    deleted: int = 0
    parts: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    joined: bool = False
    rows: tuple[Rows, ...] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """Objects to extract, target folder and options.

    Attributes:
        rows: Rows to extract; None for everything, as on the command line.
        afresh: Whether to open the shard again for reading, because the connection was lost.
    """

    shard: Shard
    request: OpenRequest
    rows: RowRanges | None
    where: Path
    options: ExtractOptions = field(default_factory=ExtractOptions)
    afresh: bool = False
    counted: ExtractionPreview | None = field(default=None, compare=False, repr=False)

    @property
    def view(self) -> ObjectRef | None:
        """Object for the complete content, if all rows are extracted and the format has such a view; reads the file."""
        return self.shard.find(self.shard.views[0]) if self.rows is None and self.shard.views else None

    @property
    def kinds(self) -> tuple[int, ...] | None:
        return outer_kinds(self.shard.objects) if self.rows is None else None

    def takes(self, columns: ObjectColumns) -> NDArray[np.bool_]:
        keep = in_states(columns.state, self.options.states)
        return keep if self.kinds is None else keep & np.isin(columns.kind, self.kinds)

    def taken(self, progress: Progress) -> Iterator[Rows]:
        if self.counted is not None and self.counted.rows is not None:
            return iter(self.counted.rows)
        return (rows[self.takes(self.shard.objects.columns(rows))] for rows in self.pieces(progress))

    def pieces(self, progress: Progress) -> Iterator[Rows]:
        """Yield the requested rows in pieces, whatever their state; loads the index if all rows are requested."""
        if self.rows is not None:
            yield from self.rows.pieces()
            return
        self.shard.load_index(progress)
        yield from rows_in_file_order(self.shard.objects)
