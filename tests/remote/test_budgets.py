"""What opening, listing and one object cost, counted at the server from a cold start; every kind of request counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.operations.cold_cost import cold_trace
from shardcore.shards.shard import Shard
from shardcore.sources.remote.options import RemoteOptions
from shardcore.testing import FULL, sampled
from tests.remote.bills import AFTER_OPENING, COMMAND_BILLS, COMMANDS, NAMES, Bill, bills
from tests.remote.servers import RangeServer, StoreServer
from tests.remote.serving import Log

GUESS = 65536
"""Bytes that may be fetched beyond the least."""


@contextmanager
def opened(bill: Bill, transport: str) -> Iterator[tuple[Shard, Log]]:
    """The shard, opened from a cold start, and what the server saw."""
    with (StoreServer if transport == "s3" else RangeServer)() as server:
        for path, content in bill.files.items():
            server.put(f"/shards/{path}", content)
        if transport == "s3":
            root, options = "s3://shards", RemoteOptions(endpoint_url=server.url, addressing="path", anonymous=True)
        else:
            root, options = f"{server.url}/shards", RemoteOptions()
        with shardcore.open(f"{root}/{bill.target}", remote=options, **bill.options) as shard:
            yield shard, server.log


def check(log: Log, bill: Bill, action: str) -> None:
    """No more requests and bytes than the bill says."""
    told = f"{bill.name}, {action}:\n{log}"
    assert len(log) <= bill.requests[action], told
    assert log.sent <= bill.least[action] + GUESS, told
    assert all(one.request.method == "GET" for one in log), told


# What formats ask for is the same over all transports; folders are not.
FOLDERS = [("neuroglancer", "s3"), ("neuroglancer, no slash", "s3")]
PLACES = [(name, "http") for name in NAMES] + ([(name, "s3") for name in NAMES] if FULL else FOLDERS)


@pytest.mark.parametrize(("name", "transport"), sampled(PLACES, 6))
def test_budget(name: str, transport: str) -> None:
    """Opening costs what the fact sheets say, and so does each action after it, on an opening of its own."""
    bill = bills()[name]
    for action in bill.requests:
        with opened(bill, transport) as (shard, log):
            if action != "open":
                log.clear()
                AFTER_OPENING[action](shard, bill)
            check(log, bill, action)


COMMAND_CASES = [
    (name, command, most)
    for name, counts in COMMAND_BILLS.items()
    for command, most in zip(COMMANDS, counts, strict=True)
    if most is not None
]


@pytest.mark.parametrize(("name", "command", "most"), sampled(COMMAND_CASES, 12))
def test_commands(name: str, command: str, most: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command makes no more requests than its bill says, opening included, and fetches no byte twice."""
    bill = bills()[name]
    store = bill.target.endswith("/")
    with (StoreServer if store else RangeServer)() as server:
        for path, content in bill.files.items():
            server.put(f"/shards/{path}", content)
        root = "s3://shards" if store else f"{server.url}/shards"
        argv = [word.format(uri=f"{root}/{bill.target}", out=tmp_path / "out") for word in COMMANDS[command]]
        run([*argv, *(["--no-sign-request", "--addressing", "path", "--endpoint-url", server.url] if store else [])])
        capsys.readouterr()
        assert len(server.log) <= most, f"{name}, {command}:\n{server.log}"
        assert server.log.sent <= sum(content.size for content in bill.files.values()) + GUESS


def test_a_first_reader_pays_what_the_server_sees() -> None:
    """What is measured for a cold lookup are the requests and bytes that the server saw, and it sees none again."""
    # A folder without its slash is asked for as a file first, which is no matter of the format.
    for name in (name for name in NAMES if name != "neuroglancer, no slash"):
        bill = bills()[name]
        folder = "neuroglancer" if name.startswith("neuroglancer") else ""
        with opened(bill, "s3" if folder else "http") as (shard, log):
            opening = len(log), log.sent
            shard.trace(bill.key)
            whole = len(log), log.sent
            cold = cold_trace(shard, bill.key)
            told = f"{name}:\n{log}"
            assert (cold.opening.requests, cold.total.requests) == (opening[0], whole[0]), told
            assert len(log) == whole[0], told
            assert cold.total.rounds <= cold.total.requests
