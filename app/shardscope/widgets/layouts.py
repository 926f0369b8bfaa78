"""Widgets with their properties, filled layouts, and removing widgets from one that is filled again."""

from __future__ import annotations

from typing import Any, TypeVar

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QBoxLayout, QLayout, QWidget

L = TypeVar("L", bound=QBoxLayout)
Made = TypeVar("Made", bound=QObject)


def lay(
    layout: L,
    *parts: QWidget | QLayout | tuple[QWidget | QLayout, int] | int,
    margins: tuple[int, int, int, int] = (0, 0, 0, 0),
    spacing: int = 0,
) -> L:
    """Add widgets and layouts, each with an optional stretch; a number alone is an empty stretch."""
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    for part in parts:
        if isinstance(part, int):
            layout.addStretch(part)
            continue
        widget, stretch = part if isinstance(part, tuple) else (part, 0)
        if isinstance(widget, QWidget):
            layout.addWidget(widget, stretch)
        else:
            layout.addLayout(widget, stretch)
    return layout


def made(widget: Made, name: str = "", **properties: Any) -> Made:
    """Set the object name and Qt properties of a widget, action or layout, such as `toolTip`."""
    widget.setObjectName(name or widget.objectName())
    for key, value in properties.items():
        if not widget.setProperty(key, value):
            raise AttributeError(f"{widget} has no property {key}")
    return widget


def keep_room(widget: QWidget) -> None:
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)


def discard(widget: QWidget) -> None:
    """Delete a widget, which is not shown again.

    A layout shows its new widgets later: one that has lost its parent by then would open as a window of its own.
    """
    widget.hide()
    widget.setParent(None)
    widget.deleteLater()
