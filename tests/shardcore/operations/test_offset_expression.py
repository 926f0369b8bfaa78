"""Goto expressions: what they mean, and what is said about those that mean nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.operations.offset_expression import GotoError, GotoNames, evaluate, starts_of
from tests.app.hex_samples import INDEX, OBJECTS, SECTIONS, SIZE, TAIL, sample_tree

VALUES, STARTS = {"header.slots": 30, "header.magic": b"SAMPLE\0\0"}, {"header.slots": 8, "header.magic": 0}
PLACES = GotoNames(size=SIZE, caret=1000, sections=SECTIONS, values=VALUES, starts=STARTS)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("0", 0),
        ("1_000", 1000),
        ("1,000", 1000),
        ("*header.slots + 12,000", 12030),
        ("0x10", 16),
        ("0XfF", 255),
        ("4Ki", 4096),
        ("4K", 4000),
        ("-72", SIZE - 72),
        ("-1", SIZE - 1),
        ("- 2 * 4", SIZE - 8),
        ("+0x10", 1016),
        ("+ 40*2", 1080),
        ("+-16", 984),
        ("index", INDEX),
        ("index+12*40", INDEX + 480),
        ("index.stop - 1", OBJECTS - 1),
        ("index.size", OBJECTS - INDEX),
        ("$index", INDEX),
        ('"index" + 1', INDEX + 1),
        ("tail.start", TAIL),
        ("header.slots", 8),
        ("header.slots + 1", 9),
        ("header.magic", 0),
        ("*header.slots", 30),
        ("* header.slots * 40 + index", INDEX + 1200),
        ("2 * *header.slots", 60),
        ("$header.slots", 8),
        ("$header.magic", 0),
        ("(1 + 2) * 3", 9),
        ("1 + 2 * 3", 7),
        ("100 / 7 % 5", 4),
        ("10 - 2 - 3", 5),
    ],
)
def test_expressions(text: str, offset: int) -> None:
    assert evaluate(text, PLACES) == offset


@given(st.text(alphabet='0123456789abcdefx+-*/%()$. _"KMi' + "\x00ü", max_size=30))
def test_nothing_else_is_raised(text: str) -> None:
    try:
        assert 0 <= evaluate(text, PLACES) < SIZE
    except GotoError:
        pass


def test_starts_come_from_the_tree() -> None:
    starts = starts_of(sample_tree())
    sections = {"index": INDEX, "objects": OBJECTS, "tail": TAIL}
    assert starts == {"header": 0, "header.magic": 0, "header.slots": 8} | sections
