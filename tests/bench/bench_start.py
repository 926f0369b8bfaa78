"""Starting: the version, the help and a look at a small file, beside `import numpy`, which most commands need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure, best_program

SAMPLES = Path(__file__).parents[2] / "resources" / "samples"
REPEATS = 15

TALK = 1.2
"""The version and the help take at most this multiple of `import numpy`."""

LOOK = 2.5
"""`info` on a small file takes at most this multiple."""


def _milliseconds(*arguments: str) -> float:
    seconds, _ = best_program(REPEATS, [sys.executable, *arguments])
    return seconds * 1000


def run() -> Iterator[Figure]:
    """The figures."""
    numpy = _milliseconds("-c", "import numpy")
    note = "reference: import numpy"
    for option in ("--version", "--help"):
        yield Figure(f"shardcore {option}", _milliseconds("-m", "shardcore", option), TALK * numpy, "ms", numpy, note)
    yield Figure("import shardcore", _milliseconds("-c", "import shardcore"), numpy, "ms", numpy, note)
    for sample in sorted(SAMPLES.iterdir()):
        look = _milliseconds("-m", "shardcore", "info", str(sample))
        yield Figure(f"shardcore info {sample.name}", look, LOOK * numpy, "ms", numpy, note)
