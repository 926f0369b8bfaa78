"""An opened thing on a slow, a lossy and a dead network, and on servers that are not what they should be."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import shardcore
from shardcore import errors
from shardcore.cli.program import run
from shardcore.sources.remote import cancel, response
from shardcore.sources.remote import session as remote
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.request_log import RequestLog
from shardcore.sources.remote.response import Broken
from shardcore.testing import FULL
from tests.remote.bills import swh_huge
from tests.remote.client import nothing_left
from tests.remote.contents import Made
from tests.remote.faults import Drop, Endless, FaultProxy, Late, Mute, Refuse, Stall, after, seeded
from tests.remote.s3 import Place
from tests.remote.samples import ACTIONS, samples
from tests.remote.servers import RangeServer, RedirectServer, StoreServer
from tests.remote.serving import Answer, HttpServer

DATA = bytes(range(256)) * 4000  # a megabyte
QUICK = RemoteOptions(stall_timeout=0.2, connect_timeout=0.5, patience=1.0, retries=2)


def source(uri: str, options: RemoteOptions = QUICK) -> shardcore.Source:
    """What lies at an address."""
    from shardcore.sources.remote.address import parse_address
    from shardcore.sources.remote.source import open_remote

    found = open_remote(parse_address(uri), options)
    assert isinstance(found, shardcore.Source)
    return found


def test_many_objects_over_a_lossy_network() -> None:
    """With 5 % of the requests dropped and a latency, many ranges read at once all come right."""
    # Which requests are dropped follows from their order, which threads do not keep: three attempts may all be.
    patient = replace(QUICK, retries=9, patience=30.0, stall_timeout=10.0)
    with (
        RangeServer({"/a": DATA}) as server,
        FaultProxy(server.host, [Drop(when=seeded(0.05, seed=7))], latency=0.005) as proxy,
    ):
        ranges = [(at, at + 500) for at in range(70_000, len(DATA) - 500, 70_000)] * 4
        with source(f"{proxy.url}/a", patient) as opened, ThreadPoolExecutor(16) as pool:
            for place in (ranges, [(a + 900, b + 900) for a, b in ranges], [(a + 1900, b + 1900) for a, b in ranges]):
                found = list(pool.map(lambda place: opened.read(*place), place))
                assert found == [DATA[start:stop] for start, stop in place]
        assert proxy.struck, "or nothing was proved"
        assert proxy.log.most_connections <= QUICK.threads + 2


def test_a_slow_network() -> None:
    """At 200 ms for each answer a shard opens, is looked up and closes; with two requests for the opening."""
    sample = samples()["swh"]
    with RangeServer() as server, FaultProxy(server.host, [Late(0.2)]) as proxy:
        sample.served(server)
        with sample.opened(proxy.url, remote=RemoteOptions()) as shard:
            assert proxy.log.rounds == 2
            assert shard.read(shard.find(sample.key))


def test_after_a_final_failure_all_reads_fail_at_once() -> None:
    """When attempts and patience are used up, whatever else is read fails without a request; others are not touched."""
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
    """Closing a thing whose request stalls does not wait for it: the request ends, nothing is left."""
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
    """A server that ignores ranges and has more than the limit is refused with the reason, and hung up on."""
    server.behave(ranges=False)
    url = server.put("/huge", Made(10_000_000_000, lambda start, stop: bytes(stop - start)))
    with pytest.raises(errors.RangeRefused, match="range"):
        source(url)
    assert server.log.sent < 10_000_000
    server.behave(chunked=True)
    with pytest.raises(errors.RangeRefused, match="range"):
        source(url, RemoteOptions(limit_fetch=2_000_000))


def test_ten_gigabytes_by_ranges() -> None:
    """A shard of 10 GB shows its bytes and sections within two round trips and its first rows within four."""
    bill = swh_huge()
    with (
        RangeServer({"/huge.shard": bill.files["huge.shard"]}, latency=0.03) as server,
        shardcore.open(f"{server.url}/huge.shard", remote=RemoteOptions()) as shard,
    ):
        assert shard.source is not None
        assert shard.source.read(0, 4096)[:8] == b"SWHShard"
        assert shard.runs(0, 4096)
        assert server.log.rounds <= 2, server.log
        rows = shard.objects[:50]
        assert len(rows.start) == len(shard.objects.keys[:50]) == 50
        assert server.log.rounds <= 4, server.log
        assert server.log.sent < 200_000


def test_a_replaced_file_is_told(server: RangeServer) -> None:
    """Whatever the server tells of its files, new bytes are never mixed with old ones."""
    for manners in ({"etag": "strong"}, {"etag": "weak"}):
        server.behave(**manners)
        url = server.put("/a", DATA)
        with source(url) as opened:
            server.put("/a", DATA[::-1])
            with pytest.raises(errors.SourceChanged):
                opened.read(500_000, 500_010)


def test_an_empty_object_is_not_a_shard(server: RangeServer) -> None:
    """Where nothing is, a range is refused (416); that is no failure of the network."""
    with pytest.raises(shardcore.NotAShard):
        shardcore.open(server.put("/empty.shard", b""), remote=QUICK)


def test_redirects_are_followed(server: RangeServer) -> None:
    """To another host, and not for ever."""
    sample = samples()["neuroglancer"]
    sample.served(server)
    for status in (301, 302, 307, 308):
        with RedirectServer(server.url, status) as redirect, sample.opened(redirect.url, remote=QUICK) as shard:
            assert ACTIONS["get"](shard, sample)
    with RedirectServer("", 302) as circle, pytest.raises(errors.RemoteError, match="redirected"):
        source(f"{circle.url}/a")


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
    """A byte now and then is no answer: head, size of a chunk and text of an error have one deadline each."""
    for module, name in ((response, "PIECE_SECONDS"), (response, "ERROR_SECONDS"), (cancel, "XML_SECONDS")):
        monkeypatch.setattr(module, name, 0.2)
    with nothing_left(), StoreServer({"/shards/a": DATA}) as server, FaultProxy(server.host) as proxy:
        proxy.faults = [Endless(again, first)]
        options = RemoteOptions(stall_timeout=0.2, retries=1, endpoint_url=proxy.url, addressing="path", anonymous=True)
        with pytest.raises(error):
            source("s3://shards/a" if transport == "s3" else f"{proxy.url}/shards/a", options)


def test_a_listing_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it has one deadline."""
    monkeypatch.setattr(cancel, "XML_SECONDS", 0.2)
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
        (302, {"Location": "file:///etc/passwd"}, "redirected to .file."),
        (302, {}, "redirected without an address"),
    ],
)
def test_statuses_are_called_what_they_are(status: int, headers: dict[str, str], said: str) -> None:
    """None of them is another region, an empty file, or missing encryption."""
    with (
        HttpServer(lambda _: Answer(status, headers)) as server,
        pytest.raises(errors.RangeRefused, match=said),
    ):
        source(f"{server.url}/a")


def test_nobody_there() -> None:
    """A port where nobody listens is an error, soon."""
    with RangeServer() as server:
        url = f"{server.url}/a"
    tape = RequestLog()
    with pytest.raises(errors.ConnectionFailed):
        shardcore.open(url, remote=QUICK, tape=tape)
    assert [one.retry for one in tape.records] == [0, 1, 2]


def test_patience_is_for_the_whole_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute of trouble is the end, however many attempts each range has; an answer begins a new minute."""
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


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["swh", "bloscpack", "des", "mdb", "xorb", "neuroglancer"] if FULL else ["neuroglancer"]
)
def test_a_real_store(name: str, s3: Place, tmp_path: Path) -> None:
    """Out of moto's S3, signed, each format opens, lists, gets and verifies as from a disk."""
    sample = samples()[name]
    s3.put({f"{name}/{path}": data for path, data in sample.files.items()})
    sample.stored(tmp_path)
    with s3.counted() as proxy:
        options = RemoteOptions(endpoint_url=proxy.url, access_key=s3.key, secret_key=s3.secret, addressing="path")
        for action, work in ACTIONS.items():

            def done(root: str, work=work, **more: object) -> object:  # type: ignore[no-untyped-def]
                with sample.opened(root, **more) as shard:
                    return work(shard, sample)

            assert done(f"s3://{s3.bucket}", remote=options) == done(str(tmp_path)), action
        assert {one.request.method for one in proxy.log} == {"GET"}
        assert all(one.request.headers.get("authorization", "").startswith("AWS4") for one in proxy.log)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDenied", "may not be read"),
        ("ExpiredToken", "expired"),
        ("NoSuchKey", "not found"),
        ("NoSuchBucket", "bucket"),
        ("RequestTimeTooSkewed", "clock"),
    ],
)
def test_the_command_says_what_is_wrong(
    code: str, words: str, server: RangeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 4, and one line on standard error that says what is wrong; nothing on standard output."""
    server.put("/shards/a.shard", DATA)
    with FaultProxy(server.host, [Refuse(code)]) as proxy:
        place = ["s3://shards/a.shard", "--endpoint-url", proxy.url, "--no-sign-request", "--addressing", "path"]
        assert run(["info", *place]) == 4
    said = capsys.readouterr()
    assert words in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert not said.out


def test_the_tape_agrees_with_the_server(server: RangeServer, tmp_path: Path) -> None:
    """What `--tape` writes is what the server saw: each request with its range and bytes, once."""
    sample = samples()["swh"]
    sample.served(server)
    tape = tmp_path / "tape.jsonl"
    url = f"{server.url}/swh/{sample.target}"
    assert run(["get", url, sample.key, "-o", str(tmp_path / "out"), "--tape", str(tape)]) == 0
    lines = [json.loads(line) for line in tape.read_text().splitlines()]
    told = [
        (line["address"], f"{line['start']}-{line['stop'] - 1}", line["bytes"]) for line in lines if not line["cached"]
    ]
    server.log.settle()
    saw = [(server.url + one.request.path, one.request.range, one.sent) for one in server.log]
    assert sorted(told) == sorted(saw)
