"""Runs the benchmarks named, or all; writes their tables into `docs/performance.md`; exit code 1 for a broken limit."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from tests.bench.figures import Figure

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
HEAD = """# Performance

Written by `make bench`; `make bench ARGS=swh` measures one area and replaces its table alone.

Both programs do the same work on the same file, with the same checks, after a run that is not counted. *Ratio* is our
figure by that of the reference implementation: below 1 we take less. Compare ratios; seconds depend on the machine.
"""


def main() -> int:
    """Every module `bench_*.py` here has a function `run()` that yields figures."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # both programs start from compiled modules
    found = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    wanted = [name for name in found if name in sys.argv[1:]] if sys.argv[1:] else found
    broken = 0
    for name in wanted:
        print(f"== {name}")
        figures = []
        for figure in import_module(f"tests.bench.bench_{name}").run():
            print(figure, flush=True)
            figures.append(figure)
        broken += sum(not figure.holds for figure in figures)
        text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else HEAD
        PAGE.write_text(with_area(text, name, table(figures)), encoding="utf-8")
    return int(broken > 0)


def with_area(page: str, name: str, lines: Iterable[str]) -> str:
    """Return the page with the section of an area replaced; areas are in the order of their names."""
    head, *parts = re.split(r"^## ", page, flags=re.MULTILINE)
    areas = {part.partition("\n")[0]: part.partition("\n")[2].strip("\n") for part in parts}
    areas[name.replace("_", " ")] = "\n".join([f"{machine()} `make bench ARGS={name}`", "", *lines])
    return head.rstrip("\n") + "\n" + "".join(f"\n## {area}\n\n{areas[area]}\n" for area in sorted(areas))


def table(figures: Iterable[Figure]) -> list[str]:
    """Return the figures of an area as the lines of a table, without columns that would be empty."""
    rows = [_cells(one) for one in figures]
    used = [number for number in range(len(_TITLES)) if any(row[number] for row in rows)]
    ruler = ["---" if _TITLES[number] in ("", "command") else "--:" for number in used]
    shown = [[row[number] for number in used] for row in (_TITLES, *rows)]
    return ["| " + " | ".join(row) + " |" for row in (shown[0], ruler, *shown[1:])]


_TITLES = ("", "ours", "reference", "ratio", "limit", "peak memory", "command")


def _cells(one: Figure) -> tuple[str, ...]:
    reference = "" if one.reference is None else f"{one.reference:.3g} {one.unit}"
    ratio = f"{one.ours / one.reference:.2f}" if one.reference else ""
    memory = f"{one.memory:.0f} MB" if one.memory else ""
    commands = " / ".join(f"`{command}`" for command in (one.command, one.reference_command) if command)
    name = f"{one.name} ({one.note})" if one.note else one.name
    limit = "" if one.limit == float("inf") else f"{one.limit:.3g} {one.unit}" + ("" if one.holds else " **over**")
    return name, f"{one.ours:.3g} {one.unit}", reference, ratio, limit, memory, commands


def machine() -> str:
    """Return the machine in general terms."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{os.cpu_count()} cores, {' '.join(model.split()[:2])}; Python {python}."


if __name__ == "__main__":
    raise SystemExit(main())
