"""As whom, and through which endpoint, remote places are reached: remembered without secrets. No Qt here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any
from urllib.parse import unquote

from shardcore import RemoteOptions, ShardError, UsageError
from shardcore.sources.remote.address import Address, parse_address

REMEMBERED = ("endpoint_url", "region", "profile", "requester_pays", "addressing")
"""Choices that are kept from one start to the next; keys are not among them."""

MOST_PLACES = 100


class Who(Enum):
    """As whom requests are made."""

    ANONYMOUS = "anonymous"
    PROFILE = "profile"
    KEYS = "keys"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Endpoint of a store that speaks S3.

    Attributes:
        name: What people call it.
        url: Its address; empty for the usual one of the address that is opened.
        path_style: Whether the bucket is stored in the path.
    """

    name: str
    url: str
    path_style: bool = False


_AS_USUAL = "usual"
"""Value of a connection without a choice; anonymous requests are a choice."""


ENDPOINTS = (
    Endpoint("Default (Amazon, Google)", ""),
    Endpoint("Google Cloud Storage, with HMAC keys", "https://storage.googleapis.com", path_style=True),
    Endpoint("MinIO on this machine", "http://127.0.0.1:9000", path_style=True),
    Endpoint("Cloudflare R2", "https://ACCOUNT.r2.cloudflarestorage.com"),
    Endpoint("Wasabi", "https://s3.wasabisys.com"),
    Endpoint("Backblaze B2", "https://s3.REGION.backblazeb2.com"),
)
"""Endpoints to begin with; every other one is typed."""


def who_of(options: RemoteOptions | None) -> Who:
    """As whom some options make requests; those who never said are anonymous."""
    if options is None or options.anonymous:
        return Who.ANONYMOUS
    if options.access_key:
        return Who.KEYS
    return Who.PROFILE if options.profile or options.anonymous is False else Who.ANONYMOUS


def place_of(uri: str) -> str:
    """Return what is reached in one way: a bucket, or a server; empty for what is no address."""
    try:
        address = parse_address(uri)
    except ShardError:
        return ""
    address = address.store or address
    return f"{address.scheme}://{address.place}/"


def _unsaid(options: RemoteOptions) -> bool:
    """Return whether nobody chose: requests are signed where the AWS configuration has credentials."""
    return options.anonymous is None and not options.profile and not options.access_key


def to_json(options: RemoteOptions) -> str:
    """Options without their secrets."""
    found: dict[str, Any] = {name: getattr(options, name) for name in REMEMBERED if getattr(options, name)}
    found["who"] = _AS_USUAL if _unsaid(options) else who_of(options).value
    return json.dumps(found, sort_keys=True)


def from_json(text: str) -> RemoteOptions | None:
    """Return the inverse of `to_json`; None where the text is invalid. Keys are forgotten: such a way is anonymous."""
    try:
        found = json.loads(text)
        values = {name: found[name] for name in REMEMBERED if name in found}
        if found.get("who") == _AS_USUAL:
            return RemoteOptions(**values)
        who = Who(found.get("who", "anonymous"))
        signed = None if values.get("profile") else False
        return RemoteOptions(**values, anonymous=signed if who is Who.PROFILE else True)
    except (ValueError, TypeError, AttributeError, UsageError):
        return None


def way_words(text: str) -> str:
    """Return a remembered way, as people say it: `anonymous`, `profile lab, http://127.0.0.1:9000`."""
    try:
        found = json.loads(text)
        usual = found.get("who") == _AS_USUAL
        who = Who.ANONYMOUS if usual else Who(found.get("who", "anonymous"))
    except (ValueError, AttributeError):
        return ""
    words = "" if usual else f"profile {found['profile']}" if found.get("profile") else who.value
    return ", ".join(str(one) for one in (words, found.get("endpoint_url")) if one)


class Connections:
    """The ways to remote places. Keys are held in memory, as long as the window is open.

    Args:
        remembered: What was kept from earlier, by place; see `kept`.
    """

    def __init__(self, remembered: Mapping[str, str]) -> None:
        self.kept = dict(remembered)
        self._secret: dict[str, RemoteOptions] = {}

    def way_to(self, uri: str) -> RemoteOptions | None:
        """Return how an address is reached; None when that was never chosen.

        A bucket goes to the endpoint at which it was opened, also when the keys are forgotten: its name is sent to no
        other store. An address of the web names its store itself.
        """
        place = place_of(uri)
        found = self._secret.get(place) or from_json(self.kept.get(place, ""))
        return None if found is not None and found.endpoint_url and not _is_bucket(uri) else found

    @property
    def endpoints(self) -> list[str]:
        """The endpoints that were used, the latest first."""
        ways = [from_json(text) for text in reversed(self.kept.values())]
        return list(dict.fromkeys(way.endpoint_url for way in ways if way is not None and way.endpoint_url))

    def offered_way(self, uri: str) -> RemoteOptions | None:
        """Return endpoint, region and addressing of the latest bucket, to be offered for a new one; or None."""
        if place_of(uri) in self.kept or not _is_bucket(uri):
            return None
        last = next((text for place, text in reversed(self.kept.items()) if place.startswith("s3://")), "")
        way = from_json(last)
        if way is None or not way.endpoint_url:
            return None
        return RemoteOptions(endpoint_url=way.endpoint_url, region=way.region, addressing=way.addressing)

    def is_unplaced(self, uri: str) -> bool:
        """Return whether a bucket may be at several stores: it is new, and others are at endpoints of their own."""
        return _is_bucket(uri) and place_of(uri) not in self.kept and bool(self.endpoints)

    def needs_keys(self, uri: str) -> bool:
        """Return whether the place was reached with keys that are forgotten by now."""
        place = place_of(uri)
        return place not in self._secret and '"who": "keys"' in self.kept.get(place, "")

    def remember(self, uri: str, options: RemoteOptions) -> None:
        """Keep the way to a place: in memory as it is, and in `kept` without secrets."""
        if not (place := place_of(uri)):
            return
        self._secret[place] = options
        self.kept.pop(place, None)
        self.kept[place] = to_json(options)
        for older in list(self.kept)[:-MOST_PLACES]:
            del self.kept[older]

    def forget(self) -> None:
        """Forget all."""
        self.kept.clear()
        self._secret.clear()


def _is_bucket(uri: str) -> bool:
    """Return whether an address names a bucket, and no store: `s3://`, `s3a://`, `arn:`; a page of a console does."""
    try:
        return parse_address(uri).scheme == "s3" and not uri.lstrip().lower().startswith("http")
    except ShardError:
        return False


def described(address: Address) -> str:
    """Return what an address was understood as, in one line."""
    store = address.store
    signed = ", with a signature that stays hidden" if address.query else ""
    if address.version:
        return f"version {address.version} of {described(replace(address, version=''))}"
    if address.scheme == "hf":
        repository, _, revision = address.place.partition("@")
        return f"{unquote(address.path) or 'the root'} in {repository} (Hugging Face, {revision or 'main'})"
    if store is not None:
        kind = {"s3": "S3", "gs": "Google Cloud Storage"}[store.scheme]
        inside = store.path.rstrip("/")
        where = f"in {store.place} ({kind}{f', {store.region}' if store.region else ''})"
        if store.is_folder:
            return f"the folder {inside} {where}" if inside else f"the bucket {store.place} ({kind})"
        return f"{inside} {where}"
    name = address.path or "the root"
    kind = "the folder " if address.is_folder and address.path else ""
    return f"{kind}{name} on the web server {address.place}{signed}"


def in_store(address: Address) -> bool:
    """Return whether requests for it can be signed: it lies in a bucket, however it was written."""
    return address.store is not None


def as_anonymous(options: RemoteOptions | None) -> RemoteOptions:
    """Return the same connection without a signature."""
    return replace(
        options or RemoteOptions(),
        anonymous=True,
        profile=None,
        access_key=None,
        secret_key=None,
        session_token=None,
    )
