"""Bytes of the rows and cells of a table."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.codecs.csv_spans import cell_spans, cell_text, row_spans

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
    assert rows_of(b"") == []
    assert len(row_spans(b"x\n" * 1000, most=10)) == 10
