"""Fetching one range. After a broken transfer, a retry continues with the missing bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from shardcore.errors import ConnectionFailed, RangeRefused, Remedy, RemoteError, SourceChanged, TimedOut
from shardcore.sources.read_purpose import ReadPurpose
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.cancellation import connection_callback
from shardcore.sources.remote.connection_pool import Connection
from shardcore.sources.remote.range_request import RangeRequest, RequestCancelled
from shardcore.sources.remote.request_log import CANCELLED, Request
from shardcore.sources.remote.response import Broken, RangeQuery, Reply
from shardcore.sources.remote.response_validation import Body, Pin, body_of
from shardcore.sources.remote.session import RemoteSession

ENOUGH = 256 << 10
"""Received bytes of a failed attempt that count as progress; attempts with progress are not limited."""

ENOUGH_SHARE = 8
"""Received bytes also count as progress if they are at least this fraction (1/n) of the missing bytes."""

SLOW_RATE = 1024
"""Bytes per second below which a server is slow."""

SLOW_SECONDS = 30


@dataclass(slots=True)
class Fetched:
    """Bytes received so far, from the start of the range, or of the file if `whole`; `location`: redirect target."""

    pin: Pin | None
    data: bytearray
    whole: bool = False
    location: str = ""


class Fetch:
    """Fetches one range of one file. `comes` is called with each received piece."""

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
        self._attempt = self._reserved = self._came = 0

    def run(self) -> Fetched:
        """Fetch the range; raise `RequestCancelled` if the request was cancelled."""
        self._remote.with_retries(self._attempt_at, self._request.pause)
        return self._known

    def _attempt_at(self, number: int) -> None:
        self._attempt = number
        if number and self._known.whole:
            # A server without ranges cannot continue a file.
            self._known.data, self._known.whole = bytearray(), False
        self._request.check()
        had = len(self._known.data)
        try:
            self._try()
        except Broken as broken:
            self._request.check()
            broken.advanced = self._advanced(had)
            raise

    def _advanced(self, had: int) -> bool:
        """Return whether an attempt made enough progress; False for a whole file, which must start again."""
        came = len(self._known.data) - had
        missing = self._request.stop - self._request.start - had
        return not self._known.whole and came > 0 and came >= min(ENOUGH, missing // ENOUGH_SHARE)

    def _try(self) -> None:
        known, request = self._known, self._request
        stop = request.stop if known.pin is None else min(request.stop, known.pin.size)
        match = known.pin.match if known.pin is not None else ""
        asked = RangeQuery(self._address, request.start + len(known.data), stop, match, known.location)
        if asked.start >= asked.stop and known.pin is not None:
            return
        with self._connection.gate.passed(request.check) as slow_down:
            self._reserved, self._came = asked.stop - asked.start, 0
            self._remote.spend(self._reserved)
            self._ask(asked, slow_down)

    def _ask(self, asked: RangeQuery, slow_down: Callable[[], None]) -> None:
        known, request = self._known, self._request
        record = _LogRecord(self._remote, asked, request.purpose, self._attempt)
        reply: Reply | None = None
        whole = False
        before = len(known.data)
        try:
            with connection_callback(request.set_connection):
                reply = self._connection.transport.get(asked)
            record.answered(reply, self._connection)
            request.set_reply(reply)
            if reply.overloaded:
                slow_down()
            body = body_of(reply, asked, known.pin, self._remote.options.whole_limit)
            known.location = reply.location
            if reply.status == 200:
                known.data, known.whole, before = bytearray(), True, 0
            if known.pin is None and body.pin.size >= 0:
                known.pin = body.pin
            if body.stop != body.start:
                self._receive(reply, body)
                whole = True
        except (Broken, RemoteError, SourceChanged) as error:
            # A cancelled transfer is no failure of the connection.
            record.failed(CANCELLED if request.cancelled else error)
            if reply is None:
                record.redirected(self._connection)
            raise
        except RequestCancelled:
            record.failed(CANCELLED)
            raise
        finally:
            request.clear_transfer()
            if reply is not None:
                reply.close(whole=whole)
            self._remote.settle(self._came - self._reserved, self._connection.transport.redirects)
            record.write(len(known.data) - before)

    def _receive(self, reply: Reply, body: Body) -> None:
        """Read the body to its end, and check its length against the stated one."""
        data, limit = self._known.data, self._remote.options.whole_limit
        expected = None if body.stop is None else body.stop - (0 if self._known.whole else self._request.start)
        pace = _Pace(self._remote, self._address)
        for piece in reply.pieces(self._address):
            self._request.check()
            pace.came(len(piece))
            data += piece
            if expected is not None and len(data) > expected:
                raise RangeRefused(
                    f"{self._address.shown}: the server returned more bytes than requested", status=reply.status
                )
            if expected is None and len(data) > limit:
                text = f"{self._address.shown}: the server does not support ranges; the whole file has more than"
                raise RangeRefused(f"{text} {limit:,} bytes", status=200, remedy=Remedy.LIMIT_FETCH)
            self._charge(len(piece))
            if expected is not None and not self._known.whole:
                self._publish()
        if expected is not None and len(data) < expected:
            text = f"the connection to {self._address.host} ended early while {self._address.shown} was read"
            raise Broken(ConnectionFailed(text, remedy=Remedy.AGAIN))
        if body.pin.size < 0:
            known = body.pin
            size = len(data)
            if self._known.pin is not None and size != self._known.pin.size:
                raise SourceChanged(f"{self._address.shown} was changed on the server", remedy=Remedy.REOPEN)
            self._known.pin = Pin(size, known.etag, known.modified, known.version, known.encoding)

    def _charge(self, size: int) -> None:
        self._came += size
        if (more := self._came - self._reserved) > 0:
            self._remote.reserve(more)
            self._reserved = self._came


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


class _LogRecord:
    def __init__(self, remote: RemoteSession, asked: RangeQuery, purpose: ReadPurpose, attempt: int) -> None:
        self._remote, self._asked, self._purpose, self._attempt = remote, asked, purpose, attempt
        self._at = remote.tape.now
        self._began = self._answered = time.monotonic()
        self._status = 0
        self._error = ""
        self._had_answer = False

    def answered(self, reply: Reply, connection: Connection) -> None:
        self._answered, self._status, self._had_answer = time.monotonic(), reply.status, True
        self.redirected(connection)

    def redirected(self, connection: Connection) -> None:
        for _ in range(connection.transport.redirects):
            self._add(Request(self._at, "GET", self._asked.address.shown, None, None, ReadPurpose.PROBE, status=301))

    def failed(self, error: BaseException | str) -> None:
        if isinstance(error, str):
            self._error = error
            return
        cause = error.error if isinstance(error, Broken) else error
        self._error = getattr(cause, "message", type(cause).__name__)
        self._status = self._status or getattr(cause, "status", 0)
        if getattr(cause, "status", 0) in (403, 404, 410) and self._asked.start == 0:
            self._purpose = ReadPurpose.PROBE

    def write(self, size: int) -> None:
        now = time.monotonic()
        answered = self._answered if self._had_answer else now
        self._add(
            Request(
                self._at,
                "GET",
                self._asked.address.shown,
                self._asked.start,
                self._asked.stop,
                self._purpose,
                bytes=max(size, 0),
                wait=answered - self._began,
                transfer=now - answered,
                status=self._status,
                retry=self._attempt,
                error=self._error,
            )
        )

    def _add(self, record: Request) -> None:
        self._remote.tape.add(record)
