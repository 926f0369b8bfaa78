"""Drawings of DES: worked examples, and what the drawings of every format promise."""

from __future__ import annotations

from pathlib import Path

from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data" / "des"
SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "des"


class TestContract(DrawingContract):
    """See `DrawingContract`."""

    samples = (
        SAMPLES / "archive",
        *sorted((SAMPLES / "archive").glob("*.des")),
        SAMPLES / "odd/20251128_2A_0000.des",
        *sorted(DATA.glob("*.des")),
        *sorted(p for p in DATA.iterdir() if p.is_dir() and p.name != "hostile"),
    )
    names = ("address",)
    absent = ("no such uid", "12345678901234567890123")
