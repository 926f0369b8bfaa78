"""One reader of a whole data set in a process of its own; prints the seconds: READER COMMAND ENDPOINT PATH FOLDER."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time


def shardcore_reader(command: str, endpoint: str, path: str, folder: str, jobs: int | None) -> None:
    """Lists, verifies or extracts as the command line does."""
    import shardcore
    from shardcore.cli.object_rows import list_members
    from shardcore.operations.extraction import extract
    from shardcore.shards.shard_tasks import RowsRequest
    from shardcore.sources.remote.options import RemoteOptions

    remote = RemoteOptions(endpoint_url=endpoint, addressing="path", anonymous=True, threads=jobs or 8)
    with shardcore.open(f"s3://{path}", remote=remote, jobs=jobs) as shard:
        if command == "list":
            list_members(shard, RowsRequest(), skip=0, limit=None, as_json=False)  # type: ignore[arg-type]
        elif command == "verify":
            assert shard.verify().ok
        else:
            assert extract(shard, folder).ok


def tensorstore_reader(command: str, endpoint: str, path: str, folder: str, jobs: int | None) -> None:
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


if __name__ == "__main__":
    reader, command, endpoint, path, folder, *more = sys.argv[1:]
    readers = {"shardcore": shardcore_reader, "tensorstore": tensorstore_reader}
    # The files stay until all readers are done: where many were removed, ext4 creates others several times more slowly.
    written = tempfile.mkdtemp(dir=folder)
    began = time.perf_counter()
    readers[reader](command, endpoint, path, written, int(more[0]) if more else None)
    print(time.perf_counter() - began)
