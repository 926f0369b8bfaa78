"""A range request: the readers that wait for it, its cancellation, and its transfer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from shardcore.errors import ConnectionFailed, RangeRefused, Remedy, RemoteError, SourceChanged, TimedOut
from shardcore.progress import check_stopped
from shardcore.sources.base import ReadPriority, ReadPurpose
from shardcore.sources.remote import cancellation
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.request_log import CANCELLED, Request
from shardcore.sources.remote.response import Body, Broken, Pin, RangeQuery, Reply, body_of
from shardcore.sources.remote.session import Connection, RemoteSession

_ASK = 0.05
"""Seconds between checks for cancellation."""

ENOUGH = 256 << 10
"""Received bytes of a failed attempt that count as progress; attempts with progress are not limited."""

ENOUGH_SHARE = 8
"""Received bytes also count as progress if they are at least this fraction (1/n) of the missing bytes."""

SLOW_RATE = 1024
"""Bytes per second below which a server is slow."""

SLOW_SECONDS = 30


class RequestCancelled(Exception):
    """A request was cancelled because no reader waits for it."""


class RangeRequest:
    """A range `[start, stop)` that is queued or being fetched. Thread-safe.

    Attributes:
        began: Whether a thread fetches it.
        kept: Whether it continues without waiting readers (prefetch); its bytes can be read while they arrive.
    """

    def __init__(
        self, start: int, stop: int, priority: ReadPriority, purpose: ReadPurpose, *, kept: bool = False
    ) -> None:
        self.start, self.stop = start, stop
        self.priority, self.purpose = priority, purpose
        self.data = b""
        self.error: BaseException | None = None
        self.began = False
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._done = False
        self._came: bytes | bytearray = b""
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
                if self._changed.wait_for(lambda: self._done or stop <= self.start + len(self._came), _ASK):
                    return
            check_stopped()
            if self._off.is_set():
                self.error = self.error or RequestCancelled()
                return

    def part(self, start: int, stop: int) -> tuple[int, bytes]:
        """Return received bytes that include `[start, stop)`, and their offset; call `wait` first."""
        with self._lock:
            if self._done:
                return self.start, self.data
            return start, bytes(self._came[start - self.start : stop - self.start])

    # --- the thread that fetches ---------------------------------------------------------------------------

    def begin(self) -> bool:
        """Return whether the caller must fetch the range: no other thread does, and it is not cancelled."""
        with self._lock:
            mine = not self.began and not self._off.is_set()
            self.began = self.began or mine
            return mine

    def publish(self, data: bytearray) -> None:
        """Let readers use the bytes received so far; `data` grows."""
        with self._lock:
            self._came = data
            self._changed.notify_all()

    def finish(self, data: bytes = b"", error: BaseException | None = None) -> None:
        """Store the result and wake the readers."""
        with self._lock:
            self.data, self.error, self._done = data, error, True
            self._came = b""
            self._changed.notify_all()

    def pause(self, seconds: float) -> None:
        self._off.wait(seconds)
        self.check()

    # --- cancellation --------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Cancel the request and its transfer."""
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

    def set_connection(self, connection: cancellation.Connection) -> None:
        """Set the connection to shut down on cancellation; raise `RequestCancelled` if that happened already."""
        self._set_end(partial(cancellation.shut_down, connection))

    def set_reply(self, reply: Reply) -> None:
        """Set the reply to abort on cancellation; raise `RequestCancelled` if that happened already."""
        self._set_end(reply.abort)

    def clear_transfer(self) -> None:
        with self._lock:
            self._end = None

    def _set_end(self, end: Callable[[], None]) -> None:
        with self._lock:
            self._end = end
        self.check()


@dataclass(slots=True)
class Fetched:
    """Bytes received so far, from the start of the range, or of the file if `whole`; `location`: redirect target."""

    pin: Pin | None
    data: bytearray
    whole: bool = False
    location: str = ""


class Fetch:
    """Fetches one range of one file. `publish` is called after each received piece."""

    def __init__(
        self,
        remote: RemoteSession,
        connection: Connection,
        address: Address,
        request: RangeRequest,
        known: Fetched,
        publish: Callable[[], None],
    ) -> None:
        self._remote, self._connection, self._address = remote, connection, address
        self._request, self._known, self._publish = request, known, publish
        self._reserved = self._came = 0

    def run(self) -> None:
        """Fetch the range; raise `RequestCancelled` if the request was cancelled."""
        self._remote.with_retries(self._attempt, self._request.pause)

    def _attempt(self, number: int) -> None:
        known, request = self._known, self._request
        if number and known.whole:
            # A server without ranges cannot continue a file.
            known.data, known.whole = bytearray(), False
        request.check()
        had = len(known.data)
        stop = request.stop if known.pin is None else min(request.stop, known.pin.size)
        match = known.pin.match if known.pin is not None else ""
        asked = RangeQuery(self._address, request.start + had, stop, match, known.location)
        if asked.start >= asked.stop and known.pin is not None:
            return
        try:
            with self._connection.gate.passed(request.check) as slow_down:
                self._ask(asked, number, slow_down)
        except Broken as broken:
            request.check()
            came = len(known.data) - had
            missing = request.stop - request.start - had
            broken.advanced = not known.whole and came > 0 and came >= min(ENOUGH, missing // ENOUGH_SHARE)
            raise

    def _ask(self, asked: RangeQuery, attempt: int, slow_down: Callable[[], None]) -> None:
        known, request, remote, transport = self._known, self._request, self._remote, self._connection.transport
        self._reserved, self._came = asked.stop - asked.start, 0
        remote.spend(self._reserved)
        reply: Reply | None = None
        complete = False
        before = len(known.data)
        shown, at = asked.address.shown, remote.tape.now
        record = Request(at, "GET", shown, asked.start, asked.stop, request.purpose, retry=attempt)
        began = answered = time.monotonic()
        try:
            with cancellation.connection_callback(request.set_connection):
                reply = transport.get(asked)
            answered = time.monotonic()
            request.set_reply(reply)
            if reply.overloaded:
                slow_down()
            body = body_of(reply, asked, known.pin, remote.options.whole_limit)
            known.location = reply.location
            if reply.status == 200:
                known.data, known.whole, before = bytearray(), True, 0
            if known.pin is None and body.pin.size >= 0:
                known.pin = body.pin
            if body.stop != body.start:
                self._receive(reply, body)
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
            remote.settle(self._came - self._reserved, transport.redirects)
            for _ in range(transport.redirects):
                remote.tape.add(Request(at, "GET", shown, None, None, ReadPurpose.PROBE, status=301))
            size = max(len(known.data) - before, 0)
            remote.tape.add(replace(record, bytes=size, wait=answered - began, transfer=ended - answered))

    def _receive(self, reply: Reply, body: Body) -> None:
        """Read the body to its end, and check its length against the stated one."""
        known, limit, shown = self._known, self._remote.options.whole_limit, self._address.shown
        data = known.data
        expected = None if body.stop is None else body.stop - (0 if known.whole else self._request.start)
        pace = _Pace(self._remote, self._address)
        for piece in reply.pieces(self._address):
            self._request.check()
            pace.came(len(piece))
            data += piece
            if expected is not None and len(data) > expected:
                raise RangeRefused(f"{shown}: the server returned more bytes than requested", status=reply.status)
            if expected is None and len(data) > limit:
                text = f"{shown}: the server does not support ranges; the whole file has more than {limit:,} bytes"
                raise RangeRefused(text, status=200, remedy=Remedy.LIMIT_FETCH)
            self._came += len(piece)
            if self._came > self._reserved:
                self._remote.reserve(self._came - self._reserved)
                self._reserved = self._came
            if expected is not None and not known.whole:
                self._publish()
        if expected is not None and len(data) < expected:
            text = f"the connection to {self._address.host} ended early while {shown} was read"
            raise Broken(ConnectionFailed(text, remedy=Remedy.AGAIN))
        if body.pin.size < 0:
            if known.pin is not None and len(data) != known.pin.size:
                raise SourceChanged(f"{shown} was changed on the server", remedy=Remedy.REOPEN)
            known.pin = replace(body.pin, size=len(data))


def _failed(record: Request, error: Exception, *, cancelled: bool) -> Request:
    # A cancelled transfer is no failure of the connection.
    if cancelled or isinstance(error, RequestCancelled):
        return replace(record, error=CANCELLED)
    cause = error.error if isinstance(error, Broken) else error
    status = getattr(cause, "status", 0)
    probe = status in (403, 404, 410) and record.start == 0
    text = getattr(cause, "message", type(cause).__name__)
    return replace(record, error=text, status=status, purpose=ReadPurpose.PROBE if probe else record.purpose)


class _Pace:
    def __init__(self, remote: RemoteSession, address: Address) -> None:
        self._remote, self._address = remote, address
        self._since, self._bytes = time.monotonic(), 0

    def came(self, size: int) -> None:
        self._bytes += size
        now = time.monotonic()
        if now - self._since < SLOW_SECONDS:
            return
        slow = self._bytes < SLOW_RATE * (now - self._since)
        self._since, self._bytes = now, 0
        if not slow:
            return
        text = f"{self._address.host} is slow: less than 1 KB/s of {self._address.shown} for {SLOW_SECONDS} seconds"
        if self._remote.options.give_up_slow:
            error = TimedOut(f"{text}; aborted", remedy=Remedy.AGAIN)
            self._remote.mark_lost(error)
            raise error
        self._remote.tape.note(text, urgent=True)
