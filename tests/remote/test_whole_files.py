"""What listing, verifying and extracting a whole remote file costs, counted at the server from a cold start."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import LargeRead
from shardcore.sources import prefetched_source
from shardcore.sources.base import at_most
from tests.remote.bills import SPEC
from tests.remote.servers import RangeServer
from tests.remote.serving import Log

OBJECTS, SIZE = 60, 50_000
GUESS = 2 * 65536
"""Bytes beyond the files themselves: `info`, answers that say that nothing is there, structures read twice."""

# Opening, and beyond it: the whole file in one range, as the largest range holds all of these. A sidecar of des
# and an `info` of neuroglancer are one more; mdb has one request for a xorb where it is not, one for all of it.
REQUESTS = {"swh": 3, "des": 4, "bloscpack": 2, "xorb": 3, "mdb": 4, "neuroglancer": 4}
"""Requests of verifying each format, opening included."""
COMMANDS = {"swh": 1, "des": 2, "bloscpack": 2, "xorb": 1, "mdb": 3, "neuroglancer": 4}
"""Requests of `verify` and `extract` on the command line: the first range of a file has all bytes of most of them."""


@cache
def files(name: str) -> dict[str, bytes]:
    dice = random.Random(8)
    contents = [dice.randbytes(SIZE) for _ in range(OBJECTS)]
    ids = [dice.getrandbits(64) for _ in contents]
    whole = b"".join(contents)
    spec = json.dumps(SPEC | {"minishard_bits": 3, "shard_bits": 0})
    joined = [b"".join(contents[at : at + 6]) for at in range(0, OBJECTS, 6)]
    made: dict[str, tuple[str, dict[str, object], list[tuple[str | None, bytes]]]] = {
        "swh": ("a.shard", {}, [(sha256(one).hexdigest(), one) for one in contents]),
        "des": ("20261103_0A_0000.des", {"codec": "none"}, [(f"document {n}", one) for n, one in enumerate(contents)]),
        "bloscpack": ("a.blp", {"chunk_size": 2 * 65536, "level": 0}, [(None, whole)]),
        "xorb": ("a.xorb", {"compression": "none"}, [(None, whole)]),
        "mdb": ("a.mdb", {"compression": "none"}, [(None, one) for one in joined]),
        "neuroglancer": ("v/", {"spec": spec}, [(str(key), one) for key, one in zip(ids, contents, strict=True)]),
    }
    target, options, things = made[name]
    with TemporaryDirectory() as place:
        folder = Path(place)
        with shardcore.create(f"{folder}/{target}", format=name, **options) as writer:
            for key, data in things:
                writer.add(key, data)
        if name == "neuroglancer":
            (folder / "v" / "info").write_text(spec)
        found = [path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"]
        named = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    first = {"neuroglancer": "v/0.shard"}.get(name, target)
    return {first: named.pop(first)} | named


def served(server: RangeServer, name: str) -> str:
    for path, data in files(name).items():
        server.put(f"/{path}", data)
    return f"{server.url}/{next(iter(files(name)))}"


def check(log: Log, name: str, most: int) -> None:
    assert len(log) <= most, f"{name}:\n{log}"
    assert log.sent <= sum(map(len, files(name).values())) + GUESS, f"{name}:\n{log}"


@pytest.mark.parametrize("name", REQUESTS)
def test_verifying_fetches_the_file_in_one_range(
    server: RangeServer, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first request of a command is for the whole file, also where the format reads its footer first."""
    with shardcore.open(served(server, name)) as shard:
        assert shard.verify().ok
    check(server.log, name, REQUESTS[name])
    address = served(server, name).replace("a.shard", "objects.shard")
    if name == "swh":
        server.put("/objects.shard", files(name)["a.shard"])
    for words in (["verify", address], ["extract", address, str(tmp_path / "out")]):
        server.log.clear()
        assert run(words) == 0
        check(server.log, name, COMMANDS[name])
    capsys.readouterr()


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Sets how large a file may be that is fetched whole, and how much of all such files."""

    def limited(most: int, together: int) -> None:
        monkeypatch.setattr(prefetched_source, "MOST_WHOLE", most)
        monkeypatch.setattr(prefetched_source.WholeFiles, "room", together)

    return limited


MANY = 1 << 40


@pytest.mark.parametrize(("most", "together"), [(1_000_000, MANY), (MANY, 1_000_000)])
@pytest.mark.parametrize("name", ["neuroglancer", "mdb"])
def test_what_is_too_large_comes_as_it_is_read(
    server: RangeServer, room: Callable[[int, int], None], name: str, most: int, together: int
) -> None:
    """A file over the limit, or beside others that fill the room, is fetched by ranges."""
    address = served(server, name)

    def report() -> object:
        server.log.clear()
        with shardcore.open(address) as shard:
            return shard.verify().to_json()

    first, requests = report(), len(server.log)
    room(most, together)
    assert report() == first
    assert len(server.log) > requests
    check(server.log, name, 100)


def test_who_wants_to_be_asked_first_is_asked(server: RangeServer) -> None:
    with shardcore.open(served(server, "swh")) as shard:
        opening = server.log.sent
        with at_most(100_000), pytest.raises(LargeRead):
            shard.verify()
        assert server.log.sent - opening < 100_000
