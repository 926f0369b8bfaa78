"""The charts of files with a million objects: how long each takes to be counted, once the index is loaded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import shardcore
from shardcore import Shard
from shardcore.model.occupancy import Load
from shardcore.progress import Progress, no_progress
from shardcore.teaching.charts.charts import load_chart, object_sizes, spread_chart
from tests.bench.figures import Figure, best_of

MILLION = 1_000_000

LIMIT = 1.0
"""Seconds."""


SPEC = (
    '{"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, "hash": "murmurhash3_x86_128", '
    '"minishard_bits": 10, "shard_bits": 0, "minishard_index_encoding": "raw", "data_encoding": "raw"}'
)


def run() -> Iterator[Figure]:
    """Every chart of a swh, a des and a neuroglancer file of a million objects each."""
    with tempfile.TemporaryDirectory() as folder:
        for name, write in _WRITERS.items():
            path = Path(folder) / name
            write(path)
            spec = SPEC if path.suffix == ".shard" and name.startswith("0") else None
            with shardcore.open(str(path), spec=spec) if spec else shardcore.open(str(path)) as shard:
                shard.load_index()
                yield from _charts(shard)


def _charts(shard: Shard) -> Iterator[Figure]:
    name = f"charts, {shard.format}, 1,000,000 objects"

    def figure(what: str, work: Callable[[], object], limit: float = LIMIT) -> Figure:
        return Figure(f"{name}: {what}", best_of(3, work), limit)

    yield figure("byte budget", lambda: shard.byte_shares)
    yield figure("object sizes", lambda: object_sizes(shard.objects).chart())
    for load in shard.loads:
        yield figure(f"load, {load.name}", partial(_load, load.make))


def _load(make: Callable[[Progress], Load]) -> None:
    load = make(no_progress)
    load_chart(load)
    spread_chart(load)


def _contents() -> Iterator[bytes]:
    sizes = np.random.default_rng(1).integers(10, 90, MILLION).tolist()
    line = bytes(range(32, 122))
    for number, size in enumerate(sizes):
        yield b"%08d" % number + line[:size]


def _swh(path: Path) -> None:
    with shardcore.create(path, format="swh") as writer:
        for content in _contents():
            writer.add(None, content)


def _des(path: Path) -> None:
    with shardcore.create(path, format="des") as writer:
        for number, content in enumerate(_contents()):
            writer.add(f"object-{number}", content)


def _neuroglancer(path: Path) -> None:
    with shardcore.create(path, format="neuroglancer", spec=SPEC) as writer:
        for number, content in enumerate(_contents()):
            writer.add(str(number), content)


_WRITERS: dict[str, Callable[[Path], None]] = {
    "million.shard": _swh,
    "million.des": _des,
    "0.shard": _neuroglancer,
}
