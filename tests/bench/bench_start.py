"""Starting: the version, the help and a look at a small file, beside `import numpy`, which most commands need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure, least_work

SAMPLES = Path(__file__).parents[2] / "resources" / "samples"
LOOKED_AT = (
    "bloscpack/array.blp",
    "des/archive",
    "mdb/cache",
    "neuroglancer/hashed",
    "swh/small.shard",
    "xorb/chunks.xorb",
)
REPEATS = 7

TALK = 1.2
"""The version and the help take at most this multiple of `import numpy`."""

LOOK = 2.5
"""`info` on a small file takes at most this multiple."""


def run() -> Iterator[Figure]:
    """The figures, in processor time."""
    python = sys.executable
    samples = [SAMPLES / name for name in LOOKED_AT]
    talks = [("--version",), ("--help",)]
    looks = [("info", str(sample)) for sample in samples]
    programs = [[python, "-c", "import numpy"], [python, "-c", "import shardcore"]]
    programs += [[python, "-m", "shardcore", *arguments] for arguments in (*talks, *looks)]
    numpy, library, *times = (seconds * 1000 for seconds in least_work(REPEATS, *programs))
    note = "reference: import numpy"
    yield Figure("import shardcore", library, numpy, "ms", numpy, note)
    for (option,), time in zip(talks, times, strict=False):
        yield Figure(f"shardcore {option}", time, TALK * numpy, "ms", numpy)
    for sample, time in zip(samples, times[len(talks) :], strict=True):
        yield Figure(f"shardcore info {sample.name}", time, LOOK * numpy, "ms", numpy)
