"""Requests that wait for their answer, and how they are ended from another thread."""

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
"""A connection of urllib3, of whatever kind."""

MOST_XML = 8 << 20
"""Bytes of an answer that is parsed; a full page of a listing has at most two thirds of it."""

DEEPEST_XML = 16
"""Levels of such an answer; those of S3 have 5."""

XML_SECONDS = 100
"""Seconds in which all of it must come."""

_tell: ContextVar[Callable[[Connection], None] | None] = ContextVar("tell", default=None)


@contextlib.contextmanager
def told_to(tell: Callable[[Connection], None]) -> Iterator[None]:
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


def hang_up(connection: Connection) -> None:
    sock = getattr(connection, "sock", None)
    if isinstance(sock, socket.socket):
        with contextlib.suppress(OSError):
            # That of the socket itself: TLS would say goodbye first, and a thread is in the middle of a read.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


class _TimedReader(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase, sock: socket.socket, seconds: float | None) -> None:
        self._raw, self._sock = raw, sock
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.deadline is None:
            return self._raw.readinto(buffer)
        if (left := self.deadline - time.monotonic()) <= 0:
            raise TimeoutError("the answer did not come in time")
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
    reader = getattr(getattr(getattr(response, "_original_response", None), "fp", None), "raw", None)
    if isinstance(reader, _TimedReader):
        reader.deadline = time.monotonic() + seconds


class NoXml(Exception):
    """An answer that should be XML, and is not, or that costs too much to parse."""


def _parsable(response: Any, amt: int = 1 << 16, decode_content: bool | None = None) -> Iterator[bytes]:
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
        raise NoXml


def _is_xml(body: bytes) -> bool:
    parser = expat.ParserCreate("utf-8")
    depth = 0

    def begin(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST_XML:
            raise NoXml

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def declared(*_: object) -> None:
        raise NoXml

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = declared
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, NoXml):
        return False
    return True


def let_tell(manager: Any) -> None:
    manager.pool_classes_by_scheme = {
        scheme: _telling(pool_class) for scheme, pool_class in manager.pool_classes_by_scheme.items()
    }


@cache
def _telling(pool_class: Any) -> Any:
    class Timed(pool_class.ConnectionCls):  # type: ignore[misc]
        def getresponse(self) -> Any:
            with _one_deadline(self):
                return super().getresponse()

        def _tunnel(self) -> None:
            with _one_deadline(self):
                super()._tunnel()

    class Telling(pool_class):  # type: ignore[misc]
        ConnectionCls = Timed

        def _make_request(self, conn: Connection, *arguments: Any, **options: Any) -> Any:
            tell = _tell.get()
            if tell is not None:
                tell(conn)
            return super()._make_request(conn, *arguments, **options)

        def urlopen(self, *arguments: Any, **options: Any) -> Any:
            response = super().urlopen(*arguments, **options)
            # botocore joins this for whatever it parses; contents of objects are read otherwise.
            response.stream = partial(_parsable, response)
            return response

    return Telling
