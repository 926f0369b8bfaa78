"""What opening, listing and one object cost, counted at the server from a cold start; every kind of request counts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.operations.cold_cost import cold_trace
from shardcore.shards.shard import Shard
from shardcore.sources.remote.options import RemoteOptions
from shardcore.testing import FULL, sampled
from tests.remote.bills import AFTER_OPENING, COMMAND_BILLS, COMMANDS, DATE, NAMES, SPEC, Bill, bills
from tests.remote.servers import RangeServer, StoreServer
from tests.remote.serving import Log

GUESS = 65536
"""Bytes that may be fetched beyond the least."""


@contextmanager
def opened(bill: Bill, transport: str) -> Iterator[tuple[Shard, Log]]:
    with (StoreServer if transport == "s3" else RangeServer)() as server:
        for path, content in bill.files.items():
            server.put(f"/shards/{path}", content)
        if transport == "s3":
            root, options = "s3://shards", RemoteOptions(endpoint_url=server.url, addressing="path", anonymous=True)
        else:
            root, options = f"{server.url}/shards", RemoteOptions()
        with shardcore.open(f"{root}/{bill.target}", remote=options) as shard:
            yield shard, server.log


def check(log: Log, bill: Bill, action: str) -> None:
    told = f"{bill.name}, {action}:\n{log}"
    assert len(log) <= bill.requests[action], told
    assert log.sent <= bill.least[action] + GUESS, told
    assert all(one.request.method == "GET" for one in log), told


# What formats ask for is the same over all transports; folders are not.
FOLDERS = [("neuroglancer", "s3"), ("neuroglancer, no slash", "s3")]
PLACES = [(name, "http") for name in NAMES] + ([(name, "s3") for name in NAMES] if FULL else FOLDERS)


@pytest.mark.parametrize(("name", "transport"), sampled(PLACES, 6))
def test_budget(name: str, transport: str) -> None:
    """Each action after opening is counted on a shard of its own."""
    bill = bills()[name]
    for action in bill.requests:
        with opened(bill, transport) as (shard, log):
            if action != "open":
                log.clear()
                AFTER_OPENING[action](shard, bill)
            check(log, bill, action)


EACH = [(name, each) for name, counts in COMMAND_BILLS.items() for each in zip(COMMANDS, counts, strict=True)]
COMMAND_CASES = [(name, command, most) for name, (command, most) in EACH if most is not None]


@pytest.mark.parametrize(("name", "command", "most"), sampled(COMMAND_CASES, 12))
def test_commands(name: str, command: str, most: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bill = bills()[name]
    store = bill.target.endswith("/")
    with (StoreServer if store else RangeServer)() as server:
        for path, content in bill.files.items():
            server.put(f"/shards/{path}", content)
        root = "s3://shards" if store else f"{server.url}/shards"
        argv = [word.format(uri=f"{root}/{bill.target}", out=tmp_path / "out") for word in COMMANDS[command]]
        run([*argv, *(["--no-sign-request", "--addressing", "path", "--endpoint-url", server.url] if store else [])])
        capsys.readouterr()
        assert len(server.log) <= most, f"{name}, {command}:\n{server.log}"
        assert server.log.sent <= sum(content.size for content in bill.files.values()) + GUESS


def test_a_first_reader_pays_what_the_server_sees() -> None:
    """The measured cold cost equals the requests and bytes in the log of the server."""
    # A folder without its slash is asked for as a file first, which is no matter of the format.
    for name in (name for name in NAMES if name != "neuroglancer, no slash"):
        bill = bills()[name]
        folder = "neuroglancer" if name.startswith("neuroglancer") else ""
        with opened(bill, "s3" if folder else "http") as (shard, log):
            opening = len(log), log.sent
            shard.trace(bill.key)
            whole = len(log), log.sent
            cold = cold_trace(shard, bill.key)
            told = f"{name}:\n{log}"
            assert (cold.opening.requests, cold.total.requests) == (opening[0], whole[0]), told
            assert len(log) == whole[0], told
            assert cold.total.rounds <= cold.total.requests


MEMBERS = 20


def documents() -> Mapping[str, bytes]:
    dice, names = random.Random(2), [f"{number:02X}" for number in range(MEMBERS - 1)] + ["FF"]
    files: dict[str, bytes] = {}
    for number, hex_ in enumerate(names):
        with TemporaryDirectory() as folder:
            with shardcore.create(f"{folder}/{DATE}_{hex_}_0000.des", format="des", sidecar=True, codec="none") as it:
                for uid in range(int(hex_, 16), 256 * 9, 256):
                    it.add(str(uid), dice.randbytes(10_000))
            files |= {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        assert len(files) == 2 * number + 2
    return files


def skeletons() -> Mapping[str, bytes]:
    spec = SPEC | {"hash": "identity", "minishard_bits": 1, "shard_bits": 5, "data_encoding": "raw"}
    dice = random.Random(3)
    with TemporaryDirectory() as folder:
        with shardcore.create(f"{folder}/", format="neuroglancer", spec=json.dumps(spec)) as writer:
            for key in range(2 * MEMBERS):
                writer.add(str(key), dice.randbytes(64_000))
        (Path(folder) / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": spec}))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@contextmanager
def data_set(files: Mapping[str, bytes]) -> Iterator[tuple[str, RemoteOptions, Log]]:
    """A folder in a store: its address, how it is reached, and what the server saw."""
    with StoreServer({f"/shards/set/{path}": data for path, data in files.items()}) as server:
        options = RemoteOptions(endpoint_url=server.url, addressing="path", anonymous=True)
        yield "s3://shards/set/", options, server.log


def test_shards_of_a_web_server_are_tried_by_their_names() -> None:
    """A volume of more than 64 shards is listed over HTTP by requests in parallel."""
    files = skeletons()
    info = json.loads(files["info"])
    info["sharding"]["shard_bits"] = 7
    with RangeServer({f"/set/{name}": data for name, data in files.items()}) as server:
        server.put("/set/info", json.dumps(info).encode())
        with shardcore.open(f"{server.url}/set/", remote=RemoteOptions()) as shard:
            assert [member.name for member in shard.members] == sorted(set(files) - {"info"})
            assert len(server.log) == 1 + MEMBERS + 2 * (128 - MEMBERS), str(server.log)
            assert server.log.most_at_once > 1


@pytest.mark.parametrize(("key", "most"), [("255", 5), ("3", 5), ("20", 6)])
def test_one_uid_of_many_shards(key: str, most: int) -> None:
    """File names lead to the shard of a uid; shards are probed only to prove that a uid is absent."""
    with data_set(documents()) as (uri, options, log), shardcore.open(uri, remote=options) as shard:
        if key == "20":
            assert shard.find_all(key) == ()
        else:
            assert len(shard.read(shard.find(key))) == 10_000
        assert len(log) <= most, str(log)


@pytest.mark.parametrize(
    ("name", "key", "most"),
    [("cases/07-one-file-per-object/shnull", "59", 2), ("neuroglancer/mesh_files", "404237804481", 3)],
)
def test_an_object_that_is_a_file(data: Path, name: str, key: str, most: int) -> None:
    """Reading costs the `info` and one request per file of the object; listing is on request."""
    files = {path.name: path.read_bytes() for path in (data / name).iterdir()}
    with data_set(files) as (uri, options, log):
        with shardcore.open(uri, remote=options) as shard:
            assert shard.read(shard.find(key))
            assert len(log) == most, str(log)
            assert shard.find_all("6") == ()
            assert len(log) == most + 1, str(log)
        log.clear()
        with shardcore.open(uri, remote=options) as shard:
            assert key in shard.objects.keys[:]
            assert len(log) == 2, str(log)
    with (
        RangeServer({f"/set/{path}": content for path, content in files.items()}) as server,
        shardcore.open(f"{server.url}/set/", remote=RemoteOptions()) as shard,
    ):
        assert (bool(shard.read(shard.find(key))), shard.find_all("6")) == (True, ())
        assert len(server.log) == most + 1, str(server.log)
