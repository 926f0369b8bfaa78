"""The key in the drawings of a Read Shard, and in a small shard all other keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.formats.swh import chd
from shardcore.formats.swh.file import SwhFile, key_bytes
from shardcore.formats.swh.lookup import KeyPlaced, place_key
from shardcore.model.objects import State
from shardcore.shards.trace import Trace

I64 = NDArray[np.int64]

HASHED_KEYS = 5000
"""Maximum number of objects in a shard whose keys are all hashed, to draw the keys of a bucket."""

_FEW_SLOTS, _SOUGHT = 64, 4096
"""Number of slots searched for a first key: at first, and then if none of them has a key."""


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


class KeyScene:
    """The drawn key: the requested key of a lookup, or the key of the first object. It is read at the first drawing."""

    def __init__(self, open_file: Callable[[], SwhFile], trace: Trace | None) -> None:
        self._open_file = open_file
        self._trace = trace

    @property
    def file(self) -> SwhFile:
        return self._open_file()

    @property
    def few(self) -> bool:
        """True if all keys may be hashed."""
        layout = self.file.layout
        return layout.declared <= HASHED_KEYS and layout.slots <= 2 * HASHED_KEYS

    @property
    def displacement(self) -> int | None:
        """Displacement of the key's bucket; None if it has not been read yet."""
        placed = self.__dict__.get("placed") or self._looked_up()
        return placed.displacement if placed is not None else None

    @cached_property
    def placed(self) -> KeyPlaced | None:
        """The key with its slot; None for a shard without objects."""
        if (placed := self._looked_up()) is not None:
            return placed
        key = self._first_key() if self._trace is None else key_bytes(self._trace.key)
        file = self.file
        return None if key is None else place_key(file.hash_reader(file.source), file.hashing(), key)

    @cached_property
    def all_keys(self) -> AllKeys | None:
        if not self.few:
            return None
        file, hashing = self.file, self.file.hashing()
        rows = file.slots(0, file.layout.slots)
        slots = np.flatnonzero(file.layout.states(rows["offset"]) == State.LIVE).astype(np.int64)
        keys = np.ascontiguousarray(rows["key"][slots]).view(np.uint8).reshape(-1, chd.KEY_SIZE)
        buckets, firsts, steps = chd.place(*chd.jenkins(keys, hashing.seed), hashing.buckets, hashing.slots)
        holder = np.full(file.layout.slots, -1, np.int64)
        holder[slots] = np.arange(len(slots))
        return AllKeys(slots, keys, buckets, firsts, steps, holder)

    @property
    def displacements(self) -> chd.U32 | None:
        """Displacements of all buckets; None if the shard has too many keys or the hash function is damaged."""
        try:
            return self.file.function()[1].displacements if self.few else None
        except FormatError:
            return None

    def _looked_up(self) -> KeyPlaced | None:
        steps = self._trace.steps if self._trace is not None else ()
        return next((fact for _, fact in (step.fact for step in reversed(steps)) if isinstance(fact, KeyPlaced)), None)

    def _first_key(self) -> bytes | None:
        """Return the key of the first object written, or of the first live slot before the index is loaded, or None."""
        file = self.file
        if (order := file.order) is not None:
            slot = int(order.slots[0]) if len(order) else 0
            return bytes(file.slots(slot, slot + 1)["key"][0].tobytes()) if len(order) else None
        for first, last in ((0, _FEW_SLOTS), (_FEW_SLOTS, _SOUGHT)):
            rows = file.slots(first, max(min(file.layout.slots, last), first))
            if live := file.live_keys(first, rows):
                return live[0][1]
        return None
