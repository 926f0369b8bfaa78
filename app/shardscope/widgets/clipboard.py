"""Text on the clipboard: what is pasted into a terminal holds no character that acts there."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication

from shardcore.model.text import visible


def copy_text(text: str) -> None:
    QGuiApplication.clipboard().setText(visible(text))


def copy_lines(text: str) -> None:
    QGuiApplication.clipboard().setText(visible(text, keep="\n\t"))
