"""Searching for a key at addresses."""

from __future__ import annotations

from pathlib import Path

import shardcore
from shardcore import RemoteOptions
from tests.remote.servers import RangeServer


def test_remote_files_are_searched_beside_local_ones(server: RangeServer, data: Path) -> None:
    with shardcore.open(data / "swh" / "small.shard") as shard:
        (key,) = (one for one in shard.objects.keys[:1] if one)
    url = server.put("/small.shard", (data / "swh" / "small.shard").read_bytes())
    other = server.put("/one.shard", (data / "swh" / "one.shard").read_bytes())
    gone = f"{server.url}/gone.shard"
    paths = [gone, url, other, str(data / "swh" / "small.shard")]
    search = shardcore.find_in(key, paths, remote=RemoteOptions())
    assert [(hit.path, hit.error is None) for hit in search] == [(gone, False), (url, True), (paths[3], True)]
    assert (search.searched, search.failed) == (3, 1)
