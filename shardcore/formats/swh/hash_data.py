"""Data of the hash drawings: a hashed key, the displacement of its bucket, and the other keys of the bucket."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.formats.swh import chd
from shardcore.formats.swh.displacement import DisplacementLocation, displacement_location, single_displacement
from shardcore.formats.swh.file import SwhFile
from shardcore.formats.swh.slots import read_slots
from shardcore.model.objects import State
from shardcore.model.span import Span
from shardcore.shards.cache import Once

I64 = NDArray[np.int64]

HASHED_KEYS = 5000
"""Maximum number of objects in a shard whose keys are all hashed, to draw the keys of a bucket."""

_MOST_SLOTS = 2 * HASHED_KEYS
_FEW_SLOTS, _SOUGHT = 64, 4096
"""Number of slots searched for a first key: at first, and then if none of them has a key."""


@dataclass(frozen=True, slots=True)
class Hashed:
    key: bytes
    rounds: tuple[chd.Round, chd.Round, chd.Round]
    bucket: int
    first: int
    step: int
    place: DisplacementLocation
    displacement: int
    stored: Span


@dataclass(frozen=True, slots=True, eq=False)
class AllKeys:
    """All keys of a small shard with their hashes, one row per live slot; `holder` has the row of each slot, or -1."""

    slots: I64
    keys: NDArray[np.uint8]
    buckets: I64
    firsts: I64
    steps: I64
    holder: I64

    def of_bucket(self, bucket: int) -> list[int]:
        found: list[int] = np.flatnonzero(self.buckets == bucket).tolist()
        return found


class SwhHashing:
    def __init__(self, file: SwhFile) -> None:
        self.file = file
        self._all: Once[AllKeys] = Once()

    @property
    def few(self) -> bool:
        geometry = self.file.geometry
        return geometry.declared <= HASHED_KEYS and geometry.slots <= _MOST_SLOTS

    def hashed(self, key: bytes) -> Hashed:
        file = self.file
        parts = file.hash_parts()
        rounds = chd.jenkins_rounds(key, parts.seed)
        bucket, first, step = chd.place_one(rounds[-1].mixed, parts.buckets, parts.slots)
        source = file.hash_source(file.source)
        place = displacement_location(source, parts, bucket)
        displacement, span = single_displacement(source, parts, place)
        return Hashed(key, rounds, bucket, first, step, place, displacement, span)

    def all_keys(self) -> AllKeys | None:
        return self._all.get(self._hash_all) if self.few else None

    def displacements(self) -> chd.U32 | None:
        if not self.few:
            return None
        try:
            return self.file.function().decoded.displacements
        except FormatError:
            return None

    def first_key(self) -> bytes | None:
        """Return the key of the first object written, or of the first live slot before the index is loaded, or None."""
        file = self.file
        if (order := file.order) is not None:
            if not len(order):
                return None
            slot = int(order.slots[0])
            return bytes(read_slots(file.source, file.geometry, slot, slot + 1)["key"][0].tobytes())
        for first, last in ((0, _FEW_SLOTS), (_FEW_SLOTS, _SOUGHT)):
            rows = read_slots(file.source, file.geometry, first, max(min(file.geometry.slots, last), first))
            live = np.flatnonzero(file.geometry.states(rows["offset"]) == State.LIVE)
            if len(live):
                return bytes(rows["key"][live[0]].tobytes())
        return None

    def _hash_all(self) -> AllKeys:
        file, geometry = self.file, self.file.geometry
        parts = file.hash_parts()
        rows = read_slots(file.source, geometry, 0, geometry.slots)
        slots = np.flatnonzero(geometry.states(rows["offset"]) == State.LIVE).astype(np.int64)
        keys = np.ascontiguousarray(rows["key"][slots]).view(np.uint8).reshape(-1, chd.KEY_SIZE)
        hashed = chd.jenkins(keys, parts.seed)
        buckets, firsts, steps = chd.place(*hashed, parts.buckets, parts.slots)
        holder = np.full(geometry.slots, -1, np.int64)
        holder[slots] = np.arange(len(slots))
        return AllKeys(slots, keys, buckets, firsts, steps, holder)
