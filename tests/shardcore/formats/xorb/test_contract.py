"""Xorbs under the contract of all formats."""

from __future__ import annotations

from pathlib import Path

from shardcore.testing import ShardContract

DATA = Path(__file__).parents[3] / "data"


class TestXorb(ShardContract):
    samples = (*sorted((DATA / "mdb" / "cas" / "xorbs").iterdir()), *sorted((DATA / "xorb").glob("*.xorb")))
    absent = ("9000", "0970425b7defb12b691e8e3b705620733deaaddd33a760e17a4e9ba333445533")
    open_ranges = 2
    find_ranges = 1
