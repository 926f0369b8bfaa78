"""Lanes of a ruler: stretches that do not overlap share a lane."""

from __future__ import annotations

from collections.abc import Sequence

from shardcore.model.drawing import Item


def lanes_of_items(items: Sequence[Item]) -> list[int]:
    lanes, ends = [0] * len(items), list[float]()
    for n in sorted(range(len(items)), key=lambda number: (items[number].at, -items[number].size)):
        item = items[n]
        if item.size == 0:
            continue
        lane = next((lane for lane, end in enumerate(ends) if end <= item.at), len(ends))
        ends[lane : lane + 1] = [item.at + item.size]
        lanes[n] = lane
    return lanes
