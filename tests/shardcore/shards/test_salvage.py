"""Parts of salvage that all formats share."""

from __future__ import annotations

import random

from shardcore.shards.salvage import Covered


def test_gaps_are_what_no_stretch_covers() -> None:
    """Compared with a bitmap; stretches overlap and come in any order."""
    chance = random.Random(5)
    for _ in range(200):
        covered, bits = Covered(), bytearray(60)
        for _ in range(chance.randrange(12)):
            start = chance.randrange(60)
            stop = chance.randrange(start, min(start + 15, 60) + 1)
            covered.add(start, stop)
            bits[start:stop] = b"\1" * (stop - start)
            low = chance.randrange(60)
            high = chance.randrange(low, 61)
            gaps = list(covered.gaps(low, high))
            found = [at for first, last in gaps for at in range(first, last)]
            assert found == [at for at in range(low, high) if not bits[at]]
            assert all(first < last for first, last in gaps)
