"""One answer of a server, whoever asked: its status, its head, and its body in pieces."""

from __future__ import annotations

import contextlib
import re
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from shardcore.errors import ConnectionFailed, HostUnknown, ProxyFailed, Remedy, RemoteError, TimedOut, TlsFailed
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.cancel import set_deadline

if TYPE_CHECKING:
    import urllib3

    from shardcore.sources.remote.options import RemoteOptions

PIECE = 1 << 16
"""Bytes of a body that are read at once: so often a transfer asks whether it is still wanted."""

ERROR_BYTES = 8192
"""Bytes of an error's body that are looked at."""

ERROR_SECONDS = 5
"""Seconds that are waited for them."""

PIECE_SECONDS = 30
"""Seconds in which a piece of a body must come: the size of a chunk may have no end."""

_CODE = re.compile(rb"<Code>([A-Za-z0-9.]{1,80})</Code>")


_OVERLOADED = ("SlowDown", "ServiceUnavailable", "Throttling", "TooManyRequests")


class Broken(Exception):
    def __init__(self, error: RemoteError, *, after: float = 0.0) -> None:
        super().__init__(error.message)
        self.error = error
        self.after = after
        self.advanced = False


@dataclass(frozen=True, slots=True)
class RangeQuery:
    address: Address
    start: int
    stop: int
    match: str = ""
    location: str = ""

    @property
    def range(self) -> str:
        return f"bytes={self.start}-{self.stop - 1}"


class Login(Enum):
    NONE = "none, to a web server"
    GIVEN = "a login, a token or headers, to a web server"
    UNSIGNED = "none, to a store"
    SIGNED = "a signature"
    PAYING = "a signature of who pays for what is read"


class Reply:
    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        raw: urllib3.BaseHTTPResponse | None,
        *,
        code: str = "",
        location: str = "",
        login: Login = Login.NONE,
    ) -> None:
        self.login = login
        self.status = status
        self.headers = headers
        self.code = code
        self.location = location
        self._raw = raw

    @property
    def overloaded(self) -> bool:
        return self.status in (429, 503) or self.code in _OVERLOADED

    def pieces(self, where: Address) -> Iterator[bytes]:
        if self._raw is None:
            return
        try:
            set_deadline(self._raw, PIECE_SECONDS)
            while piece := self._raw.read1(PIECE, decode_content=False):
                yield piece
                set_deadline(self._raw, PIECE_SECONDS)
        except (_broken(), OSError, ValueError, AttributeError, RuntimeError) as error:
            # The last three: it was closed under the reader, which is how a transfer is cancelled.
            raise Broken(failure(error, where)) from error

    def read_error(self) -> None:
        if self._raw is None or self.code:
            return
        set_deadline(self._raw, ERROR_SECONDS)
        with contextlib.suppress(_broken(), OSError, ValueError, AttributeError):
            found = _CODE.search(self._raw.read(ERROR_BYTES, decode_content=False) or b"")
            self.code = found[1].decode("ascii") if found else ""

    def abort(self) -> None:
        if self._raw is not None:
            with contextlib.suppress(_broken(), OSError, ValueError, AttributeError, RuntimeError):
                self._raw.shutdown()

    def close(self, *, whole: bool = False) -> None:
        if self._raw is None:
            return
        with contextlib.suppress(_broken(), OSError, ValueError, AttributeError):
            if not whole:
                self._raw.close()
            self._raw.release_conn()


class Transport(Protocol):
    def get(self, asked: RangeQuery) -> Reply:
        """Request a range.

        Raises:
            Broken: There was no answer; it may be asked again.
            RemoteError: There can be none.
        """

    @property
    def redirects(self) -> int:
        """Return how many requests the last `get` of this thread needed beyond its own."""

    def page(self, folder: Address, token: str, most: int) -> ListingPage:
        """Return a part of what lies directly in a folder.

        Raises:
            ListingRefused: The store answers with an error.
            Broken: There was no answer.
            RemoteError: There can be none.
        """

    def close(self) -> None:
        """Close the connections."""


@dataclass(frozen=True, slots=True)
class ListingPage:
    files: list[tuple[str, int]]
    folders: list[str]
    token: str = ""
    size: int = 0


class ListingRefused(Exception):
    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.code)
        self.reply = reply


def _broken() -> type[Exception]:
    from urllib3.exceptions import HTTPError

    return HTTPError


def close_pools(manager: urllib3.PoolManager) -> None:
    for key in manager.pools.keys():  # noqa: SIM118 - it is no mapping that can be walked
        if (pool := manager.pools.get(key)) is not None:
            pool.close()
    manager.clear()


def timeout(options: RemoteOptions) -> urllib3.Timeout:
    import urllib3

    return urllib3.Timeout(connect=options.connect_timeout, read=options.stall_timeout)


def failure(error: Exception, where: Address, *, writing: bool = False) -> ConnectionFailed:
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__ or getattr(causes[-1], "reason", None)) is not None:
        if not isinstance(cause, BaseException) or cause in causes:
            break
        causes.append(cause)
    names = " ".join(type(one).__name__ for one in causes)
    for one in causes:
        # The frames of urllib3 hold the error that holds them, and the pool: connections would stay open until the
        # garbage collector comes by.
        traceback.clear_frames(one.__traceback__)
    place = f"the store of {where.shown}" if where.in_store else where.host
    server = "the store" if where.in_store else where.host
    if "ProxyError" in names or "ProxyConnectionError" in names:
        return ProxyFailed(f"the proxy for {place} cannot be reached", remedy=Remedy.PROXY)
    if "SSL" in names or "Certificate" in names:
        return TlsFailed(f"TLS verification of {place} failed", remedy=Remedy.TRUST)
    if "NameResolution" in names or "gaierror" in names:
        return HostUnknown(f"cannot resolve the host name of {place}", remedy=Remedy.HOST)
    if "Timeout" in names or "timeout" in names:
        return TimedOut(f"{server} timed out for {where.shown}", remedy=Remedy.AGAIN)
    if "ConnectionRefused" in names or "NewConnectionError" in names or "EndpointConnectionError" in names:
        return ConnectionFailed(f"connection refused by {place}", remedy=Remedy.HOST)
    done = "written" if writing else "read"
    return ConnectionFailed(f"the connection to {server} broke while {where.shown} was {done}", remedy=Remedy.AGAIN)
