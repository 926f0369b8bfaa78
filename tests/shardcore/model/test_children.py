"""Children that are computed when asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardcore.errors import FormatError
from shardcore.model.children import (
    Deferred,
    Extents,
    Grouped,
    RecordTable,
    RowRange,
    field_nodes,
    gaps,
    grouped,
    section_leaf,
    section_nodes,
    value_text,
)
from shardcore.model.node import Children, Node, path_to, runs_of
from shardcore.model.record import Field, FieldRole, Record
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span

ROW = Record(
    "row",
    source="test",
    fields=(Field("number", "<u4", FieldRole.COUNT, "A number."), Field("raw", ("u1", 4), FieldRole.HASH, "Bytes.")),
)


class Reads:
    """Rows from memory; counts how often they are asked for."""

    def __init__(self, rows: int) -> None:
        self.rows = np.zeros(rows, ROW.dtype)
        self.rows["number"] = np.arange(rows)
        self.asked: list[tuple[int, int]] = []

    def __call__(self, first: int, last: int) -> Any:
        """The rows `[first, last)`."""
        assert 0 <= first <= last <= len(self.rows)
        self.asked.append((first, last))
        return self.rows[first:last]


@pytest.mark.parametrize("rows", [0, 1, 999, 1000, 1001, 2500])
def test_long_tables_are_grouped(rows: int) -> None:
    """Up to a thousand rows are children themselves; more are groups of a thousand, the last one with the rest."""
    read = Reads(rows)
    table = RecordTable(ROW, 16, rows, read)
    kids = grouped(table, "A group.")
    assert kids.expandable == (rows > 0)
    if rows <= 1000:
        assert kids is table
        assert [node.value for row in kids for node in row.children[:1]] == list(range(rows))
        return
    assert len(kids) == -(-rows // 1000)
    groups = list(kids)
    assert [g.name for g in groups] == [f"[{n}..{min(n + 999, rows - 1)}]" for n in range(0, rows, 1000)]
    assert all(g.doc == "A group." for g in groups)
    assert [len(g.children) for g in groups] == [min(1000, rows - n) for n in range(0, rows, 1000)]
    assert (groups[0].span.start, groups[-1].span.stop) == (16, 16 + rows * ROW.size)
    assert [g.span.start for g in groups[1:]] == [g.span.stop for g in groups[:-1]]
    for number in (0, 999, 1000, rows - 1):
        path = path_to(Node("t", Span("", 16, 16 + rows * ROW.size), children=kids), 16 + number * ROW.size)
        assert path[-2].name == f"[{number}]"
        assert path[-1].value == number


def test_groups_cost_nothing_but_their_edges() -> None:
    """Showing the groups of a long table reads no row in the middle; a path reads one row besides."""
    read = Reads(1_000_000)
    kids = grouped(RecordTable(ROW, 0, 1_000_000, read))
    list(kids[:3])
    assert sum(last - first for first, last in read.asked) <= 6
    read.asked.clear()
    path_to(Node("t", Span("", 0, 8_000_000), children=kids), 4_000_000)
    assert sum(last - first for first, last in read.asked) <= 4


def test_groups_paint_as_the_table() -> None:
    """Grouping changes no colour."""
    table = RecordTable(ROW, 0, 1500, Reads(1500))
    span = Span("", 0, 1500 * ROW.size)
    for start, stop in [(0, 12_000), (7_995, 8_005), (11_999, 12_000), (5, 5)]:
        plain, groups = (runs_of(Node("t", span, children=kids), start, stop) for kids in (table, Grouped(table)))
        for name in ("start", "stop", "role", "parity"):
            assert np.array_equal(getattr(plain, name), getattr(groups, name))


def test_ranges_outside_ask_for_no_rows() -> None:
    """A range before or after a table touches no row, and a part of it none of the others."""
    read = Reads(2000)
    table = RecordTable(ROW, 100, 2000, read)
    end = 100 + 2000 * ROW.size
    for start, stop in [(0, 100), (end, end + 50), (50, 50)]:
        assert len(table.overlap(start, stop)) == 0
        runs = table.runs(start, stop)
        assert runs is not None
        assert len(runs) == 0
    assert read.asked == []
    part = RowRange(table, 1000, 2000)
    assert part.overlap(100, 108) == range(0)
    assert part.overlap(100 + 999 * 8, 100 + 1001 * 8) == range(1)
    assert RowRange(table, 0, 1000).overlap(end - 8, end) == range(0)


def test_roles_of_rows_may_differ() -> None:
    """A painter says the role of each field of each row."""
    roles = np.array([[FieldRole.KEY, FieldRole.UNUSED]] * 3, np.uint8)
    table = RecordTable(ROW, 0, 3, Reads(3), paint=lambda rows: roles[: len(rows)])
    runs = table.runs(0, 24)
    assert runs is not None
    assert runs.role.tolist() == [FieldRole.KEY, FieldRole.UNUSED] * 3


def test_deferred_children_are_made_once() -> None:
    """Looking whether there are any makes none; the first look makes them all."""
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
    """An error while making children is told, and the next look tries anew."""
    errors = [FormatError("broken")]

    def make() -> list[Node]:
        if errors:
            raise errors.pop()
        return [Node("a", Span("", 0, 1))]

    kids = Deferred(make)
    with pytest.raises(FormatError):
        len(kids)
    assert len(kids) == 1


def test_children_are_sequences() -> None:
    """Slices, steps, negative numbers and iteration behave as those of a list."""
    starts = np.arange(0, 50, 5, dtype=np.int64)
    nodes = [Node(str(n), Span("", 5 * n, 5 * n + 5)) for n in range(10)]
    kids: Children = Extents(starts, starts + 5, lambda a, b: nodes[a:b])
    assert list(kids) == nodes
    for cut in (slice(2, 5), slice(None, None, 3), slice(5, 2), slice(-2, None), slice(8, 99), slice(None, None, -1)):
        assert kids[cut] == nodes[cut]
    assert kids[-1] == nodes[-1]
    with pytest.raises(IndexError):
        kids[10]


def test_no_extents_own_nothing() -> None:
    """An empty list of extents is empty everywhere."""
    none = np.empty(0, np.int64)
    extents = Extents(none, none, lambda a, b: [])
    assert len(extents) == 0
    assert len(extents.overlap(0, 100)) == 0
    assert not extents.expandable


def test_fields_tell_value_place_and_trouble() -> None:
    """The nodes of a record's fields carry value, text, role, target and error."""
    row = ROW.read(b"\x07\0\0\0wxyz")[0]
    number, raw = field_nodes(
        ROW, row, 10, "@0-9", texts={"number": "seven"}, targets={"number": Span("", 7, 8)}, errors={"raw": "bad"}
    )
    assert (number.value, number.text, number.target, number.error) == (7, "seven", Span("", 7, 8), "")
    assert (raw.value, raw.text, raw.error, raw.span) == (b"wxyz", "7778797a", "bad", Span("@0-9", 14, 18))


def test_long_bytes_are_cut_in_the_text() -> None:
    """Text shows at most 32 bytes, and says how many there are."""
    assert value_text(bytes(32)) == "00" * 32
    assert value_text(bytes(40)) == "00" * 32 + "… (40 bytes)"
    assert value_text(None) == ""
    assert value_text(12) == "12"


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
    """Overlapping, empty and outer ranges leave exactly the bytes that none of them has."""
    starts, stops = (np.array([pair[n] for pair in ranges], np.int64) for n in (0, 1))
    assert [tuple(gap) for gap in gaps(starts, stops, 10, 50).tolist()] == expected


def test_sections_become_nodes() -> None:
    """A section has the node that its maker makes, or is a leaf whose role follows from that of the section."""
    sections = (
        Section("header", SectionRole.HEADER, 0, 8, "Says."),
        Section("data", SectionRole.DATA, 8, 20, "Holds."),
        Section("rest", SectionRole.UNKNOWN, 20, 21),
    )
    made = section_nodes(sections, {"header": lambda s: section_leaf(s, FieldRole.GROUP, "8")}, "a.des")
    assert [(n.name, n.text, n.role, n.doc) for n in made] == [
        ("header", "8", FieldRole.GROUP, "Says."),
        ("data", "12 bytes", FieldRole.DATA, "Holds."),
        ("rest", "1 byte", FieldRole.UNKNOWN, ""),
    ]
    assert made[1].span == Span("a.des", 8, 20)
