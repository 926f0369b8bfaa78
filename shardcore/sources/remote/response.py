"""Response of a server: status, headers, and body in pieces. Also the errors of broken connections."""

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
from shardcore.sources.remote.cancellation import set_deadline

if TYPE_CHECKING:
    import urllib3

    from shardcore.sources.remote.options import RemoteOptions

PIECE = 1 << 16
"""Bytes per read of a body, with a check for cancellation after each."""

ERROR_BYTES = 8192
"""Bytes examined of the body of an error."""

ERROR_SECONDS = 5
"""Seconds to wait for the body of an error."""

PIECE_SECONDS = 30
"""Seconds for one read of a body, since the header of a chunk may be endless."""

_CODE = re.compile(rb"<Code>([A-Za-z0-9.]{1,80})</Code>")


_OVERLOADED = ("SlowDown", "ServiceUnavailable", "Throttling", "TooManyRequests")


class Broken(Exception):
    """A transfer failed and may be retried after `after` seconds; without a retry, `error` is raised.

    `advanced`: so many bytes arrived that the count of attempts starts again.
    """

    def __init__(self, error: RemoteError, *, after: float = 0.0) -> None:
        super().__init__(error.message)
        self.error = error
        self.after = after
        self.advanced = False


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """Range `[start, stop)` to request; `match` is a required strong ETag, `location` the last redirect, or empty."""

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
    PAYING = "a signature, with charges to the requester"


class Reply:
    """Response whose body has not been read. `code` is the error code of a store; header names are in lower case."""

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
        """Yield the body in pieces as they arrive; raise `Broken` if it ends early or stalls."""
        if self._raw is None:
            return
        try:
            set_deadline(self._raw, PIECE_SECONDS)
            while piece := self._raw.read1(PIECE, decode_content=False):
                yield piece
                set_deadline(self._raw, PIECE_SECONDS)
        except (_broken(), OSError, ValueError, AttributeError, RuntimeError) as error:
            # The last three: a transfer is cancelled by closing it under the reader.
            raise Broken(failure(error, where)) from error

    def read_error(self) -> None:
        """Read the error code of a store from the beginning of the body."""
        if self._raw is None or self.code:
            return
        set_deadline(self._raw, ERROR_SECONDS)
        with contextlib.suppress(_broken(), OSError, ValueError, AttributeError):
            found = _CODE.search(self._raw.read(ERROR_BYTES, decode_content=False) or b"")
            self.code = found[1].decode("ascii") if found else ""

    def abort(self) -> None:
        """Abort the transfer from any thread; a blocked read ends immediately."""
        if self._raw is not None:
            with contextlib.suppress(_broken(), OSError, ValueError, AttributeError, RuntimeError):
                self._raw.shutdown()

    def close(self, *, whole: bool = False) -> None:
        """Release the connection for reuse if the body was read to its end; close it otherwise."""
        if self._raw is None:
            return
        with contextlib.suppress(_broken(), OSError, ValueError, AttributeError):
            if not whole:
                self._raw.close()
            self._raw.release_conn()


class Transport(Protocol):
    """Sends requests to one store or server; shared by all threads."""

    def get(self, asked: RangeQuery) -> Reply:
        """Request a range; raise `Broken` if there is no response, `RemoteError` if the request cannot succeed."""

    @property
    def redirects(self) -> int:
        """Number of additional requests of the last `get` in this thread."""

    def page(self, folder: Address, token: str, most: int) -> ListingPage:
        """Return a page of the direct children of a folder; errors as in `get`, or `ListingRefused`."""

    def close(self) -> None:
        """Close idle and active connections of all threads."""


@dataclass(frozen=True, slots=True)
class ListingPage:
    """A page of a listing: names relative to the folder, token of the next page (empty at the end), bytes received."""

    files: list[tuple[str, int]]
    folders: list[str]
    token: str = ""
    size: int = 0


class ListingRefused(Exception):
    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.code)
        self.reply = reply


def _broken() -> type[Exception]:
    """Return the base class of errors of urllib3, imported only here, so that the window opens faster."""
    from urllib3.exceptions import HTTPError

    return HTTPError


def close_pools(manager: urllib3.PoolManager) -> None:
    """Close all connections, even if a traceback still refers to their pool."""
    for key in manager.pools.keys():  # noqa: SIM118 - not iterable
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
        # urllib3's frames form cycles with the error and the pool, which would keep connections open.
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
