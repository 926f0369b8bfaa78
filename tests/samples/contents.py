"""The sample of contents: a shard with one file of each kind."""

from __future__ import annotations

from pathlib import Path

import shardcore

FILES = Path(__file__).parent.parent / "data" / "contents" / "files"
MONDAY = "2026-01-05T09:30:00+01:00"
ORDER = (
    "README.md", "src/tides.py", "tides.csv", "stations.json", "chart.png", "buoy.jpg", "depths.npy", "gauges.npz",
    "surge.safetensors", "survey.zip", "log.txt.gz",
)  # fmt: skip


def write(folder: Path) -> None:
    with shardcore.create(folder / "contents.des", format="des") as writer:
        for name in ORDER:
            # One of them is compressed: its bytes are in a frame, all others lie in the file as they are.
            codec = "zstd" if name == "README.md" else "none"
            writer.add(name, (FILES / name).read_bytes(), created_at=MONDAY, codec=codec)
