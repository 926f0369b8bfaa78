"""Data sets of 10,000 shards in a local folder: opening, and listing all of their objects."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import shardcore
from tests.bench.figures import Figure, program, run_program, sharding

SHARDS = 10_000
OPEN, LIST, MEMORY = 1.0, 10.0, 200.0
SPEC = sharding("identity", 2, 14)


def run() -> Iterator[Figure]:
    """Runs `shardcore info` and `shardcore ls` on a folder of each format, in processes of their own."""
    writers: dict[str, Callable[[Path], int]] = {"neuroglancer": write_skeletons, "des": write_documents}
    for name, write in writers.items():
        with TemporaryDirectory() as place:
            folder = Path(place) / name
            objects = write(folder)
            for command, limit in (("info", OPEN), ("ls", LIST)):
                arguments = [*program("shardcore"), command, f"{folder}/"]
                seconds, memory = min(run_program(arguments) for _ in range(2))
                note = f"{objects:,} objects" if command == "ls" else ""
                told = f"shardcore {command} {name}/"
                yield Figure(f"{SHARDS:,} {name} shards: {command}", seconds, limit, note=note, command=told)
                yield Figure(f"{SHARDS:,} {name} shards: memory of {command}", memory, MEMORY, "MB", command=told)


def write_skeletons(folder: Path) -> int:
    """Eight objects in each shard, two in each minishard."""
    dice = random.Random(7)
    with shardcore.create(f"{folder}/", format="neuroglancer", spec=json.dumps(SPEC)) as writer:
        for number in range(SHARDS * 8):
            shard, at = divmod(number, 8)
            writer.add(str((at >> 2) << 16 | shard << 2 | at & 3), dice.randbytes(500))
    (folder / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": SPEC}))
    return SHARDS * 8


def write_documents(folder: Path) -> int:
    """Documents of one day, as many as fill 10,000 of 16,384 numbers."""
    dice = random.Random(8)
    objects = 15_800
    with shardcore.create(f"{folder}/", format="des", n_bits=14, codec="none") as writer:
        for number in range(objects):
            writer.add(f"document {number}", dice.randbytes(500), created_at="2026-11-03")
    return objects
