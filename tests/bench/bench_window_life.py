"""The life of a window: how soon it is seen, what it costs while nothing happens, and what many files leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from tests.bench.figures import Figure

REPEATS = 5


def measured(what: str, compiled: str) -> float:
    """One figure of `window_life`, in a process of its own, from compiled modules, as when installed."""
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    surroundings["PYTHONPYCACHEPREFIX"] = compiled
    arguments = [sys.executable, "-m", "tests.bench.window_life", what]
    told = subprocess.run(arguments, check=True, capture_output=True, text=True, env=surroundings).stdout
    return float(told)


def run() -> Iterator[Figure]:
    """The figures."""
    with tempfile.TemporaryDirectory() as compiled:
        empty = min(measured("empty", compiled) for _ in range(REPEATS))
        first = min(measured("paint", compiled) for _ in range(REPEATS))
        note = f"processor time; empty: {empty:.2f} s"
        yield Figure("window: first paint over an empty PySide6 window", first - empty, 1.0, note=note)
        idle = measured("idle", compiled)
        yield Figure("window: processor while a file is open and nothing happens", idle, 0.1, "%")
        yield Figure("window: memory that 20 files in a row add", measured("row", compiled), 30.0, "MB")
