"""Widgets with their properties, and filled layouts, in one statement each."""

from __future__ import annotations

from typing import Any, TypeVar

from PySide6.QtWidgets import QBoxLayout, QLayout, QWidget

Made = TypeVar("Made", bound=QWidget)
Box = TypeVar("Box", bound=QBoxLayout)


def made(widget: Made, name: str = "", **properties: Any) -> Made:
    """Set the object name and Qt properties of a widget, such as `toolTip`."""
    widget.setObjectName(name or widget.objectName())
    for key, value in properties.items():
        if not widget.setProperty(key, value):
            raise AttributeError(f"{widget} has no property {key}")
    return widget


def boxed(box: Box, *parts: Any, margins: tuple[int, int, int, int] = (0, 0, 0, 0), spacing: int = -1) -> Box:
    """Fill a layout with widgets, layouts, stretches (integers), or tuples of the arguments of `addWidget`.

    Margins and spacing are in pixels; -1 is the spacing of the style.
    """
    box.setContentsMargins(*margins)
    box.setSpacing(spacing)
    for part in parts:
        if isinstance(part, int):
            box.addStretch(part)
        elif isinstance(part, QLayout):
            box.addLayout(part)
        else:
            box.addWidget(*(part if isinstance(part, tuple) else (part,)))
    return box
