"""Range requests over HTTP with urllib3."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3 import exceptions as broken
from urllib3.util import make_headers

from shardcore.errors import CannotList, RangeRefused, RemoteError
from shardcore.model.number_text import plural
from shardcore.model.safe_text import short
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
