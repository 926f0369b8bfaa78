"""Addresses of remote things: what people paste, taken apart once; and how they are shown, without secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote, urlsplit

from shardcore.errors import UsageError
from shardcore.model.text import visible
from shardcore.sources.base import check_name

SCHEMES = ("s3", "gs", "http", "https")
STORES = ("s3", "gs")
"""Schemes with buckets, and folders that can be listed."""

_PRECOMPUTED = "precomputed://"
_PIPE = "|neuroglancer-precomputed:"
_KEPT = "/%:@!$&'()*+,;=~-._[]"
"""Characters of a path that are left as they were pasted."""

_SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_VIRTUAL_HOST = re.compile(
    r"(?P<bucket>[a-z0-9][a-z0-9.-]*)\.s3(?:[.-]dualstack)?(?:[.-](?P<region>[a-z]{2}-[a-z0-9-]+))?\.amazonaws\.com(?:\.cn)?"
)
_PATH_HOST = re.compile(r"s3(?:[.-]dualstack)?(?:[.-](?P<region>[a-z]{2}-[a-z0-9-]+))?\.amazonaws\.com(?:\.cn)?")
_GOOGLE_HOST = "storage.googleapis.com"


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """Address of a remote file or folder.

    Attributes:
        scheme: One of `SCHEMES`.
        place: The bucket, or the server with its port.
        path: The key, or the path of the address as it is sent, without the slash before it. A folder ends with `/`;
            the root of a bucket or server is empty.
        query: What follows the `?`: a presigned address has its signature there, so it is never shown.
        login: `user:password`, never shown.
        region: The region that a host of Amazon S3 names.
    """

    scheme: str
    place: str
    path: str
    query: str = ""
    login: str = ""
    region: str = ""

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def __str__(self) -> str:
        return self.shown

    @property
    def shown(self) -> str:
        """The address without query and login: the form for people, logs, titles and tapes."""
        return f"{self.scheme}://{self.place}/{self.path}"

    @property
    def in_store(self) -> bool:
        """Return whether it lies in a bucket."""
        return self.scheme in STORES

    @property
    def is_folder(self) -> bool:
        """Return whether it can only be a folder."""
        return not self.path or self.path.endswith("/")

    @property
    def name(self) -> str:
        """The last part, as people call it; the bucket or the server where there is no part."""
        last = self.path.rstrip("/").rsplit("/", 1)[-1] or self.place
        return last if self.in_store else unquote(last)

    @property
    def folder(self) -> Address:
        """The folder it lies in; a folder itself."""
        return replace(self, path=self.path[: self.path.rfind("/") + 1], query="")

    @property
    def as_folder(self) -> Address:
        """Return the address as that of a folder."""
        return self if self.is_folder else replace(self, path=self.path + "/", query="")

    @property
    def parent(self) -> Address | None:
        """The folder around a folder; None at the root."""
        if not self.path:
            return None
        return replace(self, path=self.path[: self.path.rstrip("/").rfind("/") + 1], query="")

    def inside(self, name: str) -> Address:
        """Return what lies at a relative name in a folder.

        Raises:
            SourceError: The name leaves the folder.
        """
        checked = check_name(name)
        return replace(self, path=self.path + (checked if self.in_store else quote(checked)), query="")

    @property
    def url(self) -> str:
        """Return what is sent over HTTP; has the query, so it is never shown."""
        return f"{self.scheme}://{self.place}/{self.path}" + (f"?{self.query}" if self.query else "")

    @property
    def store(self) -> Address | None:
        """Return the address in its bucket, for web addresses of Amazon S3 and Google Cloud Storage; else None."""
        if self.in_store:
            return self
        if self.query or self.login:
            return None
        key = unquote(self.path)
        if found := _VIRTUAL_HOST.fullmatch(self.place):
            return Address("s3", found["bucket"], key, region=found["region"] or "")
        scheme, region = "", ""
        if found := _PATH_HOST.fullmatch(self.place):
            scheme, region = "s3", found["region"] or ""
        elif self.place == _GOOGLE_HOST:
            scheme = "gs"
        bucket, _, key = key.partition("/")
        return Address(scheme, bucket, key, region=region) if scheme and bucket else None


def is_address(value: object) -> bool:
    """Return whether a text is a remote address (`scheme://…`, of whatever scheme)."""
    found = _SCHEME.match(value) if isinstance(value, str) else None
    return found is not None and found[1].lower() != "file"


def shown_address(text: str) -> str:
    """Return a text as it may be shown: addresses without query and login, everything else as it is."""
    if not is_address(text):
        return text
    try:
        return parse_address(text).shown
    except UsageError:
        return text.split("?", 1)[0].rsplit("@", 1)[-1]


def parse_address(text: str) -> Address:
    """Take an address apart.

    Raises:
        UsageError: It is none, or of another kind.
    """
    body = text.strip()
    folder = False
    if body.lower().startswith(_PRECOMPUTED):
        body, folder = body[len(_PRECOMPUTED) :], True
    if _PIPE in body:
        body, folder = body.split(_PIPE, 1)[0], True
    scheme, separator, rest = body.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in SCHEMES:
        kinds = ", ".join(f"{one}://" for one in SCHEMES)
        raise UsageError(f"{visible(scheme[:40])}:// addresses cannot be opened; there is {kinds} and precomputed://")
    address = _bucket_address(scheme, rest) if scheme in STORES else _web_address(body)
    return address.as_folder if folder else address


def _bucket_address(scheme: str, rest: str) -> Address:
    """Return an address of a store: everything after the bucket is the key, as stored."""
    bucket, _, key = rest.partition("/")
    if not bucket or any(letter in bucket for letter in "@?#:"):
        raise UsageError(f"an address in a store is {scheme}://bucket/key")
    return Address(scheme, bucket, key.lstrip("/") if not key.strip("/") else key)


def _web_address(body: str) -> Address:
    """Return an address of the web; a fragment is for browsers and is dropped."""
    try:
        parts = urlsplit(body)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError("the address is invalid: its server or port cannot be parsed") from error
    if not host:
        raise UsageError("the address has no server")
    host = f"[{host}]" if ":" in host else host
    place = f"{host}:{port}" if port is not None else host
    login = unquote(parts.netloc.rpartition("@")[0])
    path = quote(parts.path.removeprefix("/"), safe=_KEPT)
    return Address(parts.scheme.lower(), place, path, parts.query, login)
