"""The key in the drawings of a shard: that of a lookup, or of the first object."""

from __future__ import annotations

from collections.abc import Callable

from shardcore.formats.swh.hash_data import Hashed, SwhHashing
from shardcore.formats.swh.objects import key_bytes
from shardcore.shards.cache import Once
from shardcore.shards.trace import Trace


class KeyedScene:
    """The key shown in a drawing of a shard; hashed when first drawn."""

    def __init__(self, hashing: Callable[[], SwhHashing], trace: Trace | None) -> None:
        self._opened = hashing
        self._trace = trace
        self._hashed: Once[Hashed | None] = Once()

    @property
    def hashing(self) -> SwhHashing:
        return self._opened()

    @property
    def displacement(self) -> int | None:
        """Displacement of the key's bucket; None if it has not been read yet."""
        if self._trace is not None:
            values = [step.values["d"] for step in self._trace.steps if "d" in step.values]
            return int(values[-1]) if values else None
        hashed = self._hashed.value
        return hashed.displacement if hashed is not None else None

    @property
    def hashed(self) -> Hashed | None:
        return self._hashed.get(self._hash)

    def _hash(self) -> Hashed | None:
        if self._trace is not None:
            return self.hashing.hashed(key_bytes(self._trace.key))
        key = self.hashing.first_key()
        return None if key is None else self.hashing.hashed(key)
