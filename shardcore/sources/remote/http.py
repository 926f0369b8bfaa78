"""Range requests to web servers, with proxies, certificates and headers of the user. The caller must retry."""

from __future__ import annotations

import os
import re
import ssl
import threading
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3 import exceptions as broken
from urllib3.util import make_headers
from urllib3.util.ssl_ import create_urllib3_context

from shardcore.errors import (
    CannotList,
    RangeRefused,
    Remedy,
    RemoteError,
    SourceError,
    TlsFailed,
    UsageError,
    reason_of,
)
from shardcore.model.text import plural, short
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.response import (
    Broken,
    ListingPage,
    Login,
    RangeQuery,
    Reply,
    Transport,
    close_pools,
    enable_callbacks,
    failure,
)
from shardcore.system import user_folder

MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_MOVED_BACK = (401, 403, 404, 410)
"""HTTP statuses that the target of an expired redirect may return; then the original address is requested again."""


class HttpTransport(Transport):
    def __init__(
        self, options: RemoteOptions, proxy: str | None = None, own: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__()
        self._own = own
        self._timeout = urllib3.Timeout(connect=options.connect_timeout, read=options.stall_timeout)
        pool: dict[str, Any] = {"maxsize": options.threads + 2, "block": True, "retries": False}
        if proxy:
            # urllib3 does not send the login of a proxy.
            login = urlsplit(proxy)
            named = f"{login.username}:{login.password or ''}" if login.username else None
            headers = make_headers(proxy_basic_auth=named) if named else None
            self._pool: urllib3.PoolManager = urllib3.ProxyManager(
                proxy, proxy_headers=headers, **pool, **web_context()
            )
        else:
            self._pool = urllib3.PoolManager(**pool)
        self._trusts, self._lock = proxy is not None, threading.Lock()
        enable_callbacks(self._pool)

    def get(self, asked: RangeQuery) -> Reply:
        self._sent.count = 0
        headers = {"Accept-Encoding": "identity", "User-Agent": "shardcore"} | asked.headers
        reply = self._follow(asked.address, asked.location or asked.address.url, headers)
        if asked.location and reply.status in _MOVED_BACK:
            reply.close()
            reply = self._follow(asked.address, asked.address.url, headers)
        return reply

    def page(self, folder: Address, token: str, most: int) -> ListingPage:
        raise CannotList(f"{folder.shown} cannot be listed: a web server only returns files by name")

    def close(self) -> None:
        close_pools(self._pool)

    def _credentials(self, address: Address) -> dict[str, str]:
        """Return the headers with credentials, which must not be sent to another server."""
        token = os.environ.get("HF_TOKEN", "").strip() if address.scheme == "hf" else ""
        given = make_headers(basic_auth=address.login) if address.login else {}
        given |= {"authorization": f"Bearer {token}"} if token else {}
        own = self._own.items()
        return {name: value for name, value in own if not given or name.lower() != "authorization"} | given

    def _follow(self, address: Address, url: str, headers: dict[str, str]) -> Reply:
        scheme, _ = home = address.server
        secret = self._credentials(address) if _server(url) == home else {}
        seen: set[str] = set()
        while True:
            self._sent.count += 1
            raw = self._send(address, url, headers | secret)
            seen.add(url)
            target = raw.headers.get("location", "")
            if raw.status not in _REDIRECTS or not target:
                login = Login.GIVEN if secret else Login.NONE
                return Reply(raw.status, raw.headers, raw, location="" if url == address.url else url, login=login)
            raw.close()
            raw.release_conn()
            url = urljoin(url, target)
            new_scheme, _ = _server(url)
            if new_scheme not in ("http", "https"):
                raise RangeRefused(f"{address.shown} is redirected to an unsupported scheme, {short(new_scheme)}")
            if scheme == "https" and new_scheme == "http":
                raise RemoteError(f"refused to follow the redirect of {address.shown} from https to http")
            if url in seen:
                text = f"{address.shown} is redirected in a loop of {plural(len(seen), 'redirect')}"
                raise RangeRefused(text, status=raw.status)
            if len(seen) > MOST_REDIRECTS:
                raise RangeRefused(f"{address.shown} is redirected more than {MOST_REDIRECTS} times", status=raw.status)
            if _server(url) != home:
                # Not even after a redirect back to `home`, since another server chose it.
                secret = {}

    def _send(self, address: Address, url: str, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        if _server(url)[0] == "https":
            with self._lock:
                if not self._trusts:
                    # Loading certificates is slow, so it waits for the first TLS request.
                    self._pool.connection_pool_kw.update(web_context())
                    self._trusts = True
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


# --- certificates ----------------------------------------------------------------------------------------

VARIABLES = ("AWS_CA_BUNDLE", "SSL_CERT_FILE")
"""Environment variables with certificates that are trusted in addition to the default ones."""


def trust_named(context: ssl.SSLContext) -> bool:
    """Trust the certificates named by environment variables; return whether there are any. May raise `TlsFailed`."""
    named: dict[str, str] = {}
    for variable in VARIABLES:
        if path := os.environ.get(variable):
            named.setdefault(path, variable)
    for path, variable in named.items():
        try:
            context.load_verify_locations(cafile=path)
        except OSError as error:  # or ssl.SSLError
            text = f"{variable} names {short(path)}, which has no certificates or cannot be read"
            raise TlsFailed(text, remedy=Remedy.TRUST) from error
    return bool(named)


def web_context() -> dict[str, Any]:
    """Return the keyword argument `ssl_context` for urllib3; empty if no environment variable names certificates."""
    context = create_urllib3_context()
    if not trust_named(context):
        return {}
    context.load_default_certs()
    return {"ssl_context": context}


# --- headers of the user ---------------------------------------------------------------------------------

MOST_BYTES = 1 << 20
"""Maximum bytes of `headers.toml`."""

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OURS = ("range", "if-match", "host", "accept-encoding", "content-length", "transfer-encoding", "connection")
"""Headers that the user cannot set, because range requests depend on them."""


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
        raise UsageError(f'headers.toml: the value of {name} must be a text, such as "Bearer ${{TOKEN}}"')
    for variable in _VARIABLE.findall(value):
        if variable not in os.environ:
            raise UsageError(f"headers.toml: the environment variable {variable} is not set")
    filled = _VARIABLE.sub(lambda found: os.environ[found[1]], value)
    if not filled.isascii() or not filled.isprintable():
        raise UsageError(f"headers.toml: the value of {name} cannot be sent as a header")
    return filled
