"""Remote shards: requests and bytes beside the reference readers, and times at a latency of 100 ms."""

from __future__ import annotations

import copy
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import shardcore
from shardcore.shards.shard import Shard
from shardcore.sources.remote.options import RemoteOptions
from tests.bench.figures import Figure, best_of, report
from tests.bench.inputs import SPEC, values
from tests.bench.sparse_swh import sparse_pieces
from tests.bench.theirs import tensorstore
from tests.remote.bills import AFTER_OPENING, HUGE, Bill, bills
from tests.remote.servers import RangeServer

LATENCY = 0.1
OBJECTS = 64
TIMES_FASTER = 5
LISTING_OVER_TENSORSTORE = 1.5
KEYS = 200_000


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
    import tensorstore as ts

    with tempfile.TemporaryDirectory() as name:
        store = tensorstore(name)
        with ts.Transaction() as transaction:
            inside = store.with_transaction(transaction)
            for key, data in values(KEYS).items():
                inside[key.to_bytes(8, "big")] = data
        for latency in (0.0, LATENCY):
            with RangeServer(latency=latency) as server:
                url = server.put_folder("/skeletons", Path(name))

                def ours(url: str = url) -> None:
                    # Both are told the specification, and ask for no `info`.
                    with shardcore.open(url, spec=SPEC, remote=RemoteOptions()) as shard:
                        shard.load_index()
                        assert len(shard.objects) == KEYS

                def theirs(url: str = url) -> None:
                    assert len(tensorstore_at(url, SPEC).list().result()) == KEYS

                reference = best_of(3, theirs)
                server.log.clear()
                found = best_of(3, ours)
                note = f"{len(server.log) // 3} requests, {server.log.sent // 3:,} bytes"
                yield Figure(
                    f"listing {KEYS:,} keys at {latency * 1000:.0f} ms",
                    found,
                    LISTING_OVER_TENSORSTORE * reference,
                    "s",
                    reference,
                    note,
                )


VOLUME = Path(__file__).parents[1] / "data" / "neuroglancer" / "volume"


def reference_counts(server: RangeServer, root: str, bill: Bill) -> dict[str, dict[str, tuple[int, int]]]:
    """Requests and bytes by reader and action, each from a cold start; actions as in `bills.AFTER_OPENING`, and `open`.

    What opening costs is counted for a small volume: that is what these readers open by its `info`.
    """
    spec = json.loads(bill.files[f"{bill.target}info"].read(0, 1 << 20))["sharding"]
    url = f"{root}/{bill.target}"
    readers = {"tensorstore": tensorstore_actions(url, spec), "cloud-volume": cloud_volume_actions(url, spec)}
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for reader, opened in readers.items():
        found[reader] = {}
        for action in ("object", "absent", "list"):
            todo = opened()
            server.log.clear()
            todo[action](bill)
            found[reader][action] = len(server.log), server.log.sent
    volume = server.put_folder("/volume", VOLUME)
    for reader, opened_volume in (("tensorstore", open_with_tensorstore), ("cloud-volume", open_with_cloud_volume)):
        server.log.clear()
        opened_volume(volume)
        found[reader]["open"] = len(server.log), server.log.sent
    return found


def open_with_tensorstore(url: str) -> None:
    """Opens a volume."""
    import tensorstore as ts

    ts.open({"driver": "neuroglancer_precomputed", "kvstore": url}, open=True, context=ts.Context()).result()


def open_with_cloud_volume(url: str) -> None:
    """Opens a volume."""
    from cloudvolume import CloudVolume

    CloudVolume(f"precomputed://{url.rstrip('/')}", progress=False)


Action = Callable[[Bill], None]


def tensorstore_actions(url: str, spec: dict[str, Any]) -> Callable[[], dict[str, Action]]:
    """Tensorstore, which is told the specification and so asks for no `info`."""

    def opened() -> dict[str, Action]:
        store = tensorstore_at(url, spec)

        def read(bill: Bill) -> None:
            assert store.read(int(bill.key).to_bytes(8, "big")).result().state == "value"

        def read_nothing(bill: Bill) -> None:
            assert store.read(int(bill.absent).to_bytes(8, "big")).result().state == "missing"

        def list_all(bill: Bill) -> None:
            assert store.list().result()

        return {"object": read, "absent": read_nothing, "list": list_all}

    return opened


def tensorstore_at(url: str, spec: dict[str, Any]) -> Any:
    """Tensorstore's key-value store over an address that ends with a slash, without a cache from before."""
    import tensorstore as ts

    return ts.KvStore.open(
        {"driver": "neuroglancer_uint64_sharded", "base": url, "metadata": spec}, context=ts.Context()
    ).result()


def cloud_volume_actions(url: str, spec: dict[str, Any]) -> Callable[[], dict[str, Action]]:
    """The reader of shards in cloud-volume, told the specification likewise."""
    from cloudvolume.cacheservice import CacheService
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification, ShardReader
    from cloudvolume.paths import extract

    place = f"precomputed://{url.rstrip('/')}"

    class Meta:
        cloudpath = place
        path = extract(place)

    class Config:
        """Nothing is cached, shown or packed: cloud-volume asks for some ten settings."""

        progress = False
        parallel = 1

        def __getattr__(self, name: str) -> None:
            return None

    def opened() -> dict[str, Action]:
        parsed = ShardingSpecification.from_dict(copy.deepcopy(spec))
        cache = CacheService(place, False, Config(), Meta())
        reader = ShardReader(place, cache, parsed)

        def read(bill: Bill) -> None:
            assert reader.get_data(int(bill.key))

        def read_nothing(bill: Bill) -> None:
            assert reader.get_data(int(bill.absent)) is None

        def list_all(bill: Bill) -> None:
            shards = [name.rsplit("/", 1)[-1] for name in bill.files if name.endswith(".shard")]
            assert sum(len(reader.list_labels(name)) for name in shards)

        return {"object": read, "absent": read_nothing, "list": list_all}

    return opened


if __name__ == "__main__":
    report(run())
