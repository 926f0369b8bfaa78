"""Validation of responses: same file as before, exactly the requested bytes. Also the errors for refusals."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shardcore.errors import (
    ClockSkewed,
    CredentialsRefused,
    Forbidden,
    NoSuchObject,
    ProxyFailed,
    RangeRefused,
    Remedy,
    RemoteError,
    ServerFailed,
    SourceChanged,
    WrongRegion,
)
from shardcore.model.number_text import ends_text
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.response import Broken, Login, RangeQuery, Reply

MOST_WAIT = 20.0
"""Maximum seconds of `Retry-After`."""

NOT_IMPLEMENTED = 501
"""HTTP status; retries do not help."""

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
        """Size and ETag, if the ETag is an MD5, as in stores; other ETags may be the same for different files."""
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
    said = reply.headers.get("content-range", "")
    found = _RANGE.fullmatch(said.strip())
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
    text = f"{address.shown} is sent compressed (Content-Encoding: {encoding[:40]}); its ranges would be wrong"
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
        return Broken(ServerFailed(text, status=status, remedy=Remedy.AGAIN), after=_wait(reply))
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


def _wait(reply: Reply) -> float:
    after = reply.headers.get("retry-after", "").strip()
    return min(float(after), MOST_WAIT) if after.isascii() and after.isdigit() else 0.0
