"""Neuroglancer shards: writing, listing and reading 200,000 keys beside tensorstore and cloud-volume; ranges read."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import shardcore
from shardcore.errors import ShardError
from tests.bench.figures import Figure, best_of, sharding

KEYS = 200_000
SPEC = sharding("murmurhash3_x86_128", 9, 0, "gzip")


def values() -> dict[int, bytes]:
    """Random keys with small values that compress a little."""
    dice = random.Random(17)
    return {dice.getrandbits(64): b"skeleton %d " % n * (1 + n % 9) for n in range(KEYS)}


def write_with_cloud_volume(folder: Path, labels: dict[int, bytes]) -> None:
    """The shard and its info, as cloud-volume writes them."""
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification

    spec = ShardingSpecification.from_dict(dict(SPEC))
    (folder / "0.shard").write_bytes(spec.synthesize_shard(labels))
    (folder / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": SPEC}))


def write_with_tensorstore(folder: Path, labels: dict[int, bytes]) -> None:
    """The same with tensorstore, in its order on disk."""
    import tensorstore as ts

    store = opened_by_tensorstore(folder)
    with ts.Transaction() as transaction:
        inside = store.with_transaction(transaction)
        for key, data in labels.items():
            inside[key.to_bytes(8, "big")] = data
    (folder / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": SPEC}))


def opened_by_tensorstore(folder: Path) -> Any:
    """Tensorstore's key-value store over the shards of a folder, without a cache from before."""
    import tensorstore as ts

    base = {"driver": "file", "path": f"{folder}/"}
    return ts.KvStore.open(
        {"driver": "neuroglancer_uint64_sharded", "base": base, "metadata": SPEC}, context=ts.Context()
    ).result()


def list_with_ours(folder: Path) -> None:
    """All keys with their places."""
    with shardcore.open(folder / "0.shard") as shard:
        shard.load_index()
        assert len(shard.objects) == KEYS
        shard.objects.known(0, len(shard.objects))


def list_texts_with_ours(folder: Path) -> None:
    """All keys as text."""
    with shardcore.open(folder / "0.shard") as shard:
        assert len(shard.objects.keys[:]) == KEYS


def list_with_tensorstore(folder: Path) -> None:
    """All keys."""
    assert len(opened_by_tensorstore(folder).list().result()) == KEYS


def read_with_ours(folder: Path) -> list[tuple[int, bytes | ShardError]]:
    """All values, decoded, with their rows."""
    with shardcore.open(folder / "0.shard") as shard:
        return list(enumerate(shard.contents(np.arange(len(shard.objects)))))


def check_ours(folder: Path, labels: dict[int, bytes]) -> None:
    """What is timed below is right."""
    with shardcore.open(folder / "0.shard") as shard:
        assert {int(shard.objects.keys[row] or 0): data for row, data in read_with_ours(folder)} == labels


def read_with_cloud_volume(folder: Path) -> dict[int, bytes]:
    """All values, decoded."""
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification, ShardReader

    spec = ShardingSpecification.from_dict(dict(SPEC))
    reader = ShardReader(None, None, spec)
    found: dict[int, bytes] = reader.disassemble_shard((folder / "0.shard").read_bytes())
    return found


def synthesize(folder: Path, labels: dict[int, bytes]) -> None:
    """All shards with cloud-volume, and their files."""
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification

    for name, data in ShardingSpecification.from_dict(dict(SPEC)).synthesize_shards(labels).items():
        (folder / name).write_bytes(data)


def write(folder: Path, labels: dict[int, bytes], *, singly: bool) -> None:
    """The same with our writer, all values at once or one after the other: made durable, too."""
    options = {"format": "neuroglancer", "spec": SPEC, "kind": "skeleton", "folder": True, "force": True}
    with shardcore.create(folder, **options) as writer:
        if singly:
            for key, data in labels.items():
                writer.add(str(key), data)
        else:
            writer.add_many(list(map(str, labels)), list(labels.values()))


def writing_figures(labels: dict[int, bytes]) -> Iterator[Figure]:
    """All values written, beside cloud-volume's synthesis; what was written is right."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        theirs = best_of(1, lambda: synthesize(folder, labels))
        many = best_of(2, lambda: write(folder / "many", labels, singly=False))
        yield Figure(f"write {KEYS:,} values with add_many, beside cloud-volume", many, 0.7 * theirs, reference=theirs)
        singly = best_of(2, lambda: write(folder / "singly", labels, singly=True))
        yield Figure("the same one by one", singly, 0.7 * theirs, reference=theirs)
        check_ours(folder / "many", labels)
        check_ours(folder / "singly", labels)


def run() -> Iterator[Figure]:
    """The figures."""
    labels = values()
    yield from writing_figures(labels)
    for writer in (write_with_cloud_volume, write_with_tensorstore):
        name = writer.__name__.removeprefix("write_with_").replace("_", "-")
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            writer(folder, labels)
            theirs = best_of(3, lambda: list_with_tensorstore(folder))  # noqa: B023 - called at once
            ours = best_of(3, lambda: list_with_ours(folder))  # noqa: B023
            yield Figure(f"list {KEYS:,} keys written by {name}, beside tensorstore", ours, theirs, reference=theirs)
            texts = best_of(3, lambda: list_texts_with_ours(folder))  # noqa: B023
            yield Figure("the same with every key as decimal text", texts, 1.5 * theirs, reference=theirs)
            taken = best_of(3, lambda: read_with_cloud_volume(folder))  # noqa: B023
            check_ours(folder, labels)
            read = best_of(3, lambda: read_with_ours(folder))  # noqa: B023
            note = "limit: a quarter"
            yield Figure("read all values, beside cloud-volume", read, taken / 4, reference=taken, note=note)
