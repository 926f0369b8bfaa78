"""Packing on the command line beside the reference implementations, in turns: wall and processor time, and ratios."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tests.bench.figures import Figure, program

REPEATS = 3
MANY = 200_000
ARRAY = 2_000_000_000
LARGE = 1 << 30

BLPK = (
    "import collections, collections.abc; collections.MutableMapping = collections.abc.MutableMapping;"
    "from bloscpack.cli import main; main()"
)
XET = "import sys, hf_xet; hf_xet.upload_files([sys.argv[1]], 'local://' + sys.argv[2], None, None, None, 'model')"


def many_files(folder: Path) -> tuple[Path, Path]:
    """Write small files; return a manifest of them and a list of their names."""
    chance = random.Random(1)
    manifest, names = folder / "many.jsonl", folder / "many.names"
    with manifest.open("w") as lines, names.open("w") as listed:
        for number in range(MANY):
            path = folder / "many" / f"{number // 1000:03}" / f"{number:06}.txt"
            if number % 1000 == 0:
                path.parent.mkdir(parents=True)
            path.write_bytes(b"%d " % number + chance.randbytes(chance.randrange(50, 1500)))
            lines.write(json.dumps({"path": str(path.relative_to(folder))}) + "\n")
            listed.write(f"{path}\n")
    return manifest, names


def array(path: Path) -> Path:
    """Write a random walk of 64-bit integers."""
    steps = np.random.default_rng(1).integers(0, 3, ARRAY // 32)
    walk = np.cumsum(steps).astype("<i8").tobytes()
    with path.open("wb") as stream:
        for _ in range(4):
            stream.write(walk)
    return path


def mixed(path: Path) -> Path:
    """Write noise and random walks of 32-bit floats in turns: half of it can be compressed."""
    chance = np.random.default_rng(4)
    with path.open("wb") as stream:
        for _ in range(LARGE >> 26):
            stream.write(chance.bytes(32 << 20))
            stream.write(np.cumsum(chance.integers(0, 3, 8 << 20)).astype("<f4").tobytes())
    return path


def once(command: Sequence[str], place: Path, stdin: Path | None = None) -> tuple[float, float]:
    """Run a command into an empty folder; return its wall time and its processor time.

    Raises:
        RuntimeError: It failed.
    """
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    with (stdin or Path(os.devnull)).open("rb") as given, Path(os.devnull).open("wb") as nothing:
        began = time.perf_counter()
        actions = [(os.POSIX_SPAWN_DUP2, given.fileno(), 0), (os.POSIX_SPAWN_DUP2, nothing.fileno(), 1)]
        process = os.posix_spawn(command[0], list(command), os.environ, file_actions=actions)
        _, status, usage = os.wait4(process, 0)
        took = time.perf_counter() - began
    if code := os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{' '.join(command)} answered {code}")
    return took, usage.ru_utime + usage.ru_stime


def in_turns(
    name: str, limit: float, place: Path, ours: Sequence[str], theirs: Sequence[str], stdin: Path | None = None
) -> Iterator[Figure]:
    """Run our command, the same without reading contents back, and the reference in turns; the least times of each."""
    commands = [(ours, None), ([*ours, "--no-verify"], None), (theirs, stdin)]
    runs = [[once(command, place, given) for command, given in commands] for _ in range(REPEATS)]
    wall, work = ([min(run[number][kind] for run in runs) for number in range(3)] for kind in range(2))
    shutil.rmtree(place)
    yield Figure(name, wall[0], limit * wall[2], reference=wall[2], note="contents read back")
    yield Figure(f"{name}, --no-verify", wall[1], limit * wall[2], reference=wall[2])
    yield Figure(f"{name}, processor time", work[0], float("inf"), reference=work[2], note="contents read back")
    yield Figure(f"{name}, processor time, --no-verify", work[1], float("inf"), reference=work[2])


def with_jobs(name: str, place: Path, command: Sequence[str]) -> Iterator[Figure]:
    """Run a command with one job and with two, in turns."""
    runs = [[once([*command, "--jobs", str(jobs)], place)[0] for jobs in (1, 2)] for _ in range(REPEATS)]
    one, two = (min(run[number] for run in runs) for number in range(2))
    shutil.rmtree(place)
    yield Figure(f"{name}, --jobs 2", two, 1.1 * one, reference=one, note="beside --jobs 1")


def run() -> Iterator[Figure]:
    """All figures."""
    pack = [*program("shardcore"), "pack"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = folder / "out"
        out = str(place / "new")
        manifest, names = many_files(folder)
        create = [*program("swh-shard"), "create", out, "-"]
        ours = [*pack, "swh", out, "--manifest", str(manifest)]
        yield from in_turns(f"swh, {MANY:,} files by manifest", 1.5, place, ours, create, names)
        shutil.rmtree(folder / "many")

        ints = str(array(folder / "array.bin"))
        for codec in ("blosclz", "lz4"):
            ours = [*pack, "bloscpack", f"{out}.blp", ints, "-O", f"codec={codec}"]
            theirs = [sys.executable, "-c", BLPK, "compress", "-c", codec, ints, f"{out}.blp"]
            yield from in_turns(f"bloscpack, {codec}, {ARRAY / 1e9:g} GB", 1.5, place, ours, theirs)
            yield from with_jobs(f"bloscpack, {codec}", place, ours)
        Path(ints).unlink()

        large = str(mixed(folder / "large.bin"))
        ours = [*pack, "mdb", out, large]
        theirs = [sys.executable, "-W", "ignore", "-c", XET, large, str(place / "cas")]
        yield from in_turns("mdb, 1 GiB", 1.8, place, ours, theirs)
        yield from with_jobs("mdb, 1 GiB", place, ours)
        Path(large).unlink()
