"""The three columns of a minishard index as nodes: every number, and the key, place or size that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shardcore.formats.neuroglancer.layout import MINISHARD_INDEX
from shardcore.formats.neuroglancer.minishard import Entries, entries_of
from shardcore.formats.neuroglancer.regions import WORD
from shardcore.model.children import grouped
from shardcore.model.node import Children, Node
from shardcore.model.number_words import plural
from shardcore.model.record import FieldRole
from shardcore.model.runs import Runs
from shardcore.model.span import Span
from shardcore.shards.cache import Once


class ColumnCells(Children):
    """The numbers of one column of a minishard index.

    Args:
        start: First byte of the column.
        role: What the numbers are for.
        values: Gives the stored numbers `[first, last)` and their texts.
        rows: How many.
        source: Where they lie.
        doc: One sentence for each of them.
        first_row: The row of the object that the first number belongs to, if that is known.
    """

    def __init__(
        self,
        start: int,
        role: FieldRole,
        values: Callable[[int, int], tuple[Sequence[int], Sequence[str]]],
        rows: int,
        source: str,
        doc: str,
        first_row: int | None = None,
    ) -> None:
        self.start = start
        self.role = role
        self.values = values
        self.rows = rows
        self.source = source
        self.doc = doc
        self.first_row = first_row

    def __len__(self) -> int:
        return self.rows

    def make(self, start: int, stop: int) -> list[Node]:
        """See `Children.make`."""
        stored, texts = self.values(start, stop)
        return [
            Node(
                f"[{number}]",
                Span(self.source, self.start + WORD * number, self.start + WORD * (number + 1)),
                value=stored[number - start],
                text=texts[number - start],
                role=self.role,
                doc=self.doc,
                row=None if self.first_row is None else self.first_row + number,
            )
            for number in range(start, stop)
        ]

    def overlap(self, start: int, stop: int) -> range:
        """See `Children.overlap`."""
        first, last = max(start - self.start, 0) // WORD, -(-max(stop - self.start, 0) // WORD)
        return range(min(first, self.rows), min(last, self.rows))

    def runs(self, start: int, stop: int) -> Runs | None:
        """One run for each number."""
        inside = self.overlap(start, stop)
        numbers = np.arange(inside.start, inside.stop, dtype=np.int64)
        at = self.start + WORD * numbers
        return Runs.of(at, at + WORD, self.role, numbers & 1).clip(start, stop)


def column_nodes(
    read: Callable[[], bytes], source: str, start: int, count: int, base: int, first_row: int | None
) -> tuple[Node, ...]:
    """The three columns of a decoded minishard index; the numbers are shown summed up, as a reader uses them.

    Args:
        read: Gives the decoded index.
        source: Which source its bytes lie in.
        start: Where in that source.
        count: Number of keys.
        base: Bytes of the shard index.
        first_row: The row of the first key's value, if that is known.
    """
    # Summed up once for all groups of a thousand, each of which asks for its first and its last number.
    summed: Once[Entries] = Once()

    def texts(column: str, first: int, last: int) -> tuple[list[int], list[str]]:
        data = read()
        entries = summed.get(lambda: entries_of([data], [0], base, 0))
        stored: list[int] = MINISHARD_INDEX.read(data, count)[column][first:last].tolist()
        shown = {"chunk_ids": ("key", entries.ids), "offsets": ("at", entries.starts), "sizes": ("", entries.sizes)}
        word, numbers = shown[column]
        return stored, [f"{word} {number}".strip() for number in numbers[first:last].tolist()]

    nodes = []
    for field, at in zip(MINISHARD_INDEX.fields, MINISHARD_INDEX.starts(count).values(), strict=True):
        span = Span(source, start + at, start + at + WORD * count)

        def values(first: int, last: int, column: str = field.name) -> tuple[list[int], list[str]]:
            return texts(column, first, last)

        cells = ColumnCells(start + at, field.role, values, count, source, field.doc, first_row)
        text = plural(count, "number")
        nodes.append(
            Node(
                field.name,
                span,
                text=text,
                role=field.role,
                doc=field.doc,
                children=grouped(cells),
                spec=MINISHARD_INDEX.source,
                differs=field.differs,
            )
        )
    return tuple(nodes)
