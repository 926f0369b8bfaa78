"""Parsing of remote addresses, including pages of cloud consoles and Hugging Face; display without secrets."""

from __future__ import annotations

import os
import re
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import UsageError
from shardcore.model.text import visible
from shardcore.sources.base import check_name

SCHEMES = ("s3", "gs", "http", "https", "hf")
STORES = ("s3", "gs")
"""Schemes of stores with buckets; buckets can be listed."""

HUB = "https://huggingface.co"
"""Server of `hf://` addresses; `HF_ENDPOINT` replaces it."""

_PRECOMPUTED = "precomputed://"
_PIPE = "|neuroglancer-precomputed:"
_KEPT = "/%:@!$&'()*+,;=~-._[]"
"""Special characters of a path that are not percent-encoded."""

_OTHER_NAMES = {"s3a": "s3", "s3n": "s3"}
"""Names of the scheme `s3` in Hadoop and Spark."""

_AZURE = ".blob.core.windows.net"
# Compiled only when an address is parsed.
_SCHEME = r"(?i)\s*(?:([a-z][a-z0-9+.-]+)://|(arn):aws[a-z-]*:)"
_VERSION = r"(?:^|\?)versionId=([A-Za-z0-9._~+-]{1,1024})$"
_REGION = r"[a-z]{2}-[a-z0-9-]{1,30}"
_LINK = "#!"
"""Start of the state in a Neuroglancer link."""

_ARN = r"(?s)arn:aws[a-z-]*:(?P<service>[a-z0-9-]*):(?P<region>[^:]*):(?P<account>[^:]*):(?P<rest>.*)"
_AWS_CONSOLE = (
    r"(?:(?P<region>[a-z]{2}-[a-z0-9-]+|s3)\.)?console\.(?:aws\.amazon\.com|amazonaws\.cn|amazonaws-us-gov\.com)"
)
_AWS_PAGE = r"/s3/(?P<page>object|buckets)/(?P<bucket>[^/]+)(?:/(?P<key>.*))?"
_GOOGLE_CONSOLE = "console.cloud.google.com"
_GOOGLE_PAGE = r"/storage/browser/(?P<object>_details/)?(?P<bucket>[^/;]+)(?:/(?P<key>[^;]*))?(?:;.*)?"
_REPOSITORY = r"(?P<repo>(?:datasets/|spaces/|(?!datasets/|spaces/))[^/@]+/[^/@]+)"
_REVISION = r"refs/(?:convert|pr)/[^/]+|[^/]+"
_HUB_PAGE = rf"/{_REPOSITORY}/(?:blob|resolve|raw)/(?P<revision>{_REVISION})/(?P<path>.+)"
_HUB_QUERIES = ("", "download=true")
_HUB_ADDRESS = rf"{_REPOSITORY}(?:@(?P<revision>{_REVISION}))?(?:/(?P<path>.*))?"
_VIRTUAL_HOST = (
    r"(?P<bucket>[a-z0-9][a-z0-9.-]*)\.s3"
    r"(?:[.-]dualstack)?(?:[.-](?P<region>[a-z]{2}-[a-z0-9-]+))?\.amazonaws\.com(?:\.cn)?"
)
_PATH_HOST = r"s3(?:[.-]dualstack)?(?:[.-](?P<region>[a-z]{2}-[a-z0-9-]+))?\.amazonaws\.com(?:\.cn)?"
_GOOGLE_HOST = "storage.googleapis.com"
_GOOGLE_VIRTUAL_HOST = r"(?P<bucket>[a-z0-9][a-z0-9._-]*)\.storage\.googleapis\.com"


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """Address of a remote file or folder.

    Attributes:
        scheme: One of `SCHEMES`.
        place: Bucket, server with port, or hub repository: `datasets/owner/name@revision`.
        path: Key, or percent-encoded path, without leading slash. A folder ends with `/`; the root is empty.
        query: Text after `?`; never shown, because a presigned address contains its signature there.
        login: `user:password`, never shown.
        region: Region in the host name of Amazon S3.
        version: Version of the object; empty for the newest.
    """

    scheme: str
    place: str
    path: str
    query: str = ""
    login: str = ""
    region: str = ""
    version: str = ""

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def __str__(self) -> str:
        return self.shown

    @property
    def shown(self) -> str:
        """The address without query and login, for people, logs and titles. A version is not secret."""
        version = f"?versionId={self.version}" if self.version else ""
        return f"{self.scheme}://{self.place}/{self.path}{version}"

    @property
    def is_public(self) -> bool:
        """True if the address contains no secrets, so that `shown` opens the same file."""
        return not self.query and not self.login

    @property
    def is_single_file(self) -> bool:
        """True if query or version belong to this file only: a signature for the file, or a version of it."""
        return bool(self.query or self.version) and not self._signs_all

    @property
    def _signs_all(self) -> bool:
        """True if the query is an Azure shared access signature for a container, folder or account."""
        given = parse_qs(self.query)
        return "sig" in given and "sv" in given and (given.get("sr", [""])[0] in ("c", "d") or "srt" in given)

    @property
    def in_store(self) -> bool:
        return self.scheme in STORES

    @property
    def is_folder(self) -> bool:
        return not self.path or self.path.endswith("/")

    @property
    def name(self) -> str:
        last = self.path.rstrip("/").rsplit("/", 1)[-1] or self.place
        return last if self.in_store else unquote(last)

    @property
    def folder(self) -> Address:
        return self._moved(self.path[: self.path.rfind("/") + 1])

    @property
    def as_folder(self) -> Address:
        return self if self.is_folder else self._moved(self.path + "/")

    @property
    def parent(self) -> Address | None:
        if not self.path:
            return None
        return self._moved(self.path[: self.path.rstrip("/").rfind("/") + 1])

    def inside(self, name: str) -> Address:
        """Return the address of a file by its relative name in this folder; SourceError if the name leaves it."""
        checked = check_name(name)
        return self._moved(self.path + (checked if self.in_store else quote(checked)))

    def _moved(self, path: str) -> Address:
        return replace(self, path=path, query=self.query if self._signs_all else "", version="")

    @property
    def url(self) -> str:
        """The URL to request. It contains the query, so it must not be displayed."""
        if self.scheme == "hf":
            repo, _, revision = self.place.partition("@")
            return f"{_hub()}/{repo}/resolve/{quote(revision or 'main', safe='')}/{self.path}"
        query = self.query or (f"versionId={self.version}" if self.version else "")
        return f"{self.scheme}://{self.place}/{self.path}" + (f"?{query}" if query else "")

    @property
    def text(self) -> str:
        """The address as `parse_address` accepts it. It contains login and query, so it must not be displayed."""
        if self.is_public:
            return self.shown
        login = f"{quote(self.login, safe=':')}@" if self.login else ""
        return f"{self.scheme}://{login}{self.url.partition('://')[2]}"

    def with_login_of(self, other: Address) -> Address:
        """Return this address with the login (or signature for all files) of `other`, if that is on the same server."""
        if (self.scheme, self.place) != (other.scheme, other.place):
            return self
        return replace(self, login=other.login, query=other.query if other._signs_all else self.query)

    @property
    def server(self) -> tuple[str, str]:
        parts = urlsplit(self.url)
        return parts.scheme, parts.netloc

    @property
    def host(self) -> str:
        return self.server[1] if self.scheme == "hf" else self.place

    @property
    def store(self) -> Address | None:
        """The `s3://` or `gs://` address, for a web address of Amazon S3 or Google Cloud Storage; else None."""
        if self.in_store:
            return self
        if self.query or self.login:
            return None
        key, kept = unquote(self.path), self.version
        if found := re.fullmatch(_VIRTUAL_HOST, self.place):
            return Address("s3", found["bucket"], key, region=found["region"] or "", version=kept)
        if found := re.fullmatch(_GOOGLE_VIRTUAL_HOST, self.place):
            return Address("gs", found["bucket"], key)
        scheme, region = "", ""
        if found := re.fullmatch(_PATH_HOST, self.place):
            scheme, region = "s3", found["region"] or ""
        elif self.place == _GOOGLE_HOST:
            scheme = "gs"
        bucket, _, key = key.partition("/")
        return Address(scheme, bucket, key, region=region, version=kept) if scheme and bucket else None


def is_address(value: object) -> bool:
    """Return whether a text is `scheme://…` (except `file`) or `arn:aws:…`."""
    found = re.match(_SCHEME, value) if isinstance(value, str) and ":" in value else None
    return found is not None and (found[1] or "").lower() != "file"


def plain_address(text: str) -> str:
    address = parse_address(text)
    return address.shown if address.is_public else text


def shown_address(text: str) -> str:
    """Return a text for display: an address without query and login, any other text unchanged."""
    if not is_address(text):
        return text
    text = text.partition(_LINK)[0] if is_viewer_link(text) else text
    try:
        return parse_address(text).shown
    except UsageError:
        return text.split("?", 1)[0].rsplit("@", 1)[-1]


def parse_address(text: str) -> Address:
    body = text.strip()
    folder = False
    if body.lower().startswith(_PRECOMPUTED):
        body, folder = body[len(_PRECOMPUTED) :], True
    if _PIPE in body:
        body, folder = body.split(_PIPE, 1)[0], True
    scheme, separator, rest = body.partition("://")
    scheme = _OTHER_NAMES.get(scheme.lower(), scheme.lower())
    if body[:4].lower() == "arn:":
        address = _arn_address(body)
    elif not separator or scheme not in SCHEMES:
        kinds = ", ".join(f"{one}://" for one in SCHEMES)
        raise UsageError(f"{visible(scheme[:40])}:// addresses are not supported (supported: {kinds}, precomputed://)")
    elif scheme == "hf":
        address = _hub_address(rest)
    else:
        address = _bucket_address(scheme, rest) if scheme in STORES else _web_address(body)
    return address.as_folder if folder else address


def is_viewer_link(text: str) -> bool:
    """Return whether a text is a Neuroglancer link: a web page with its state after `#!`."""
    return _LINK in text and text.lstrip().lower().startswith(("http://", "https://"))


def _bucket_address(scheme: str, rest: str) -> Address:
    """Return the address of `bucket/key[?versionId=…]`. The key is used as written, without percent-decoding."""
    if rest.lower().startswith("arn:"):
        return _arn_address(rest)
    version = re.search(_VERSION, rest) if scheme == "s3" else None
    bucket, _, key = (rest[: version.start()] if version else rest).partition("/")
    if not bucket or any(letter in bucket for letter in "@?#:"):
        raise UsageError(f"invalid address; expected {scheme}://bucket/key")
    key = key.lstrip("/") if not key.strip("/") else key
    return Address(scheme, bucket, key, version=version[1] if version else "")


def _arn_address(text: str) -> Address:
    found = re.fullmatch(_ARN, text)
    if found is None:
        raise UsageError("invalid Amazon Resource Name; expected arn:aws:s3:::bucket/key")
    if found["rest"].startswith(("accesspoint", "outpost")) or found["service"] in ("s3-object-lambda", "s3-outposts"):
        raise UsageError("access points are not supported: give the address of the bucket, s3://bucket/key")
    if found["service"] != "s3" or found["region"] or found["account"]:
        raise UsageError("this Amazon Resource Name is not supported; expected arn:aws:s3:::bucket/key")
    return _bucket_address("s3", found["rest"])


def _hub() -> str:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or HUB


def _hub_address(rest: str) -> Address:
    found = re.fullmatch(_HUB_ADDRESS, rest)
    if found is None:
        raise UsageError("invalid Hugging Face address; expected hf://[datasets/|spaces/]owner/name[@revision]/path")
    return _in_repository(found["repo"], found["revision"] or "", found["path"] or "")


def _in_repository(repo: str, revision: str, path: str) -> Address:
    place = f"{repo}@{unquote(revision)}" if revision and revision != "main" else repo
    return Address("hf", place, quote(unquote(path), safe=_KEPT))


def _web_address(body: str) -> Address:
    if is_viewer_link(body):
        raise UsageError("this Neuroglancer link has layers in it: open one of them")
    try:
        parts = urlsplit(body)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError("the address is invalid: its server or port cannot be parsed") from error
    if not host:
        raise UsageError("the address has no server")
    if (page := _page_address(parts, host)) is not None:
        return page
    host = f"[{host}]" if ":" in host else host
    place = f"{host}:{port}" if port is not None else host
    login = unquote(parts.netloc.rpartition("@")[0])
    path = quote(parts.path.removeprefix("/"), safe=_KEPT)
    scheme = parts.scheme.lower()
    if scheme == "http" and host.endswith(_AZURE) and parts.query:
        raise UsageError(f"the signature of this address is sent over TLS only: use https://{host}")
    if version := re.match(_VERSION, parts.query):
        return Address(scheme, place, path, login=login, version=version[1])
    return Address(scheme, place, path, parts.query, login)


def _page_address(parts: SplitResult, host: str) -> Address | None:
    if console := re.fullmatch(_AWS_CONSOLE, host):
        return _amazon_page(parts, console["region"] or "")
    if host == _GOOGLE_CONSOLE:
        return _google_page(parts)
    of_hub = f"{parts.scheme}://{parts.netloc}" == _hub() and parts.query in _HUB_QUERIES
    if of_hub and (found := re.fullmatch(_HUB_PAGE, parts.path)) is not None:
        return _in_repository(found["repo"], found["revision"], found["path"])
    if host == "storage.cloud.google.com":
        # Addresses for browsers with a login; programs use the bucket.
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        return _bucket_address("gs", f"{bucket}/{key}")
    return None


def _amazon_page(parts: SplitResult, host_region: str) -> Address:
    found = re.fullmatch(_AWS_PAGE, unquote(parts.path))
    if found is None:
        raise UsageError("this page of the AWS console shows no object or bucket: give an address s3://bucket/key")
    if found["bucket"].startswith("arn:"):
        return _arn_address(found["bucket"] + (f"/{found['key']}" if found["key"] else ""))
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    key = query.get("prefix", "") or found["key"] or ""
    region = query.get("region", "") or (host_region if host_region != "s3" else "")
    address = _bucket_address("s3", f"{found['bucket']}/{key}")
    version = query.get("versionId", "") if found["page"] == "object" else ""
    return replace(address, region=region if re.fullmatch(_REGION, region) else "", version=version)


def _google_page(parts: SplitResult) -> Address:
    found = re.fullmatch(_GOOGLE_PAGE, parts.path)
    if found is None or (found["object"] and not found["key"]):
        raise UsageError("this page of the Google console shows no object or bucket: give an address gs://bucket/key")
    key = unquote(found["key"] or "")
    if not found["object"] and key and not key.endswith("/"):
        key += "/"  # the page of a bucket lists folders; objects have a page of their own
    return _bucket_address("gs", f"{unquote(found['bucket'])}/{key}")
