"""Copying text to the clipboard with control characters escaped, so that it is safe to paste into a terminal."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication

from shardcore.model.text import visible


def copy_text(text: str) -> None:
    """Copy one line; line ends and tabs become escapes."""
    QGuiApplication.clipboard().setText(visible(text))


def copy_lines(text: str) -> None:
    """Copy several lines; line ends and tabs are kept."""
    QGuiApplication.clipboard().setText(visible(text, keep="\n\t"))
