"""Long run of the window and the library to find leaks: `python -m tests.soak --minutes 60 --seed 1`.

In each round the library reads, converts, extracts and compares a sample; then the window opens it and performs random
user actions. Each minute all files are closed, and memory, threads, descriptors and child processes are printed.
The exit code is 1 if one of these grew after the first sixth of the time, or if an error occurred.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import statistics
import sys
import tempfile
import threading
import time
import tracemalloc
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import shardcore
from shardcore import ShardError
from shardcore.shards.registry import FORMATS
from shardcore.teaching import resource_paths
from shardcore.testing import exercise
from tests.window_user import WindowUser

ACTIONS = 12
"""Number of user actions in the window per round."""
MOST = {"private": 24.0, "traced": 4.0, "threads": 2, "descriptors": 4, "children": 1}
"""Maximum growth between the second and the last sixth of the time; private memory and memory allocated by Python
(`traced`) in MiB. It allows for a decoder process and some idle threads; a leak in each round exceeds it by far."""
TOP = 12
"""Number of code lines printed at the end: those whose allocated memory grew most."""


@dataclass(frozen=True)
class Row:
    """State of the process while no file is open; memory in MiB."""

    minute: int
    rounds: int
    private: float
    traced: float
    threads: int
    descriptors: int
    children: int
    wrong: int

    def __str__(self) -> str:
        return "".join(f"{value:>12,.1f}" if isinstance(value, float) else f"{value:>12,}" for value in astuple(self))


HEAD = "".join(f"{field.name:>12}" for field in fields(Row))


def children() -> int:
    """Return the number of running child processes."""
    found = 0
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            found += len((task / "children").read_text().split())
    return found


def private() -> float:
    """Return the private memory of this process, in MiB."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def row(minute: int, rounds: int, wrong: int) -> Row:
    """Collect garbage, and return the state of the process."""
    gc.collect()
    descriptors = len(os.listdir("/proc/self/fd")) - 1  # noqa: PTH208 - and one for the list
    traced = tracemalloc.get_traced_memory()[0] / (1 << 20)
    return Row(minute, rounds, private(), traced, threading.active_count(), descriptors, children(), wrong)


def grown(rows: list[Row]) -> list[str]:
    """Return messages about values that grew too much from the second to the last sixth; the first sixth is warm-up."""
    part = max(len(rows) // 6, 1)
    early, late = rows[part : 2 * part], rows[-part:]
    if len(rows) < 3:
        return []
    found = []
    for name, most in MOST.items():
        before, after = (statistics.median(getattr(one, name) for one in some) for some in (early, late))
        if after - before > most:
            found.append(f"{name} grew from {before:,.1f} to {after:,.1f}")
    return found


def use_library(path: Path, folder: Path, dice: random.Random) -> None:
    """Read, list, look up, verify, extract, convert and compare a file; `ShardError` is ignored (damaged samples)."""
    exercise(lambda **options: shardcore.open(path, **options))
    target = dice.choice(list(FORMATS))
    with suppress(ShardError), shardcore.open(path, isolated=True) as shard:
        for ref in shard.objects[:4]:
            with suppress(ShardError):
                shardcore.content(shard, ref)
        shardcore.extract(shard, folder / "taken")
        shardcore.convert(shard, target, folder / f"converted-{target}", force=True)
        with shardcore.open(folder / f"converted-{target}") as other:
            shardcore.diff(shard, other)


def soak(minutes: float, seed: int, every: float) -> int:
    """Run rounds for a number of minutes, print a row each `every` seconds, and return the exit code."""
    samples = [one.path for one in resource_paths.samples()]
    dice = random.Random(seed)
    began = time.monotonic()
    rows: list[Row] = []
    rounds = 0
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        user = WindowUser(Path(folder), seed)
        early: tracemalloc.Snapshot | None = None
        print(HEAD, flush=True)
        while time.monotonic() - began < minutes * 60:
            rounds += 1
            path = dice.choice(samples)
            with tempfile.TemporaryDirectory() as scratch:
                use_library(path, Path(scratch), dice)
            user.open(path)
            done = [user.act() for _ in range(ACTIONS)]
            if user.wrong:
                print(f"round {rounds}, {path}, {' '.join(done)}: {user.wrong[-1]}", flush=True)
            if dice.random() < 0.4:
                user.close_all()
            if time.monotonic() - began >= every * (len(rows) + 1):
                user.close_all()
                rows.append(row(round((time.monotonic() - began) / 60), rounds, len(user.wrong)))
                print(rows[-1], flush=True)
                if early is None and time.monotonic() - began > minutes * 10:
                    early = tracemalloc.take_snapshot()
        user.close_all()
        late = tracemalloc.take_snapshot()
        user.end()
    for line in late.compare_to(early, "lineno")[:TOP] if early is not None else ():
        print(line)
    found = [*grown(rows), *dict.fromkeys(user.wrong)]
    print("\n".join(found) or f"nothing grew in {rounds} rounds of {minutes:g} minutes")
    return int(bool(found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=float, default=60.0, help="seconds between rows")
    options = parser.parse_args()
    sys.exit(soak(options.minutes, options.seed, options.every))
