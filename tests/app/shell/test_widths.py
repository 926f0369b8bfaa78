"""Widths: numbers are never cut, and the bytes have no more room than they can fill."""

from __future__ import annotations

from pathlib import Path

from shardscope.widgets.column_widths import ColumnWidth, share_width

SAMPLES = Path(__file__).parents[3] / "resources" / "samples"


def test_columns_share_the_room() -> None:
    """What is left goes to texts that are cut, then to the stretched one; in a small room none goes below its least."""
    columns = [ColumnWidth(50, 50), ColumnWidth(500, 100), ColumnWidth(80, 80)]
    assert share_width(columns, 1, 1000) == [50, 870, 80]
    assert share_width(columns, 1, 400) == [50, 270, 80]
    assert share_width(columns, 1, 150) == [50, 100, 80]
