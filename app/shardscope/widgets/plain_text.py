"""Text that came out of a file, before it is shown: nothing in it acts, and none of it is taken for markup."""

from __future__ import annotations

from html import escape

from shardcore.model.text import visible

MOST_LETTERS = 4_000
"""Letters of one text that are shown: Qt takes seconds to lay out some MB of them. Copies are whole."""


def shown(text: str) -> str:
    """Text for a cell, a title or a line: control characters and marks of direction are escapes, the end is cut."""
    return visible(_cut(text))


def shown_lines(text: str) -> str:
    """As `shown`, where there are lines: line ends stay."""
    return visible(_cut(text), keep="\n")


def tip(text: str) -> str:
    """Text for a tooltip, or a label that takes markup: what looks like markup is shown as it is written."""
    text = shown_lines(text)
    # Qt guesses whether a text is markup: with a tag of our own around it there is nothing to guess.
    return f"<span>{escape(text)}</span>".replace("\n", "<br>") if "<" in text else text


def _cut(text: str) -> str:
    """Return a text of bearable length."""
    if len(text) <= MOST_LETTERS:
        return text
    return f"{text[:MOST_LETTERS]} … ({len(text):,} characters)"
