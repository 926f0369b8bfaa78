"""Runs: consecutive byte ranges of equal role, for painting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Runs:
    """Consecutive byte ranges of equal role, for painting.

    Attributes:
        start: First byte of each run, int64, ascending.
        stop: End of each run, int64.
        role: `FieldRole` of the smallest node, uint8.
        parity: 0 or 1, alternating between neighbours of the same kind, uint8.
    """

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    role: NDArray[np.uint8]
    parity: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.start)

    @staticmethod
    def of(start: Any, stop: Any, role: Any, parity: Any) -> Runs:
        """Create runs from array-likes; empty ranges are dropped."""
        starts, stops = np.asarray(start, np.int64).ravel(), np.asarray(stop, np.int64).ravel()
        roles = np.broadcast_to(np.asarray(role, np.uint8).ravel(), starts.shape)
        parities = np.broadcast_to(np.asarray(parity, np.uint8).ravel(), starts.shape)
        keep = stops > starts
        return Runs(starts[keep], stops[keep], roles[keep], parities[keep])

    @staticmethod
    def join(parts: Sequence[Runs]) -> Runs:
        """Concatenate runs, which must be in ascending order for painting."""
        if not parts:
            return Runs.of([], [], [], [])
        return Runs(
            np.concatenate([p.start for p in parts]),
            np.concatenate([p.stop for p in parts]),
            np.concatenate([p.role for p in parts]),
            np.concatenate([p.parity for p in parts]),
        )

    def sorted(self) -> Runs:
        """Return the runs ordered by first byte."""
        order = np.argsort(self.start, kind="stable")
        return Runs(self.start[order], self.stop[order], self.role[order], self.parity[order])

    def clip(self, start: int, stop: int) -> Runs:
        """Return the part inside `[start, stop)`."""
        return Runs.of(np.maximum(self.start, start), np.minimum(self.stop, stop), self.role, self.parity)
