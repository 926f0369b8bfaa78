"""What remote sources promise: the contract of all sources, one request for a stretch, and an end to waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shardcore.errors import Cancelled, SourceChanged
from shardcore.progress import stopped_by
from shardcore.shards.opening import source_of
from shardcore.sources.base import ReadPriority, ReadPurpose, Source, joined, missing, wanted
from shardcore.sources.remote.file import RangeRequest
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.request_log import Request, RequestLog
from shardcore.sources.remote.session import BlockCache, Workers
from shardcore.testing.sources import SourceContract
from tests.remote.contents import Held
from tests.remote.servers import RangeServer, StoreServer

BIG = bytes(range(251)) * 4000  # about a megabyte


class Served(SourceContract):
    """The contract, over a server that each test starts."""

    server: RangeServer

    @pytest.fixture(autouse=True)
    def _serve(self) -> Iterator[None]:
        with self.make() as self.server:
            yield

    def make(self) -> RangeServer:
        raise NotImplementedError


class TestHttpSource(Served):
    def make(self) -> RangeServer:
        return RangeServer()

    def opened(self, tmp_path: Path) -> Source:
        return source_of(self.server.put("/a/data.bin", self.data))


class TestS3Source(Served):
    def make(self) -> RangeServer:
        return StoreServer()

    def opened(self, tmp_path: Path) -> Source:
        self.server.put("/bucket/a/data.bin", self.data)
        options = RemoteOptions(endpoint_url=self.server.url, addressing="path", anonymous=True)
        return source_of("s3://bucket/a/data.bin", options)


class TestWholeSource(Served):
    def make(self) -> RangeServer:
        server = RangeServer()
        server.behave(ranges=False)
        return server

    def opened(self, tmp_path: Path) -> Source:
        return source_of(self.server.put("/a/data.bin", self.data))


def test_nothing_is_asked_for_twice(server: RangeServer) -> None:
    with source_of(server.put("/big", BIG)) as source, ThreadPoolExecutor(8) as pool:
        server.log.clear()
        parts = list(pool.map(lambda _: source.read(200_000, 300_000), range(16)))
        assert set(parts) == {BIG[200_000:300_000]}
        assert len(server.log) == 1
        assert source.read(250_000, 260_000) == BIG[250_000:260_000]
        assert source.loaded(190_000, 310_000) == ((200_000, 300_000),)
        assert len(server.log) == 1


def test_neighbours_are_one_request_and_others_run_at_the_same_time(server: RangeServer) -> None:
    with source_of(server.put("/big", BIG)) as source:
        server.log.clear()
        near = [(100_000, 100_010), (120_000, 120_010), (180_000, 180_010)]
        assert source.read_many(near) == [BIG[a:b] for a, b in near]
        assert len(server.log) == 1
        server.meet = 4
        far = [(n, n + 10) for n in range(300_000, 1_000_000, 100_000)]
        assert source.read_many(far) == [BIG[a:b] for a, b in far]
        assert len(server.log) == 8
        assert server.log.most_at_once >= 4


def test_a_wait_ends_when_nobody_wants_it(server: RangeServer) -> None:
    address = server.put("/big", BIG)
    with source_of(address) as source:
        server.latency = 60.0
        stop = threading.Event()

        def check() -> None:
            if stop.is_set():
                raise Cancelled

        threading.Timer(0.1, stop.set).start()
        began = time.monotonic()
        with stopped_by(check), pytest.raises(Cancelled):
            source.read(500_000, 600_000)
        assert time.monotonic() - began < 30
        server.latency = 0.0
        assert source.read(500_000, 600_000) == BIG[500_000:600_000]


def test_a_changed_object_is_told_and_never_mixed(server: RangeServer) -> None:
    address = server.put("/big", BIG)
    with source_of(address) as source:
        server.put("/big", Held(BIG[::-1]))
        assert source.read(0, 100) == BIG[:100]
        with pytest.raises(SourceChanged):
            source.read(500_000, 500_100)
        with pytest.raises(SourceChanged):
            source.check_unchanged()
    with source_of(address) as source:
        assert source.read(500_000, 500_100) == BIG[::-1][500_000:500_100]


def test_what_is_wanted_soonest_comes_first() -> None:
    """What is on the screen goes before what is only scanned."""
    workers, order, gate = Workers(1), [], threading.Event()
    workers.submit(ReadPriority.SCREEN, gate.wait)
    done = threading.Event()
    for one in (ReadPriority.SCAN, ReadPriority.PREFETCH, ReadPriority.SCREEN, ReadPriority.SELECTED):
        workers.submit(one, lambda one=one: order.append(one))
    workers.submit(99, done.set)
    gate.set()
    assert done.wait(5)
    assert order == sorted(order)


def test_a_connection_is_ended_while_it_still_belongs_to_the_request() -> None:
    """A cancelled transfer must not end a connection that was given to another one."""
    request, order = RangeRequest(0, 10, ReadPriority.SCAN, ReadPurpose.PAYLOAD), list[str]()

    class Carried:
        def abort(self) -> None:
            letting_go.start()
            letting_go.join(0.1)
            order.append("ended")

    letting_go = threading.Thread(target=lambda: (request.clear_transfer(), order.append("let go")))
    request.set_reply(Carried())  # type: ignore[arg-type]
    request.cancel()
    letting_go.join(5)
    assert order == ["ended", "let go"]


def test_a_tape_names_the_requests_of_a_file_when_that_is_known() -> None:
    tape, asked = RequestLog(), list[int]()
    for address, start in (("a", 0), ("a", 9), ("b", 0)):
        tape.add(Request(0.0, "GET", address, start, start + 1, ReadPurpose.INDEX))

    def of_a(at: int) -> ReadPurpose | None:
        asked.append(at)
        return ReadPurpose.PAYLOAD if at else None

    tape.learn_purposes("a", of_a)
    tape.learn_purposes("b", lambda _: ReadPurpose.FOOTER)
    assert [one.purpose for one in tape.records] == [ReadPurpose.INDEX, ReadPurpose.PAYLOAD, ReadPurpose.FOOTER]
    assert asked == [0, 9]


def test_bytes_may_be_fetched_before_they_are_wanted(server: RangeServer) -> None:
    with source_of(server.put("/big", BIG)) as source, wanted(ReadPriority.PREFETCH):
        source.prefetch(700_000, 710_000)
        deadline = time.monotonic() + 60
        while source.loaded(700_000, 710_000) != ((700_000, 710_000),) and time.monotonic() < deadline:
            time.sleep(0.01)
        server.log.clear()
        assert source.read(700_000, 710_000) == BIG[700_000:710_000]
        assert len(server.log) == 0


def test_reading_in_one_direction_reads_ahead(server: RangeServer) -> None:
    with source_of(server.put("/big", BIG)) as source:
        for start in range(0, 900_000, 5000):
            assert source.read(start, start + 5000) == BIG[start : start + 5000]
        assert len(server.log) < 20
        assert server.log.sent <= 2 * len(BIG)


def test_files_that_came_whole_are_kept_by_the_cache_alone(server: RangeServer) -> None:
    server.behave(ranges=False)
    server.put("/set/a", BIG)
    for limit, more in ((1 << 30, 0), (1000, 1)):
        folder = source_of(f"{server.url}/set/", RemoteOptions(cache_bytes=limit))
        with folder.open("a") as member:
            assert member.read(500_000, 500_010) == BIG[500_000:500_010]
        server.log.clear()
        with folder.open("a") as member:
            assert member.read(500_000, 500_010) == BIG[500_000:500_010]
            assert member.read(600_000, 600_010) == BIG[600_000:600_010]
        assert len(server.log) == more
        folder.close()


def test_folders_of_stores_list_all_pages() -> None:
    with StoreServer() as server:
        for number in range(2500):
            server.put(f"/bucket/data/f{number:04}", b"x" * (number % 7))
        server.put("/bucket/data/below/one", b"1")
        options = RemoteOptions(endpoint_url=server.url, addressing="path", anonymous=True)
        tape = RequestLog()
        folder = source_of("s3://bucket/data/", options, tape)
        entries = folder.list()
        assert [entry.name for entry in entries if entry.is_folder] == ["below"]
        assert {entry.name: entry.size for entry in entries if not entry.is_folder}["f0013"] == 6
        assert len(entries) == 2501
        assert (tape.requests, len(server.log)) == (3, 3)
        assert [entry.name for entry in folder.list("below")] == ["below/one"]
        folder.close()


def test_blocks() -> None:
    cache = BlockCache(100)
    cache.put("a", 0, bytes(40))
    cache.put("a", 20, b"x" * 60)
    assert [(first, len(data)) for first, data in cache.pieces("a", 0, 100)] == [(0, 40), (40, 40)]
    assert missing(cache.pieces("a", 0, 100), 0, 100) == [(80, 100)]
    assert joined(cache.pieces("a", 30, 50), 30, 50) == bytes(10) + b"x" * 10
    cache.pieces("a", 0, 10)
    cache.put("b", 0, bytes(50))
    assert cache.size <= 100
    assert missing(cache.pieces("a", 0, 80), 0, 80) == [(40, 80)]
