"""An opened thing on a slow, a lossy and a dead network, and on servers that are not what they should be."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

import shardcore
from shardcore import errors
from shardcore.sources.location import source_of
from shardcore.sources.remote import response
from shardcore.sources.remote import session as remote
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.response import Broken
from tests.remote.client import nothing_left
from tests.remote.contents import Made
from tests.remote.faults import Endless, FaultProxy, Mute, Stall, after
from tests.remote.servers import RangeServer, StoreServer
from tests.remote.serving import Answer, HttpServer

DATA = bytes(range(256)) * 4000  # a megabyte
QUICK = RemoteOptions(stall_timeout=0.2, connect_timeout=0.5, patience=1.0, retries=2)


def source(uri: str, options: RemoteOptions = QUICK) -> Any:
    return source_of(uri, options)


def test_after_a_final_failure_all_reads_fail_at_once() -> None:
    """After the last attempt, other reads of the same file fail without a request."""
    with (
        RangeServer({"/a": DATA, "/b": DATA}) as server,
        FaultProxy(server.host, [Stall(0.0, when=after(2), only="/a")]) as proxy,
        source(f"{proxy.url}/a") as one,
        source(f"{proxy.url}/b") as other,
    ):
        with pytest.raises(errors.TimedOut):
            one.read(500_000, 500_010)
        asked = len(proxy.log)
        for start in range(600_000, 900_000, 100_000):
            with pytest.raises(errors.TimedOut):
                one.read(start, start + 10)
        assert len(proxy.log) == asked
        assert one.read(0, 10) == DATA[:10], "what is here stays here"
        assert other.read(500_000, 500_010) == DATA[500_000:500_010]


def test_closing_ends_what_is_under_way() -> None:
    options = RemoteOptions(stall_timeout=60)
    with (
        nothing_left(),
        RangeServer({"/a": DATA}) as server,
        FaultProxy(server.host, [Mute(when=after(1))]) as proxy,
        ThreadPoolExecutor(1) as pool,
    ):
        opened = source(f"{proxy.url}/a", options)
        read = pool.submit(opened.read, 500_000, 500_010)
        while len(proxy.log) < 2:
            time.sleep(0.01)
        opened.close()
        with pytest.raises(errors.SourceError):
            read.result(options.stall_timeout / 2)


def test_ten_gigabytes_without_ranges_are_refused(server: RangeServer) -> None:
    server.behave(ranges=False)
    url = server.put("/huge", Made(10_000_000_000, lambda start, stop: bytes(stop - start)))
    with pytest.raises(errors.RangeRefused, match="range"):
        source(url)
    assert server.log.sent < 10_000_000
    server.behave(chunked=True)
    with pytest.raises(errors.RangeRefused, match="range"):
        source(url, RemoteOptions(limit_fetch=2_000_000))


CHUNKED = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-9/10\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("transport", ["http", "s3"])
@pytest.mark.parametrize(
    ("first", "again", "error"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", errors.TimedOut),
        (b"HTTP/1.1 206 Partial Content\r\n", b"X", errors.TimedOut),
        (CHUNKED, b"0", errors.TimedOut),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 8000\r\n\r\n", b"<", errors.Forbidden),
    ],
    ids=["100", "header", "chunk", "error"],
)
def test_an_answer_without_an_end(
    monkeypatch: pytest.MonkeyPatch, transport: str, first: bytes, again: bytes, error: type[Exception]
) -> None:
    """Header, chunk size and error text of a response have one deadline each, however slowly bytes arrive."""
    for module, name in ((response, "PIECE_SECONDS"), (response, "ERROR_SECONDS"), (response, "XML_SECONDS")):
        monkeypatch.setattr(module, name, 0.2)
    with nothing_left(), StoreServer({"/shards/a": DATA}) as server, FaultProxy(server.host) as proxy:
        proxy.faults = [Endless(again, first)]
        options = RemoteOptions(stall_timeout=0.2, retries=1, endpoint_url=proxy.url, addressing="path", anonymous=True)
        with pytest.raises(error):
            source("s3://shards/a" if transport == "s3" else f"{proxy.url}/shards/a", options)


def test_a_listing_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response, "XML_SECONDS", 0.2)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: 80000\r\n\r\n"
    with StoreServer() as server, FaultProxy(server.host) as proxy:
        proxy.faults = [Endless(b"<", head, when=lambda request: "list-type" in request.target)]
        options = RemoteOptions(retries=1, endpoint_url=proxy.url, addressing="path", anonymous=True)
        with pytest.raises(errors.TimedOut):
            shardcore.open("s3://shards/a/", remote=options)


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (304, {}, "304 Not Modified"),
        (416, {}, "416"),
        (416, {"Content-Range": "bytes */100"}, "416"),
        (302, {"Location": "file:///etc/passwd"}, "unsupported scheme, 'file'"),
        (302, {}, "redirected without an address"),
    ],
)
def test_statuses_are_called_what_they_are(status: int, headers: dict[str, str], said: str) -> None:
    with HttpServer(lambda _: Answer(status, headers)) as server, pytest.raises(errors.RangeRefused, match=said):
        source(f"{server.url}/a")


def test_patience_is_for_the_whole_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures for a minute are final, however many attempts each range has left; a response restarts the minute."""
    now = 0.0
    monkeypatch.setattr(remote, "time", SimpleNamespace(monotonic=lambda: now))
    broken = Broken(errors.TimedOut("no answer"))
    thing = remote.RemoteSession(RemoteOptions(patience=60))
    assert thing.checked_pause(broken, 0.5) == 0.5
    now = 59.0
    assert thing.checked_pause(broken, 0.5) == 0.5
    thing.mark_healthy()
    now = 70.0
    thing.checked_pause(broken, 0.5)
    now = 129.0
    thing.checked_pause(broken, 0.5)
    thing.check()
    now = 130.0
    with pytest.raises(errors.TimedOut):
        thing.checked_pause(broken, 0.5)
    with pytest.raises(errors.TimedOut, match="no answer"):
        thing.check()
