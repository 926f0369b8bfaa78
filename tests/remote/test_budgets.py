"""What opening, listing and one object cost, counted at the server from a cold start; every kind of request counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import shardcore
from shardcore.shard import Shard
from shardcore.sources.remote.options import RemoteOptions
from tests.remote.bills import AFTER_OPENING, NAMES, Bill, bills
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
    guesses = sum(one.status == 206 for one in log)
    assert log.sent <= bill.least[action] + GUESS * max(guesses, 1), told
    assert all(one.request.method == "GET" for one in log), told


@pytest.mark.parametrize("transport", ["http", "s3"])
@pytest.mark.parametrize("name", NAMES)
def test_budget(name: str, transport: str) -> None:
    """Opening costs what the fact sheets say, and so does each action after it, on an opening of its own."""
    bill = bills()[name]
    for action in bill.requests:
        with opened(bill, transport) as (shard, log):
            if action != "open":
                log.clear()
                AFTER_OPENING[action](shard, bill)
            check(log, bill, action)
