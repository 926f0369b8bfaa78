"""Work of the rows with the library: `python -m tests.bench.ours NAME ARGUMENTS…`."""

from __future__ import annotations

import sys
from itertools import islice

import shardcore
from tests.bench.inputs import SPEC, WANTED, contents, numbers, shuffled, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


BATCH = 10_000


def by_key(path: str) -> None:
    with shardcore.open(path) as shard:
        for key in shuffled(shard):
            shard[key]


def by_row(path: str) -> None:
    with shardcore.open(path) as shard:
        for _ in shard.items():
            pass


def write_des(path: str, count: str) -> None:
    import hashlib

    objects = contents(int(count))
    with shardcore.create(path, format="des", codec="none") as writer:
        while few := list(islice(objects, BATCH)):
            writer.add_many([hashlib.sha256(data).hexdigest() for data in few], few)


def write_swh(path: str, count: str) -> None:
    objects = contents(int(count))
    with shardcore.create(path, format="swh") as writer:
        while few := list(islice(objects, BATCH)):
            writer.add_many(None, few)


def list_skeletons(folder: str) -> None:
    with shardcore.open(f"{folder}/0.shard") as shard:
        assert shard.objects.keys[:]


def random_skeletons(folder: str) -> None:
    with shardcore.open(f"{folder}/0.shard") as shard:
        for key in islice(numbers(), WANTED):
            assert shard[key]


def write_skeletons(folder: str, count: str) -> None:
    labels = values(int(count))
    with shardcore.create(folder, format="neuroglancer", spec=SPEC, kind="skeleton", folder=True) as writer:
        writer.add_many(list(map(str, labels)), list(labels.values()))


def slices(folder: str, count: str) -> None:
    with shardcore.open(f"{folder}/4_4_4") as volume:
        for number in range(int(count)):
            volume[:, :, 100 + number % 64]


def read_blp(path: str) -> None:
    with shardcore.open(path) as shard:
        assert shard["all"]


def hash_files(path: str) -> None:
    import numpy as np

    from shardcore.codecs.xet.chunker import chunks
    from shardcore.codecs.xet.hashes import as_rows, chunk_hash
    from shardcore.formats.mdb.layout import file_hash

    found, sizes = [], []
    with open(path, "rb") as file:
        for chunk in chunks(iter(lambda: file.read(1 << 20), b"")):
            found.append(chunk_hash(chunk))
            sizes.append(len(chunk))
    print(file_hash(as_rows(found), np.array(sizes, np.uint64)).hex())


def window(*arguments: str) -> None:
    """Run `shardscope` until its window was painted, with the file if one is given."""
    import shardscope.__main__ as program
    from tests.bench.theirs import close_when_painted

    collect = program.collect_on_this_thread

    def shown(window: Any) -> None:
        collect(window)
        if arguments:
            window.session.opened.connect(lambda _: close_when_painted(window))
        else:
            close_when_painted(window)

    program.collect_on_this_thread = shown
    program.main([*arguments])


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
