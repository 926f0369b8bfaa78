"""Drawings in lines of text: within 100 columns, and nothing of them lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardcore.model.drawing import Cells, Drawing, Item
from shardcore.teaching.drawing.text_output import as_text
from tests.shardcore.teaching.drawing.gallery import ALL, bits, parking, tape


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_fits(make: Callable[[], Drawing], columns: int) -> None:
    """No line is longer than the terminal is wide."""
    lines = as_text(make(), columns)
    assert max(map(len, lines)) <= columns
    assert all(line.isprintable() for line in lines)


def test_bits() -> None:
    """Bits stand in bytes, the letter of their field under each; the fields are listed."""
    lines = as_text(bits())
    at = next(n for n, line in enumerate(lines) if line.startswith("  00000001 00100011"))
    assert lines[at + 1].endswith("dddcccbb bbbbaaaa")
    assert "  c  [shard~], bits 10–12, computed" in lines
    assert any("zyxzyxz yxzyxzyx" in line for line in lines)


def test_states_and_links() -> None:
    """Marks stand for hits, misses, deletions and what is computed; arrows are lines; what is left out is counted."""
    text = "\n".join(as_text(parking()))
    for expected in ("[what if]", "[ca97*]", "77ab!~/12!~", " x ", "a ring", "77ab ─ p1 ─▶ ca97", "… 1,010,117 more"):
        assert expected in text
    assert "* result of the lookup   ! mismatch   x deleted   ~ computed (not stored)" in text


def test_rulers_and_boards() -> None:
    """A ruler has its ends, texts that have no room are listed, and rows of a board without items are left out."""
    lines = as_text(tape())
    assert any(line.startswith("  0") and line.endswith("4,000") for line in lines)
    assert any("narrow and in question!, at 3,000, 0xbb8–0xbc1 · 10 bytes" in line for line in lines)
    assert not any(line.startswith("  7 │") for line in lines)


def test_hostile_text() -> None:
    """What would act in a terminal is shown as an escape."""
    lines = as_text(Drawing("a\x1b[2Jb", (Cells("\n", 2, (Item("\u202e"),)),)))
    assert all(line.isprintable() for line in lines)
