"""The page about the comparison says what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shardcore.shards.registry import format_of, writes_of
from shardcore.teaching.comparison.comparison import COLUMNS, HEADINGS, compared_formats
from shardcore.teaching.comparison.contents import MOST_BYTES, MOST_OBJECTS
from shardcore.teaching.comparison.measure import FILES_VERIFIED, PACKED_AGAIN

PAGE = (Path(__file__).parents[4] / "docs" / "guide" / "compare-formats.md").read_text(encoding="utf-8")


def test_every_column_is_explained() -> None:
    """What people see has a row; the columns of the CSV are listed in their order."""
    for heading in HEADINGS[1:]:
        assert f"\n| {heading} |" in PAGE
    told = re.findall(r"`([a-z_]+)`", PAGE.partition("new ones are added at the end")[2])
    assert tuple(told) == COLUMNS


@pytest.mark.parametrize("name", compared_formats())
def test_every_main_parameter_is_named(name: str) -> None:
    """One row for each format, with its main parameter."""
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    dial = writes_of(format_of(name)).dial
    assert ("none" if dial is None else f"`{dial.name}`:") in row


def test_the_figures_of_the_page() -> None:
    """The limits that it tells are those that hold."""
    assert f"At most {MOST_OBJECTS:,} objects, of {MOST_BYTES >> 20} MiB" in PAGE
    assert f"for more than {PACKED_AGAIN} objects" in PAGE
    assert f"of more than {FILES_VERIFIED} files" in PAGE
