"""Response of a server: deadlines, cancellation, body in pieces, and validation; errors for refusals and failures."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from enum import Enum
from functools import cache, partial
from typing import Any
from xml.parsers import expat

import urllib3
from urllib3.exceptions import HTTPError

from shardcore.dataclasses import dataclass
from shardcore.errors import (
    ClockSkewed,
    ConnectionFailed,
    CredentialsRefused,
    Forbidden,
    HostUnknown,
    NoSuchObject,
    ProxyFailed,
    RangeRefused,
    Remedy,
    RemoteError,
    ServerFailed,
    SourceChanged,
    TimedOut,
    TlsFailed,
    WrongRegion,
)
from shardcore.model.text import ends_text
from shardcore.progress import context_value
from shardcore.sources.remote.address import Address

PIECE = 1 << 16
"""Bytes per read of a body, with a check for cancellation after each."""

ERROR_BYTES = 8192
"""Maximum bytes read of the body of an error response."""

ERROR_SECONDS = 5
"""Maximum seconds to wait for the body of an error response."""

PIECE_SECONDS = 30
"""Maximum seconds for one read of a body, because the header of an HTTP chunk could be endless."""

_ENDED = (HTTPError, OSError, ValueError, AttributeError, RuntimeError)
"""Exceptions of a broken transfer. The last three occur if another thread closes it to cancel it."""

_CODE = re.compile(rb"<Code>([A-Za-z0-9.]{1,80})</Code>")
_OVERLOADED = ("SlowDown", "ServiceUnavailable", "Throttling", "TooManyRequests")


class Broken(Exception):
    """A transfer failed and may be retried after `after` seconds; without a retry, `error` is raised.

    `advanced` is True if enough bytes arrived to start counting the attempts again.
    """

    def __init__(self, error: RemoteError, *, after: float = 0.0) -> None:
        super().__init__(error.message)
        self.error = error
        self.after = after
        self.advanced = False


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """Request for `[start, stop)`. `match`: ETag that the file must have; `location`: URL of the last redirect."""

    address: Address
    start: int
    stop: int
    match: str = ""
    location: str = ""

    @property
    def range(self) -> str:
        return f"bytes={self.start}-{self.stop - 1}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Range": self.range} | ({"If-Match": self.match} if self.match else {})


class Login(Enum):
    NONE = "none, to a web server"
    GIVEN = "a login, a token or headers, to a web server"
    UNSIGNED = "none, to a store"
    SIGNED = "a signature"
    PAYING = "a signature, with charges to the requester"


class Reply:
    """Response whose body has not been read. `code` is the error code of a store; names in `headers` are lower case."""

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
        self.status, self.code, self.location, self.login = status, code, location, login
        self.headers = {name.lower(): value for name, value in headers.items()}
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
        except _ENDED as error:
            raise Broken(failure(error, where)) from error

    def read_error(self) -> None:
        """Read the error code of a store from the beginning of the body."""
        if self._raw is None or self.code:
            return
        set_deadline(self._raw, ERROR_SECONDS)
        with contextlib.suppress(*_ENDED):
            found = _CODE.search(self._raw.read(ERROR_BYTES, decode_content=False) or b"")
            self.code = found[1].decode("ascii") if found else ""

    def abort(self) -> None:
        """Abort the transfer from any thread; a blocked read ends immediately."""
        if self._raw is not None:
            with contextlib.suppress(*_ENDED):
                self._raw.shutdown()

    def close(self, *, whole: bool = False) -> None:
        """Release the connection for reuse if the body was read to its end; close it otherwise."""
        if self._raw is None:
            return
        with contextlib.suppress(*_ENDED):
            if not whole:
                self._raw.close()
            self._raw.release_conn()


class Transport(ABC):
    """Sends requests to one store or server; shared by all threads."""

    def __init__(self) -> None:
        self._sent = threading.local()

    @property
    def redirects(self) -> int:
        """Number of redirects that the last `get` or `page` in this thread followed."""
        return max(getattr(self._sent, "count", 0) - 1, 0)

    @abstractmethod
    def get(self, asked: RangeQuery) -> Reply:
        """Request a range; raise `Broken` if there is no response, `RemoteError` if the request cannot succeed."""

    @abstractmethod
    def page(self, folder: Address, token: str, most: int) -> ListingPage:
        """Return up to `most` children of a folder; `token` is from the page before. May raise `ListingRefused`."""

    @abstractmethod
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


def close_pools(manager: urllib3.PoolManager) -> None:
    """Close all connections, even if a traceback still refers to their pool."""
    for key in manager.pools.keys():  # noqa: SIM118 - not iterable
        if (pool := manager.pools.get(key)) is not None:
            pool.close()
    manager.clear()


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


# --- cancellation and deadlines ---------------------------------------------------------------------------

HttpConnection = Any
"""A urllib3 connection of any kind."""

MOST_XML = 8 << 20
"""Maximum bytes of an XML response. The largest page of a listing has two thirds of that."""

DEEPEST_XML = 16
"""Maximum nesting depth of an XML response. Responses of S3 have 5."""

XML_SECONDS = 100
"""Maximum seconds until an XML response is complete."""

_callback: ContextVar[Callable[[HttpConnection], None] | None] = ContextVar("callback", default=None)


def connection_callback(callback: Callable[[HttpConnection], None]) -> contextlib.AbstractContextManager[None]:
    """Call `callback` with the connection of each request in this context, before the request is sent."""
    return context_value(_callback, callback)


def shut_down(connection: HttpConnection) -> None:
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
def _one_deadline(connection: HttpConnection) -> Iterator[None]:
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
    """Yield the body if it is XML. If not, raise `NotXml`, or yield nothing for an error response."""
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
    """Return whether a body is XML that is safe to parse: not deeply nested, and no declarations, which may expand."""
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

        def _make_request(self, conn: HttpConnection, *arguments: Any, **options: Any) -> Any:
            callback = _callback.get()
            if callback is not None:
                callback(conn)
            return super()._make_request(conn, *arguments, **options)

        def urlopen(self, *arguments: Any, **options: Any) -> Any:
            response = super().urlopen(*arguments, **options)
            # botocore reads this stream if it parses the response; the content of an object is read without it.
            response.stream = partial(_xml_body, response)
            return response

    return ReportingPool


# --- validation ----------------------------------------------------------------------------------------

MOST_WAIT = 20.0
"""Maximum seconds to wait if a response contains `Retry-After`."""

NOT_IMPLEMENTED = 501
"""HTTP status for which a request is not retried."""

_RANGE = re.compile(r"bytes (\d{1,20})-(\d{1,20})/(\d{1,20})", re.ASCII)
_UNPACKED = ("", "identity", "aws-chunked")
"""Values of Content-Encoding that do not change the bytes."""

_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired")
_UNKNOWN = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "AuthFailure", "InvalidSecurity")
_ELSEWHERE = ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException")
_BUSY = ("SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "Throttling")
_MD5_ETAG = re.compile(r'"?[0-9a-f]{32}(-[0-9]+)?"?')


@dataclass(frozen=True, slots=True)
class Pin:
    """Identity of a file, taken from a response; all later responses must have the same."""

    size: int
    etag: str = ""
    modified: str = ""
    version: str = ""
    encoding: str = ""

    @property
    def match(self) -> str:
        """ETag to send as `If-Match`; empty for a weak ETag."""
        return "" if self.etag.startswith("W/") else self.etag

    @property
    def content_tag(self) -> str:
        """Size and ETag if the ETag is an MD5; otherwise empty, because different files may have the same ETag."""
        return f"{self.size}-{self.etag}" if _MD5_ETAG.fullmatch(self.etag) else ""

    @property
    def mark(self) -> str:
        return self.etag or self.version or self.modified


@dataclass(frozen=True, slots=True)
class Body:
    """Bytes `[start, stop)` of a file in a response; `stop` is None if it is unknown before the end of the body."""

    pin: Pin
    start: int
    stop: int | None


def body_of(reply: Reply, asked: RangeQuery, pin: Pin | None, whole_limit: int) -> Body:
    """Return the content of a successful response.

    Raises `SourceChanged` for another file, `RangeRefused` for other bytes, `Broken` if a retry may help.
    """
    if reply.status == 206:
        return _part(reply, asked, pin)
    if reply.status == 200:
        return _whole(reply, asked, pin, whole_limit)
    if reply.status == 416:
        return _beyond(reply, asked, pin)
    if reply.status == 412:
        raise _changed(asked.address)
    raise refusal(reply, asked.address)


def _beyond(reply: Reply, asked: RangeQuery, pin: Pin | None) -> Body:
    """Return an empty body for status 416 if the file is empty; otherwise raise an error."""
    said = reply.headers.get("content-range", "").strip()
    reply.read_error()
    if pin is None and asked.start == 0 and (said == "bytes */0" or (not said and reply.code == "InvalidRange")):
        return Body(_pin_of(reply, 0), 0, 0)
    if pin is not None and said and said != f"bytes */{pin.size}":
        raise _changed(asked.address)
    text = f"{asked.address.shown}: the server refuses bytes {ends_text(asked.start, asked.stop)} (status 416)"
    raise RangeRefused(f"{text}, but the file is not empty", status=416, remedy=Remedy.COPY)


def _part(reply: Reply, asked: RangeQuery, pin: Pin | None) -> Body:
    shown = asked.address.shown
    found = _RANGE.fullmatch(reply.headers.get("content-range", "").strip())
    if found is None:
        raise RangeRefused(f"{shown}: the response has no valid Content-Range", status=206, remedy=Remedy.COPY)
    first, last, size = (int(number) for number in found.groups())
    if pin is not None and size != pin.size:
        raise _changed(asked.address)
    if first != asked.start or last + 1 != min(asked.stop, size):
        wanted = ends_text(asked.start, asked.stop)
        text = f"{shown}: the server sends bytes {ends_text(first, last + 1)}; {wanted} were requested"
        raise RangeRefused(text, status=206, remedy=Remedy.COPY)
    return Body(_same(reply, size, pin, asked.address), first, last + 1)


def _whole(reply: Reply, asked: RangeQuery, pin: Pin | None, limit: int) -> Body:
    length = reply.headers.get("content-length", "")
    size = int(length) if length.isascii() and length.isdigit() else None
    if pin is not None and size is not None and size != pin.size:
        raise _changed(asked.address)
    if size is not None and size > limit:
        text = f"{asked.address.shown}: the server does not support ranges and returns the whole file of {size:,} bytes"
        raise RangeRefused(f"{text}; the limit is {limit:,}", status=200, remedy=Remedy.LIMIT_FETCH)
    return Body(_same(reply, size if size is not None else -1, pin, asked.address), 0, size)


def _same(reply: Reply, size: int, pin: Pin | None, address: Address) -> Pin:
    now = _pin_of(reply, size)
    if pin is None:
        return now
    if now.encoding != pin.encoding:
        raise _changed(address)
    for then, said in ((pin.etag, now.etag), (pin.version, now.version)):
        if then and said and then.removeprefix("W/") != said.removeprefix("W/"):
            raise _changed(address)
    if not (pin.etag and now.etag) and pin.modified and now.modified and pin.modified != now.modified:
        raise _changed(address)
    return pin


def _pin_of(reply: Reply, size: int) -> Pin:
    headers = reply.headers
    encoding = headers.get("content-encoding", "").strip().lower()
    version = headers.get("x-amz-version-id", "") or headers.get("x-goog-generation", "")
    return Pin(
        size,
        headers.get("etag", ""),
        headers.get("last-modified", ""),
        "" if version == "null" else version,
        "" if encoding in _UNPACKED else encoding,
    )


def _changed(address: Address) -> SourceChanged:
    return SourceChanged(f"{address.shown} was changed on the server", remedy=Remedy.REOPEN)


def packed(address: Address, encoding: str) -> RangeRefused:
    text = f"{address.shown} is sent compressed (Content-Encoding: {encoding[:40]}): ranges of it cannot be read"
    return RangeRefused(text, remedy=Remedy.COPY)


def refusal(reply: Reply, address: Address, *, writing: bool = False) -> Exception:
    """Return the error for a response without the requested bytes; `Broken` if a retry may help."""
    reply.read_error()
    status, code, shown = reply.status, reply.code, address.shown
    if code == "RequestTimeTooSkewed":
        text = f"the clocks of this machine and of {address.host} differ too much"
        return ClockSkewed(text, status=status, remedy=Remedy.CLOCK)
    if code in _EXPIRED:
        return CredentialsRefused(f"the credentials for {shown} have expired", status=status, remedy=Remedy.RENEW)
    if code in _UNKNOWN:
        text = f"the credentials for {shown} are not accepted ({code})"
        return CredentialsRefused(text, status=status, remedy=Remedy.OTHER_LOGIN)
    if code in _ELSEWHERE or (300 <= status < 400):
        return _elsewhere(reply, address)
    if status in (429, 408) or (status >= 500 and status != NOT_IMPLEMENTED) or code in _BUSY:
        text = f"{address.host} is overloaded or failing (status {status})"
        after = reply.headers.get("retry-after", "").strip()
        seconds = min(float(after), MOST_WAIT) if after.isascii() and after.isdigit() else 0.0
        return Broken(ServerFailed(text, status=status, remedy=Remedy.AGAIN), after=seconds)
    if status in (404, 410):
        text = f"bucket {address.place} not found" if code == "NoSuchBucket" else f"{shown} not found"
        return NoSuchObject(text, status=status)
    if status == 407:
        return ProxyFailed(f"the proxy for {address.host} does not accept the login", status=407, remedy=Remedy.PROXY)
    done = "written" if writing else "read"
    if status in (401, 403):
        return _denied(reply, address, done)
    return RemoteError(f"{shown} cannot be {done}: the server returned {status}" + (f" ({code})" if code else ""))


def _elsewhere(reply: Reply, address: Address) -> RemoteError:
    status, shown = reply.status, address.shown
    if status == 304:
        text = f"{shown}: the server returned 304 Not Modified, without content"
        return RangeRefused(text, status=status, remedy=Remedy.COPY)
    if not address.in_store:
        return RangeRefused(f"{shown} is redirected without an address (status {status})", status=status)
    where = reply.headers.get("x-amz-bucket-region", "")
    text = f"{shown} is in another region" + (f": {where[:40]}" if where else "")
    return WrongRegion(text, status=status, remedy=Remedy.REGION)


def _denied(reply: Reply, address: Address, done: str) -> RemoteError:
    status, shown, login = reply.status, address.shown, reply.login
    if address.query:
        text = f"{shown} may not be {done} with this signed address; it may have expired"
        return Forbidden(text, status=status, remedy=Remedy.RENEW)
    if status == 401 and login is Login.GIVEN:
        text = f"the login for {shown} is not accepted (status 401)"
        return CredentialsRefused(text, status=status, remedy=Remedy.OTHER_LOGIN)
    if status == 401 and login is Login.NONE:
        return Forbidden(f"{shown} may not be {done} without a login (status 401)", status=status, remedy=Remedy.LOGIN)
    remedy = {Login.UNSIGNED: Remedy.PROFILE, Login.SIGNED: Remedy.RIGHTS, Login.PAYING: Remedy.RIGHTS}.get(login)
    if login is Login.SIGNED and address.scheme == "s3" and status == 403:
        remedy = Remedy.PAYER
    return Forbidden(f"{shown} may not be {done} (status {status})", status=status, remedy=remedy)
