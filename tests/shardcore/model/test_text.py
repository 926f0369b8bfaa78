"""Text out of files, made fit to be shown."""

from __future__ import annotations

import pytest

from shardcore.model.text import letters_of, said, short, visible, without_marks

UNFIT = [
    "\x1b[31m",
    "a\rb",
    "\x00",
    "\x7f",
    "\x9b2J",
    "\ud800",
    *map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)),
]


@pytest.mark.parametrize("text", UNFIT, ids=ascii)
def test_what_would_act_is_shown_as_an_escape(text: str) -> None:
    """Escape sequences, control characters, marks of direction and lone surrogates become ASCII."""
    shown = visible(f"<{text}>")
    assert shown.isprintable()
    assert shown.isascii()
    assert "\\" in shown
    shown.encode()


def test_other_text_stays() -> None:
    """Letters of any script stay as they are, and line ends where lines are shown."""
    assert visible("größe 鍵 שלום 😀") == "größe 鍵 שלום 😀"
    assert visible("a\nb\x1b", keep="\n") == "a\nb\\x1b"


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10**6,
        b"x" * 10**6,
        10**10000,
        -(10**10000),
        [1] * 10**6,
        [[[["a" * 1000]]]],
        {"k" * 1000: {"a": 1}},
        (1.5,) * 999,
    ],
    ids=lambda value: type(value).__name__,
)
def test_quoted_values_are_short(value: object) -> None:
    """However large a value is, a sentence quotes a little of it."""
    assert len(short(value)) <= 90


def test_short_values_are_quoted_whole() -> None:
    """What is short is its `repr`."""
    for value in ("a", 17, None, True, 1.5, [1, "b"], {"a": [None]}, b"x"):
        assert short(value) == repr(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (True, "yes"),
        ([], "none"),
        ([1, None, "b"], "1, none, b"),
        ({"created_at": None, "size": [2, 3]}, "created_at: none, size: (2, 3)"),
        (b"\x01\xff", "01ff"),
        ("x" * 1000, "x" * 320 + "…"),
        pytest.param(10**5000, "a number of 16610 bits", id="huge"),
    ],
)
def test_values_are_said_in_words(value: object, text: str) -> None:
    """No quotes, brackets or names of Python stand in what is shown to people."""
    assert said(value) == text


def test_bytes_that_are_letters() -> None:
    """Magics and names are the letters they are, without the zeros after them; anything else is no text."""
    assert letters_of(b"SWHShard" + bytes(24)) == "SWHShard"
    assert letters_of(b"DES2") == "DES2"
    assert letters_of(bytes(8)) == letters_of(b"a\0b") == letters_of(b"\xe9") == ""


def test_sentences_without_marks() -> None:
    """The marks around names are for pages; where text is plain they are left out."""
    assert without_marks("`chd_ph` and a zero byte") == "chd_ph and a zero byte"
