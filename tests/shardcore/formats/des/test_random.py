"""Seeded random shards, made by a plain writer that shares no code with shardcore."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.finding import Severity
from shardcore.objects import State
from shardcore.testing import check_columns, check_explained, check_tiling, rounds
from tests.shardcore.formats.des.made import random_things, write


@pytest.mark.parametrize("seed", range(rounds(8, 3)))
@pytest.mark.parametrize(("version", "short"), [(2, False), (1, False), (1, True)], ids=["v2", "v1", "v1-first"])
def test_random_shards(tmp_path: Path, seed: int, version: int, short: bool) -> None:
    """Every object of a random shard comes back with all that was said of it, and every byte is explained."""
    things = random_things(seed, 40, version=version)
    for thing in things if short else ():
        thing.codec = "none"
    gap = b"gap" * (seed % 3)
    path = write(tmp_path, "x.des", things, version=version, short=short, gap=gap)
    with shardcore.open(path) as shard:
        check_tiling(shard)
        shard.load_index()
        check_explained(shard)
        check_columns(shard)
        assert shard.objects.keys[:] == [thing.uid.decode() for thing in things]
        for row, thing in enumerate(things):
            ref = shard.find(thing.uid.decode())
            assert (ref.row, ref.size, ref.extras["meta"], ref.error) == (row, len(thing.content), thing.meta, "")
            assert ref.state is (State.EXTERNAL if thing.big else State.LIVE)
            assert shard.read(ref) == thing.content
            assert shard.read_range(ref, 3, 50) == thing.content[3:50]
        rows = shard.find_many([thing.uid.decode() for thing in reversed(things)])
        assert rows.tolist() == list(range(len(things)))[::-1]
        codes = {f.code for f in shard.verify().findings if f.severity is Severity.ERROR}
        assert codes == ({"des.version-1-first"} if short else set())


def test_many_entries_are_grouped(tmp_path: Path) -> None:
    """Entries and payloads of a shard of 2,500 objects are groups of a thousand, and every byte is explained."""
    path = write(tmp_path, "x.des", random_things(99, 2500))
    with shardcore.open(path) as shard:
        shard.load_index()
        index = next(node for node in shard.tree.children if node.name == "index")
        entries = index.children[1].children
        assert [node.name for node in entries] == ["[0..999]", "[1000..1999]", "[2000..2499]"]
        check_explained(shard)
        check_columns(shard)
        assert shard.verify().ok
