"""Sampling of large test matrices; with `SHARDSCOPE_FULL=1` all cases are tested.

`make test` and `.ci/run` test samples, `make full` all. Samples are deterministic and contain the first and last items.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

FULL = os.environ.get("SHARDSCOPE_FULL") == "1"
"""True if matrices run completely. The environment is read only here."""


def sampled(items: Sequence[T], at_most: int, *, keep: Iterable[T] = (), full: bool | None = None) -> list[T]:
    """Return at most `at_most` items in order: the first, the last and random ones. All of them in a full run.

    Args:
        items: The whole matrix.
        at_most: Number of items in a quick run, in addition to `keep`.
        keep: Items that are always included.
        full: Overrides `FULL`.
    """
    if len(items) <= at_most or (FULL if full is None else full):
        return list(items)
    seeded = random.Random(f"{len(items)}/{at_most}")
    edges = {0, len(items) - 1} if at_most > 1 else set()
    chosen = {*edges, *seeded.sample(range(len(items)), at_most - len(edges))}
    kept = set(keep)
    return [item for number, item in enumerate(items) if number in chosen or item in kept]


def rounds(full: int, quick: int) -> int:
    """Return `full` in a full run, else `quick`."""
    return full if FULL else min(full, quick)
