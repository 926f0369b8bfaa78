"""Cancellation of requests from another thread, and deadlines for responses."""

from __future__ import annotations

import contextlib
import io
import socket
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, partial
from typing import Any
from xml.parsers import expat

Connection = Any
"""A urllib3 connection of any kind."""

MOST_XML = 8 << 20
"""Maximum bytes of a parsed response; a full page of a listing has at most two thirds of it."""

DEEPEST_XML = 16
"""Maximum depth of such a response; S3 has 5."""

XML_SECONDS = 100
"""Seconds for the whole response."""

_callback: ContextVar[Callable[[Connection], None] | None] = ContextVar("callback", default=None)


@contextlib.contextmanager
def connection_callback(callback: Callable[[Connection], None]) -> Iterator[None]:
    """Call `callback` with the connection of each request in this context, before the request is sent."""
    token = _callback.set(callback)
    try:
        yield
    finally:
        _callback.reset(token)


def shut_down(connection: Connection) -> None:
    """Shut a connection down from any thread; a thread that waits for its response then gets an error."""
    sock = getattr(connection, "sock", None)
    if isinstance(sock, socket.socket):
        with contextlib.suppress(OSError):
            # Not `SSLSocket.shutdown`: another thread is inside a TLS read.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


class _TimedReader(io.RawIOBase):
    """Reader with a deadline for the whole response, since a socket timeout applies only to each received piece."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, seconds: float | None) -> None:
        self._raw, self._sock = raw, sock
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.deadline is None:
            return self._raw.readinto(buffer)
        if (left := self.deadline - time.monotonic()) <= 0:
            raise TimeoutError("the response did not arrive in time")
        usual = self._sock.gettimeout()
        self._sock.settimeout(left if usual is None else min(left, usual))
        try:
            return self._raw.readinto(buffer)
        finally:
            self._sock.settimeout(usual)

    def close(self) -> None:
        self._raw.close()
        super().close()


@contextlib.contextmanager
def _one_deadline(connection: Connection) -> Iterator[None]:
    make, readers = connection.response_class, list[_TimedReader]()

    def timed(sock: socket.socket, *arguments: Any, **named: Any) -> Any:
        response = make(sock, *arguments, **named)
        readers.append(_TimedReader(response.fp.detach(), sock, connection.timeout))
        response.fp = io.BufferedReader(readers[-1])
        return response

    connection.response_class = timed
    try:
        yield
    finally:
        if connection.response_class is timed:
            connection.response_class = make
        for reader in readers:
            reader.deadline = None


def set_deadline(response: Any, seconds: float) -> None:
    """Set the deadline for reading from the body, in seconds from now."""
    reader = getattr(getattr(getattr(response, "_original_response", None), "fp", None), "raw", None)
    if isinstance(reader, _TimedReader):
        reader.deadline = time.monotonic() + seconds


class NotXml(Exception):
    """A response is not XML, or is too expensive to parse."""


def _xml_body(response: Any, amt: int = 1 << 16, decode_content: bool | None = None) -> Iterator[bytes]:
    """Yield the whole body if it is XML that may be parsed; nothing for an error response with another body."""
    from urllib3.exceptions import HTTPError

    set_deadline(response, XML_SECONDS)
    try:
        body = response.read(MOST_XML + 1, decode_content=decode_content)
    except HTTPError:
        if response.status < 300:
            raise
        body = b""
    if len(body) > MOST_XML:
        response.close()
    if not body or (len(body) <= MOST_XML and _is_xml(body)):
        yield body
    elif response.status < 300:
        raise NotXml


def _is_xml(body: bytes) -> bool:
    """Return whether a body is XML as stores send it: not deeply nested, and without declarations, which may expand."""
    parser = expat.ParserCreate("utf-8")
    depth = 0

    def begin(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST_XML:
            raise NotXml

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def declared(*_: object) -> None:
        raise NotXml

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = declared
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, NotXml):
        return False
    return True


def enable_callbacks(manager: Any) -> None:
    """Let all connection pools of a urllib3 manager report each connection to `connection_callback`."""
    manager.pool_classes_by_scheme = {
        scheme: _with_callbacks(pool_class) for scheme, pool_class in manager.pool_classes_by_scheme.items()
    }


@cache
def _with_callbacks(pool_class: Any) -> Any:
    class TimedConnection(pool_class.ConnectionCls):  # type: ignore[misc]
        """Connection whose timeout applies to all headers of a response, including responses with status 100."""

        def getresponse(self) -> Any:
            with _one_deadline(self):
                return super().getresponse()

        def _tunnel(self) -> None:
            with _one_deadline(self):
                super()._tunnel()

    class ReportingPool(pool_class):  # type: ignore[misc]
        ConnectionCls = TimedConnection

        def _make_request(self, conn: Connection, *arguments: Any, **options: Any) -> Any:
            callback = _callback.get()
            if callback is not None:
                callback(conn)
            return super()._make_request(conn, *arguments, **options)

        def urlopen(self, *arguments: Any, **options: Any) -> Any:
            response = super().urlopen(*arguments, **options)
            # botocore reads this stream for whatever it parses; contents of objects are read otherwise.
            response.stream = partial(_xml_body, response)
            return response

    return ReportingPool
