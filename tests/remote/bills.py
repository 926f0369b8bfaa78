"""Files and data sets in which nothing comes for nothing, and how many requests each action may cost.

The samples of `samples.py` are so small that the first guesses bring all of them. These are larger than that.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import shardcore
from shardcore.shards.shard import Shard
from tests.bench.sparse_swh import sparse_pieces
from tests.hostile.neuroglancer import SHARDING
from tests.remote.contents import Content, Held, Sparse
from tests.shardcore.formats.mdb.made import made_shard

DATA = Path(__file__).parents[1] / "data"
TEN_GB = 10_000_000_000
DATE = "20261103"
HUGE = {"slots": 4_600_003, "declared": 4_554_000, "data_bytes": TEN_GB}
"""The shard of 10 GB, for `sparse_pieces`."""


@dataclass(frozen=True, slots=True)
class Bill:
    """Something to open, and what may be asked for it, counted at the server from a cold start.

    Attributes:
        name: What tests and tables call it.
        files: What is served, by relative path.
        target: What is opened: one of the files, or a folder.
        key: A key that is there.
        absent: A key that is not.
        requests: The most requests of each action; what comes after opening is counted without opening.
        least: The bytes that each action needs at least, beyond guesses: those of its structures and its object.
    """

    name: str
    files: Mapping[str, Content]
    target: str
    key: str
    absent: str
    requests: Mapping[str, int]
    least: Mapping[str, int]


def _bill(*given: Any) -> Bill:
    """Return a bill; numbers are those of opening, of an object, of an absent key and of the list, where it is read."""
    *what, requests, least = given
    actions = ("open", "object", "absent", "list")
    return Bill(*what, *(dict(zip(actions, counts, strict=False)) for counts in (requests, least)))


def find(shard: Shard, bill: Bill) -> None:
    """Finds and reads one object."""
    ref = shard.find(bill.key)
    if bill.name != "mdb":  # its contents lie in xorbs
        assert shard.read(ref)


def find_nothing(shard: Shard, bill: Bill) -> None:
    """Looks up a key that is not there."""
    assert shard.find_all(bill.absent) == ()


def list_all(shard: Shard, bill: Bill) -> None:
    """All keys with their places."""
    assert len(shard.objects.keys[:]) == len(shard.objects.known(0, len(shard.objects))) > 0


AFTER_OPENING: dict[str, Callable[[Shard, Bill], None]] = {"object": find, "absent": find_nothing, "list": list_all}
"""What is counted after opening."""


COMMANDS: dict[str, list[str]] = {
    "info": ["info", "{uri}"],
    "ls": ["ls", "{uri}"],
    "verify": ["verify", "{uri}"],
    "extract": ["extract", "{uri}", "{out}"],
    "salvage --plan": ["salvage", "{uri}", "--plan"],
}
"""Commands whose requests are counted, opening included: `{uri}` is what is opened, `{out}` a new folder."""

COMMAND_BILLS: dict[str, tuple[int | None, ...]] = {
    "swh, 2,000 objects": (2, 3, 1, 1, 2),
    "des": (2, 3, 2, 2, 3),
    "des, index over 64 KiB": (3, 4, 2, 2, 3),
    "des, BigFile": (1, 2, 4, 4, 4),
    "bloscpack": (1, 2, 2, 2, 2),
    "bloscpack, offsets over 64 KiB": (2, 5, 3, 3, 2),
    "mdb": (2, 3, 91, 91, 92),
    "xorb": (2, 4, 1, 1, 2),
    "neuroglancer": (2, 6, 6, None, None),
    "neuroglancer, split": (2, 8, 10, None, None),
}
"""The most requests of each of `COMMANDS`, in their order, by bill.

None where a command does not take it, or writes thousands of files.
"""


NAMES = ("swh", *COMMAND_BILLS, "neuroglancer, no slash")


@cache
def bills() -> dict[str, Bill]:
    """All of them, by name."""
    found = [swh_huge(), swh_small(), *des(), *bloscpack(), mdb(), xorb(), *neuroglancer()]
    return {bill.name: bill for bill in found}


def swh_huge() -> Bill:
    """10 GB, 4.6 million slots: the hash section is much larger than a guess. Its index is never read whole."""
    size, pieces, keys = sparse_pieces(**HUGE)
    files = {"huge.shard": Sparse(size, pieces)}
    # The dialect of the hash is detected from what is fetched anyway.
    return _bill("swh", files, "huge.shard", keys[100], "ab" * 32, (2, 6, 5), (567, 5000, 16_000))


def swh_small() -> Bill:
    """2,000 objects: the list is one range."""
    data = (DATA / "swh" / "medium.shard").read_bytes()
    with shardcore.open(data) as shard:
        index = next(section for section in shard.sections if section.name == "index")
        shard.load_index()
        key = str(shard.objects.keys[5])
    least = (567, 2000, 200, index.stop - index.start)
    files = {"medium.shard": Held(data)}
    return _bill("swh, 2,000 objects", files, "medium.shard", key, "ab" * 32, (2, 4, 3, 1), least)


def des() -> list[Bill]:
    """Shards of documents: with a metadata file, with a large index, with a BigFile."""
    few, big = _des(500, 4000), _des(3000, 200, sidecar=False)
    key, absent, name = "document 300", "document x", f"{DATE}_0A_0000.des"
    folder = DATA / "des" / "big"
    external = {p.relative_to(folder).as_posix(): Held(p.read_bytes()) for p in folder.rglob("*") if p.is_file()}
    with shardcore.open(folder / name) as shard:
        keys = [key for key in shard.objects.keys[:] if key]
        outside = next(key for key in keys if shard.find(key).state is shardcore.State.EXTERNAL)
    index, large = few[name].size - 500 * 4000, big[name].size - 3000 * 200
    meta = few[name.replace(".des", ".meta")].size
    return [
        _bill("des", few, name, key, absent, (2, 2, 1, 1), (index, 4000 + meta, 0, meta)),
        _bill("des, index over 64 KiB", big, name, key, absent, (3, 2, 1, 1), (large, 200, 0, 0)),
        _bill("des, BigFile", external, name, outside, absent, (2, 2, 1, 1), (440, 60_000, 0, 0)),
    ]


def _des(count: int, size: int, *, sidecar: bool = True) -> dict[str, Content]:
    dice = random.Random(3)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{DATE}_0A_0000.des"
        with shardcore.create(path, format="des", sidecar=sidecar, codec="none") as writer:
            for number in range(count):
                writer.add(f"document {number}", dice.randbytes(size))
        return {each.name: Held(each.read_bytes()) for each in Path(folder).iterdir()}


def bloscpack() -> list[Bill]:
    """Files whose offsets fit into the first guess, and not."""
    found = []
    for name, count, size, opened in (("bloscpack", 300, 2000, 1), ("bloscpack, offsets over 64 KiB", 9000, 64, 2)):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "data.blp"
            with shardcore.create(path, format="bloscpack", chunk_size=size, spare=0, level=0) as writer:
                writer.add(None, random.Random(4).randbytes(size) * count)
            files = {"data.blp": Held(path.read_bytes())}
        least = (8 * count + 32, size + 20, 0, 0)
        found.append(_bill(name, files, "data.blp", str(count - 2), str(count + 5), (opened, 1, 0, 1), least))
    return found


def mdb() -> Bill:
    """A shard with lookup tables; its contents lie in xorbs, so that only the finding is counted."""
    data = made_shard(2, files=1000, xorbs=5, chunks=2000)
    with shardcore.open(data) as shard:
        shard.load_index()
        key = str(shard.objects.keys[500])
    least = (248, 12_500, 12_000, len(data))
    return _bill("mdb", {"s.mdb": Held(data)}, "s.mdb", key, "f" * 64, (2, 2, 2, 1), least)


def xorb() -> Bill:
    """A real xorb: head, end with the info block, and the chunk."""
    path = next((DATA / "mdb" / "cas" / "xorbs").glob("default.6d9a*"))
    files = {path.name: Held(path.read_bytes())}
    return _bill("xorb", files, path.name, "1", "99999", (2, 1, 0, 0), (500, 131_072, 0, 0))


SPEC = SHARDING | {"hash": "murmurhash3_x86_128", "minishard_bits": 6, "shard_bits": 1}
SPEC |= {"minishard_index_encoding": "gzip", "data_encoding": "gzip"}


def neuroglancer() -> list[Bill]:
    """A data set of skeletons in two shards: as it is, without the slash, and in the old split form."""
    dice = random.Random(6)
    values = {dice.getrandbits(64): dice.randbytes(300) for _ in range(4000)}
    with TemporaryDirectory() as folder:
        target = Path(folder) / "skeletons"
        with shardcore.create(f"{target}/", format="neuroglancer", spec=json.dumps(SPEC)) as writer:
            for key, data in values.items():
                writer.add(str(key), data)
        (target / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": SPEC}))
        whole = {f"skeletons/{path.name}": Held(path.read_bytes()) for path in target.iterdir()}
    index = 16 << SPEC["minishard_bits"]  # type: ignore[operator]
    split: dict[str, Content] = {}
    for name, content in whole.items():
        stem, dot, ending = name.partition(".shard")
        parts = {".index": Held(content.data[:index]), ".data": Held(content.data[index:])} if dot else {"": content}
        split |= {stem + part + ending: data for part, data in parts.items()}
    least = (whole["skeletons/info"].size, 2000, 1600, sum(content.size for content in whole.values()))
    first, absent = str(next(iter(values))), "12345"
    # The list: that of the folder, where there is one, then the shard index and the minishard indices of each shard.
    return [
        _bill("neuroglancer", whole, "skeletons/", first, absent, (1, 3, 2, 5), least),
        _bill("neuroglancer, no slash", whole, "skeletons", first, absent, (2, 3, 2, 5), least),
        # The whole form is tried first.
        _bill("neuroglancer, split", split, "skeletons/", first, absent, (1, 4, 3, 8), least),
    ]
