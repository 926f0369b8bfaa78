"""Runs the rows named, or all, and prints their tables; exit code 1 if one is over its limit."""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.measure import ENOUGH, ROOT, Measured, measure
from tests.bench.rows import ROWS

PAGE = ROOT / "docs" / "performance.md"
COUNTS = (10_000, 100_000, 1_000_000)
QUICK = 20
"""With `--quick`, the objects and MiB are divided by it."""
ROOM = 8 << 30
"""Bytes that all inputs and the largest output need."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("name", nargs="*", help="only rows whose name contains it")
    parser.add_argument("--rounds", type=int, default=3, metavar="K", help="median of K rounds (default: 3)")
    parser.add_argument("--quick", action="store_true", help=f"one round with 1/{QUICK} of the objects and MiB")
    parser.add_argument("--growth", action="store_true", help="also with 10,000 to 1,000,000 objects (default: of all)")
    parser.add_argument("--write", action="store_true", help=f"replace the tables in {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    rows = [row for row in ROWS if not given.name or any(name in row.name for name in given.name)]
    if not rows or (given.write and (given.name or given.quick)):
        parser.error("no row has such a name" if not rows else "--write needs all rows")
    memory = Path("/dev/shm")
    in_memory = memory.is_dir() and shutil.disk_usage(memory).free > ROOM
    found = list[Measured]()
    with TemporaryDirectory(dir=memory if in_memory else None) as folder:
        for row in rows:
            n = max(row.n // QUICK, 1) if given.quick else row.n
            found.append(measure(row, Path(folder), n, 1 if given.quick else given.rounds))
            print(shown(found[-1]), flush=True)
        tables = [TABLE, *map(shown, found)]
        if given.growth or not (given.name or given.quick):
            tables += ["", GROWTH]
            print(GROWTH)
            for one in found:
                if one.row.grows:
                    tables.append(growth(one, Path(folder)))
                    print(tables[-1], flush=True)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(replaced(page, "\n".join([machine(), "", *tables])), encoding="utf-8")
    return int(not all(one.holds for one in found))


BEGIN, END = "<!-- table -->", "<!-- end of table -->"
TABLE = """| work | ours | reference | ratio | limit | memory | our command | the reference's |
|---|--:|--:|--:|--:|--:|---|---|"""
GROWTH = f"""| µs per object: ours, reference | {" | ".join(f"{n:,}" for n in COUNTS)} |
|---|{"--:|" * len(COUNTS)}"""


def replaced(page: str, tables: str) -> str:
    """Return the page with other tables between its two markers."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n\n{tables}\n\n{END}{rest.partition(END)[2]}"


def shown(one: Measured) -> str:
    """Return a row of the table."""
    row, most = one.row, one.row.memory
    over = "" if one.holds else " **over**"
    memory = f"{one.ours.memory:,.0f} MiB" + (f" of {most}" if most else "")
    names = re.compile(r"\{(\w+)\}")
    commands = (
        f"`{names.sub(lambda m: f'{one.n}' if m[1] == 'n' else m[1], text)}`" for text in (row.ours, row.theirs)
    )
    times = (f"{side.seconds:.2f} s" for side in (one.ours, one.theirs))
    cells = (row.name.format(n=f"{one.n:,}"), *times, f"{one.ratio:.2f}", f"{row.limit:g}{over}", memory, *commands)
    return f"| {' | '.join(cells)} |"


def growth(one: Measured, folder: Path) -> str:
    """Return processor time per object with several counts, one round each; none that would take a minute."""
    cells, last = [], 0.0
    for n in COUNTS:
        if n != one.n and last * 10 > 5 * ENOUGH:
            cells.append("")
            continue
        found = one if n == one.n else measure(one.row, folder, n, 1)
        last = found.ours.seconds + found.theirs.seconds
        cells.append(f"{found.ours.seconds / n * 1e6:.1f}, {found.theirs.seconds / n * 1e6:.1f}")
    return f"| {one.row.name.format(n='n')} | {' | '.join(cells)} |"


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
