"""A remote file: its identity, and reads from the cache or by range requests."""

from __future__ import annotations

import itertools
import threading
import zlib
from collections.abc import Iterable, Sequence

from shardcore.errors import ConnectionFailed, LargeRead, LimitExceeded, Remedy, ShardError, SourceError
from shardcore.model.number_words import plural
from shardcore.sources.base import AHEAD, FAR_GAP, merged, range_cuts
from shardcore.sources.block_cache import Piece, ReadAhead, joined, missing
from shardcore.sources.read_purpose import ReadPriority, ReadPurpose, most, priority, purpose
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.fetch import Fetch, Fetched
from shardcore.sources.remote.range_request import CalledOff, RangeRequest
from shardcore.sources.remote.request_log import Request
from shardcore.sources.remote.session import RemoteSession
from shardcore.sources.remote.validate import Pin, packed

FIRST = 1 << 16
"""Bytes of the first range: most formats need no more of the beginning."""

MOST_PLAIN = 1 << 20
"""Maximum size of a file that is read in one request if all of it is needed."""

_tokens = itertools.count()


class RemoteFile:
    """A file of an open shard. Thread-safe; requests run on the threads of the connection."""

    def __init__(self, remote: RemoteSession, address: Address, *, sibling: bool) -> None:
        self.remote, self.address = remote, address
        self._line = remote.line(address)
        self._lock = threading.Lock()
        self._flights: list[RangeRequest] = []
        self._opening: RangeRequest | None = None
        self._pin: Pin | None = None
        self._location = ""
        self._identity = ""
        self._other = ReadPurpose.PAYLOAD if sibling else ReadPurpose.INDEX
        self._run = ReadAhead()

    @property
    def pin(self) -> Pin:
        """Identity of the file; fetches the first range if it is unknown. May raise `RemoteError`."""
        while self._pin is None:
            self.open()
        return self._pin

    @property
    def identity(self) -> str:
        self.open()
        return self._identity

    def check_plain(self) -> None:
        """Raise `RangeRefused` if the server sends the file compressed: ranges then differ from those of the file."""
        if self.pin.encoding:
            raise packed(self.address, self.pin.encoding)

    def read(self, ranges: Sequence[tuple[int, int]], *, fresh: bool = False) -> list[bytes]:
        """Return half-open ranges inside the file, in the given order; with `fresh`, the cache is not used."""
        if self.remote.closed:
            raise SourceError(f"{self.address.shown} is closed")
        wanted = [(start, stop) for start, stop in ranges if stop > start]
        if not wanted:
            return [b"" for _ in ranges]
        self._check_size(wanted)
        pieces, flights = self._plan(wanted, fresh=fresh)
        if not flights:
            self._log_hit(wanted)
        needed = [_inside(flight, wanted) for flight in flights]
        try:
            for flight, (_, last) in zip(flights, needed, strict=True):
                flight.wait(last)
        finally:
            for flight in flights:
                flight.leave()
        for flight, part in zip(flights, needed, strict=True):
            if flight.error is not None:
                raise _again(flight.error)
            pieces.append(flight.part(*part))
        return [joined(pieces, start, stop) if stop > start else b"" for start, stop in ranges]

    def prefetch(self, start: int, stop: int, longest: int) -> None:
        """Start to fetch `[start, stop)` by several requests, without waiting.

        Does nothing if the user must be asked first, or if the cache is too small for the read-ahead.
        """
        if self._pin is None or self.remote.closed or not self._reads_ahead:
            return
        stop = min(stop, self._pin.size)
        with self._lock:
            for hole in missing(self._blocks(start, stop), start, stop):
                for part in _outside(hole, self._flights):
                    for first, last in range_cuts(*part, longest):
                        self._start(RangeRequest(first, last, ReadPriority.PREFETCH, self._purpose(first), kept=True))

    @property
    def _reads_ahead(self) -> bool:
        return most() is None and self._line.blocks.limit >= 2 * AHEAD

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        if self._pin is None:
            return ()
        found: list[tuple[int, int]] = []
        at = start
        for first, last in [*missing(self._blocks(start, stop), start, stop), (stop, stop)]:
            if first > at:
                found.append((at, first))
            at = last
        return tuple(found)

    def plain(self, limit: int) -> bytes:
        """Return the whole content, without the HTTP content encoding; raise `LimitExceeded` above `limit` bytes."""
        pin = self.pin
        if pin.size > limit:
            raise LimitExceeded(f"{self.address.name} has {plural(pin.size, 'byte')}; at most {limit:,} are read")
        data = self.read([(0, pin.size)])[0]
        if not pin.encoding:
            return data
        if pin.encoding not in ("gzip", "x-gzip"):
            raise packed(self.address, pin.encoding)
        unpacker = zlib.decompressobj(wbits=31)
        try:
            content = unpacker.decompress(data, limit + 1)
        except zlib.error as error:
            raise SourceError(f"{self.address.shown} is sent compressed and cannot be decompressed") from error
        if len(content) > limit:
            raise LimitExceeded(f"{self.address.name} has more than {plural(limit, 'byte')} decompressed")
        return content

    def let_go(self) -> None:
        """End the exemption from the cache limit: thousands of files may be fetched whole, one after the other."""
        self._line.blocks.release(self._identity)

    def close(self) -> None:
        self.let_go()
        with self._lock:
            flights = [*self._flights, *([self._opening] if self._opening is not None else [])]
        for flight in flights:
            flight.call_off()

    def _check_size(self, wanted: list[tuple[int, int]]) -> None:
        """Raise `LargeRead` if more bytes are missing than may be fetched without asking."""
        limit = most()
        if limit is None or sum(stop - start for start, stop in wanted) <= limit:
            return
        holes = (missing(self._blocks(start, stop), start, stop) for start, stop in wanted)
        size = sum(last - first for parts in holes for first, last in parts)
        if size > limit:
            text = f"{self.address.shown}: {plural(size, 'byte')} would be read at once"
            raise LargeRead(text, size=size)

    # --- what is to be fetched -----------------------------------------------------------------------------

    def _plan(self, wanted: list[tuple[int, int]], *, fresh: bool) -> tuple[list[Piece], list[RangeRequest]]:
        """Return cached pieces, and the requests for the rest, which the caller has joined."""
        with self._lock:
            pieces: list[Piece] = []
            holes: list[tuple[int, int]] = []
            flights: dict[int, RangeRequest] = {}
            for start, stop in wanted:
                here = [] if fresh else self._blocks(start, stop)
                pieces += here
                for first, last in missing(here, start, stop):
                    holes += [(first, last)] if fresh else self._not_coming(first, last, flights)
            for first, last, inside in merged([*holes, *self._ahead(holes)], FAR_GAP):
                mine = [holes[number] for number in inside if number < len(holes)]
                for start, stop in range_cuts(first, last):
                    needed = any(low < stop and start < high for low, high in mine)
                    urgency = priority() if needed else ReadPriority.PREFETCH
                    flight = RangeRequest(start, stop, urgency, self._purpose(start), kept=not needed)
                    if needed and flight.join():
                        flights[id(flight)] = flight
                    self._start(flight)
            return pieces, list(flights.values())

    def _not_coming(self, start: int, stop: int, joined_ones: dict[int, RangeRequest]) -> list[tuple[int, int]]:
        """Join requests under way for a range; return the parts that none of them fetches."""
        for flight in self._flights:
            apart = flight.stop <= start or stop <= flight.start
            if apart or id(flight) in joined_ones or not flight.join():
                continue
            joined_ones[id(flight)] = flight
            if priority() < flight.priority:
                flight.priority = priority()
                self._queue(flight)
        return _outside((start, stop), joined_ones.values())

    def _ahead(self, holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if len(holes) != 1 or self._pin is None:
            return []
        start, stop = holes[0]
        beyond = self._run.beyond(start, stop, self._pin.size, lookup=purpose() is ReadPurpose.LOOKUP)
        parts = missing(self._blocks(stop, beyond), stop, beyond)
        return [part for hole in parts for part in _outside(hole, self._flights)]

    def _purpose(self, start: int) -> ReadPurpose:
        return purpose() or self.remote.tape.purpose_of(self.address.shown, start) or self._other

    def _blocks(self, start: int, stop: int) -> list[Piece]:
        return self._line.blocks.pieces(self._identity, start, stop)

    def _log_hit(self, wanted: list[tuple[int, int]]) -> None:
        start, stop = min(wanted)[0], max(last for _, last in wanted)
        tape = self.remote.tape
        size = sum(last - first for first, last in wanted)
        tape.add(
            Request(tape.now, "GET", self.address.shown, start, stop, self._purpose(start), bytes=size, cached=True)
        )

    # --- flights -------------------------------------------------------------------------------------------

    def _start(self, flight: RangeRequest) -> None:
        self._flights.append(flight)
        self._queue(flight)

    def _queue(self, flight: RangeRequest) -> None:
        self._line.workers.submit(flight.priority, lambda: self._fly(flight))

    def _fly(self, flight: RangeRequest) -> None:
        if not flight.begin():
            if flight.off:
                self._end(flight, None, CalledOff())
            return
        known = Fetched(self._pin, bytearray(), location=self._location)
        try:
            Fetch(self.remote, self._line, self.address, flight, known, lambda: self._comes(flight, known)).run()
        except (ShardError, CalledOff) as error:
            self._end(flight, None, error)
        except BaseException as error:  # noqa: BLE001 - or readers would wait forever
            self._end(flight, None, error)
        else:
            self._end(flight, known, None)

    def _end(self, flight: RangeRequest, known: Fetched | None, error: BaseException | None) -> None:
        data = b""
        try:
            with self._lock:
                if flight in self._flights:
                    self._flights.remove(flight)
                if self._opening is flight:
                    self._opening = None
                if known is not None and known.pin is not None:
                    data = self._keep(flight, known, known.pin)
        finally:
            # In any case, or readers would wait forever.
            flight.land(data, error)

    def _comes(self, flight: RangeRequest, known: Fetched) -> None:
        if flight.kept:
            with self._lock:
                if self._opening is flight and known.pin is not None:
                    self._learn(known, known.pin)
                    self._opening = None
                    self._flights.append(flight)
            flight.comes(known.data)

    def _learn(self, known: Fetched, pin: Pin) -> None:
        self._location = known.location
        if self._pin is None:
            # Without an ETag, version or date, the cache is not shared.
            mark = pin.mark or f"unnamed {next(_tokens)}"
            self._identity = f"{self.address.shown}#{pin.size}-{mark}"
            self.remote.tape.learn_size(self.address.shown, pin.size)
        self._pin = self._pin or pin

    def _keep(self, flight: RangeRequest, known: Fetched, pin: Pin) -> bytes:
        data = bytes(known.data)
        self._learn(known, pin)
        if known.whole:
            # Without ranges, every read would fetch the whole file again: keep it while the file is open.
            self._line.blocks.put(self._identity, 0, data, hold=True)
            data = data[flight.start : flight.stop]
        elif data:
            self._line.blocks.put(self._identity, flight.start, data)
        return data

    def open(self, first: int = FIRST, at: tuple[int, int] | None = None) -> None:
        """Fetch the first range, which reports the size: `at`, or `first` useful bytes at the beginning.

        Above 1 MiB, only the first 64 KiB are waited for.
        """
        with self._lock:
            if self._pin is not None:
                return
            # Checked here: the threads that send requests do not have this context.
            self.remote.check()
            flight = self._opening
            if flight is None or not flight.join():
                start, stop = at or (0, first)
                kept = stop - start > MOST_PLAIN
                if kept and not self._reads_ahead:
                    kept, stop = False, start + FIRST
                stop = start + self.remote.room(stop - start)
                flight = RangeRequest(start, stop, priority(), purpose() or ReadPurpose.HEAD, kept=kept)
                self._opening = flight
                flight.join()
                self._queue(flight)
        try:
            flight.wait(min(flight.start + FIRST, flight.stop))
        finally:
            flight.leave()
        if flight.error is not None:
            raise _again(flight.error)


def _inside(flight: RangeRequest, wanted: Iterable[tuple[int, int]]) -> tuple[int, int]:
    parts = [(max(start, flight.start), min(stop, flight.stop)) for start, stop in wanted]
    parts = [(start, stop) for start, stop in parts if start < stop]
    return min(parts)[0], max(stop for _, stop in parts)


def _outside(hole: tuple[int, int], flights: Iterable[RangeRequest]) -> list[tuple[int, int]]:
    parts = [hole]
    for flight in flights:
        parts = [
            (first, last)
            for start, stop in parts
            for first, last in ((start, min(stop, flight.start)), (max(start, flight.stop), stop))
            if first < last
        ]
    return parts


def _again(error: BaseException) -> BaseException:
    """Return a copy of an error for one of several waiting threads: each needs its own traceback."""
    if isinstance(error, CalledOff):
        return ConnectionFailed("the file was closed while it was read", remedy=Remedy.REOPEN)
    if isinstance(error, ShardError):
        copy = type(error).__new__(type(error))
        copy.__dict__.update(error.__dict__)
        copy.args = error.args
        copy.__cause__ = error
        return copy
    return error
