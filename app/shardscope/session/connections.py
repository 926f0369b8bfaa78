"""Connection options by bucket or server, saved without credentials. No Qt here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any
from urllib.parse import unquote

from shardcore import RemoteOptions, ShardError, UsageError
from shardcore.dataclasses import dataclass, replace
from shardcore.sources.remote.address import Address, parse_address

REMEMBERED = ("endpoint_url", "region", "profile", "requester_pays", "addressing")

MOST_PLACES = 100


class LoginKind(Enum):
    ANONYMOUS = "anonymous"
    PROFILE = "profile"
    KEYS = "keys"


@dataclass(frozen=True, slots=True)
class Endpoint:
    name: str
    url: str
    path_style: bool = False


_AS_USUAL = "usual"
"""Login saved if the user chose none: requests are signed if AWS credentials are found. Anonymous ones never are."""


ENDPOINTS = (
    Endpoint("Default (Amazon, Google)", ""),
    Endpoint("Google Cloud Storage, with HMAC keys", "https://storage.googleapis.com", path_style=True),
    Endpoint("MinIO on this machine", "http://127.0.0.1:9000", path_style=True),
    Endpoint("Cloudflare R2", "https://ACCOUNT.r2.cloudflarestorage.com"),
    Endpoint("Wasabi", "https://s3.wasabisys.com"),
    Endpoint("Backblaze B2", "https://s3.REGION.backblazeb2.com"),
)


def login_kind_of(options: RemoteOptions | None) -> LoginKind:
    if options is None or options.anonymous:
        return LoginKind.ANONYMOUS
    if options.access_key:
        return LoginKind.KEYS
    return LoginKind.PROFILE if options.profile or options.anonymous is False else LoginKind.ANONYMOUS


def place_of(uri: str) -> str:
    """Return the bucket or server of an address as `scheme://name/`, for which options are saved; empty for a path."""
    try:
        address = parse_address(uri)
    except ShardError:
        return ""
    address = address.store or address
    return f"{address.scheme}://{address.place}/"


def to_json(options: RemoteOptions) -> str:
    found: dict[str, Any] = {name: getattr(options, name) for name in REMEMBERED if getattr(options, name)}
    # Without a chosen login, requests are signed if the AWS configuration has credentials.
    usual = options.anonymous is None and not options.profile and not options.access_key
    found["who"] = _AS_USUAL if usual else login_kind_of(options).value
    return json.dumps(found, sort_keys=True)


def from_json(text: str) -> RemoteOptions | None:
    """Return the options written by `to_json`; None if invalid. Options with access keys become anonymous."""
    try:
        found = json.loads(text)
        values = {name: found[name] for name in REMEMBERED if name in found}
        if found.get("who") == _AS_USUAL:
            return RemoteOptions(**values)
        who = LoginKind(found.get("who", "anonymous"))
        signed = None if values.get("profile") else False
        return RemoteOptions(**values, anonymous=signed if who is LoginKind.PROFILE else True)
    except (ValueError, TypeError, AttributeError, UsageError):
        return None


def login_text(text: str) -> str:
    try:
        found = json.loads(text)
        who = "" if found.get("who") == _AS_USUAL else LoginKind(found.get("who", "anonymous")).value
    except (ValueError, AttributeError):
        return ""
    words = f"profile {found['profile']}" if who and found.get("profile") else who
    return ", ".join(str(one) for one in (words, found.get("endpoint_url")) if one)


class Connections:
    """Connection options per bucket or server. Access keys stay in memory; `kept` has all other options as JSON."""

    def __init__(self, remembered: Mapping[str, str]) -> None:
        self.kept = dict(remembered)
        self._session: dict[tuple[str, str], RemoteOptions] = {}

    def connection_for(self, uri: str) -> RemoteOptions | None:
        """Return the options for an address, or None. A bucket keeps its endpoint when its keys are forgotten."""
        place = place_of(uri)
        saved = from_json(self.kept.get(place, ""))
        endpoints = [endpoint for name, endpoint in self._session if name == place]
        found = self.options_at(uri, (saved.endpoint_url or "") if saved is not None else (endpoints or [""])[-1])
        found = found or saved
        return None if found is not None and found.endpoint_url and not _is_bucket(uri) else found

    def options_at(self, uri: str, endpoint: str) -> RemoteOptions | None:
        # Options set since the start of the program, which include access keys.
        return self._session.get((place_of(uri), endpoint))

    @property
    def endpoints(self) -> list[str]:
        ways = [from_json(text) for text in reversed(self.kept.values())]
        return list(dict.fromkeys(way.endpoint_url for way in ways if way is not None and way.endpoint_url))

    def default_options(self, uri: str) -> RemoteOptions | None:
        """Return the options to propose for a new bucket: those of the latest one, if it has an endpoint; else None."""
        if place_of(uri) in self.kept or not _is_bucket(uri):
            return None
        last = next((place for place in reversed(self.kept) if place.startswith("s3://")), "")
        way = self.connection_for(last)
        return replace(way, requester_pays=False) if way is not None and way.endpoint_url else None

    def is_ambiguous(self, uri: str) -> bool:
        """Return True if the endpoint of a bucket is unknown: the bucket is new, and other endpoints are in use."""
        return _is_bucket(uri) and self.connection_for(uri) is None and bool(self.endpoints)

    def needs_keys(self, uri: str) -> bool:
        found = self.connection_for(uri)
        return '"who": "keys"' in self.kept.get(place_of(uri), "") and (found is None or not found.access_key)

    def hold(self, uri: str, options: RemoteOptions) -> None:
        key = place_of(uri), options.endpoint_url or ""
        self._session.pop(key, None)
        self._session[key] = options

    def remember(self, uri: str, options: RemoteOptions) -> None:
        if not (place := place_of(uri)):
            return
        self.hold(uri, options)
        self.kept.pop(place, None)
        self.kept[place] = to_json(options)
        for older in list(self.kept)[:-MOST_PLACES]:
            del self.kept[older]

    def forget_keys(self) -> None:
        self._session.clear()


def _is_bucket(uri: str) -> bool:
    """Return whether an address names a bucket but not its store: `s3://`, `s3a://`, `arn:`, but not console URLs."""
    try:
        return parse_address(uri).scheme == "s3" and not uri.lstrip().lower().startswith("http")
    except ShardError:
        return False


def described(address: Address) -> str:
    store = address.store
    signed = ", signed (signature hidden)" if address.query else ""
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


def as_anonymous(options: RemoteOptions | None) -> RemoteOptions:
    return replace(
        options or RemoteOptions(),
        anonymous=True,
        profile=None,
        access_key=None,
        secret_key=None,
        session_token=None,
    )
