"""As many objects as one likes, computed from their numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardcore import ObjectColumns, ObjectRef, Objects


class ManyObjects(Objects):
    """Keeps no row.

    Args:
        count: How many there are.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        """Sizes that go up and down."""
        size = rows * 7919 % 5003
        return ObjectColumns.of(rows, rows * 5003, rows * 5003 + size, size, state=(rows % 50 == 0) * 4)

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        """The row number as text."""
        return [f"{row:016x}" for row in rows.tolist()]

    def ref(self, row: int) -> ObjectRef:
        """A row as an object, without bytes."""
        return ObjectRef(f"{row:016x}", row, ())
