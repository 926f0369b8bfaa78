"""Options for remote files: connection, credentials and limits."""

from __future__ import annotations

from typing import Literal

from shardcore.dataclasses import dataclass, field
from shardcore.errors import UsageError
from shardcore.model.text import short

CACHE_BYTES = 256 << 20
"""Default bytes of the cache."""

WHOLE_LIMIT = 64 << 20
"""Default maximum bytes of a file on a server without ranges."""

AMAZON = "Amazon S3"
"""Name of the store without an endpoint."""

ANY_STORE = "*"
"""Every store, in `RemoteOptions.trusted`."""

ADDRESSING = ("path", "virtual")


@dataclass(frozen=True)
class RemoteOptions:
    """Options for remote files: connection, credentials and limits. Its `repr` contains no credentials.

    Attributes:
        endpoint_url: Address of an S3-compatible store, instead of Amazon's.
        region: Region of the bucket; default: found by redirects.
        profile: Profile of the AWS configuration whose credentials sign the requests.
        anonymous: True: requests are not signed. False: they must be. None: signed if there are credentials.
        requester_pays: Whether you accept charges for requests and transfer, as some buckets require.
        addressing: `path` (endpoint/bucket/key) or `virtual` (bucket.endpoint/key); None: default of the endpoint.
        access_key: Credentials instead of a profile, with `secret_key`.
        secret_key: See `access_key`.
        session_token: Part of temporary credentials.
        trusted: Stores that files may refer to: endpoints, `AMAZON`, or `ANY_STORE`. Without it, a zones file in a
            folder causes no request.
        limit_requests: Maximum requests per open shard.
        limit_fetch: Maximum bytes per open shard, and of a file without range requests.
        cache_bytes: Maximum bytes in the cache.
        threads: Number of ranges fetched in parallel.
        connect_timeout: Seconds to connect.
        stall_timeout: Seconds for all headers of a response, and then for each piece of the body.
        retries: Further attempts for a range.
        patience: Seconds of failures after which all reads of an open shard fail.
        give_up_slow: Abort if slower than 1 KB/s for 30 s; otherwise only a note in the request log.
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
            raise UsageError("anonymous cannot be combined with a profile or keys")
        if self.profile and self.access_key:
            raise UsageError("give either a profile or keys, not both")
        if bool(self.access_key) != bool(self.secret_key):
            raise UsageError("an access key requires its secret key: give both")
        if self.addressing not in (None, *ADDRESSING):
            raise UsageError(f"addressing must be path or virtual, not {short(self.addressing)}")
        if self.endpoint_url is not None and not self.endpoint_url.startswith(("http://", "https://")):
            raise UsageError("invalid endpoint; expected an address such as https://minio.example.org:9000")

    @property
    def has_s3_options(self) -> bool:
        """True if an option is set that only applies to S3."""
        chosen = (self.profile, self.access_key, self.requester_pays, self.region, self.endpoint_url, self.addressing)
        return self.anonymous is not None or any(chosen)

    @property
    def whole_limit(self) -> int:
        """Maximum bytes of a file on a server that only returns whole files."""
        return WHOLE_LIMIT if self.limit_fetch is None else self.limit_fetch
