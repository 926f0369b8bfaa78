"""The sketch `displacement`: finding the displacement of one bucket among packed bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardcore.errors import FormatError
from shardcore.formats.swh import chd_code
from shardcore.formats.swh.displacement_figures import (
    Value,
    links_between,
    place_figures,
    split_figure,
    store_figure,
)
from shardcore.formats.swh.hash_data import Hashed
from shardcore.formats.swh.hash_section import HashParts
from shardcore.formats.swh.key_scene import KeyedScene
from shardcore.model.drawing import Control, Drawing, Figure
from shardcore.model.number_words import plural

_STORE_BYTES = 4
"""Bytes of the value store drawn, unless the value is longer."""

_BESIDE = 8
"""Maximum number of neighbouring values drawn."""


class DisplacementSketch:
    name = "displacement"
    title = "Displacement"
    controls: tuple[Control, ...] = ()

    def __init__(self, scene: KeyedScene) -> None:
        self._scene = scene

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        hashed = self._scene.hashed
        parts = self._scene.hashing.file.hash_parts()
        if hashed is None:
            return Drawing(self.title, (), caption="This shard has no objects.")
        figures = (
            *place_figures(parts, hashed.bucket, hashed.place),
            self._store(parts, hashed),
            split_figure(parts, hashed.place, hashed.displacement, "6 · From the bits to the jumps"),
        )
        caption = (
            f"Each of the {plural(parts.buckets, 'displacement')} takes only as many bits as it needs, "
            f"{parts.store_bits} in all, so its location must be computed. The file stores where each value "
            "ends, which is where the next begins: the high part as one-bits, the low part separately."
        )
        return Drawing(
            f"From bits to the displacement of bucket {hashed.bucket}", figures, links_between(figures), caption
        )

    def _store(self, parts: HashParts, hashed: Hashed) -> Figure:
        place, store = hashed.place, parts.part("value store")
        start, stop = chd_code.byte_range(place.start, place.length)
        first = max(min(start - 1, store.size - _STORE_BYTES), 0)
        last = min(max(first + _STORE_BYTES, stop), store.size)
        file = self._scene.hashing.file
        data = file.hash_source(file.source).read(store.start + first, store.start + last)
        return store_figure(parts, hashed.bucket, place, first, data, self._beside(hashed.bucket, first, last))

    def _beside(self, bucket: int, first: int, last: int) -> list[Value]:
        """Return the neighbouring values in bytes `[first, last)` of the value store; empty for a large shard."""
        if not self._scene.hashing.few:
            return []
        try:
            decoded = self._scene.hashing.file.function().decoded
        except FormatError:
            return []
        found = []
        for other in range(max(bucket - _BESIDE, 0), min(bucket + _BESIDE, len(decoded.ends))):
            end, length = int(decoded.ends[other]), int(decoded.lengths[other])
            if other != bucket and length and 8 * first <= end - length and end <= 8 * last:
                found.append(Value(other, end - length, length, int(decoded.displacements[other])))
        return found[:_BESIDE]
