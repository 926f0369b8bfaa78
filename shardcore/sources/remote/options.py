"""Options of remote access: connection, credentials and limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from shardcore.errors import UsageError
from shardcore.model.text import short

CACHE_BYTES = 256 << 20
"""Bytes that are kept of what was fetched."""

WHOLE_LIMIT = 64 << 20
"""Files of servers that give no ranges are read whole up to this many bytes."""

AMAZON = "Amazon S3"
"""The name of the store without an endpoint."""

ANY_STORE = "*"
"""Stands for every store in `RemoteOptions.trusted`."""

ADDRESSING = ("path", "virtual")


@dataclass(frozen=True)
class RemoteOptions:
    """Options of remote access: connection, credentials and limits. No text made of it has credentials.

    Attributes:
        endpoint_url: The address of a store that speaks S3, instead of Amazon's.
        region: The region of the bucket; without it, redirects tell.
        profile: The profile of the AWS configuration whose credentials sign the requests.
        anonymous: True: nothing is signed. False: it must be. None: signed when the AWS configuration has credentials.
        requester_pays: Whether the reader pays for what is read, where a bucket wants that.
        addressing: `path` (endpoint/bucket/key) or `virtual` (bucket.endpoint/key); None: as usual for the endpoint.
        access_key: With `secret_key`: credentials that are given instead of a profile.
        secret_key: See `access_key`.
        session_token: Belongs to temporary credentials.
        trusted: Stores that files may name: their endpoints, `AMAZON` for Amazon's, `ANY_STORE` for all. Without it, a
            zones file in a folder sends no request anywhere.
        limit_requests: At most so many requests for each opened thing.
        limit_fetch: At most so many bytes per opened thing; also how large a file may be that comes whole.
        cache_bytes: Number of fetched bytes kept.
        threads: Ranges that are read at the same time.
        connect_timeout: Seconds in which a server must take the connection.
        stall_timeout: Seconds in which the whole head of an answer must come, and then at least one byte.
        retries: Number of times a range is requested again.
        patience: Seconds that an opened thing may spend in trouble before all its reads fail.
        give_up_slow: Whether a server that sends less than 1 KB/s for 30 seconds is given up; else the log notes it.
    """

    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    anonymous: bool | None = None
    requester_pays: bool = False
    addressing: Literal["path", "virtual"] | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    trusted: frozenset[str] = frozenset()
    limit_requests: int | None = None
    limit_fetch: int | None = None
    cache_bytes: int = CACHE_BYTES
    threads: int = 16
    connect_timeout: float = 5.0
    stall_timeout: float = 10.0
    retries: int = 5
    patience: float = 60.0
    give_up_slow: bool = False

    def __post_init__(self) -> None:
        if self.anonymous and (self.profile or self.access_key):
            raise UsageError("anonymous requests have no profile and no keys: give one or the other")
        if self.profile and self.access_key:
            raise UsageError("a profile has its own keys: give a profile or keys")
        if bool(self.access_key) != bool(self.secret_key):
            raise UsageError("an access key and its secret key belong together: give both")
        if self.addressing not in (None, *ADDRESSING):
            raise UsageError(f"addressing is path or virtual, not {short(self.addressing)}")
        if self.endpoint_url is not None and not self.endpoint_url.startswith(("http://", "https://")):
            raise UsageError("an endpoint is an address such as https://minio.example.org:9000")

    @property
    def asks_for_s3(self) -> bool:
        """Return whether something was chosen that only S3 requests have."""
        chosen = (self.profile, self.access_key, self.requester_pays, self.region, self.endpoint_url, self.addressing)
        return self.anonymous is not None or any(chosen)

    @property
    def whole_limit(self) -> int:
        """Return how large a file may be that the server only gives whole."""
        return WHOLE_LIMIT if self.limit_fetch is None else self.limit_fetch
