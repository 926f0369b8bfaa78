"""Options for remote files: connection, credentials and limits."""

from __future__ import annotations

from typing import Literal

from shardcore.dataclasses import dataclass, field
from shardcore.errors import UsageError
from shardcore.model.text import short

CACHE_BYTES = 256 << 20
"""Default size of the cache in bytes."""

WHOLE_LIMIT = 64 << 20
"""Default maximum bytes of a file on a server that does not support range requests."""

AMAZON = "Amazon S3"
"""Name in `RemoteOptions.trusted` of the store that is used if no endpoint is set."""

ANY_STORE = "*"
"""Element of `RemoteOptions.trusted` that means every store."""

ADDRESSING = ("path", "virtual")


@dataclass(frozen=True)
class RemoteOptions:
    """Options for remote files: connection, credentials and limits. Its `repr` contains no credentials.

    Attributes:
        endpoint_url: Address of an S3-compatible store, instead of Amazon's.
        region: Region of the bucket; default: found by redirects.
        profile: Profile of the AWS configuration whose credentials sign the requests.
        anonymous: True: do not sign requests. False: require credentials. None: sign if there are credentials.
        requester_pays: Whether you accept charges for requests and transfer, as some buckets require.
        addressing: `path` (endpoint/bucket/key) or `virtual` (bucket.endpoint/key); None: default of the endpoint.
        access_key: Credentials instead of a profile, with `secret_key`.
        secret_key: See `access_key`.
        session_token: Part of temporary credentials.
        trusted: Stores to which a file may refer: endpoints, `AMAZON`, or `ANY_STORE`. No request is sent to another
            store that a file, such as the zones file of a folder, refers to.
        limit_requests: Maximum number of requests per open shard.
        limit_fetch: Maximum bytes fetched per open shard; also the maximum size of a file without range requests.
        cache_bytes: Maximum bytes in the cache.
        threads: Number of ranges fetched in parallel.
        connect_timeout: Maximum seconds to connect.
        stall_timeout: Maximum seconds until all headers of a response have arrived, then for each piece of the body.
        retries: Number of further attempts if fetching a range fails.
        patience: Seconds of repeated failures after which all reads of an open shard fail.
        give_up_slow: Whether to abort if slower than 1 KB/s for 30 s; otherwise the request log gets a note.
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
        """True if an option is set that applies to S3 only."""
        chosen = (self.profile, self.access_key, self.requester_pays, self.region, self.endpoint_url, self.addressing)
        return self.anonymous is not None or any(chosen)

    @property
    def whole_limit(self) -> int:
        """Maximum bytes of a file on a server that does not support range requests."""
        return WHOLE_LIMIT if self.limit_fetch is None else self.limit_fetch
