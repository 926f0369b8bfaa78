"""A comparison as a picture, as a table and in words."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO

import pytest

from shardcore.model.number_words import size_text
from shardcore.teaching.comparison.comparison import (
    COLUMNS,
    HEADINGS,
    Comparison,
    cells,
    compare,
    cost_text,
    overhead_text,
    to_csv,
    to_json,
)
from shardcore.teaching.comparison.contents import BUILT_IN
from shardcore.teaching.comparison.measure import ActionCost, How


@pytest.fixture(scope="module")
def found() -> Comparison:
    """Thirty small objects in every format."""
    return compare(BUILT_IN, count=30, size=400, options={"des": {"codec": "zstd"}})


def test_the_columns_stay(found: Comparison) -> None:
    """The table has the columns that it always had, a line for each format, and numbers as they are."""
    lines = list(csv.DictReader(StringIO(to_csv(found))))
    assert tuple(lines[0]) == COLUMNS
    assert COLUMNS[:12] == (
        *("format", "parameter", "value", "objects", "content", "files", "size", "overhead", "overhead_percent"),
        *("structure", "exact", "lookup_requests"),
    )
    for line, row in zip(lines, found.rows, strict=True):
        assert line["format"] == row.format
        assert int(line["size"]) - int(line["content"]) == int(line["overhead"]) == row.overhead
        assert row.lookup is not None
        assert int(line["lookup_requests"]) == row.lookup.requests
        assert int(line["verify_read"]) == row.costs["verify"].read
    assert [line["value"] for line in lines if line["format"] == "des"] == ["zstd"]
    wrong = replace(found, rows=(replace(found.rows[0], error="no"),))
    (line,) = csv.DictReader(StringIO(to_csv(wrong)))
    assert (line["format"], line["size"], line["error"]) == ("swh", "", "no")


def test_json_adds_up(found: Comparison) -> None:
    """Sections add up to the size, and all that the table says is there."""
    told = to_json(found)
    assert (told["objects"], told["content"]) == (30, 12_000)
    for one in told["formats"]:
        assert sum(section["size"] for section in one["sections"]) == one["size"]
        assert set(one["costs"]) == {"append", "delete", "verify"}
        assert one["lookup"]["requests"] >= one["lookup"]["opening"] >= 1


def test_in_words(found: Comparison) -> None:
    """Few words that read at one glance; what was not counted has its sign."""
    assert [size_text(size) for size in (0, 1023, 1024, -2_000, 5 << 20)] == [
        *("0 B", "1,023 B", "1.0 KiB", "−2.0 KiB", "5.0 MiB"),
    ]
    row = found.rows[0]
    assert len(cells(row)) == len(HEADINGS) - 1
    assert overhead_text(replace(row, content=row.size * 2)).startswith("−")
    assert cost_text(ActionCost(How.REWRITE, 2048, exact=False)) == "rewrites ≈ 2.0 KiB"
    assert cost_text(ActionCost(How.NEVER)) == "not possible"
    assert cells(replace(row, lookup=None))[:2] == ("not compressed by the format", "…")
