"""A small HTTP/1.1 server for tests: keep-alive, a log of every request, and an end that leaves nothing behind.

What is answered is one function from `Request` to `Answer`; an answer can break off, stall or come late.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Self

PIECE = 65536
"""Bodies are sent in pieces of this many bytes."""


SLOW_DOWN = {"Content-Type": "application/xml"}
SLOW_DOWN_BODY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came in.

    Attributes:
        number: 0 for the first request that the server got.
        method: `GET`, `HEAD`, …
        target: Path and query, as on the wire.
        headers: By name in small letters.
        body: What was sent with it.
    """

    number: int
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def range(self) -> str:
        """The range that was asked for, `0-99` or `-12`; empty for the whole."""
        return self.headers.get("range", "").removeprefix("bytes=")


@dataclass(slots=True)
class Answer:
    """What is sent back.

    Attributes:
        status: The status code; 0 closes the connection without a word.
        headers: Header lines. `Content-Length` is added when the body is bytes and none is given.
        body: Bytes, or pieces of them.
        cut: The connection is closed after so many bytes of the body.
        stall: Nothing more is sent after so many bytes of the body, until the client hangs up or the server stops.
        late: Seconds before the answer begins.
        endless: Bytes that are sent instead of an answer: once, and again and again, until the client hangs up.
        ended: Called when it is over, also when it broke off.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Iterable[bytes] = b""
    cut: int | None = None
    stall: int | None = None
    late: float = 0.0
    endless: tuple[bytes, bytes] | None = None
    ended: Callable[[], None] | None = None


@dataclass(slots=True)
class Seen:
    """A request and what became of it.

    Attributes:
        request: The request.
        connection: The number of the connection on which it came.
        began: When it had been read; seconds of `time.monotonic`.
        ended: When the answer was sent, or broke off; 0 while it is under way.
        last: When its last bytes were about to be sent: before that no client can have all of it.
        status: The status sent; 0 for none.
        sent: Bytes of the body that were sent.
    """

    request: Request
    connection: int
    began: float
    ended: float = 0.0
    last: float = 0.0
    status: int = 0
    sent: int = 0

    def __str__(self) -> str:
        return f"{self.request.method} {self.request.target} [{self.request.range}] {self.status} {self.sent} B"


class Log:
    """The requests that a server saw, in the order in which they came."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.most_connections = 0
        self.most_at_once = 0

    def __len__(self) -> int:
        return len(self.seen)

    def __iter__(self) -> Iterator[Seen]:
        return iter(list(self.seen))

    def __str__(self) -> str:
        return "\n".join(map(str, self.seen)) or "no request"

    @property
    def sent(self) -> int:
        """Bytes of bodies that were sent."""
        self.settle()
        return sum(one.sent for one in self)

    @property
    def rounds(self) -> int:
        """Round trips: the longest row of requests none of which began before the answer to the last one was sent.

        A client may ask again before the server has noted that its answer is through: `last` counts, not `ended`.
        """
        self.settle()
        count, free_at = 0, 0.0
        for one in sorted(self, key=lambda one: one.last if one.ended else float("inf")):
            if one.began >= free_at:
                count, free_at = count + 1, one.last if one.ended else float("inf")
        return count

    def settle(self) -> None:
        """Waits a little for answers that the client has already, and the server not yet noted."""
        deadline = time.monotonic() + 0.5
        while any(not one.ended for one in self) and time.monotonic() < deadline:
            time.sleep(0.001)

    def of(self, path: str) -> list[Seen]:
        """The requests for one path."""
        return [one for one in self if one.request.path == path]

    def clear(self) -> None:
        """Forgets all of them: what comes next is counted from 0."""
        self.seen, self.most_connections, self.most_at_once = [], 0, 0


class HttpServer:
    """Serves on a free port of 127.0.0.1 until it is stopped. A context manager.

    Args:
        answer: From a request to its answer; runs in the thread of the connection.
        latency: Seconds before each answer begins.
        rate: Bytes of bodies that are sent in a second, on all connections together; 0 for any number.
        room: Requests that are answered at the same time; more get 503 *SlowDown*. 0 for any number.

    Attributes:
        log: What it saw.
        stopping: Set when it stops; answers that wait look at it.
        meet: No answer begins before as many requests were there at the same time, or 20 seconds passed.
    """

    def __init__(
        self, answer: Callable[[Request], Answer], *, latency: float = 0.0, rate: float = 0.0, room: int = 0
    ) -> None:
        self.answer = answer
        self.latency, self.rate, self.room = latency, rate, room
        self._line_free = 0.0
        self.log = Log()
        self.stopping = threading.Event()
        self.connections: dict[int, socket.socket] = {}
        self.failures: list[BaseException] = []
        self.lock = threading.Lock()
        self._met = threading.Condition(self.lock)
        self.at_once = 0
        self.meet = 0
        self._threads: list[threading.Thread] = []
        self._opened = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]

    @property
    def host(self) -> str:
        """Address and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Its root, without the slash."""
        return f"http://{self.host}"

    def __enter__(self) -> Self:
        self._start(self._accept, "listener")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends all connections and threads.

        Raises:
            BaseException: What went wrong in an answer, which is a mistake of the test and not of the client.
        """
        self.stopping.set()
        # A thread that waits in `accept` wakes at this, and not at `close`.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        with self.lock:
            open_now = list(self.connections.values())
        for connection in open_now:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive(), f"a thread of the server does not end: {thread.name}"
        self._listener.close()
        if self.failures:
            raise self.failures[0]

    def send_slowly(self, size: int) -> None:
        """Waits until so many bytes have passed the line."""
        if not self.rate:
            return
        with self.lock:
            now = time.monotonic()
            self._line_free = max(self._line_free, now) + size / self.rate
            pause = self._line_free - now
        if pause > 0.002:
            self.stopping.wait(pause)

    def wait_for_others(self) -> None:
        """Waits with the lock until the requests that are to meet are there."""
        self._met.notify_all()
        self._met.wait_for(lambda: self.stopping.is_set() or self.log.most_at_once >= self.meet, 20)

    def _start(self, work: Callable[..., None], name: str, *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, name=f"test server {self.port} {name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self.lock:
                number = self._opened
                self._opened += 1
                self.connections[number] = connection
                self.log.most_connections = max(self.log.most_connections, len(self.connections))
            self._start(self._serve, f"connection {number}", connection, number)

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _Handler(connection, ("127.0.0.1", number), self)  # type: ignore[arg-type]
        except (ConnectionError, TimeoutError):
            pass
        except BaseException as error:  # noqa: BLE001 - told by `stop`, in the thread of the test
            if not self.stopping.is_set():
                self.failures.append(error)
        finally:
            with self.lock:
                self.connections.pop(number, None)
            # The other side reads the end even where bytes of it were never read here.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


class _Cut(ConnectionError):
    """Ends a connection as if it had broken."""


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: HttpServer  # type: ignore[assignment]

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on standard error."""

    def _answer(self) -> None:
        server = self.server
        body = self._body()
        with server.lock:
            request = Request(
                len(server.log), self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body
            )
            seen = Seen(request, self.client_address[1], time.monotonic())
            server.log.seen.append(seen)
            server.at_once += 1
            server.log.most_at_once = max(server.log.most_at_once, server.at_once)
            server.wait_for_others()
        answer = None
        try:
            crowded = server.room and server.at_once > server.room
            answer = Answer(503, dict(SLOW_DOWN), SLOW_DOWN_BODY) if crowded else server.answer(request)
            if server.stopping.wait(server.latency + answer.late):
                raise _Cut
            self._send(answer, seen)
        finally:
            if answer is not None and answer.ended is not None:
                answer.ended()
            with server.lock:
                server.at_once -= 1
            seen.ended = time.monotonic()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - the names of the standard library

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            found = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return found
        size = int(self.headers.get("content-length", 0))
        body = self.rfile.read(size)
        if len(body) < size:
            # Not stored, not even in part.
            raise _Cut
        return body

    def _send(self, answer: Answer, seen: Seen) -> None:
        if not answer.status:
            raise _Cut
        seen.status = answer.status
        if answer.endless is not None:
            self.wfile.write(answer.endless[0])
        while answer.endless is not None:
            self.wfile.write(answer.endless[1])
            if self.server.stopping.wait(0.02):
                raise _Cut
        self.send_response_only(answer.status)
        headers = dict(answer.headers)
        names = {name.lower() for name in headers}
        pieces = [answer.body] if isinstance(answer.body, bytes) else answer.body
        if isinstance(answer.body, bytes) and not names & {"content-length", "transfer-encoding"}:
            headers["Content-Length"] = str(len(answer.body))
        for name, value in headers.items():
            self.send_header(name, value)
        self.close_connection = headers.get("Connection", "").lower() == "close"
        seen.last = time.monotonic()
        self.end_headers()
        if self.command == "HEAD":
            return
        chunked = headers.get("Transfer-Encoding", "") == "chunked"
        for piece in _small(pieces):
            self._send_piece(piece, answer, seen, chunked)
        if answer.stall is not None:
            self._wait_for_hang_up()
        if answer.cut is not None:
            raise _Cut
        if chunked:
            seen.last = time.monotonic()
            self.wfile.write(b"0\r\n\r\n")

    def _send_piece(self, piece: bytes, answer: Answer, seen: Seen, chunked: bool) -> None:
        room = min((limit - seen.sent for limit in (answer.cut, answer.stall) if limit is not None), default=len(piece))
        part = piece[: max(room, 0)]
        if part:
            self.server.send_slowly(len(part))
            seen.last = time.monotonic()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
            seen.sent += len(part)
        if len(part) == len(piece):
            return
        if answer.stall is not None and seen.sent >= answer.stall:
            self._wait_for_hang_up()
        raise _Cut

    def _wait_for_hang_up(self) -> None:
        while not self.server.stopping.wait(0.01):
            with contextlib.suppress(BlockingIOError):
                if not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                    break
        raise _Cut


def _small(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces in such a size that a client that hangs up is noticed."""
    for piece in pieces:
        for start in range(0, len(piece), PIECE):
            yield piece[start : start + PIECE]
