"""The samples of Software Heritage: a shard as it is, one with a bit turned over, one with deleted objects."""

from __future__ import annotations

import shutil
from pathlib import Path

import shardcore
from shardcore.formats.swh.shard import SwhShard
from shardcore.formats.swh.writer import delete
from shardcore.writing.undo import apply
from tests.samples.damage import flipped

ORIGINAL = Path(__file__).parent.parent / "data" / "swh" / "small.shard"

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
NEIGHBOURS = (
    "f2bebd1b3a6d0faa686b1aa0045ab5ae36509d0cb643ae68b57c4e176c6a7def",
    "eaf8a980c18e6a5e29b3d4ed1d5aa7e408f67bbcbb83549edf7793d669944ab5",
)
"""Two objects of which one follows the other."""
VALUE_STORE = 5052
"""The byte whose lowest two bits are the displacement of bucket 0, 2 + 3."""


def write(folder: Path) -> None:
    folder.mkdir()
    original = ORIGINAL.read_bytes()
    (folder / "small.shard").write_bytes(original)
    (folder / "damaged.shard").write_bytes(flipped(original, VALUE_STORE, 0))
    shutil.copyfile(ORIGINAL, folder / "odd.shard")
    with shardcore.open(folder / "odd.shard") as shard:
        assert isinstance(shard, SwhShard)
        apply(delete(shard, NEIGHBOURS), journal=False)
