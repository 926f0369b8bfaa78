"""The range server keeps its promises; each test fails when it misbehaves."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.remote.client import Got, ask, ask_once, connected, nothing_left
from tests.remote.contents import Made, Sparse
from tests.remote.servers import MODIFIED, RangeServer, RedirectServer
from tests.remote.serving import Answer, HttpServer

DATA = bytes(range(256)) * 40
TEN_GB = 10 * 10**9


def test_ranges(server: RangeServer) -> None:
    """Ranges, cut at the end, from a place on, the last bytes: 206 with the bytes and their place; else 416 or 200."""
    server.put("/a", DATA)
    size = len(DATA)
    with connected(server.host) as connection:
        for asked, start, stop in [
            ("0-0", 0, 1),
            ("5-99", 5, 100),
            ("100-", 100, size),
            (f"{size - 3}-{size + 50}", size - 3, size),
            ("-7", size - 7, size),
            (f"-{size * 2}", 0, size),
        ]:
            got = ask(connection, "/a", range=f"bytes={asked}")
            assert (got.status, got.body) == (206, DATA[start:stop])
            assert got.headers["content-range"] == f"bytes {start}-{stop - 1}/{size}"
        got = ask(connection, "/a", range=f"bytes={size}-{size + 1}")
        assert (got.status, got.body, got.headers["content-range"]) == (416, b"", f"bytes */{size}")
        assert ask(connection, "/a").body == DATA
        assert ask(connection, "/nothing").status == 404
        head = ask(connection, "/a", "HEAD")
        assert (head.status, head.headers["content-length"], head.body) == (200, str(size), b"")
    assert server.log.most_connections == 1, "kept alive"


def test_everything_is_counted(server: RangeServer) -> None:
    """Method, path, range, headers, status and the bytes sent of each request are kept, in their order."""
    server.put("/a%20b".replace("%20", " "), DATA)
    ask_once(server.host, "/a%20b?x=1", range="bytes=0-9", if_none_match='"q"')
    ask_once(server.host, "/a%20b", "HEAD")
    ask_once(server.host, "/c")
    first, second, third = server.log
    assert (first.request.method, first.request.path, first.request.range, first.status, first.sent) == (
        "GET",
        "/a%20b",
        "0-9",
        206,
        10,
    )
    assert first.request.headers["if-none-match"] == '"q"'
    assert (second.request.method, second.status, second.sent) == ("HEAD", 200, 0)
    assert (third.request.number, third.status) == (2, 404)
    assert server.log.sent == 10 + third.sent
    assert server.log.rounds == 3
    server.log.clear()
    assert (len(server.log), server.log.sent, server.log.rounds) == (0, 0, 0)


def test_validators(server: RangeServer) -> None:
    """Strong, weak and no entity tag; `If-Match` that does not fit, and any with a weak one, is 412."""
    server.put("/a", DATA)
    tag = ask_once(server.host, "/a").headers["etag"]
    assert tag.startswith('"')
    assert ask_once(server.host, "/a", range="bytes=0-3", if_match=tag).status == 206
    assert ask_once(server.host, "/a", range="bytes=0-3", if_match='"b"').status == 412
    server.put("/a", DATA[::-1])
    assert ask_once(server.host, "/a", if_match=tag).status == 412, "the content changed"
    server.behave(etag="weak")
    weak = ask_once(server.host, "/a").headers["etag"]
    assert weak.startswith('W/"')
    assert ask_once(server.host, "/a", if_match=weak).status == 412
    server.behave(etag="none")
    got = ask_once(server.host, "/a")
    assert "etag" not in got.headers
    assert got.headers["last-modified"] == MODIFIED
    server.behave(modified=False)
    assert "last-modified" not in ask_once(server.host, "/a").headers


def test_without_ranges_and_without_suffixes(server: RangeServer) -> None:
    """A server that ignores ranges says 200 and sends all; one without suffix ranges refuses them alone."""
    server.put("/a", DATA)
    server.behave(suffix=False)
    assert ask_once(server.host, "/a", range="bytes=-5").status == 416
    assert ask_once(server.host, "/a", range="bytes=0-4").status == 206
    server.behave(suffix_status=501)
    assert ask_once(server.host, "/a", range="bytes=-5").status == 501
    server.behave(suffix_status=200)
    assert ask_once(server.host, "/a", range="bytes=-5").body == DATA
    server.behave(ranges=False)
    got = ask_once(server.host, "/a", range="bytes=0-4")
    assert (got.status, got.body) == (200, DATA)
    assert not {"content-range", "accept-ranges"} & got.headers.keys()
    server.behave(chunked=True)
    got = ask_once(server.host, "/a", range="bytes=0-4")
    assert (got.status, got.body, got.headers["transfer-encoding"]) == (200, DATA, "chunked")


def test_gzip(server: RangeServer) -> None:
    """Packed on the way: 200, all of it, no length. Stored packed: ranges are of the packed bytes."""
    server.put("/a", DATA)
    packed = gzip.compress(DATA, 1, mtime=0)
    server.behave(gzip="sent")
    got = ask_once(server.host, "/a", range="bytes=0-9")
    assert (got.status, got.headers["content-encoding"], gzip.decompress(got.body)) == (200, "gzip", DATA)
    assert "content-length" not in got.headers
    server.behave(gzip="stored")
    got = ask_once(server.host, "/a", range="bytes=0-9")
    assert (got.status, got.headers["content-encoding"], got.body) == (206, "gzip", packed[:10])


def test_redirects(server: RangeServer) -> None:
    """Every request is sent to the other server, with its path and query."""
    server.put("/a", DATA)
    for status in (301, 302, 307, 308):
        with RedirectServer(server.url, status) as redirect:
            got = ask_once(redirect.host, "/a?b=c")
            assert (got.status, got.headers["location"]) == (status, f"{server.url}/a?b=c")


def test_contents_of_ten_gigabytes(server: RangeServer) -> None:
    """Contents that a function makes, and zeros with pieces laid over them, are served at any place."""
    server.put("/made", Made(TEN_GB, lambda start, stop: bytes(n % 251 for n in range(start, stop))))
    got = ask_once(server.host, "/made", range=f"bytes={TEN_GB - 4}-{TEN_GB - 1}")
    assert got.headers["content-range"].endswith(f"/{TEN_GB}")
    assert got.body == bytes(n % 251 for n in range(TEN_GB - 4, TEN_GB))
    server.put("/sparse", Sparse(TEN_GB, {0: b"head", 5_000_000_000: b"middle", TEN_GB - 4: b"foot"}))
    for asked, body in [
        ("0-7", b"head\0\0\0\0"),
        ("4999999998-5000000007", b"\0\0middle\0\0"),
        ("5000000002-5000000003", b"dd"),
        ("-6", b"\0\0foot"),
        ("2-3", b"ad"),
    ]:
        assert ask_once(server.host, "/sparse", range=f"bytes={asked}").body == body


def test_files(server: RangeServer, tmp_path: Path) -> None:
    """Files of a folder are served at their relative paths; a replaced file has another tag."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x").write_bytes(b"one")
    assert server.put_folder("/f", tmp_path) == f"{server.url}/f/"
    got = ask_once(server.host, "/f/in/x", range="bytes=1-2")
    assert got.body == b"ne"
    (tmp_path / "in" / "x").write_bytes(b"other")
    server.put_folder("/f", tmp_path)
    assert ask_once(server.host, "/f/in/x").headers["etag"] != got.headers["etag"]


def test_latency_and_what_runs_at_once() -> None:
    """Each answer comes late; answers of several connections wait at the same time, and their rounds are counted."""
    with RangeServer({"/a": DATA}, latency=0.1) as server:

        def get(_: int) -> Got:
            return ask_once(server.host, "/a", range="bytes=0-3")

        began = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            assert {got.body for got in pool.map(get, range(4))} == {DATA[:4]}
        assert time.monotonic() - began >= 0.1
        assert server.log.most_at_once == server.log.most_connections == 4
        assert server.log.rounds == 1
        get(0)
        assert server.log.rounds == 2


def test_nothing_is_left() -> None:
    """After the stop there is no thread and no socket, even when clients hang on, and a port that nobody serves."""
    threads = set(threading.enumerate())
    with nothing_left():
        with RangeServer({"/a": DATA}) as server, connected(server.host) as idle, connected(server.host) as asking:
            idle.connect()
            ask(asking, "/a")
            server.stop()
        assert set(threading.enumerate()) == threads
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port), timeout=1)


def test_a_client_that_hangs_up(server: RangeServer) -> None:
    """A client that hangs up in the middle of a body ends it; only what was sent is counted, and the server goes on."""
    server.put("/made", Made(TEN_GB, lambda start, stop: bytes(stop - start)))
    with connected(server.host) as connection:
        connection.request("GET", "/made")
        response = connection.getresponse()
        response.read(100)
        response.close()
    deadline = time.monotonic() + 5
    while not server.log.seen[0].ended:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert 100 <= server.log.sent < TEN_GB // 10
    assert ask_once(server.host, "/made", range="bytes=0-1").status == 206


def test_a_mistake_in_an_answer_is_told() -> None:
    """What goes wrong in the server itself fails the test, and does not pass for a fault of the network."""
    server = HttpServer(lambda request: Answer(1 // 0))
    with pytest.raises(ZeroDivisionError), server, pytest.raises(ConnectionError):
        ask_once(server.host, "/")
