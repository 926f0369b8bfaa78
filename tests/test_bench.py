"""One row of the benchmark runs for this library and the reference; the table is inserted into the page."""

from __future__ import annotations

from pathlib import Path

from tests.bench.__main__ import replaced, shown
from tests.bench.measure import measure
from tests.bench.rows import ROWS


def test_a_row_runs_both_sides(tmp_path: Path) -> None:
    row = next(row for row in ROWS if row.ours == "ours by_key {des}")
    found = measure(row, tmp_path, 50, 1)
    assert found.ours.seconds > 0 < found.theirs.seconds
    assert found.holds  # limits are those of the row's own count
    assert shown(found).startswith("| des: read 50 by key |")
    assert shown(found).endswith("| `ours by_key des` | `theirs by_key des` |")


def test_the_tables_replace_those_of_the_page() -> None:
    page = replaced("a <!-- table --> x <!-- end of table --> b", "| y |")
    assert page == "a <!-- table -->\n\n| y |\n\n<!-- end of table --> b"
