"""Numbers and nouns in sentences."""

from __future__ import annotations

import numpy as np
import pytest

from shardcore.model.number_words import number_text


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
    assert number_text(number) == text
