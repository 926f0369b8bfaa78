"""Whole data sets over S3 at 50 ms and 20 MB/s: requests and seconds, beside tensorstore where it reads the same."""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import shardcore
from shardcore.formats.des.routing import Route
from tests.bench.figures import Figure, report
from tests.bench.inputs import sharding
from tests.remote.servers import StoreServer

LATENCY = 0.05
BYTES_PER_SECOND = 20_000_000
SHARDS = 512
OVER_TENSORSTORE = 1.2
PACKED = 300
JOBS = 32
"""Requests under way, of both: tensorstore's own number."""
SPEC = sharding("identity", 3, 9)


def run() -> Iterator[Figure]:
    """Prints the figures of `make bench`."""
    with (
        tempfile.TemporaryDirectory() as name,
        tempfile.TemporaryDirectory() as out,
        StoreServer(latency=LATENCY, rate=BYTES_PER_SECOND) as server,
    ):
        root = Path(name)
        write_skeletons(root / "skeletons")
        write_documents(root / "documents")
        for folder in root.iterdir():
            server.put_folder(f"/shards/{folder.name}", folder)
        for command in ("list", "verify", "extract"):
            reference = measured(server, "tensorstore", command, "skeletons", out)[0]
            seconds, requests = measured(server, "shardcore", command, "skeletons", out)
            note = f"{requests:,} requests"
            limit = OVER_TENSORSTORE * reference
            yield Figure(f"{SHARDS} neuroglancer shards: {command}", seconds, limit, "s", reference, note)
        for command in ("list", "verify", "extract"):
            seconds, requests = measured(server, "shardcore", command, "documents", out)
            yield Figure(f"{PACKED} des shards: {command}", seconds, 5.0, "s", note=f"{requests:,} requests")


def write_skeletons(folder: Path) -> None:
    """512 shards of about 100 KB: skeletons of vertices without edges."""
    dice = random.Random(7)
    with shardcore.create(f"{folder}/", format="neuroglancer", spec=json.dumps(SPEC)) as writer:
        for key in range(SHARDS * 8):
            writer.add(str(key), struct.pack("<II", 999, 0) + dice.randbytes(12 * 999))
    (folder / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": SPEC}))


def write_documents(folder: Path) -> None:
    """300 shards of 61 KB with their metadata files."""
    dice = random.Random(8)
    with shardcore.create(f"{folder}/", format="des", n_bits=8, sidecar=True, codec="none") as writer:
        added: dict[str, int] = {}
        number = 0
        while len(added) < PACKED or min(added.values()) < 12:
            number += 1
            uid = f"document {number}"
            day = f"2026-11-{3 + number % 2:02}"
            name = f"{day}/{Route.of(uid).hex}"
            if name not in added and len(added) == PACKED:
                continue
            if added.get(name, 0) < 12:
                added[name] = added.get(name, 0) + 1
                writer.add(uid, dice.randbytes(5000), created_at=day)


def measured(server: StoreServer, reader: str, command: str, name: str, out: str) -> tuple[float, int]:
    """Seconds of a command in a process of its own without its start, and the requests that the server saw."""
    server.log.clear()
    code = [sys.executable, "-m", "tests.bench.data_sets", reader, command, server.url, f"shards/{name}/", out]
    done = subprocess.run(code, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[-1]), len(server.log)


def shardcore_reader(command: str, endpoint: str, path: str, folder: str) -> None:
    """Lists, verifies or extracts as the command line does."""
    import shardcore
    from shardcore.cli.object_rows import list_members
    from shardcore.operations.extraction import extract
    from shardcore.shards.shard_tasks import RowsRequest
    from shardcore.sources.remote.options import RemoteOptions

    remote = RemoteOptions(endpoint_url=endpoint, addressing="path", anonymous=True, threads=JOBS)
    with shardcore.open(f"s3://{path}", remote=remote, jobs=JOBS) as shard:
        if command == "list":
            list_members(shard, RowsRequest(), skip=0, limit=None, as_json=False)  # type: ignore[arg-type]
        elif command == "verify":
            assert shard.verify().ok
        else:
            assert extract(shard, folder).ok


def tensorstore_reader(command: str, endpoint: str, path: str, folder: str) -> None:
    """Lists, or reads each value; to extract, writes it to a file, too."""
    import tensorstore as ts

    base = f"{endpoint}/{path}"
    with_info = ts.KvStore.open({"driver": "http", "base_url": base}).result().read("info").result().value
    spec = json.loads(with_info)["sharding"]
    store = ts.KvStore.open(
        {"driver": "neuroglancer_uint64_sharded", "base": base, "metadata": spec},
        context=ts.Context({"cache_pool": {"total_bytes_limit": 1 << 28}}),
    ).result()
    shards = 1 << spec["shard_bits"]
    if command == "list":
        store.list().result()
        return
    whole = ts.KvStore.open({"driver": "http", "base_url": base}).result()
    names = [f"{number:0{(spec['shard_bits'] + 3) // 4}x}.shard" for number in range(shards)]
    found = [one.result().value for one in [whole.read(name) for name in names]]
    if command == "extract":
        for name, data in zip(names, found, strict=True):
            with open(os.path.join(folder, name), "wb") as file:  # noqa: PTH118
                file.write(data)


def read(reader: str, command: str, endpoint: str, path: str, folder: str) -> None:
    """Run one reader in this process; print the seconds.

    The files stay until all readers are done: after many were removed, ext4 creates others several times more slowly.
    """
    written = tempfile.mkdtemp(dir=folder)
    began = time.perf_counter()
    {"shardcore": shardcore_reader, "tensorstore": tensorstore_reader}[reader](command, endpoint, path, written)
    print(time.perf_counter() - began)


if __name__ == "__main__":
    read(*sys.argv[1:]) if sys.argv[1:] else report(run())
