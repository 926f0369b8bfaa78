"""Removing widgets from a layout that is filled again."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def discard(widget: QWidget) -> None:
    """Delete a widget, which is not shown again.

    A layout shows its new widgets later: one that has lost its parent by then would open as a window of its own.
    """
    widget.hide()
    widget.setParent(None)
    widget.deleteLater()
