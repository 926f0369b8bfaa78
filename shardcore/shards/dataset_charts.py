"""The files of a data set: how large they are, and how many objects each has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Protocol

import numpy as np

from shardcore.model.byte_shares import Share, Use
from shardcore.model.number_words import plural
from shardcore.model.occupancy import Load, LoadSource
from shardcore.model.span import Span
from shardcore.progress import Progress

UNKNOWN = 1 << 62
"""Stands for the bytes that would be read where nobody knows which files there are."""

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


def summed_shares(found: Iterable[Sequence[Share]]) -> tuple[Share, ...]:
    """The shares of several files as one budget: what has the same use and name is added up.

    Args:
        found: The shares of each file.
    """
    sums: dict[tuple[Use, str], Share] = {}
    for share in chain.from_iterable(found):
        before = sums.setdefault((share.use, share.name), replace(share, size=0, span=None, stretches=0))
        sums[share.use, share.name] = replace(
            before, size=before.size + share.size, stretches=before.stretches + share.stretches
        )
    return tuple(sums.values())


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


class Files(Protocol):
    """What a data set knows of its files."""

    joins: bool

    @property
    def members(self) -> Sequence[Sized]:
        """The files."""

    @property
    def listed(self) -> bool:
        """Whether it is known which there are."""

    @property
    def loaded(self) -> bool:
        """Whether their objects are joined."""

    @property
    def index_bytes(self) -> int:
        """Bytes that joining them reads at most."""

    def load_index(self, progress: Progress = ...) -> None:
        """Joins the objects."""

    def objects_in(self, name: str) -> int | None:
        """How many objects a file has."""


class CountedFiles:
    """What the charts of a data set count: its files."""

    no_loads: str = "Each object of this data set takes several files, so none of these is fuller than another."

    @property
    def byte_shares(self: Files) -> tuple[Share, ...]:
        """The files of the data set, the largest each for itself."""
        return file_shares(self.members) if self.listed else ()

    @property
    def loads(self: Files) -> tuple[LoadSource, ...]:
        """Objects in each file, where the data set has objects of its own."""
        if not self.joins:
            return ()
        reads = 0 if self.loaded else self.index_bytes if self.listed else UNKNOWN
        return (LoadSource("files", "Objects in the files", reads, partial(_load, self)),)


def _load(files: Files, progress: Progress) -> Load:
    files.load_index(progress)
    names = [member.name for member in files.members]
    return files_load(names, [files.objects_in(name) or 0 for name in names])
