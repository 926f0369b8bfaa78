"""Text that came out of a file, before it is shown: nothing in it acts, and none of it is taken for markup."""

from __future__ import annotations

from html import escape

from shardcore.text import visible


def shown(text: str) -> str:
    """Text for a cell, a title or a line: control characters and marks of direction are escapes."""
    return visible(text)


def shown_lines(text: str) -> str:
    """As `shown`, where there are lines: line ends stay."""
    return visible(text, keep="\n")


def tip(text: str) -> str:
    """Text for a tooltip, or a label that takes markup: what looks like markup is shown as it is written."""
    text = shown_lines(text)
    # Qt guesses whether a text is markup: with a tag of our own around it there is nothing to guess.
    return f"<span>{escape(text)}</span>".replace("\n", "<br>") if "<" in text else text
