"""A part of a dialog that scrolls down where it has no room."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


def scrolled(inner: QWidget, name: str, spoken: str, parent: QWidget) -> QScrollArea:
    """Return a part of a dialog in an area of its own, as wide as that, without a frame.

    Args:
        inner: The part.
        name: The object name of the area.
        spoken: What it holds, for screen readers.
        parent: The dialog.
    """
    area = QScrollArea(parent)
    area.setObjectName(name)
    area.setAccessibleName(spoken)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(inner)
    return area
