"""Seeded random shards, made by a plain writer that shares no code with shardcore."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.model.finding import Severity
from shardcore.model.objects import State
from shardcore.testing import check_columns, check_explained, check_tiling
from tests.shardcore.formats.des.made import random_stored, write


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("version", "short"), [(2, False), (1, False), (1, True)], ids=["v2", "v1", "v1-first"])
def test_random_shards(tmp_path: Path, seed: int, version: int, short: bool) -> None:
    stored_objects = random_stored(seed, 40, version=version)
    for one in stored_objects if short else ():
        one.codec = "none"
    gap = b"gap" * (seed % 3)
    path = write(tmp_path, "x.des", stored_objects, version=version, short=short, gap=gap)
    with shardcore.open(path) as shard:
        check_tiling(shard)
        shard.load_index()
        check_explained(shard)
        check_columns(shard)
        assert shard.objects.keys[:] == [one.uid.decode() for one in stored_objects]
        for row, one in enumerate(stored_objects):
            ref = shard.find(one.uid.decode())
            assert (ref.row, ref.size, ref.extras["meta"], ref.error) == (row, len(one.content), one.meta, "")
            assert ref.state is (State.EXTERNAL if one.big else State.LIVE)
            assert shard.read(ref) == one.content
            assert shard.read_range(ref, 3, 50) == one.content[3:50]
        rows = shard.find_many([one.uid.decode() for one in reversed(stored_objects)])
        assert rows.tolist() == list(range(len(stored_objects)))[::-1]
        codes = {f.code for f in shard.verify().findings if f.severity is Severity.ERROR}
        assert codes == ({"des.version-1-first"} if short else set())
