"""Large transfers at 50 ms and 20 MB/s: one object beside boto3, charts, recovery, folders with very many names."""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import shardcore
from shardcore import RemoteOptions
from shardcore.cli.program import run as run_command
from tests.bench.figures import Figure, report
from tests.remote.servers import ManyKeysServer, StoreServer

LATENCY, RATE = 0.05, 20e6
LARGE = 120_000_000
MIDDLE = (450, 40_000)
KEYS = 110_000
OVER_BOTO3 = 1.1


def run() -> Iterator[Figure]:
    """Prints the figures of `make bench`."""
    with tempfile.TemporaryDirectory() as name, StoreServer(latency=LATENCY, rate=RATE) as server:
        yield from large_object(server, Path(name))
        yield from middle_file(server, Path(name))
    yield from many_keys()


def options(server: StoreServer) -> RemoteOptions:
    """Options that reach the store."""
    return RemoteOptions(endpoint_url=server.url, addressing="path", anonymous=True)


def written(path: Path, count: int, size: int) -> str:
    """Writes a read shard of random objects; the key of one of them."""
    dice = np.random.default_rng(5)
    with shardcore.create(path, format="swh") as writer:
        for _ in range(count):
            writer.add(None, dice.bytes(size))
    with shardcore.open(path) as shard:
        return next(key for key in shard.objects.keys[:] if key)


def timed(server: StoreServer, work: Callable[[], object]) -> tuple[float, int, int]:
    """Seconds, requests, and the most of them at the same time."""
    server.log.clear()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began, len(server.log), server.log.most_at_once


def large_object(server: StoreServer, folder: Path) -> Iterator[Figure]:
    """One object of 120 MB, found and streamed, beside boto3's transfer of the file."""
    key = written(folder / "large.shard", 1, LARGE)
    server.put("/bucket/large.shard", folder / "large.shard")
    remote = options(server)
    client = boto3_client(server)

    def theirs() -> None:
        with (folder / "copy").open("wb") as file:
            client.download_fileobj("bucket", "large.shard", file)

    try:
        reference = min(timed(server, theirs)[0] for _ in range(2))
    finally:
        client.close()
    with shardcore.open("s3://bucket/large.shard", remote=remote) as shard:

        def ours() -> None:
            with (folder / "copy").open("wb") as file:
                for piece in shard.stream(shard.find(key)):
                    file.write(piece)

        took, requests, at_once = timed(server, ours)
    note = f"{requests} requests, {at_once} at once"
    yield Figure("one object of 120 MB", took, OVER_BOTO3 * reference, "s", reference, note)
    yield Figure("one object of 120 MB: requests", requests, 18, "requests")


def boto3_client(server: StoreServer) -> Any:
    """A client as its users make it: ten transfers at the same time."""
    import boto3
    from botocore import UNSIGNED
    from botocore.config import Config

    config = Config(signature_version=UNSIGNED, s3={"addressing_style": "path"})
    return boto3.session.Session().client("s3", endpoint_url=server.url, region_name="us-east-1", config=config)


def middle_file(server: StoreServer, folder: Path) -> Iterator[Figure]:
    """Salvage of a file of 18 MB."""
    written(folder / "middle.shard", *MIDDLE)
    server.put("/bucket/middle.shard", folder / "middle.shard")
    reach = ["--no-sign-request", "--addressing", "path", "--endpoint-url", server.url]
    uri = "s3://bucket/middle.shard"
    with contextlib.redirect_stdout(io.StringIO()):
        took, requests, at_once = timed(server, lambda: run_command(["recover", uri, "--plan", *reach]))
    yield Figure("recover --plan of 18 MB", took, 1.5, note=f"{at_once} at once")
    yield Figure("recover --plan of 18 MB: requests", requests, 6, "requests")


def many_keys() -> Iterator[Figure]:
    """A folder of 110,000 shards: until it is open, and until all names are here."""
    names = [f"20261103_{at >> 16:02X}_{at & 0xFFFF:04X}.des" for at in range(KEYS)]
    with ManyKeysServer("/bucket/many/", names, b"x" * 64, latency=LATENCY) as server:
        began = time.perf_counter()
        with shardcore.open("s3://bucket/many/", remote=options(server)) as found:
            note = f"{server.listings} listings"
            yield Figure(f"folder of {KEYS:,}: open", time.perf_counter() - began, 2.0, note=note)
            assert len(found.members) == KEYS
        yield Figure(f"folder of {KEYS:,}: listings", server.listings, KEYS // 1000 + 2, "requests")
        yield Figure(f"folder of {KEYS:,}: all names", time.perf_counter() - began, 60.0)


if __name__ == "__main__":
    report(run())
