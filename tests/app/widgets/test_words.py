"""Numbers, sizes and names as the window writes them."""

from __future__ import annotations

import pytest

from shardcore.model.number_words import size_text
from shardscope.session.words import (
    grouped,
    share_text,
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
    assert size_text(size) == text


def test_shares() -> None:
    """A share above zero is never shown as zero."""
    assert [share_text(1, 2), share_text(1, 10**6), share_text(0, 5), share_text(0, 0)] == [
        "50.0 %",
        "< 0.1 %",
        "0.0 %",
        "0.0 %",
    ]


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
    told = grouped(text)
    for part in shown.split():
        assert part in told
    assert grouped(told) == told
    assert told.replace(",", "") == text.replace(",", "")
