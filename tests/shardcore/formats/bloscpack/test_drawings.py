"""Drawings of Bloscpack: worked examples, and what the drawings of every format promise."""

from __future__ import annotations

from pathlib import Path

from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data" / "bloscpack"
SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "bloscpack"


class TestContract(DrawingContract):
    """See `DrawingContract`."""

    samples = (*sorted(SAMPLES.glob("*.blp")), *sorted(DATA.glob("*.blp")), *sorted((DATA / "made").glob("*.blp")))
    names = ("rulers", "block")
    absent = ("99999", "@0", "@5000")
