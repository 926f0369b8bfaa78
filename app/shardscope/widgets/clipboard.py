"""Copying text to the clipboard with control characters escaped, so that it is safe to paste into a terminal."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication

from shardcore.model.text import visible


def copy_text(text: str) -> None:
    """Copy a text as one line; line ends and tabs are escaped."""
    QGuiApplication.clipboard().setText(visible(text))


def copy_lines(text: str) -> None:
    """Copy a text with its line ends and tabs; other control characters are escaped."""
    QGuiApplication.clipboard().setText(visible(text, keep="\n\t"))
