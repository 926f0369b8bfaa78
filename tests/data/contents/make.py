"""Makes the files of the sample `des/contents.des`: `python tests/data/contents/make.py`.

`README.md` and `src/tides.py` are written by hand.

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
from PIL import Image, ImageDraw, ImageFilter

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
    found = [
        {
            "name": name, "position": {"latitude": lat, "longitude": lon}, "active": active,
            "constituents": [
                {"name": key, "amplitude": a, "speed": s, "phase": p} for key, (a, s, p) in CONSTITUENTS.items()
            ],
        }
        for name, lat, lon, active in (("Pier head", 48.6472, -2.0257, True), ("Inner basin", 48.6391, -2.0193, False))
    ]  # fmt: skip
    return json.dumps({"datum": "chart", "unit": "m", "stations": found}, indent=2).encode()


def depths() -> np.ndarray[Any, Any]:
    """The sea bed in decimetres: a channel, two banks and a wreck."""
    y, x = np.mgrid[0:48, 0:64]
    channel = 90 * np.exp(-(((y - 24 - 8 * np.sin(x / 10)) / 7) ** 2))
    banks = 35 * np.exp(-((x - 14) ** 2 + (y - 9) ** 2) / 60) + 28 * np.exp(-((x - 47) ** 2 + (y - 40) ** 2) / 90)
    wreck = 22 * ((abs(x - 40) < 3) & (abs(y - 18) < 2))
    return (40 + channel - banks - wreck + 2 * np.sin(x / 3) * np.cos(y / 4)).round().astype("<i2")


def chart() -> bytes:
    """A drawing of the harbour: sky, hills, water with the light of the sun, a lighthouse."""
    width, height, scale = 280, 180, 3
    image = Image.new("RGB", (width * scale, height * scale))
    draw = ImageDraw.Draw(image)
    for row in range(height * scale):
        t = row / (height * scale)
        sky = (int(40 + 205 * t), int(70 + 120 * t), int(140 + 20 * t))
        draw.line([(0, row), (width * scale, row)], fill=sky)
    sun = (188 * scale, 92 * scale)
    for radius, colour in ((44, (250, 196, 130)), (34, (252, 214, 150)), (26, (255, 240, 196))):
        box = [sun[0] - radius * scale, sun[1] - radius * scale, sun[0] + radius * scale, sun[1] + radius * scale]
        draw.ellipse(box, fill=colour)
    for level, colour, step in ((96, (104, 96, 140), 37), (106, (74, 76, 116), 23), (114, (48, 58, 92), 15)):
        points = [
            (x * scale, (level - 9 * math.sin(x / step) - 5 * math.sin(x / step * 2.3 + level)) * scale)
            for x in range(width + 1)
        ]
        draw.polygon([*points, (width * scale, height * scale), (0, height * scale)], fill=colour)
    sea = 120
    draw.rectangle([0, sea * scale, width * scale, height * scale], fill=(34, 62, 104))
    for row in range(sea, height, 3):
        reach = 6 + (row - sea) * 0.9
        for n in range(5):
            at = 188 + reach * math.sin(n * 2.4 + row * 1.7)
            long = 3 + (row - sea) * 0.12
            draw.line(
                [((at - long) * scale, row * scale), ((at + long) * scale, row * scale)],
                fill=(240, 190, 130), width=scale,
            )  # fmt: skip
    rocks = ((0, 150), (30, 128), (86, 126), (112, 144), (120, 180), (0, 180))
    draw.polygon([(x * scale, y * scale) for x, y in rocks], fill=(28, 36, 52))
    draw.polygon([(x * scale, y * scale) for x, y in ((52, 128), (55, 70), (67, 70), (70, 128))], fill=(236, 232, 224))
    for top, bottom in ((80, 92), (104, 116)):
        left = 52 + 3 * (128 - top) / 58, 52 + 3 * (128 - bottom) / 58
        right = 122 - left[0], 122 - left[1]
        corners = ((left[0], top), (right[0], top), (right[1], bottom), (left[1], bottom))
        draw.polygon([(x * scale, y * scale) for x, y in corners], fill=(196, 58, 54))
    draw.rectangle([54 * scale, 60 * scale, 68 * scale, 70 * scale], fill=(255, 226, 150))
    draw.polygon([(x * scale, y * scale) for x, y in ((52, 60), (61, 51), (70, 60))], fill=(60, 40, 48))
    small = image.resize((width, height), Image.Resampling.LANCZOS).quantize(64, dither=Image.Dither.NONE)
    target = io.BytesIO()
    small.save(target, "PNG", optimize=True)
    return target.getvalue()


def buoy() -> bytes:
    """A rendered buoy, as a photograph."""
    y, x = np.mgrid[0:120, 0:160].astype(float)
    picture = np.stack([90 - y * 0.1, 130 - y * 0.15, 165 - y * 0.2], axis=-1)
    waves = 10 * np.sin(x / 9 + 3 * np.sin(y / 7)) * (y > 70) * (y - 70) / 50
    picture = np.where((y > 70)[..., None], np.stack([30 + waves, 66 + waves, 92 + waves], axis=-1), picture)
    nx, ny = (x - 80) / 34, (y - 62) / 34
    inside = nx**2 + ny**2 < 1
    nz = np.sqrt(np.clip(1 - nx**2 - ny**2, 0, 1))
    light = np.clip(-0.5 * nx - 0.6 * ny + 0.62 * nz, 0, 1)
    shine = light**24
    stripe = abs(ny) < 0.3
    red, white = np.array([206, 52, 40]), np.array([232, 228, 220])
    ball = np.where(stripe[..., None], white, red) * (0.25 + 0.75 * light)[..., None] + 200 * shine[..., None]
    picture = np.where(inside[..., None], ball, picture)
    image = Image.fromarray(picture.clip(0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.6))
    target = io.BytesIO()
    image.save(target, "JPEG", quality=80)
    return target.getvalue()


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
        "chart.png": chart(),
        "buoy.jpg": buoy(),
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
