"""Tide at a harbour, from its harmonic constituents."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Constituent:
    """One wave of the tide."""

    name: str
    amplitude: float  # metres
    speed: float  # degrees per hour
    phase: float  # degrees

    def height(self, hours: float) -> float:
        """Return the height of the wave."""
        return self.amplitude * math.cos(math.radians(self.speed * hours - self.phase))


HARBOUR = [
    Constituent("M2", 1.74, 28.984104, 12.0),
    Constituent("S2", 0.58, 30.0, 48.0),
    Constituent("O1", 0.21, 13.943036, 140.0),
]


def tide(hours: float, mean: float = 2.4) -> float:
    """Return the height of the water over chart datum, in metres."""
    return mean + sum(one.height(hours) for one in HARBOUR)


def write_table(path: Path, days: int = 2) -> None:
    """Write one row per hour."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["hour", "height", "depth_over_sill"])
        for hour in range(24 * days):
            height = tide(hour)
            rows.writerow([hour, f"{height:.2f}", f"{height + 1.5:.2f}"])


if __name__ == "__main__":
    write_table(Path("tides.csv"))
