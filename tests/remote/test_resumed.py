"""Extraction over a line that breaks: what is whole stays, and what is large goes on inside."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest

import shardcore
from shardcore.operations.extraction import Conflict, Extracted, ExtractOptions, extract_objects
from shardcore.sources.remote.options import RemoteOptions
from tests.remote.faults import Drop, FaultProxy, after
from tests.remote.servers import RangeServer

MIB = 1 << 20
LARGE = 24 * MIB
OPTIONS = RemoteOptions(retries=1, patience=1.0, threads=1)


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Three small objects, and one of 24 MiB."""
    path = tmp_path_factory.mktemp("made") / "a.shard"
    dice = random.Random(8)
    with shardcore.create(path, format="swh") as writer:
        for size in (1000, 2000, LARGE, 3000):
            writer.add(None, dice.randbytes(size))
    return path.read_bytes()


def taken(address: str, folder: Path) -> list[Extracted]:
    """What became of each object, in a run of its own that leaves out what is there."""
    with shardcore.open(address, remote=OPTIONS) as opened:
        opened.load_index()
        refs = sorted((opened.objects.ref(row) for row in range(len(opened.objects))), key=lambda ref: ref.size)
        options = ExtractOptions(conflict=Conflict.SKIP, manifest=False)
        return list(extract_objects(opened, refs, folder, options))


def parts(folder: Path) -> list[Path]:
    """What is not complete."""
    return [path for path in folder.iterdir() if path.name.endswith(".part")]


def test_a_large_object_goes_on_where_it_broke_off(shard: bytes, tmp_path: Path) -> None:
    """A second run fetches the rest alone, as long as the object on the server is the same."""
    with RangeServer() as server, FaultProxy(server.host) as proxy:
        server.put("/a.shard", shard)
        address = f"http://{proxy.host}/a.shard"
        proxy.faults = [Drop(when=after(len(proxy.log) + 7))]
        first = taken(address, tmp_path)
        assert [bool(one.path) for one in first] == [True, True, True, False]
        assert first[-1].last
        (left,) = parts(tmp_path)
        came = left.stat().st_size
        assert MIB < came < LARGE
        proxy.faults = []
        server.log.clear()
        second = taken(address, tmp_path)
        assert [bool(one.skipped) for one in second] == [True, True, True, False]
        assert server.log.sent < LARGE - came + 2 * MIB
        assert second[-1].sha256 == Path(second[-1].path).name
        assert hashlib.sha256(Path(second[-1].path).read_bytes()).hexdigest() == second[-1].sha256
        assert not parts(tmp_path)


def test_nothing_goes_on_with_another_content(shard: bytes, tmp_path: Path) -> None:
    """When the object on the server was replaced, what came before is of no use, and is not used."""
    with RangeServer() as server, FaultProxy(server.host) as proxy:
        server.put("/a.shard", shard)
        address = f"http://{proxy.host}/a.shard"
        proxy.faults = [Drop(when=after(len(proxy.log) + 7))]
        taken(address, tmp_path)
        (left,) = parts(tmp_path)
        left.write_bytes(bytes(left.stat().st_size))
        proxy.faults = []
        server.put("/a.shard", shard + b"\0")
        found = taken(address, tmp_path)[-1]
        assert found.sha256 == Path(found.path).name
        assert parts(tmp_path) == [left]
