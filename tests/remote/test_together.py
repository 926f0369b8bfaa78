"""Whole shards taken out of a server: few requests, and an end when the server is lost."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.sources import prefetched_source
from tests.remote.faults import FaultProxy, Refuse, after
from tests.remote.servers import RangeServer, StoreServer


@pytest.fixture(scope="module")
def swh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, dice = tmp_path_factory.mktemp("together") / "a.shard", random.Random(5)
    with shardcore.create(path, format="swh") as writer:
        for _ in range(300):
            writer.add(None, dice.randbytes(700))
    return path


def test_small_objects_are_fetched_together(
    server: RangeServer, swh: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = server.put("/a.shard", swh)
    assert run(["extract", str(swh), str(tmp_path / "here"), "--json"]) == 0
    here = capsys.readouterr().out.replace(str(tmp_path / "here"), "")
    assert run(["extract", address, str(tmp_path / "there"), "--json"]) == 0
    assert capsys.readouterr().out.replace(str(tmp_path / "there"), "") == here
    assert len(server.log) <= 6
    server.log.clear()
    assert run(["ls", address, "--digest", "sha256", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["sha256"] for row in rows} == {json.loads(line)["sha256"] for line in here.splitlines()}
    assert len(server.log) <= 6
    server.log.clear()
    assert run(["convert", address, "des", str(tmp_path / "a.des")]) == 0
    assert len(server.log) <= 6


def test_objects_far_apart_are_not_fetched_long_before_their_turn(tmp_path: Path) -> None:
    """Where each object is a request of its own, only the next few are prefetched."""
    path = tmp_path / "a.des"
    with shardcore.create(path, format="des") as writer:
        for number in range(60):
            writer.add(f"{number}", bytes([number]) * 100_000)
    with RangeServer({"/a.des": path}) as server, shardcore.open(f"{server.url}/a.des") as shard:
        shard.load_index()
        server.log.clear()
        from shardcore.operations.extraction import extract_objects

        refs = [shard.objects.ref(row) for row in range(0, 60, 2)]
        results = extract_objects(shard, refs, tmp_path / "out")
        assert next(results).size == 100_000
        assert len(server.log) <= 2 * shard.jobs
        results.close()


def test_a_lost_server_ends_an_extraction(
    server: RangeServer, swh: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a file that is too large to come whole.
    monkeypatch.setattr(prefetched_source, "MOST_WHOLE", 0)
    address = server.put("/a.shard", swh)
    assert run(["extract", address, str(tmp_path / "all")]) == 0
    enough = len(server.log) - 1
    capsys.readouterr()
    assert run(["extract", address, str(tmp_path / "one"), "--limit-requests", str(enough)]) == 4
    assert len(capsys.readouterr().err.splitlines()) == 1
    with FaultProxy(server.host, [Refuse("ExpiredToken", when=after(enough))]) as proxy:
        assert run(["extract", f"{proxy.url}/a.shard", str(tmp_path / "two"), "--json"]) == 4
    told = capsys.readouterr()
    assert sum("error" in json.loads(line) for line in told.out.splitlines()) == 1
    assert "--conflict skip" in told.err


def test_members_of_a_data_set_fetch_their_objects_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dice = random.Random(7)
    with StoreServer() as server:
        for number in range(3):
            path = tmp_path / f"20261103_{number:02X}_0000.des"
            with shardcore.create(path, format="des") as writer:
                for key in range(100):
                    writer.add(f"{number}-{key}", dice.randbytes(2500))
            server.put(f"/b/{path.name}", path.read_bytes())
        way = ["s3://b/", "--endpoint-url", server.url, "--no-sign-request"]
        assert run(["ls", *way, "--digest", "sha256"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len({line.split()[0] for line in lines}) == len(lines) == 300
        # Both ends of a member are fetched with one guess, and what is between them is fetched once.
        assert server.log.sent < 3 * (100 * 2500 + 10_000)
        # A listing or two; of each member both ends, a look for its sidecar, and its objects in at most three parts.
        assert len(server.log) <= 2 + 3 * 6
        server.log.clear()
        assert run(["verify", *way, "--depth", "content"]) == 0
        assert len(server.log) <= 2 + 3 * 12
        server.log.clear()
        # Members are opened once, although all keys are looked at before the first object is written.
        assert run(["convert", *way[:1], "des", str(tmp_path / "there"), *way[1:]]) == 0
        assert len(server.log) <= 2 + 3 * 6
        (tmp_path / "here").mkdir()
        for path in tmp_path.glob("*.des"):
            path.rename(tmp_path / "here" / path.name)
        assert run(["convert", str(tmp_path / "here"), "des", str(tmp_path / "same")]) == 0
        assert (tmp_path / "there").read_bytes() == (tmp_path / "same").read_bytes()
