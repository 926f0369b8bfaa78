"""Children that are computed when asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardcore.errors import FormatError
from shardcore.model.computed_children import (
    Deferred,
    RecordTable,
    field_nodes,
    gaps,
    grouped,
    section_leaf,
    section_nodes,
)
from shardcore.model.node import Node, path_to
from shardcore.model.record import Field, FieldRole, Record
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span

FIELDS = (Field("number", "<u4", FieldRole.COUNT, "A number."), Field("raw", ("u1", 4), FieldRole.HASH, "Bytes."))
ROW = Record("row", source="test", fields=FIELDS)


class Reads:
    """Rows from memory; counts how often they are asked for."""

    def __init__(self, rows: int) -> None:
        self.rows = np.zeros(rows, ROW.dtype)
        self.rows["number"] = np.arange(rows)
        self.asked: list[tuple[int, int]] = []

    def __call__(self, first: int, last: int) -> Any:
        assert 0 <= first <= last <= len(self.rows)
        self.asked.append((first, last))
        return self.rows[first:last]


@pytest.mark.parametrize("rows", [0, 1, 999, 1000, 1001, 2500])
def test_long_tables_are_grouped(rows: int) -> None:
    """Up to 1,000 rows are children; more are in groups of 1,000."""
    read = Reads(rows)
    table = RecordTable(ROW, 16, rows, read)
    kids = grouped(table)
    assert kids.expandable == (rows > 0)
    if rows <= 1000:
        assert kids is table
        assert [node.value for row in kids for node in row.children[:1]] == list(range(rows))
        return
    assert len(kids) == -(-rows // 1000)
    groups = list(kids)
    assert [g.name for g in groups] == [f"[{n}..{min(n + 999, rows - 1)}]" for n in range(0, rows, 1000)]
    assert [len(g.children) for g in groups] == [min(1000, rows - n) for n in range(0, rows, 1000)]
    assert (groups[0].span.start, groups[-1].span.stop) == (16, 16 + rows * ROW.size)
    assert [g.span.start for g in groups[1:]] == [g.span.stop for g in groups[:-1]]
    for number in (0, 999, 1000, rows - 1):
        path = path_to(Node("t", Span("", 16, 16 + rows * ROW.size), children=kids), 16 + number * ROW.size)
        assert path[-2].name == f"[{number}]"
        assert path[-1].value == number


def test_groups_cost_nothing_but_their_edges() -> None:
    read = Reads(1_000_000)
    kids = grouped(RecordTable(ROW, 0, 1_000_000, read))
    list(kids[:3])
    assert sum(last - first for first, last in read.asked) <= 6
    read.asked.clear()
    path_to(Node("t", Span("", 0, 8_000_000), children=kids), 4_000_000)
    assert sum(last - first for first, last in read.asked) <= 4


def test_deferred_children_are_made_once() -> None:
    made = []

    def make() -> list[Node]:
        made.append(1)
        return [Node("a", Span("", 0, 1)), Node("b", Span("", 1, 2))]

    kids = Deferred(make)
    assert kids.expandable
    assert made == []
    assert [n.name for n in kids] == ["a", "b"]
    assert (len(kids), kids[-1].name, [n.name for n in kids[:1]]) == (2, "b", ["a"])
    assert made == [1]
    assert not Deferred(list).nodes
    with pytest.raises(IndexError):
        kids[2]


def test_what_could_not_be_made_is_tried_again() -> None:
    errors = [FormatError("broken")]

    def make() -> list[Node]:
        if errors:
            raise errors.pop()
        return [Node("a", Span("", 0, 1))]

    kids = Deferred(make)
    with pytest.raises(FormatError):
        len(kids)
    assert len(kids) == 1


def test_fields_tell_value_place_and_trouble() -> None:
    row = ROW.read(b"\x07\0\0\0wxyz")[0]
    seven = {"texts": {"number": "seven"}, "targets": {"number": Span("", 7, 8)}}
    number, raw = field_nodes(ROW, row, 10, "@0-9", **seven, errors={"raw": "bad"})
    assert (number.value, number.text, number.target, number.error) == (7, "seven", Span("", 7, 8), "")
    assert (raw.value, raw.text, raw.error, raw.span) == (b"wxyz", "7778797a", "bad", Span("@0-9", 14, 18))


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([], [(10, 50)]),
        ([(10, 50)], []),
        ([(12, 20), (20, 30)], [(10, 12), (30, 50)]),
        ([(10, 40), (15, 20), (45, 60)], [(40, 45)]),
        ([(0, 5), (20, 20)], [(10, 20), (20, 50)]),
    ],
)
def test_gaps_are_what_nothing_covers(ranges: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    starts, stops = (np.array([pair[n] for pair in ranges], np.int64) for n in (0, 1))
    assert [tuple(gap) for gap in gaps(starts, stops, 10, 50).tolist()] == expected


def test_sections_become_nodes() -> None:
    head, rest = Section("header", SectionRole.HEADER, 0, 8, "Says."), Section("rest", SectionRole.UNKNOWN, 20, 21)
    sections = (head, Section("data", SectionRole.DATA, 8, 20, "Holds."), rest)
    made = section_nodes(sections, {"header": lambda s: section_leaf(s, FieldRole.GROUP, "8")}, "a.des")
    assert [(n.name, n.text, n.role, n.doc) for n in made] == [
        ("header", "8", FieldRole.GROUP, "Says."),
        ("data", "12 bytes", FieldRole.DATA, "Holds."),
        ("rest", "1 byte", FieldRole.UNKNOWN, ""),
    ]
    assert made[1].span == Span("a.des", 8, 20)
