"""Extraction over a line that breaks: what is whole stays, and what is large goes on inside."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.operations.extraction import Conflict, Extracted, ExtractOptions, extract_objects
from shardcore.sources.remote.options import RemoteOptions
from tests.remote.faults import Cut, Drop, FaultProxy, after
from tests.remote.servers import RangeServer
from tests.remote.serving import Request

MIB = 1 << 20
LARGE = 24 * MIB
OPTIONS = RemoteOptions(retries=1, patience=1.0, threads=1)


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("made") / "a.shard"
    dice = random.Random(8)
    with shardcore.create(path, format="swh") as writer:
        for size in (1000, 2000, LARGE, 3000):
            writer.add(None, dice.randbytes(size))
    return path.read_bytes()


@pytest.fixture
def proxy(server: RangeServer, shard: bytes) -> Iterator[FaultProxy]:
    server.put("/a.shard", shard)
    with FaultProxy(server.host) as one:
        yield one


def taken(proxy: FaultProxy, folder: Path) -> list[Extracted]:
    """Extract the shard in a run of its own that skips existing files; what became of each object."""
    with shardcore.open(f"{proxy.url}/a.shard", remote=OPTIONS) as opened:
        opened.load_index()
        refs = sorted((opened.objects.ref(row) for row in range(len(opened.objects))), key=lambda ref: ref.size)
        options = ExtractOptions(conflict=Conflict.SKIP, manifest=False)
        return list(extract_objects(opened, refs, folder, options))


def in_the_middle(request: Request) -> bool:
    return 0.4 * LARGE < int(request.range.partition("-")[0] or 0) < 0.8 * LARGE


def parts(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.endswith(".part")]


def test_a_large_object_goes_on_where_it_broke_off(proxy: FaultProxy, server: RangeServer, tmp_path: Path) -> None:
    proxy.faults = [Drop(when=in_the_middle)]
    first = taken(proxy, tmp_path)
    assert [bool(one.path) for one in first] == [True, True, True, False]
    assert first[-1].last
    (left,) = parts(tmp_path)
    came = left.stat().st_size
    assert MIB < came < LARGE
    proxy.faults = []
    server.log.clear()
    second = taken(proxy, tmp_path)
    assert [bool(one.skipped) for one in second] == [True, True, True, False]
    assert server.log.sent < LARGE - came + 2 * MIB
    assert second[-1].sha256 == Path(second[-1].path).name
    assert hashlib.sha256(Path(second[-1].path).read_bytes()).hexdigest() == second[-1].sha256
    assert not parts(tmp_path)


def test_nothing_goes_on_with_another_content(
    proxy: FaultProxy, server: RangeServer, shard: bytes, tmp_path: Path
) -> None:
    """Bytes of a partial file are not used after the object on the server was replaced."""
    proxy.faults = [Drop(when=in_the_middle)]
    taken(proxy, tmp_path)
    (left,) = parts(tmp_path)
    left.write_bytes(bytes(left.stat().st_size))
    proxy.faults = []
    server.put("/a.shard", shard + b"\0")
    found = taken(proxy, tmp_path)[-1]
    assert found.sha256 == Path(found.path).name
    assert parts(tmp_path) == [left]


def test_skip_fetches_the_index_alone(tmp_path: Path) -> None:
    path, out = tmp_path / "many.shard", tmp_path / "out"
    dice = random.Random(4)
    with shardcore.create(path, format="swh") as writer:
        for _ in range(60):
            writer.add(None, dice.randbytes(50_000))
    with RangeServer({"/a.shard": path}) as server:
        command = ["extract", f"http://{server.host}/a.shard", str(out), "--no-manifest"]
        assert run(command) == 0
        server.log.seen.clear()
        assert run([*command, "--conflict", "skip"]) == 0
        assert len(server.log) <= 3
        assert server.log.sent < 100_000
        missing = sorted(out.iterdir())[:3]
        content = [one.read_bytes() for one in missing]
        for one in missing:
            one.unlink()
        server.log.seen.clear()
        assert run([*command, "--conflict", "skip", "--guess-extension"]) == 0
        assert server.log.sent < 100_000 + len(missing) * 60_000
        assert [one.read_bytes() for one in missing] == content


def test_progress_resets_the_count_of_attempts(
    proxy: FaultProxy, server: RangeServer, shard: bytes, tmp_path: Path
) -> None:
    """Half of all bodies are cut, more often in a row than there are attempts."""
    proxy.faults = [Cut(0.5, when=lambda request: request.number % 4 > 0)]
    found = taken(proxy, tmp_path)
    assert not [one.error for one in found if one.error]
    assert len(proxy.struck) > 2 * OPTIONS.retries
    assert server.log.sent < 2 * len(shard)


def test_a_byte_for_each_connection_is_no_progress(proxy: FaultProxy, tmp_path: Path) -> None:
    """A server that sends next to nothing per connection is given up."""
    proxy.faults = [Cut(0.000_01, when=after(5))]
    found = taken(proxy, tmp_path)
    assert found[-1].last
    assert len(proxy.struck) < 40
