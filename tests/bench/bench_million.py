"""Files of a million objects: charts, a changed byte, a comparison; and folders of 10,000 shards."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import shardcore
from shardcore import Shard
from shardcore.model.usage import Load
from shardcore.progress import no_progress
from shardcore.sources.memory import BytesSource
from shardcore.sources.patched_source import Change, PatchedSource
from shardcore.teaching.change_impact import MOST_OBJECTS, before, compare
from shardcore.teaching.charts import load_chart, object_sizes, spread_chart
from tests.bench.figures import Figure, best_of, best_program, program, sharding

MILLION = 1_000_000
SHARDS = 10_000
DOCUMENTS = 15_800
"""As many as fill 10,000 of 16,384 numbers."""

DIFF_MEGABYTES = {"swh": 300.0, "des": 700.0}
"""The memory of des is that of its two indices, which hold all uids and metadata."""


def run() -> Iterator[Figure]:
    """All figures."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for format, file in (("swh", "million.swh"), ("des", "million.des"), ("neuroglancer", "0.shard")):
            path = folder / file
            spec = json.dumps(sharding("murmurhash3_x86_128", 10, 0)) if format == "neuroglancer" else None
            options = {"spec": spec} if spec else {}
            write(path, format, **options)
            with shardcore.open(path, **options) as shard:
                shard.load_index()
                yield from charts(shard)
            if not spec:
                yield changed_byte(path, format)
                write(other := folder / f"other.{format}", format, changed=True)
                name = f"diff, two {format} shards of 1,000,000 objects"
                yield from beside(name, 5.0, DIFF_MEGABYTES[format], "diff", path, other, code=1)
            path.unlink()
        for format, fill in (("neuroglancer", write_skeletons), ("des", write_documents)):
            fill(folder / format)
            for command, limit in (("info", 1.0), ("ls", 10.0)):
                name = f"{SHARDS:,} {format} shards: {command}"
                yield from beside(name, limit, 200.0, command, f"{folder / format}/")


def beside(name: str, seconds: float, megabytes: float, *command: object, code: int = 0) -> Iterator[Figure]:
    """Time and memory of a command of the program, in a process of its own."""
    took, memory = best_program(2, [*program("shardcore"), *map(str, command)], code)
    yield Figure(name, took, seconds)
    yield Figure(f"{name}: memory", memory, megabytes, "MB")


def write(path: Path, format: str, *, changed: bool = False, **options: str) -> None:
    """Write a million objects; or a thousandth fewer, and another thousandth different."""
    with shardcore.create(path, format=format, **options) as writer:
        for number in range(MILLION):
            if changed and number % 1000 == 5:
                continue
            other = 10 * MILLION * (changed and number % 1000 == 7)
            data = b"object number %08d and some more bytes" % (number + other)
            writer.add({"swh": None, "des": f"key-{number:07}", "neuroglancer": str(number)}[format], data)


LOADS: tuple[Callable[[Load], object], ...] = (load_chart, spread_chart)


def charts(shard: Shard) -> Iterator[Figure]:
    """Each chart of a loaded file."""
    works: dict[str, Callable[[], object]] = {
        "byte budget": lambda: shard.byte_shares,
        "object sizes": lambda: object_sizes(shard.objects).chart(),
    }
    for load in shard.loads:
        works[f"load, {load.name}"] = partial(lambda make: [chart(make(no_progress)) for chart in LOADS], load.make)
    for name, work in works.items():
        yield Figure(f"charts, {shard.format}, 1,000,000 objects: {name}", best_of(3, work), 1.0)


def changed_byte(path: Path, format: str) -> Figure:
    """The checks and objects with a byte flipped, compared with the file as it was."""
    base = BytesSource(data := path.read_bytes(), path.name)
    with shardcore.open(base, format=format) as shard:
        was = before(shard)
    at = len(data) // 4
    with shardcore.open(PatchedSource(base, [Change.flip(at, 0, data[at])]), format=format, partial=True) as shard:
        took = best_of(1, lambda: compare(was, shard))
        assert sum(compare(was, shard).counts.values()) > MOST_OBJECTS * 0.9
        return Figure(f"sandbox, {format} of 1,000,000 objects: a changed byte", took, 5.0)


def write_skeletons(folder: Path) -> None:
    """Eight objects in each shard, two in each minishard."""
    dice, spec = random.Random(7), sharding("identity", 2, 14)
    with shardcore.create(f"{folder}/", format="neuroglancer", spec=json.dumps(spec)) as writer:
        for number in range(SHARDS * 8):
            shard, at = divmod(number, 8)
            writer.add(str((at >> 2) << 16 | shard << 2 | at & 3), dice.randbytes(500))
    (folder / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": spec}))


def write_documents(folder: Path) -> None:
    """Documents of one day."""
    dice = random.Random(8)
    with shardcore.create(f"{folder}/", format="des", n_bits=14, codec="none") as writer:
        for number in range(DOCUMENTS):
            writer.add(f"document {number}", dice.randbytes(500), created_at="2026-11-03")
