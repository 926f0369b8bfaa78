"""Requests that wait for their answer, and how they are ended from another thread."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from typing import Any

Connection = Any
"""A connection of urllib3, of whatever kind."""

_tell: ContextVar[Callable[[Connection], None] | None] = ContextVar("tell", default=None)


@contextlib.contextmanager
def told_to(tell: Callable[[Connection], None]) -> Iterator[None]:
    """Requests of this context say on which connection they go, before they do."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


def hang_up(connection: Connection) -> None:
    """Ends a connection, from whatever thread: who waits for an answer on it is woken."""
    sock = getattr(connection, "sock", None)
    if isinstance(sock, socket.socket):
        with contextlib.suppress(OSError):
            # That of the socket itself: TLS would say goodbye first, and a thread is in the middle of a read.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


def let_tell(manager: Any) -> None:
    """Lets all pools of a manager of urllib3 tell on which connection each request goes; they make that known."""
    manager.pool_classes_by_scheme = {
        scheme: _telling(pool_class) for scheme, pool_class in manager.pool_classes_by_scheme.items()
    }


@cache
def _telling(pool_class: Any) -> Any:
    class Telling(pool_class):  # type: ignore[misc]
        def _make_request(self, conn: Connection, *arguments: Any, **options: Any) -> Any:
            tell = _tell.get()
            if tell is not None:
                tell(conn)
            return super()._make_request(conn, *arguments, **options)

    return Telling
