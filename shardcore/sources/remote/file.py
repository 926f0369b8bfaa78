"""A remote file: reads from the cache or by range requests; queue, transfer and cancellation of these requests."""

from __future__ import annotations

import itertools
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from shardcore.dataclasses import replace
from shardcore.errors import (
    ConnectionFailed,
    LargeRead,
    LimitExceeded,
    RangeRefused,
    Remedy,
    RemoteError,
    ShardError,
    SourceChanged,
    SourceError,
    TimedOut,
)
from shardcore.model.text import plural
from shardcore.progress import check_stopped
from shardcore.sources.base import (
    AHEAD,
    FAR_GAP,
    MOST_PLAIN,
    WHOLE_HEAD,
    Piece,
    ReadAhead,
    ReadPriority,
    ReadPurpose,
    joined,
    merged,
    missing,
    most,
    present,
    priority,
    purpose,
    range_cuts,
    uncovered,
)
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.request_log import CANCELLED, Request
from shardcore.sources.remote.response import (
    Body,
    Broken,
    HttpConnection,
    Pin,
    RangeQuery,
    Reply,
    body_of,
    connection_callback,
    packed,
    shut_down,
)
from shardcore.sources.remote.session import RemoteSession

_tokens = itertools.count()

_ASK = 0.05
"""Seconds between checks for cancellation."""

ENOUGH = 256 << 10
"""A failed attempt that received this many bytes made progress. Attempts with progress are not limited."""

ENOUGH_SHARE = 8
"""A failed attempt also made progress if it received this fraction (1/n) of the missing bytes."""

SLOW_RATE = 1024
"""Bytes per second; a server that sends fewer for `SLOW_SECONDS` is slow."""

SLOW_SECONDS = 30


class RequestCancelled(Exception):
    """A request was cancelled because no reader waits for it."""


class RangeRequest:
    """A range `[start, stop)` that is queued or being fetched. Thread-safe.

    Attributes:
        began: Whether a thread fetches it.
        kept: Whether it continues without waiting readers (prefetch); its bytes can be read while they arrive.
        received: Bytes so far, from the start of the range, or of the file if `whole`. Only for the fetching thread.
        pin: Identity of the file, as soon as a response has it.
        location: Target of the last redirect.
        reserved: Bytes of this attempt that count towards `limit_fetch`; `came` of them have arrived.
    """

    def __init__(
        self, start: int, stop: int, priority: ReadPriority, purpose: ReadPurpose, *, kept: bool = False
    ) -> None:
        self.start, self.stop = start, stop
        self.priority, self.purpose = priority, purpose
        self.data = b""
        self.error: BaseException | None = None
        self.began = False
        self.received, self.whole = bytearray(), False
        self.reserved = self.came = 0
        self.pin: Pin | None = None
        self.location = ""
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._done = False
        self._readable = bytearray()
        self._off = threading.Event()
        self.kept, self._users = kept, int(kept)
        self._end: Callable[[], None] | None = None

    # --- readers -------------------------------------------------------------------------------------------

    def join(self) -> bool:
        """Add a waiting reader; False if the request was already cancelled."""
        with self._lock:
            self._users += not self._off.is_set()
            return not self._off.is_set()

    def leave(self) -> None:
        """Remove a waiting reader; if none is left, cancel the request and its transfer."""
        with self._lock:
            self._users -= 1
            unwanted = self._users <= 0 and not self._done
        if unwanted:
            self.cancel()

    def wait(self, stop: int) -> None:
        """Wait until the request ends or, if `kept`, until the bytes before `stop` have arrived; raises `Cancelled`."""
        while True:
            with self._lock:
                if self._changed.wait_for(lambda: self._done or stop <= self.start + len(self._readable), _ASK):
                    return
            check_stopped()
            if self._off.is_set():
                self.error = self.error or RequestCancelled()
                return

    def part(self, start: int, stop: int) -> tuple[int, bytes]:
        """Return an offset and the bytes received from there, which include `[start, stop)`; call `wait` first."""
        with self._lock:
            if self._done:
                return self.start, self.data
            return start, bytes(self._readable[start - self.start : stop - self.start])

    # --- the thread that fetches ---------------------------------------------------------------------------

    def begin(self) -> bool:
        """Return whether the caller must fetch the range: no other thread does, and it is not cancelled."""
        with self._lock:
            mine = not self.began and not self._off.is_set()
            self.began = self.began or mine
            return mine

    def publish(self) -> None:
        """Let readers use the bytes received so far."""
        with self._lock:
            self._readable = self.received
            self._changed.notify_all()

    def finish(self, data: bytes = b"", error: BaseException | None = None) -> None:
        with self._lock:
            self.data, self.error, self._done = data, error, True
            self._readable = bytearray()
            self._changed.notify_all()

    def pause(self, seconds: float) -> None:
        self._off.wait(seconds)
        self.check()

    # --- cancellation --------------------------------------------------------------------------------------

    def cancel(self) -> None:
        with self._lock:
            self._off.set()
            # Under the lock, or the connection might already be used by another request.
            if self._end is not None:
                self._end()

    @property
    def cancelled(self) -> bool:
        return self._off.is_set()

    def check(self) -> None:
        if self._off.is_set():
            raise RequestCancelled

    def set_connection(self, connection: HttpConnection) -> None:
        """Set the connection that `cancel` shuts down; raise `RequestCancelled` if the request is already cancelled."""
        self._set_end(partial(shut_down, connection))

    def set_reply(self, reply: Reply) -> None:
        """Set the reply that `cancel` aborts; raise `RequestCancelled` if the request is already cancelled."""
        self._set_end(reply.abort)

    def clear_transfer(self) -> None:
        with self._lock:
            self._end = None

    def _set_end(self, end: Callable[[], None]) -> None:
        with self._lock:
            self._end = end
        self.check()


# --- the file --------------------------------------------------------------------------------------------


class RemoteFile:
    """A file of an open shard. Thread-safe; requests run on the threads of its connection."""

    def __init__(self, remote: RemoteSession, address: Address, *, sibling: bool) -> None:
        self.remote, self.address = remote, address
        self._connection = remote.connection(address)
        self._lock = threading.Lock()
        self._requests: list[RangeRequest] = []
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
        """Raise `RangeRefused` if the server compresses the file: ranges would then differ from those of the file."""
        if self.pin.encoding:
            raise packed(self.address, self.pin.encoding)

    def read(self, ranges: Sequence[tuple[int, int]], *, fresh: bool = False) -> list[bytes]:
        """Return half-open ranges of the file, in the given order; with `fresh`, the cache is not used."""
        if self.remote.closed:
            raise SourceError(f"{self.address.shown} is closed")
        wanted = [(start, stop) for start, stop in ranges if stop > start]
        if not wanted:
            return [b"" for _ in ranges]
        self._check_size(wanted)
        pieces, requests = self._plan(wanted, fresh=fresh)
        if not requests:
            self._log_hit(wanted)
        needed = [_inside(request, wanted) for request in requests]
        try:
            for request, (_, last) in zip(requests, needed, strict=True):
                request.wait(last)
        finally:
            for request in requests:
                request.leave()
        for request, part in zip(requests, needed, strict=True):
            if request.error is not None:
                raise _again(request.error)
            pieces.append(request.part(*part))
        return [joined(pieces, start, stop) if stop > start else b"" for start, stop in ranges]

    def prefetch(self, start: int, stop: int, longest: int) -> None:
        """Start to fetch `[start, stop)` by several requests, without waiting.

        Does nothing if the user must be asked first, or if the cache is too small for the bytes.
        """
        if self._pin is None or self.remote.closed or not self._reads_ahead:
            return
        stop = min(stop, self._pin.size)
        with self._lock:
            for hole in missing(self._blocks(start, stop), start, stop):
                for part in _outside(hole, self._requests):
                    for first, last in range_cuts(*part, longest):
                        self._start(RangeRequest(first, last, ReadPriority.PREFETCH, self._purpose(first), kept=True))

    @property
    def _reads_ahead(self) -> bool:
        return most() is None and self._connection.blocks.limit >= 2 * AHEAD

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        if self._pin is None:
            return ()
        return present(self._blocks(start, stop), start, stop)

    def plain(self, limit: int) -> bytes:
        """Return the whole content, decompressed if the server compresses it; LimitExceeded above `limit` bytes."""
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

    def release_cache(self) -> None:
        """Let the cache drop the file. Before, it keeps files of servers without ranges, even above its limit."""
        self._connection.blocks.release(self._identity)

    def close(self) -> None:
        self.release_cache()
        with self._lock:
            requests = [*self._requests, *([self._opening] if self._opening is not None else [])]
        for request in requests:
            request.cancel()

    def _check_size(self, wanted: list[tuple[int, int]]) -> None:
        """Raise `LargeRead` if more bytes must be fetched than is allowed without asking the user."""
        limit = most()
        if limit is None or sum(stop - start for start, stop in wanted) <= limit:
            return
        holes = (missing(self._blocks(start, stop), start, stop) for start, stop in wanted)
        size = sum(last - first for parts in holes for first, last in parts)
        if size > limit:
            text = f"{self.address.shown}: {plural(size, 'byte')} would be fetched at once"
            raise LargeRead(text, size=size)

    # --- planning of requests ------------------------------------------------------------------------------

    def _plan(self, wanted: list[tuple[int, int]], *, fresh: bool) -> tuple[list[Piece], list[RangeRequest]]:
        """Return the cached blocks, and requests for the other bytes; the caller counts as a reader of each request."""
        with self._lock:
            pieces: list[Piece] = []
            holes: list[tuple[int, int]] = []
            requests: dict[int, RangeRequest] = {}
            for start, stop in wanted:
                here = [] if fresh else self._blocks(start, stop)
                pieces += here
                for first, last in missing(here, start, stop):
                    holes += [(first, last)] if fresh else self._join_requests(first, last, requests)
            for first, last, inside in merged([*holes, *self._ahead(holes)], FAR_GAP):
                mine = [holes[number] for number in inside if number < len(holes)]
                for start, stop in range_cuts(first, last):
                    needed = any(low < stop and start < high for low, high in mine)
                    urgency = priority() if needed else ReadPriority.PREFETCH
                    request = RangeRequest(start, stop, urgency, self._purpose(start), kept=not needed)
                    if needed and request.join():
                        requests[id(request)] = request
                    self._start(request)
            return pieces, list(requests.values())

    def _join_requests(self, start: int, stop: int, joined_requests: dict[int, RangeRequest]) -> list[tuple[int, int]]:
        """Join running requests that fetch parts of a range; return the parts that no request fetches."""
        for request in self._requests:
            apart = request.stop <= start or stop <= request.start
            if apart or id(request) in joined_requests or not request.join():
                continue
            joined_requests[id(request)] = request
            if priority() < request.priority:
                request.priority = priority()
                self._queue(request)
        return _outside((start, stop), joined_requests.values())

    def _ahead(self, holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if len(holes) != 1 or self._pin is None:
            return []
        start, stop = holes[0]
        fetch_stop = self._run.fetch_stop(start, stop, self._pin.size, lookup=purpose() is ReadPurpose.LOOKUP)
        parts = missing(self._blocks(stop, fetch_stop), stop, fetch_stop)
        return [part for hole in parts for part in _outside(hole, self._requests)]

    def _purpose(self, start: int) -> ReadPurpose:
        return purpose() or self.remote.tape.purpose_of(self.address.shown, start) or self._other

    def _blocks(self, start: int, stop: int) -> list[Piece]:
        return self._connection.blocks.pieces(self._identity, start, stop)

    def _log_hit(self, wanted: list[tuple[int, int]]) -> None:
        start, stop = min(wanted)[0], max(last for _, last in wanted)
        tape = self.remote.tape
        size = sum(last - first for first, last in wanted)
        tape.add(
            Request(tape.now, "GET", self.address.shown, start, stop, self._purpose(start), bytes=size, cached=True)
        )

    # --- requests ------------------------------------------------------------------------------------------

    def _start(self, request: RangeRequest) -> None:
        self._requests.append(request)
        self._queue(request)

    def _queue(self, request: RangeRequest) -> None:
        self._connection.workers.submit(request.priority, lambda: self._run_request(request))

    def _run_request(self, request: RangeRequest) -> None:
        if not request.begin():
            if request.cancelled:
                self._end(request, RequestCancelled())
            return
        request.pin, request.location = self._pin, self._location
        try:
            self.remote.with_retries(partial(self._attempt, request), request.pause)
        except BaseException as error:  # noqa: BLE001 - or readers would wait forever
            self._end(request, error)
        else:
            self._end(request)
        # Only here: another thread may end a cancelled request while this one still receives.
        request.received = bytearray()

    def _end(self, request: RangeRequest, error: BaseException | None = None) -> None:
        data = b""
        try:
            with self._lock:
                if request in self._requests:
                    self._requests.remove(request)
                if self._opening is request:
                    self._opening = None
                if error is None and request.pin is not None:
                    data = self._keep(request, request.pin)
        finally:
            # In any case, or readers would wait forever.
            request.finish(data, error)

    def _publish(self, request: RangeRequest) -> None:
        if request.kept:
            with self._lock:
                if self._opening is request and request.pin is not None:
                    self._learn(request, request.pin)
                    self._opening = None
                    self._requests.append(request)
            request.publish()

    def _learn(self, request: RangeRequest, pin: Pin) -> None:
        self._location = request.location
        if self._pin is None:
            # Without an ETag, version or date, the cache is not shared.
            mark = pin.mark or f"unnamed {next(_tokens)}"
            self._identity = f"{self.address.shown}#{pin.size}-{mark}"
            self.remote.tape.learn_size(self.address.shown, pin.size)
        self._pin = self._pin or pin

    def _keep(self, request: RangeRequest, pin: Pin) -> bytes:
        data = bytes(request.received)
        self._learn(request, pin)
        if request.whole:
            # Without ranges, every read would fetch the whole file again: keep it while the file is open.
            self._connection.blocks.put(self._identity, 0, data, hold=True)
            data = data[request.start : request.stop]
        elif data:
            self._connection.blocks.put(self._identity, request.start, data)
        return data

    def open(self, head: tuple[int, int] = (0, WHOLE_HEAD)) -> None:
        """Fetch the range `head`, whose response reports the file size.

        If this range has more than 1 MiB, `open` returns when its first 64 KiB have arrived.
        """
        with self._lock:
            if self._pin is not None:
                return
            # Checked here: the threads that send requests do not have this context.
            self.remote.check()
            request = self._opening
            if request is None or not request.join():
                start, stop = head
                kept = stop - start > MOST_PLAIN
                if kept and not self._reads_ahead:
                    kept, stop = False, start + WHOLE_HEAD
                stop = start + self.remote.room(stop - start)
                request = RangeRequest(start, stop, priority(), purpose() or ReadPurpose.HEAD, kept=kept)
                self._opening = request
                request.join()
                self._queue(request)
        try:
            request.wait(min(request.start + WHOLE_HEAD, request.stop))
        finally:
            request.leave()
        if request.error is not None:
            raise _again(request.error)

    # --- transfer ------------------------------------------------------------------------------------------

    def _attempt(self, request: RangeRequest, number: int) -> None:
        """Fetch the bytes of a request that earlier attempts did not receive."""
        if number and request.whole:
            # A server without ranges cannot continue a file.
            request.received, request.whole = bytearray(), False
        request.check()
        pin, had = request.pin, len(request.received)
        stop = request.stop if pin is None else min(request.stop, pin.size)
        match = pin.match if pin is not None else ""
        asked = RangeQuery(self.address, request.start + had, stop, match, request.location)
        if asked.start >= asked.stop and pin is not None:
            return
        try:
            with self._connection.gate.passed(request.check) as slow_down:
                self._send(request, asked, number, slow_down)
        except Broken as broken:
            request.check()
            came = len(request.received) - had
            left = request.stop - request.start - had
            broken.advanced = not request.whole and came > 0 and came >= min(ENOUGH, left // ENOUGH_SHARE)
            raise

    def _send(self, request: RangeRequest, asked: RangeQuery, attempt: int, slow_down: Callable[[], None]) -> None:
        remote, transport = self.remote, self._connection.transport
        request.reserved, request.came = asked.stop - asked.start, 0
        remote.spend(request.reserved)
        reply: Reply | None = None
        complete = False
        before = len(request.received)
        shown, at = self.address.shown, remote.tape.now
        record = Request(at, "GET", shown, asked.start, asked.stop, request.purpose, retry=attempt)
        began = answered = time.monotonic()
        try:
            with connection_callback(request.set_connection):
                reply = transport.get(asked)
            answered = time.monotonic()
            request.set_reply(reply)
            if reply.overloaded:
                slow_down()
            body = body_of(reply, asked, request.pin, remote.options.whole_limit)
            request.location = reply.location
            if reply.status == 200:
                request.received, request.whole, before = bytearray(), True, 0
            if request.pin is None and body.pin.size >= 0:
                request.pin = body.pin
            if body.stop != body.start:
                self._receive(request, reply, body)
                complete = True
        except (Broken, RemoteError, SourceChanged, RequestCancelled) as error:
            record = _failed(record, error, cancelled=request.cancelled)
            raise
        finally:
            request.clear_transfer()
            ended = time.monotonic()
            if reply is None:
                answered = ended
            else:
                record = replace(record, status=reply.status)
                reply.close(whole=complete)
            remote.settle(request.came - request.reserved, transport.redirects)
            for _ in range(transport.redirects):
                remote.tape.add(Request(at, "GET", shown, None, None, ReadPurpose.PROBE, status=301))
            size = max(len(request.received) - before, 0)
            remote.tape.add(replace(record, bytes=size, wait=answered - began, transfer=ended - answered))

    def _receive(self, request: RangeRequest, reply: Reply, body: Body) -> None:
        """Receive the body to its end, and check its length if the response declares it."""
        limit, shown, data = self.remote.options.whole_limit, self.address.shown, request.received
        expected = None if body.stop is None else body.stop - (0 if request.whole else request.start)
        since, recent = time.monotonic(), 0
        for piece in reply.pieces(self.address):
            request.check()
            recent += len(piece)
            now = time.monotonic()
            if now - since >= SLOW_SECONDS:
                if recent < SLOW_RATE * (now - since):
                    self._report_slow()
                since, recent = now, 0
            data += piece
            if expected is not None and len(data) > expected:
                raise RangeRefused(f"{shown}: the server returned more bytes than requested", status=reply.status)
            if expected is None and len(data) > limit:
                text = f"{shown}: the server does not support ranges; the whole file has more than {limit:,} bytes"
                raise RangeRefused(text, status=200, remedy=Remedy.LIMIT_FETCH)
            request.came += len(piece)
            if request.came > request.reserved:
                self.remote.reserve(request.came - request.reserved)
                request.reserved = request.came
            if expected is not None and not request.whole:
                self._publish(request)
        if expected is not None and len(data) < expected:
            text = f"the connection to {self.address.host} ended early while {shown} was read"
            raise Broken(ConnectionFailed(text, remedy=Remedy.AGAIN))
        if body.pin.size < 0:
            if request.pin is not None and len(data) != request.pin.size:
                raise SourceChanged(f"{shown} was changed on the server", remedy=Remedy.REOPEN)
            request.pin = replace(body.pin, size=len(data))

    def _report_slow(self) -> None:
        address = self.address
        text = f"{address.host} is slow: less than 1 KB/s of {address.shown} for {SLOW_SECONDS} seconds"
        if self.remote.options.give_up_slow:
            error = TimedOut(f"{text}; aborted", remedy=Remedy.AGAIN)
            self.remote.mark_lost(error)
            raise error
        self.remote.tape.note(text, urgent=True)


def _failed(record: Request, error: Exception, *, cancelled: bool) -> Request:
    # Cancellation is not a failure of the connection.
    if cancelled or isinstance(error, RequestCancelled):
        return replace(record, error=CANCELLED)
    cause = error.error if isinstance(error, Broken) else error
    status = getattr(cause, "status", 0)
    probe = status in (403, 404, 410) and record.start == 0
    text = getattr(cause, "message", type(cause).__name__)
    return replace(record, error=text, status=status, purpose=ReadPurpose.PROBE if probe else record.purpose)


def _inside(request: RangeRequest, wanted: Iterable[tuple[int, int]]) -> tuple[int, int]:
    parts = [(max(start, request.start), min(stop, request.stop)) for start, stop in wanted]
    parts = [(start, stop) for start, stop in parts if start < stop]
    return min(parts)[0], max(stop for _, stop in parts)


def _outside(hole: tuple[int, int], requests: Iterable[RangeRequest]) -> list[tuple[int, int]]:
    return uncovered(sorted((request.start, request.stop) for request in requests), *hole)


def _again(error: BaseException) -> BaseException:
    """Copy an error for one of several waiting threads, because each thread needs its own traceback."""
    if isinstance(error, RequestCancelled):
        return ConnectionFailed("the file was closed while it was read", remedy=Remedy.REOPEN)
    if isinstance(error, ShardError):
        copy = type(error).__new__(type(error))
        copy.__dict__.update(error.__dict__)
        copy.args = error.args
        copy.__cause__ = error
        return copy
    return error
