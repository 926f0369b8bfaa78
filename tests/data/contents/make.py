"""Makes the files of the sample `des/contents.des`: `python tests/data/contents/make.py`.

`README.md`, `src/tides.py`, `chart.png` and `buoy.jpg` are kept as they are.

Compressed files depend on the libraries that write them, so the results are kept beside this script.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

FILES = Path(__file__).parent / "files"
CONSTITUENTS = {"M2": (1.74, 28.984104, 12.0), "S2": (0.58, 30.0, 48.0), "O1": (0.21, 13.943036, 140.0)}


def tide(hours: float) -> float:
    """The height of the water, in metres, as the source file computes it."""
    return 2.4 + sum(a * math.cos(math.radians(s * hours - p)) for a, s, p in CONSTITUENTS.values())


def table() -> bytes:
    """Heights of two days."""
    target = io.StringIO()
    rows = csv.writer(target, lineterminator="\n")
    rows.writerow(["hour", "height", "depth_over_sill"])
    for hour in range(48):
        rows.writerow([hour, f"{tide(hour):.2f}", f"{tide(hour) + 1.5:.2f}"])
    return target.getvalue().encode()


def stations() -> bytes:
    """Gauges and their constituents."""
    waves = [{"name": key, "amplitude": a, "speed": s, "phase": p} for key, (a, s, p) in CONSTITUENTS.items()]
    found = [
        {"name": name, "position": {"latitude": lat, "longitude": lon}, "active": active, "constituents": waves}
        for name, lat, lon, active in (("Pier head", 48.6472, -2.0257, True), ("Inner basin", 48.6391, -2.0193, False))
    ]
    return json.dumps({"datum": "chart", "unit": "m", "stations": found}, indent=2).encode()


def depths() -> np.ndarray[Any, Any]:
    """The sea bed in decimetres: a channel, two banks and a wreck."""
    y, x = np.mgrid[0:48, 0:64]
    channel = 90 * np.exp(-(((y - 24 - 8 * np.sin(x / 10)) / 7) ** 2))
    banks = 35 * np.exp(-((x - 14) ** 2 + (y - 9) ** 2) / 60) + 28 * np.exp(-((x - 47) ** 2 + (y - 40) ** 2) / 90)
    wreck = 22 * ((abs(x - 40) < 3) & (abs(y - 18) < 2))
    return (40 + channel - banks - wreck + 2 * np.sin(x / 3) * np.cos(y / 4)).round().astype("<i2")


def npy(array: np.ndarray[Any, Any]) -> bytes:
    """The bytes of a .npy."""
    target = io.BytesIO()
    np.save(target, array)
    return target.getvalue()


def zipped(members: dict[str, bytes], method: int) -> bytes:
    """A zip archive whose members have one date."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 5, 9, 30, 0)), data, method)
    return target.getvalue()


def tensors() -> bytes:
    """Three tensors: 32-bit floats, BF16 and 16-bit floats."""
    noise = np.random.default_rng(17)
    y, x = np.mgrid[0:24, 0:32]
    weight = (np.sin(x / 4) * np.cos(y / 5) + 0.1 * noise.standard_normal((24, 32))).astype("<f4")
    brain = (noise.standard_normal((16, 24)).astype("<f4").view("<u4") >> 16).astype("<u2")
    bias = np.linspace(-1, 1, 16).astype("<f2")
    header: dict[str, Any] = {"__metadata__": {"format": "pt", "task": "surge"}}
    body = b""
    made = (("input.weight", "F32", weight), ("hidden.weight", "BF16", brain), ("hidden.bias", "F16", bias))
    for name, dtype, array in made:
        data = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def log() -> bytes:
    """A log of the harbour office."""
    lines = [
        f"2026-01-{5 + hour // 24:02} {hour % 24:02}:00 height {tide(hour):.2f} m, "
        + ("gate open" if tide(hour) > 3 else "gate closed")
        for hour in range(48)
    ]
    return ("\n".join(lines) + "\n").encode()


def files() -> dict[str, bytes]:
    """Every file that is made, by its path."""
    hours = np.arange(48.0)
    quality = (np.indices((12, 24)).sum(0) % 5).astype("|u1")
    half = npy(depths()[::2, ::2])
    readme = (FILES / "README.md").read_bytes()
    survey = {"survey/README.md": readme, "survey/tides.csv": table(), "survey/depths.npy": half}
    heights = npy(np.array([tide(hour) for hour in hours]))
    return {
        "tides.csv": table(),
        "stations.json": stations(),
        "depths.npy": npy(depths()),
        "gauges.npz": zipped({"heights.npy": heights, "quality.npy": npy(quality)}, zipfile.ZIP_STORED),
        "surge.safetensors": tensors(),
        "survey.zip": zipped(survey, zipfile.ZIP_DEFLATED),
        "log.txt.gz": gzip.compress(log(), mtime=0),
    }


def main() -> None:
    """Write the files."""
    for name, data in files().items():
        (FILES / name).parent.mkdir(parents=True, exist_ok=True)
        (FILES / name).write_bytes(data)


if __name__ == "__main__":
    main()
