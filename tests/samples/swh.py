"""The samples of Software Heritage: a shard as it is, one with a bit turned over, one with deleted objects."""

from __future__ import annotations

import shutil
from pathlib import Path

import shardcore
from shardcore.formats.swh.edits import delete
from shardcore.formats.swh.shard import SwhShard
from shardcore.writing.undo import apply
from tests.samples.entry import Entry, Key, flipped

ORIGINAL = Path(__file__).parent.parent / "data" / "swh" / "small.shard"

TWO_IN_BUCKET = "a1d4f7a74d5e156d6a3be2432c2767fc6cdc91ab95b833e0f015cf38715b7cda"
LETTER_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
NEIGHBOURS = (
    "f2bebd1b3a6d0faa686b1aa0045ab5ae36509d0cb643ae68b57c4e176c6a7def",
    "eaf8a980c18e6a5e29b3d4ed1d5aa7e408f67bbcbb83549edf7793d669944ab5",
)
"""Two objects of which one follows the other."""
NOBODY = "fddabd4dc71ee42edfa53b2b618f94c7fcd5f0647d4c7739cd2982dc5e0ef28a"

VALUE_STORE = 5052
"""The byte whose lowest two bits are the displacement of bucket 0, 2 + 3."""


def write(folder: Path) -> list[Entry]:
    """Writes them, and says what they are."""
    folder.mkdir()
    original = ORIGINAL.read_bytes()
    (folder / "small.shard").write_bytes(original)
    (folder / "damaged.shard").write_bytes(flipped(original, VALUE_STORE, 0))
    shutil.copyfile(ORIGINAL, folder / "odd.shard")
    with shardcore.open(folder / "odd.shard") as shard:
        assert isinstance(shard, SwhShard)
        apply(delete(shard, NEIGHBOURS), journal=False)
    return [_small(), _damaged(), _odd()]


def _small() -> Entry:
    return Entry(
        "swh/small.shard",
        "swh",
        "main",
        "Software Heritage Read Shard",
        "12 objects behind a perfect hash",
        "Twelve keys, four buckets, thirteen slots: each key is hashed to its slot, and one slot stays unused.",
        Key(
            TWO_IN_BUCKET,
            "Bucket 1 has two keys and displacement 55: three jumps along the ring of slots, and four slots more.",
        ),
        Key(LETTER_A, "Bucket 2 has five keys, and displacement 0 happens to fit all of them."),
        Key(NOBODY, "Every key leads to a slot; only the comparison there says that this one is absent."),
    )


def _damaged() -> Entry:
    return Entry(
        "swh/damaged.shard",
        "swh",
        "damaged",
        "One bit of a displacement",
        "three keys that no lookup finds any more",
        "One bit of the hash function is turned over: the objects are whole, but three keys lead to the wrong slot.",
        Key(TWO_IN_BUCKET, "Bucket 1 is not touched: found as before."),
        Key(EMPTY, "Bucket 0 has three keys, and none of them is found: its displacement says 6 instead of 5."),
        Key(NOBODY, "Absent, and rightly so: compare how this looks with a key that is only lost."),
    )


def _odd() -> Entry:
    return Entry(
        "swh/odd.shard",
        "swh",
        "odd",
        "Two deleted objects",
        "a gap of zeros, and a header that still counts them",
        "Two neighbours were deleted in place: nothing says any more where the first ended and the second began.",
        Key(TWO_IN_BUCKET, "Found: deleting others moves nothing."),
        Key(LETTER_A, "Its bucket has five keys, and all of them are still there."),
        Key(NEIGHBOURS[0], "Deleted: the key still leads to its slot, but the slot is that of no object."),
    )
