"""Runs the benchmarks named, or all; prints a line for each figure; exit code 1 when a limit is broken."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main() -> int:
    """Every module `bench_*.py` here has a function `run()` that yields figures."""
    found = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    wanted = [name for name in found if not sys.argv[1:] or name.removeprefix("bench_") in sys.argv[1:]]
    broken = 0
    for name in wanted:
        print(f"== {name.removeprefix('bench_')}")
        for figure in import_module(f"tests.bench.{name}").run():
            print(figure, flush=True)
            broken += not figure.holds
    return int(broken > 0)


if __name__ == "__main__":
    raise SystemExit(main())
