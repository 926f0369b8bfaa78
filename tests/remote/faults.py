"""A proxy that does to a server's answers what networks and stores do to them, on a schedule.

`FaultProxy(upstream, [faults])` hands requests through; each fault says to which of them it
happens, the same ones each time.
"""

from __future__ import annotations

import http.client
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from tests.remote.serving import PIECE, Answer, HttpServer, Request

Schedule = Callable[[Request], bool]
"""Whether a fault happens to a request; `Request.number` counts from 0 at the proxy."""


def always(request: Request) -> bool:
    """To every request."""
    return True


def after(count: int) -> Schedule:
    """To every request but the first `count`."""
    return lambda request: request.number >= count


def burst(first: int, count: int) -> Schedule:
    """To `count` requests, from number `first` on."""
    return lambda request: first <= request.number < first + count


def again() -> Schedule:
    """To every request for something that was asked for before."""
    seen: set[str] = set()

    def struck(request: Request) -> bool:
        known = request.path in seen
        seen.add(request.path)
        return known

    return struck


def seeded(rate: float, seed: int = 1) -> Schedule:
    """To a share of the requests, chosen by their numbers; the same ones each time."""
    return lambda request: random.Random(f"{seed}/{request.number}").random() < rate


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that happens to an answer.

    Attributes:
        when: To which requests.
        only: A part of the paths to which it happens.
    """

    when: Schedule = field(default=always, kw_only=True)
    only: str = field(default="", kw_only=True)

    def before(self, request: Request) -> Request | Answer:
        """The request as the server is to see it, or an answer that the server has no part in."""
        return request

    def change(self, request: Request, answer: Answer) -> Answer:
        """The answer as the client is to see it."""
        return answer


@dataclass(frozen=True, slots=True)
class Late(Fault):
    """The answer begins so many seconds late."""

    seconds: float = 0.2

    def change(self, request: Request, answer: Answer) -> Answer:
        """Later."""
        return replace(answer, late=answer.late + self.seconds)


@dataclass(frozen=True, slots=True)
class Drop(Fault):
    """The connection is closed without an answer."""

    def before(self, request: Request) -> Request | Answer:
        """Nothing."""
        return Answer(0)


@dataclass(frozen=True, slots=True)
class Lost(Fault):
    """The server does what it is asked, and its answer is lost."""

    def change(self, request: Request, answer: Answer) -> Answer:
        """Nothing."""
        for _ in answer.body if not isinstance(answer.body, bytes) else ():
            pass
        return Answer(0)


@dataclass(frozen=True, slots=True)
class Cut(Fault):
    """The connection breaks when a share of the body has been sent."""

    share: float = 0.5

    def change(self, request: Request, answer: Answer) -> Answer:
        """A part of it."""
        return replace(answer, cut=int(_length(answer) * self.share))


@dataclass(frozen=True, slots=True)
class Short(Fault):
    """The body is one byte shorter than its range, and its `Content-Length` says so, too: a proxy lost it."""

    def change(self, request: Request, answer: Answer) -> Answer:
        """One byte less."""
        data = b"".join([answer.body] if isinstance(answer.body, bytes) else answer.body)
        return replace(answer, body=data[:-1], headers=answer.headers | {"Content-Length": str(max(len(data) - 1, 0))})


@dataclass(frozen=True, slots=True)
class Stall(Fault):
    """The body stops for ever when a share of it has been sent; with `share=0` no byte of it comes."""

    share: float = 0.5

    def change(self, request: Request, answer: Answer) -> Answer:
        """A part of it, and silence."""
        return replace(answer, stall=int(_length(answer) * self.share))


@dataclass(frozen=True, slots=True)
class Mute(Late):
    """Nothing is answered for an hour, or until the proxy stops: not even a status line."""

    seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class Endless(Fault):
    """After some bytes the same ones come again and again: there is no end, and no silence."""

    again: bytes = b"HTTP/1.1 100 Continue\r\n\r\n"
    first: bytes = b""

    def change(self, request: Request, answer: Answer) -> Answer:
        """Those bytes."""
        return replace(answer, endless=(self.first, self.again))


@dataclass(frozen=True, slots=True)
class Whole(Fault):
    """The range is lost on the way: 200 and everything."""

    def before(self, request: Request) -> Request | Answer:
        """Without the range."""
        return replace(request, headers={k: v for k, v in request.headers.items() if k != "range"})


@dataclass(frozen=True, slots=True)
class WrongRange(Fault):
    """206 with the bytes of another place and their label; or with `lie`, the right bytes with a wrong label."""

    shift: int = 16
    lie: bool = False

    def before(self, request: Request) -> Request | Answer:
        """Another range."""
        found = re.fullmatch(r"(\d+)-(\d+)", request.range)
        if self.lie or found is None or int(found[2]) - int(found[1]) < self.shift:
            return request
        moved = f"bytes={int(found[1]) + self.shift}-{found[2]}"
        return replace(request, headers={**request.headers, "range": moved})

    def change(self, request: Request, answer: Answer) -> Answer:
        """Another label."""
        if not self.lie or answer.status != 206:
            return answer
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", _header(answer, "content-range"))
        assert found is not None, answer.headers
        start, stop, size = (int(word) for word in found.groups())
        return _with(answer, "Content-Range", f"bytes {start + self.shift}-{stop + self.shift}/{size + 2 * self.shift}")


@dataclass(frozen=True, slots=True)
class NoLabel(Fault):
    """206 without `Content-Range`."""

    def change(self, request: Request, answer: Answer) -> Answer:
        """Without it."""
        return replace(answer, headers={k: v for k, v in answer.headers.items() if k.lower() != "content-range"})


@dataclass(frozen=True, slots=True)
class OtherTag(Fault):
    """The object was replaced by one of the same size, and the server does not know `If-Match`.

    Attributes:
        tag: The new entity tag; empty for none, with another `Last-Modified`.
    """

    tag: str = '"another"'

    def before(self, request: Request) -> Request | Answer:
        """Without the condition."""
        return replace(request, headers={k: v for k, v in request.headers.items() if k != "if-match"})

    def change(self, request: Request, answer: Answer) -> Answer:
        """Other bytes under another tag: whoever mixes them with the first ones is caught by the digests."""
        if answer.status not in (200, 206) or "list-type=" in request.target:
            return answer
        headers = {k: v for k, v in answer.headers.items() if k.lower() not in ("etag", "last-modified")}
        headers |= {"ETag": self.tag} if self.tag else {}
        headers["Last-Modified"] = "Tue, 21 Nov 2023 22:13:20 GMT"
        data = [answer.body] if isinstance(answer.body, bytes) else answer.body
        return replace(answer, headers=headers, body=(bytes(255 - byte for byte in piece) for piece in data))


@dataclass(frozen=True, slots=True)
class Refuse(Fault):
    """An error of a store, in XML: `SlowDown`, `AccessDenied`, `ExpiredToken` and others.

    Attributes:
        code: The code of S3.
        headers: Further header lines.
    """

    code: str = "SlowDown"
    headers: tuple[tuple[str, str], ...] = ()

    def before(self, request: Request) -> Request | Answer:
        """The error."""
        return s3_error(self.code, dict(self.headers))


@dataclass(frozen=True, slots=True)
class OtherRegion(Fault):
    """The bucket lives in another region: 301 or 307 with its name, until the request is signed for it or comes there.

    Attributes:
        region: The right one.
        status: 301 (no address), 307 (temporary, with `Location`), 400 (a signature for the wrong region).
        to: The address there, without a slash; empty for none.
    """

    region: str = "eu-central-1"
    status: int = 301
    to: str = ""

    def before(self, request: Request) -> Request | Answer:
        """The redirect, unless the signature names the region."""
        if f"/{self.region}/s3/" in request.headers.get("authorization", ""):
            return request
        headers = {"x-amz-bucket-region": self.region}
        if self.to:
            headers["Location"] = self.to + request.target
        code = {301: "PermanentRedirect", 307: "TemporaryRedirect", 400: "AuthorizationHeaderMalformed"}[self.status]
        return s3_error(code, headers, self.status, f"<Region>{self.region}</Region>")


@dataclass(frozen=True, slots=True)
class NoListing(Fault):
    """The right to list a bucket is missing; what is named can be read."""

    def before(self, request: Request) -> Request | Answer:
        """Refuse a listing."""
        return s3_error("AccessDenied") if "list-type=" in request.target else request


CODES = {
    "SlowDown": (503, "Please reduce your request rate."),
    "ServiceUnavailable": (503, "Please try again."),
    "InternalError": (500, "We encountered an internal error. Please try again."),
    "AccessDenied": (403, "Access Denied"),
    "InvalidAccessKeyId": (403, "The AWS Access Key Id you provided does not exist in our records."),
    "SignatureDoesNotMatch": (403, "The request signature we calculated does not match the signature you provided."),
    "ExpiredToken": (400, "The provided token has expired."),
    "RequestTimeTooSkewed": (403, "The difference between the request time and the current time is too large."),
    "NoSuchKey": (404, "The specified key does not exist."),
    "NoSuchBucket": (404, "The specified bucket does not exist"),
    "PermanentRedirect": (301, "The bucket you are attempting to access must be addressed using another endpoint."),
    "TemporaryRedirect": (307, "Please re-send this request to the specified temporary endpoint."),
    "AuthorizationHeaderMalformed": (400, "The authorization header is malformed; the region is wrong"),
    "PreconditionFailed": (412, "At least one of the pre-conditions you specified did not hold"),
}
"""Codes of S3, with the status and the message that S3 sends with them."""


def s3_error(code: str, headers: dict[str, str] | None = None, status: int = 0, more: str = "") -> Answer:
    """An error as S3 writes it."""
    usual, message = CODES[code]
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{code}</Code><Message>{message}</Message>{more}<RequestId>0123456789ABCDEF</RequestId></Error>"
    )
    told = {"Content-Type": "application/xml", "x-amz-request-id": "0123456789ABCDEF"}
    return Answer(status or usual, told | (headers or {}), text.encode())


class FaultProxy(HttpServer):
    """Stands before a server; without faults it only counts.

    Args:
        upstream: `host:port` of the server.
        faults: What happens; the first that fits a request does.
        latency: Seconds before each answer begins.
    """

    def __init__(self, upstream: str, faults: Iterable[Fault] = (), *, latency: float = 0.0) -> None:
        super().__init__(self._through, latency=latency)
        self.upstream = upstream
        self.faults = list(faults)
        self.struck: list[int] = []

    def _through(self, request: Request) -> Answer:
        fault = next((one for one in self.faults if one.only in request.path and one.when(request)), None)
        if fault is None:
            return self._forward(request)
        self.struck.append(request.number)
        told = fault.before(request)
        answer = told if isinstance(told, Answer) else self._forward(told)
        return fault.change(request, answer)

    def _forward(self, request: Request) -> Answer:
        """Asks the server. A connection for each request: what breaks on one side does not wait on the other."""
        connection = http.client.HTTPConnection(self.upstream, timeout=30)
        try:
            connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers.items():
                if name not in ("connection", "expect", "transfer-encoding", "content-length"):
                    connection.putheader(name, value)
            if request.body or request.method in ("PUT", "POST"):
                connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body or None)
            response = connection.getresponse()
        except BaseException:
            connection.close()
            raise
        headers = {k: v for k, v in response.getheaders() if k.lower() not in ("connection", "keep-alive", "server")}
        if request.method == "HEAD" or response.status in (204, 304):
            connection.close()
            return Answer(response.status, headers)
        pieces = iter(lambda: response.read(PIECE), b"")
        return Answer(response.status, headers, pieces, ended=connection.close)


def _header(answer: Answer, name: str) -> str:
    return next((value for key, value in answer.headers.items() if key.lower() == name), "")


def _with(answer: Answer, name: str, value: str) -> Answer:
    others = {key: text for key, text in answer.headers.items() if key.lower() != name.lower()}
    return replace(answer, headers=others | {name: value})


def _length(answer: Answer) -> int:
    if isinstance(answer.body, bytes):
        return len(answer.body)
    return int(_header(answer, "content-length") or 0)
