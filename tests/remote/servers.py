"""Servers of files: with ranges, without, with what proxies and stores do to them."""

from __future__ import annotations

import gzip
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote
from xml.sax.saxutils import escape

from tests.remote.contents import Content, Held, Stored
from tests.remote.serving import PIECE, Answer, HttpServer, Request

S3_CODES = {403: "AccessDenied", 404: "NoSuchKey", 412: "PreconditionFailed", 416: "InvalidRange"}

MODIFIED = formatdate(1_700_000_000, usegmt=True)


@dataclass(frozen=True, slots=True)
class Manners:
    """How a range server behaves.

    Attributes:
        etag: `strong`, `weak` or `none`.
        modified: Whether it sends `Last-Modified`.
        ranges: Whether ranges are served; else every answer is 200 with the whole.
        suffix: Whether the last bytes can be asked for; else they are answered with `suffix_status`.
        suffix_status: 416 and 501 are seen in the wild; 200 is the whole.
        missing: The status of what is not there: 404, or 403 as of a bucket that nobody may list.
        gzip: `none`; `sent`: packed on the way, without a length, and ranges are lost; `stored`: the ranges are
            of the packed bytes, as stores give objects whose metadata say so.
        chunked: Whole bodies come without a length.
        accept: Whether it says `Accept-Ranges: bytes`.
    """

    etag: str = "strong"
    modified: bool = True
    ranges: bool = True
    suffix: bool = True
    suffix_status: int = 416
    missing: int = 404
    gzip: str = "none"
    chunked: bool = False
    accept: bool = True


class RangeServer(HttpServer):
    """Serves contents by path.

    Args:
        contents: By path, `/a/b.shard`; bytes and paths of files do, too.
        manners: How it behaves.
        limits: Latency, rate and room of `HttpServer`.
    """

    def __init__(
        self,
        contents: Mapping[str, Content | bytes | Path] | None = None,
        manners: Manners | None = None,
        **limits: Any,
    ) -> None:
        super().__init__(self.give, **limits)
        self.manners = manners or Manners()
        self.contents: dict[str, Content] = {}
        for path, content in (contents or {}).items():
            self.put(path, content)

    def put(self, path: str, content: Content | bytes | Path) -> str:
        """Serves `content` at `path` from now on; its address."""
        if isinstance(content, bytes):
            content = Held(content)
        elif isinstance(content, Path):
            content = Stored(content)
        self.contents[path] = content
        return self.url + path

    def put_folder(self, path: str, folder: Path) -> str:
        """Serves all files under `folder` below `path`; the address, which ends with a slash."""
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(f"{path}/{file.relative_to(folder).as_posix()}", file)
        return f"{self.url}{path}/"

    def behave(self, **changes: object) -> None:
        """Other manners from now on."""
        self.manners = replace(self.manners, **changes)  # type: ignore[arg-type]

    def give(self, request: Request) -> Answer:
        """The answer of a server of files."""
        manners = self.manners
        content = self.contents.get(unquote(request.path))
        if request.method not in ("GET", "HEAD"):
            return Answer(405)
        if content is None:
            return Answer(manners.missing, {"Content-Type": "text/plain"}, b"there is nothing here\n")
        headers = self._validators(content)
        wanted = request.headers.get("if-match")
        # Weak tags never match: RFC 9110, 13.1.1.
        if wanted is not None and wanted != "*" and (manners.etag != "strong" or content.etag not in wanted):
            return Answer(412, headers)
        if manners.gzip == "sent":
            headers |= {"Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}
            return Answer(200, headers, [packed(content.read(0, content.size))])
        if manners.gzip == "stored":
            headers["Content-Encoding"] = "gzip"
            content = Held(packed(content.read(0, content.size)))
        asked = request.range
        if not asked or not manners.ranges:
            return self._whole(content, headers)
        return self._part(content, headers, asked)

    def _validators(self, content: Content) -> dict[str, str]:
        manners = self.manners
        headers = {"Content-Type": "application/octet-stream"}
        if manners.etag != "none":
            headers["ETag"] = ("W/" if manners.etag == "weak" else "") + content.etag
        if manners.modified:
            headers["Last-Modified"] = MODIFIED
        if manners.accept and manners.ranges:
            headers["Accept-Ranges"] = "bytes"
        return headers

    def _whole(self, content: Content, headers: dict[str, str]) -> Answer:
        length = {"Transfer-Encoding": "chunked"} if self.manners.chunked else {"Content-Length": str(content.size)}
        return Answer(200, headers | length, pieces(content, 0, content.size))

    def _part(self, content: Content, headers: dict[str, str], asked: str) -> Answer:
        size = content.size
        found = re.fullmatch(r"(\d*)-(\d*)", asked)
        refused = Answer(416, headers | {"Content-Range": f"bytes */{size}"})
        if found is None or found.group() == "-":
            return self._whole(content, headers)
        if found[1]:
            start, stop = int(found[1]), min(int(found[2]) + 1, size) if found[2] else size
        elif self.manners.suffix:
            start, stop = max(size - int(found[2]), 0), size
        elif self.manners.suffix_status == 200:
            return self._whole(content, headers)
        else:
            refused.status = self.manners.suffix_status
            return refused
        if start >= stop:
            return refused
        told = {"Content-Range": f"bytes {start}-{stop - 1}/{size}", "Content-Length": str(stop - start)}
        return Answer(206, headers | told, pieces(content, start, stop))


class StoreServer(RangeServer):
    """Speaks enough of S3 for a reader, much faster than a whole S3: objects by `/bucket/key`, listings, XML errors."""

    def give(self, request: Request) -> Answer:
        """The answer of a store."""
        query = {key: values[0] for key, values in parse_qs(request.target.partition("?")[2]).items()}
        if "list-type" in query:
            return self._listing(unquote(request.path).strip("/"), query)
        answer = super().give(request)
        if answer.status in S3_CODES:
            code = S3_CODES[answer.status]
            answer.headers["Content-Type"] = "application/xml"
            answer.body = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        return answer

    def _listing(self, bucket: str, query: Mapping[str, str]) -> Answer:
        prefix, token = query.get("prefix", ""), query.get("continuation-token", "")
        keys = sorted(path.removeprefix(f"/{bucket}/") for path in self.contents if path.startswith(f"/{bucket}/"))
        entries: dict[str, int] = {}
        for key in keys:
            if key.startswith(prefix):
                rest, slash, _ = key[len(prefix) :].partition(query.get("delimiter", "\n"))
                entries[prefix + rest + slash] = -1 if slash else self.contents[f"/{bucket}/{key}"].size
        left = sorted(entry for entry in entries if entry > token)
        page = left[: int(query.get("max-keys", 1000))]
        parts = [f"<IsTruncated>{'true' if len(page) < len(left) else 'false'}</IsTruncated>"]
        parts += [f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>"] if len(page) < len(left) else []
        for entry in page:
            size = entries[entry]
            parts.append(
                f"<CommonPrefixes><Prefix>{escape(entry)}</Prefix></CommonPrefixes>"
                if size < 0
                else f"<Contents><Key>{escape(entry)}</Key><Size>{size}</Size></Contents>"
            )
        text = f"<ListBucketResult><Name>{bucket}</Name>{''.join(parts)}</ListBucketResult>"
        return Answer(200, {"Content-Type": "application/xml"}, text.encode())


class ManyKeysServer(StoreServer):
    """A store with one folder of so many objects that their listing is made page by page when it is asked for.

    Args:
        folder: The folder, `/bucket/folder/`.
        names: The names in it, sorted.
        content: What each of them holds.
        limits: Latency, rate and room of `HttpServer`.
    """

    def __init__(self, folder: str, names: Sequence[str], content: Content | bytes, **limits: Any) -> None:
        super().__init__(**limits)
        self.folder, self.names = folder, names
        self.content = Held(content) if isinstance(content, bytes) else content

    @property
    def listings(self) -> int:
        """Number of pages of listings that were requested."""
        return sum("list-type" in one.request.target for one in self.log)

    def give(self, request: Request) -> Answer:
        """As a store; each name of the folder is there."""
        path = unquote(request.path)
        name = path.removeprefix(self.folder)
        at = bisect_left(self.names, name)
        if path not in self.contents and name != path and at < len(self.names) and self.names[at] == name:
            self.contents[path] = self.content
        return super().give(request)

    def _listing(self, bucket: str, query: Mapping[str, str]) -> Answer:
        prefix = self.folder.removeprefix(f"/{bucket}/")
        if query.get("prefix", "") != prefix:
            return super()._listing(bucket, query)
        first = int(query.get("continuation-token", "0"))
        last = min(first + int(query.get("max-keys", 1000)), len(self.names))
        size = self.content.size
        text = "".join(
            f"<Contents><Key>{escape(prefix + name)}</Key><LastModified>2026-11-03T00:00:00.000Z</LastModified>"
            f"<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>{size}</Size>"
            "<StorageClass>STANDARD</StorageClass></Contents>"
            for name in self.names[first:last]
        )
        more = last < len(self.names)
        text += f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        text += f"<NextContinuationToken>{last}</NextContinuationToken>" if more else ""
        return Answer(200, {"Content-Type": "application/xml"}, f"<ListBucketResult>{text}</ListBucketResult>".encode())


class RedirectServer(HttpServer):
    """Sends every request elsewhere.

    Args:
        to: The root there, without a slash.
        status: 301, 302, 307 or 308.
    """

    def __init__(self, to: str, status: int = 302) -> None:
        super().__init__(lambda request: Answer(status, {"Location": to + request.target}))


@lru_cache(32)
def packed(data: bytes) -> bytes:
    """Bytes as gzip makes them, quickly."""
    return gzip.compress(data, 1, mtime=0)


def pieces(content: Content, start: int, stop: int) -> Iterator[bytes]:
    """A range of a content, piece by piece."""
    for first in range(start, stop, PIECE):
        yield content.read(first, min(first + PIECE, stop))
