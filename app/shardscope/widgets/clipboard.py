"""Text on the clipboard: what is pasted into a terminal holds no character that acts there."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication

from shardcore.model.text import visible


def copy_text(text: str) -> None:
    """Put one line on the clipboard: a name, an address, a command. Line ends become escapes, too."""
    QGuiApplication.clipboard().setText(visible(text))


def copy_lines(text: str) -> None:
    """Put text of several lines on the clipboard; tabs and line ends stay."""
    QGuiApplication.clipboard().setText(visible(text, keep="\n\t"))
