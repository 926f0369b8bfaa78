"""Cold cost: requests, bytes and round trips of a lookup by a client with an empty cache.

The sources in this module count the requests of a remote file, but take the bytes from a local file or a cache.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Sequence

from shardcore.dataclasses import dataclass
from shardcore.errors import ShardError, SourceError, UsageError
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.sources.base import (
    FAR_GAP,
    MOST_PLAIN,
    WHOLE_HEAD,
    Entry,
    Folder,
    Piece,
    ReadAhead,
    ReadPurpose,
    Source,
    joined,
    merged,
    missing,
    present,
    purpose,
    range_cuts,
)


@dataclass(frozen=True, slots=True)
class ColdCost:
    """Cost of a cold start: number of requests, bytes, and round trips (parallel requests are one round trip)."""

    requests: int = 0
    bytes: int = 0
    rounds: int = 0

    def __add__(self, other: ColdCost) -> ColdCost:
        return ColdCost(self.requests + other.requests, self.bytes + other.bytes, self.rounds + other.rounds)

    def __sub__(self, other: ColdCost) -> ColdCost:
        return ColdCost(self.requests - other.requests, self.bytes - other.bytes, self.rounds - other.rounds)


class CostRecorder:
    """Recorder of the requests of cold sources. With `fetch`, bytes that are not cached may be fetched. Thread-safe."""

    def __init__(self, *, fetch: bool) -> None:
        self.fetch = fetch
        self.sources: dict[str, ColdSource] = {}
        self.absent: dict[str, ShardError] = {}
        self.listings: dict[tuple[str, str], list[Entry]] = {}
        self.lock = threading.RLock()
        self._trips: list[tuple[Span, ...]] = []

    @property
    def trips(self) -> tuple[tuple[Span, ...], ...]:
        """Ranges requested in each round trip. For a listing or a missing file, the range is empty."""
        return tuple(self._trips)

    @property
    def cost(self) -> ColdCost:
        spans = [span for trip in self.trips for span in trip]
        return ColdCost(len(spans), sum(span.size for span in spans), len(self._trips))

    def add(self, *spans: Span) -> None:
        """Record one round trip with parallel requests."""
        with self.lock:
            self._trips.append(spans)

    def close(self) -> None:
        for source in self.sources.values():
            source.close_base()

    def check_at_hand(self, near: bool, what: str) -> None:
        """Raise `UsageError` if `what` is not `near` (local or cached) and `fetch` is False."""
        if not near and not self.fetch:
            known = "the cold cost needs cached bytes"
            raise UsageError(f"{known}, but {what} is not cached: look the key up again")


class ColdSource(Source):
    """File whose bytes come from `base`. Requests are counted as if none were cached; the first one fetches `head`."""

    near = False
    charged = False

    def __init__(
        self,
        base: Source,
        recorder: CostRecorder,
        folder: Folder | None,
        *,
        head: tuple[int, int] = (0, WHOLE_HEAD),
        owned: bool,
    ) -> None:
        self.name, self.uri, self.folder = base.name, base.uri, folder
        self._base, self._recorder, self._owned = base, recorder, owned
        self._kept: list[Piece] = []
        self._run = ReadAhead()
        start, stop = head
        self.head_size = WHOLE_HEAD if start else stop
        with recorder.lock:
            self._fetch([(min(start, base.size), min(stop, base.size))])

    @property
    def size(self) -> int:
        return self._base.size

    @property
    def identity(self) -> str:
        return self._base.identity

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        return present(self._pieces(start, stop), start, stop)

    def close_base(self) -> None:
        if self._owned:
            self._base.close()

    def _read(self, start: int, stop: int) -> bytes:
        return self._read_many([(start, stop)])[0]

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        with self._recorder.lock:
            holes: list[tuple[int, int]] = []
            for start, stop in ranges:
                holes += missing(self._pieces(start, stop), start, stop) if stop > start else []
            wanted: list[tuple[int, int]] = []
            for first, last, _ in merged(self._ahead(holes), FAR_GAP):
                wanted += range_cuts(first, last)
            if wanted:
                self._fetch(wanted)
            return [joined(self._pieces(start, stop), start, stop) if stop > start else b"" for start, stop in ranges]

    def _fetch(self, wanted: Sequence[tuple[int, int]]) -> None:
        base = self._base
        for start, stop in wanted:
            at_hand = base.near or base.loaded(start, stop) == ((start, stop),) or start == stop
            self._recorder.check_at_hand(at_hand, f"{plural(stop - start, 'byte')} of {base.name}")
            self._kept.append((start, base.read(start, stop)))
        self._kept.sort(key=lambda piece: piece[0])
        self._recorder.add(*(Span(base.name, start, stop) for start, stop in wanted))

    def _pieces(self, start: int, stop: int) -> list[Piece]:
        return [piece for piece in self._kept if piece[0] < stop and piece[0] + len(piece[1]) > start]

    def _ahead(self, holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if len(holes) != 1:
            return holes
        start, stop = holes[0]
        return [(start, self._run.fetch_stop(start, stop, self.size, lookup=purpose() is ReadPurpose.LOOKUP))]


class ColdFolder(Folder):
    lists_cheaply = False

    def __init__(self, base: Folder, recorder: CostRecorder) -> None:
        self._base, self._recorder = base, recorder
        self.name, self.uri, self.listable = base.name, base.uri, base.listable

    def list(self, prefix: str = "") -> builtins.list[Entry]:
        with self._recorder.lock:
            place = (self.uri, prefix)
            if place not in self._recorder.listings:
                self._recorder.listings[place] = self._base.list(prefix)
                self._recorder.add(Span(prefix or self.name, 0, 0))
            return [*self._recorder.listings[place]]

    def open(self, name: str) -> Source:
        return self._open(name, (0, WHOLE_HEAD))

    def open_at(self, name: str, start: int, stop: int) -> Source:
        return self._open(name, (start, stop))

    def read(self, name: str, limit: int) -> bytes:
        self._open(name, (0, min(limit, MOST_PLAIN)))
        return super().read(name, limit)

    def folder(self, name: str) -> Folder:
        return ColdFolder(self._base.folder(name), self._recorder)

    def parent(self) -> Folder | None:
        above = self._base.parent()
        return None if above is None else ColdFolder(above, self._recorder)

    def _open(self, name: str, head: tuple[int, int]) -> Source:
        recorder, place = self._recorder, f"{self.uri.rstrip('/')}/{name}"
        with recorder.lock:
            if place in recorder.sources:
                return recorder.sources[place]
            if place in recorder.absent:
                raise recorder.absent[place]
            recorder.check_at_hand(self._base.at_hand(name), name)
            try:
                base = self._base.open_on_demand(name)
            except SourceError as error:
                recorder.add(Span(name, 0, 0))
                recorder.absent[place] = error
                raise
            inside = name.rpartition("/")[0]
            folder = self.folder(inside) if inside else self
            recorder.sources[place] = found = ColdSource(base, recorder, folder, head=head, owned=True)
            return found
