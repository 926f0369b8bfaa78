"""Numbers, sizes and names as the window writes them."""

from __future__ import annotations

import pytest

from shardcore import Node, Span
from shardcore.model.number_words import size_text
from shardscope.session.words import (
    cut_end,
    grouped,
    known_size,
    node_name,
    sentence,
    set_decimal,
    share_text,
    short_name,
    source_words,
    span_words,
)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KiB"),
        (2**20 - 1, "1,024 KiB"),
        (105 * 10**9, "97.8 GiB"),
        (2**60, "1.0 EiB"),
    ],
)
def test_sizes_are_short(size: int, text: str) -> None:
    """Sizes are written as a person reads them."""
    assert size_text(size) == text


def test_shares() -> None:
    """A share that is not nothing is never shown as nothing."""
    assert [share_text(1, 2), share_text(1, 10**6), share_text(0, 5), share_text(0, 0)] == [
        "50.0 %",
        "< 0.1 %",
        "0.0 %",
        "0.0 %",
    ]


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (Span("", 4465, 4473), "0x1171–0x1178 · 8 bytes"),
        (Span("", 4465, 4466), "0x1171 · 1 byte"),
        (Span("0.shard", 4465, 4465), "0x1171 of 0.shard · 0 bytes"),
    ],
)
def test_ranges_have_both_ends(span: Span, text: str, in_hexadecimal: None) -> None:
    """A range is written in hexadecimal or in decimal, with its last byte."""
    assert span_words(span) == text
    set_decimal(True)
    assert span_words(span) == text.replace("0x1171", "4,465").replace("0x1178", "4,472")
    assert grouped("byte 0x1171, flags 0x03") == "byte 4,465, flags 0x03"


def test_numbers_have_their_noun() -> None:
    """One is one, and what is not known is not a number."""
    assert (known_size(1), known_size(1024)) == ("1 byte", "1.0 KiB (1,024 bytes)")
    assert (known_size(0), known_size(-1)) == ("0 bytes", "unknown until read")


def test_long_names_lose_their_middle() -> None:
    """Of an address the end is shown, of a long key both ends, of a long sentence the beginning."""
    assert short_name("short") == "short"
    assert short_name("s3://bucket/data/set/") == "set"
    assert len(short_name("k" * 64)) <= 22
    assert cut_end("sentence", 8) == "sentence"
    assert cut_end("sentences", 8) == "sentenc…"


def test_errors_are_sentences() -> None:
    """What the library says begins with a capital letter and ends; keys and names of fields stay what they are."""
    assert sentence("a key is a number, or `all`") == "A key is a number, or all."
    assert sentence("'xyz' is no key") == "'xyz' is no key."
    assert sentence("footer_offset is 7.") == "footer_offset is 7."
    assert sentence("") == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("it begins at 1684; the file ends at 1700 (bytes 1684..1700)", "1,684 1,700 1,684..1,700"),
        ("the chunk has 4,294,967,295 bytes; only 1604 are there.", "4,294,967,295 1,604"),
        ("byte 18446744073709551615, after the end", "18,446,744,073,709,551,615"),
        ("computed 45674680, stored 88562344", "45674680 88562344"),
        ("no object has the key 20250101", "20250101"),
        (
            "fragments of 404237804481: skeleton 1964146105497592528 of 2048 bytes",
            "404237804481 1964146105497592528 2,048",
        ),
        ("expired since 2026-11-10 22:30:10 UTC", "2026-11-10 22:30:10"),
        ("entry_1234 is 0.12345 of 0x1000", "entry_1234 0.12345 0x1000"),
        ("12345: 34 stored bytes", "12345: 34"),
        ("000000", "000000"),
        ("reserved 00001234", "00001234"),
    ],
)
def test_numbers_in_sentences_have_commas(text: str, shown: str) -> None:
    """A sentence of shardcore is shown with the commas that tables have; keys, digests and dates stay as they are."""
    told = grouped(text)
    for part in shown.split():
        assert part in told
    assert grouped(told) == told
    assert told.replace(",", "") == text.replace(",", "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", ""),
        ("0.shard", "0.shard"),
        ("@64-1290", "decoded bytes 0x40–0x509"),
        ("a%401-2", "a@1-2"),
        ("0.shard@128-162", "decoded bytes 0x80–0xa1 of 0.shard"),
        ("@8-16@0-4", "decoded bytes 0x0–0x3 of decoded bytes 0x8–0xf"),
    ],
)
def test_sources_are_named_in_words(name: str, said: str) -> None:
    """What bytes decode to is said in words, not by the name that it has inside the program."""
    assert source_words(name) == said
    assert node_name(Node(name, Span(name, 0, 4))) == said
    assert node_name(Node("@field", Span(name, 0, 4))) == "@field"
