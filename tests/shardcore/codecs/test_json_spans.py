"""Bytes of the values of a JSON text."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore import FormatError
from shardcore.codecs.csv_spans import cell_spans, cell_text, row_spans
from shardcore.codecs.json_spans import JsonSpans, JsonValue
from shardcore.codecs.json_text import JsonLimits

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=30,
)


def built(spans: JsonSpans, data: bytes, value: JsonValue) -> Any:
    members = list(spans.members(value))
    assert len(members) == value.count
    if value.kind == "object":
        return {one.key: built(spans, data, one) for one in members}
    if value.kind == "array":
        return [built(spans, data, one) for one in members]
    return json.loads(data[value.start : value.stop])


@given(VALUES, st.sampled_from([None, 0, 1, "\t"]), st.booleans())
def test_spans_describe_the_value(value: Any, indent: int | str | None, ascii_only: bool) -> None:
    data = f" {json.dumps(value, indent=indent, ensure_ascii=ascii_only)}\n".encode()
    spans = JsonSpans(data)
    assert built(spans, data, spans.root) == value
    stack: list[tuple[tuple[int, ...], JsonValue]] = [((), spans.root)]
    while stack:
        path, one = stack.pop()
        assert spans.path(one.start) == path
        assert spans.path(one.stop - 1) == path
        assert spans.path(one.key_start)[: len(path)] == path
        stack += [((*path, number), inner) for number, inner in enumerate(spans.members(one))]


def test_a_part_of_the_members() -> None:
    data = json.dumps(list(range(10_000))).encode()
    spans = JsonSpans(data)
    assert spans.root.count == 10_000
    assert [data[one.start : one.stop] for one in spans.members(spans.root, 9998)] == [b"9998", b"9999"]


@pytest.mark.parametrize("data", [b"[", b"]", b"][", b"[[]", b'{"a": [}', b"", b'"'])
def test_damaged_texts(data: bytes) -> None:
    try:
        root = JsonSpans(data).root
    except FormatError:
        return
    assert 0 <= root.start <= root.stop <= len(data)


def test_limits() -> None:
    with pytest.raises(FormatError, match="deep"):
        JsonSpans(b"[" * 5000 + b"]" * 5000)
    with pytest.raises(FormatError, match="bytes"):
        JsonSpans(b"[]" * 10, limits=JsonLimits(size=8))


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=6)


def rows_of(data: bytes, delimiter: str = ",") -> list[list[str]]:
    return [
        [cell_text(data[first:last]) for first, last in cell_spans(data, start, stop, delimiter)]
        for start, stop in row_spans(data).tolist()
    ]


@pytest.mark.thorough
@given(st.lists(st.lists(CELLS, min_size=2, max_size=4), max_size=6), st.sampled_from("\t,;"), st.booleans())
def test_cells_are_those_of_the_csv_module(rows: list[list[str]], delimiter: str, carriage: bool) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator="\r\n" if carriage else "\n").writerows(rows)
    assert rows_of(stream.getvalue().encode(), delimiter) == rows


def test_bytes_of_a_cell() -> None:
    data = b'a,"b ""c"", d",e\r\n\r\n1,,3'
    rows = row_spans(data).tolist()
    assert [data[start:stop] for start, stop in rows] == [b'a,"b ""c"", d",e', b"1,,3"]
    assert [data[start:stop] for start, stop in cell_spans(data, *rows[0], ",")] == [b"a", b'"b ""c"", d"', b"e"]
    assert [data[start:stop] for start, stop in cell_spans(data, *rows[1], ",")] == [b"1", b"", b"3"]


def test_open_quotes_and_marks() -> None:
    assert rows_of(b'\xef\xbb\xbfa,"b\nc') == [["a", "b\nc"]]

    assert len(row_spans(b"x\n" * 1000, most=10)) == 10
