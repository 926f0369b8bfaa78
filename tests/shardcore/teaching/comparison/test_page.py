"""The page about the comparison says what there is."""

from __future__ import annotations

from pathlib import Path

from shardcore.teaching.comparison.measure import HEADINGS

PAGE = (Path(__file__).parents[4] / "docs" / "guide" / "compare-formats.md").read_text(encoding="utf-8")


def test_every_column_is_explained() -> None:
    """What people see has a row."""
    for heading in HEADINGS[1:]:
        assert f"\n| {heading} |" in PAGE
