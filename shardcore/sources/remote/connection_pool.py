"""HTTP connections shared by open shards: one client, with threads, cache and headers, per server and credentials."""

from __future__ import annotations

import heapq
import os
import re
import threading
import tomllib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3 import exceptions as broken
from urllib3.util import make_headers

from shardcore.errors import CannotList, RangeRefused, RemoteError, SourceError, UsageError, reason_of
from shardcore.model.number_text import plural
from shardcore.model.safe_text import short
from shardcore.sources.block_cache import BlockCache
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.cancellation import enable_callbacks
from shardcore.sources.remote.certificates import web_context
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.response import (
    Broken,
    ListingPage,
    Login,
    RangeQuery,
    Reply,
    close_pools,
    failure,
    timeout,
)
from shardcore.system import user_folder

if TYPE_CHECKING:
    from shardcore.sources.remote.response import Transport

MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_MOVED_BACK = (401, 403, 404, 410)
"""HTTP statuses that an expired redirect may cause."""


class HttpTransport:
    """Sends requests to web servers. It does not retry; the caller does, and counts the requests."""

    def __init__(
        self, options: RemoteOptions, proxy: str | None = None, own: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._own = own
        self._timeout = timeout(options)
        self._hops = threading.local()
        size = options.threads + 2
        if proxy:
            # urllib3 does not send the login of a proxy.
            login = urlsplit(proxy)
            named = f"{login.username}:{login.password or ''}" if login.username else None
            headers = make_headers(proxy_basic_auth=named) if named else None
            self._pool: urllib3.PoolManager = urllib3.ProxyManager(
                proxy, proxy_headers=headers, maxsize=size, block=True, retries=False, **web_context()
            )
        else:
            self._pool = urllib3.PoolManager(maxsize=size, block=True, retries=False)
        self._trusts, self._lock = proxy is not None, threading.Lock()
        enable_callbacks(self._pool)

    def get(self, asked: RangeQuery) -> Reply:
        """Request a range, following redirects; the reply contains the final location."""
        self._hops.count = 0
        headers = {"Range": asked.range, "Accept-Encoding": "identity", "User-Agent": "shardcore"}
        if asked.match:
            headers["If-Match"] = asked.match
        reply = self._follow(asked.address, asked.location or asked.address.url, headers)
        if asked.location and reply.status in _MOVED_BACK:
            reply.close()
            reply = self._follow(asked.address, asked.address.url, headers)
        return reply

    def _credentials(self, address: Address) -> dict[str, str]:
        """Return the headers with credentials, which must not be sent to another server."""
        found = dict(self._own)
        token = os.environ.get("HF_TOKEN", "").strip() if address.scheme == "hf" else ""
        given = make_headers(basic_auth=address.login) if address.login else {}
        given |= {"authorization": f"Bearer {token}"} if token else {}
        if given:
            found = {name: value for name, value in found.items() if name.lower() != "authorization"} | given
        return found

    @property
    def redirects(self) -> int:
        return max(getattr(self._hops, "count", 0) - 1, 0)

    def page(self, folder: Address, token: str, most: int) -> ListingPage:
        raise CannotList(f"{folder.shown} cannot be listed: a web server only returns files by name")

    def close(self) -> None:
        close_pools(self._pool)

    def _follow(self, address: Address, url: str, headers: dict[str, str]) -> Reply:
        scheme, _ = home = address.server
        secret = self._credentials(address) if _server(url) == home else {}
        seen: set[str] = set()
        while True:
            self._hops.count += 1
            raw = self._send(address, url, headers | secret)
            seen.add(url)
            target = raw.headers.get("location", "")
            if raw.status not in _REDIRECTS or not target:
                found = {name.lower(): value for name, value in raw.headers.items()}
                login = Login.GIVEN if secret else Login.NONE
                return Reply(raw.status, found, raw, location="" if url == address.url else url, login=login)
            raw.close()
            raw.release_conn()
            url = urljoin(url, target)
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https"):
                raise RangeRefused(f"{address.shown} is redirected to an unsupported scheme, {short(parts.scheme)}")
            if scheme == "https" and parts.scheme == "http":
                raise RemoteError(f"refused to follow the redirect of {address.shown} from https to http")
            if url in seen:
                text = f"{address.shown} is redirected in a loop of {plural(len(seen), 'redirect')}"
                raise RangeRefused(text, status=raw.status)
            if len(seen) > MOST_REDIRECTS:
                raise RangeRefused(f"{address.shown} is redirected more than {MOST_REDIRECTS} times", status=raw.status)
            if _server(url) != home:
                # Permanently: a redirect back could come from anyone.
                secret = {}

    def _trust(self) -> None:
        """Load the certificates named by the environment. This is slow, so it waits for the first TLS request."""
        with self._lock:
            if not self._trusts:
                self._pool.connection_pool_kw.update(web_context())
                self._trusts = True

    def _send(self, address: Address, url: str, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        if _server(url)[0] == "https":
            self._trust()
        try:
            return self._pool.request(
                "GET", url, headers=headers, preload_content=False, redirect=False, retries=False, timeout=self._timeout
            )
        except (broken.LocationParseError, broken.LocationValueError, UnicodeError) as error:
            raise RemoteError(f"{address.shown} is not a valid address") from error
        except (broken.HTTPError, OSError) as error:
            raise Broken(failure(error, address)) from error


def _server(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def proxy_for(address: Address) -> str | None:
    scheme, server = address.server
    if proxy_bypass(server.rsplit(":", 1)[0]):
        return None
    proxies = getproxies()
    return proxies.get(scheme) or proxies.get("all")


MOST_BYTES = 1 << 20
"""Maximum bytes of the file."""

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OURS = ("range", "if-match", "host", "accept-encoding", "content-length", "transfer-encoding", "connection")
"""Headers that range requests depend on."""


def headers_file() -> Path:
    return user_folder("config") / "headers.toml"


def headers_for(server: tuple[str, str], profile: str | None = None) -> dict[str, str]:
    """Return the user's headers for a server; empty if the file has no section for it.

    Sections: `["data.example.org"]` for HTTPS, `["http://127.0.0.1:8080"]` for HTTP, with the port if there is one. A
    table `["data.example.org".lab]` adds the headers of a profile. `${NAME}` in a value is an environment variable.
    """
    scheme, host = server
    sections = _sections(headers_file())
    name = host.rpartition("@")[2].lower()
    found = sections.get(f"{scheme}://{name}", sections.get(name) if scheme == "https" else None)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UsageError(f"headers.toml: {short(name)} is not a section")
    chosen = found.get(profile) if profile else None
    lines = {key: value for key, value in found.items() if not isinstance(value, dict)}
    lines |= chosen if isinstance(chosen, dict) else {}
    return {_checked(key): _filled(key, value) for key, value in lines.items()}


def _sections(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SourceError(f"cannot read {path.name}: {reason_of(error)}") from error
    if len(data) > MOST_BYTES:
        raise UsageError(f"headers.toml has more than {MOST_BYTES:,} bytes")
    try:
        return {name.lower().rstrip("/"): one for name, one in tomllib.loads(data.decode()).items()}
    except ValueError as error:
        # The parser message may quote a line of the file.
        raise UsageError("headers.toml is not valid TOML") from error
    except RecursionError as error:
        raise UsageError("headers.toml is nested too deeply") from error


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name) or name.lower() in _OURS:
        raise UsageError(f"headers.toml: {short(name)} cannot be set as a header")
    return name


def _filled(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise UsageError(f'headers.toml: the value of {name} is a text, such as "Bearer ${{TOKEN}}"')
    for variable in _VARIABLE.findall(value):
        if variable not in os.environ:
            raise UsageError(f"headers.toml: the environment variable {variable} is not set")
    filled = _VARIABLE.sub(lambda found: os.environ[found[1]], value)
    if not filled.isascii() or not filled.isprintable():
        raise UsageError(f"headers.toml: the value of {name} cannot be sent as a header")
    return filled


STEADY = 16
"""Successes in a row after which the limit of a host rises by one request."""

_ASK = 0.05
"""Seconds between checks for cancellation."""


class Workers:
    """Runs jobs by priority on up to `most` threads. Threads end when no jobs are left, so they need no stopping."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._busy = 0

    def submit(self, priority: int, job: Callable[[], None]) -> None:
        """Queue a job, which must not raise; jobs of equal priority run in order."""
        with self._lock:
            heapq.heappush(self._waiting, (priority, next(self._order), job))
            more = self._busy < self._most
            self._busy += more
        if more:
            threading.Thread(target=self._work, name="shardcore-range", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy -= 1
                    return
                _, _, job = heapq.heappop(self._waiting)
            job()


class RequestGate:
    """Limit on parallel requests to one host. Thread-safe.

    An overload response halves the limit, only once for requests sent together; `STEADY` successes in a row add one.
    """

    def __init__(self, most: int) -> None:
        self._most = self._limit = most
        self._changed = threading.Condition()
        self._under_way = self._steady = self._turn = 0

    @property
    def limit(self) -> int:
        return self._limit

    @contextmanager
    def passed(self, check: Callable[[], object]) -> Iterator[Callable[[], None]]:
        """Wait for a free slot, calling `check` meanwhile. Call the yielded function if the host is overloaded."""
        with self._changed:
            while self._under_way >= self._limit:
                self._changed.wait(_ASK)
                check()
            self._under_way += 1
            turn = self._turn
        refused = False

        def slow_down() -> None:
            nonlocal refused
            refused = True
            with self._changed:
                if turn == self._turn:
                    self._turn += 1
                    self._limit = max(self._limit // 2, 1)
                self._steady = 0

        try:
            yield slow_down
        finally:
            with self._changed:
                self._under_way -= 1
                self._steady += not refused
                if self._steady >= STEADY and self._limit < self._most:
                    self._limit, self._steady = self._limit + 1, 0
                self._changed.notify()


@dataclass(frozen=True, slots=True)
class _Key:
    """Key of a connection, which includes credentials; they are not in its `repr`."""

    scheme: str
    place: str
    options: tuple[object, ...]

    def __repr__(self) -> str:
        return f"_Key({self.scheme!r}, {self.place!r})"


class Connection:
    """A client of one store or server with one set of credentials, and its threads and cache."""

    def __init__(self, transport: Transport, options: RemoteOptions) -> None:
        self.transport = transport
        self.workers = Workers(options.threads)
        self.gate = RequestGate(options.threads)
        self.blocks = BlockCache(options.cache_bytes)

    def close(self) -> None:
        self.transport.close()


class ConnectionPool:
    """Connections in use. Each is created once, under a lock, and closed when no shard uses it any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[_Key, tuple[Connection, int]] = {}
        self._released: deque[_Key] = deque()

    def acquire(self, address: Address, options: RemoteOptions) -> tuple[Connection, _Key]:
        """Return the connection for an address, and a key for `release`; may raise `CredentialsRefused`."""
        key = _key(address, options)
        # Creating a client is slow and not thread-safe: others wait.
        try:
            with self._lock:
                connection, users = self._connections.get(key) or (_make(address, options), 0)
                self._connections[key] = connection, users + 1
            return connection, key
        finally:
            self._process_released()

    def release(self, key: _Key) -> None:
        """Return a connection to the pool. Never blocks, since the garbage collector may call it during `acquire`."""
        self._released.append(key)
        self._process_released()

    def _process_released(self) -> None:
        """Close connections that are no longer used; if another thread holds the lock, that thread does it."""
        while self._released and self._lock.acquire(blocking=False):
            try:
                unused = self._release_one()
            finally:
                self._lock.release()
            if unused is not None:
                unused.close()

    def _release_one(self) -> Connection | None:
        if not self._released:
            return None
        key = self._released.popleft()
        connection, users = self._connections[key]
        if users > 1:
            self._connections[key] = connection, users - 1
            return None
        del self._connections[key]
        return connection


CONNECTIONS = ConnectionPool()
"""Connections of this process."""


def _key(address: Address, options: RemoteOptions) -> _Key:
    one = options
    timing = (one.threads, one.cache_bytes, one.connect_timeout, one.stall_timeout)
    if not address.in_store:
        scheme, server = address.server
        return _Key("http", server, (scheme, one.profile, *timing))
    who = (one.profile, one.anonymous, one.access_key, one.secret_key, one.session_token, one.requester_pays)
    where = (one.endpoint_url, one.region, address.region, one.addressing)
    return _Key(address.scheme, "", (*who, *where, *timing))


def _make(address: Address, options: RemoteOptions) -> Connection:
    if address.in_store:
        from shardcore.sources.remote.s3 import S3Transport

        return Connection(S3Transport(options, address.scheme, address.region), options)
    return Connection(HttpTransport(options, proxy_for(address), headers_for(address.server, options.profile)), options)
