"""Functions that fill layouts, create actions, set properties of Qt objects, and delete widgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from PySide6.QtCore import QObject, SignalInstance
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractScrollArea, QBoxLayout, QGridLayout, QLayout, QMenu, QToolButton, QWidget

L = TypeVar("L", bound=QBoxLayout)
Made = TypeVar("Made", bound=QObject)


def lay(
    layout: L,
    *parts: QWidget | QLayout | tuple[QWidget | QLayout, int] | int,
    margins: tuple[int, int, int, int] = (0, 0, 0, 0),
    spacing: int = 0,
) -> L:
    """Add widgets and layouts to a layout, each with an optional stretch; a number alone is an empty stretch."""
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


def grid_in(
    parent: QWidget | None, across: int, down: int, margins: tuple[int, int, int, int] = (0, 0, 0, 0)
) -> QGridLayout:
    """Return an empty grid; `across` and `down` are its gaps in pixels."""
    grid = QGridLayout(parent)
    grid.setContentsMargins(*margins)
    grid.setHorizontalSpacing(across)
    grid.setVerticalSpacing(down)
    return grid


def made(thing: Made, name: str = "", **properties: Any) -> Made:
    """Set the object name and Qt properties of an object, such as `toolTip`, and connect signals, such as `clicked`."""
    thing.setObjectName(name or thing.objectName())
    if isinstance(thing, QAbstractScrollArea):
        # The first `viewport()` would create the Python classes of all widgets, to find that of the viewport.
        thing.findChild(QWidget, "qt_scrollarea_viewport")
    for key, value in properties.items():
        if isinstance(signal := getattr(thing, key, None), SignalInstance):
            signal.connect(value)
        elif not thing.setProperty(key, value):
            raise AttributeError(f"{thing} has no property {key}")
    return thing


def drop_menu(button: QToolButton, menu: QMenu) -> QMenu:
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    button.setMenu(menu)
    return menu


def new_action(
    owner: QObject,
    text: str,
    act: Callable[[], object] | None = None,
    keys: str | QKeySequence.StandardKey = "",
    **properties: Any,
) -> QAction:
    action = made(QAction(text, owner, shortcut=QKeySequence(keys)), **properties)
    if act is not None:
        action.triggered.connect(lambda _=False: act())
    if isinstance(owner, QWidget):
        owner.addAction(action)
    return action


def keep_room(widget: QWidget, *, keeps: bool = True) -> None:
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(keeps)
    widget.setSizePolicy(policy)


def discard(widget: QWidget) -> None:
    """Hide and delete a widget.

    Hiding is needed: a layout shows new widgets later, and a widget without a parent would then open as a window.
    """
    widget.hide()
    widget.setParent(None)
    widget.deleteLater()
