"""Request for an extraction, and the objects that it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shardcore import ObjectRef, Shard
from shardcore.operations.extraction import ExtractOptions
from shardcore.operations.extraction.default_objects import outer_kinds, rows_in_file_order
from shardcore.progress import Progress
from shardscope.session.open_request import OpenRequest
from shardscope.session.row_ranges import RowRanges

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """Objects to extract, target folder and options.

    Attributes:
        shard: What is open.
        request: How it was opened.
        rows: Which of its objects; None for everything, as the command line takes it.
        where: The folder.
        options: How. `deleted` has tombstoned objects read through a second opening.
        afresh: Whether everything is read through a second opening, because the server of the first was lost.
    """

    shard: Shard
    request: OpenRequest
    rows: RowRanges | None
    where: Path
    options: ExtractOptions = field(default_factory=ExtractOptions)
    afresh: bool = False

    @property
    def view(self) -> ObjectRef | None:
        """The whole content, where everything is wanted and the format has a view of it; reads."""
        return self.shard.find(self.shard.views[0]) if self.rows is None and self.shard.views else None

    @property
    def kinds(self) -> tuple[int, ...] | None:
        """The kinds of objects that are taken; None for all, where rows were chosen."""
        return outer_kinds(self.shard.objects) if self.rows is None else None

    def pieces(self, progress: Progress) -> Iterator[Rows]:
        """The rows that were asked for, in pieces, whatever became of their objects.

        Raises:
            ShardError: The index cannot be read.
        """
        if self.rows is not None:
            yield from self.rows.pieces()
            return
        self.shard.load_index(progress)
        yield from rows_in_file_order(self.shard.objects)
