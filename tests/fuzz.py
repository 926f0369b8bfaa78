"""Seeded random damage to the sample files of every format: `python -m tests.fuzz [FORMAT…] [--count N]`.

Every mutation is opened, looked at, listed, read, loaded and verified. Anything but a `ShardError`, more than two
seconds or more than 200 MB above idle is a failure. Each format runs in a process of its own, so that a crash is seen.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import shardcore
from shardcore.shards.registry import FORMATS
from shardcore.sources.memory import BytesSource
from shardcore.testing import exercise, mutated

DATA = Path(__file__).parent / "data"
MAX_SECONDS = 2.0
MAX_MEGABYTES = 200
SKIPPED = {".json", ".md", ".py"}


def samples_of(name: str) -> list[Path]:
    """The sample files of a format, without the descriptions beside them; the hostile ones are damaged further."""
    files = (p for p in sorted((DATA / name).rglob("*")) if p.is_file() and p.suffix not in SKIPPED)
    return [path for path in files if path.stat().st_size < 100_000]


def fuzz(name: str, count: int, seed: int) -> int:
    """Runs `count` mutations of one format; prints a line and returns the number of failures."""
    samples = samples_of(name)
    outcomes: Counter[str] = Counter()
    failures, worst = 0, 0.0
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        dice = random.Random(f"{name}/{seed}/{number}")
        sample = dice.choice(samples)
        data = mutated(sample.read_bytes(), dice)
        folder = shardcore.LocalFolder(sample.parent)

        def opened(data=data, sample=sample, folder=folder, **options):
            return shardcore.open(BytesSource(data, sample.name, folder=folder), **options)

        began = time.perf_counter()
        try:
            outcomes[exercise(opened)] += 1
        except Exception as error:  # noqa: BLE001 - the point of the exercise
            failures += 1
            print(f"{name} #{number} ({sample.name}): {type(error).__name__}: {error}", file=sys.stderr)
        took = time.perf_counter() - began
        worst = max(worst, took)
        if took > MAX_SECONDS:
            failures += 1
            print(f"{name} #{number} ({sample.name}): {took:.1f} s", file=sys.stderr)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - idle) / 1024
    failures += int(grown > MAX_MEGABYTES)
    told = ", ".join(f"{n} {what}" for what, n in outcomes.most_common())
    print(f"{name}: {count} mutations, seed {seed}: {told}; {failures} failures; worst {worst:.2f} s; +{grown:.0f} MB")
    return failures


def main() -> int:
    """Fuzzes the formats named, or all; each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", default=list(FORMATS))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return min(fuzz(options.formats[0], options.count, options.seed), 100)
    failed = 0
    for name in options.formats:
        command = [sys.executable, "-m", "tests.fuzz", name, "--inside"]
        command += ["--count", str(options.count), "--seed", str(options.seed)]
        code = subprocess.run(command, check=False).returncode
        failed += code != 0
        if code < 0:
            print(f"{name}: the process died of signal {-code}", file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
