"""Share of a large matrix of tests that runs: a seeded sample of it, or with SHARDSCOPE_FULL=1 all of it.

`make test` samples, `.ci/run` does not. A sample is the same each time, and the edges are always in it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

FULL = os.environ.get("SHARDSCOPE_FULL") == "1"
"""True if the matrices run as a whole. Read here and nowhere else."""


def sampled(items: Sequence[T], at_most: int, *, keep: Iterable[T] = (), full: bool | None = None) -> list[T]:
    """At most `at_most` of the items, in their order: the first, the last and seeded ones (if only one, a seeded one).

    All of them in a full run.

    Args:
        items: The whole matrix.
        at_most: How many run in a quick run, besides those to keep.
        keep: Items that run in any case, where they are among the items.
        full: Overrides the switch.
    """
    if len(items) <= at_most or (FULL if full is None else full):
        return list(items)
    seeded = random.Random(f"{len(items)}/{at_most}")
    edges = {0, len(items) - 1} if at_most > 1 else set()
    chosen = {*edges, *seeded.sample(range(len(items)), at_most - len(edges))}
    kept = set(keep)
    return [item for number, item in enumerate(items) if number in chosen or item in kept]


def rounds(full: int, quick: int) -> int:
    """Return how often something seeded is repeated: `full` times in a full run, else `quick` times."""
    return full if FULL else min(full, quick)
