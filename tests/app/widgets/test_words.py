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
    share_text,
    short_name,
    short_size,
    source_words,
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
    ("size", "text"),
    [(0, "0"), (999_999, "999,999"), (1_000_000, "977 KiB"), (100 * 2**30, "100 GiB"), (2**60, "1.0 EiB")],
)
def test_small_sizes_are_exact(size: int, text: str) -> None:
    """Small sizes are exact, large ones short."""
    assert short_size(size) == text


def test_numbers_have_their_noun() -> None:
    """One is one, and what is not known is not a number."""
    assert (known_size(1), known_size(1024)) == ("1 byte", "1,024 bytes")
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
    ("name", "words"),
    [
        ("", ""),
        ("0.shard", "0.shard"),
        ("@64-1290", "decoded bytes 64–1,290"),
        ("a%401-2", "a@1-2"),
        ("0.shard@128-162", "decoded bytes 128–162 of 0.shard"),
        ("@8-16@0-4", "decoded bytes 0–4 of decoded bytes 8–16"),
    ],
)
def test_sources_are_named_in_words(name: str, words: str) -> None:
    """What bytes decode to is said in words, not by the name that it has inside the program."""
    assert source_words(name) == words
    assert node_name(Node(name, Span(name, 0, 4))) == words
    assert node_name(Node("@field", Span(name, 0, 4))) == "@field"
