"""JSON text within limits."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shardcore.codecs.json_text import FREE, JsonLimits, parse_json, structure, whole_number
from shardcore.errors import FormatError
from shardcore.model.span import Span

TEXTS = [
    {"a": [1, -2.5, True, None, "ä\u202e"], "": {'b\\"[': []}},
    [],
    1,
    "x",
    [[]] * 300,
    {"n": 2**64 - 1, "m": -(2**63)},
]


@pytest.mark.parametrize("value", TEXTS, ids=lambda value: type(value).__name__)
def test_values_are_those_of_the_standard_library(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert parse_json(text, "the text") == value
    assert parse_json(text.encode(), "the text") == value


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


def test_free_metadata_may_have_longer_integers() -> None:
    """A user may store a hash as a number."""
    assert parse_json(str(2**512), "the metadata", limits=FREE) == 2**512
    with pytest.raises(FormatError, match="1001 digits"):
        parse_json("1" * 1001, "the metadata", limits=FREE)


def test_long_texts_may_have_more_values() -> None:
    """One value per 16 bytes is ordinary."""
    limits = JsonLimits(values=10, containers=2)
    text = json.dumps([{"checksum": "0" * 64, "size": 123456, "reason": "x" * 100}] * 100)
    assert len(parse_json(text, "the sidecar", limits=limits)) == 100


def test_brackets_in_strings_do_not_count() -> None:
    text = json.dumps(['[{"' * 400_000, "\\" * 999_999, '\\"[' * 300_000, "]"])
    assert len(parse_json(text, "the text")) == 4
    places, kinds = (np.concatenate(parts) for parts in zip(*structure(text.encode()), strict=True))
    assert kinds.tobytes() == b"[,,,]"
    assert [text[at] for at in places] == list("[,,,]")


def test_byte_order_marks_are_passed_over_where_asked() -> None:
    """Some editors write one."""
    assert parse_json(b"\xef\xbb\xbf[1]", "the info", encoding="utf-8-sig") == [1]


@pytest.mark.parametrize("value", [3, 3.0])
def test_whole_numbers(value: object) -> None:
    """Some writers write `3.0`."""
    assert whole_number(value, "a size", 0, 3) == 3
