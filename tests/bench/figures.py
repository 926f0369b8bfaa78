"""Figures that are no ratio of whole processes: requests, seconds at a latency, pauses of the window."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        name: Name.
        ours: Our value.
        limit: Maximum, in the same unit.
        unit: `s`, `ms`, `requests`.
        reference: The reference implementation's value, or None.
        note: More about it.
    """

    name: str
    ours: float
    limit: float
    unit: str = "s"
    reference: float | None = None
    note: str = ""

    def __str__(self) -> str:
        beside = "" if self.reference is None else f", reference {self.reference:.3g} {self.unit}"
        note = f" ({self.note})" if self.note else ""
        verdict = "ok" if self.ours <= self.limit else "OVER"
        return f"{verdict:<5}{self.name}: {self.ours:.3g} {self.unit}, limit {self.limit:.3g}{beside}{note}"


def report(figures: Iterable[Figure]) -> None:
    """Print figures as they come."""
    for figure in figures:
        print(figure, flush=True)


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """Return the shortest of several runs, in seconds: the one least disturbed by other programs."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)
