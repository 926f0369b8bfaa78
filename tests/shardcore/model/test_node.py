"""Sections tile the file; colours and explanations agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.model.computed_children import BitFields, Extents, RecordTable, grouped
from shardcore.model.node import Node, Runs, fields_of, path_to, runs_of
from shardcore.model.record import Field, FieldRole, Record
from shardcore.model.section import MAX_SECTIONS, Section, SectionRole, tile
from shardcore.model.span import Span

SIZE = 60

offsets = st.integers(-10, SIZE + 20)
claims = st.builds(Section, st.sampled_from("abc"), st.sampled_from(SectionRole), offsets, offsets)


@given(st.lists(claims, max_size=12), st.integers(0, SIZE))
def test_sections_tile_whatever_is_claimed(parts: list[Section], size: int) -> None:
    """Claims may be outside the file, empty, backward or overlapping; the earliest role owns a byte."""
    sections, overlaps = tile(parts, size)
    at = 0
    for section in sections:
        assert section.start == at
        assert section.stop >= section.start
        at = section.stop
    assert at == size
    ranks = list(SectionRole)
    for offset in range(size):
        (owner,) = [s for s in sections if s.start <= offset < s.stop]
        claiming = [c.role for c in parts if c.start <= offset < c.stop]
        assert owner.role is (min(claiming, key=ranks.index) if claiming else SectionRole.UNKNOWN)
        settled = [o for o in overlaps if o.start <= offset < o.stop]
        assert len(settled) == max(len(claiming) - 1, 0)


def test_an_overlap_is_told_once() -> None:
    a, b = Section("a", SectionRole.HEADER, 0, 10), Section("b", SectionRole.DATA, 2, 8)
    c = Section("c", SectionRole.FOOTER, 4, 6)
    _, overlaps = tile([a, b, c], 10)
    assert {(o.owner.name, o.loser.name, o.start, o.stop) for o in overlaps} == {("a", "b", 2, 8), ("a", "c", 4, 6)}
    assert len(overlaps) == 2


def test_too_many_sections_are_cut() -> None:
    sections, _ = tile([Section(str(n), SectionRole.DATA, 2 * n, 2 * n + 1) for n in range(200)], 400)
    assert len(sections) == MAX_SECTIONS
    assert (sections[-1].stop, sections[-1].role) == (400, SectionRole.UNKNOWN)
    assert [s.start for s in sections[1:]] == [s.stop for s in sections[:-1]]


def agree(root: Node, size: int, source: str = "") -> None:
    """Asserts that runs tile, and name the role of the leaf of every path, for the whole and for any window."""
    runs = runs_of(root, 0, size)
    assert runs.start.tolist() == [0, *runs.stop.tolist()[:-1]][: len(runs)]
    assert size == 0 or runs.stop[-1] == size
    roles = np.repeat(runs.role, runs.stop - runs.start)
    for offset in range(size):
        leaf = path_to(root, offset, source)[-1]
        assert leaf.role == roles[offset], (offset, leaf)
        assert leaf.span.covers(offset)
    for first in range(0, size, 7):
        part = runs_of(root, first, min(first + 11, size))
        assert np.array_equal(np.repeat(part.role, part.stop - part.start), roles[first : first + 11])


places = st.integers(0, SIZE)
pairs = st.lists(st.tuples(places, places).map(lambda p: (min(p), max(p))), max_size=14).map(sorted)


def nodes_of(spans: list[tuple[int, int]]) -> list[Node]:
    roles = [FieldRole.DATA, FieldRole.SIZE, FieldRole.KEY]
    return [Node(str(n), Span("", a, b), role=roles[n % 3]) for n, (a, b) in enumerate(spans)]


@given(pairs)
def test_extents_paint_as_they_explain(spans: list[tuple[int, int]]) -> None:
    nodes = nodes_of(spans)
    starts, stops = (np.array([s[n] for s in spans], np.int64) for n in (0, 1))
    extents = Extents(starts, stops, lambda first, last: nodes[first:last])
    agree(Node("root", Span("", 0, SIZE), children=extents), SIZE)
    roles = np.array([n.role for n in nodes], np.uint8)

    def paint(first: int, last: int) -> Runs:
        return Runs.of(extents.starts[first:last], extents.stops[first:last], roles[first:last], 0)

    painted = Extents(starts, stops, lambda first, last: nodes[first:last], paint=paint)
    agree(Node("root", Span("", 0, SIZE), children=painted), SIZE)


def test_parity_does_not_depend_on_the_window() -> None:
    """Neighbours alternate, also past empty nodes."""
    spans = [(0, 5), (5, 5), (5, 10), (10, 15), (15, 15), (15, 20)]
    nodes = nodes_of(spans)
    starts, stops = (np.array([s[n] for s in spans], np.int64) for n in (0, 1))
    root = Node("root", Span("", 0, 20), children=Extents(starts, stops, lambda a, b: nodes[a:b]))
    whole = runs_of(root, 0, 20)
    expected = np.repeat(whole.parity, whole.stop - whole.start)
    for start in range(20):
        part = runs_of(root, start, 20)
        assert np.repeat(part.parity, part.stop - part.start).tolist() == expected[start:].tolist()


FIELDS = (Field("a", "<u2", FieldRole.KEY, "First."), Field("b", ("u1", 3), FieldRole.HASH, "Second."))
ROW = Record("row", source="test", fields=FIELDS)


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("start", [0, 4])
def test_tables_paint_as_they_explain(rows: int, start: int) -> None:
    data = bytes(range(rows * ROW.size))
    table = RecordTable(ROW, start, rows, lambda a, b: ROW.read(data, a * ROW.size, b - a))
    size = start + rows * ROW.size + 3
    root = Node("root", Span("", 0, size), children=table)
    agree(root, size)
    if rows:
        path = path_to(root, start + 2)
        assert [node.name for node in path] == ["root", "[0]", "b"]
        assert path[-1].value == data[2:5]


def test_bits_own_no_byte() -> None:
    span = Span("", 2, 8)
    bits = BitFields(span, 5000, lambda a, b: [Node(str(n), span, bits=(n, n + 1)) for n in range(a, b)])
    root = Node("root", Span("", 0, 10), children=(Node("bits", span, role=FieldRole.BITS, children=grouped(bits)),))
    agree(root, 10)
    assert path_to(root, 3)[-1].name == "bits"
    assert [len(group.children) for group in root.children[0].children] == [1000] * 5


def test_fields_have_the_paths_of_their_first_bytes() -> None:
    starts = np.arange(0, 60, 6, dtype=np.int64)

    def describe(first: int, last: int) -> list[Node]:
        return [
            Node(f"{n}", Span("", 6 * n, 6 * n + 6), children=(Node("head", Span("", 6 * n, 6 * n + 2)),))
            for n in range(first, last)
        ]

    root = Node("file", Span("", 0, 64), children=Extents(starts, starts + 6, describe))
    found = fields_of(root, 7, 64, 100)
    assert [(path[-1].name, path[-1].span.start) for path in found] == [("head", 6 * n) for n in range(2, 10)]
    for path in found:
        assert [node.name for node in path] == [node.name for node in path_to(root, path[-1].span.start)]
    assert [path[-1].span.start for path in fields_of(root, 7, 64, 3)] == [12, 18, 24]


def test_a_million_objects_at_one_byte_are_not_all_made() -> None:
    """A damaged index costs no more nodes than fields are requested."""
    made: list[int] = []

    def describe(first: int, last: int) -> list[Node]:
        made.append(last - first)
        return [Node(f"{n}", Span("", 8, 9)) for n in range(first, last)]

    starts = np.full(1_000_000, 8, np.int64)
    root = Node("file", Span("", 0, 100), children=Extents(starts, starts + 1, describe))
    assert len(fields_of(root, 0, 100, 50)) <= 50
    assert sum(made) < 200
