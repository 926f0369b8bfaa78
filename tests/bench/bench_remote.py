"""Remote shards: requests and bytes beside the reference readers, and times at a latency of 100 ms."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import shardcore
from shardcore.shards.shard import Shard
from shardcore.sources.remote.options import RemoteOptions
from tests.bench import bench_neuroglancer
from tests.bench.figures import Figure, best_of
from tests.bench.remote_references import reference_counts, tensorstore_at
from tests.bench.sparse_swh import sparse_pieces
from tests.remote.bills import AFTER_OPENING, HUGE, Bill, bills
from tests.remote.servers import RangeServer

LATENCY = 0.1
OBJECTS = 64
TIMES_FASTER = 5
LISTING_OVER_TENSORSTORE = 1.5


def run() -> Iterator[Figure]:
    """What `make bench` prints."""
    for name in bills():
        yield from counts(bills()[name])
    yield from parallel()
    yield from listing()


@contextmanager
def serving(bill: Bill, latency: float = 0.0) -> Iterator[tuple[RangeServer, str]]:
    """A server with the files of a bill, and the root of their addresses."""
    with RangeServer(latency=latency) as server:
        for path, content in bill.files.items():
            server.put(f"/shards/{path}", content)
        yield server, f"{server.url}/shards"


def counts(bill: Bill) -> Iterator[Figure]:
    """Requests of each action, cold; beside those of the reference readers where there are any."""
    with serving(bill) as (server, root):
        references = reference_counts(server, root, bill) if bill.name == "neuroglancer" else {}
        for action in bill.requests:
            server.log.clear()
            with opened(f"{root}/{bill.target}") as shard:
                if action != "open":
                    server.log.clear()
                    AFTER_OPENING[action](shard, bill)
                found, size = len(server.log), server.log.sent
            beside = {reader: told[action] for reader, told in references.items() if action in told}
            notes = [f"{size:,} bytes"] + [f"{who}: {n} requests, {sent:,} bytes" for who, (n, sent) in beside.items()]
            yield Figure(
                f"{bill.name}: {action}",
                found,
                bill.requests[action],
                "requests",
                beside["tensorstore"][0] if "tensorstore" in beside else None,
                "; ".join(notes),
            )


@contextmanager
def opened(uri: str, **options: int) -> Iterator[Shard]:
    """A shard, opened from a cold start."""
    with shardcore.open(uri, remote=RemoteOptions(**options)) as shard:  # type: ignore[arg-type]
        yield shard


def parallel() -> Iterator[Figure]:
    """Random objects one by one, and all at once; how many connections that took."""
    bill = bills()["swh"]
    threads = RemoteOptions().threads
    with serving(bill, LATENCY) as (server, root):
        keys = random.Random(2).sample(sparse_pieces(**HUGE)[2], OBJECTS)

        def fetch(shard: Shard, key: str) -> bytes:
            return shard.read(shard.find(key))

        took = []
        for workers in (1, OBJECTS):
            server.log.clear()
            with opened(f"{root}/{bill.target}") as shard, ThreadPoolExecutor(workers) as pool:
                began = time.perf_counter()
                assert all(pool.map(lambda key, shard=shard: fetch(shard, key), keys))  # type: ignore[misc]
                took.append(time.perf_counter() - began)
        note = f"one by one {took[0]:.1f} s, together {took[1]:.2f} s: {took[0] / took[1]:.1f} times as fast"
        yield Figure(f"{OBJECTS} random objects together", took[1], took[0] / TIMES_FASTER, note=note)
        yield Figure("connections at once", server.log.most_connections, threads + 2, "connections")


def listing() -> Iterator[Figure]:
    """200,000 keys of one neuroglancer shard, beside tensorstore over the same server; without and with the latency."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench_neuroglancer.write_with_tensorstore(folder, bench_neuroglancer.values())
        spec = json.loads((folder / "info").read_text())["sharding"]
        for latency in (0.0, LATENCY):
            with RangeServer(latency=latency) as server:
                url = server.put_folder("/skeletons", folder)

                def ours(url: str = url) -> None:
                    # Both are told the specification, and ask for no `info`.
                    with shardcore.open(url, spec=json.dumps(spec), remote=RemoteOptions()) as shard:
                        shard.load_index()
                        assert len(shard.objects) == bench_neuroglancer.KEYS

                def theirs(url: str = url) -> None:
                    assert len(tensorstore_at(url, spec).list().result()) == bench_neuroglancer.KEYS

                reference = best_of(3, theirs)
                server.log.clear()
                found = best_of(3, ours)
                note = f"{len(server.log) // 3} requests, {server.log.sent // 3:,} bytes"
                yield Figure(
                    f"listing {bench_neuroglancer.KEYS:,} keys at {latency * 1000:.0f} ms",
                    found,
                    LISTING_OVER_TENSORSTORE * reference,
                    "s",
                    reference,
                    note,
                )
