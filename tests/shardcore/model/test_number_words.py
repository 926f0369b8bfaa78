"""Numbers and nouns in sentences."""

from __future__ import annotations

import numpy as np
import pytest

from shardcore.model.number_words import grouped_digits, number_text, plural, product_text


@pytest.mark.parametrize(
    ("count", "noun", "many", "text"),
    [
        (0, "byte", "", "0 bytes"),
        (1, "byte", "", "1 byte"),
        (2400, "byte", "", "2,400 bytes"),
        (np.uint64(1 << 63), "byte", "", "9,223,372,036,854,775,808 bytes"),
        (1, "entry", "", "1 entry"),
        (3, "entry", "", "3 entries"),
        (3, "copy", "", "3 copies"),
        (3, "key", "", "3 keys"),
        (2, "hash", "", "2 hashes"),
        (2, "minishard index", "", "2 minishard indices"),
        (2, "info block", "", "2 info blocks"),
        (1, "byte follows", "bytes follow", "1 byte follows"),
        (1000, "byte follows", "bytes follow", "1,000 bytes follow"),
    ],
)
def test_plurals(count: int, noun: str, many: str, text: str) -> None:
    """The noun agrees with the number, and thousands are set apart; NumPy's integers are numbers, too."""
    assert plural(count, noun, many) == text


def test_digits() -> None:
    """Numbers alone are grouped likewise."""
    assert [grouped_digits(n) for n in (0, 999, 1000, -1234567)] == ["0", "999", "1,000", "-1,234,567"]


def test_sizes_add_up() -> None:
    """A size of equal parts says how many of what; one that does not come out says what it would be."""
    assert product_text(13, "slot", 40) == "13 slots × 40"
    assert product_text(1, "entry", 1200, 1200) == "1 entry × 1,200"
    assert product_text(13, "slot", 40, 521) == "13 slots × 40 would be 520"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (np.float32(0.1), "0.1"),
        (np.float32(3880065.25), "3880065.25"),
        (np.float32(172525), "172525"),
        (np.float32(2**32), "4294967296"),
        (np.float32(1e-40), "1e-40"),
        (np.float32("nan"), "nan"),
        (np.float16(0.1), "0.1"),
        (0.1 + 0.2, "0.30000000000000004"),
        (-0.0, "-0"),
        (1e300, "1e+300"),
        (np.int32(-987654321), "-987654321"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
    ],
)
def test_stored_numbers_read_back(number: float, text: str) -> None:
    """The text of a stored number gives it back."""
    assert number_text(number) == text
