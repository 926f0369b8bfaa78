"""The bcolz samples."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parents[3] / "data" / "bloscpack" / "bcolz"
TABLE, COLUMN = DATA / "prices", DATA / "samples"
