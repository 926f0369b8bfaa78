"""What a person sees of lookups, drawings and references: states, and where their parts are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QRect
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QDialog,
    QLineEdit,
    QMenu,
    QMenuBar,
    QTabBar,
    QWidget,
)

from shardcore.model.drawing import Item
from shardscope.learning.drawings.panel import DrawingPanel
from shardscope.shell.main_window import MainWindow
from shardscope.views.inspector.panel import Inspector
from shardscope.widgets.wrap_text import WrapText

State = dict[str, Any]
Where = tuple[QWidget, QRect]


# --- states ---


def taught(shown: MainWindow) -> State:
    return {
        "popup": isinstance(QApplication.activePopupWidget(), QMenu),
        "line": _line(QApplication.focusWidget()),
        **_walk(shown),
        **_drawing(shown),
        **_asked(shown),
    }


def _line(focus: QWidget | None) -> str:
    if isinstance(focus, QComboBox):
        return focus.currentText() if focus.isEditable() else ""
    return focus.text() if isinstance(focus, QLineEdit) else ""


def _around(widget: QWidget | None) -> Iterator[QWidget]:
    while widget is not None:
        yield widget
        widget = widget.parentWidget()


def _walk(shown: MainWindow) -> State:
    session = shown.session
    walk = session.lookup.walk
    lit = shown.tree.lit
    in_tree = {light.number for highlights in (*lit.ends.values(), *lit.ways.values()) for light in highlights}
    return {
        "step": walk.step,
        "steps": walk.steps,
        "lights": [[one.span.source, one.span.start, one.span.stop] for one in session.lookup.highlights],
        "numbers": [one.number for one in session.lookup.highlights],
        "in_bytes": [one.number for one in shown.hex.state.highlights],
        "in_strip": [one.number for one in shown.hex.overview.highlights],
        "in_tree": sorted(in_tree),
    }


def _drawing(shown: MainWindow) -> State:
    panel = shown.hex.drawings.panel
    if panel is None or not shown.hex.drawings.in_front:
        return {"items": [], "framed": []}
    items = panel.drawing.items if panel.drawing is not None else ()
    return {"items": [_spans(item) for item in items], "framed": sorted(panel.view.lit)}


def _spans(item: Item) -> list[list[Any]]:
    return [[one.source, one.start, one.stop] for one in item.spans]


def _asked(shown: MainWindow) -> State:
    question = shown.panels.panel(Inspector).references
    return {
        "leads": sum(row.link is not None for row in question.page.rows) if question.clear.isVisible() else -1,
        "arrows": len(shown.session.lookup.arrows),
    }


# --- places ---


def _tops(shown: MainWindow) -> list[QWidget]:
    modal = QApplication.activeModalWidget()
    if modal is not None:
        return [modal]
    sheets = [one for one in shown.findChildren(QDialog) if one.isVisible()]
    return [*reversed(sheets), shown]


def _tab(shown: MainWindow, name: str) -> Where | None:
    for bar in (bar for top in _tops(shown) for bar in top.findChildren(QTabBar) if bar.isVisible()):
        for number in range(bar.count()):
            if bar.tabText(number).replace("&", "") == name:
                return bar, bar.tabRect(number)
    return None


def _menu(shown: MainWindow, name: str) -> Where | None:
    popup = QApplication.activePopupWidget()
    menu: QMenu | QMenuBar = popup if isinstance(popup, QMenu) else shown.menuBar()
    for action in menu.actions():
        if action.isVisible() and action.text().replace("&", "").rstrip("…") == name.rstrip("…"):
            return menu, menu.actionGeometry(action)
    return None


def _link(shown: MainWindow, name: str) -> Where | None:
    for top in _tops(shown):
        for text in top.findChildren(WrapText):
            if text.link and text.isVisible() and text.text.startswith(name):
                return text, text.rect()
    page = shown.panels.panel(Inspector).references.page
    block = page.document().begin()
    while page.isVisible() and block.isValid():
        for fragment in (part.fragment() for part in block):
            if fragment.charFormat().isAnchor() and fragment.text().startswith(name):
                cursor = QTextCursor(page.document())
                cursor.setPosition(fragment.position() + 1)
                return page.viewport(), page.cursorRect(cursor)
        block = block.next()
    return None


def _panel(shown: MainWindow) -> DrawingPanel:
    return shown.hex.drawings.made()


def _item(shown: MainWindow, name: str) -> Where:
    view = _panel(shown).view
    middle = view.place_of(int(name))
    return view.viewport(), QRect(middle, middle)


_PLACES: dict[str, Callable[[MainWindow, str], Where | None]] = {
    "tab": _tab,
    "menu": _menu,
    "link": _link,
    "item": _item,
}
KINDS = frozenset(_PLACES)


def place_of(shown: MainWindow, kind: str, name: str) -> State:
    found = _PLACES[kind](shown, name)
    return on_screen(*found) if found is not None else {}


def on_screen(widget: QWidget, place: QRect) -> State:
    if not widget.isVisible():
        return {}
    middle = place.center()
    point = widget.mapToGlobal(middle)
    # What is inside a part covers it: the region of a list that is full of cards is empty.
    top = QApplication.widgetAt(point)
    if widget.visibleRegion().contains(middle) or (top is not None and widget.isAncestorOf(top)):
        return {"x": point.x(), "y": point.y()}
    for area in _around(widget):
        if isinstance(area, QAbstractScrollArea) and area.verticalScrollBar().maximum() > 0:
            port = area.viewport()
            inside = port.mapFromGlobal(widget.mapToGlobal(middle))
            # A port that is full of parts has no region of its own either.
            seen = port.visibleRegion().boundingRect() or port.rect()
            hub = port.mapToGlobal(seen.center())
            there = QApplication.widgetAt(hub)
            if not port.rect().contains(inside) and there is not None and (there is port or port.isAncestorOf(there)):
                return {"wheel": [hub.x(), hub.y(), 4 if inside.y() < 0 else 5]}
    return {}
