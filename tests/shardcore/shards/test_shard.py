"""What every shard does in the same way."""

from __future__ import annotations

import pytest

from shardcore.errors import FormatError, LimitExceeded, UsageError
from tests.shardcore.toy import LineShard

DATA = b"one=hello\ntwo=\nbad=ab!cd\n"


def test_limits_are_kept() -> None:
    shard = LineShard(DATA)
    ref = shard.find("one")
    assert shard.read(ref, limit=5) == b"hello"
    with pytest.raises(LimitExceeded):
        shard.read(ref, limit=4)
    assert shard.read_range(ref, 1, 5, limit=4) == b"ello"
    assert shard.read_range(ref, 50, 60) == b""
    with pytest.raises(LimitExceeded):
        shard.read_range(ref, 0, 5, limit=4)


def test_ranges_before_the_damage_are_readable() -> None:
    shard = LineShard(DATA)
    ref = shard.find("bad")
    assert shard.read_range(ref, 0, 2) == b"ab"
    with pytest.raises(FormatError):
        shard.read_range(ref, 0, 3)


def test_what_makes_no_sense_is_refused() -> None:
    shard = LineShard(DATA)
    ref = shard.find("one")
    wrong = [
        lambda: shard.read_range(ref, 3, 2),
        lambda: shard.read_range(ref, -1, 2),
        lambda: shard.read_part(ref, "fragments"),
        lambda: shard.bytes_of("@0-9"),
        lambda: shard.explain(len(DATA)),
        lambda: shard.explain(-1),
        lambda: shard.explain(0, "info"),
    ]
    for call in wrong:
        with pytest.raises(UsageError):
            call()
