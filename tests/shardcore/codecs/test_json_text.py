"""JSON within limits; bytes of JSON values and of CSV rows."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.codecs.json_text import (
    FREE,
    JsonLimits,
    JsonSpans,
    JsonValue,
    cell_spans,
    cell_text,
    parse_json,
    row_spans,
    structure,
    whole_number,
)
from shardcore.errors import FormatError
from shardcore.model.span import Span

TEXTS = [{"a": [1, -2.5, True, None, "ä\u202e"], "": {'b\\"[': []}}, [], 1, "x", [[]] * 300]
TEXTS.append({"n": 2**64 - 1, "m": -(2**63)})


@pytest.mark.parametrize("value", TEXTS, ids=lambda value: type(value).__name__)
def test_values_are_those_of_the_standard_library(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert parse_json(text, "the text") == parse_json(text.encode(), "the text") == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[" * 201 + "]" * 201, "the text: nested deeper than 200 levels"),
        ("[" * 100_000, "the text: nested deeper than 200 levels"),
        ('{"a":' * 100_000, "the text: nested deeper than 200 levels"),
        ("[" + "[],[]," * 200_000 + "1]", "the text: more than 250000 arrays and objects"),
        ("[" + "1," * 1_000_001 + "1]", "the text: more than 1000000 values"),
        ("9" * 5000, "the text: a number has 5000 digits; the limit is 20"),
        ("[-" + "9" * 1_000_000 + "]", "the text: a number has 1000000 digits; the limit is 20"),
        ("0." + "9" * 5000, "the text: a number has 5002 characters; the limit is 1000"),
        (" " * (17 << 20), "the text has 17,825,792 bytes; the limit is 16,777,216"),
        ("[1", "the text is not JSON: "),
        (b"\xff", "the text is not UTF-8: invalid start byte at byte 0"),
        ("\ufeff1", "the text is not JSON: "),
        ('"' + '\\"' * 5_000_000, "the text is not JSON: unterminated string (column 1)"),
        ("]" * 5_000_000, "the text is not JSON: "),
    ],
    ids=lambda value: ascii(value[:12]),
)
def test_what_is_over_the_limits_is_an_error_with_its_place(text: str | bytes, told: str) -> None:
    place = Span("info", 0, 7)
    with pytest.raises(FormatError) as caught:
        parse_json(text, "the text", span=place)
    assert caught.value.message.startswith(told)
    assert caught.value.span == place


def test_what_is_read_beyond_the_limits() -> None:
    # A user may store a hash as a number.
    assert parse_json(str(2**512), "the metadata", limits=FREE) == 2**512
    with pytest.raises(FormatError, match="1001 digits"):
        parse_json("1" * 1001, "the metadata", limits=FREE)
    # One value per 16 bytes is ordinary.
    text = json.dumps([{"checksum": "0" * 64, "size": 123456, "reason": "x" * 100}] * 100)
    assert len(parse_json(text, "the sidecar", limits=JsonLimits(values=10, containers=2))) == 100
    # Some editors write a byte order mark, some writers `3.0`.
    assert parse_json(b"\xef\xbb\xbf[1]", "the info", encoding="utf-8-sig") == [1]
    assert [whole_number(value, "a size", 0, 3) for value in (3, 3.0)] == [3, 3]


def test_brackets_in_strings_do_not_count() -> None:
    text = json.dumps(['[{"' * 400_000, "\\" * 999_999, '\\"[' * 300_000, "]"])
    assert len(parse_json(text, "the text")) == 4
    places, kinds = (np.concatenate(parts) for parts in zip(*structure(text.encode()), strict=True))
    assert kinds.tobytes() == b"[,,,]"
    assert [text[at] for at in places] == list("[,,,]")


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
        assert spans.path(one.start) == spans.path(one.stop - 1) == path
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
