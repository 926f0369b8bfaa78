"""Comparing remote shards, counted at the server, and searching for a key at addresses."""

from __future__ import annotations

import random
from pathlib import Path

import shardcore
from shardcore.cli.program import run
from shardcore.operations.diff import DiffDepth
from tests.remote.servers import RangeServer

KIB = 1024


def written(path: Path, changed: int = -1) -> bytes:
    """The bytes of a des shard with 40 objects of 64 KiB; one of them may differ."""
    with shardcore.create(path, format="des") as writer:
        for number in range(40):
            writer.add(f"k{number}", random.Random(number + 1000 * (number == changed)).randbytes(64 * KIB))
    return path.read_bytes()


def test_contents_are_read_on_request_only(server: RangeServer, tmp_path: Path) -> None:
    first = server.put("/a.des", written(tmp_path / "a.des"))
    second = server.put("/b.des", written(tmp_path / "b.des", changed=7))
    with shardcore.open(first) as one, shardcore.open(second) as other:
        found = shardcore.diff(one, other, contents=False)
        assert found.compared is DiffDepth.SIZES
        assert found.equal
        for shard in (one, other):
            assert shard.tape.requests <= 3
            assert shard.tape.bytes < 512 * KIB
    assert run(["diff", first, second]) == 0
    assert run(["diff", first, second, "--content"]) == 1


def test_equal_identities_are_enough(server: RangeServer, tmp_path: Path) -> None:
    """The same address with the same ETag is equal: only the headers are read, not even an index."""
    address = server.put("/a.des", written(tmp_path / "a.des"))
    with shardcore.open(address) as one, shardcore.open(address) as other:
        before = [shard.tape.requests for shard in (one, other) if shard.tape is not None]
        found = shardcore.diff(one, other)
        assert (found.equal, found.compared) == (True, DiffDepth.IDENTITY)
        assert [shard.tape.requests for shard in (one, other) if shard.tape is not None] == before


def test_remote_files_are_searched_beside_local_ones(server: RangeServer, data: Path) -> None:
    with shardcore.open(data / "swh" / "small.shard") as shard:
        (key,) = (one for one in shard.objects.keys[:1] if one)
    url = server.put("/small.shard", (data / "swh" / "small.shard").read_bytes())
    other = server.put("/one.shard", (data / "swh" / "one.shard").read_bytes())
    gone = f"{server.url}/gone.shard"
    paths = [gone, url, other, str(data / "swh" / "small.shard")]
    search = shardcore.find_in(key, paths, remote=shardcore.RemoteOptions())
    assert [(hit.path, hit.error is None) for hit in search] == [(gone, False), (url, True), (paths[3], True)]
    assert (search.searched, search.failed) == (3, 1)
