"""Which files of a shard are drawn together: one, those that share chunks or xorbs with it, and then others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.mdb.sketch_scene import Scene

MOST_FILES = 7
MOST_SEGMENTS = 17
"""Segments that are drawn, of all files together."""

FIRST_SEGMENTS = 12
"""Segments that are drawn of the file in question."""

MOST_XORBS = 6
_TRIED = 64  # files that are looked at for each file drawn
_LARGER = 12  # a file so many times as large leaves no room for the one in question


@dataclass(frozen=True, slots=True)
class Drawn:
    """A file that is drawn, with its first segments.

    Attributes:
        number: Which file.
        segments: The segments drawn, counted over all files.
        count: How many it has.
    """

    number: int
    segments: range
    count: int


def files_around(scene: Scene, number: int) -> list[Drawn]:
    """The files that are drawn with one, in the order of their records.

    Args:
        scene: The shard.
        number: The file in question; there is one.
    """
    bounds, sizes = scene.index.files.bounds, scene.index.file_sizes
    first, last = bounds[number : number + 2].tolist()
    drawn = [Drawn(number, range(first, min(last, first + FIRST_SEGMENTS)), last - first)]
    room, size = MOST_SEGMENTS - len(drawn[0].segments), int(sizes[number])
    known = {number}
    xorbs = _xorbs(scene, drawn[0].segments)
    for other in _others(scene, drawn[0].segments):
        if len(drawn) == MOST_FILES or len(known) > _TRIED * MOST_FILES:
            break
        if other in known:
            continue
        known.add(other)
        first, last = bounds[other : other + 2].tolist()
        fits = last - first <= room and (not size or int(sizes[other]) <= _LARGER * size)
        if fits and len(both := xorbs | _xorbs(scene, range(first, last))) <= MOST_XORBS:
            drawn.append(Drawn(other, range(first, last), last - first))
            room, xorbs = room - (last - first), both
    return sorted(drawn, key=lambda one: one.number)


def _xorbs(scene: Scene, segments: range) -> set[bytes]:
    rows = scene.index.segments[segments.start : segments.stop]
    return {row.tobytes() for row in rows["cas_hash"]}


def _others(scene: Scene, segments: range) -> Iterator[int]:
    """Other files: first those that share chunks with some segments, then xorbs, then the others."""
    near: list[NDArray[np.int64]] = []
    used = sorted(_xorbs(scene, segments))[:MOST_XORBS]
    firsts, lasts = scene.edges
    for number in segments:
        xorb = scene.index.segments[number]["cas_hash"].tobytes()
        if xorb in used:
            near.append(scene.users_of(xorb, int(firsts[number]), int(lasts[number])))
    for found in (*near, *(scene.users(xorb) for xorb in used)):
        yield from np.unique(scene.files_of(found[: _TRIED * MOST_FILES])).tolist()
    yield from range(min(scene.index.counts[0], _TRIED * MOST_FILES))
