"""The files of a data set: how large they are, and how many objects each has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from shardcore.charting.budget import Share, Use
from shardcore.charting.load import Load
from shardcore.span import Span
from shardcore.words import plural

MOST_FILES = 40
"""Files that have a share of their own: the largest."""


class Sized(Protocol):
    """A file of a data set."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def size(self) -> int:
        """Bytes."""


def file_shares(files: Sequence[Sized]) -> tuple[Share, ...]:
    """The shares of the files in their data set, largest first."""
    ordered = sorted((file for file in files if file.size > 0), key=lambda file: (-file.size, file.name))
    shares = [Share(Use.PAYLOAD, file.name, file.size, Span(file.name, 0, file.size)) for file in ordered[:MOST_FILES]]
    if rest := ordered[MOST_FILES:]:
        name = plural(len(rest), "smaller file")
        shares.append(Share(Use.PAYLOAD, name, sum(file.size for file in rest), None, len(rest)))
    return tuple(shares)


def files_load(names: Sequence[str], counts: Sequence[int]) -> Load:
    """How many objects each file has.

    Args:
        names: The files, in the order of their objects' rows.
        counts: Objects of each.
    """
    numbers = np.array(counts, np.int64)
    return Load(
        "Objects in the files",
        "file",
        "object",
        numbers,
        "Files that are about equally full are fetched and rewritten in about the same time.",
        float(numbers.mean()) if len(numbers) else None,
        row_bounds=np.concatenate([[0], np.cumsum(numbers)]).astype(np.int64),
        names=tuple(names),
    )
