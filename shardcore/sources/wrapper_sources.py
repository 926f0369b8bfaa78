"""Wrappers of sources: concatenation, counting of reads, and a range that is kept in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import accumulate

from shardcore.model.span import union
from shardcore.sources.base import MERGE_GAP, RANGE, PurposeAt, Source, merged


class ConcatSource(Source):
    """Concatenation of several sources."""

    charged = False

    def __init__(self, parts: Sequence[Source], name: str) -> None:
        self.parts = tuple(parts)
        self.name = name
        self.uri = "+".join(part.uri for part in self.parts)
        self.folder = self.parts[0].folder if self.parts else None
        self.merge_gap = max((part.merge_gap for part in self.parts), default=MERGE_GAP)
        self.watchable = all(part.watchable for part in self.parts)
        self._starts = [0, *accumulate(part.size for part in self.parts)]

    @property
    def size(self) -> int:
        return self._starts[-1]

    @property
    def identity(self) -> str:
        return "+".join(part.identity for part in self.parts)

    def _read(self, start: int, stop: int) -> bytes:
        return self._read_many([(start, stop)])[0]

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        # One call per part, so that it can merge ranges.
        found: list[list[bytes]] = [[] for _ in ranges]
        for part, begin in zip(self.parts, self._starts, strict=False):
            cut = [(max(start - begin, 0), min(stop - begin, part.size)) for start, stop in ranges]
            inside = [number for number, (first, last) in enumerate(cut) if first < last]
            pieces = part.read_many([cut[number] for number in inside]) if inside else []
            for number, piece in zip(inside, pieces, strict=True):
                found[number].append(piece)
        return [b"".join(pieces) for pieces in found]

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        found: list[tuple[int, int]] = []
        for part, begin in zip(self.parts, self._starts, strict=False):
            first, last = max(start, begin), min(stop, begin + part.size)
            if first < last:
                found += ((a + begin, b + begin) for a, b in part.loaded(first - begin, last - begin))
        return tuple(union(found))

    def check_unchanged(self) -> None:
        for part in self.parts:
            part.check_unchanged()

    def close(self) -> None:
        for part in self.parts:
            part.close()


class WrapperSource(Source):
    """Base class of wrappers of a source: delegates all methods to `base`."""

    charged = False

    def __init__(self, base: Source) -> None:
        self.base = base
        self.name, self.uri, self.folder = base.name, base.uri, base.folder
        self.merge_gap, self.watchable = base.merge_gap, base.watchable
        self.head_size = base.head_size

    @property
    def size(self) -> int:
        return self.base.size

    @property
    def stored(self) -> int:
        return self.base.stored

    @property
    def identity(self) -> str:
        return self.base.identity

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        return self.base.loaded(start, stop)

    def prefetch(self, start: int, stop: int, most: int = RANGE) -> None:
        self.base.prefetch(start, stop, most)

    def learn_purposes(self, at: PurposeAt) -> None:
        self.base.learn_purposes(at)

    def check_unchanged(self) -> None:
        self.base.check_unchanged()

    def close(self) -> None:
        self.base.close()

    def _read(self, start: int, stop: int) -> bytes:
        return self.base.read(start, stop)

    def _read_first(self, count: int) -> bytes:
        return self.base.read_first(count)

    def _read_last(self, count: int) -> bytes:
        return self.base.read_last(count)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return self.base.read_many(ranges)


class MeteredSource(WrapperSource):
    """Wrapper that counts the ranges and bytes read through it, for the cost of a lookup.

    Empty and failed reads do not count; merged ranges count once.
    """

    def __init__(self, base: Source) -> None:
        super().__init__(base)
        self.requests = 0
        self.bytes = 0
        self._lock = threading.Lock()

    def _read(self, start: int, stop: int) -> bytes:
        return self._counted(self.base.read(start, stop))

    def _read_first(self, count: int) -> bytes:
        return self._counted(self.base.read_first(count))

    def _read_last(self, count: int) -> bytes:
        return self._counted(self.base.read_last(count))

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        parts = self.base.read_many(ranges)
        joined = merged(ranges, self.merge_gap)
        self._count(len(joined), sum(stop - start for start, stop, _ in joined))
        return parts

    def _counted(self, data: bytes) -> bytes:
        self._count(int(len(data) > 0), len(data))
        return data

    def _count(self, requests: int, size: int) -> None:
        with self._lock:
            self.requests += requests
            self.bytes += size


class KeptSource(WrapperSource):
    """Wrapper of a source of which one range is in memory: `data`, which begins at offset `start`."""

    def __init__(self, base: Source, start: int, data: bytes) -> None:
        super().__init__(base)
        self._start = start
        self._data = data

    def _read(self, start: int, stop: int) -> bytes:
        if self._holds(start, stop):
            return self._data[start - self._start : stop - self._start]
        return self.base.read(start, stop)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        if all(self._holds(start, stop) for start, stop in ranges):
            return [self._read(start, stop) for start, stop in ranges]
        return self.base.read_many(ranges)

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        return ((start, stop),) if self._holds(start, stop) else self.base.loaded(start, stop)

    def _holds(self, start: int, stop: int) -> bool:
        return self._start <= start <= stop <= self._start + len(self._data)
