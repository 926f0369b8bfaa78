"""Running the two sides of a row: whole processes in turn, processor seconds and peak memory."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench.inputs import content
from tests.bench.rows import Row

ROOT = Path(__file__).parents[2]
ENOUGH = 12.0
"""Seconds after which a row begins no further round."""
SHORT = 2.0
"""Seconds below which a first round is not counted."""
PROGRAMS = {"python": [sys.executable]} | {
    name: [sys.executable, "-m", f"tests.bench.{name}"] for name in ("ours", "theirs")
}


class Names(dict[str, str]):
    """Names in a command: the count, `out`, a key of `swh`, and inputs, which are written when they are first used."""

    def __init__(self, folder: Path, n: int) -> None:
        super().__init__(n=str(n), out="out", key=hashlib.sha256(content(n // 2)).hexdigest())
        self._folder = folder

    def __missing__(self, name: str) -> str:
        path = f"{name}-{self['n']}"
        if not (self._folder / path).exists():
            run(["python", "-m", "tests.bench.inputs", name, self["n"], path], self._folder)
        return path


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took: processor seconds of user and system, and MiB at most."""

    seconds: float
    memory: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians of a row.

    Attributes:
        row: The row.
        n: Its count.
        ours: Cost of our command.
        theirs: Cost of the reference's.
        ratio: The median of the ratios of all rounds.
    """

    row: Row
    n: int
    ours: Cost
    theirs: Cost
    ratio: float

    @property
    def holds(self) -> bool:
        """Whether the limits are kept, which apply to the row's own count."""
        if self.n != self.row.n:
            return True
        return self.ratio <= self.row.limit and self.ours.memory <= (self.row.memory or float("inf"))


def measure(row: Row, folder: Path, n: int, rounds: int) -> Measured:
    """Run both sides of a row in turn. A first round that is short is not counted: modules are compiled in it."""
    names = Names(folder, n)
    commands = [shlex.split(command.format_map(names)) for command in (row.ours, row.theirs)]
    began = time.monotonic()
    found = [[run(command, folder) for command in commands]]
    if rounds > 1 and time.monotonic() - began < SHORT:
        found.clear()
    while len(found) < rounds and time.monotonic() - began < ENOUGH:
        found.append([run(command, folder) for command in commands])
    ours, theirs = (
        Cost(median(cost.seconds for cost in side), median(cost.memory for cost in side))
        for side in zip(*found, strict=True)
    )
    return Measured(row, n, ours, theirs, median(mine.seconds / other.seconds for mine, other in found))


def run(command: list[str], folder: Path) -> Cost:
    """Run a command in a folder that has no `out` yet; RuntimeError if it fails.

    This process stays small: its memory counts as that of its children.
    """
    for name in ("out", "out.manifest.json"):
        path = folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
    paths = os.pathsep.join([str(ROOT), str(ROOT / "app"), os.environ.get("PYTHONPATH", "")])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONPATH": paths, "QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(folder)}
    program = PROGRAMS.get(command[0], [str(Path(sys.executable).parent / command[0])])
    with (folder / "errors").open("w+b") as errors:
        process = subprocess.Popen(
            [*program, *command[1:]], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(f"{shlex.join(command)}: {errors.read().decode(errors='replace')}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
