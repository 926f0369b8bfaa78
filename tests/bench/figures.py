"""One figure of a benchmark, and how times are taken."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        name: What was measured.
        ours: Our value.
        limit: What it must not exceed, in the same unit.
        unit: `s`, `ms`, `MB`, `ranges`.
        reference: The reference implementation's value, or None.
        note: Anything worth saying.
        memory: Peak memory of our process in megabytes, where it was measured.
        command: How to take our value.
        reference_command: How to take the reference's.
    """

    name: str
    ours: float
    limit: float
    unit: str = "s"
    reference: float | None = None
    note: str = ""
    memory: float | None = None
    command: str = ""
    reference_command: str = ""

    @property
    def holds(self) -> bool:
        """Whether the limit is kept."""
        return self.ours <= self.limit

    def __str__(self) -> str:
        beside = ""
        if self.reference is not None:
            ratio = self.ours / self.reference if self.reference else float("inf")
            beside = f", reference {self.reference:.3f} {self.unit}, ratio {ratio:.2f}"
        verdict = "ok" if self.holds else "OVER"
        note = f" ({self.note})" if self.note else ""
        return f"{verdict:<5}{self.name}: {self.ours:.3f} {self.unit}, limit {self.limit:.3f}{beside}{note}"


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """The shortest of several runs, in seconds: the one least disturbed by other programs."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


# Runs a program from a small process: a large parent would be counted as the memory of its child.
_MEASURE = """
import os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
took = time.perf_counter() - began
print(took, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
"""


def run_program(arguments: Sequence[str], code: int = 0) -> tuple[float, float]:
    """Runs a program with its output thrown away: wall seconds, and megabytes resident at most.

    Raises:
        RuntimeError: It ended with another code.
    """
    told = _measured(arguments, code)
    return told[0], told[1]


def _measured(arguments: Sequence[str], code: int = 0) -> list[float]:
    command = [sys.executable, "-S", "-c", _MEASURE, *arguments]
    told = [float(word) for word in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]
    if told[2] != code:
        raise RuntimeError(f"{arguments[0]} answered {told[2]:g}")
    return told


def least_work(repeats: int, *programs: Sequence[str]) -> list[float]:
    """The least processor time of several runs of each program, in seconds; they take turns, so that all fare alike.

    Raises:
        RuntimeError: One failed.
    """
    found = [float("inf")] * len(programs)
    for _ in range(repeats):
        for number, arguments in enumerate(programs):
            found[number] = min(found[number], _measured(arguments)[3])
    return found


def best_program(repeats: int, arguments: Sequence[str], code: int = 0) -> tuple[float, float]:
    """The shortest of several runs of a program, and its memory."""
    return min(run_program(arguments, code) for _ in range(repeats))


def beside(name: str, limit: float, ours: Sequence[str], reference: Sequence[str], shown: str) -> Figure:
    """Return the processor time of our program beside the reference's, which take turns on the same file.

    Args:
        name: Name of the figure.
        limit: Part of the reference's time that ours may take.
        ours: Our command; both were run once before they are counted.
        reference: The reference's.
        shown: Name of the file in the commands of the page.
    """
    for command in (ours, reference):
        run_program(command)
    found, theirs = least_work(2, ours, reference)
    memory = run_program(ours)[1]
    mine, other = (" ".join([Path(one[0]).name, *one[1:-1], shown]) for one in (ours, reference))
    return Figure(name, found, limit * theirs, "s", theirs, "", memory, mine, other)


@cache
def application() -> Any:
    """The application of windows without a display; what the offscreen platform reports of itself is left out."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import qInstallMessageHandler
    from PySide6.QtWidgets import QApplication

    qInstallMessageHandler(lambda kind, context, text: None)
    return QApplication.instance() or QApplication(["bench"])


def sharding(
    hash: str, minishard_bits: int, shard_bits: int, data_encoding: str = "raw", *, index: str = "gzip", shift: int = 0
) -> dict[str, Any]:
    """The sharding of neuroglancer data sets."""
    return {
        "@type": "neuroglancer_uint64_sharded_v1",
        "preshift_bits": shift,
        "hash": hash,
        "minishard_bits": minishard_bits,
        "shard_bits": shard_bits,
        "minishard_index_encoding": index,
        "data_encoding": data_encoding,
    }


def program(name: str) -> list[str]:
    """A command that is installed beside this Python."""
    return [str(Path(sys.executable).parent / name)]
