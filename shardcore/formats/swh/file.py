"""An open Read Shard: its source, header, hash function and loaded index."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, ShardError
from shardcore.formats.swh import chd, chd_code
from shardcore.formats.swh.displacement import distance_between, slot_of_key
from shardcore.formats.swh.hash_section import HashParts, read_encoded, read_hash_tail
from shardcore.formats.swh.layout import HASH_TAIL, OBJECT, SLOT, SlotTable, SwhGeometry, length_span, sections_of
from shardcore.formats.swh.slots import SlotOrder, load_order, read_slots
from shardcore.model.number_words import grouped_digits, plural
from shardcore.model.objects import State
from shardcore.model.section import tile
from shardcore.model.span import Span
from shardcore.model.table import Links
from shardcore.progress import Progress
from shardcore.shards.cache import Once
from shardcore.sources.base import Source, read_pieces
from shardcore.sources.wrapped import KeptSource

SAMPLE_SLOTS = 200
"""Slots read at once to find live keys for the check of the hash function."""

SAMPLE_KEYS = 16
"""Maximum number of live keys hashed for that check."""

FEW_KEYS = 2
"""Up to this many keys that do not hash to their slots may themselves be damaged."""

CERTAIN = 10_000
"""The function counts as right if its matches would occur by chance in fewer than one of this many shards."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeFunction:
    encoded: chd_code.Encoded
    decoded: chd_code.Decoded


@dataclass(frozen=True, slots=True)
class Companion:
    slot: int
    bucket: int
    first: int
    step: int
    apart: int = 0


class SwhFile:
    """One Read Shard; thread-safe. Hash function and index are read on request and cached."""

    def __init__(
        self,
        source: Source,
        header: dict[str, Any],
        window: bytes,
        parts: HashParts | None,
        damage: FormatError | None = None,
        slots: bytes = b"",
    ) -> None:
        self.source = source
        self.header = header
        self.parts = parts
        self.damage = damage
        self.geometry = SwhGeometry.of(header)
        hash_stop = parts.stop if parts is not None else source.size
        self.sections, _ = tile(sections_of(header, hash_stop, source.size), source.size)
        self.fits = False
        self.misfit: FormatError | None = None
        whole = parts is not None and parts.stop - parts.start <= len(window)
        self._section = window[: parts.stop - parts.start] if parts is not None and whole else None
        self._function: Once[WholeFunction] = Once()
        self._tail: Once[dict[str, Any]] = Once()
        self._order: Once[SlotOrder] = Once()
        self._last = slots

    # --- the index -------------------------------------------------------------------------------------------------

    @property
    def order(self) -> SlotOrder | None:
        return self._order.value

    @property
    def loaded(self) -> bool:
        return self.order is not None

    @property
    def index_bytes(self) -> int:
        return int(self.header["index_size"])

    def load(self, progress: Progress) -> SlotOrder:
        """Read the offsets of all slots, and lengths if deletions make them necessary."""
        with self.enough_memory():
            return self._order.get(lambda: load_order(self.source, self.geometry, progress))

    @property
    def table(self) -> SlotTable:
        return SlotTable(self.geometry, lambda first, last: read_slots(self.source, self.geometry, first, last))

    def links(self) -> Iterator[Links]:
        if (order := self.order) is not None:
            yield self.table.links(order.slots, order.offsets, order.stops)

    @contextmanager
    def enough_memory(self) -> Iterator[None]:
        """Convert MemoryError to ShardError: a small sparse file may declare billions of slots."""
        try:
            yield
        except MemoryError as error:
            raise ShardError(f"not enough memory for {plural(self.geometry.slots, 'slot')}") from error

    # --- the hash function -----------------------------------------------------------------------------------------

    def hash_parts(self) -> HashParts:
        if self.parts is None:
            raise self.damage or FormatError("the hash function is damaged")
        return self.parts

    def hash_tail(self) -> dict[str, Any]:
        return self._tail.get(self._read_tail)

    def hash_source(self, source: Source) -> Source:
        """Return the source of the hash function: memory if opening read all of it, else the file."""
        return source if self._section is None else KeptSource(source, self.hash_parts().start, self._section)

    def function(self) -> WholeFunction:
        return self._function.get(self._read_function)

    def slots_of(self, keys: NDArray[np.uint8], *, signed: bool = False) -> NDArray[np.int64]:
        parts = self.hash_parts()
        function = chd.Function(parts.seed, parts.slots, self.function().decoded.displacements, signed)
        return function.slots_of(keys)

    def check_function(self, source: Source) -> None:
        """Check once that a few live keys hash to their slots; set `misfit` if most do not."""
        if self.fits:
            return
        self.fits = True
        parts, agree, others = self.hash_parts(), 0, 0
        for slot, key in islice(self._sample_keys(source), SAMPLE_KEYS):
            same = slot == slot_of_key(self.hash_source(source), parts, key)
            agree += same
            others += not same
            if agree and is_certain(agree, parts.slots):
                return
        # A few mismatches may be damaged keys, not a damaged function.
        if agree + others > FEW_KEYS and others >= agree:
            self.misfit = self.misfit_of(others, agree + others)

    def misfit_of(self, missed: int, keys: int) -> FormatError:
        span = Span("", self.hash_parts().start, self.hash_parts().stop)
        text = f"the hash function does not match the keys: {missed} of {keys} do not hash to their slots"
        return FormatError(text, span=span)

    # --- the objects -----------------------------------------------------------------------------------------------

    def pieces(self, content: Span) -> Iterator[bytes]:
        """Yield the content of an object in pieces; raise FormatError if the stored length differs from the index."""
        lead = OBJECT.size
        for piece in read_pieces(self.source, content.start - lead, content.stop):
            if lead:
                check_length(piece, content)
            yield piece[lead:]
            lead = 0

    def _read_tail(self) -> dict[str, Any]:
        parts = self.hash_parts()
        data = self.hash_source(self.source).read(parts.stop - HASH_TAIL.size, parts.stop)
        return HASH_TAIL.read_one(data)

    def _read_function(self) -> WholeFunction:
        parts = self.hash_parts()
        section = self.hash_source(self.source).read(parts.start, parts.stop)
        read_hash_tail(section[-HASH_TAIL.size :], parts)
        encoded = read_encoded(section, parts)
        return WholeFunction(encoded, chd_code.decode(encoded, parts.buckets, parts.where))

    def _sample_keys(self, source: Source) -> Iterator[tuple[int, bytes]]:
        yield from self.last_keys
        kept = self.geometry.slots - len(self._last) // SLOT.size
        for first in range(0, min(kept, 50 * SAMPLE_SLOTS), SAMPLE_SLOTS):
            last = min(first + SAMPLE_SLOTS, kept)
            yield from self._live(read_slots(source, self.geometry, first, last), first)[:SAMPLE_KEYS]

    @cached_property
    def last_keys(self) -> list[tuple[int, bytes]]:
        count = len(self._last) // SLOT.size
        return self._live(SLOT.read(self._last, count=count), self.geometry.slots - count)

    def _live(self, rows: NDArray[Any], first: int) -> list[tuple[int, bytes]]:
        live = np.flatnonzero(self.geometry.states(rows["offset"]) == State.LIVE)
        return [(first + at, rows["key"][at].tobytes()) for at in live.tolist()]

    def companion(self, bucket: int) -> Companion | None:
        parts = self.hash_parts()
        if self.fits or self._section is not None or not is_certain(1, parts.slots):
            return None
        best = min(self._companions, key=lambda one: abs(one.bucket - bucket), default=None)
        if best is None or (apart := distance_between(parts, best.bucket, bucket)) is None:
            return None
        return replace(best, apart=apart)

    def hear(self, companion: Companion, displacement: int) -> None:
        slots = self.hash_parts().slots
        if chd.slot_one(companion.first, companion.step, displacement, slots) == companion.slot:
            self.fits = True

    @cached_property
    def _companions(self) -> list[Companion]:
        parts = self.hash_parts()
        placed = [
            (slot, chd.place_one(chd.jenkins_rounds(key, parts.seed)[-1].mixed, parts.buckets, parts.slots))
            for slot, key in self.last_keys
        ]
        return [Companion(slot, *place) for slot, place in placed]


def is_certain(agree: int, slots: int) -> bool:
    return agree * math.log(max(slots, 2)) >= math.log(CERTAIN)


def check_length(piece: bytes, content: Span) -> None:
    """Raise FormatError if the length field in `piece` differs from the size in the index."""
    place = length_span(content.start - OBJECT.size)
    size = OBJECT.read_one(piece, place=place)["size"]
    if size != content.size:
        raise FormatError(
            f"the object's length field is {plural(size, 'byte')}; the index gives {grouped_digits(content.size)}",
            span=place,
        )
