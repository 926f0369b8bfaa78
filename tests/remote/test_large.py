"""Large objects and busy hosts: ranges come in parallel and ahead of the reader, within bounds."""

from __future__ import annotations

import threading
import time

import pytest

import shardcore
from shardcore import RemoteOptions
from shardcore.sources.base import AHEAD, PIECE, RANGE, WHOLE_RANGE, read_pieces
from shardcore.sources.location import source_of
from shardcore.sources.remote.session import STEADY, RequestGate
from tests.remote.contents import Made
from tests.remote.servers import RangeServer

SIZE = 120_000_000
PATTERN = bytes(range(251)) * 4178


def made(start: int, stop: int) -> bytes:
    at = start % 251
    return (PATTERN[at : at + 251] * ((stop - start) // 251 + 2))[: stop - start]


@pytest.fixture
def large(server: RangeServer) -> str:
    return server.put("/large", Made(SIZE, made))


def test_one_object_of_120_mb(server: RangeServer, large: str) -> None:
    """16 ranges, eight of them in parallel, after the one that returns the size."""
    with source_of(large, RemoteOptions()) as source:
        at = 0
        for piece in read_pieces(source, 0, SIZE):
            assert piece == made(at, at + len(piece))
            server.meet = 8  # after the first piece, which comes alone
            at += len(piece)
    assert at == SIZE
    assert len(server.log) <= 17
    # The reader has the end of a range, and begins the next one, before the server notes that it is through.
    assert server.log.most_at_once in (8, 9)
    assert server.log.sent == SIZE


def test_a_range_is_read_while_it_comes(server: RangeServer) -> None:
    go_on, late = threading.Event(), []

    def stalled(start: int, stop: int) -> bytes:
        if start >= 4 << 20 and not go_on.wait(10):
            late.append(start)
        return made(start, stop)

    with source_of(server.put("/stalled", Made(SIZE // 8, stalled)), RemoteOptions()) as source:
        source.prefetch(0, SIZE // 8, WHOLE_RANGE)
        assert source.read(100_000, 2 << 20) == made(100_000, 2 << 20)
        go_on.set()
        assert source.read(0, SIZE // 8) == made(0, SIZE // 8)
    assert not late
    assert len(server.log) == 2, server.log


def test_a_reader_who_stops(server: RangeServer, large: str) -> None:
    """The first piece comes alone; a slow reader finds at most `AHEAD` bytes prefetched."""
    with source_of(large, RemoteOptions()) as source:
        pieces = read_pieces(source, PIECE, SIZE)
        next(pieces)
        assert server.log.sent <= PIECE + 65536
        next(pieces)
        settled(server)
        assert server.log.sent <= 2 * PIECE + AHEAD + 65536
        pieces.close()


def settled(server: RangeServer) -> None:
    deadline = time.monotonic() + 20
    seen = -1
    while (server.at_once or seen != len(server.log)) and time.monotonic() < deadline:
        seen = len(server.log)
        time.sleep(0.05)


def test_one_read_of_a_large_range(server: RangeServer, large: str) -> None:
    """The ranges have at most 8 MiB, are of about equal length, and come in parallel."""
    with source_of(large, RemoteOptions()) as source:
        server.log.clear()
        server.meet = 5
        assert source.read(0, 40_000_000) == made(0, 40_000_000)
    sizes = [one.sent for one in server.log]
    assert len(sizes) == 5
    assert max(sizes) <= RANGE
    assert server.log.most_at_once == 5


@pytest.mark.parametrize("threads", [2, 12])
def test_ranges_follow_the_threads(threads: int, server: RangeServer, large: str) -> None:
    with source_of(large, RemoteOptions(threads=threads)) as source:
        server.meet = threads
        source.read(0, SIZE)
    assert server.log.most_at_once == threads


# --- charts and salvage ------------------------------------------------------------------------------------------


# --- hosts that are overloaded -----------------------------------------------------------------------------------


def test_a_gate() -> None:
    """Refusals of requests that were sent together halve the limit once; successes raise it slowly."""
    gate = RequestGate(8)
    with gate.passed(never) as first, gate.passed(never) as second:
        first()
        second()
    assert gate.limit == 4
    with gate.passed(never) as third:
        third()
    assert gate.limit == 2
    for _ in range(STEADY):
        with gate.passed(never):
            pass
    assert gate.limit == 3
    for _ in range(8 * STEADY):
        with gate.passed(never):
            pass
    assert gate.limit == 8


def never() -> None:
    raise AssertionError("no request has to wait")


def test_a_request_that_is_no_longer_needed() -> None:
    gate = RequestGate(1)
    with gate.passed(never), pytest.raises(shardcore.Cancelled), gate.passed(cancelled):
        pass
    with gate.passed(never):
        pass


def cancelled() -> None:
    raise shardcore.Cancelled
