"""Files that are read as if they were far away."""

from __future__ import annotations

import pytest

from shardcore import SourceError
from shardcore.comparing.cold import GUESS, ColdFolder, Meter
from shardcore.sources.remote.file import FIRST


def test_what_is_fetched_is_counted_once() -> None:
    """A range costs its bytes, near ranges at once are one, what is here costs nothing; holes alone are fetched."""
    meter = Meter()
    data = bytes(range(256)) * 4096
    source = ColdFolder({"a": data}, meter).open("a")
    assert (meter.requests, meter.bytes, meter.trips) == (1, GUESS, 1)
    assert source.read(0, GUESS) == data[:GUESS]
    assert meter.requests == 1
    assert source.read(500_000, 500_010) == data[500_000:500_010]
    assert (meter.requests, meter.bytes) == (2, GUESS + 10)
    parts = [(900_000, 900_100), (700_000, 700_001), (900_200, 900_300), (500_005, 500_006)]
    assert source.read_many(parts) == [data[start:stop] for start, stop in parts]
    assert (meter.requests, meter.bytes, meter.trips) == (4, GUESS + 10 + 300 + 1, 3)
    assert source.read(499_990, 500_020) == data[499_990:500_020]
    assert (meter.requests, meter.bytes, meter.trips) == (5, GUESS + 10 + 300 + 1 + 30, 4)
    assert source.read_last(4) == data[-4:]
    assert meter.requests == 6


def test_folders() -> None:
    """A listing is a request, and so is the question for what is not there; one meter counts all files."""
    meter = Meter()
    root = ColdFolder({"a": b"1", "d/b": b"22", "d/e/c": b"333"}, meter)
    assert [(one.name, one.size) for one in root.list()] == [("a", 1), ("d", -1)]
    assert [(one.name, one.size) for one in root.list("d")] == [("d/b", 2), ("d/e", -1)]
    assert root.folder("d").folder("e").open("c").read(0, 3) == b"333"
    assert not root.has("x")
    with pytest.raises(SourceError):
        root.open("../a")
    assert meter.requests == 4
    assert root.parent() is None


def test_the_guess_is_that_of_remote_files() -> None:
    """The first answer has as many bytes as that of a real server."""
    assert GUESS == FIRST
