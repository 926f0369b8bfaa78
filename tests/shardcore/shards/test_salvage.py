"""Parts of salvage that all formats share."""

from __future__ import annotations

import random

from shardcore.shards.salvage import Covered


def test_gaps_are_what_no_stretch_covers() -> None:
    """Stretches in any order, over each other and empty, asked between additions, against a bitmap."""
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
            assert [at for first, last in gaps for at in range(first, last)] == [
                at for at in range(low, high) if not bits[at]
            ]
            assert all(first < last for first, last in gaps)


def test_gaps_of_a_place_look_at_no_other_stretches() -> None:
    """A question costs what it answers: files with hundreds of thousands of objects are asked about each of them."""
    covered = Covered()
    for number in range(0, 1000, 2):
        covered.add(number, number + 1)
    assert list(covered.gaps(500, 502)) == [(501, 502)]
    looked: list[int] = []

    class Counted(list[int]):
        """A list that counts what is read of it."""

        def __getitem__(self, place):  # type: ignore[no-untyped-def]
            looked.append(place)
            return super().__getitem__(place)

    covered._starts = Counted(covered._starts)
    assert list(covered.gaps(500, 502)) == [(501, 502)]
    assert len(looked) <= 2
