"""Text and numbers out of files, made fit to be shown."""

from __future__ import annotations

import numpy as np
import pytest

from shardcore.model.text import number_text, short, visible

UNFIT = [
    *("\x1b[31m", "a\rb", "\x00", "\x7f", "\x9b2J", "\ud800"),
    *map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)),
]


@pytest.mark.parametrize("text", UNFIT, ids=ascii)
def test_what_would_act_is_shown_as_an_escape(text: str) -> None:
    shown = visible(f"<{text}>")
    assert shown.isprintable()
    assert shown.isascii()
    assert "\\" in shown
    shown.encode()


def test_other_text_stays() -> None:
    assert visible("größe 鍵 שלום 😀") == "größe 鍵 שלום 😀"
    assert visible("a\nb\x1b", keep="\n") == "a\nb\\x1b"


@pytest.mark.parametrize(
    "value",
    [
        *("x" * 10**6, b"x" * 10**6, 10**10000, -(10**10000), [1] * 10**6, [[[["a" * 1000]]]]),
        *({"k" * 1000: {"a": 1}}, (1.5,) * 999),
    ],
    ids=lambda value: type(value).__name__,
)
def test_quoted_values_are_short(value: object) -> None:
    assert len(short(value)) <= 90


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
